"""Summarises at once, when the user asks, the turns that the rhythm of three leaves raw.

The texts are written first and looked at by the user; only then they come into the ledger and the context. A summary
made so may cover fewer than three turns; the rhythm goes on behind it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from errors import TooLong
from graph.context.chunk import ledger_fields
from graph.context.turns import CHUNK
from graph.summary import ChunkSource, Made, make_chunk_summary
from graph.summary.known import read_known
from graph.turn.process.engine import TurnEngine
from graph.turn.session.rebuild import messages_of
from store import Session, TurnRow
from store.search.turn_index import FINISHED
from text.clean import collapse_spaces

HINT_CHARS = 300
"""Longest wish of the user."""
ORIGIN = "asked"


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary that the user has not taken yet. ``rate``: the compression rate that it was written at;
    ``tokens_before``: of its turns as they stand in a prompt; ``tokens_after``: of the text."""

    made: Made
    rate: float
    turns: tuple[TurnRow, ...]
    tokens_before: int
    tokens_after: int

    @property
    def numbers(self) -> list[int]:
        return [turn.number for turn in self.turns]


def find_raw_chunks(engine: TurnEngine, session: Session) -> list[list[int]]:
    """Returns the finished turns that no summary covers, oldest first, in chunks of three and the rest; without those
    whose summary would stand in the way of another branch."""
    known, first = engine.store.ledger.find_chunks(session.id), 1
    while first in known:
        first = known[first] + 1
    end = min((start for start in known if start > first), default=session.turn_count + 1)
    if end == session.turn_count + 1 and engine.store.status(session) not in FINISHED:
        end -= 1  # the last turn may be answered still
    chunks = [list(range(start, min(start + CHUNK, end))) for start in range(first, end, CHUNK)]
    contested = engine.store.ledger.find_contested(session.id, chunks, CHUNK)
    return [chunk for chunk in chunks if chunk not in contested]


def write_drafts(
    engine: TurnEngine, session_id: str, hint: str = "", stop: threading.Event | None = None
) -> list[SummaryDraft]:
    """Writes the summaries of all raw turns; stores nothing. ``hint``: what the user wants the writer to look to.

    Raises ``TooLong``, ``SessionUnknown`` and as ``graph.summary.make_chunk_summary``.
    """
    wish = collapse_spaces(hint)
    if len(wish) > HINT_CHARS:
        raise TooLong(what="hint", size=len(wish), limit=HINT_CHARS)
    session = engine.store.session(session_id)
    return [_write_draft(engine, session, chunk, wish, stop) for chunk in find_raw_chunks(engine, session)]


def use_drafts(engine: TurnEngine, session_id: str, drafts: Sequence[SummaryDraft], hint: str = "") -> bool:
    """Puts the drafts into the context, from the next turn on; returns False, and changes nothing, when the turns have
    a summary by now or have changed. Raises ``SessionBusy`` while the session answers."""
    with engine.hold(session_id) as session:
        chunks = find_raw_chunks(engine, session)
        now = [turn for draft in drafts for turn in engine.store.turns_between(session_id, *_find_ends(draft))]
        is_same = [(turn.branch, turn.number) for turn in now] == [
            (turn.branch, turn.number) for draft in drafts for turn in draft.turns
        ]
        if not is_same or [draft.numbers for draft in drafts] != chunks[: len(drafts)]:
            return False
        for draft in drafts:
            fields = ledger_fields(draft.made) | {"origin": ORIGIN, "hint": collapse_spaces(hint)}
            engine.store.ledger.add(session_id, draft.numbers, draft.rate, "active", **fields)
        engine.store.mark_state_outdated(session_id)
    return True


def _find_ends(draft: SummaryDraft) -> tuple[int, int]:
    return draft.numbers[0], draft.numbers[-1]


def _write_draft(
    engine: TurnEngine, session: Session, chunk: list[int], hint: str, stop: threading.Event | None
) -> SummaryDraft:
    models, rows = engine.models(), engine.store.turns_between(session.id, chunk[0], chunk[-1])
    messages, known = [message for row in rows for message in messages_of(row)], read_known(engine, session, rows)
    source = ChunkSource(messages, chunk, session.id, session.compression_rate, session.language, known, hint)
    made = make_chunk_summary(source, models, stop)
    before = sum(row.tokens for row in rows)
    return SummaryDraft(made, session.compression_rate, tuple(rows), before, models.count(made.record["summary"]))
