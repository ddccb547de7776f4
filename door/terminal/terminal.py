"""A conversation in the terminal: the same turns as in the page, their events as lines of text (design 2.2)."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, assert_never

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from door.terminal.command import COMMANDS, Leave, build_command_table, is_script, parse_command
from errors import Empty, GieokError
from graph.context.prompt import render_passage_places
from graph.tool.question.ask import Ask
from graph.turn.agent import Agent, private_agent
from graph.turn.event import (
    ContextBuilt,
    Done,
    Event,
    Failed,
    SummaryLater,
    SummaryMade,
    SummaryStarted,
    Thought,
    Token,
    ToolFinished,
    ToolStarted,
    TurnQuestions,
)
from graph.turn.memory.confirm import open_asks
from model.modelset import ModelSet
from server import waiting
from server.ask import MemoryDecision, parse_memory_decision, render_memory_question
from server.phrase import ErrorText, Language, render_phrase
from store import Session
from store.session.options import DEFAULT, AnswerOptions
from store.turn.question import UserQuestion
from store.turn.question import parse_user_question as as_question
from text.clean import clean_text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters except the tab and the line feed."""
INTERRUPTED = 130
"""Exit code of a script that Ctrl-C stopped, as in shells."""


def _render_short_result(event: ToolFinished) -> str:
    """Returns the result of a tool on one line; for a search in documents the places or why there are none, not the
    passages."""
    artifact = event.artifact or {}
    return render_passage_places(artifact) or str((artifact.get("fallback") or {}).get("text") or event.result)


def _list_fallback_links(event: ToolFinished) -> list[str]:
    """Returns where else to look when no document fits: the menu entries that make sense in a terminal."""
    links = ((event.artifact or {}).get("fallback") or {}).get("links") or ()
    entries = [(link["title"], link.get("command") or link["url"]) for link in links]
    return [f"→ {title}: {target}" for title, target in entries if not target.startswith("?")]


def _remove_control_characters(text: str) -> str:
    """Removes control characters from the text, because a terminal would obey them: they can write the clipboard, clear
    the screen or hide text."""
    return _CONTROL.sub("", text)


