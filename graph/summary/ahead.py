"""Makes chunk summaries ahead of time: as soon as the third turn of a chunk ends (design 5.1).

A model writes its summaries in the background; code extracts its summaries at once.

A summary belongs to the branch whose turns it was made from, even when the conversation has gone another way meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from errors import GieokError, SessionUnknown
from graph.context.chunk import chunk_messages, describe_failure, is_paused, ledger_fields, stands_in
from graph.context.turns import CHUNK, due_chunks
from graph.state import ChatState
from graph.summary import ChunkSource, make_chunk_summary
from graph.summary.known import read_known
from graph.turn.process.engine import TurnEngine
from graph.turn.process.side_work import Background
from store import Session
from store.path import branch_at

Key = tuple[str, str, int, float, int]


def build_summary_key(session: Session, turns: Sequence[int], rate: float) -> Key:
    """Returns the name of a summary among the side work: session, first turn, rate, and the branch that its turns end
    on."""
    return ("summary", session.id, turns[0], rate, branch_at(session.path, turns[-1]))


@dataclass(frozen=True, slots=True)
class Ahead:
    """The summaries of one session that are being made beside the conversation."""

    background: Background
    session: Session

    def finish(self, turns: Sequence[int], rate: float, stop: threading.Event) -> bool:
        """Waits for the summary of these turns if it is being made, or takes it off the list; True: it was made."""
        return self.background.finish(build_summary_key(self.session, turns, rate), stop)


def is_session_summary_pending(background: Background, session_id: str) -> bool:
    """Returns whether a summary of the session is being made or waits for it."""
    return background.has(lambda job: isinstance(job, tuple) and job[:2] == ("summary", session_id))


def is_making(background: Background, session: Session, turns: Sequence[int]) -> bool:
    """Returns whether the summary of just these turns is being made or waits for it."""
    wanted = build_summary_key(session, turns, session.compression_rate)
    return background.has(lambda job: job == wanted)


def make_needed_summary_check(session: Session, turn: int) -> Callable[[object], bool]:
    """Returns a function that tells whether side work is a summary that turn ``turn`` of this session will take."""

    def is_summary_job(job: object) -> bool:
        if not isinstance(job, tuple) or job[:2] != ("summary", session.id):
            return False
        chunk = [job[2] + step for step in range(CHUNK)]
        return chunk[-1] < turn and job == build_summary_key(session, chunk, session.compression_rate)

    return is_summary_job


def plan_next_summary(engine: TurnEngine, session_id: str, state: ChatState) -> None:
    """Puts the summary that the next turn will need on the list of side work; makes an extracted summary at once."""
    chunk = next(due_chunks(state["turn_count"] + 1, state.get("summary_history") or []), None)
    if chunk is not None:
        _submit_chunk_summary(engine, engine.store.session(session_id), chunk, state)


def _submit_chunk_summary(engine: TurnEngine, session: Session, chunk: list[int], state: ChatState) -> None:
    """Submits the work for one chunk; that work submits the next chunk, as far as there are finished turns."""
    if chunk[-1] > state["turn_count"]:
        return
    work = _build_summary_work(engine, session, chunk, state)
    last = chunk[-1] + CHUNK > state["turn_count"]  # an imported conversation has many chunks before the last one
    if last and engine.models().side.summaries == "extracted":  # takes milliseconds
        work(threading.Event())
    else:
        engine.aside(build_summary_key(session, chunk, session.compression_rate), work, session.id)


def _build_summary_work(
    engine: TurnEngine, session: Session, chunk: list[int], state: ChatState
) -> Callable[[threading.Event], None]:
    """Returns the work that makes the summary of a chunk. ``session``: as it was when the turns of ``state`` ended."""
    messages = chunk_messages(state["messages"], state["turn_count"], chunk)
    language, rate, branch = state.get("language", "ko"), session.compression_rate, branch_at(session.path, chunk[-1])

    def work(stop: threading.Event) -> None:
        ledger = engine.store.ledger
        if not _is_summary_wanted(engine, session, chunk):
            return
        if ledger.ready(session.id, chunk, rate):  # small talk takes no summary, so a further chunk may be due
            _submit_chunk_summary(engine, session, [number + CHUNK for number in chunk], state)
            return
        failure, turn = ledger.find_failure(session.id, chunk, branch), state["turn_count"]
        if is_paused(failure, turn):
            return
        try:
            known = read_known(engine, session, engine.store.turns_between(session.id, chunk[0], chunk[-1]))
            source = ChunkSource(messages, chunk, session.id, rate, language, known)
            summary = make_chunk_summary(source, engine.models(), stop, stands_in=partial(stands_in, failure))
            ledger.add(session.id, chunk, rate, "ready", branch=branch, ahead=True, **ledger_fields(summary))
            _submit_chunk_summary(engine, session, [number + CHUNK for number in chunk], state)
        except SessionUnknown:  # deleted meanwhile
            return
        except GieokError as error:
            ledger.fail(session.id, chunk, rate, describe_failure(error, failure, turn), ahead=True, branch=branch)

    return work


def _is_summary_wanted(engine: TurnEngine, before: Session, chunk: list[int]) -> bool:
    """Returns whether the session still exists, wants this rate, and goes on from these turns."""
    try:
        now = engine.store.session(before.id)
    except SessionUnknown:
        return False
    return build_summary_key(now, chunk, now.compression_rate) == build_summary_key(
        before, chunk, before.compression_rate
    )
