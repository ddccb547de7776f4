"""Vectors of lorebook entries, computed behind an answer or after an import, never while somebody waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from zlib import crc32

import numpy as np

from model.embedding import Embedder
from store.world.record import LoreEntry
from world.lore.lorebook import line

MOST = 64
"""How many entries one call embeds, so that other work comes in between: about two seconds with the built-in model."""


class LoreRows(Protocol):
    """What of ``store.worlds`` the vectors of a lorebook need."""

    def lore(self, world_id: str) -> list[LoreEntry]: ...
    def vectors(self, world_id: str, kind: str, made_by: str, after: int = 0) -> list[tuple[int, int, bytes]]: ...
    def put_vectors(self, world_id: str, kind: str, made_by: str, rows: Sequence[tuple[int, int, bytes]]) -> None: ...


def embed(rows: LoreRows, world: str, embedder: Embedder, most: int = MOST) -> int:
    """Embeds the entries that have no vector or whose text has changed since, at most ``most`` of them; returns how
    many are left. Raises ``EmbeddingFailed``.

    A row has a check sum of the text where an episode has the number of its turn.
    """
    known = {ref: check for ref, check, _ in rows.vectors(world, "lore", embedder.name)}
    due = [
        (entry.id, check, text)
        for entry in rows.lore(world)
        if entry.enabled and known.get(entry.id) != (check := crc32((text := _text(entry)).encode()) >> 1)
    ]
    for at in range(0, min(most, len(due)), embedder.batch):
        batch = due[at : min(at + embedder.batch, most)]
        vectors = embedder.passages([text for _, _, text in batch]).astype(np.float16)
        made = [(id, check, vector.tobytes()) for (id, check, _), vector in zip(batch, vectors, strict=True)]
        rows.put_vectors(world, "lore", embedder.name, made)
    return max(0, len(due) - most)


def _text(entry: LoreEntry) -> str:
    """Returns what stands for the entry: its line, with its other names."""
    keys = f" ({', '.join(entry.keys)})" if entry.keys else ""
    return line(f"{entry.keyword}{keys}", entry.content)
