"""A conversation in the terminal: the same turns as everywhere, their events as lines of text (design §2)."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from door.ask import decided, question
from door.phrase import ErrorText, Language, phrase
from errors import EmptyMessage, GieokError
from graph.agent import Agent
from graph.confirm import open_asks
from graph.context import cited
from graph.event import ContextBuilt, Done, Event, Failed, SummaryMade, Token, ToolFinished
from graph.tool.ask import Ask
from store import Session
from text.clean import clean

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but the tab and the line feed."""


def _short(event: ToolFinished) -> str:
    """What a tool gave, on a line: of a search in documents the places or why there are none, not the passages."""
    found = event.artifact or {}
    return cited(found) or str((found.get("fallback") or {}).get("text") or event.result)


def _ways(event: ToolFinished) -> list[str]:
    """Where else to look when no document fits: the menu entries that mean something in a terminal."""
    links = ((event.artifact or {}).get("fallback") or {}).get("links") or ()
    known = [(link["title"], link.get("command") or link["url"]) for link in links]
    return [f"→ {title}: {way}" for title, way in known if not way.startswith("?")]


def _harmless(text: str) -> str:
    """The text without what a terminal would obey: it could write the clipboard, clear the screen, hide text."""
    return _CONTROL.sub("", text)


class Leave(Exception):
    """The user wants to end."""


@dataclass
class Terminal:
    """One conversation at a time. ``out`` takes answers, ``side`` everything else, so that a pipe gets answers only."""

    agent: Agent
    out: Console
    side: Console
    language: Language
    error_text: ErrorText
    ask: Callable[[str], str] = input
    opened: Session | None = field(init=False, default=None)
    away: bool = field(init=False, default=False)

    def talk(self, session_id: str | None) -> int:
        """Asks and answers until Ctrl-D or /quit; returns the exit code."""
        self._open(session_id)
        with self.side.status(self.say("chat.model")):
            name = self.agent.models().name
        self.note(self.say("chat.welcome", name=name))
        try:
            while True:
                self._line(self.ask("› "))
        except (EOFError, KeyboardInterrupt, Leave):
            self.out.print()
        return 0

    def answer(self, text: str, session_id: str | None) -> int:
        """One message, one answer; 1 when it failed."""
        self._open(session_id)
        if not clean(text).strip():
            empty = EmptyMessage()
            self._show_failure(empty.code, empty.text(), empty.values)
            return 1
        ended = self._turn(lambda stop: self.agent.run(self.session.id, text, stop=stop))
        for _, ask in self._asks():  # nobody is there to answer
            self.note(question(self.language, ask))
            self.note(self.say("ask.later"))
        return 0 if ended else 1

    @property
    def session(self) -> Session:
        """The conversation; a new one is made when something is first done with it."""
        if self.opened is None:
            rate = self.agent.settings.compression_rate
            self.opened = self.agent.store.create_session(self.language, rate)
        return self.opened

    def say(self, key: str, **values: object) -> str:
        """A sentence in the user's language."""
        return phrase(self.language, key, **values)

    def note(self, text: str) -> None:
        """A line beside the conversation."""
        self.side.print(escape(_harmless(text)), style="dim", highlight=False)

    def show(self, event: Event) -> None:
        """One event of a turn as text."""
        match event:
            case Token(text):
                self.out.print(_harmless(text), end="", markup=False, highlight=False)
            case ToolFinished():
                self.note(self.say("chat.tool", name=event.name, result=_short(event)))
                for line in _ways(event):
                    self.note(line)
            case SummaryMade(turns, record):
                self._show_summary(turns, record)
            case ContextBuilt(report):
                self._show_away(any(each.reason == "memory_away" for each in report.left_out))
            case Done():
                self.out.print(f" {self.say('chat.stopped')}" if event.stopped else "", style="dim", highlight=False)
                if event.usage.cut_at:
                    self.note(self.say("chat.cut_off", tokens=event.usage.cut_at))
            case Failed():
                self._show_failure(event.code, event.message, event.values)
                if event.retryable:
                    self.note(self.say("chat.retry"))

    def _show_away(self, away: bool) -> None:
        """Once, when long-term memory cannot be reached."""
        if away and not self.away:
            self.note(self.say("chat.away"))
        self.away = away

    # --- a line that was typed ------------------------------------------------------------------

    def _line(self, line: str) -> None:
        if not line.strip():
            return
        if line.startswith("/"):
            name, _, value = line[1:].partition(" ")
            command = COMMANDS.get(name)
            if command is None:
                self.note(self.say("chat.unknown", command=f"/{name}"))
            else:
                self._guarded(lambda: command(self, value.strip()))
        else:
            self._turn(lambda stop: self.agent.run(self.session.id, line, stop=stop))
            self._guarded(self._answer_asks)

    def _turn(self, start: Callable[[threading.Event], Iterator[Event]]) -> bool:
        """Runs a turn and shows it; Ctrl-C stops the answer, and what was said of it is kept."""
        stop, failed = threading.Event(), False
        with _interrupt(stop):
            try:
                for event in start(stop):
                    self.show(event)
                    failed = isinstance(event, Failed)
            except GieokError as error:
                self._show_failure(error.code, error.text(), error.values)
                return False
        return not failed

    def _answer_asks(self) -> None:
        """Puts the turn's questions about memory to the user; anything but an answer leaves one open for the page."""
        for step, ask in self._asks():
            said = decided(ask, self.ask(_harmless(question(self.language, ask)) + " "))
            if said is None:
                self.note(self.say("ask.later"))
                continue
            number = self.agent.store.session(self.session.id).turn_count
            answered = self.agent.confirm(self.session.id, number, step, said.yes, lines=said.lines)
            self.note(self.say("ask.done" if said.yes else "ask.left"))
            if answered.get("waits"):
                self.note(self.say("ask.waits"))

    def _asks(self) -> list[tuple[str, Ask]]:
        """The open questions of the last turn, by their calls."""
        session = self.agent.store.session(self.session.id)
        turn = self.agent.store.turn(session.id, session.turn_count)
        return open_asks(turn) if turn is not None else []

    def _guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except GieokError as error:
            self._show_failure(error.code, error.text(), error.values)

    def _open(self, session_id: str | None) -> None:
        self.opened = self.agent.store.session(session_id) if session_id is not None else None
        if session_id is not None:
            self.agent.reconcile(session_id)

    def _show_summary(self, turns: tuple[int, ...], record: Mapping[str, Any] | None) -> None:
        first, last = turns[0], turns[-1]
        if record is None:
            self.note(self.say("chat.summary_failed", first=first, last=last))
            return
        sizes = {"original": record["original_chars"], "summary": record["summary_chars"]}
        self.note(self.say("chat.summary", first=first, last=last, **sizes))

    def _show_failure(self, code: str, message: str, values: Mapping[str, Any]) -> None:
        said, hint = self.error_text(code, message, values)
        self.side.print(escape(_harmless(f"{said} {hint}".strip())), style="red", highlight=False)


