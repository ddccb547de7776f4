"""Chunk summaries ahead of time: made as soon as their third turn ends (design §5).

A model writes them in the background; those that code extracts are there at once.

One belongs to the branch whose turns it was made from, also when the conversation has gone another way meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from errors import GieokError, SessionUnknown
from graph.chunk import chunk_messages, ledger_error, ledger_fields
from graph.engine import Engine
from graph.state import ChatState
from graph.summary import make
from graph.turns import CHUNK, due_chunks
from store import Session
from store.path import branch_at

Key = tuple[str, str, int, float, int]


def key(session: Session, turns: Sequence[int], rate: float) -> Key:
    """What names one summary among the side work: session, first turn, rate, and the branch that its turns end on."""
    return ("summary", session.id, turns[0], rate, branch_at(session.path, turns[-1]))


def needed(session: Session, turn: int) -> Callable[[object], bool]:
    """Whether side work is a summary that turn ``turn`` of this session will take."""

    def wanted(job: object) -> bool:
        if not isinstance(job, tuple) or job[:2] != ("summary", session.id):
            return False
        chunk = [job[2] + step for step in range(CHUNK)]
        return chunk[-1] < turn and job == key(session, chunk, session.compression_rate)

    return wanted


def plan(engine: Engine, session_id: str, state: ChatState) -> None:
    """Puts the summary that the next turn will need on the list of side work."""
    chunk = next(due_chunks(state["turn_count"] + 1, state.get("summary_history") or []), None)
    if chunk is not None:
        _submit(engine, engine.store.session(session_id), chunk, state)


def _submit(engine: Engine, session: Session, chunk: list[int], state: ChatState) -> None:
    """One chunk after the other, as far as there are finished turns: an imported conversation has many."""
    if chunk[-1] > state["turn_count"]:
        return
    work = _work(engine, session, chunk, state)
    last = chunk[-1] + CHUNK > state["turn_count"]  # an imported conversation has many before it
    if last and engine.models().side.summaries == "extracted":  # a matter of milliseconds
        work(threading.Event())
    else:
        engine.background.submit(key(session, chunk, session.compression_rate), work)


def _work(engine: Engine, session: Session, chunk: list[int], state: ChatState) -> Callable[[threading.Event], None]:
    """``session``: as it was when the turns of ``state`` ended."""
    messages = chunk_messages(state["messages"], state["turn_count"], chunk)
    language, rate, branch = state.get("language", "ko"), session.compression_rate, branch_at(session.path, chunk[-1])

    def work(stop: threading.Event) -> None:
        ledger = engine.store.ledger
        if not _wanted(engine, session, chunk):
            return
        if ledger.ready(session.id, chunk, rate):  # small talk takes no summary: there may be a further chunk
            _submit(engine, session, [number + CHUNK for number in chunk], state)
            return
        again = partial(ledger.hopeless, session.id, chunk, branch)
        try:
            write = partial(make, messages, chunk, thread_id=session.id, rate=rate, language=language)
            made = write(models=engine.models(), stop=stop, again=again)
            ledger.add(session.id, chunk, rate, "ready", branch=branch, ahead=True, **ledger_fields(made))
            _submit(engine, session, [number + CHUNK for number in chunk], state)
        except SessionUnknown:  # deleted meanwhile
            return
        except GieokError as error:
            ledger.fail(session.id, chunk, rate, ledger_error(error, again()), ahead=True, branch=branch)

    return work


def _wanted(engine: Engine, before: Session, chunk: list[int]) -> bool:
    """Whether the session still exists, wants this rate, and goes on from these turns."""
    try:
        now = engine.store.session(before.id)
    except SessionUnknown:
        return False
    return key(now, chunk, now.compression_rate) == key(before, chunk, before.compression_rate)
