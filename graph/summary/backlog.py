"""Chunk summaries that are missing: of imported and told turns, on a new branch, after a crash.

Code extracts all of them at once, in milliseconds each, so that the specified table holds from the next prompt on, and
no model is paid for a long past unless the user asks for it (``graph.summary.rewrite``). Level-triggered: whatever is
missing when somebody looks is made then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from errors import GieokError, SessionUnknown
from graph.context.chunk import ledger_fields
from graph.context.turns import CHUNK, due_chunks
from graph.state import ChatState
from graph.summary import ChunkSource, Made, ahead, make_extracted_summary
from graph.summary.known import read_known
from graph.turn.process.engine import TurnEngine
from graph.turn.session.rebuild import messages_of
from model.call.stream import Stopped
from store import Session, TurnRow

log = logging.getLogger(__name__)

BEHIND = 3
"""Chunks without a summary from which on nobody waits for a model any more: it writes one while the next fills up."""
AT_ONCE = 500
"""Summaries that an import makes before it returns, in some seconds; a file may hold thousands of conversations."""
IMPORTED = "imported"
"""The lane of the side work: the processor makes these summaries one after another."""
BATCH = 100
"""Chunks that are read and written at a time."""


def is_behind(state: ChatState, last_turn: int) -> bool:
    """Returns whether the state lacks more summaries than the model can be writing."""
    due = due_chunks(last_turn + 1, state.get("summary_history") or [])
    return len(list(islice(due, BEHIND))) == BEHIND


def fill_gaps(engine: TurnEngine, session: Session, last_turn: int, least: int = 1, most: int | None = None) -> int:
    """Extracts the missing summaries of the chunks up to turn ``last_turn``; returns how many came into the ledger.

    ``least``: leaves all as it is where fewer are missing; ``most``: makes only so many, the oldest ones. A state that
    there is lacks them until it is made anew. Raises ``SessionUnknown``.
    """
    gaps = list(find_gaps(engine, session, last_turn))
    if len(gaps) < least:
        return 0
    wanted, added = gaps[:most], 0
    for at in range(0, len(wanted), BATCH):
        batch = wanted[at : at + BATCH]
        turns = {turn.number: turn for turn in engine.store.turns_between(session.id, batch[0][0], batch[-1][-1])}
        made = [
            (chunk, summary)
            for chunk in batch
            if (summary := _extract_chunk_summary(engine, session, chunk, turns)) is not None
        ]
        rows = [(chunk, ledger_fields(summary)) for chunk, summary in made]
        added += engine.store.ledger.add_missing(session.id, session.compression_rate, rows)
    return added


def fill_imported(engine: TurnEngine, session_ids: Sequence[str]) -> None:
    """Extracts the summaries of imported sessions: ``AT_ONCE`` of them now, the others as side work."""
    room = AT_ONCE
    for at, session_id in enumerate(session_ids):
        session = engine.store.session(session_id)
        room -= fill_gaps(engine, session, session.turn_count, most=room)
        if room <= 0:
            work = partial(_fill_all, engine, session_ids[at:])
            engine.aside((IMPORTED, session_id), work, IMPORTED, for_all=True)
            return


def _fill_all(engine: TurnEngine, session_ids: Sequence[str], stop: threading.Event) -> None:
    """Extracts what is missing, a batch at a time. Raises ``Stopped``; what is made by then stays."""
    for session_id in session_ids:
        try:
            session = engine.store.session(session_id)
            while fill_gaps(engine, session, session.turn_count, most=BATCH):
                engine.store.mark_state_outdated(session_id)
                if stop.is_set():
                    raise Stopped
        except SessionUnknown:  # deleted meanwhile
            continue


def find_gaps(engine: TurnEngine, session: Session, last_turn: int) -> Iterator[list[int]]:
    """Yields the chunks up to turn ``last_turn`` that have no summary and of which none is being made, oldest first."""
    known, first = engine.store.ledger.find_chunks(session.id), 1
    while (last := first + CHUNK - 1) <= last_turn:
        chunk = list(range(first, last + 1))
        if first in known:
            last = known[first]
        else:
            # a summary that begins within these turns leaves a shorter gap
            last = next((turn - 1 for turn in chunk if turn in known), last)
            chunk = list(range(first, last + 1))
            is_free = len(chunk) == CHUNK or not engine.store.ledger.find_contested(session.id, [chunk], CHUNK)
            if is_free and not ahead.is_making(engine.background, session, chunk):
                yield chunk
        first = last + 1


def _extract_chunk_summary(
    engine: TurnEngine, session: Session, chunk: list[int], turns: dict[int, TurnRow]
) -> Made | None:
    """Returns the summary of a chunk; None when it cannot be made, or a turn is missing: its turns then stay raw."""
    if not all(number in turns for number in chunk):
        return None
    rows = [turns[number] for number in chunk]
    messages = [message for row in rows for message in messages_of(row)]
    try:
        known = read_known(engine, session, rows)
        return make_extracted_summary(
            ChunkSource(messages, chunk, session.id, session.compression_rate, session.language, known)
        )
    except GieokError as error:
        log.warning("no summary of turns %d-%d: %s", chunk[0], chunk[-1], error.code)
        return None