@contextmanager
def _interrupt(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C sets ``stop`` for the length of the block."""
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --- commands: one function each, one line in COMMANDS ------------------------------------------


def _help(terminal: Terminal, _value: str) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name in COMMANDS:
        table.add_row(f"/{name}", terminal.say(f"help.{name}"))
    terminal.side.print(table)


def _new(terminal: Terminal, _value: str) -> None:
    terminal._open(None)
    terminal.note(terminal.say("chat.new"))


def _sessions(terminal: Terminal, _value: str) -> None:
    found = terminal.agent.store.sessions()
    for number, session in enumerate(found, 1):
        terminal.note(f"{number:3}  {session.title}  ({session.turn_count})")
    if not found:
        terminal.note(terminal.say("chat.none"))


def _open(terminal: Terminal, value: str) -> None:
    found = terminal.agent.store.sessions()
    if not value.isdecimal() or not 1 <= int(value) <= len(found):
        terminal.note(terminal.say("chat.wants", command="/open", example="/open 1"))
        return
    terminal._open(found[int(value) - 1].id)
    terminal.note(terminal.say("chat.opened", title=terminal.session.title))


def _summary(terminal: Terminal, _value: str) -> None:
    history = terminal.agent.state(terminal.session.id).get("summary_history") or []
    for record in history:
        terminal._show_summary(tuple(record["turns"]), record)
        terminal.note(f"    {record['summary']}")
    if not history:
        terminal.note(terminal.say("chat.none"))


def _rate(terminal: Terminal, value: str) -> None:
    try:
        rate = float(value)
    except ValueError:
        terminal.note(terminal.say("chat.wants", command="/rate", example="/rate 0.3"))
        return
    terminal.agent.store.set_rate(terminal.session.id, rate)
    terminal.note(terminal.say("chat.rate", rate=rate))


def _retry(terminal: Terminal, _value: str) -> None:
    terminal._turn(lambda stop: terminal.agent.retry(terminal.session.id, stop=stop))
    terminal._answer_asks()


def _quit(_terminal: Terminal, _value: str) -> None:
    raise Leave


COMMANDS: dict[str, Callable[[Terminal, str], None]] = {
    "new": _new,
    "sessions": _sessions,
    "open": _open,
    "summary": _summary,
    "rate": _rate,
    "retry": _retry,
    "help": _help,
    "quit": _quit,
}
