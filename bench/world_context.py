"""Story worlds: milliseconds to build the context of a request, and how they grow over 1,000 further turns.

Real SQLite and FAISS. Every round is a request with a question of its own, after a turn that was just worked off. The
vectors of entries and episodes are those of a few real texts with noise: embedding eleven thousand texts would take
minutes and change nothing about the time of a search.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.world_text import PLAYER, Generated
from model.embedding import Vectors, built_in
from settings import load_current_settings
from store import Store
from store.world.record import NewNode, StoryNode, World
from store.world.turns import needs_snapshot
from world.file.file import WorldFiles
from world.prompt.budget import Budgets
from world.prompt.context import build_world_context
from world.prompt.source import Source, cut_query_text
from world.story.story import Stories, build_state_snapshot

REAL = 48
"""How many texts are embedded; the other vectors lie around theirs."""
NOISE = 0.02
"""The standard deviation of the noise in each of 384 dimensions: neighbours then have cosines of about 0.9, as real
texts of one world have."""
BRANCHES = 5
"""A fifth of the episodes lies on branches that the story left."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--rounds", type=int, default=300, help="requests before and after the further turns")
    parser.add_argument("--lore", type=int, default=1000, help="entries of the lorebook")
    parser.add_argument("--episodes", type=int, default=10_000, help="episodes of the world at the beginning")
    parser.add_argument("--people", type=int, default=200, help="characters")
    parser.add_argument("--turns", type=int, default=1000, help="further turns")


@dataclass
class Times:
    """Milliseconds of each round. ``build_world_context``: all that follows the question's vector; ``cpu``: processor
    time of it; ``embedded``: with the vector."""

    build: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    embedded: list[float] = field(default_factory=list)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Measures the requests. ``growth``: the later ``p95_ms`` divided by the earlier one. ``opening_ms``: the
    first request of a process, which reads the lorebook and all vectors."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        story = Story(Path(folder), Generated(lore=args.lore, people=args.people))
        story.play(args.episodes)
        opening = story.rounds(1, warm=0).build[0]
        first = story.rounds(args.rounds)
        story.go_on(max(0, args.turns - args.rounds))
        later = story.rounds(args.rounds)
    return {
        "p95_ms": _p95(first.build),
        "p95_ms_with_embedding": _p95(first.embedded),
        "growth": _p95(later.build) / _p95(first.build),
        "growth_median": statistics.median(later.build) / statistics.median(first.build),
        "opening_ms": opening,
        "first": _figures(first),
        "later": _figures(later),
        "tokens": story.tokens,
        "lore": args.lore,
        "episodes": args.episodes,
        "people": args.people,
        "rounds": args.rounds,
    }


class Story:
    """A world with its story in a database of its own."""

    def __init__(self, folder: Path, words: Generated) -> None:
        self.words = words
        self.store = Store(f"sqlite:///{folder / 'world.db'}")
        self.rows = self.store.worlds
        self.world: World = self.rows.create("Bench", "ko", PLAYER)
        self.stories = Stories(self.store.everyone.worlds)
        self.embedder = built_in()
        self.node: StoryNode | None = None
        self.tokens: dict[str, int] = {}
        self._asked = 0
        self._chance = np.random.default_rng(7)
        self._real = self.embedder.passages([words.question(number) for number in range(REAL)])
        self._fill(folder)
        self.source = Source(
            WorldFiles(folder / "world"),
            Budgets.of(load_current_settings()),
            self.embedder.name,
            lambda _: "End with a state block.",
        )

    def _fill(self, folder: Path) -> None:
        entries = self.rows.put_lore(self.world.id, self.words.entries())
        self.ids = [entry.id for entry in entries]
        self._put("lore", [(id, 0) for id in self.ids])
        self.rows.set_begin_state(self.world.id, self.words.beginning())
        files = WorldFiles(folder / "world")
        for name in ("stable_prefix.md", "npc.md", "faction.md"):
            files.write(self.world.id, name, "\n".join(self.words.question(number) for number in range(60)))

    def play(self, episodes: int) -> None:
        """Plays a long story, then branches that start from several places of it and are left again."""
        main, path = episodes - episodes // BRANCHES, list[StoryNode]()
        for _ in range(main):
            path.append(self._turn())
        end = self.node
        for branch in range(BRANCHES):
            self.node = path[len(path) * branch // BRANCHES]
            self.go_on(episodes // BRANCHES // BRANCHES)
        self.node = end

    def go_on(self, turns: int) -> None:
        """Plays so many turns."""
        for _ in range(turns):
            self._turn()

    def rounds(self, count: int, warm: int = 3) -> Times:
        """Asks so many questions, a turn after each; the first ``warm`` ones do not count."""
        times = Times()
        for number in range(warm + count):
            self._asked += 1
            question = self.words.question(self._asked)
            begun = time.perf_counter()
            query = self.embedder.query(cut_query_text(question))
            embedded = time.perf_counter()
            cpu = time.process_time()
            self._build(question, query)
            ended = time.perf_counter()
            if number >= warm:
                times.cpu.append((time.process_time() - cpu) * 1000)
                times.build.append((ended - embedded) * 1000)
                times.embedded.append((ended - begun) * 1000)
            self._turn()
        return times

    def _build(self, question: str, query: Vectors) -> None:
        state = self.stories.state(self.node, self.world)
        given = self.source.gather_prompt_input(self.rows, self.world, self.node, state, question, query)
        self.tokens = build_world_context(given).report["tokens"]

    def _turn(self) -> StoryNode:
        turn = self.node.turn + 1 if self.node else 1
        new = NewNode(f"{self.words.question(turn)} {turn}", (f"Answer {turn}.",), f"Answer {turn}.", "raw")
        node = self.rows.add(self.world.id, self.node, new)
        changes = self.words.changes(turn, self.ids)
        before = self.stories.state(self.node, self.world)
        after = before.after(changes, turn)
        snapshot = build_state_snapshot(after, self.rows.begin_state(self.world.id)) if needs_snapshot(node) else None
        self.rows.settle(node.id, changes, origin="block", snapshot=snapshot)
        self._put("episode", [(node.id, turn)])
        self.node = self.rows.node(node.id)
        self.stories.keep(self.node, after, self.rows.revision(self.world.id))
        return self.node

    def _put(self, kind: str, refs: Sequence[tuple[int, int]]) -> None:
        near = self._real[self._chance.integers(len(self._real), size=len(refs))]
        vectors: Any = near + self._chance.normal(0, NOISE, near.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = [(*ref, vector.tobytes()) for ref, vector in zip(refs, vectors.astype(np.float16), strict=True)]
        self.rows.put_vectors(self.world.id, kind, self.embedder.name, rows)


def _figures(times: Times) -> dict[str, float]:
    return {
        "median_ms": statistics.median(times.build),
        "p95_ms": _p95(times.build),
        "cpu_median_ms": statistics.median(times.cpu),
        "cpu_p95_ms": _p95(times.cpu),
        "embedded_median_ms": statistics.median(times.embedded),
        "embedded_p95_ms": _p95(times.embedded),
    }


def _p95(values: Sequence[float]) -> float:
    return float(np.percentile(values, 95))
