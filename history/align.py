"""Lays a history that a client sends over the turns of a path: which of them it says, in which words, and what is new.

First by marks alone (``choose_pairs``): the heaviest chain of pairs in which both sides go on. Then by the texts
between and behind these pairs (``align_told_turns``), which a caller reads once. The order of messages decides, so what
stands in between and belongs to no turn is left aside.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from history.likeness import Likeness, compare_messages, has_common_words, has_same_words, shares_half

Kind = Literal["same", "reworded", "edited"]
"""How a told turn stands to its stored one: the ``same``; the same in other words, which programs change
(``reworded``); another question or answer in its place, with the turns around it known (``edited``)."""
WHOLE, EDGED = 0.5, 0.2
"""What a message counts whose whole text is known, and one of which an edge is."""
NEAR = 1e-6
"""How much each turn counts that a chain spreads over: of equal chains the closest one is taken."""
FIRST = NEAR / 2
"""How much it counts that a history begins where the path does: most clients send all of it."""
MOST_GAP = 40
"""Turns of a gap, or behind the last known one, whose texts are compared."""
NEXT = 6
"""The stored turns that a told one is compared with where both sides of a gap are not as long."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer. ``stopped``: the answer was cut off while it came."""

    question: str
    answer: str
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """That told turn ``sent`` has a mark of stored turn ``number``: of its ``side`` («question», «answer»), of the
    whole text or of an edge."""

    sent: int
    number: int
    side: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """A told turn and the stored one that it is. ``question``, ``answer``: how the texts are alike."""

    sent: int
    number: int
    kind: Kind
    question: Likeness = "same"
    answer: Likeness = "same"


@dataclass(frozen=True, slots=True)
class Alignment:
    """``pairs``: in order on both sides; ``count``: of the told turns."""

    pairs: tuple[Pair, ...]
    count: int

    @property
    def known_count(self) -> int:
        """Returns how many told turns are known ones."""
        return sum(pair.kind != "edited" for pair in self.pairs)

    @property
    def ends(self) -> bool:
        """Returns whether the last told turn is known."""
        return bool(self.pairs) and self.pairs[-1].sent == self.count - 1

    @property
    def left_out(self) -> range:
        """Returns the stored turns before the first known one, which the client sends no more."""
        return range(1, self.pairs[0].number if self.pairs else 1)

    @property
    def missing(self) -> tuple[int, ...]:
        """Returns the stored turns between known ones that the client does not send."""
        here = {pair.number for pair in self.pairs}
        return tuple(n for n in range(min(here), max(here) + 1) if n not in here) if here else ()


Weights = dict[tuple[int, int], float]


def weigh_turn_pairs(evidence: Iterable[TurnEvidence]) -> Weights:
    """Returns how much speaks for each pair of a told and a stored turn."""
    sides: dict[tuple[int, int, str], float] = {}
    for one in evidence:
        key = (one.sent, one.number, one.side)
        before = sides.get(key, 0.0)
        sides[key] = WHOLE if one.whole or before == WHOLE else min(2 * EDGED, before + EDGED)
    weights: Weights = {}
    for (sent, number, _), weight in sides.items():
        weights[sent, number] = weights.get((sent, number), 0.0) + weight
    # what a turn has by half in common with others does not matter where all of it is known
    sure = {sent for (sent, _), weight in weights.items() if weight >= 2 * WHOLE}
    return {pair: weight for pair, weight in weights.items() if weight >= 2 * WHOLE or pair[0] not in sure}


def choose_pairs(weights: Mapping[tuple[int, int], float], first: int = 1) -> tuple[list[tuple[int, int]], float]:
    """Returns the heaviest chain of pairs in which both the told and the stored turns rise, and its weight. ``first``:
    the number of the path's first turn."""
    if not weights:
        return [], 0.0
    ordered = sorted(weights, key=lambda pair: (pair[0], -pair[1]))
    if all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(ordered)):
        bonus = FIRST if ordered[0] == (0, first) else 0.0
        return ordered, sum(weights.values()) + bonus - NEAR * (ordered[-1][1] - ordered[0][1])
    return _find_heaviest_chain(weights, ordered, first)


