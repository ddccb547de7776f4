"""What a turn is remembered by: one line, and how important it is, from what the state block changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from store.world.record import Episode
from text.language import Language
from world.story.state import StoryState

MOST_NAMES = 4
_LABELS: dict[str, dict[Language, str]] = {
    "died": {"ko": "사망", "en": "died"},
    "met": {"ko": "만남", "en": "met"},
    "left": {"ko": "작별", "en": "left"},
    "gained": {"ko": "획득", "en": "gained"},
    "lost": {"ko": "상실", "en": "lost"},
    "related": {"ko": "관계", "en": "relation"},
    "places": {"ko": "장소 변화", "en": "place changed"},
    "moved": {"ko": "이동", "en": "moved here"},
    "nothing": {"ko": "대화", "en": "talk"},
}
_LEAST = 0.1


@dataclass
class Deeds:
    """What happened in one turn. ``related``: from, to, kind, by how much."""

    moved: bool = False
    hp: int = 0
    met: list[str] = field(default_factory=list)
    first_met: bool = False
    left: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    related: list[tuple[str, str, str, int]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


def build_turn_episode(deeds: Deeds, after: StoryState, turn: int, language: Language) -> Episode:
    """Returns the episode of a turn. ``after``: the state after it."""
    told = [
        _render_named_list("died", deeds.died, language),
        _render_named_list("met", deeds.met, language),
        _render_named_list("left", deeds.left, language),
        _render_named_list("gained", deeds.gained, language),
        _render_named_list("lost", deeds.lost, language),
        _render_named_list("related", [_render_relation_change(*one) for one in deeds.related], language),
        f"HP {deeds.hp:+d}" if deeds.hp else "",
        _render_named_list("places", deeds.places, language),
        _LABELS["moved"][language] if deeds.moved else "",
    ]
    text = ", ".join(filter(None, told)) or _LABELS["nothing"][language]
    others = [name for one in deeds.related for name in one[:2]]
    people = dict.fromkeys(name for name in (*deeds.met, *deeds.left, *deeds.died, *others) if name != after.player)
    return Episode(turn, after.me.location, text, tuple(people), rate_importance(deeds))


def rate_importance(deeds: Deeds) -> float:
    """Returns how important a turn is, 0.1 to 1: a death counts most, then a first meeting, then items."""
    strongest = max((abs(delta) for *_, delta in deeds.related), default=0)
    weights = (
        1.0 if deeds.died else 0.0,
        0.7 if deeds.first_met else 0.0,
        0.6 if deeds.gained or deeds.lost else 0.0,
        min(1.0, strongest / 10),
        min(1.0, abs(deeds.hp) / 100),
        0.5 if deeds.places else 0.0,
        0.3 if deeds.moved or deeds.met or deeds.left else 0.0,
        _LEAST,
    )
    return max(weights)


def _render_named_list(label: str, names: list[str], language: Language) -> str:
    more = " …" if len(names) > MOST_NAMES else ""
    return f"{_LABELS[label][language]}: {', '.join(names[:MOST_NAMES])}{more}" if names else ""


def _render_relation_change(one: str, other: str, kind: str, delta: int) -> str:
    return f"{one} → {other} {kind} ({delta:+d})".replace("  ", " ")
