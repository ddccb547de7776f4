"""What is wrong with Gieok's own data set, should a line of it be changed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path

from bench.public.dataset.own import NEVER_TOLD, WRITERS, OwnQuestion, OwnTurn, read_own_questions, read_own_turns


def find_faults(folder: Path) -> Iterator[str]:
    """Yields what is wrong with a person's files, without a word of what they say: turns out of order, gold that does
    not exist, questions whose gold does not fit their kind."""
    lines = read_own_turns(folder)
    yield from _order_faults(lines)
    days = {line.place: line.day for line in lines}
    for writer in WRITERS:
        items = read_own_questions(folder, writer)
        for name, times in Counter(item.id for item in items).items():
            if times > 1:
                yield f"{writer} {name}: {times} questions have this id"
        for item in items:
            yield from (f"{writer} {item.id}: {fault}" for fault in _question_faults(item, days))


def _order_faults(lines: Sequence[OwnTurn]) -> Iterator[str]:
    if lines and (lines[0].conversation, lines[0].turn) != ("c01", 1):
        yield f"{lines[0].place}: the first line is not c01:1"
    for before, line in pairwise(lines):
        number = int(line.conversation[1:]) - int(before.conversation[1:])
        if (number, line.turn) not in ((0, before.turn + 1), (1, 1)):
            yield f"{line.place}: it follows {before.place}"
        elif number == 0 and line.day != before.day:
            yield f"{line.place}: its day is not that of its conversation"
        elif number == 1 and line.day <= before.day:
            yield f"{line.place}: its day does not follow that of the conversation before"


def _question_faults(item: OwnQuestion, days: dict[str, date]) -> Iterator[str]:
    for place in item.gold:
        if place not in days:
            yield f"gold {place} does not exist"
        elif days[place] > item.asked_on:
            yield f"it is asked before {place} was said"
    if len(set(item.gold)) < len(item.gold):
        yield "the same gold stands twice"
    if (item.kind == NEVER_TOLD) != (not item.gold) or (item.kind == NEVER_TOLD) != (not item.answer):
        yield f"{item.kind} with {len(item.gold)} gold turns and {'an' if item.answer else 'no'} answer"
    least, most = {"one_place": (1, 1), "several_places": (2, 5), "changed_value": (1, 1), "contradiction": (2, 2)}.get(
        item.kind, (0, len(item.gold))
    )
    if not least <= len(item.gold) <= most:
        yield f"{item.kind} with {len(item.gold)} gold turns"
