"""The rows of worlds in memory: what ``world.prompt.source.SourceRows`` asks of ``store.worlds``, by the same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from store.world.record import Episode, LoreEntry, StoryNode


class MemoryRows:
    """``parents``: of every turn, by id. ``asked``: how often each method was called."""

    def __init__(self) -> None:
        self.entries: dict[int, LoreEntry] = {}
        self.stored: dict[tuple[str, int], tuple[int, bytes]] = {}
        self.told: dict[int, Episode] = {}
        self.parents: dict[int, int] = {}
        self.number = 1
        self.asked: Counter[str] = Counter()

    def put_lore(self, *entries: LoreEntry) -> None:
        self.entries.update({entry.id: entry for entry in entries})
        self.number += 1

    def lore(self, world_id: str) -> list[LoreEntry]:
        self.asked["lore"] += 1
        return list(self.entries.values())

    def revision(self, world_id: str) -> int:
        return self.number

    def vectors(self, world_id: str, kind: str, made_by: str, after: int = 0) -> list[tuple[int, int, bytes]]:
        self.asked[f"vectors {kind}"] += 1
        found = sorted((ref, *row) for (of, ref), row in self.stored.items() if of == f"{kind} {made_by}")
        return [row for row in found if row[0] > after]

    def put_vectors(self, world_id: str, kind: str, made_by: str, rows: Sequence[tuple[int, int, bytes]]) -> None:
        newest = max((ref for of, ref in self.stored if of == f"{kind} {made_by}"), default=0)
        self.stored |= {(f"{kind} {made_by}", ref): (turn, vector) for ref, turn, vector in rows}
        self.number += kind == "lore" and min(row[0] for row in rows) <= newest

    def episodes(self, world_id: str, node_ids: Sequence[int]) -> dict[int, Episode]:
        self.asked["episodes"] += 1
        return {id: self.told[id] for id in node_ids if id in self.told}

    def together(self) -> AbstractContextManager[MemoryRows]:
        return nullcontext(self)

    def on_path(self, node: StoryNode, node_ids: Sequence[int]) -> set[int]:
        self.asked["on_path"] += 1
        path, id = {node.id}, node.id
        while id := self.parents.get(id, 0):
            path.add(id)
        return path & set(node_ids)

    def node_at(self, node: StoryNode, turn: int) -> int | None:
        self.asked["node_at"] += 1
        return next((id for id in self.on_path(node, list(self.told)) if self.told[id].turn == turn), None)
