"""Gieok in a terminal: ``python cli.py run | serve | chat | index | eval | doctor | memory …``."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import settings
from component.page.catalogue import Words
from errors import BadSetting, BadTextFile, CallerError, GieokError
from server.phrase import Language, render_phrase, resolve_language
from text.user_name import ME

if TYPE_CHECKING:
    from door.terminal.doctor import CheckFinding
    from store.user.api_key import ApiKeys

Asked = Annotated[Literal["auto", "ko", "en"], typer.Option("--lang", help="Language; auto: the system's.")]
START_SECONDS = 1.0
"""How long a chat waits for the memory's server to start, so that the first answer has memory."""
PIPE_WIDTH = 200
"""Columns of a table that goes into a pipe or a file."""
MARKS = {"ok": "[green]✓[/]", "info": "[dim]·[/]", "warn": "[yellow]![/]", "problem": "[red]✗[/]"}

application = typer.Typer(
    help="Gieok: a chat agent whose memory you can see.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


memory = typer.Typer(help="Long-term memory: clear up, export, import, erase.", no_args_is_help=True)
application.add_typer(memory, name="memory")
key = typer.Typer(help="Keys of the endpoint for programs.", no_args_is_help=True)
application.add_typer(key, name="key")


@application.command()
def run(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="Port on this machine; the next free one is used if it is taken."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to open the page at. Another than this machine's own needs a login.")
    ] = "127.0.0.1",
    lang: Asked = "auto",
) -> None:
    """Start the web page and print its address."""
    from server.network import reach
    from text.ip_address import is_loopback_address

    os.chdir(Path(__file__).parent)
    set_up = _load_settings_or_exit(lang)
    language = resolve_language(lang, set_up.language)
    requested = port or set_up.port
    with _exit_on_error(language):
        if not is_loopback_address(host):
            reach.check_page_reach(host, set_up, login=_has_login())
        free = reach.free_port(requested, host)
    if free != requested:
        print(render_phrase(language, "run.other_port", wanted=requested, port=free))
    name = reach.page_name(host, set_up)
    print(render_phrase(language, "run.address", url=f"http://{name}:{free}"), flush=True)
    options = [f"--server.address={host}", f"--server.port={free}", "--server.headless=true"]
    shown = [f"--browser.serverAddress={name}"]  # else Streamlit asks a site for this machine's outer address
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options, *shown]
    os.execve(sys.executable, command, {**settings.child_environment(), **reach.PEERS})


@application.command()
def serve(
    what: Annotated[
        Literal["http", "mcp"],
        typer.Argument(help="http: for other programs and agents; mcp: for the one that starts this, over its input."),
    ] = "http",
    host: Annotated[
        str, typer.Option(help="Address to serve at. Another than this machine's own needs a key.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port on this machine.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer.")] = 1,
    lang: Asked = "auto",
) -> None:
    """Serve other programs, so that they get this memory: an OpenAI-compatible endpoint and MCP."""
    set_up, language = _load_settings_and_language(lang)
    if what == "mcp":
        from door.mcp import stdio

        with _exit_on_error(language):
            stdio.serve_stdio(set_up)
        return
    from server.network import serving

    def say(url: str) -> None:
        print(render_phrase(language, "serve.address", url=url), flush=True)

    os.chdir(Path(__file__).parent)
    with _exit_on_error(language):
        serving.serve_endpoint(set_up, host, port or set_up.api_port, workers, say)


@key.command("add")
def key_add(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    user: Annotated[str, typer.Option(help="Whose conversations it opens.")] = ME,
    documents: Annotated[bool, typer.Option(help="Whether answers may come from documents.")] = True,
    memory: Annotated[bool, typer.Option(help="Whether its conversations share the user's memory.")] = True,
    lang: Asked = "auto",
) -> None:
    """Create a key of the endpoint and show it, once."""
    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language), _open_api_keys(set_up) as keys:
        print(render_phrase(language, "key.added", secret=keys.add(name, user, documents, memory)))


@key.command("list")
def key_list(lang: Asked = "auto") -> None:
    """List the keys of the endpoint."""
    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language), _open_api_keys(set_up) as keys:
        rows = keys.all()
        for row in rows:
            state = (
                render_phrase(language, "key.revoked_state") if row.revoked else render_phrase(language, "key.active")
            )
            barred = [
                render_phrase(language, f"key.no_{what}") for what in ("documents", "memory") if not getattr(row, what)
            ]
            print("  ".join([row.id, row.name, row.user, state, *barred]))
        if not rows:
            print(render_phrase(language, "key.none"))


@key.command("revoke")
def key_revoke(key_id: Annotated[str, typer.Argument(help="The id of the key.")], lang: Asked = "auto") -> None:
    """Take a key back; it ends at once."""
    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language), _open_api_keys(set_up) as keys:
        done = keys.revoke(key_id)
    if not done:
        print(render_phrase(language, "key.unknown", id=key_id), file=sys.stderr)
        raise typer.Exit(1)
    print(render_phrase(language, "key.revoked", id=key_id))


