"""Fills the token budget of the lorebook with the highest scores (specification 12.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from store.world.record import LoreEntry
from world.lore.lorebook import Lorebook
from world.lore.score import Scored

LISTED = 40
"""How many entries a report names that are not in the prompt; it counts the others. A report is stored with every
turn."""
Reason = Literal["decayed", "budget", "disabled"]


@dataclass(frozen=True, slots=True)
class Packed:
    """What the prompt gets, highest score first; and what it does not get, with the reason."""

    taken: tuple[Scored, ...]
    left: tuple[tuple[Scored, Reason], ...]

    @property
    def text(self) -> str:
        """Returns the lines of the entries in the prompt."""
        return "\n".join(one.text for one in self.taken)


def pack(candidates: Iterable[Scored], budget: int) -> Packed:
    """Takes the candidates in their order while they fit; one that does not fit is left out and smaller ones may still
    come. Candidates that have decayed are left out first."""
    taken: list[Scored] = []
    left: list[tuple[Scored, Reason]] = []
    for one in candidates:
        if one.decayed:
            left.append((one, "decayed"))
        elif one.tokens <= budget:
            taken.append(one)
            budget -= one.tokens
        else:
            left.append((one, "budget"))
    return Packed(tuple(taken), tuple(left))


def report(packed: Packed, book: Lorebook, mentioned: Iterable[int]) -> dict[str, Any]:
    """Returns as plain JSON which entries are in, which are out and why, and how many there are of every kind.

    ``mentioned``: the entries that the question names; one of them that is switched off is reported.
    """
    off = [ready.entry for id in sorted(mentioned) if not (ready := book.entries[id]).entry.enabled]
    reasons = Counter(reason for _, reason in packed.left)
    judged = len(packed.taken) + len(packed.left)
    rest = len(book.enabled) - judged
    return {
        "in": [{**_told(one), "tokens": one.tokens} for one in packed.taken],
        "out": [*({**_bare(entry), "reason": "disabled"} for entry in off), *_out(packed.left)],
        "counts": {"in": len(packed.taken), **reasons, "disabled": len(off), "no candidate": rest},
    }


def _out(left: Sequence[tuple[Scored, Reason]]) -> list[dict[str, Any]]:
    return [{**_told(one), "reason": reason} for one, reason in left[:LISTED]]


def _told(one: Scored) -> dict[str, Any]:
    parts = {part: round(value, 4) for part, value in one.parts.items() if value}
    return {
        **_bare(one.entry),
        "score": round(one.score, 4),
        "parts": parts,
        "why": list(one.why),
        "silent": one.silent,
    }


def _bare(entry: LoreEntry) -> dict[str, Any]:
    return {"id": entry.id, "keyword": entry.keyword, "layer": entry.layer}
