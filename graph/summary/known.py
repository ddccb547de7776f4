"""What the prompts of a chunk's turns showed as the user's own words of earlier turns, out of the record.

So that a summary does not take for the assistant's idea what the assistant recalled: from this conversation, from
another one, or from memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graph.context.past import read_item
from graph.summary.mark import strip_suggested
from graph.turn.process.engine import TurnEngine
from store import Session, TurnRow
from text.fence import remove_frames

_RAW = ("pinned", "short", "recent")
_REMEMBERED = {"profile", "memory", "entities"}


def read_known(engine: TurnEngine, session: Session, rows: Sequence[TurnRow]) -> str:
    """Returns the questions of the turns that stood in the prompts of ``rows``, raw or found by the search; of the
    summaries there the sentences that are not marked; and what memory and profile have from the user. '' where no
    prompt is known, as of imported turns."""
    parts = [part for row in rows for part in (row.report or {}).get("parts", ()) if part["tokens"]]
    if not parts:
        return ""
    texts = [*_read_raw(engine, session.id, parts, rows[0].number), *_read_found(engine, session.id, parts)]
    texts += _read_summaries(engine, session.id, parts, rows[0].number)
    if _REMEMBERED & {part["name"] for part in parts}:
        texts += _read_remembered(engine, session, rows[-1].started)
    return "\n".join(texts)


def _list_items(parts: Sequence[Mapping[str, Any]], *names: str) -> list[str]:
    return [str(item) for part in parts if part["name"] in names for item in part.get("items", ())]


def _read_raw(engine: TurnEngine, session_id: str, parts: Sequence[Mapping[str, Any]], first: int) -> Iterator[str]:
    """Yields the questions of the turns before turn ``first`` that stood raw in the prompts."""
    numbers = {number for item in _list_items(parts, *_RAW) if (number := int(item)) < first}
    rows = engine.store.turns_at(session_id, numbers) if numbers else []
    yield from (remove_frames(row.question) for row in rows)


def _read_found(engine: TurnEngine, session_id: str, parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the questions of the past turns that the search before the answers found."""
    keys = {read_item(item, session_id)[0] for item in _list_items(parts, "turns")}
    found = engine.store.turn_index.find_texts(keys) if keys else {}
    yield from (remove_frames(turn.question) for turn in found.values())


def _read_summaries(
    engine: TurnEngine, session_id: str, parts: Sequence[Mapping[str, Any]], first: int
) -> Iterator[str]:
    starts = {int(item.split("-")[0]) for item in _list_items(parts, "summaries")}
    for summary in engine.store.ledger.on_path(session_id, first - 1) if starts else ():
        if summary.record and summary.turns[0] in starts:
            yield strip_suggested(summary.record["summary"])


def _read_remembered(engine: TurnEngine, session: Session, until: float) -> Iterator[str]:
    """Yields what memory and profile have from the user, said up to a moment (Unix seconds)."""
    if engine.memory is None:
        return
    rows = engine.memory.reader.read_known_lines(engine.tenant, session.id, user=engine.user)
    yield from (row.label for row in rows if row.origin == "user" and row.at <= until)
