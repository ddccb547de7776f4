"""Gathers what the prompt of a world is made from: rows of the database, vectors in memory, files on the disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from model.embedding import Vectors
from store.world.record import Episode, LoreEntry, StoryNode, World
from text.clean import collapse_spaces
from text.language import Language
from world.book.format import with_rule
from world.book.model import Card
from world.file.file import WorldFiles
from world.lore.lorebook import Lorebook
from world.lore.macro import STAND_IN, Names
from world.prompt.budget import Budgets, cut_to_budget
from world.prompt.context import Given
from world.prompt.episode import Episodes, find_prompt_episodes
from world.prompt.vector import VectorIndexes
from world.story.state import StoryState

LOREBOOKS = 64
"""How many worlds' lorebooks stay ready."""
ASKED = 32
"""How many tokens of a message are compared by vector: about 40 Korean or 100 English characters. The built-in model
takes about a millisecond for each, and the user waits for it; names are looked for in the whole message."""


def cut_query_text(question: str) -> str:
    """Returns the end of a message, where it says what happens next, as far as it is compared by vector."""
    return cut_to_budget(collapse_spaces(question), ASKED, "end").text


class SourceRows(Protocol):
    """What of ``store.worlds`` a prompt needs."""

    def lore(self, world_id: str) -> list[LoreEntry]: ...
    def revision(self, world_id: str) -> int: ...
    def vectors(self, world_id: str, kind: str, made_by: str, after: int = 0) -> list[tuple[int, int, bytes]]: ...
    def episodes(self, world_id: str, node_ids: Sequence[int]) -> dict[int, Episode]: ...
    def on_path(self, node: StoryNode, node_ids: Sequence[int]) -> set[int]: ...
    def node_at(self, node: StoryNode, turn: int) -> int | None: ...
    def together(self) -> AbstractContextManager[SourceRows]: ...


class Source:
    """Gathers for all worlds of an installation; keeps lorebooks and vectors of those in use. Many threads may use it.

    ``made_by``: the name of the embedder whose vectors are compared. ``instruction``: how an answer's state block is to
    look, by language.
    """

    def __init__(
        self, files: WorldFiles, budgets: Budgets, made_by: str, instruction: Callable[[Language], str]
    ) -> None:
        self.files = files
        self._budgets = budgets
        self._made_by = made_by
        self._instruction = instruction
        self._vectors = VectorIndexes()
        self._books: OrderedDict[str, tuple[int, Lorebook]] = OrderedDict()
        self._lock = threading.Lock()

    def gather_prompt_input(
        self,
        rows: SourceRows,
        world: World,
        node: StoryNode | None,
        state: StoryState,
        question: str,
        query: Vectors | None,
        before: int | None = None,
    ) -> Given:
        """Returns what the prompt of the turn after ``node`` is made from, as far as rows and files tell it.

        ``query``: the question's vector; without it, entries and episodes are not compared with the question.
        ``before``: the first turn whose words stand in the prompt themselves.
        """
        with rows.together() as read:
            revision = read.revision(world.id)
            book = self.lorebook(read, world, revision)
            cosines = self._cosines(read, world.id, revision, book.enabled, query)
            episodes = self._episodes(read, world.id, node, state, query, before)
        return Given(
            world,
            state,
            node.turn + 1 if node else 1,
            question,
            book,
            cosines,
            episodes,
            self.files.all(world.id, node.session if node is not None else ""),
            instruction=self._instruction(world.language),
            node=node.id if node else 0,
            budgets=self._budgets,
            names=self._names(world),
        )

    def lorebook(self, rows: SourceRows, world: World, revision: int) -> Lorebook:
        """Returns the lorebook of a world, built once for each revision."""
        with self._lock:
            known = self._books.get(world.id)
            if known is not None and known[0] == revision:
                self._books.move_to_end(world.id)
                return known[1]
        book = Lorebook.of(map(with_rule, rows.lore(world.id)), self._names(world))
        with self._lock:
            self._books[world.id] = (revision, book)
            self._books.move_to_end(world.id)
            if len(self._books) > LOREBOOKS:
                self._books.popitem(last=False)
        return book

    def card(self, world: World) -> Card | None:
        """Returns the card that a world came from, without its picture; None for a world without one."""
        stored = self.files.cards.read(world.id)
        return stored.card if stored is not None else None

    def _names(self, world: World) -> Names:
        card = self.card(world)
        return Names(world.player, card.short_name if card is not None else "", STAND_IN[world.language])

    def forget(self, world: str) -> None:
        """Drops what is kept of a world that was deleted."""
        self._vectors.forget(world)
        with self._lock:
            self._books.pop(world, None)

    def _cosines(
        self, rows: SourceRows, world: str, revision: int, ids: frozenset[int], query: Vectors | None
    ) -> Mapping[int, float]:
        if query is None:
            return {}
        read = _make_vector_reader(rows, world, "lore", self._made_by)
        return dict(self._vectors.complete(world, "lore", self._made_by, read, revision, ids).search(query))

    def _episodes(
        self,
        rows: SourceRows,
        world: str,
        node: StoryNode | None,
        state: StoryState,
        query: Vectors | None,
        before: int | None,
    ) -> Episodes:
        if node is None:
            return Episodes()
        near = None
        if query is not None:
            below = rows.node_at(node, before) if before is not None and before > 1 else None
            read = _make_vector_reader(rows, world, "episode", self._made_by)
            index = self._vectors.growing(world, "episode", self._made_by, read)

            def near(count: int) -> Sequence[tuple[int, float]]:
                return index.search(query, count, below)

        return find_prompt_episodes(
            state, near, lambda ids: rows.on_path(node, ids), lambda ids: rows.episodes(world, ids), before
        )


def _make_vector_reader(
    rows: SourceRows, world: str, kind: str, made_by: str
) -> Callable[[int], Sequence[tuple[int, int, bytes]]]:
    return lambda after: rows.vectors(world, kind, made_by, after)
