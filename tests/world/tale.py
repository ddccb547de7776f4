"""A story in a real database, with its extractor, on scripted models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from model import scripted
from model.modelset import ModelSet
from model.profile import SMALL, STRONG
from settings import load_settings
from store import Store
from store.world.record import NewNode, StoryNode, World
from store.world.worlds import Worlds
from tests.world.prompt.test_source import Letters
from text.language import Language
from world.block import build_block_instruction
from world.extraction.extract import Extractor
from world.file.file import WorldFiles
from world.prompt.budget import Budgets
from world.prompt.source import Source
from world.story.state import StoryState
from world.story.story import Stories

SECONDS = 60.0


def block(**fields: Any) -> str:
    """A state block as a model writes it."""
    lines = "\n".join(f"{name}: {_value(value)}" for name, value in fields.items())
    return f"\n\n```state\n{lines}\n```"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_value(one)}' for name, one in value.items())}}}"
    return str(value)


def fields(**told: Any) -> str:
    """The reply of a light call."""
    return json.dumps(told, ensure_ascii=False)


class Tale:
    """``light``: the script of the utility model. ``chat``: that of the chat model, which the curator uses."""

    def __init__(
        self,
        folder: Path,
        light: Any = (),
        chat: Any = (),
        language: Language = "en",
        *,
        open_it: bool = True,
        **kinds: Any,
    ) -> None:
        self.settings = load_settings(data_dir=folder, **kinds.pop("settings", {}))
        self.store = Store(self.settings.database)
        self.models: ModelSet = scripted.build_scripted_models(
            chat, light, **{"profile": SMALL, "side": STRONG, **kinds}
        )
        self.stories = Stories(self.store.everyone.worlds)
        self.files = WorldFiles(folder / "world")
        self.embedder = Letters()
        self.source = Source(self.files, Budgets.of(self.settings), self.embedder.name, build_block_instruction)
        worlds = self.store.worlds.all()
        self.world: World = worlds[0] if worlds else self.store.worlds.create("Ersia", language, "Aria")
        if open_it:
            self.open()

    def open(self, rows: Any = None) -> None:
        """Opens the extractor. ``rows``: in place of the store's."""
        store: Any = self.store.everyone
        if rows is not None:
            store = SimpleNamespace(worlds=rows, engine=store.engine)
        self.extractor = Extractor(
            store, self.stories, self.source, self.files, lambda: self.models, self.embedder, self.settings
        )
        if rows is None and not self.store.everyone.worlds.raw(1):
            self.idle()  # its look for raw turns at the start must not find those that a test adds

    def close(self) -> None:
        self.extractor.close()
        self.store.close()

    @property
    def rows(self) -> Any:
        return self.store.worlds

    def add(self, parent: StoryNode | None, text: str, question: str = "", world: World | None = None) -> StoryNode:
        """Stores a raw answer."""
        number = parent.turn + 1 if parent else 1
        shown = text.split("\n\n```")[0]
        new = NewNode(question or f"What now, {number}?", (shown,), text, "raw")
        rows: Worlds = self.rows
        return rows.add((world or self.world).id, parent, new)

    def say(self, parent: StoryNode | None, text: str, question: str = "", **told: Any) -> StoryNode:
        """Stores an answer and works it off, as the engine does; returns the turn as it is then."""
        node = self.add(parent, text + (block(**told) if told else ""), question)
        if not self.extractor.work(node):
            self.extractor.submit(node)
            self.idle()
        return self.now(node)

    def idle(self) -> None:
        """Waits until everything is done."""
        assert self.extractor.idle(SECONDS)

    def now(self, node: StoryNode) -> StoryNode:
        """The turn as it is stored now."""
        rows: Worlds = self.rows
        return rows.node(node.id)

    def state(self, node: StoryNode) -> StoryState:
        return self.stories.state(self.now(node), self.world)

    @property
    def light_calls(self) -> list[str]:
        """What the utility model was sent, one text for each call."""
        return ["\n".join(str(message.text) for message in call) for call in self.models.utility.calls]  # type: ignore[attr-defined]


@contextmanager
def tale(folder: Path, *args: Any, **kinds: Any) -> Iterator[Tale]:
    """A story that is closed at the end."""
    told = Tale(folder, *args, **kinds)
    try:
        yield told
    finally:
        told.close()