def _find_heaviest_chain(
    weights: Mapping[tuple[int, int], float], ordered: Sequence[tuple[int, int]], first: int
) -> tuple[list[tuple[int, int]], float]:
    """The general case, with a Fenwick tree over the stored numbers: the best chain that ends at most there."""
    numbers = sorted({number for _, number in ordered})
    tree: list[tuple[float, int]] = [(0.0, -1)] * (len(numbers) + 1)
    scores, before = list[float](), list[int]()
    for index, (sent, number) in enumerate(ordered):
        at = bisect_left(numbers, number)
        best, previous, step = 0.0, -1, at
        while step > 0:
            if tree[step][1] >= 0 and (previous < 0 or tree[step][0] > best):
                best, previous = tree[step]
            step -= step & -step
        begin = NEAR * number + (FIRST if (sent, number) == (0, first) else 0.0)
        if previous < 0 or begin > best:
            best, previous = begin, -1
        scores.append(best + weights[sent, number])
        before.append(previous)
        step = at + 1
        while step <= len(numbers):
            if tree[step][1] < 0 or scores[index] > tree[step][0]:
                tree[step] = (scores[index], index)
            step += step & -step
    last = max(range(len(ordered)), key=lambda index: scores[index] - NEAR * ordered[index][1])
    total, chain, at = scores[last] - NEAR * ordered[last][1], list[tuple[int, int]](), last
    while at >= 0:
        chain.append(ordered[at])
        at = before[at]
    return chain[::-1], total


# --- by the texts -----------------------------------------------------------------------------------

Read = Callable[[Sequence[int]], Mapping[int, Exchange]]
"""Returns the stored turns with these numbers; those that there are not are left out."""


def align_told_turns(
    told: Sequence[Exchange],
    weights: Mapping[tuple[int, int], float],
    read: Read,
    *,
    first: int = 1,
    by_answer: bool = False,
) -> Alignment:
    """Lays told turns over a path. ``weights``: by ``weigh_turn_pairs``, of this path alone; ``first``: the number of
    its first turn; ``by_answer``: a turn with a known answer is that turn, whatever its question. ``read`` is called
    twice at most, with the turns whose texts decide."""
    texts: dict[int, Exchange] = {}

    def need(numbers: Iterable[int]) -> None:
        if wanted := sorted(set(numbers) - texts.keys()):
            texts.update(read(wanted))

    chain, _ = choose_pairs(weights, first)
    sure = {pair for pair in chain if weights[pair] >= 2 * WHOLE}
    need(number for pair in chain if pair not in sure for number in (pair[1], pair[1] + 1))
    known = [
        pair for at in chain if (pair := Pair(*at, "same") if at in sure else judge_pair(told, texts, *at)) is not None
    ]
    need(_find_gaps(len(told), known, first))
    pairs, before = list[Pair](), (-1, first - 1)
    for pair in known:
        pairs += [*_pair_gap_turns(told, texts, before, (pair.sent, pair.number), is_front=before[0] < 0), pair]
        before = (pair.sent, pair.number)
    pairs += _pair_gap_turns(told, texts, before, None)
    if by_answer:
        pairs = [_take_answer(pair) for pair in pairs]
    return Alignment(tuple(_drop_last_edits(_move_joined_pairs(told, texts, pairs))), len(told))


def _take_answer(pair: Pair) -> Pair:
    if pair.kind != "edited" or pair.answer == "other":
        return pair
    return Pair(pair.sent, pair.number, "reworded", pair.question, pair.answer)


def find_changed(told: Exchange, texts: Mapping[int, Exchange]) -> int | None:
    """Returns the latest stored turn that a told one was made from by changing its answer, or its question and not a
    word of the answer; None for none."""
    for number in sorted(texts, reverse=True):
        stored = texts[number]
        question = compare_messages(told.question, stored.question, "question")
        if question not in ("other", "translated") and has_common_words(told.answer, stored.answer):
            return number
        if has_same_words(told.answer, stored.answer) and shares_half(told.question, stored.question):
            return number
    return None