@application.command()
def chat(
    session: Annotated[str | None, typer.Option(help="Go on with this conversation (its id).")] = None,
    private: Annotated[bool, typer.Option("--private", help="Store nothing of this conversation.")] = False,
    system: Annotated[
        Path | None, typer.Option(help="A text file: the system prompt of the conversation, in place of Gieok's role.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of its answers, 0 to 2.")] = None,
    lang: Asked = "auto",
) -> None:
    """Talk to the agent here; with input from a pipe, answer it and end."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (arrow keys and history in input)
    from door.terminal.terminal import Terminal
    from graph.answer import documents
    from graph.turn.agent import open_agent
    from store.session.options import AnswerOptions

    set_up = _load_settings_or_exit(lang)
    language = resolve_language(lang, set_up.language)
    if private and session:
        print(render_phrase(language, "chat.private_goes_on"), file=sys.stderr)
        raise typer.Exit(2)
    try:
        options = AnswerOptions(_read_utf8_file(system) if system else "", temperature).validate_options()
        agent = open_agent(set_up)
        if agent.memory is not None:
            agent.memory.wait(START_SECONDS)
        documents.start_product_docs_indexing(agent)
        out, err = Console(soft_wrap=True), Console(stderr=True)
        terminal = Terminal(agent, out, err, language, Words(language).error, options=options)
        if private:
            terminal.begin_private()
        code = terminal.talk(session) if sys.stdin.isatty() else terminal.answer(sys.stdin.read(), session)
        terminal.leave_private()
        agent.close()
    except GieokError as error:
        raise _report_exit_error(error, language) from error
    raise typer.Exit(code)


@application.command()
def index(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files, folders and web addresses to add.", show_default=False)
    ] = None,
    kind: Annotated[
        Literal["faq", "guide"] | None, typer.Option("--type", help="What they are; else front matter or path says it.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Stay and follow changes.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Also add what links in a folder lead to outside of it.")
    ] = False,
    site: Annotated[bool, typer.Option("--site", help="Of a web address also the pages of its site below it.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the search index anew from the database.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a pass instead of sentences.")] = False,
    lang: Asked = "auto",
) -> None:
    """Add documents; unchanged files are skipped, and what was interrupted goes on."""
    from door.terminal.library import Indexing
    from retrieval import Library
    from retrieval.read.address import is_web
    from retrieval.read.site import Page
    from store import Store

    set_up = _load_settings_or_exit(lang)
    language = resolve_language(lang, set_up.language)
    if not (paths or rebuild):
        print(render_phrase(language, "index.nothing"), file=sys.stderr)
        raise typer.Exit(2)
    try:
        store = Store(set_up.database)
        library = Library.open(set_up, store)
        out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
        indexing = Indexing(library, out, err, language, Words(language).error, as_json=as_json)
        code = indexing.rebuild() if rebuild else 0
        if paths and not code:
            sources = [Page(path, below=site) if is_web(path) else Path(path) for path in paths]
            code = indexing.begin() or indexing.add(sources, kind, watch=watch, follow_links=follow_links)
        library.close()
        store.close()
    except GieokError as error:
        raise _report_exit_error(error, language) from error
    raise typer.Exit(code)


@application.command("eval")
def run_eval_command(
    scenario: Annotated[
        list[str] | None, typer.Option(help="A scenario: its name, its kind or its file; may be repeated. Else: all.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model that summarises, remembers and judges.")] = None,
    rates: Annotated[str, typer.Option(help="Compression rates, 0.1 to 0.5, separated by commas.")] = "0.3",
    memory_forms: Annotated[
        str,
        typer.Option(
            "--memory",
            help="Forms of memory, separated by commas: none, turns, chunks, recursive, observations, all, full.",
        ),
    ] = "none,chunks,recursive,all",
    runs: Annotated[int, typer.Option(help="How often everything is judged and answered.")] = 1,
    live: Annotated[bool, typer.Option("--live", help="Also let the chat model answer, and check its answer.")] = False,
    judge: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option(help="Whether the model judges. auto: unless it is small; yes: also that, after a calibration."),
    ] = "auto",
    fail_under: Annotated[
        float | None,
        typer.Option(help="End with 1 below this score, 0 to 100.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest unfinished one like this.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    lang: Asked = "auto",
) -> None:
    """Say how good the memory is: play recorded conversations, look for planted values, let a model judge."""
    from door.terminal.evaluation import Evaluating, EvaluationOptions

    set_up, language = _load_settings_and_language(lang)
    out, err = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH), Console(stderr=True)
    wanted = EvaluationOptions(
        scenarios=scenario or (),
        model=model,
        rates=rates,
        forms=memory_forms,
        runs=runs,
        judging=judge,
        live=live,
        fail_under=fail_under,
        resume=resume,
        as_json=as_json,
    )
    try:
        code = Evaluating(set_up, out, err, language).run(wanted)
    except CallerError as error:
        _report_exit_error(error, language)
        raise typer.Exit(2) from error
    except GieokError as error:
        raise _report_exit_error(error, language) from error
    raise typer.Exit(code)


@application.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    lang: Asked = "auto",
) -> None:
    """Say what was found on this machine and what to do about what was not."""
    from door.terminal import doctor as doctor_door

    try:
        set_up = settings.load_current_settings()
        language = resolve_language(lang, set_up.language)
        findings = doctor_door.run_all_checks(set_up, language, Words(language).error, _has_login)
    except BadSetting as error:
        language = resolve_language(lang, "auto")
        findings = [doctor_door.build_failure_finding("settings", error, Words(language).error)]
    fine = doctor_door.can_chat(findings)
    if as_json:
        plain = {"can_chat": fine, "findings": [finding.plain() for finding in findings]}
        print(json.dumps(plain, ensure_ascii=False, indent=2))
    else:
        _print_findings(findings, language)
        print(render_phrase(language, "verdict.ok" if fine else "verdict.problem"))
    raise typer.Exit(0 if fine else 1)


@application.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, such as gieok.zip.")], lang: Asked = "auto"
) -> None:
    """Write everything to one file, also while the page and the endpoint run."""
    from door.terminal.backup import back_up
    from model.embedded.download import format_download_size

    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language):
        print(render_phrase(language, "backup.written", file=file, size=format_download_size(back_up(set_up, file))))


@application.command()
def restore(file: Annotated[Path, typer.Argument(help="A file of backup.")], lang: Asked = "auto") -> None:
    """Put a backup into an empty data folder."""
    from door.terminal import backup as backup_door

    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language):
        print(
            render_phrase(
                language, "backup.restored", count=backup_door.restore_backup(set_up, file), place=set_up.data_dir
            )
        )


@memory.command("cleanup")
def memory_cleanup(lang: Asked = "auto") -> None:
    """Erase the memories of conversations that are gone, and leftovers."""
    from door.terminal import memory as memory_door

    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language):
        counts = memory_door.clean_up_memory(set_up)
        print(render_phrase(language, "memories.cleanup", **counts))


@memory.command("export")
def memory_export(file: Annotated[Path, typer.Argument(help="The JSON file to write.")], lang: Asked = "auto") -> None:
    """Write all memory to a file."""
    from door.terminal import memory as memory_door

    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language):
        print(render_phrase(language, "memories.export", count=memory_door.export_memory_file(set_up, file), file=file))


@memory.command("import")
def memory_import(file: Annotated[Path, typer.Argument(help="A file of export.")], lang: Asked = "auto") -> None:
    """Take in an exported file; memories that exist are kept."""
    from door.terminal import memory as memory_door

    set_up, language = _load_settings_and_language(lang)
    with _exit_on_error(language):
        print(render_phrase(language, "memories.import", count=memory_door.import_memory_file(set_up, file)))


@memory.command("erase")
def memory_erase(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, lang: Asked = "auto") -> None:
    """Erase all memory, everywhere; the conversations stay."""
    from door.terminal import memory as memory_door

    set_up, language = _load_settings_and_language(lang)
    if not yes and not typer.confirm(render_phrase(language, "memories.sure")):
        raise typer.Exit(1)
    with _exit_on_error(language):
        print(render_phrase(language, "memories.erase", count=memory_door.erase_user_memory(set_up)))


@contextlib.contextmanager
def _open_api_keys(set_up: settings.Settings) -> Iterator[ApiKeys]:
    """Opens the keys of the endpoint."""
    from store import Store

    store = Store(set_up.database)
    try:
        yield store.api_keys
    finally:
        store.close()


def _has_login() -> bool:
    """Returns whether Streamlit's login is set up. Raises ``BadLogin``, ``MissingExtra``."""
    from component.work import user

    user.check_login()
    return user.has_own_login()


