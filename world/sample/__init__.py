"""The story that comes with Gieok, in both languages, so that a newcomer plays within a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from store.world.record import Changes, Character, Item, Location, LoreEntry, Node, Relation, World
from text.language import Language
from world.beginning import Beginning, found
from world.engine import Engine

_FOLDER = Path(__file__).parent


def begin(engine: Engine, language: Language) -> tuple[World, Node]:
    """Creates the world of the bundled story; returns it with the turn of its greeting. Raises what
    ``world.beginning.found`` raises."""
    world, node = found(engine, sample(language))
    assert node is not None, "the bundled story has a greeting"
    return world, node


def sample(language: Language) -> Beginning:
    """Returns the bundled story, as its file tells it."""
    told: dict[str, Any] = yaml.safe_load((_FOLDER / f"{language}.yaml").read_text("utf-8"))
    changes = Changes(
        tuple(Character(**one) for one in told["characters"]),
        tuple(Relation(**one) for one in told["relations"]),
        tuple(Location(**{**one, "adjacent": tuple(one.get("adjacent", ()))}) for one in told["locations"]),
        tuple(Item(**one) for one in told["items"]),
    )
    lore = tuple(LoreEntry(0, **{**one, "keys": tuple(one.get("keys", ()))}) for one in told["lore"])
    return Beginning(told["name"], language, told["player"], (told["greeting"],), told["prefix"], changes, lore)


__all__ = ["begin", "sample"]