def _find_gaps(count: int, known: Sequence[Pair], first: int) -> set[int]:
    """Returns the stored turns in gaps between known pairs, and behind the last one, where told turns are left."""
    wanted = set[int]()
    sent, number = -1, first - 1
    for pair in known:
        if pair.sent - sent > 1 and pair.number - number > 1:
            wanted.update(range(max(number + 1, pair.number - MOST_GAP), pair.number))
        sent, number = pair.sent, pair.number
    if count - sent > 1:
        wanted.update(range(number + 1, number + 1 + min(MOST_GAP, count - sent + NEXT)))
    return wanted


def judge_pair(told: Sequence[Exchange], texts: Mapping[int, Exchange], sent: int, number: int) -> Pair | None:
    """Returns what a told turn is to a stored one, by the texts of both; None for nothing."""
    stored, theirs = texts.get(number), told[sent]
    if stored is None:
        return None
    answer = compare_messages(theirs.answer, stored.answer, "answer", stopped=stored.stopped)
    if not theirs.question.strip() and sent == 0 and answer != "other":
        return Pair(sent, number, "same", "same", answer)  # half a turn, whose question the client has dropped
    question = compare_messages(theirs.question, stored.question, "question")
    is_like = {side: like not in ("other", "translated") for side, like in (("q", question), ("a", answer))}
    if all(is_like.values()):
        return Pair(sent, number, "same" if question == answer == "same" else "reworded", question, answer)
    if "translated" in (question, answer) and "other" not in (question, answer):
        return Pair(sent, number, "reworded", question, answer)
    return Pair(sent, number, "edited", question, answer) if any(is_like.values()) else None


def _pair_gap_turns(
    told: Sequence[Exchange],
    texts: Mapping[int, Exchange],
    before: tuple[int, int],
    after: tuple[int, int] | None,
    *,
    is_front: bool = False,
) -> list[Pair]:
    """Returns the pairs between two known pairs, or behind the last one. As many told as stored turns in a gap stand in
    each other's place; else every told turn is looked for in the stored ones that are left."""
    sent, number = before
    end = after[0] if after else len(told)
    limit = after[1] if after else number + 1 + MOST_GAP
    theirs = list(range(sent + 1, end))
    ours = [n for n in range(max(number + 1, limit - MOST_GAP - 1), limit) if n in texts]
    if not theirs or not ours:
        return []
    if after and not is_front and len(theirs) == len(ours):
        found = [
            judge_pair(told, texts, one, n) or Pair(one, n, "edited", "other", "other")
            for one, n in zip(theirs, ours, strict=True)
        ]
        return found
    pairs = list[Pair]()
    for one in theirs[-MOST_GAP:]:
        for n in ours[:NEXT]:
            pair = judge_pair(told, texts, one, n)
            if pair is not None and (pair.kind != "edited" or (not is_front and n == number + 1)):
                pairs.append(pair)
                ours = [left for left in ours if left > n]
                number = n
                break
    return pairs


def _move_joined_pairs(told: Sequence[Exchange], texts: Mapping[int, Exchange], pairs: Sequence[Pair]) -> list[Pair]:
    """Moves a pair to the next stored turn whose answer the told one holds as well: a client that joins answers, or
    deleted the question between them."""
    taken = {pair.number for pair in pairs}
    grown = list[Pair]()
    for pair in pairs:
        number = pair.number
        while pair.answer == "more" and (after := texts.get(number + 1)) and number + 1 not in taken:
            if compare_messages(told[pair.sent].answer, after.answer, "answer") != "more":
                break
            number += 1
        grown.append(Pair(pair.sent, number, "reworded", pair.question, pair.answer) if number != pair.number else pair)
    return grown


def _drop_last_edits(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Leaves out edited turns with no known one behind them: they are other versions, and new."""
    known = [at for at, pair in enumerate(pairs) if pair.kind != "edited"]
    return pairs[: known[-1] + 1] if known else []


__all__ = [
    "Alignment",
    "Exchange",
    "Pair",
    "TurnEvidence",
    "align_told_turns",
    "choose_pairs",
    "find_changed",
    "judge_pair",
    "weigh_turn_pairs",
]
