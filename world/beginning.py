"""Where a story begins: a world's texts, its lorebook, what is so before the first turn, and the first words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model.call.token import estimate_tokens
from model.file_lock import translate_disk_errors
from store.world.record import Alias, Changes, Character, LoreEntry, NewNode, StoryNode, World
from text.language import Language
from world.book.container import is_png
from world.book.model import Book, Card
from world.engine import WorldEngine
from world.file.file import PREFIX
from world.file.front import parse_world_file, with_budget
from world.lore.macro import Names, expand_macros
from world.prompt.budget import Budgets
from world.story.state import FULL_HP

SHARE = 3
"""A card's text may take a third of what the model reads at once."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A world that does not exist yet. ``greetings``: the messages with which its story may begin, the usual one first;
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


@dataclass(frozen=True, slots=True)
class PrefixRoom:
    """What a card's text takes. ``budget``: of stable_prefix.md as it is set; ``most``: the largest that the model's
    window allows."""

    tokens: int
    budget: int
    most: int

    @property
    def is_raised(self) -> bool:
        """Whether the budget is raised so that nothing of the text is cut."""
        return self.budget < self.tokens <= self.most

    @property
    def is_asked(self) -> bool:
        """Whether the user has to choose: whole, or cut."""
        return self.tokens > max(self.most, self.budget)


def room_for(engine: WorldEngine, card: Card, language: Language, player: str, before: str = "") -> PrefixRoom:
    """Returns what the text of a card takes, behind what stands in stable_prefix.md already."""
    text = "\n\n".join(filter(None, (before, card.prefix(language))))
    tokens = estimate_tokens(expand_macros(text, Names(player, card.short_name), ""))
    return PrefixRoom(tokens, Budgets.of(engine.settings).prefix, engine.models().context_size // SHARE)


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
        return Beginning(book.name, language, player, lore=book.entries, book=book)
    people = (Character(player, hp=FULL_HP), Character(book.card.short_name))
    greetings = tuple(book.card.greetings(player))
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
    greetings = [*dict.fromkeys(node.answer for node in begun if not node.question.strip())]  # of all stories
    lore, stored = tuple(engine.store.worlds.lore(world.id)), files.cards.read(world.id)
    if stored is None:
        return Book(world.name, lore, _own_card(world, prefix, greetings))
    container = files.cards.container(world.id)
    origin = replace(stored.origin, container=container)
    if stored.card is None:
        return Book(stored.name, lore, _own_card(world, prefix, greetings), origin=origin)
    fields = dict(stored.card.fields)
    if prefix.split() != stored.prefix.split():
        fields |= {**dict.fromkeys(_IN_PREFIX, ""), "description": prefix}
    if [one.strip() for one in greetings] != [one.strip() for one in stored.card.greetings(world.player)]:
        fields |= {"first_mes": greetings[0] if greetings else "", "alternate_greetings": greetings[1:]}
    card = replace(stored.card, fields=fields, picture=container if is_png(container) else b"")
    return Book(stored.name, lore, card, origin=origin)


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
        if prefix:
            text = _fit_prefix(engine, world, beginning, f"{prefix.strip()}\n")
            engine.files.write(world.id, PREFIX, text)
    if beginning.lore:
        engine.store.worlds.put_lore(world.id, beginning.lore)
        engine.learn(world.id)
    told = [
        engine.store.worlds.add(world.id, None, NewNode("", (text,), text, "given"))
        for text in map(str.strip, beginning.greetings)
        if text
    ]
    return told[0] if told else None


def _fit_prefix(engine: WorldEngine, world: World, beginning: Beginning, text: str) -> str:
    """Returns the text of stable_prefix.md, of a card with a budget that holds all of it, unless it is larger than the
    model's window allows and the user has chosen to have it cut."""
    card = beginning.book.card if beginning.book is not None else None
    if card is None:
        return text
    body = parse_world_file(PREFIX, text.encode("utf-8", "replace")).body
    tokens = estimate_tokens(expand_macros(body, Names(world.player, card.short_name), ""))
    room = PrefixRoom(tokens, Budgets.of(engine.settings).prefix, engine.models().context_size // SHARE)
    keeps = room.is_raised if beginning.whole is None else beginning.whole and tokens > room.budget
    return with_budget(text, tokens + SPARE) if keeps else text


SPARE = 20
"""Tokens by which a raised budget is larger than the text, for names that are longer than the macros."""


def _read_prefix_file(engine: WorldEngine, world: World) -> str:
    """Returns stable_prefix.md as it is, front matter included; empty when there is none. Raises ``BadWorldFile``, so
    that one that cannot be read is not written over."""
    return engine.files.text(world.id, PREFIX) if PREFIX in engine.files.names(world.id) else ""


__all__ = [
    "Beginning",
    "PrefixRoom",
    "add_book_to_world",
    "book_of",
    "create_story_world",
    "from_book",
    "remove_story_world",
    "room_for",
]
