"""A history laid over stored turns without a database: the marks as an index holds them."""

from __future__ import annotations

from collections.abc import Sequence

from history.align import Alignment, Exchange, TurnEvidence, Weights, align_told_turns, weigh_turn_pairs
from history.form import Side, mark_message

SIDES: tuple[Side, Side] = ("question", "answer")


def find_weights(told: Sequence[Exchange], stored: Sequence[Exchange]) -> Weights:
    places: dict[int, list[tuple[int, str]]] = {}
    for number, turn in enumerate(stored, 1):
        for side in SIDES:
            if text := getattr(turn, side):
                for mark in mark_message(text, side, "me").all:
                    places.setdefault(mark, []).append((number, side))
    evidence = []
    for sent, turn in enumerate(told):
        for side in SIDES:
            if text := getattr(turn, side):
                marks = mark_message(text, side, "me")
                for mark in marks.all:
                    whole = mark in marks.whole
                    evidence += [TurnEvidence(sent, number, side, whole) for number, _ in places.get(mark, ())]
    return weigh_turn_pairs(evidence)


def lay(told: Sequence[Exchange], stored: Sequence[Exchange], *, by_answer: bool = False) -> Alignment:
    def read(numbers: Sequence[int]) -> dict[int, Exchange]:
        return {number: stored[number - 1] for number in numbers if 0 < number <= len(stored)}

    return align_told_turns(told, find_weights(told, stored), read, by_answer=by_answer)


def places(alignment: Alignment) -> list[tuple[int, int]]:
    return [(pair.sent, pair.number) for pair in alignment.pairs]
