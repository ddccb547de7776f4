"""What follows when turns are worked off, behind the answer: vectors of episodes and lorebook, live_state.md, story.md.

All of it can be made again from the tables, so nothing is lost when it does not happen.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from errors import BadWorldFile, EmbeddingFailed, WorldUnknown
from model.embedding import Embedder
from store.world.record import StoryNode, World
from store.world.worlds import Worlds
from world.curator.story import Story, load_curated_story
from world.file.file import WorldFiles
from world.file.front import LiveStateFile
from world.lore.embed import embed_lore_entries, embed_until_closed
from world.story.live import live_state
from world.story.state import IMPORTANT, RECENT, StoryState

log = logging.getLogger("gieok.world")

LAST = 16
"""How many of the last turns are looked at for a missing vector."""
WHOLE = 2000
"""As many when a process meets a world for the first time: an earlier process may have been ended in between."""
CARRIED = RECENT + IMPORTANT
"""How many turns a story has before one of its episodes can be missing in its state."""
WORDS = 200
"""How many characters of the question are embedded with an episode: its line has names, the question has the matter."""
KEPT = 256
"""How many stories are kept as text."""


class Behind:
    """Vectors, files and the story's text of all worlds. Many threads may use it. ``closed``: no vector is written any
    more once it is set."""

    def __init__(self, rows: Worlds, files: WorldFiles, embedder: Embedder, closed: threading.Event) -> None:
        self._rows, self._files, self._embedder, self._closed = rows, files, embedder, closed
        self._known: set[str] = set()
        self._stories: OrderedDict[int, Story] = OrderedDict()
        self._lock = threading.Lock()

    def follow(self, world: World, node: StoryNode, state: StoryState) -> bool:
        """Does what follows the turn ``node``, the newest one that was worked off; returns whether something is left,
        so that other worlds come in between."""
        try:
            self._write(world, node, state)
        except (OSError, BadWorldFile) as error:
            log.warning("the files of a world cannot be written: %s", type(error).__name__)
        self._remove_late_files(world, node)
        try:
            self._vectors(world, node)
        except EmbeddingFailed as error:
            log.warning("episodes have no vectors: %s", error.code)
            return False
        return self.learn(world.id)

    def learn(self, world_id: str) -> bool:
        """Computes vectors of the lorebook, a batch of them; returns whether some are left."""
        try:
            return embed_lore_entries(self._rows, world_id, self._embedder, closed=self._closed) > 0
        except EmbeddingFailed as error:
            log.warning("a lorebook has no vectors: %s", error.code)
            return False

    def story(self, node: StoryNode) -> Story:
        """Returns the story up to this turn."""
        with self._lock:
            if node.id in self._stories:
                self._stories.move_to_end(node.id)
                return self._stories[node.id]
        told = load_curated_story(self._rows, node)
        if node.status == "raw":
            return told
        with self._lock:
            self._stories[node.id] = told
            if len(self._stories) > KEPT:
                self._stories.popitem(last=False)
        return told

    def forget(self, node: StoryNode) -> None:
        """Drops the kept story of a turn that the curator has looked at."""
        with self._lock:
            self._stories.pop(node.id, None)

    def _write(self, world: World, node: StoryNode, state: StoryState) -> None:
        """Writes the files of the story, unless they are of a newer turn."""
        with suppress(BadWorldFile):  # what cannot be read is written anew
            live = self._files.live(world.id, node.session)
            if live is not None and live.node > node.id:
                return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        text = live_state(state, world.language)
        self._files.write_live(world.id, node.session, LiveStateFile(now, node.turn, node.id, text))
        self._files.write_story(world.id, node.session, self.story(node).whole)

    def _remove_late_files(self, world: World, node: StoryNode) -> None:
        """Removes what was just written where the story or its world was deleted meanwhile, after whoever deleted it
        had removed its files. Raises ``WorldUnknown`` then."""
        try:
            self._rows.node(node.id)
        except WorldUnknown:
            self._files.remove_all(world.id, node.session)
            try:
                self._rows.world(world.id)
            except WorldUnknown:
                self._files.remove_all(world.id)
            raise

    def _vectors(self, world: World, node: StoryNode) -> None:
        """Embeds the episodes of the last turns that have no vector. Up to ``CARRIED`` turns none is wanted: a state
        carries all of their episodes."""
        if node.turn <= CARRIED:
            return
        depth = LAST if world.id in self._known and node.turn > CARRIED + LAST else WHOLE
        nodes = [one for one in self._rows.path(node, depth) if one.status == "done"]
        if nodes:
            lowest = min(one.id for one in nodes)
            rows = self._rows.vectors(world.id, "episode", self._embedder.name, lowest - 1)
            self._embed(world, nodes, {ref for ref, _, _ in rows})
        self._known.add(world.id)

    def _embed(self, world: World, nodes: Sequence[StoryNode], known: set[int]) -> None:
        told = self._rows.episodes(world.id, [one.id for one in nodes if one.id not in known])
        due = [(one, told[one.id].line) for one in nodes if one.id in told]
        for at in range(0, len(due), self._embedder.batch):
            batch = due[at : at + self._embedder.batch]
            texts = [f"{line}\n{one.question[:WORDS]}".strip() for one, line in batch]
            vectors = embed_until_closed(self._embedder, texts, self._closed)
            rows = [(one.id, one.turn, vector.tobytes()) for (one, _), vector in zip(batch, vectors, strict=True)]
            self._rows.put_vectors(world.id, "episode", self._embedder.name, rows)
