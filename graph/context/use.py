"""How often lines of memory stood in prompts, out of the reports and the texts that the record keeps of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from errors import SessionUnknown
from graph.turn.process.engine import TurnEngine
from memory.state import MemoryLine

PARTS = frozenset({"profile", "memory", "entities"})
MOST_SESSIONS, MOST_PROMPTS = 50, 500
"""How many conversations are looked at, the last changed first, and how many of their newest prompts in all."""


def count_uses(texts: Mapping[str, int], lines: Sequence[MemoryLine]) -> Counter[int]:
    """Returns in how many prompts each line stood, by the line's id. ``texts``: of ``count_texts``."""
    counted = Counter[int]()
    for text, times in texts.items():
        counted.update({line.id: times for line in lines if line.text in text})
    return counted


def count_texts(engine: TurnEngine) -> Counter[str]:
    """Returns in how many prompts of the last conversations each text of memory stood. After something was forgotten,
    the texts of earlier prompts are gone and count no more."""
    counted = Counter[str]()
    if engine.memory is None:
        return counted
    left = MOST_PROMPTS
    for name in engine.memory.reader.list_sessions(engine.tenant, engine.user, MOST_SESSIONS):
        given = engine.memory.reader.read_given(engine.tenant, name)
        reports = _read_reports(engine, name, left) if given else []
        left -= len(reports)
        for report in reports:
            counted["\n".join(_list_texts(report.get("parts", ()), given))] += 1
    return counted


def _list_texts(parts: Sequence[Mapping[str, Any]], given: Mapping[str, str]) -> list[str]:
    """Returns the texts of memory that one prompt held."""
    texts = (part.get("text") or given.get(part.get("mark", ""), "") for part in parts if part["name"] in PARTS)
    return [text for text in texts if text]


def _read_reports(engine: TurnEngine, session_id: str, most: int) -> list[dict[str, Any]]:
    try:
        last = engine.store.session(session_id).turn_count
    except SessionUnknown:
        return []
    return list(engine.store.reports(session_id, range(max(1, last - most + 1), last + 1)).values())
