"""Folding: M_i = fold(M_{i-1}, new turns), after the answer. The rows decide what is due, so the next fold completes
one that was killed at any point, and two processes never fold one session at once.

A fold reads, lets a model or code write, and commits only if nothing else has changed the memory meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import func, or_, select

from errors import (
    AnswerRefused,
    ContextTooLong,
    EmptyAnswer,
    FoldRejected,
    GieokError,
    ModelOutputError,
    RequestRejected,
    SessionBusy,
    UpstreamError,
)
from memory import fold
from memory.fold import Folded
from memory.fold.fold_input import FoldInput
from memory.key import Scope
from memory.line import has_whole_value
from memory.reader import turns_of_forgotten
from memory.row.profile import carries_over, make_fact, read_profile, write_fact
from memory.row.rows import (
    Head,
    MemoryRows,
    add_version,
    change_lines,
    change_source,
    read_forgotten,
    read_head,
    read_memory,
    write_rejection,
)
from memory.state import (
    MOST_ENTITIES,
    SHORT_TURNS,
    MemoryLine,
    MemoryState,
    MemoryTurn,
    Origin,
    Rejection,
    same_key,
)
from memory.text import match_entities, match_lines, render_text
from memory.view.known import is_taken_back
from memory.view.proposal import Proposal, find_proposal, read_asks_first, write_proposal
from memory.writer import write_new
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.pause import count_pause
from settings import Settings
from store.database import memory_table as table
from store.database import schema
from text.language import Language

MOST_REWRITTEN = 40
"""Most waiting turns that a rewrite takes in; a later fold takes the others."""
REFUSALS = (RequestRejected, ContextTooLong, AnswerRefused, EmptyAnswer)
"""Errors of a model's server that the same request would meet again, such as a content filter's."""
FAILURES = (UpstreamError, ModelOutputError)
"""Other errors of a model's server, which may pass."""


@dataclass(frozen=True, slots=True)
class FoldReport:
    """The outcome of a fold. ``versions``: numbers of new versions; ``reason``: why it was rejected or did not run."""

    status: Literal["folded", "nothing", "rejected", "busy"]
    versions: tuple[int, ...] = ()
    reason: str = ""


