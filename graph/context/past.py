"""The part of the prompt with past turns that fit the question: turns that stand in the prompt no more, word for word
(design 6).

The search (``graph.turn.memory.past_turns``) runs before the prompt is built; only then is it known which turns stand
raw in the prompt. So the search hands over more turns than have room, and this module chooses among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from graph.context.report import PromptOmission
from prompt import render_prompt
from store.search.turn_index import TurnKey

Count = Callable[[str], int]
Frame = Literal["past", "past_uncited", "past_bare"]
CITED: Frame = "past"
"""The frame in which each turn has a mark («[T1]») that the answer cites."""
UNCITED: Frame = "past_uncited"
"""The same for a reader who is shown no marks; it is also the mark of such a part in a report."""
BARE: Frame = "past_bare"
"""The frame for a small model."""
NEAR_MISSES = 20
"""The most turns of a kind that a report lists as left out."""
RECALL = "recall"
"""The tool whose results hold past turns with marks, too."""
QUOTED = "quoted"
"""The field of that tool's artifact that says that its result is the answer: a quotation of past turns."""
LEAST = 10
"""Tokens below which no turn fits."""


@dataclass(frozen=True, slots=True)
class PastEntry:
    """A past turn as a prompt shows it. ``here``: it belongs to the conversation that the prompt is for; ``title``: the
    title of another conversation. ``day``: the ISO date of its question, ``at``: its moment (Unix seconds).
    ``question``, ``answer``: one line each, the answer may be empty. ``score``: from 0 to 1, how likely it says what is
    asked. ``foreign``: its answer may hold foreign text.
    """

    key: TurnKey
    here: bool
    day: str
    at: float
    question: str
    answer: str
    score: float
    title: str = ""
    foreign: bool = False

    @property
    def item(self) -> str:
        """Returns the place and the score as a report keeps them."""
        return write_item(self.key, self.here, self.score)

    @property
    def heading(self) -> tuple[str, str]:
        """Returns what a line above it names: its day and its conversation."""
        return self.day, self.key.session_id


@dataclass(frozen=True, slots=True)
class FoundPast:
    """What a search found for a question. ``entries``: the best first; ``below``: more turns that came near without
    reaching the floor, as items of a report; ``room``: the most tokens for the part; ``frame``: the prompt text around
    them; ``floor``: the least score with which one of them is shown (``select_outside``)."""

    entries: tuple[PastEntry, ...] = ()
    below: tuple[str, ...] = ()
    room: int = 0
    frame: Frame = CITED
    floor: float = 0.0

    @property
    def foreign(self) -> bool:
        return any(entry.foreign for entry in self.entries)


def write_item(key: TurnKey, here: bool, score: float) -> str:
    """Returns place and score of a turn as a report keeps them: «session/branch/number/0.87», without the session for a
    turn of the conversation itself (``here``), so that it also fits a copy."""
    return f"{'' if here else key.session_id}/{key.branch}/{key.number}/{score:.2f}"


def read_item(item: str, session_id: str) -> tuple[TurnKey, float]:
    """Returns the place and the score of a turn out of an item of a report of this session."""
    other, branch, number, score = item.rsplit("/", 3)
    return TurnKey(other or session_id, int(branch), int(number)), float(score)


def select_outside(found: FoundPast, raw: Collection[int]) -> list[PastEntry]:
    """Returns the entries that do not stand raw in the prompt, the best first. When all that reach the floor stand
    there, these are only earlier turns of this conversation: what another conversation says of a budget came along with
    those, and would stand nearer to the question than the budget of this one."""
    outside = _list_outside(found, raw)
    if any(entry.score >= found.floor for entry in outside):
        return outside
    return [entry for entry in outside if entry.here]


def _list_outside(found: FoundPast, raw: Collection[int]) -> list[PastEntry]:
    return [entry for entry in found.entries if not (entry.here and entry.key.number in raw)]


def choose_entries(found: FoundPast, raw: Collection[int], language: str, count: Count) -> list[PastEntry]:
    """Returns the best entries that have room together, in the order of time. ``raw``: the numbers of this
    conversation's turns that stand raw in the prompt."""
    chosen = list[PastEntry]()
    room = found.room - count(_render_past_frame("", language, found.frame))
    headings = set[tuple[str, str]]()
    for entry in select_outside(found, raw):
        if room < LEAST:
            break
        tokens = count(_render_past_line(entry, 99, language, found.frame)) + 1
        tokens += 0 if entry.heading in headings else count(_render_past_heading(entry, language)) + 1
        if tokens <= room:
            room -= tokens
            headings.add(entry.heading)
            chosen.append(entry)
    return sorted(chosen, key=lambda entry: (entry.at, entry.key.number))


def render_entries(entries: Sequence[PastEntry], language: str, frame: Frame = CITED, first: int = 1) -> str:
    """Returns the text of the part: the entries in this order under the headings of their days; "" for none. ``first``:
    the number of the first mark."""
    numbered = [*enumerate(entries, first)]
    days = [[*day] for _, day in groupby(numbered, key=lambda each: each[1].heading)]
    lines = (
        line
        for day in days
        for line in (
            _render_past_heading(day[0][1], language),
            *(_render_past_line(entry, at, language, frame) for at, entry in day),
        )
    )
    return _render_past_frame("\n".join(lines), language, frame) if entries else ""


def list_left_out(found: FoundPast, shown: Sequence[PastEntry], raw: Collection[int]) -> tuple[PromptOmission, ...]:
    """Returns the found turns that had no room, and those that stayed below the floor, also because what reaches it
    stands raw in the prompt."""
    keys = {entry.key for entry in shown}
    fits = {entry.key for entry in select_outside(found, raw)}
    left = [entry for entry in _list_outside(found, raw) if entry.key not in keys]
    crowded = tuple(entry.item for entry in left if entry.key in fits)
    # a turn that stands raw in the prompt is not left out of it
    missed = (item for item in found.below if not (item.startswith("/") and read_item(item, "")[0].number in raw))
    below = (*(entry.item for entry in left if entry.key not in fits), *missed)
    cut = PromptOmission(str(len(crowded)), "turns_cut", items=crowded[:NEAR_MISSES])
    low = PromptOmission(str(len(below)), "below_floor", items=below[:NEAR_MISSES])
    return tuple(each for each in (cut, low) if each.items)


def _render_past_frame(turns: str, language: str, frame: Frame) -> str:
    return render_prompt(frame, language, turns=turns)


def _render_past_heading(entry: PastEntry, language: str) -> str:
    if entry.here:
        return render_prompt("past_here", language, day=entry.day)
    return render_prompt(
        "past_elsewhere", language, day=entry.day
    )  # no title: it repeats what was said, also what is forgotten


def _render_past_line(entry: PastEntry, number: int, language: str, frame: Frame) -> str:
    mark = f"[T{number}] " if frame == CITED else ""
    name = "past_turn" if entry.answer else "past_question"
    values = {"answer": entry.answer} if entry.answer else {}
    return render_prompt(name, language, mark=mark, question=entry.question, **values)
