"""Which lines of memory prompts held and answers show, and how often they stood in prompts: out of the reports and the
texts that the record keeps of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from errors import SessionUnknown
from graph.turn.process.engine import TurnEngine
from memory.line import has_whole_value, strip_line_turns
from memory.state import MemoryLine
from text.fact.fact import find_facts, has_fact_value

PARTS = frozenset({"profile", "memory", "entities"})
MOST_SESSIONS, MOST_PROMPTS = 50, 500
"""How many conversations are looked at, the last changed first, and how many of their newest prompts in all."""

LEAST_CHARS = 2
"""Fewest characters of a value that tells where it comes from: one digit stands in many answers by chance."""
_DAY = re.compile(r"^\d{4}-\d\d-\d\d: ")
_NEXT_ENTITY = re.compile(r", (?=[^,:]{1,60}: )")


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value of memory that an answer shows. ``line``: the line that it stood in, as the prompt had it."""

    value: str
    line: str


def list_memory_marks(report: Mapping[str, Any] | None) -> list[str]:
    """Returns the marks of the texts of memory that a prompt held; the memory's record has these texts."""
    return [part["mark"] for part in (report or {}).get("parts", ()) if part["name"] in PARTS and part.get("mark")]


def find_shown_values(
    report: Mapping[str, Any] | None, given: Mapping[str, str], question: str, answer: str
) -> list[ShownValue]:
    """Returns the values of the memory in a prompt that its answer shows and the question did not tell, one for each
    line; a value that several lines have stands once. ``given``: the texts that prompts got, by mark."""
    return list(_find_text_values(tuple(_iterate_texts((report or {}).get("parts", ()), given)), question, answer))


@lru_cache(maxsize=64)  # the page asks again with every run; about as many turns as two pages show
def _find_text_values(texts: tuple[tuple[str, str], ...], question: str, answer: str) -> tuple[ShownValue, ...]:
    """Returns the shown values of a prompt's texts of memory, each with the name of its part."""
    found = dict[str, ShownValue]()
    for name, text in texts:
        for line in _split_part_lines(name, text):
            shown = _find_line_value(line, question, answer)
            if shown is not None:
                found.setdefault(shown.casefold(), ShownValue(shown, line))
    return tuple(found.values())


def _split_part_lines(name: str, text: str) -> Iterator[str]:
    """Yields the lines of one part of a prompt, without its heading, bullets, days and turns."""
    for raw in text.splitlines()[1:]:
        line = _DAY.sub("", strip_line_turns(raw.removeprefix("- ")).strip())
        yield from filter(None, _NEXT_ENTITY.split(line) if name == "entities" else [line])


def _find_line_value(line: str, question: str, answer: str) -> str | None:
    """Returns the first value of a line that the answer shows and the question does not; None for none."""
    _, is_pair, value = line.partition(": ")
    if is_pair and len(value) >= LEAST_CHARS and has_whole_value(answer, value):
        return None if has_whole_value(question, value) else value
    for fact in find_facts(value if is_pair else line):
        if len(fact.text) >= LEAST_CHARS and has_fact_value(answer, fact) and not has_fact_value(question, fact):
            return fact.text
    return None


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
            counted["\n".join(text for _, text in _iterate_texts(report.get("parts", ()), given))] += 1
    return counted


def _iterate_texts(parts: Sequence[Mapping[str, Any]], given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the texts of memory that one prompt held, each behind the name of its part."""
    for part in parts:
        text = part["name"] in PARTS and (part.get("text") or given.get(part.get("mark", "")))
        if text:
            yield part["name"], text


def _read_reports(engine: TurnEngine, session_id: str, most: int) -> list[dict[str, Any]]:
    try:
        last = engine.store.session(session_id).turn_count
    except SessionUnknown:
        return []
    return list(engine.store.reports(session_id, range(max(1, last - most + 1), last + 1)).values())