class MemoryFolds:
    """Folds of all sessions. ``hold``: holds a name among all processes, or raises ``SessionBusy``."""

    def __init__(
        self, settings: Settings, rows: MemoryRows, hold: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        self._settings, self._rows, self._hold = settings, rows, hold

    def list_due(self, tenant: str) -> list[str]:
        """Returns the sessions of a tenant whose folds a crash left behind, for an app start. An imported conversation
        waits until it goes on: nobody has asked for its memory yet, which a model may have to write. One with a model
        of its own waits too: its turns go to no other model."""
        source, session, version = table.source.c, schema.session.c, table.version.c
        folded = select(func.coalesce(func.max(version.folded), 0)).where(
            version.tenant == source.tenant, version.session == source.session, version.undone.is_(False)
        )
        turn = schema.turn.c
        went_on = select(turn.id).where(turn.session_id == source.session, turn.id > 0, turn.is_copy.is_(False))
        query = select(source.session).join(schema.session, session.id == source.session)
        query = query.where(
            source.tenant == tenant,
            session.deleted.is_(None),
            session.model.is_(None),
            or_(session.world == "", session.remembers),
            session.turn_count - source.skipped > SHORT_TURNS,
            session.turn_count - folded.scalar_subquery() > SHORT_TURNS,
            went_on.exists(),
        )
        with self._rows.transaction() as connection:
            names = list(connection.execute(query.order_by(source.updated.desc())).scalars())
            return [name for name in names if read_memory(connection, read_head(connection, Scope(tenant, name))).due]

    def run(
        self,
        tenant: str,
        session: str,
        *,
        models: ModelSet,
        language: str = "ko",
        stop: threading.Event | None = None,
        step: Callable[[str], None] = lambda _: None,
        anew: bool = False,
    ) -> FoldReport:
        """Folds until no fold is due. ``step`` is called with the name of every finished step (tests stop there).

        ``anew``: instead, the model writes the current memory anew, with the waiting turns, whatever its profile says:
        as a version of its own, which can be undone. A rejection then changes nothing and is not recorded.
        Raises ``Stopped`` when ``stop`` is set, and the model's own errors; the turns then wait for the next fold.
        """
        run = _FoldRun(self._settings, self._rows, Scope(tenant, session), models, language, stop, step)
        numbers = list[int]()
        try:
            with self._hold(f"memory:{tenant}:{session}"):
                (run.rewrite if anew else run.fold_due)(numbers)
        except SessionBusy:
            return FoldReport("busy")
        except FoldRejected as error:
            return FoldReport("rejected", tuple(numbers), str(error.values["reason"]))
        return FoldReport("folded" if numbers else "nothing", tuple(numbers))

    def find_proposal(self, tenant: str, session: str) -> Proposal | None:
        """Returns what the last fold of a session would write, while it waits for the user's yes."""
        with self._rows.transaction() as connection:
            head = read_head(connection, Scope(tenant, session))
            return find_proposal(head, read_memory(connection, head)) if head.proposal else None

    def answer_proposal(self, tenant: str, session: str, yes: bool, *, models: ModelSet, language: str = "ko") -> bool:
        """Carries out what the user says to a proposal: yes writes it, no takes its turns in without a change. Returns
        False when it no longer counts. Raises ``SessionBusy`` while a fold runs."""
        run = _FoldRun(self._settings, self._rows, Scope(tenant, session), models, language, None, lambda _: None)
        with self._hold(f"memory:{tenant}:{session}"):
            return run.answer(yes)


class _FoldRun:
    """One run of folds over one session."""

    def __init__(
        self,
        settings: Settings,
        rows: MemoryRows,
        scope: Scope,
        models: ModelSet,
        language: str,
        stop: threading.Event | None,
        step: Callable[[str], None],
    ) -> None:
        self._settings, self._rows, self._scope, self._models = settings, rows, scope, models
        self._stop, self._step = stop, step
        self._language: Language = "ko" if language == "ko" else "en"

    def fold_due(self, numbers: list[int]) -> None:
        """Folds batch after batch; adds the numbers of new versions. A user who wants to say yes first gets one
        proposal at a time. Raises ``FoldRejected`` after recording it, and the model's errors after recording the
        failure."""
        self._step("locked")
        while (read := self._read()).state.due:
            if read.asks_first and find_proposal(read.head, read.state) is not None:
                return
            if self._stop is not None and self._stop.is_set():
                raise Stopped
            state = read.state
            try:
                folded = self._make(read.source(state.batch), state.is_stuck)
            except FoldRejected as error:
                self._reject(error, read)
                raise
            except FAILURES as error:
                self._note_failure(error, read)
                raise
            self._step("made")
            if read.asks_first:
                self._propose(read, state.batch, folded)
                return
            if self._commit(read, state.batch, folded, "fold"):
                numbers.append(state.version + 1)

    def rewrite(self, numbers: list[int]) -> None:
        """Writes the memory anew, once."""
        self._step("locked")
        read = self._read(rewrites=True)
        state, turns = read.state, read.state.waiting[:MOST_REWRITTEN]
        if not (state.lines or turns):
            return
        folded = fold.by_model.fold_by_model(read.source(turns), self._models, self._room, self._stop, self._step)
        if self._commit(read, turns, folded, "rewritten"):
            numbers.append(state.version + 1)

    def answer(self, yes: bool) -> bool:
        """Carries out what a proposal says, or takes its turns in without a change; returns False when it no longer
        counts."""
        read = self._read()
        proposal = find_proposal(read.head, read.state)
        if proposal is None:
            return False
        state, turns = read.state, read.state.waiting[: len(proposal.turns)]
        text, entities = render_text(state.lines, state.language), tuple(row.entity for row in state.entities)
        unchanged = Folded(text, entities, **fold.read_fold_cost(proposal.folded))  # what was refused is paid for
        return self._commit(read, turns, proposal.folded if yes else unchanged, "fold")

    def _propose(self, read: _FoldRead, turns: Sequence[MemoryTurn], folded: Folded) -> None:
        with self._rows.writing(self._scope, read.head.user) as connection:
            head = read_head(connection, self._scope)
            if (head.revision, head.path) == (read.head.revision + 1, read.head.path):
                write_proposal(connection, head, read_memory(connection, head), turns, folded)
        self._step("proposed")

    @property
    def _room(self) -> int:
        return self._settings.budget_memory

    def _read(self, rewrites: bool = False) -> _FoldRead:
        with self._rows.transaction() as connection:
            head = read_head(connection, self._scope)
            state = read_memory(connection, head)
            if not (state.due or rewrites):
                return _FoldRead(head, state, (), (), self._language)
            carried = carries_over(connection, head, self._settings.user_memory)
            profile = [line.row for line in read_profile(connection, head, False)]
            pins = [row for row in profile if row.pinned and not row.key and not row.is_foreign]
            forgotten = read_forgotten(connection, head, carried)
            asks_first = read_asks_first(connection, self._scope.tenant, head.user)
        texts = tuple(row.text for row in pins)
        return _FoldRead(head, state, texts, tuple(forgotten), self._language, asks_first)

    def _make(self, source: FoldInput, or_code: bool) -> Folded:
        """Folds; with ``or_code``, code writes what the model's reply or server refuses."""
        try:
            return fold.fold_memory(source, self._models, self._room, self._stop, self._step)
        except FoldRejected as error:
            rejected = error
        except REFUSALS as error:
            detail = _describe_cause(error)
            why = {"reason": f"the model's server refused it ({detail})", "reason_code": "refused", "detail": detail}
            rejected = source.make_rejection(why, {})
        if not or_code:
            raise rejected
        return fold.extracted.fold_by_code(source, self._models.count, self._room, rejected.values["cost"])

    def _commit(self, read: _FoldRead, turns: Sequence[MemoryTurn], folded: Folded, origin: Origin) -> bool:
        """Writes the new version with its lines and the facts for the profile, all or nothing; returns False when the
        memory was changed meanwhile: the next fold begins from what is there then."""
        with self._rows.writing(self._scope, read.head.user) as connection:
            head = read_head(connection, self._scope)
            state = read_memory(connection, head)
            unchanged = (head.revision, head.path) == (read.head.revision + 1, read.head.path)
            if not unchanged or (state.version_id, state.folded) != (read.state.version_id, read.state.folded):
                return False
            told = read.source(turns).allowed_turns
            lines = write_new(connection, head, match_lines(folded.text, state.lines, told))
            entities = write_new(connection, head, match_entities(folded.entities, state.entities, told))
            _note_replaced_entities(connection, state.entities, folded, entities)
            lines = [*_keep_foreign(state.lines, lines, fold.MOST_SENTENCES), *lines]
            keys = {same_key(entity.key) for entity in folded.entities}
            others = [row for row in state.entities if same_key(row.key) not in keys]
            entities = [*_keep_foreign(others, entities, MOST_ENTITIES), *entities]
            last = turns[-1].number if turns else 0
            costs = [state.rejection.cost if state.rejection else {}, fold.read_fold_cost(folded)]
            record = {"kept": folded.kept, "lost": folded.lost, "cost": fold.sum_fold_costs(costs)}
            values = {"turn": max(last, state.folded), "folded": max(last, state.folded), "origin": origin}
            first = turns[0].number if turns else 0
            language = read.source(turns).language if turns else state.language
            add_version(
                connection, head, state, lines, entities, **values, first=first, language=language, record=record
            )
            change_source(connection, self._scope, rejection=None, proposal=None)
            carried = carries_over(connection, head, self._settings.user_memory)
            for pair in folded.profile:
                said = next((turn for turn in reversed(turns) if has_whole_value(turn.question, pair.value)), None)
                if said is not None and not is_taken_back(connection, head, pair.key, pair.value, said.number):
                    # only what the user said lasts
                    known = read_profile(connection, head, carried)
                    write_fact(connection, head, known, make_fact(head, pair.key, pair.value, said))
        self._step("written")
        return True

    def _reject(self, error: FoldRejected, read: _FoldRead) -> None:
        """Records a rejection: the memory stays, the turns wait, and the panel shows the reason."""
        data = error.values

        def new(now: MemoryState) -> Rejection:
            last = now.rejection
            cost = fold.sum_fold_costs([last.cost if last else {}, data["cost"]])
            why = {name: value for name, value in data.items() if name not in ("first", "last", "cost", "reason")}
            times = last.times + 1 if last else 1
            return Rejection(
                str(data["reason"]), data["first"], data["last"], times, now.newest, time.time(), cost, why
            )

        self._write_rejection(new, read)
        self._step("rejected")

    def _note_failure(self, error: GieokError, read: _FoldRead) -> None:
        """Records that the model's server failed: the next try waits 1, 2, 4 … turns, and the panel says so."""
        detail, numbers = _describe_cause(error), [turn.number for turn in read.state.batch] or [0]

        def new(now: MemoryState) -> Rejection:
            last = now.rejection or Rejection("", 0, 0, 0, 0, 0.0)
            pause = count_pause(last.failures + 1)
            why = {"reason_code": "failed", "detail": detail, "until": now.newest + pause}
            failed = replace(last, reason=f"the model's server failed ({detail})", first=numbers[0], last=numbers[-1])
            return replace(
                failed, seen=now.newest, created=time.time(), failures=last.failures + 1, pause=pause, why=why
            )

        self._write_rejection(new, read)
        self._step("failed")

    def _write_rejection(self, new: Callable[[MemoryState], Rejection], read: _FoldRead) -> None:
        with self._rows.writing(self._scope, read.head.user) as connection:
            write_rejection(connection, self._scope, new(read_memory(connection, read_head(connection, self._scope))))


@dataclass(frozen=True, slots=True)
class _FoldRead:
    """What a fold begins from."""

    head: Head
    state: MemoryState
    pins: tuple[str, ...]
    forgotten: tuple[MemoryLine, ...]
    language: Language
    asks_first: bool = False

    def source(self, turns: Sequence[MemoryTurn]) -> FoldInput:
        text = render_text([row for row in self.state.lines if not row.is_foreign], self.state.language)
        entities = tuple(row.entity for row in self.state.entities if not row.is_foreign)
        forgotten = tuple(turns_of_forgotten(self.forgotten, turns))
        return FoldInput(text, entities, tuple(turns), self.pins, forgotten, self.language)


def _keep_foreign(before: Sequence[MemoryLine], made: Sequence[int], most: int) -> list[int]:
    """Returns the lines of others that stay as they were, for no fold reads them: the newest that have room beside what
    the fold made."""
    kept = [row.id for row in before if row.is_foreign and row.id not in made]
    return kept[max(0, len(kept) + len(made) - most) :]


def _note_replaced_entities(connection: Any, before: Sequence[MemoryLine], folded: Folded, ids: Sequence[int]) -> None:
    """Notes which older entities a newer value of the same key replaces."""
    for entity, made in zip(folded.entities, ids, strict=True):
        older = [row.id for row in before if same_key(row.key) == same_key(entity.key) and row.id != made]
        change_lines(connection, older, replaced_by=made)


def _describe_cause(error: GieokError) -> str:
    """Returns the HTTP status of an error of the model's server, else the error's code: nothing that a server wrote."""
    status = error.values.get("status")
    return f"HTTP {status}" if status else error.code
