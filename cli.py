"""Gieok in a terminal: ``python cli.py run | chat | doctor``."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import settings
from component.catalogue import Words
from door import doctor as doctor_door
from door.doctor import Finding
from door.phrase import Language, chosen, phrase
from errors import BadSetting, GieokError

Asked = Annotated[Literal["auto", "ko", "en"], typer.Option("--lang", help="Language; auto: the system's.")]
MARKS = {"ok": "[green]✓[/]", "info": "[dim]·[/]", "warn": "[yellow]![/]", "problem": "[red]✗[/]"}

application = typer.Typer(
    help="Gieok: a chat agent whose memory you can see.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@application.command()
def run(
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; the next free one is used if it is taken.")
    ] = None,
    lang: Asked = "auto",
) -> None:
    """Start the web page and print its address."""
    set_up = _settings(lang)
    language = chosen(lang, set_up.language)
    wanted = port or set_up.port
    free = doctor_door.free_port(wanted)
    if free != wanted:
        print(phrase(language, "run.other_port", wanted=wanted, port=free))
    print(phrase(language, "run.address", url=f"http://127.0.0.1:{free}"), flush=True)
    os.chdir(Path(__file__).parent)
    options = ["--server.address=127.0.0.1", f"--server.port={free}", "--server.headless=true"]
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", "app.py", *options])


@application.command()
def chat(
    session: Annotated[str | None, typer.Option(help="Go on with this conversation (its id).")] = None,
    lang: Asked = "auto",
) -> None:
    """Talk to the agent here; with input from a pipe, answer it and end."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (arrow keys and history in input)
    from door.terminal import Terminal
    from graph.agent import open_agent

    set_up = _settings(lang)
    language = chosen(lang, set_up.language)
    try:
        agent = open_agent(set_up)
        terminal = Terminal(agent, Console(soft_wrap=True), Console(stderr=True), language, Words(language).error)
        code = terminal.talk(session) if sys.stdin.isatty() else terminal.answer(sys.stdin.read(), session)
        agent.close()
    except GieokError as error:
        raise _ended(error, language) from error
    raise typer.Exit(code)


@application.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    lang: Asked = "auto",
) -> None:
    """Say what was found on this machine and what to do about what was not."""
    try:
        set_up = settings.current()
        language = chosen(lang, set_up.language)
        findings = doctor_door.examine(set_up, language, Words(language).error)
    except BadSetting as error:
        language = chosen(lang, "auto")
        findings = [doctor_door.failure("settings", error, Words(language).error)]
    fine = doctor_door.can_chat(findings)
    if as_json:
        plain = {"can_chat": fine, "findings": [finding.plain() for finding in findings]}
        print(json.dumps(plain, ensure_ascii=False, indent=2))
    else:
        _show(findings, language)
        print(phrase(language, "verdict.ok" if fine else "verdict.problem"))
    raise typer.Exit(0 if fine else 1)


def _show(findings: list[Finding], language: Language) -> None:
    table = Table(show_header=False, box=None, padding=(0, 1))
    for finding in findings:
        said = escape(finding.found) + (f"\n[dim]→ {escape(finding.do)}[/]" if finding.do else "")
        table.add_row(MARKS[finding.mark], phrase(language, finding.name), said)
    Console().print(table)


def _settings(lang: str) -> settings.Settings:
    try:
        return settings.current()
    except BadSetting as error:
        raise _ended(error, chosen(lang, "auto")) from error


def _ended(error: GieokError, language: Language) -> typer.Exit:
    """Says what failed and what to do; the command ends with 1."""
    said, hint = Words(language).error(error.code, error.text(), error.values)
    print(f"{said} {hint}".strip(), file=sys.stderr)
    return typer.Exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    application()
