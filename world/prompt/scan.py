"""What the rules of a lorebook's entries look through at one request, and where the story stands then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from store.world.record import StoryNode, World
from text.clean import collapse_spaces
from text.fold import fold_name
from world.book.model import Card
from world.file.file import Files
from world.lore.activation import Scan
from world.lore.lorebook import Lorebook
from world.lore.macro import Names
from world.lore.rule import Source
from world.story.told import ToldStory

Fit = Literal["new", "goes_on", "again", "given", "continues", "ambiguous"]
"""How a request fits to what is known: a new story; the next turn; another answer to a known message; after turns that
only the client knows; an answer that goes on; the next turn of the story that was told last of several alike."""
TRIGGERS: Mapping[Fit, frozenset[str]] = {
    "continues": frozenset({"continue"}),
    "again": frozenset({"swipe", "regenerate"}),
}
"""SillyTavern's kinds of requests by how a request fits to what is known; every other one is «normal»."""
PERSONA = ("persona.md", "player.md")
"""Files of the user's that tell who the player is."""
LOOKED_BACK = 32
"""Turns that are looked through at once for the last one that was answered here."""


class PathRows(Protocol):
    """What of ``store.worlds`` a scan asks about the turns before."""

    def path(self, node: StoryNode, last: int = 50, skip: int = 0) -> list[StoryNode]: ...
    def children(self, world_id: str, parent_id: int) -> list[StoryNode]: ...
    def node_at(self, node: StoryNode, turn: int) -> int | None: ...
    def node(self, node_id: int) -> StoryNode: ...


class ScanRequest(Protocol):
    """What of a request that is recognised (``world.engine.RecognisedRequest``) a scan asks."""

    @property
    def told_story(self) -> ToldStory: ...
    @property
    def parent(self) -> StoryNode | None: ...
    @property
    def number(self) -> int: ...
    @property
    def fit(self) -> Fit: ...


def read_scan(
    rows: PathRows, world: World, book: Lorebook, card: Card | None, files: Files, asking: ScanRequest
) -> Scan:
    """Returns what is looked through for a request. Asks the database only what some rule of the lorebook asks."""
    told, parent, number = asking.told_story, asking.parent, asking.number
    rules = book.keyed.rules
    names = Names(world.player, card.short_name if card is not None else "")
    messages = _list_messages(told, names, max(2, book.keyed.depth))
    if not rules:
        return Scan(messages=messages)
    asks = any(rule.asks_count or rule.greeting is not None for rule in rules)
    first = _find_greeting(rows, told, parent) if asks else None
    greeted = first is not None
    return Scan(
        messages,
        _list_sources(card, files, names) if any(rule.sources for rule in rules) else {},
        TRIGGERS.get(asking.fit, frozenset({"normal"})),
        frozenset(fold_name(one) for one in (names.character, card.name if card else "") if one),
        frozenset(map(fold_name, card.tags)) if card is not None else frozenset(),
        2 * number - (0 if greeted else 1),
        number - 1 + greeted,
        _number_greeting(first, card, world.player),
        _make_seed(rows, world, parent, number),
        _find_effects(rows, parent) if any(rule.asks_history for rule in rules) else {},
    )


def _list_messages(told: ToldStory, names: Names, most: int) -> tuple[tuple[str, str], ...]:
    """Returns what was said with its speakers, the newest first."""
    said: list[tuple[str, str]] = [(names.character, told.before), (names.user, told.question)]
    for question, answer in reversed(told.turns):
        if len(said) > most + 2:
            break
        said += [(names.character, answer), (names.user, question)]
    return tuple((speaker, names.fill(text)) for speaker, text in said if text.strip())[:most]


def _find_greeting(rows: PathRows, told: ToldStory, parent: StoryNode | None) -> str | None:
    """Returns the greeting that the story began with, as its card says it or as a client sent it; None for
    a story without one."""
    if parent is not None:
        known = rows.node_at(parent, 0)
        return rows.node(known).raw if known is not None else None
    return told.turns[0][1] if told.turns and not told.turns[0][0].strip() else None


def _number_greeting(first: str | None, card: Card | None, player: str) -> int | None:
    """Returns the number of the card's greeting that a story began with; None where it is none of them."""
    if first is None or card is None:
        return None
    names, said = Names(player, card.short_name), collapse_spaces(first)
    known = ((text, names.fill(text)) for text in card.greetings)
    return next((at for at, forms in enumerate(known) if said in (collapse_spaces(one) for one in forms)), None)


def _list_sources(card: Card | None, files: Files, names: Names) -> dict[Source, str]:
    """Returns the texts beside the chat in which keys may be looked for."""
    persona = next((file.body for file in files.further if file.name in PERSONA), "")
    found: dict[Source, str] = {"persona": persona}
    if card is not None:
        found |= {
            "description": card.text("description"),
            "personality": card.text("personality"),
            "scenario": card.text("scenario"),
            "notes": card.text("creator_notes"),
            "depth_prompt": card.note,
        }
    return {name: names.fill(text) for name, text in found.items()}


def _make_seed(rows: PathRows, world: World, parent: StoryNode | None, number: int) -> str:
    """Returns what chances are drawn from: the same until the turn has another answer."""
    before = parent.id if parent is not None else 0
    answers = len(rows.children(world.id, before)) if world.id else 0
    return f"{world.id}|{before}|{number}|{answers}"


def _find_effects(rows: PathRows, parent: StoryNode | None) -> Mapping[str, Any]:
    """Returns what lasts of earlier turns of the branch: from the last turn that was answered here."""
    while parent is not None:
        nodes: Sequence[StoryNode] = rows.path(parent, LOOKED_BACK)
        if (report := _find_report(reversed(nodes))) is not None:
            effects = report.get("lore", {}).get("effects", {})
            return effects if isinstance(effects, Mapping) else {}
        parent = rows.node(nodes[0].parent) if nodes and nodes[0].parent else None
    return {}


def _find_report(nodes: Iterable[StoryNode]) -> dict[str, Any] | None:
    return next((node.report for node in nodes if node.report), None)
