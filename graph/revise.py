"""Changing summaries by hand: at another rate, in other words, back to an earlier version (design §5, last item).

The state is made anew before the next turn; nothing else is computed again. What follows from the old wording (answers
already given) stays as it is, and the app says so.
"""

from __future__ import annotations

import threading
from typing import Any

from errors import BadRate, EmptySummary, SummaryUnknown
from graph.chunk import ledger_fields
from graph.engine import Engine
from graph.rebuild import messages_of
from graph.summary import Made, Writer, make, written
from model.stream import Stopped
from store import Summary


def versions(engine: Engine, session_id: str, first_turn: int) -> list[Summary]:
    """Every version of the summary that starts at this turn, oldest first, failed attempts aside."""
    return [each for each in engine.store.ledger.versions(session_id, first_turn) if each.record]


def remake(
    engine: Engine,
    session_id: str,
    first_turn: int,
    rate: float,
    stop: threading.Event | None = None,
    writer: Writer | None = None,
) -> Summary:
    """The summary once more at ``rate``, by ``writer`` (None: the profile's); the chat may go on meanwhile. Raises as
    ``graph.summary.make``; stopped (``Stopped``), it replaces nothing."""
    if not 0.1 <= rate <= 0.5:
        raise BadRate(value=rate)
    old = _current(engine, session_id, first_turn)
    made = make(**_source(engine, old), rate=rate, models=engine.models(), stop=stop, writer=writer)
    if stop is not None and stop.is_set():
        raise Stopped
    return _replace(engine, old, made, rate, "regenerated")


def edit(engine: Engine, session_id: str, first_turn: int, text: str) -> Summary:
    """The summary in the user's own words; facts that it lacks are noted, its length is free."""
    if not text.strip():
        raise EmptySummary
    old = _current(engine, session_id, first_turn)
    made = written(**_source(engine, old), rate=old.rate, text=text.strip())
    return _replace(engine, old, made, old.rate, "edited")


def choose(engine: Engine, session_id: str, first_turn: int, version: int) -> None:
    """Back to an earlier version (undo). Raises ``SummaryUnknown``."""
    if version not in [each.version for each in versions(engine, session_id, first_turn)]:
        raise SummaryUnknown(session=session_id, turn=first_turn, version=version)
    with engine.lock.hold(session_id):
        engine.store.ledger.choose(session_id, first_turn, version)
        engine.store.revise(session_id)


def _current(engine: Engine, session_id: str, first_turn: int) -> Summary:
    engine.store.session(session_id)
    counting = [each for each in versions(engine, session_id, first_turn) if each.status != "superseded"]
    if not counting:
        raise SummaryUnknown(session=session_id, turn=first_turn, version="current")
    return counting[-1]


def _source(engine: Engine, old: Summary) -> dict[str, Any]:
    """What the summary was made from, out of the record."""
    rows = engine.store.turns_between(old.session_id, old.turns[0], old.turns[-1])
    messages = [message for row in rows for message in messages_of(row)]
    language = engine.store.session(old.session_id).language
    return {"messages": messages, "turns": old.turns, "thread_id": old.session_id, "language": language}


def _replace(engine: Engine, old: Summary, made: Made, rate: float, origin: str) -> Summary:
    with engine.lock.hold(old.session_id):
        fields = ledger_fields(made) | {"origin": origin}
        engine.store.ledger.replace(old.session_id, old.turns, rate, old.status, **fields)
        engine.store.revise(old.session_id)
    return _current(engine, old.session_id, old.turns[0])
