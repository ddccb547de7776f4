"""Changes summaries by hand: at another rate, in other words, back to an earlier version (design 5.5).

The state is made anew before the next turn; nothing else is computed again. Answers that were given with the old
wording stay as they are, and the app says so.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from errors import Empty, SummaryUnknown
from graph.context.chunk import ledger_fields
from graph.summary import Made, Writer, make, written
from graph.summary.known import read_known
from graph.turn.engine import Engine
from graph.turn.rebuild import messages_of
from model.call.stream import Stopped
from store import Summary
from store.store import checked_rate


def versions(engine: Engine, session_id: str, first_turn: int) -> list[Summary]:
    """Returns every version of the summary that starts at this turn, oldest first, without failed attempts."""
    return [version for version in engine.store.ledger.versions(session_id, first_turn) if version.record]


def remake(
    engine: Engine,
    session_id: str,
    first_turn: int,
    rate: float,
    stop: threading.Event | None = None,
    writer: Writer | None = None,
) -> Summary:
    """Makes the summary once more at ``rate``, by ``writer`` (None: the profile's); the chat may go on meanwhile.
    Raises as ``graph.summary.make``; replaces nothing when stopped (``Stopped``)."""
    checked_rate(rate)
    old = _current(engine, session_id, first_turn)
    rows = engine.store.turns_between(session_id, old.turns[0], old.turns[-1])
    known = read_known(engine, engine.store.session(session_id), rows)
    write = partial(make, **_source(engine, old), rate=rate, models=engine.models(), known=known, hint=old.hint)
    summary = write(stop=stop, writer=writer)
    if stop is not None and stop.is_set():
        raise Stopped
    return _replace(engine, old, summary, rate, "regenerated")


def edit(engine: Engine, session_id: str, first_turn: int, text: str) -> Summary:
    """Replaces the summary by the user's own words, of any length; notes the facts that the words lack."""
    if not text.strip():
        raise Empty(what="summary")
    old = _current(engine, session_id, first_turn)
    summary = written(**_source(engine, old), rate=old.rate, text=text.strip())
    return _replace(engine, old, summary, old.rate, "edited")


def choose(engine: Engine, session_id: str, first_turn: int, version: int) -> None:
    """Goes back to an earlier version (undo). Raises ``SummaryUnknown``."""
    if version not in [summary.version for summary in versions(engine, session_id, first_turn)]:
        raise SummaryUnknown(session=session_id, turn=first_turn, version=version)
    with engine.hold(session_id):
        engine.store.ledger.choose(session_id, first_turn, version)
        engine.store.revise(session_id)


def _current(engine: Engine, session_id: str, first_turn: int) -> Summary:
    engine.store.session(session_id)
    valid = [version for version in versions(engine, session_id, first_turn) if version.status != "superseded"]
    if not valid:
        raise SummaryUnknown(session=session_id, turn=first_turn, version="current")
    return valid[-1]


def _source(engine: Engine, old: Summary) -> dict[str, Any]:
    """Returns the arguments of ``make`` that the summary was made from, out of the record."""
    rows = engine.store.turns_between(old.session_id, old.turns[0], old.turns[-1])
    messages = [message for row in rows for message in messages_of(row)]
    language = engine.store.session(old.session_id).language
    return {"messages": messages, "turns": old.turns, "thread_id": old.session_id, "language": language}


def _replace(engine: Engine, old: Summary, made: Made, rate: float, origin: str) -> Summary:
    with engine.hold(old.session_id):
        fields = ledger_fields(made) | ({} if made.rejected else {"origin": origin}) | {"hint": old.hint}
        engine.store.ledger.replace(old.session_id, old.turns, rate, old.status, **fields)
        engine.store.revise(old.session_id)
    return _current(engine, old.session_id, old.turns[0])
