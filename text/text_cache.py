"""Caches whose keys are texts that somebody wrote, of any length.

A number of entries alone is no bound there: a thousand short sentences are 100 kilobytes, a thousand long messages half
a gigabyte.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, update_wrapper
from typing import Generic, TypeVar

LONG_CHARS = 2000
"""Above so many characters a text is long."""
MOST_LONG = 32
"""Long texts of a cache: what the work on one conversation comes back to. At the longest message that is taken (200,000
characters) they are some ten megabytes."""
_T = TypeVar("_T")


class TextCache(Generic[_T]):
    """A function of a text whose results are remembered: ``most`` of short texts and ``MOST_LONG`` of long ones, those
    that were used last."""

    def __init__(self, work: Callable[..., _T], most: int) -> None:
        update_wrapper(self, work)
        self.__wrapped__ = work
        self._short, self._long = lru_cache(most)(work), lru_cache(MOST_LONG)(work)

    def __call__(self, text: str, *more: Hashable) -> _T:
        return (self._short if len(text) <= LONG_CHARS else self._long)(text, *more)

    def count_entries(self) -> tuple[int, int]:
        """Returns how many short and how many long texts are remembered."""
        return self._short.cache_info().currsize, self._long.cache_info().currsize


def cache_texts(most: int) -> Callable[[Callable[..., _T]], TextCache[_T]]:
    """Makes a ``TextCache`` of a function, as a decorator; ``most``: of short texts."""

    def decorate(work: Callable[..., _T]) -> TextCache[_T]:
        return TextCache(work, most)

    return decorate
