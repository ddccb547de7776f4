"""Which entries may come into a prompt, and their scores (specification 12.11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Literal, NamedTuple

from store.world.record import Layer, LoreEntry, LoreMark
from world.lore.activation import Activation
from world.lore.lorebook import Lorebook, ReadyEntry
from world.lore.macro import Moment
from world.lore.mention import name
from world.lore.rule import Rule
from world.story.state import StoryState

NEAREST = 10
"""How many entries the search by vectors brings (specification 12.11)."""
PLACE, NPC, RELATION = 3.0, 2.0, 1.0
"""What an entry gets that belongs to the player's place, is somebody there, or somebody the player has a relation
with."""
WEIGHTS: Mapping[Layer, float] = {"A1": 2.0, "A2": 1.5, "A3": 0.5, "A4": 0.0}
PATIENCE: Mapping[Layer, int] = {"A3": 7, "A4": 3}
"""For how many turns an entry stays that nobody mentions; entries of other layers stay for ever."""
SECRET: Layer = "A4"
"""The layer whose entries nobody hears of before they are mentioned."""
Why = Literal["vector", "place", "npc", "relation", "mentioned", "always", "rule", "link"]

_NONE: Mapping[int, Activation] = MappingProxyType({})
ALWAYS: tuple[Why, ...] = ("always",)
"""What makes a candidate of an entry that nothing else leads to."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Whom and what the player has around: plain names, of everybody all names. ``near``: everybody else at the
    player's place, dead or alive; ``people``: everybody the story knows; ``bonds``: everybody with whom the player has
    a relation."""

    here: str
    near: frozenset[str]
    people: frozenset[str]
    bonds: frozenset[str]

    @classmethod
    def of(cls, state: StoryState) -> Scene:
        """Returns the scene of a state."""
        me, here = name(state.player), name(state.me.location)
        further = state.further_names("person")
        called = {one: frozenset(map(name, (one, *further.get(one, ())))) for one in state.characters}
        others = [one for one in state.characters.values() if name(one.name) != me]
        bonds = [other for pair in state.relations if state.player in pair for other in pair if other != state.player]
        return cls(
            here,
            frozenset[str]().union(*(called[one.name] for one in others if here and name(one.location) == here)),
            frozenset[str]().union(*(called[one.name] for one in others)),
            frozenset[str]().union(*(called.get(one, {name(one)}) for one in bonds)),
        )


class Scored(NamedTuple):
    """A candidate. ``score``: the sum of the next four and the weight of its layer. ``why``: what made it a candidate.
    ``silent``: for how many turns nobody has mentioned it, the turn that is asked included. ``text``, ``tokens``: its
    line in a prompt. ``named``: the last two messages name it. ``secret``: it is one that nobody has mentioned yet.
    ``rule``: None for an entry that is active by its layer. A tuple, because hundreds are made for every request."""

    entry: LoreEntry
    score: float
    vector: float
    place: float
    npc: float
    relation: float
    why: tuple[Why, ...]
    silent: int
    text: str
    tokens: int
    named: bool = False
    secret: bool = False
    rule: Rule | None = None

    @property
    def parts(self) -> dict[str, float]:
        """Returns what the score is the sum of."""
        gates = {"vector": self.vector, "place": self.place, "npc": self.npc, "relation": self.relation}
        return {**gates, "layer": WEIGHTS[self.entry.layer]}

    @property
    def is_decayed(self) -> bool:
        """Whether the entry has been silent for too long (specification 12.10); not one with a rule, and no background
        of a place or person in play, which comes along by its link."""
        linked = "link" in self.why and self.entry.layer != SECRET
        return self.rule is None and not linked and self.silent > PATIENCE.get(self.entry.layer, self.silent)


def score_lore_candidates(
    book: Lorebook,
    state: StoryState,
    mentioned: Iterable[int],
    cosines: Mapping[int, float],
    turn: int,
    active: Mapping[int, Activation] = _NONE,
    moment: Moment | None = None,
) -> list[Scored]:
    """Returns all candidates: those that are named in the last two messages first, then the highest score; entries that
    are not enabled are none.

    ``mentioned``: the entries that these messages name. ``cosines``: of the question and every entry that has a vector.
    ``turn``: the number of the turn that is asked. ``active``: the keyed entries whose rule has fired.
    """
    scene = Scene.of(state)
    found = [
        _score_lore_entry(book.entries[id], state.lore.get(id), why, scene, cosines.get(id, 0.0), turn, moment)
        for id, why in _find_lore_candidates(book, state, scene, mentioned, cosines, active).items()
    ]
    return sorted(found, key=_rank_scored_entry)


def _rank_scored_entry(one: Scored) -> tuple[object, ...]:
    yields = one.rule is not None and one.rule.yields
    return yields, not one.named, -one.score, one.entry.layer, one.entry.id


def _find_lore_candidates(
    book: Lorebook,
    state: StoryState,
    scene: Scene,
    mentioned: Iterable[int],
    cosines: Mapping[int, float],
    active: Mapping[int, Activation],
) -> dict[int, tuple[Why, ...]]:
    """Returns the ids of the enabled candidates with what made them candidates. A keyed entry is one only when its rule
    has fired; the place and the people around then count for its score."""
    named = frozenset(mentioned)
    here = {*_find_named(book, (scene.here,)), *_find_placed_entries(book, state, scene.here)}
    near = _find_named(book, scene.near)
    ways: tuple[tuple[Why, Iterable[int]], ...] = (
        ("vector", find_nearest(book, cosines)),
        ("place", here),
        ("npc", near),
        ("relation", _find_named(book, scene.bonds)),
        ("mentioned", named),
        ("link", sorted({other for id in here | near for other in book.links.get(id, ())} - here - near)),
    )
    found = dict.fromkeys(book.always, ALWAYS)
    for id, activation in active.items():
        found[id] = ("rule", "mentioned") if activation.named or id in named else ("rule",)
    for why, ids in ways:
        for id in ids:
            ready = book.entries[id]
            if ready.rule is not None:
                if id in active and why not in (*found[id], "mentioned", "link"):
                    found[id] = (*found[id], why)
            elif ready.entry.enabled:
                found[id] = (*found.get(id, ()), why)
    return found


def find_nearest(book: Lorebook, cosines: Mapping[int, float]) -> Iterable[int]:
    """Returns the ids of the enabled entries that are nearest to the question."""
    best = sorted(cosines, key=cosines.__getitem__, reverse=True)
    known = (id for id in best if id in book.entries and book.entries[id].entry.enabled)
    return islice(known, NEAREST)


def _find_named(book: Lorebook, names: Iterable[str]) -> set[int]:
    return {id for one in names for id in book.names.get(one, ())}


def _find_placed_entries(book: Lorebook, state: StoryState, here: str) -> Iterator[int]:
    """Yields the entries that the author or the story put at this place."""
    if not here:
        return
    for id in book.places.get(here, ()):
        if book.entries[id].place(state.lore.get(id)) == here:
            yield id
    for id, mark in state.lore.items():
        if mark.location is not None and id in book.entries and name(mark.location) == here:
            yield id


def _score_lore_entry(
    ready: ReadyEntry,
    mark: LoreMark | None,
    why: tuple[Why, ...],
    scene: Scene,
    cosine: float,
    turn: int,
    moment: Moment | None,
) -> Scored:
    entry = ready.entry
    if why is ALWAYS and mark is None and not ready.changing:  # most candidates of a large lorebook
        score = cosine + WEIGHTS[entry.layer]
        return Scored(entry, score, cosine, 0.0, 0.0, 0.0, why, turn, ready.text, ready.tokens)
    place = PLACE if "place" in why and _is_here(ready, mark, scene) else 0.0
    npc = NPC if "npc" in why else 0.0
    relation = RELATION if "relation" in why else 0.0
    named = "mentioned" in why
    last = turn if named else mark.last_mentioned if mark else 0
    score = cosine + place + npc + relation + WEIGHTS[entry.layer]
    text, tokens = ready.render_line(mark, moment)
    secret = ready.rule is None and entry.layer == SECRET and not last
    silent = max(0, turn - last)
    return Scored(entry, score, cosine, place, npc, relation, why, silent, text, tokens, named, secret, ready.rule)


def _is_here(ready: ReadyEntry, mark: LoreMark | None, scene: Scene) -> bool:
    """Returns whether the entry names the player's place or belongs to it. Somebody the story knows is near or not: his
    whereabouts do not count a second time (the table in specification 12.11 gives the goblin king no place)."""
    return scene.here in ready.names or (ready.place(mark) == scene.here and not ready.names & scene.people)
