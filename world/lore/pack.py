"""Fills the token budget of the lorebook with the highest scores (specification 12.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from store.world.record import LoreEntry
from world.lore.activation import Activation, ActivationDecision, BlockedEntry
from world.lore.lorebook import Lorebook
from world.lore.rule import FAR, Position
from world.lore.score import Scored

LISTED = 40
"""How many entries a report names that are not in the prompt; it counts the others. A report is stored with every
turn."""
Reason = Literal["decayed", "budget", "disabled", "secret", "rule"]
_ORDER: dict[Position, int] = {
    "before": 0,
    "example_top": 2,
    "example_bottom": 3,
    "after": 4,
    "outlet": 5,
    "note_top": 6,
    "note_bottom": 7,
    "depth": 8,
}
"""Where keyed entries stand among the lines, by the author's position: first, or behind the layered ones (1)."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What the prompt gets, highest score first; and what it does not get, with the reason. ``deepest``: the greatest
    depth in the chat at which an entry may stand. ``standing``: of the entries that stand with a turn that turn, by id
    (``world.lore.standing``)."""

    taken: tuple[Scored, ...]
    left: tuple[tuple[Scored, Reason], ...]
    deepest: int = 1
    standing: Mapping[int, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Returns the lines of the entries in the prompt: layered ones with the highest score first, keyed ones around
        them as their authors ordered them. What stands behind the last message, at a depth of its own or with a turn
        is not among them."""
        apart = {*(one.entry.id for one in (*self.last, *self.deep)), *self.standing}
        return "\n".join(one.text for one in sorted(self.taken, key=_order_of) if one.entry.id not in apart)

    @property
    def last(self) -> tuple[Scored, ...]:
        """Returns the entries that their authors put behind the last message."""
        return tuple(sorted(filter(is_last, self.taken), key=_order_of))

    @property
    def deep(self) -> tuple[Scored, ...]:
        """Returns the entries that stand at the depth for which their authors asked."""
        return tuple(one for one in sorted(self.taken, key=_order_of) if find_depth(one, self.deepest) > 1)


def find_depth(one: Scored, deepest: int) -> int:
    """Returns how many messages stand behind an entry; one outside the conversation stands before the last one, and one
    that its author counts from the beginning as far up as may be."""
    if one.rule is None or one.rule.position != "depth":
        return 1
    if one.rule.depth >= FAR:
        return deepest
    return one.rule.depth if one.rule.depth <= deepest else 1


def is_last(one: Scored) -> bool:
    """Returns whether an entry stands behind the last message, at depth 0 of the chat."""
    return one.rule is not None and one.rule.position == "depth" and one.rule.depth == 0


def _order_of(one: Scored) -> tuple[float, ...]:
    rule = one.rule
    return (1,) if rule is None else (_ORDER[rule.position], -rule.depth if rule.position == "depth" else 0, rule.order)


def pack_lore_entries(candidates: Iterable[Scored], budget: int, deepest: int = 1, constant: int = 0) -> Packed:
    """Takes the candidates in their order while they fit; one that does not fit is left out and smaller ones may still
    come. Secrets that nobody has mentioned and candidates that have decayed are left out first. ``constant``: tokens
    for the entries that are always active, apart from the budget."""
    taken: list[Scored] = []
    left: list[tuple[Scored, Reason]] = []
    for one in candidates:
        if one.secret:
            left.append((one, "secret"))
        elif one.is_decayed:
            left.append((one, "decayed"))
        elif one.rule is not None and one.rule.budget_free:
            taken.append(one)
        elif one.rule is not None and one.rule.constant and one.tokens <= constant:
            taken.append(one)
            constant -= one.tokens
        elif one.tokens <= budget:
            taken.append(one)
            budget -= one.tokens
        else:
            left.append((one, "budget"))
    return Packed(tuple(taken), tuple(left), deepest)


def build_lore_report(
    packed: Packed, book: Lorebook, mentioned: Iterable[int], decision: ActivationDecision | None = None
) -> dict[str, Any]:
    """Returns as plain JSON which entries are in, which are out and why, and how many there are of every kind.

    ``mentioned``: the entries that the last messages name; one of them that is switched off is reported. ``decision``:
    on the keyed entries; those whose key was found while something kept them out are reported. ``effects``: what later
    turns of the branch need to know of it.
    """
    off = [ready.entry for id in sorted(mentioned) if not (ready := book.entries[id]).entry.enabled]
    blocked = decision.blocked if decision is not None else {}
    active = decision.active if decision is not None else {}
    reasons = Counter(reason for _, reason in packed.left)
    rest = len(book.enabled) - len(packed.taken) - len(packed.left) - len(blocked)
    ruled = [
        {**_report_bare_entry(book.entries[id].entry), "reason": "rule", "rule": _plain_reason(block)}
        for id, block in blocked.items()
    ]
    told = {
        "in": [
            {
                **_report_taken_entry(one, active, packed.deepest),
                "tokens": one.tokens,
                **({"stands": packed.standing[one.entry.id]} if one.entry.id in packed.standing else {}),
            }
            for one in packed.taken
        ],
        "out": [
            *({**_report_bare_entry(entry), "reason": "disabled"} for entry in off),
            *ruled[:LISTED],
            *({**_report_taken_entry(one, active), "reason": reason} for one, reason in packed.left[:LISTED]),
        ],
        "counts": {
            "in": len(packed.taken),
            **{str(reason): count for reason, count in reasons.items()},
            **({"rule": len(blocked)} if blocked else {}),
            "disabled": len(off),
            "no candidate": rest,
        },
    }
    effects = decision.effects([one.entry.id for one in packed.taken]) if decision is not None else {}
    return {**told, "effects": effects} if effects else told


def _report_taken_entry(one: Scored, active: Mapping[int, Activation], deepest: int = 1) -> dict[str, Any]:
    parts = {part: round(value, 4) for part, value in one.parts.items() if value}
    told = {
        **_report_bare_entry(one.entry),
        "score": round(one.score, 4),
        "parts": parts,
        "why": list(one.why),
        "silent": one.silent,
    }
    if one.entry.id in active:
        told["rule"] = _plain_reason(active[one.entry.id])
    if one.rule is not None and one.rule.position == "depth":
        told["depth"] = {"asked": one.rule.depth, "stands": find_depth(one, deepest)}
    return told


def _plain_reason(one: Activation | BlockedEntry) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if value}


def _report_bare_entry(entry: LoreEntry) -> dict[str, Any]:
    return {"id": entry.id, "keyword": entry.keyword, "layer": entry.layer}
