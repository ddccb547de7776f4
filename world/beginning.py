"""Where a story begins: a world's texts, its lorebook, what is so before the first turn, and the first words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from model.call.token import estimate_tokens
from model.file_lock import translate_disk_errors
from store.world.record import Alias, Changes, Character, LoreEntry, NewNode, StoryNode, World
from text.language import Language
from world.book.container import is_png
from world.book.format import with_rule
from world.book.model import Book, Card
from world.engine import WorldEngine
from world.file.file import PREFIX
from world.file.front import WHOLE_LORE, parse_world_file, with_head
from world.lore.lorebook import Lorebook
from world.lore.macro import Moment, Names, expand_macros
from world.lore.rule import Rule
from world.prompt.budget import AuthorRoom, Budgets
from world.story.state import FULL_HP


@dataclass(frozen=True, slots=True)
class Beginning:
    """A world that does not exist yet. ``greetings``: the messages with which its story may begin, the usual one first,
    as they are written;
    ``prefix``: the text of stable_prefix.md. ``book``: the file that it came from. ``whole``: the text is kept whole
    whatever it takes; None: where the model's window allows."""

    name: str
    language: Language
    player: str = ""
    greetings: tuple[str, ...] = ()
    prefix: str = ""
    changes: Changes = field(default_factory=Changes)
    lore: tuple[LoreEntry, ...] = ()
    book: Book | None = None
    whole: bool | None = None


def room_for(engine: WorldEngine, card: Card, language: Language, player: str, before: str = "") -> AuthorRoom:
    """Returns what the text of a card takes, behind what stands in stable_prefix.md already."""
    text = "\n\n".join(filter(None, (before, card.prefix(language))))
    return _measure_prefix(engine, text, Names(player, card.short_name))


def _measure_prefix(engine: WorldEngine, text: str, names: Names) -> AuthorRoom:
    budget = Budgets.of(engine.settings).prefix
    return AuthorRoom.of(estimate_tokens(expand_macros(text, names, "")), budget, engine.models().context_size)


@dataclass(frozen=True, slots=True)
class LoreRoom:
    """``constant``: what the entries of a file take that are always active, with those of the world. ``large``: names
    of its other entries that are larger than the lorebook's whole budget."""

    constant: AuthorRoom
    large: tuple[str, ...]


def measure_lore(engine: WorldEngine, book: Book, player: str, world: World | None = None) -> LoreRoom:
    """Returns what the entries of a file take in a lorebook. ``world``: the one that it is added to."""
    names = Names(player, book.card.short_name if book.card is not None else "")
    before = engine.store.worlds.lore(world.id) if world is not None else []
    numbered = [replace(entry, id=at) for at, entry in enumerate((*before, *book.entries), start=1)]
    lore = Lorebook.of(map(with_rule, numbered), names)
    constant = engine.constant_room(lore)
    others = (lore.entries[entry.id] for entry in numbered[len(before) :] if entry.enabled)
    large = (one for one in others if one.tokens > constant.budget and _takes_of_budget(one.rule))
    return LoreRoom(constant, tuple(one.entry.keyword or ", ".join(one.entry.keys) for one in large))


def _takes_of_budget(rule: Rule | None) -> bool:
    return rule is None or not (rule.constant or rule.budget_free)


def create_story_world(engine: WorldEngine, beginning: Beginning) -> tuple[World, StoryNode | None]:
    """Creates a world; returns it with the turn of its greeting, None without one. Nothing stays of one that fails.

    Raises ``Empty``, ``TooLong``, ``BadWorldFile``, ``DiskFull``, ``StoreUnavailable``.
    """
    worlds = engine.store.worlds
    world = worlds.create(beginning.name, beginning.language, beginning.player)
    try:
        worlds.set_begin_state(world.id, beginning.changes)
        return world, _store_world_texts(engine, world, beginning, beginning.prefix)
    except Exception:
        remove_story_world(engine, world)
        raise


def from_book(book: Book, language: Language, player: str, whole: bool | None = None) -> Beginning:
    """Returns the world that a file of another program makes. ``player``: the name of the user's character; ``whole``:
    as of ``Beginning``."""
    if book.card is None:
        return Beginning(book.name, language, player, lore=book.entries, book=book, whole=whole)
    people = (Character(player, hp=FULL_HP), Character(book.card.short_name))
    greetings = tuple(book.card.greetings)
    name, short = book.card.name, book.card.short_name
    aliases = (Alias("person", name, short),) if name != short else ()
    prefix, changes = book.card.prefix(language), Changes(people, aliases=aliases)
    return Beginning(book.card.name, language, player, greetings, prefix, changes, book.entries, book, whole)


def add_book_to_world(engine: WorldEngine, world: World, book: Book, whole: bool | None = None) -> StoryNode | None:
    """Adds what a file of another program holds to a world: its entries, and of a card its text behind the prefix, its
    character, and its greetings as further beginnings. Returns the turn of the first greeting, or None.

    Raises ``WorldUnknown``, ``BadWorldFile``, ``DiskFull``, ``StoreUnavailable``.
    """
    beginning = from_book(book, world.language, world.player, whole)
    before = engine.store.worlds.begin_state(world.id)
    known = {one.name for one in before.characters}
    newcomers = tuple(one for one in beginning.changes.characters if one.name not in known)
    if newcomers:
        # whom a story that runs has under the whole name keeps the row, and whether the two are one is asked
        aliases = (one for one in beginning.changes.aliases if one.name not in known)
        free = tuple(one for one in aliases if not engine.store.worlds.has_character(world.id, one.name))
        both = replace(before, characters=(*before.characters, *newcomers), aliases=(*before.aliases, *free))
        engine.store.worlds.set_begin_state(world.id, both)
    own = beginning.prefix
    if own and book.card is not None:  # in a world of its own texts {{char}} is nobody
        own = Names("", book.card.short_name).fill(own)
    prefix = "\n\n".join(filter(None, (_read_prefix_file(engine, world).strip(), own))) if own else ""
    return _store_world_texts(engine, world, beginning, prefix)


