"""A running turn, from the accepted question to the written answer (design 2.4)."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.types import Command

from errors import GieokError, ensure_gieok_error, format_error_trace
from graph import title
from graph.answer import documents, past_quote, read_ahead
from graph.context.past import FoundPast, read_item
from graph.context.prompt import raw_tokens
from graph.node.ask import ANSWERS
from graph.state import ChatState
from graph.summary import ahead
from graph.summary.ahead import Ahead
from graph.summary.known import read_known
from graph.tool.client_tool import NO_TOOLS
from graph.tool.reach import RecalledTurns
from graph.tool.recall import TURNS as RECALLED_TURNS
from graph.turn import outside
from graph.turn.channel import Channel
from graph.turn.event import Done, Ended, Failed, TurnQuestions, find_finish_reason
from graph.turn.finish import build_failed_row, build_finished_row, build_waiting_row, turn_messages
from graph.turn.image import add_stored_images
from graph.turn.memory import long_term, past_turns
from graph.turn.process.engine import TurnEngine, build_graph_config
from graph.turn.request import Request
from graph.turn.runtime import Inputs, Notes, TurnContext, restore_notes
from graph.turn.session import repair
from memory import MemoryView, ProfileLine
from memory.reader import MemoryReading
from model.profile import Profile
from store import Finished, Session, TurnRow
from store.database.engine import translate_database_errors
from store.search.turn_index import TurnKey
from store.session.opening import TurnPlace
from store.session.options import AnswerOptions
from store.turn.question import UserQuestion, parse_user_question
from store.turn.wording import build_text_mark
from text.fence import find_words

log = logging.getLogger(__name__)


@dataclass
class RunningTurn:
    """A turn of a session while it runs. ``place``: where its row lies; ``options``: the session's; ``request``: for
    its limits and images.

    ``state``: the newest state of the graph; ``context``: what its nodes may use; both are None until the graph starts.
    ``with_images``: the record has images of the session.
    ``reading``: what was read of memory for it; None without memory. ``waited``: the row of the turn while it
    waited for the user, if it did; ``questions``: what it waits for from now on.
    """

    engine: TurnEngine
    session: Session
    place: TurnPlace
    options: AnswerOptions
    channel: Channel
    request: Request
    began: float = field(default_factory=time.monotonic)
    state: ChatState | None = None
    context: TurnContext | None = None
    reading: MemoryReading | None = None
    waited: TurnRow | None = None
    with_images: bool = False
    questions: list[UserQuestion] = field(default_factory=list)

    @property
    def number(self) -> int:
        return self.place.number

    def drive(self, text: str | None) -> Ended:
        """Runs the graph and returns how the turn ended. ``text``: the question; None runs the same turn again."""
        try:
            self._graph(text)
        except Exception as error:
            return self._write_failed_row(ensure_gieok_error(error, log, f"turn {self.number}"))
        return self._end_turn()

    def _graph(self, text: str | None) -> None:
        """Runs the graph in this thread, node by node.

        Events go straight into the channel, because LangGraph's own stream would take two threads a node.
        """
        if self.with_images:
            self.request = add_stored_images(self.engine, self.session, self.number, self.request)
        self.context = self._context(text)
        start = self._start(text)
        with translate_database_errors("the checkpoints"):
            address = build_graph_config(self.session.id)
            states = self.engine.graph.stream(
                start, address, context=self.context, stream_mode="values", durability="sync"
            )
            for state in states:
                if (interrupts := state.get(INTERRUPT)) is not None:
                    self.questions = [
                        parse_user_question(plain) for interrupt in interrupts for plain in interrupt.value
                    ]
                else:
                    self.state = cast(ChatState, state)

    def _start(self, text: str | None) -> dict[str, Any] | Command[Any] | None:
        engine, session, images = self.engine, self.session, len(self.request.images)
        if self.waited is not None and repair.open_questions(engine, session, self.number):
            return Command(resume={ANSWERS: {id_: answer.plain() for id_, answer in self.request.answers.items()}})
        if text is not None:
            return repair.build_turn_input(engine, session, self.number, text, images)
        last = engine.store.turn(session.id, self.number)
        assert last is not None
        return repair.build_retry_input(engine, session, last, images)

    def _context(self, text: str | None) -> TurnContext:
        engine, session, number, request = self.engine, self.session, self.number, self.request
        models, notes = engine.models(), restore_notes(self.waited)
        question = find_words(text or self.place.question)
        # what the turn may know: documents, memory, and what was said before
        search = documents.build_turn_search(engine, session, self.place, models, notes, session.language, self.channel)
        long_term.keep_apart(engine, session)
        read_at = time.time()
        self.reading = reading = long_term.read_for_turn(engine, session, models)
        memory = reading.view if reading else MemoryView(away=True) if engine.memory is not None else None
        facts = long_term.choose_facts(memory, models.profile, question, engine.now())
        found = self._find_past(question, models.profile)
        # what it may call: a tool of the client takes the place of one of ours with its name
        client_tools = request.tools if models.profile.tools == "native" else NO_TOOLS
        theirs = client_tools.make()
        taken = {tool.name for tool in theirs}
        shown = partial(self._shown_turns, notes, found)
        tools = [
            *engine.tools,
            *long_term.make_turn_memory_tools(
                engine,
                session,
                number,
                models.profile,
                shown,
                request.cites,
                self._quote_past(found, facts, models.profile),
            ),
            *(search.tools if search else ()),
            *outside.list_outside_tools(
                engine, models, question, session=session.id, asks=request.asks, stop=self.channel.stop
            ),
        ]
        # what stands before the question
        parts = long_term.build_memory_parts(memory, engine, session.language, number, models.profile, facts)
        long_term.save_given_parts(engine, session.id, parts, read_at)
        clock = () if models.profile.prompt == "bare" else engine.changing(session, engine.now())
        inputs = Inputs(
            tools=[*(tool for tool in tools if tool.name not in taken), *theirs],
            changing=(*parts, *clock),
            options=self.options,
            budgets=engine.budgets,
            history_tokens=session.history_tokens,
            past_turns=found,
            foreign_memory=memory is not None and memory.foreign,
            is_imported=self.place.is_imported,
            client_system=session.client_system,
            client_tools=client_tools,
            asks=request.asks,
            limits=request.limits,
            images=request.images,
            earlier_images=request.earlier_images,
            ending=request.ending,
        )
        return TurnContext(
            models,
            engine.settings,
            self.channel,
            inputs,
            notes,
            ledger=engine.store.ledger,
            ahead=Ahead(engine.background, session),
            search=search,
            now=engine.now,
            read_known=self._read_known,
            mark_foreign=partial(engine.store.mark_foreign, session.id, number, self.place),
            is_marked=partial(engine.store.has_foreign, session.id, number, self.place),
        )

    def _find_past(self, question: str, profile: Profile) -> FoundPast | None:
        """Returns the past turns that fit; none where memory could not be read, because it says what must not be
        found."""
        if self.engine.memory is not None and self.reading is None:
            return None
        past, cites = self.reading.past if self.reading else None, self.request.cites
        return past_turns.find_past(self.engine, self.session, question, self.number, profile, cites, past)

    def _quote_past(
        self, found: FoundPast | None, facts: Sequence[ProfileLine], profile: Profile
    ) -> RecalledTurns | None:
        """Returns the answer that quotes the past turns and the lines of the profile that fit; None where the model
        answers: a strong one, in a role of the conversation's own, about files and images, and where the user wants
        another answer."""
        has_role = bool(self.options.system_prompt or self.session.client_system)
        with_more = self.place.with_files or self.place.with_images or bool(self.request.images)
        if profile.documents != "quoted" or has_role or with_more or self.request.kind == "again":
            return None
        language = self.session.language
        lines = [fact.describe(language) for fact in facts]
        return past_quote.quote_past(found, lines, language, self.request.cites)

    def _read_known(self, chunk: Sequence[int]) -> str:
        rows = self.engine.store.turns_between(self.session.id, chunk[0], chunk[-1])
        return read_known(self.engine, self.session, rows)

    def _shown_turns(self, notes: Notes, found: FoundPast | None) -> list[TurnKey]:
        """Returns the past turns that the turn has shown so far, in the order of their marks. Before the first prompt,
        as where a router calls the tool, these are the turns that it will show (``found``)."""
        if notes.report is None:
            return [entry.key for entry in found.entries] if found else []
        recalled = (step.artifact or {} for _, step in notes.steps if step.name == "recall")
        items = (item for artifact in recalled for item in artifact.get(RECALLED_TURNS, ()))
        own = self.session.id
        return [*past_turns.shown_turns(notes.report, own), *(read_item(item, own)[0] for item in items)]

    def _end_turn(self) -> Ended:
        """Writes the answer's row, leaves one checkpoint, plans the side work.

        The answer is in the checkpoint by now: if its row cannot be written, ``graph.turn.session.repair`` completes
        the row later.
        """
        try:
            ended = self._waits() or self._write_answer_row()
        except Exception as error:
            failure = ensure_gieok_error(error, log, f"turn {self.number}")
            return Failed(self.number, failure.code, str(failure), True, failure.values)
        if isinstance(ended, Done):
            self._tidy()
        return ended

    def _waits(self) -> TurnQuestions | None:
        """Writes the row of a turn that waits for the user; returns None when it does not wait."""
        if not self.questions:
            return None
        assert self.context is not None
        notes, seconds, said = self.context.notes, self._seconds(), self.channel.text
        end = build_waiting_row(self.questions, notes, seconds, said)
        self._write_end(end)
        return TurnQuestions(self.number, tuple(self.questions), said, notes.usage(), seconds)

    def _write_answer_row(self) -> Done:
        assert self.context is not None
        state = self.state or self.engine.state_of(self.session)
        notes, messages, seconds = self.context.notes, state["messages"], self._seconds()
        first = notes.first_token - self.began if notes.first_token else None
        tokens = raw_tokens(turn_messages(messages, self.number), self.context.models.count)
        end = build_finished_row(messages, self.number, notes, seconds, first, tokens)
        self._write_end(end)
        usage, stopped = notes.usage(), end.status == "stopped"
        return Done(
            self.number, end.answer or "", stopped, usage, seconds, first, find_finish_reason(usage.cut_at, stopped)
        )

    def _write_end(self, end: Finished) -> None:
        self.engine.store.finish_turn(self.session.id, self.number, end, self.engine.now().timestamp(), self.place)

    def _seconds(self) -> float:
        """Returns how long the turn has worked so far, without the time in which it waited for the user."""
        before = self.waited.seconds if self.waited is not None else None
        return (before or 0.0) + time.monotonic() - self.began

    def _tidy(self) -> None:
        """Removes old checkpoints and plans the side work; the next turn makes up for whatever fails here."""
        try:
            self.engine.checkpoints.prune(self.session.id)
            if self.engine.settings.ahead:
                ahead.plan_next_summary(self.engine, self.session.id, self.state or self.engine.state_of(self.session))
            if self.context is not None and (system := self.context.notes.system):
                self.engine.store.wordings.keep(build_text_mark(system), system)
            title.plan_session_title(self.engine, self.session.id, self.number)
            long_term.plan_memory_fold(self.engine, self.session.id, self.reading)
            past_turns.plan_index(self.engine, self.session.id, self.reading.past if self.reading else None)
            read_ahead.plan_read_ahead(self.engine, self.session.id)
        except GieokError as error:
            log.warning("after turn %d: %s", self.number, error.code)

    def _write_failed_row(self, error: GieokError) -> Failed:
        """Writes the row of a failed turn; leaves the turn's notes out if they are what cannot be written."""
        for notes in (self.context.notes if self.context is not None else Notes(), Notes()):
            try:
                end = build_failed_row(error, notes, self._seconds(), self.channel.text)
                self._write_end(end)
                break
            except GieokError:
                log.error("the failed turn %d could not be written: it stays open and is found again", self.number)
                break
            except Exception as fault:
                log.error("the failed turn %d could not be written: %s", self.number, format_error_trace(fault))
        with suppress(GieokError):  # keeps the newest checkpoint, from which a retry goes on
            self.engine.checkpoints.prune(self.session.id)
        return Failed(self.number, error.code, str(error), error.retryable, error.values)
