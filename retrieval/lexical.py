"""BM25 over the passages, from segments that are never changed.

New texts make a small segment, segments of like size are merged (as Lucene does): a change costs what it changes, and
a posting is written again as often as the logarithm of all. How rare a word is and how long a passage is on average
is worked out for the passages of a revision, when it is opened and asked: the scores are those of a single segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.file import prune
from retrieval.segment import Marks, Rows, Segment, term
from retrieval.word import Cut, edition, installed, words

K1, B = 1.2, 0.5
"""Passages are of about one length, so length counts little (bench retrieval)."""
SHARE = 4
"""A segment is merged with smaller ones that together are more than this part of it."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A segment, where its scores begin among those of all, its rows that count, and for every row how many passages
    have that text."""

    segment: Segment
    start: int
    rows: Rows
    passages: Rows


class Lexical:
    """BM25 scores of passages by their texts; never changed. ``missing``: positions of texts that no segment has."""

    def __init__(self, passages: Marks, segments: Iterable[Segment], cut: Cut) -> None:
        self._cut = cut
        self._count = len(passages)
        texts, first, text, times = np.unique(passages, return_index=True, return_inverse=True, return_counts=True)
        self._parts, self._size = list[_Part](), 0
        place = np.full(len(texts), -1)
        for segment in sorted(segments if len(texts) else (), key=len, reverse=True):
            at = np.searchsorted(texts[:-1], segment.texts)  # what is above the last but one can only be the last
            mine = (texts[at] == segment.texts) & (place[at] < 0)
            if mine.any():
                rows = np.flatnonzero(mine)
                place[at[mine]] = self._size + rows
                counted = np.where(mine, times[at], 0).astype(np.int32)
                self._parts.append(_Part(segment, self._size, rows.astype(np.int32), counted))
                self._size += len(segment)
        self.missing = first[place < 0]
        self._place = place[text]
        average = sum(part.passages @ part.segment.lengths for part in self._parts) / max(self._count, 1) or 1.0
        self._norms = [(K1 * (1 - B + B * part.segment.lengths / average)).astype(np.float32) for part in self._parts]

    @property
    def segments(self) -> list[Segment]:
        """Those that are in use."""
        return [part.segment for part in self._parts]

    def scores(self, query: str) -> tuple[NDArray[np.float32], float]:
        """The score of every passage, in their order (0 without a common word), and the highest possible.

        A word adds its rarity (idf) at most, one that no passage has as well: so score over bound says how much of
        the question a passage covers, and does not grow when all words are common.
        """
        terms = np.asarray([term(word) for word in words(query, self._cut)], np.uint64)
        if not self._count or not len(terms):
            return np.zeros(self._count, np.float32), 1.0
        places = [part.segment.postings(terms) for part in self._parts]
        often = np.zeros(len(terms))
        for part, slices in zip(self._parts, places, strict=True):
            often += [part.passages.take(part.segment.rows[each]).sum() for each in slices]
        rarity = np.log1p((self._count - often + 0.5) / (often + 0.5))
        made = np.zeros(self._size + 1, np.float32)  # the last one is of passages that no segment has
        for part, norm, slices in zip(self._parts, self._norms, places, strict=True):
            mine = made[part.start :]
            for each, weight in zip(slices, rarity.astype(np.float32), strict=True):
                rows, counts = part.segment.rows[each], part.segment.counts[each].astype(np.float32)
                mine[rows] += weight * counts / (counts + norm.take(rows))
        return made.take(self._place), float(rarity.sum())

    def merged(self) -> list[Segment]:
        """Few segments of the same texts: each at least ``SHARE`` times as large as the next, at least half in use."""
        groups = list[list[_Part]]()
        for part in sorted(self._parts, key=lambda part: len(part.rows), reverse=True):
            groups.append([part])
            while len(groups) > 1 and _size(groups[-2]) < SHARE * _size(groups[-1]):
                last = groups.pop()
                groups[-1] += last
        return [_one(group) for group in groups]


def _size(group: Sequence[_Part]) -> int:
    return sum(len(part.rows) for part in group)


def _one(group: Sequence[_Part]) -> Segment:
    first = group[0]
    if len(group) == 1 and 2 * len(first.rows) >= len(first.segment):
        return first.segment
    return Segment.merge([(part.segment, part.rows) for part in group])


class Segments:
    """Files ``lexical-….npz`` in a folder, one for each segment. What stands there is true for whatever passages have
    these texts, also what a writer left that did not come to its end. One writer at a time calls ``hold``, ``prune``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, Segment] = {}

    def open(self, passages: Marks) -> Lexical:
        """BM25 over passages by their texts. Raises ``LibraryCorrupt``, or ``FileNotFoundError`` when a passage is in
        no file of this machine, or in none by the rules by which words are cut now."""
        lexical = Lexical(passages, self._read(), installed())
        if len(lexical.missing):
            raise FileNotFoundError(self._folder)
        return lexical

    def hold(
        self, passages: Marks, texts: Callable[[NDArray[np.int64]], Mapping[str, str]], *, whole: bool = False
    ) -> Lexical:
        """The same, with files for passages that have none; ``texts`` gives theirs by hash, for positions. ``whole``:
        for all passages."""
        cut = installed()
        lexical = Lexical(passages, () if whole else self._read(), cut)
        if len(lexical.missing):
            lexical = Lexical(passages, [*lexical.segments, Segment.make(texts(lexical.missing), cut)], cut)
        made = {f"lexical-{edition(cut)}-{segment.name}.npz": segment for segment in lexical.merged()}
        for name, segment in made.items():
            if whole or name not in self._open:
                segment.save(self._folder / name)
        self._open = made
        return Lexical(passages, made.values(), cut)

    def prune(self) -> None:
        """Removes what the passages of the last ``hold`` do not need."""
        prune(self._folder, "lexical", self._open)

    def _read(self) -> Iterable[Segment]:
        found = sorted(path.name for path in self._folder.glob(f"lexical-{edition(installed())}-*.npz"))
        self._open = {name: self._open.get(name) or Segment.load(self._folder / name) for name in found}
        return self._open.values()
