"""Chunk summaries ahead of time: made in the background as soon as their third turn ends (design §5)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from errors import GieokError, SessionUnknown
from graph.chunk import chunk_messages, ledger_fields
from graph.engine import Engine
from graph.finish import plain_error
from graph.state import ChatState
from graph.summary import make
from graph.turns import CHUNK, due_chunks

Key = tuple[str, str, int, float]


def key(session_id: str, first_turn: int, rate: float) -> Key:
    """What names one summary among the side work."""
    return ("summary", session_id, first_turn, rate)


def needed(session_id: str, rate: float) -> Callable[[object], bool]:
    """Whether side work is a summary that the next turn of this session will take."""
    return lambda job: isinstance(job, tuple) and job[:2] == ("summary", session_id) and job[3] == rate


def plan(engine: Engine, session_id: str, state: ChatState) -> None:
    """Puts the summary that the next turn will need on the list of side work."""
    chunk = next(due_chunks(state["turn_count"] + 1, state.get("summary_history") or []), None)
    if chunk is not None and chunk[-1] <= state["turn_count"]:
        _submit(engine, session_id, chunk, engine.store.session(session_id).compression_rate, state)


def _submit(engine: Engine, session_id: str, chunk: list[int], rate: float, state: ChatState) -> None:
    """One chunk after the other, as far as there are finished turns: an imported conversation has many."""
    if chunk[-1] <= state["turn_count"]:
        engine.background.submit(key(session_id, chunk[0], rate), _work(engine, session_id, chunk, rate, state))


def _work(
    engine: Engine, session_id: str, chunk: list[int], rate: float, state: ChatState
) -> Callable[[threading.Event], None]:
    messages = chunk_messages(state["messages"], state["turn_count"], chunk)
    language = state.get("language", "ko")

    def work(stop: threading.Event) -> None:
        ledger = engine.store.ledger
        if not _wanted(engine, session_id, rate) or ledger.ready(session_id, chunk, rate):
            return
        try:
            models = engine.models()
            made = make(messages, chunk, thread_id=session_id, rate=rate, models=models, language=language, stop=stop)
            ledger.add(session_id, chunk, rate, "ready", ahead=True, **ledger_fields(made))
            _submit(engine, session_id, [number + CHUNK for number in chunk], rate, state)
        except SessionUnknown:  # deleted meanwhile
            return
        except GieokError as error:
            ledger.fail(session_id, chunk, rate, plain_error(error), ahead=True)

    return work


def _wanted(engine: Engine, session_id: str, rate: float) -> bool:
    """Whether the session still exists and still wants this rate."""
    try:
        return engine.store.session(session_id).compression_rate == rate
    except SessionUnknown:
        return False
