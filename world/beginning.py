"""Where a story begins: a world's texts, its lorebook, what is so before the first turn, and the first words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model.file_lock import written
from store.world.record import Changes, Character, LoreEntry, NewNode, Node, World
from text.language import Language
from world.book.model import Book, Card
from world.engine import Engine
from world.file import PREFIX
from world.state import FULL_HP


@dataclass(frozen=True, slots=True)
class Beginning:
    """A world that does not exist yet. ``greetings``: the messages with which its story may begin, the usual one first;
    ``prefix``: the text of stable_prefix.md."""

    name: str
    language: Language
    player: str = ""
    greetings: tuple[str, ...] = ()
    prefix: str = ""
    changes: Changes = field(default_factory=Changes)
    lore: tuple[LoreEntry, ...] = ()


def found(engine: Engine, beginning: Beginning) -> tuple[World, Node | None]:
    """Creates a world; returns it with the turn of its greeting, None without one. Nothing stays of one that fails.

    Raises ``Empty``, ``TooLong``, ``BadWorldFile``, ``DiskFull``, ``StoreUnavailable``.
    """
    worlds = engine.store.worlds
    world = worlds.create(beginning.name, beginning.language, beginning.player)
    try:
        worlds.set_begin_state(world.id, beginning.changes)
        return world, _told(engine, world, beginning.prefix, beginning.lore, beginning.greetings)
    except Exception:
        remove(engine, world)
        raise


def from_book(book: Book, language: Language, player: str) -> Beginning:
    """Returns the world that a file of another program makes. ``player``: the name of the user's character."""
    if book.card is None:
        return Beginning(book.name, language, player, lore=book.entries)
    people = (Character(player, hp=FULL_HP), Character(book.card.name))
    greetings = tuple(book.card.greetings(player))
    prefix = book.card.prefix(player, language)
    return Beginning(book.card.name, language, player, greetings, prefix, Changes(people), book.entries)


def take_in(engine: Engine, world: World, book: Book) -> Node | None:
    """Adds what a file of another program holds to a world: its entries, and of a card its text behind the prefix, its
    character, and its greetings as further beginnings. Returns the turn of the first greeting, or None.

    Raises ``WorldUnknown``, ``BadWorldFile``, ``DiskFull``, ``StoreUnavailable``.
    """
    beginning = from_book(book, world.language, world.player)
    before = engine.store.worlds.begin_state(world.id)
    known = {one.name for one in before.characters}
    newcomers = tuple(one for one in beginning.changes.characters if one.name not in known)
    if newcomers:
        engine.store.worlds.set_begin_state(world.id, replace(before, characters=(*before.characters, *newcomers)))
    prefix = "\n\n".join(filter(None, (_prefix(engine, world).strip(), beginning.prefix))) if beginning.prefix else ""
    return _told(engine, world, prefix, beginning.lore, beginning.greetings)


def book_of(engine: Engine, world: World) -> Book:
    """Returns a world as a file for other programs: its lorebook, and a card with its prefix and its greetings. Raises
    ``WorldUnknown``, ``BadWorldFile``."""
    prefix = engine.files.read(world.id, PREFIX).body if PREFIX in engine.files.names(world.id) else ""
    begun = engine.store.worlds.children(world.id, 0)
    greetings = [node.answer for node in begun if not node.question.strip()]
    fields: dict[str, Any] = {"description": prefix}
    if greetings:
        fields |= {"first_mes": greetings[0], "alternate_greetings": greetings[1:]}
    return Book(world.name, tuple(engine.store.worlds.lore(world.id)), Card(world.name, fields))


def remove(engine: Engine, world: World) -> None:
    """Removes a world with its stories and files. Raises ``WorldUnknown``, ``StoreUnavailable``."""
    engine.store.worlds.delete(world.id)
    with written(engine.settings.data_dir / "world"):
        engine.files.remove_all(world.id)


def _told(
    engine: Engine, world: World, prefix: str, lore: Sequence[LoreEntry], greetings: Sequence[str]
) -> Node | None:
    if prefix:
        with written(engine.settings.data_dir / "world"):
            engine.files.write(world.id, PREFIX, f"{prefix.strip()}\n")
    if lore:
        engine.store.worlds.put_lore(world.id, lore)
        engine.learn(world.id)
    told = [
        engine.store.worlds.add(world.id, None, NewNode("", (text,), text, "given"))
        for text in map(str.strip, greetings)
        if text
    ]
    return told[0] if told else None


def _prefix(engine: Engine, world: World) -> str:
    """Returns stable_prefix.md as it is, front matter included; empty when there is none. Raises ``BadWorldFile``, so
    that one that cannot be read is not written over."""
    return engine.files.text(world.id, PREFIX) if PREFIX in engine.files.names(world.id) else ""


__all__ = ["Beginning", "book_of", "found", "from_book", "remove", "take_in"]
