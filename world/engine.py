"""The engine of story worlds, which every way in uses: the endpoint, the page, the benches.

A turn: the line of the story is recognised by the texts of the client's history, the context is built without any model
call, one call upstream answers, and the answer is stored as it came and worked off behind the reader's back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from errors import EmbeddingFailed, UpstreamError, WorldUnknown
from model.embedding import Embedder, Vectors
from model.modelset import ModelSet
from settings import Settings
from store import Store
from store.world.record import NewNode, Node, World
from text.language import Language, detect
from world.block import instruction
from world.budget import Budgets
from world.context import Context, build
from world.extract import Extractor
from world.file import WorldFiles
from world.source import Source
from world.state import IMPORTANT, RECENT
from world.story import Stories
from world.told import Line, Told, told

log = logging.getLogger(__name__)

Fit = Literal["new", "goes_on", "again", "given", "continues"]
"""How a request fits to what is known: a new story; the next turn; another answer to a known message; after turns that
the client told; an answer that goes on."""
WAIT_SECONDS = 0.3
"""How long a request waits until the turn before it is worked off."""
NAME_WORDS = 6
NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that is recognised. ``world``: None for a world that does not exist yet. ``parent``: the turn that the
    new one follows, after ``given``: the turns that only the client knows. ``base``: the turn whose state counts: the
    parent, or the turn whose answer goes on. ``number``: of the new turn."""

    world: World | None
    told: Told
    parent: Node | None
    base: Node | None
    given: tuple[tuple[str, str], ...]
    fit: Fit
    number: int
    language: Language

    @property
    def question(self) -> str:
        return self.told.question

    @property
    def continues(self) -> bool:
        return self.fit == "continues"


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a request gets beside the client's messages (``world.context.Context``). ``late``: how many turns before it
    are not in the state yet. ``before``: the receipt of the turn before, or None."""

    prefix: str
    changing: str
    report: dict[str, Any]
    late: int
    before: Mapping[str, Any] | None


class Shared:
    """What all users' engines of a process share."""

    def __init__(self, settings: Settings, store: Store, models: Callable[[], ModelSet], embedder: Embedder) -> None:
        self.settings, self.models, self.embedder = settings, models, embedder
        self.files = WorldFiles(settings.data_dir / "world")
        self.source = Source(self.files, Budgets.of(settings), embedder.name, instruction)


class Engine:
    """The engine as one user: other users' worlds do not exist for it."""

    def __init__(self, shared: Shared, store: Store) -> None:
        self.shared, self.store = shared, store
        self.worlds = store.worlds
