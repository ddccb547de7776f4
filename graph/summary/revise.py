"""Changes summaries by hand: at another rate, in other words, back to an earlier version (design 5.5).

The state is made anew before the next turn; nothing else is computed again. Answers that were given with the old
wording stay as they are, and the app says so.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from errors import Empty, SummaryUnknown
from graph.context.chunk import ledger_fields
from graph.summary import ChunkSource, Made, Writer, make_chunk_summary, make_edited_summary
from graph.summary.known import read_known
from graph.turn.process.engine import TurnEngine
from graph.turn.session.rebuild import messages_of
from model.call.stream import Stopped
from store import SummaryRow
from store.store import checked_rate


def list_summary_versions(engine: TurnEngine, session_id: str, first_turn: int) -> list[SummaryRow]:
    """Returns every version of the summary that starts at this turn, oldest first, without failed attempts."""
    return [version for version in engine.store.ledger.versions(session_id, first_turn) if version.record]


def remake_chunk_summary(
    engine: TurnEngine,
    session_id: str,
    first_turn: int,
    rate: float,
    stop: threading.Event | None = None,
    writer: Writer | None = None,
) -> SummaryRow:
    """Makes the summary once more at ``rate``, by ``writer`` (None: the profile's); the chat may go on meanwhile.
    Raises as ``graph.summary.make_chunk_summary``; replaces nothing when stopped (``Stopped``)."""
    checked_rate(rate)
    old = _load_current_summary(engine, session_id, first_turn)
    rows = engine.store.turns_between(session_id, old.turns[0], old.turns[-1])
    known = read_known(engine, engine.store.session(session_id), rows)
    source = replace(_load_summary_source(engine, old), rate=rate, known=known, hint=old.hint)
    summary = make_chunk_summary(source, engine.models(), stop, writer=writer)
    if stop is not None and stop.is_set():
        raise Stopped
    return _replace_summary(engine, old, summary, rate, "regenerated")


def edit_chunk_summary(engine: TurnEngine, session_id: str, first_turn: int, text: str) -> SummaryRow:
    """Replaces the summary by the user's own words, of any length; notes the facts that the words lack."""
    if not text.strip():
        raise Empty(what="summary")
    old = _load_current_summary(engine, session_id, first_turn)
    summary = make_edited_summary(_load_summary_source(engine, old), text.strip())
    return _replace_summary(engine, old, summary, old.rate, "edited")


def choose_summary_version(engine: TurnEngine, session_id: str, first_turn: int, version: int) -> None:
    """Goes back to an earlier version (undo). Raises ``SummaryUnknown``."""
    if version not in [summary.version for summary in list_summary_versions(engine, session_id, first_turn)]:
        raise SummaryUnknown(session=session_id, turn=first_turn, version=version)
    with engine.hold(session_id):
        engine.store.ledger.choose(session_id, first_turn, version)
        engine.store.mark_state_outdated(session_id)


def _load_current_summary(engine: TurnEngine, session_id: str, first_turn: int) -> SummaryRow:
    engine.store.session(session_id)
    valid = [
        version for version in list_summary_versions(engine, session_id, first_turn) if version.status != "superseded"
    ]
    if not valid:
        raise SummaryUnknown(session=session_id, turn=first_turn, version="current")
    return valid[-1]


def _load_summary_source(engine: TurnEngine, old: SummaryRow) -> ChunkSource:
    """Returns the turns that the summary was made from, out of the record, at its rate."""
    rows = engine.store.turns_between(old.session_id, old.turns[0], old.turns[-1])
    messages = [message for row in rows for message in messages_of(row)]
    language = engine.store.session(old.session_id).language
    return ChunkSource(messages, old.turns, old.session_id, old.rate, language)


def _replace_summary(engine: TurnEngine, old: SummaryRow, made: Made, rate: float, origin: str) -> SummaryRow:
    with engine.hold(old.session_id):
        fields = ledger_fields(made) | ({} if made.rejected else {"origin": origin}) | {"hint": old.hint}
        engine.store.ledger.replace(old.session_id, old.turns, rate, old.status, **fields)
        engine.store.mark_state_outdated(old.session_id)
    return _load_current_summary(engine, old.session_id, old.turns[0])
