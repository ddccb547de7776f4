"""The commands of a conversation in the terminal: one function each, one line in ``COMMANDS``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich.table import Table

from door.terminal import file
from door.terminal.look import (
    print_document_search,
    print_entities,
    print_memory,
    print_memory_rating,
    print_next_prompt,
)
from store.export.transcript import render_transcript
from store.export.web_page import load_page_images, render_web_page

if TYPE_CHECKING:
    from door.terminal.terminal import Terminal

REPLACE = "--force"
"""The word before the name of a file that ``/export`` may replace."""
_TYPED = re.compile(r"/([^\s/]*)(?:\s+(.*))?", re.DOTALL)


class Leave(Exception):
    """The signal that the user wants to end the conversation."""


def parse_command(line: str) -> tuple[str, str] | None:
    """Returns the name and the value of a command; None for a message, also for one that begins with a path
    (``/home/me is what?``)."""
    match = _TYPED.fullmatch(line.rstrip())
    return (match[1], match[2] or "") if match else None


def is_script(text: str) -> bool:
    """Returns whether a text from a pipe is lines to be handled as if they were typed, rather than one message.

    Its first line decides: it has the name of a command, or it is a slash and one word alone, which is taken for a
    mistyped command.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    command = parse_command(lines[0]) if lines else None
    if command is None:
        return False
    name, value = command
    return name in COMMANDS or (not value and re.fullmatch(r"\w+", name) is not None)


def build_command_table(terminal: Terminal) -> Table:
    """Returns the commands and what they do."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name in COMMANDS:
        table.add_row(f"/{name}", terminal.say(f"help.{name}"))
    return table


def _print_command_help(terminal: Terminal, _value: str) -> None:
    terminal.out.print(build_command_table(terminal))


def _begin_new_session(terminal: Terminal, _value: str) -> None:
    terminal.leave_private()
    terminal.open(None)
    terminal.note(terminal.say("chat.new"))


def _begin_private_session(terminal: Terminal, _value: str) -> None:
    terminal.begin_private()


def _print_sessions(terminal: Terminal, _value: str) -> None:
    sessions = terminal.shared.store.sessions()
    for number, session in enumerate(sessions, 1):
        terminal.tell(f"{number:3}  {session.title}  ({session.turn_count})")
    if not sessions:
        terminal.note(terminal.say("chat.none"))


def _open_listed_session(terminal: Terminal, value: str) -> None:
    sessions = terminal.shared.store.sessions()
    if not value.isdecimal() or not 1 <= int(value) <= len(sessions):
        terminal.refuse(terminal.say("chat.wants", command="/open", example="/open 1"))
        return
    terminal.leave_private()
    terminal.open(sessions[int(value) - 1].id)
    terminal.note(terminal.say("chat.opened", title=terminal.session.title))


def _print_summaries(terminal: Terminal, _value: str) -> None:
    session = terminal.begun_session
    history = terminal.agent.state(session.id).get("summary_history") or [] if session else []
    for record in history:
        terminal.tell(terminal.summary_line(tuple(record["turns"]), record))
        terminal.tell(f"    {record['summary']}")
    if not history:
        terminal.note(terminal.say("chat.none"))


def _set_session_rate(terminal: Terminal, value: str) -> None:
    try:
        rate = float(value)
    except ValueError:
        terminal.refuse(terminal.say("chat.wants", command="/rate", example="/rate 0.3"))
        return
    terminal.agent.store.set_rate(terminal.session.id, rate)
    terminal.note(terminal.say("chat.rate", rate=rate))


def _retry_last_turn(terminal: Terminal, _value: str) -> None:
    session = terminal.begun_session
    if session is None:
        terminal.refuse(terminal.say("chat.not_begun"))
        return
    terminal.turn(lambda stop: terminal.agent.retry(session.id, stop=stop))
    terminal.answer_asks()


def _export_session_file(terminal: Terminal, value: str) -> None:
    """Writes the conversation as JSON; as Markdown or a web page when the name of the file ends in «.md» or «.html»."""
    first, _, rest = value.partition(" ")
    replace = first == REPLACE
    name, session = rest.strip() if replace else value, terminal.begun_session
    if not name:
        terminal.refuse(terminal.say("chat.wants", command="/export", example="/export chat.md"))
        return
    if session is None:
        terminal.refuse(terminal.say("chat.not_begun"))
        return
    if (suffix := PurePath(name).suffix.casefold()) in (".md", ".html"):
        images = load_page_images(terminal.agent.store, session.id) if suffix == ".html" else None
        text = render_transcript(
            terminal.agent.store,
            session.id,
            terminal.language,
            told=lambda error: _render_stored_error(terminal, error),
            images=images,
        )
        text = render_web_page(text, terminal.language, images) if images is not None else text
    else:
        text = terminal.agent.export_session(session.id)
    path = file.write_user_file(name, text, replace=replace)
    terminal.note(terminal.say("chat.exported_private" if terminal.is_private else "chat.exported", file=path))


def _render_stored_error(terminal: Terminal, error: dict[str, Any]) -> str:
    """Returns the stored error of a turn in the user's language."""
    said = terminal.error_text(str(error.get("code")), str(error.get("message", "")), error.get("values") or {})
    return " ".join(said).strip()


def _leave_terminal(_terminal: Terminal, _value: str) -> None:
    raise Leave


COMMANDS: dict[str, Callable[[Terminal, str], None]] = {
    "new": _begin_new_session,
    "private": _begin_private_session,
    "sessions": _print_sessions,
    "open": _open_listed_session,
    "load": _open_listed_session,
    "summary": _print_summaries,
    "memory": print_memory,
    "entities": print_entities,
    "eval": print_memory_rating,
    "rag": print_document_search,
    "context": print_next_prompt,
    "rate": _set_session_rate,
    "retry": _retry_last_turn,
    "export": _export_session_file,
    "help": _print_command_help,
    "quit": _leave_terminal,
}
