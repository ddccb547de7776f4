"""The story that comes with Gieok, in both languages, so that a newcomer plays within a minute.

Shows the function below to the page.
May import ``world``, ``store`` and ``text``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from store.world.record import Changes, Character, Location, LoreEntry, PlayerItem, Relation, StoryNode, World
from text.language import Language
from world.beginning import Beginning, create_story_world
from world.engine import WorldEngine

_FOLDER = Path(__file__).parent


def create_sample_world(engine: WorldEngine, language: Language) -> tuple[World, StoryNode]:
    """Creates the world of the bundled story; returns it with the turn of its greeting. Raises what
    ``world.beginning.create_story_world`` raises."""
    world, node = create_story_world(engine, load_sample_story(language))
    assert node is not None, "the bundled story has a greeting"
    return world, node


def load_sample_story(language: Language) -> Beginning:
    """Returns the bundled story, as its file tells it."""
    told: dict[str, Any] = yaml.safe_load((_FOLDER / f"{language}.yaml").read_text("utf-8"))
    changes = Changes(
        tuple(Character(**one) for one in told["characters"]),
        tuple(Relation(**one) for one in told["relations"]),
        tuple(Location(**{**one, "adjacent": tuple(one.get("adjacent", ()))}) for one in told["locations"]),
        tuple(PlayerItem(**one) for one in told["items"]),
    )
    lore = tuple(LoreEntry(0, **{**one, "keys": tuple(one.get("keys", ()))}) for one in told["lore"])
    return Beginning(told["name"], language, told["player"], (told["greeting"],), told["prefix"], changes, lore)


__all__ = ["create_sample_world", "load_sample_story"]
