"""Which turns say a word: postings that grow at the end.

Most postings lie in one sorted table; new ones wait unsorted beside it until they are a quarter as many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.past.row import Counts, RowWords, Terms

LEAST_WAITING = 20_000
"""Postings that may wait unsorted: looking through them takes some 10 µs a word."""
SHARE = 4
Rows = NDArray[np.int32]


class Posting(NamedTuple):
    """The turns that say a word, as positions, and how often their question and their answer say it."""

    rows: Rows
    question: Counts
    answer: Counts

    def choose(self, which: slice | NDArray[np.bool_]) -> Posting:
        """Returns some of them."""
        return Posting(self.rows[which], self.question[which], self.answer[which])


class Postings:
    """Postings by word; turns are only added, and who searches leaves out those that are gone."""

    def __init__(self) -> None:
        self._terms = np.zeros(0, np.uint64)
        self._sorted = Posting(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(0, np.float32))
        self._waiting = list[tuple[int, RowWords]]()
        self._waiting_size = 0
        self._tail: tuple[Terms, Posting] | None = None

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return (len(self._terms) + self._waiting_size) * 20

    def add(self, row: int, words: RowWords) -> None:
        """Adds the words of a turn at position ``row``."""
        self._waiting.append((row, words))
        self._waiting_size += len(words.terms)
        self._tail = None

    def find(self, word: int) -> Posting:
        """Returns the postings of a word."""
        self._arrange()
        first, last = (int(np.searchsorted(self._terms, np.uint64(word), side)) for side in ("left", "right"))
        known = self._sorted.choose(slice(first, last))
        if self._tail is None:
            return known
        terms, tail = self._tail
        at = np.flatnonzero(terms == np.uint64(word))
        if not len(at):
            return known
        return Posting(*(np.concatenate([old, new[at]]) for old, new in zip(known, tail, strict=True)))

    def count(self, words: Terms) -> NDArray[np.int64]:
        """Returns for every word how many turns say it."""
        self._arrange()
        first, last = (np.searchsorted(self._terms, words, side) for side in ("left", "right"))
        counts = last - first
        if self._tail is not None:
            counts = counts + (self._tail[0][None, :] == words[:, None]).sum(axis=1)
        return counts

    def _arrange(self) -> None:
        """Makes one table of what waits, and sorts it in when it has grown large."""
        if not self._waiting or (self._tail is not None and self._waiting_size <= LEAST_WAITING):
            return
        if self._tail is None:
            self._tail = _join_postings(self._waiting)
        if self._waiting_size > max(LEAST_WAITING, len(self._terms) // SHARE):
            terms = np.concatenate([self._terms, self._tail[0]])
            order = np.argsort(terms, kind="stable")
            columns = zip(self._sorted, self._tail[1], strict=True)
            self._sorted = Posting(*(np.concatenate([old, new])[order] for old, new in columns))
            self._terms = terms[order]
            self._waiting, self._waiting_size, self._tail = [], 0, None


def _join_postings(added: list[tuple[int, RowWords]]) -> tuple[Terms, Posting]:
    rows = np.repeat([row for row, _ in added], [len(words.terms) for _, words in added]).astype(np.int32)
    question = np.concatenate([words.question for _, words in added])
    answer = np.concatenate([words.answer for _, words in added])
    return np.concatenate([words.terms for _, words in added]), Posting(rows, question, answer)
