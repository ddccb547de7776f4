"""Vectors of lorebook entries, computed behind an answer or after an import, never while somebody waits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol
from zlib import crc32

import numpy as np

from model.call.stream import Stopped
from model.embedding import Embedder, Vectors
from store.world.record import LoreEntry
from world.lore.lorebook import render_entry_line

MOST = 64
"""How many entries one call embeds, so that other work comes in between: about two seconds with the built-in model."""


class LoreVectorRows(Protocol):
    """What of ``store.worlds`` the vectors of a lorebook need."""

    def lore(self, world_id: str) -> list[LoreEntry]: ...
    def vectors(self, world_id: str, kind: str, made_by: str, after: int = 0) -> list[tuple[int, int, bytes]]: ...
    def put_vectors(self, world_id: str, kind: str, made_by: str, rows: Sequence[tuple[int, int, bytes]]) -> None: ...


def embed_until_closed(embedder: Embedder, texts: Sequence[str], closed: threading.Event) -> Vectors:
    """Returns a row per text. Raises ``EmbeddingFailed``; ``Stopped`` when the engine was closed meanwhile: a batch may
    take longer than its end waits, and the store that the vectors were for may be gone."""
    vectors = embedder.passages(texts)
    if closed.is_set():
        raise Stopped
    return vectors.astype(np.float16)


def embed_lore_entries(
    rows: LoreVectorRows, world: str, embedder: Embedder, most: int = MOST, closed: threading.Event | None = None
) -> int:
    """Embeds the entries that have no vector or whose text has changed since, at most ``most`` of them; returns how
    many are left. ``closed``: nothing is written any more once it is set. Raises ``EmbeddingFailed``, ``Stopped``.

    A row has a check sum of the text where an episode has the number of its turn.
    """
    known = {ref: check for ref, check, _ in rows.vectors(world, "lore", embedder.name)}
    due = [
        (entry.id, check, text)
        for entry in rows.lore(world)
        if entry.enabled
        and known.get(entry.id) != (check := crc32((text := _render_embedded_entry(entry)).encode()) >> 1)
    ]
    for at in range(0, min(most, len(due)), embedder.batch):
        batch = due[at : min(at + embedder.batch, most)]
        vectors = embed_until_closed(embedder, [text for _, _, text in batch], closed or threading.Event())
        made = [(id, check, vector.tobytes()) for (id, check, _), vector in zip(batch, vectors, strict=True)]
        rows.put_vectors(world, "lore", embedder.name, made)
    return max(0, len(due) - most)


def _render_embedded_entry(entry: LoreEntry) -> str:
    """Returns what stands for the entry: its line, with its other names."""
    keys = f" ({', '.join(entry.keys)})" if entry.keys else ""
    return render_entry_line(f"{entry.keyword}{keys}", entry.content)