@dataclass
class Terminal:
    """One conversation at a time. ``out`` takes answers and the results of commands, ``side`` everything else, so that
    a pipe gets only what it asked for.

    ``options``: how to answer the conversations that are begun or opened here; the default options change none.
    ``attended``: somebody is there to answer questions. ``failed``: something that was asked for did not happen.
    ``stopped``: Ctrl-C stopped the last work.
    """

    agent: Agent
    out: Console
    side: Console
    language: Language
    error_text: ErrorText
    ask: Callable[[str], str] = input
    options: AnswerOptions = DEFAULT
    opened: Session | None = field(init=False, default=None)
    away: bool = field(init=False, default=False)
    attended: bool = field(init=False, default=False)
    failed: bool = field(init=False, default=False)
    stopped: bool = field(init=False, default=False)
    shared: Agent = field(init=False)

    def __post_init__(self) -> None:
        self.shared = self.agent

    @property
    def is_private(self) -> bool:
        """Whether the conversation is private: nothing of it is stored."""
        return self.agent is not self.shared

    def begin_private(self) -> None:
        """Begins a new private conversation in place of the current conversation."""
        self.leave_private()
        self.opened, self.agent = None, private_agent(self.shared)
        self.note(self.say("chat.private"))

    def leave_private(self) -> None:
        """Ends the conversation if it is private: nothing of it is left."""
        if self.is_private:
            self.agent.close()
            self.agent = self.shared
            self.note(self.say("chat.private_ended"))

    def talk(self, session_id: str | None) -> int:
        """Asks and answers until Ctrl-D or /quit; returns the exit code."""
        self.attended = True
        self.open(session_id)
        self.note(self.say("chat.welcome", name=self.models().name))
        try:
            while True:
                self._line(self.ask(self.say("chat.private_prompt") if self.is_private else "› "))
        except (EOFError, KeyboardInterrupt, Leave):
            self.out.print()
        self.leave_private()
        return 0

    def answer(self, text: str, session_id: str | None) -> int:
        """Sends one message and prints its answer. Returns the exit code: 1 when the turn failed.

        A text that begins with a command (``door.terminal.command.is_script``) is handled line by line, as if it were
        typed. The exit code is then 1 when a command is unknown or anything failed, and 130 after Ctrl-C.
        """
        self.attended = self.failed = False
        self.open(session_id)
        if not clean_text(text).strip():
            empty = Empty(what="message")
            self._show_failure(empty.code, empty.text(), empty.values)
            return 1
        if is_script(text):
            return self._run_script(text)
        if self._take_as_answer(text):
            return 0
        succeeded = self.turn(lambda stop: self.agent.run(self.session.id, text, stop=stop))
        self.answer_asks()
        return 0 if succeeded else 1

    def _run_script(self, text: str) -> int:
        try:
            for line in text.splitlines():
                self._line(line)
                if self.stopped:
                    return INTERRUPTED
        except KeyboardInterrupt:
            return INTERRUPTED
        except Leave:
            pass
        return 1 if self.failed else 0

    @property
    def session(self) -> Session:
        """The conversation; creates a new one at its first use."""
        if self.opened is None:
            rate = self.agent.settings.compression_rate
            self.opened = self.agent.store.create_session(self.language, rate, options=self.options)
        return self.opened

    @property
    def begun_session(self) -> Session | None:
        """The conversation as it is now; None before its first message, and then none is created."""
        return self.agent.store.session(self.opened.id) if self.opened is not None else None

    @property
    def models_ready(self) -> ModelSet | None:
        """The models if they are ready by now: what only looks need not start one."""
        known: ModelSet | None = getattr(self.agent.models, "ready_models", None)
        return known

    def models(self) -> ModelSet:
        """Returns the models once they are ready. Raises the errors of resolving them."""
        with self.side.status(self.say("chat.model")):
            return self.agent.models()

    def say(self, key: str, **values: object) -> str:
        """Returns a sentence in the user's language."""
        return render_phrase(self.language, key, **values)

    def note(self, text: str) -> None:
        """Prints a line beside the conversation."""
        self.side.print(escape(_remove_control_characters(text)), style="dim", highlight=False)

    def tell(self, text: str) -> None:
        """Prints a line of what a command was asked for."""
        self.out.print(_remove_control_characters(text), markup=False, highlight=False)

    def tell_rows(self, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Container[int]) -> None:
        """Prints a table of what a command was asked for; ``numbers``: the columns that hold numbers."""
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for place, name in enumerate(head):
            table.add_column(Text(name), justify="right" if place in numbers else "left")
        for row in rows:
            table.add_row(*(Text(_remove_control_characters(cell)) for cell in row))
        self.out.print(table)

    def refuse(self, text: str) -> None:
        """Prints why a command did not do what it was asked for."""
        self.failed = True
        self.note(text)

    def show(self, event: Event) -> None:
        """Prints one event of a turn as text."""
        match event:
            case Token(text):
                self.out.print(_remove_control_characters(text), end="", markup=False, highlight=False)
            case ToolFinished():
                self.note(self.say("chat.tool", name=event.name, result=_render_short_result(event)))
                for line in _list_fallback_links(event):
                    self.note(line)
            case SummaryMade(turns, record):
                self._show_summary(turns, record)
            case ContextBuilt(report):
                self._show_away(any(omission.reason == "memory_away" for omission in report.left_out))
            case Done():
                self.out.print(f" {self.say('chat.stopped')}" if event.stopped else "", style="dim", highlight=False)
                if event.usage.cut_at:
                    self.note(self.say("chat.cut_off", tokens=event.usage.cut_at))
            case Failed():
                self._show_failure(event.code, event.message, event.values)
                if event.retryable:
                    self.note(self.say("chat.retry"))
            case TurnQuestions() | Thought() | ToolStarted() | SummaryStarted() | SummaryLater():
                pass  # the questions are asked once the run has ended (``answer_asks``)
            case _:
                assert_never(event)

    def _show_away(self, away: bool) -> None:
        """Notes once that long-term memory cannot be reached."""
        if away and not self.away:
            self.note(self.say("chat.away"))
        self.away = away

    # --- a line that was typed ------------------------------------------------------------------

    def _line(self, line: str) -> None:
        self.stopped = False
        if not line.strip():
            return
        typed = parse_command(line)
        if typed is not None:
            self._run_command(*typed)
        elif not self._take_as_answer(line):
            self.turn(lambda stop: self.agent.run(self.session.id, line, stop=stop))
            self._run_guarded(self.answer_asks)

    def _run_command(self, name: str, value: str) -> None:
        command = COMMANDS.get(name)
        if command is not None:
            self._run_guarded(lambda: command(self, value.strip()))
            return
        self.refuse(self.say("chat.unknown", command=f"/{name}"))
        if not self.attended:
            self.side.print(build_command_table(self))

    def _take_as_answer(self, line: str) -> bool:
        """Takes a line as the answer to the one open question if it is a word that the question showed; returns whether
        it was."""
        asks = self._asks() if self.opened is not None else []
        decision = parse_memory_decision(self.language, asks[0][1], line) if len(asks) == 1 else None
        if decision is None:
            return False
        self._run_guarded(lambda: self._decide(asks[0][0], decision))
        return True

    def turn(self, start: Callable[[threading.Event], Iterator[Event]]) -> bool:
        """Runs a turn and shows it; Ctrl-C stops the answer and keeps the text so far. Returns whether the turn
        succeeded."""
        end: Event | None = None
        with self.stoppable() as stop:
            try:
                for end in start(stop):
                    self.show(end)
            except GieokError as error:
                self._show_failure(error.code, error.text(), error.values)
                return False
        if isinstance(end, TurnQuestions):
            return self._ask_and_resume(end.questions)
        return not isinstance(end, Failed)

    def _ask_and_resume(self, questions: Sequence[UserQuestion]) -> bool:
        """Puts the questions of a waiting turn to the user and goes on with the answers; without anybody there, the
        turn goes on waiting."""
        if not self.attended:
            for asked in questions:
                self.note(waiting.render_waiting_question(self.language, asked))
            self.refuse(self.say("waiting.later"))
            return False
        answers = waiting.ask_waiting_questions(
            self.language, questions, lambda text: self.ask(_remove_control_characters(text)), self.note
        )
        return self.turn(lambda stop: self.agent.resume(self.session.id, answers, stop=stop))

    def _open_questions(self) -> list[UserQuestion]:
        """Returns what the conversation waits for since it was left."""
        session = self.agent.store.session(self.session.id)
        turn = self.agent.store.turn(session.id, session.turn_count)
        return [as_question(plain) for plain in turn.questions] if turn is not None else []

    @contextmanager
    def stoppable(self) -> Iterator[threading.Event]:
        """Yields an event that Ctrl-C sets during the block, instead of ending the program."""
        stop = threading.Event()
        try:
            with _stop_on_interrupt(stop):
                yield stop
        finally:
            self.stopped = stop.is_set()

    def answer_asks(self) -> None:
        """Puts the turn's questions about memory to the user; a line that answers none leaves the question open for the
        page, as a pipe does, where nobody is there to answer."""
        for step, ask in self._asks():
            if not self.attended:
                self.note(render_memory_question(self.language, ask))
                self.note(self.say("ask.later"))
                continue
            decision = parse_memory_decision(
                self.language,
                ask,
                self.ask(_remove_control_characters(render_memory_question(self.language, ask)) + " "),
            )
            if decision is None:
                self.note(self.say("ask.later"))
            else:
                self._decide(step, decision)

    def _decide(self, step: str, said: MemoryDecision) -> None:
        """Answers the question of the tool call ``step`` in the last turn."""
        number = self.agent.store.session(self.session.id).turn_count
        self.agent.confirm(self.session.id, number, step, said.yes, lines=said.lines)
        self.note(self.say("ask.done" if said.yes else "ask.left"))

    def _asks(self) -> list[tuple[str, Ask]]:
        """Returns the open questions of the last turn, each with the id of its tool call."""
        session = self.agent.store.session(self.session.id)
        turn = self.agent.store.turn(session.id, session.turn_count)
        return open_asks(turn) if turn is not None else []

    def _run_guarded(self, action: Callable[[], None]) -> None:
        try:
            action()
        except GieokError as error:
            self._show_failure(error.code, error.text(), error.values)

    def open(self, session_id: str | None) -> None:
        """Opens a stored conversation; None: the next message begins a new one. Raises ``SessionUnknown``."""
        self.opened = self.agent.store.session(session_id) if session_id is not None else None
        if session_id is not None:
            self._set_options(session_id)
            self.agent.reconcile(session_id)
            if self.attended and (questions := self._open_questions()):
                self._ask_and_resume(questions)

    def _set_options(self, session_id: str) -> None:
        """Replaces the options of an opened conversation by the options given to this terminal; options not given
        stay."""
        stored, options = self.agent.store.options.of(session_id), self.options
        if options != DEFAULT:
            temperature = stored.temperature if options.temperature is None else options.temperature
            prompt = options.system_prompt or stored.system_prompt
            self.agent.store.options.set(session_id, AnswerOptions(prompt, temperature, stored.answer_tokens))

    def _show_summary(self, turns: tuple[int, ...], record: Mapping[str, Any] | None) -> None:
        if record is None:
            name = "chat.summary_failed.one" if len(turns) == 1 else "chat.summary_failed"
            self.note(self.say(name, first=turns[0], last=turns[-1]))
        else:
            self.note(self.summary_line(turns, record))

    def summary_line(self, turns: Sequence[int], record: Mapping[str, Any]) -> str:
        """Returns which turns a summary stands for, and how much shorter it is."""
        sizes = {"original": record["original_chars"], "summary": record["summary_chars"]}
        name = "chat.summary.one" if len(turns) == 1 else "chat.summary"
        return self.say(name, first=turns[0], last=turns[-1], **sizes)

    def _show_failure(self, code: str, message: str, values: Mapping[str, Any]) -> None:
        self.failed = True
        text, hint = self.error_text(code, message, values)
        self.side.print(escape(_remove_control_characters(f"{text} {hint}".strip())), style="red", highlight=False)


@contextmanager
def _stop_on_interrupt(stop: threading.Event) -> Iterator[None]:
    """Makes Ctrl-C set ``stop`` during the block."""
    previous = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