def _load_settings_and_language(lang: str) -> tuple[settings.Settings, Language]:
    set_up = _load_settings_or_exit(lang)
    return set_up, resolve_language(lang, set_up.language)


@contextlib.contextmanager
def _exit_on_error(language: Language) -> Iterator[None]:
    """Ends the command with a sentence when Gieok raises an error of its own."""
    try:
        yield
    except GieokError as error:
        raise _report_exit_error(error, language) from error


def _read_utf8_file(path: Path) -> str:
    """Returns the content of a text file. Raises ``BadTextFile``."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTextFile(path=path, reason="it is not UTF-8", reason_code="no_utf8") from error
    except OSError as error:
        raise BadTextFile(path=path, reason=error.strerror or type(error).__name__) from error


def _print_findings(findings: list[CheckFinding], language: Language) -> None:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for finding in findings:
        text = escape(finding.found) + (f"\n[dim]→ {escape(finding.do)}[/]" if finding.do else "")
        table.add_row(MARKS[finding.mark], render_phrase(language, finding.name), text)
    Console().print(table)


def _load_settings_or_exit(lang: str) -> settings.Settings:
    try:
        return settings.load_current_settings()
    except BadSetting as error:
        raise _report_exit_error(error, resolve_language(lang, "auto")) from error


def _report_exit_error(error: GieokError, language: Language) -> typer.Exit:
    """Prints what failed and what to do; returns the exit of the command, with code 1."""
    message, hint = Words(language).error(error.code, error.text(), error.values)
    print(f"{message} {hint}".strip(), file=sys.stderr)
    return typer.Exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    application()