def book_of(engine: WorldEngine, world: World) -> Book:
    """Returns a world as a file for other programs: its lorebook, and its card. What came from a file comes out as it
    was there; a text or greeting that was changed since comes out as it is now. Raises ``WorldUnknown``,
    ``BadWorldFile``."""
    files = engine.files
    prefix = files.read(world.id, PREFIX).body if PREFIX in files.names(world.id) else ""
    begun = engine.store.worlds.children(world.id, 0)
    lore, stored = tuple(engine.store.worlds.lore(world.id)), files.cards.read(world.id)
    greetings = _list_greetings(begun, stored.card if stored is not None else None, world)
    if stored is None:
        return Book(world.name, lore, _own_card(world, prefix, greetings))
    container = files.cards.container(world.id)
    origin = replace(stored.origin, container=container)
    if stored.card is None:
        return Book(stored.name, lore, _own_card(world, prefix, greetings), origin=origin)
    fields = dict(stored.card.fields)
    if prefix.split() != stored.prefix.split():
        fields |= {**dict.fromkeys(_IN_PREFIX, ""), "description": prefix}
    if greetings and greetings != [one.strip() for one in stored.card.greetings]:
        fields |= {"first_mes": greetings[0] if greetings else "", "alternate_greetings": greetings[1:]}
    card = replace(stored.card, fields=fields, picture=container if is_png(container) else b"")
    return Book(stored.name, lore, card, origin=origin)


def _list_greetings(begun: Sequence[StoryNode], card: Card | None, world: World) -> list[str]:
    """Returns the greetings of all stories of a world as they are written, each once. Earlier versions stored the words
    of a card with the names in them."""
    written = (
        {Names(world.player, card.short_name).fill(one).strip(): one.strip() for one in card.greetings} if card else {}
    )
    told = (node.raw.strip() for node in begun if not node.question.strip())
    return [*dict.fromkeys(written.get(text, text) for text in told)]


_IN_PREFIX = ("personality", "scenario", "mes_example", "system_prompt", "post_history_instructions")
"""Texts of a card that stand in stable_prefix.md with its description."""


def _own_card(world: World, prefix: str, greetings: Sequence[str]) -> Card:
    """Returns the card of a world that came from none."""
    fields: dict[str, Any] = {"description": prefix}
    if greetings:
        fields |= {"first_mes": greetings[0], "alternate_greetings": list(greetings[1:])}
    return Card(world.name, fields)


def remove_story_world(engine: WorldEngine, world: World) -> None:
    """Removes a world with its stories and files. Raises ``WorldUnknown``, ``StoreUnavailable``."""
    engine.store.worlds.delete(world.id)
    with translate_disk_errors(engine.settings.data_dir / "world"):
        engine.files.remove_all(world.id)


def _store_world_texts(engine: WorldEngine, world: World, beginning: Beginning, prefix: str) -> StoryNode | None:
    """Stores the texts of a world: its file first, because the entries ask for the character's name."""
    book = beginning.book
    with translate_disk_errors(engine.settings.data_dir / "world"):
        if book is not None and book.origin is not None and engine.files.cards.read(world.id) is None:
            engine.files.cards.write(world.id, book, beginning.prefix)
        if text := _fit_prefix(engine, world, beginning, f"{prefix.strip()}\n" if prefix else ""):
            engine.files.write(world.id, PREFIX, text)
    if beginning.lore:
        engine.store.worlds.put_lore(world.id, beginning.lore)
        engine.learn(world.id)
    told = [
        engine.store.worlds.add(world.id, None, NewNode("", (text,), written, "given"))
        for number, written in enumerate(map(str.strip, beginning.greetings))
        if (text := _expand_greeting(world, book.card if book is not None else None, written, number))
    ]
    return told[0] if told else None


def _expand_greeting(world: World, card: Card | None, written: str, number: int) -> str:
    """Returns a greeting as readers and programs see it."""
    moment = Moment(f"{world.id}|{number}", datetime.now(), world.language)
    names = Names(world.player, card.short_name if card is not None else "")
    return expand_macros(written, names, f"{world.id}|{number}", moment).strip()


def _fit_prefix(engine: WorldEngine, world: World, beginning: Beginning, text: str) -> str:
    """Returns the text of stable_prefix.md, of a card with a budget that holds all of it, unless it is larger than the
    model's window allows and the user has chosen to have it cut; and with what he has chosen of the lorebook."""
    book = beginning.book
    if book is None:
        return text
    if text and book.card is not None:
        body = parse_world_file(PREFIX, text.encode("utf-8", "replace")).body
        room = _measure_prefix(engine, body, Names(world.player, book.card.short_name))
        if budget := room.choose_budget(beginning.whole):
            text = with_head(text, budget=budget)
    if beginning.whole and measure_lore(engine, book, world.player, world).constant.is_asked:
        text = with_head(text or _read_prefix_file(engine, world), **{WHOLE_LORE: True})
    return text


def _read_prefix_file(engine: WorldEngine, world: World) -> str:
    """Returns stable_prefix.md as it is, front matter included; empty when there is none. Raises ``BadWorldFile``, so
    that one that cannot be read is not written over."""
    return engine.files.text(world.id, PREFIX) if PREFIX in engine.files.names(world.id) else ""


__all__ = [
    "Beginning",
    "LoreRoom",
    "add_book_to_world",
    "book_of",
    "create_story_world",
    "from_book",
    "measure_lore",
    "remove_story_world",
    "room_for",
]
