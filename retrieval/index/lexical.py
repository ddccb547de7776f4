"""BM25 over the passages, from segments that never change.

New texts make a small segment, and segments of similar size are merged, as in Lucene. So a change costs in proportion
to its size, and the number of times that a posting is written again grows with the logarithm of all postings. The
rarity of a word and the mean length of a passage are computed for the passages of a revision, when it is opened and
searched, so the scores equal those of a single segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.index.index_file import prune_index_files
from retrieval.index.segment import Marks, Rows, Segment, hash_term
from retrieval.index.word import Cut, build_cut_edition, cut_text_words, find_installed_cut

K1, B = 1.2, 0.5
"""Constants of BM25. Passages have about the same length, so length counts little (bench retrieval)."""
SHARE = 4
"""A segment is merged with smaller ones that together exceed one part in ``SHARE`` of its size."""


@dataclass(frozen=True, eq=False)
class _LexicalPart:
    """A segment in use: the position where its scores begin among those of all segments, the rows that count, and for
    every row the number of passages with that text."""

    segment: Segment
    start: int
    rows: Rows
    passages: Rows


class Lexical:
    """BM25 scores of passages by their texts; never changed. ``missing``: positions of texts that no segment has."""

    def __init__(self, passages: Marks, segments: Iterable[Segment], cut: Cut) -> None:
        self._cut = cut
        self._count = len(passages)
        texts, first, text, repeats = np.unique(passages, return_index=True, return_inverse=True, return_counts=True)
        self._parts, self._size = list[_LexicalPart](), 0
        places = np.full(len(texts), -1)
        for segment in sorted(segments if len(texts) else (), key=len, reverse=True):
            positions = np.searchsorted(texts[:-1], segment.texts)  # without the last text, every position is valid
            matched = (texts[positions] == segment.texts) & (places[positions] < 0)
            if matched.any():
                rows = np.flatnonzero(matched)
                places[positions[matched]] = self._size + rows
                passage_counts = np.where(matched, repeats[positions], 0).astype(np.int32)
                self._parts.append(_LexicalPart(segment, self._size, rows.astype(np.int32), passage_counts))
                self._size += len(segment)
        self.missing = first[places < 0]
        self._place = places[text]
        average = sum(part.passages @ part.segment.lengths for part in self._parts) / max(self._count, 1) or 1.0
        self._norms = [(K1 * (1 - B + B * part.segment.lengths / average)).astype(np.float32) for part in self._parts]

    @property
    def segments(self) -> list[Segment]:
        """Returns the segments that are in use."""
        return [part.segment for part in self._parts]

    def scores(self, query: str) -> tuple[NDArray[np.float32], float]:
        """Returns the score of every passage, in the order of the passages (0 without a common word), and the highest
        possible score.

        A word adds its rarity (idf) at most, also a word that no passage has. So score over bound is the share of the
        question that a passage covers, and does not grow when all words are common.
        """
        terms = np.asarray([hash_term(word) for word in cut_text_words(query, self._cut)], np.uint64)
        if not self._count or not len(terms):
            return np.zeros(self._count, np.float32), 1.0
        places = [part.segment.postings(terms) for part in self._parts]
        frequency = np.zeros(len(terms))
        for part, slices in zip(self._parts, places, strict=True):
            frequency += [part.passages.take(part.segment.rows[piece]).sum() for piece in slices]
        rarity = np.log1p((self._count - frequency + 0.5) / (frequency + 0.5))
        text_scores = np.zeros(self._size + 1, np.float32)  # the last score is for passages that no segment has
        for part, norm, slices in zip(self._parts, self._norms, places, strict=True):
            part_scores = text_scores[part.start :]
            for piece, weight in zip(slices, rarity.astype(np.float32), strict=True):
                rows, counts = part.segment.rows[piece], part.segment.counts[piece].astype(np.float32)
                part_scores[rows] += weight * counts / (counts + norm.take(rows))
        return text_scores.take(self._place), float(rarity.sum())

    def merge_segments(self) -> list[Segment]:
        """Returns few segments of the same texts: each is at least ``SHARE`` times as large as the next, and at least
        half of it is in use."""
        groups = list[list[_LexicalPart]]()
        for part in sorted(self._parts, key=lambda part: len(part.rows), reverse=True):
            groups.append([part])
            while len(groups) > 1 and _count_group_rows(groups[-2]) < SHARE * _count_group_rows(groups[-1]):
                last = groups.pop()
                groups[-1] += last
        return [_merge_group(group) for group in groups]


def _count_group_rows(group: Sequence[_LexicalPart]) -> int:
    return sum(len(part.rows) for part in group)


def _merge_group(group: Sequence[_LexicalPart]) -> Segment:
    first = group[0]
    if len(group) == 1 and 2 * len(first.rows) >= len(first.segment):
        return first.segment
    return Segment.merge([(part.segment, part.rows) for part in group])


class Segments:
    """Files ``lexical-….npz`` in a folder, one for each segment. A segment is valid for any passages with its texts,
    even when its writer did not finish. One writer at a time calls ``hold`` and ``prune_index_files``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, Segment] = {}

    def open(self, passages: Marks) -> Lexical:
        """Returns BM25 over passages by their texts. Raises ``LibraryCorrupt``, or ``FileNotFoundError`` when no file
        of this machine has a passage's text under the current rules for cutting words."""
        lexical = Lexical(passages, self._read(), find_installed_cut())
        if len(lexical.missing):
            raise FileNotFoundError(self._folder)
        return lexical

    def hold(
        self, passages: Marks, texts: Callable[[NDArray[np.int64]], Mapping[str, str]], *, whole: bool = False
    ) -> Lexical:
        """Returns BM25 as ``open`` does, and writes files for texts that have none. ``texts``: returns texts by hash,
        for positions. ``whole``: writes files for all passages."""
        cut = find_installed_cut()
        lexical = Lexical(passages, () if whole else self._read(), cut)
        if len(lexical.missing):
            lexical = Lexical(passages, [*lexical.segments, Segment.make(texts(lexical.missing), cut)], cut)
        files = {
            f"lexical-{build_cut_edition(cut)}-{segment.name}.npz": segment for segment in lexical.merge_segments()
        }
        for name, segment in files.items():
            if whole or name not in self._open:
                segment.save(self._folder / name)
        self._open = files
        return Lexical(passages, files.values(), cut)

    def prune(self) -> None:
        """Removes the files that the passages of the last ``hold`` do not need."""
        prune_index_files(self._folder, "lexical", self._open)

    def _read(self) -> Iterable[Segment]:
        names = sorted(
            path.name for path in self._folder.glob(f"lexical-{build_cut_edition(find_installed_cut())}-*.npz")
        )
        self._open = {name: self._open.get(name) or Segment.load(self._folder / name) for name in names}
        return self._open.values()
