"""Where a text names an entry of the lorebook: by exact words, Korean ones also inside a longer word."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from text.fold import fold_name

_GLUED = re.compile(r"(?:[^\W_\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7a3]|_)+")
"""Letters and digits of a script that puts spaces between its words. Korean particles follow a name without a space, so
a Korean word has no such border."""


plain = fold_name
"""The form in which words are compared."""
name = lru_cache(maxsize=8192)(fold_name)
"""``plain`` for the names of people, places and entries, which come back every turn."""


def is_glued(sign: str) -> bool:
    """Returns whether a letter or digit is of a script that puts spaces between its words."""
    return _GLUED.match(sign) is not None


class Matcher:
    """Words with the entries that they name, ready for many texts: a text of 2,000 characters takes less than 1 ms
    whatever the number of words, because a word is looked up only where the text begins as it does."""

    def __init__(self, words: Mapping[str, Iterable[int]]) -> None:
        """``words``: each word as its author wrote it, with the ids that it names."""
        self._runs: dict[str, _Words] = defaultdict(_make_word_index)
        self._pairs: dict[str, _Words] = defaultdict(_make_word_index)
        self._signs: dict[str, _Words] = defaultdict(_make_word_index)
        for word, ids in words.items():
            if key := name(word):
                run = _GLUED.match(key)
                starts = self._runs if run else self._pairs if len(key) > 1 else self._signs
                starts[run[0] if run else key[:2]][len(key)].setdefault(key, set()).update(ids)

    def find(self, text: str) -> set[int]:
        """Returns the ids of the entries that the text names."""
        flat = plain(text)
        found: set[int] = set()
        for at, words in self._find_tried_words(flat):
            for length, known in words.items():
                ids = known.get(flat[at : at + length])
                if ids is not None and not ids <= found and _is_word_end(flat, at + length):
                    found |= ids
        return found

    def _find_tried_words(self, flat: str) -> Iterator[tuple[int, _Words]]:
        """Yields the places of the text with the words that begin as it does there: with the same run of Latin letters,
        or with the same two signs."""
        runs, pairs, signs = self._runs.get, self._pairs.get, self._signs.get
        yield from ((run.start(), words) for run in _GLUED.finditer(flat) if (words := runs(run[0])))
        yield from ((at, words) for at, pair in enumerate(map(str.__add__, flat, flat[1:])) if (words := pairs(pair)))
        if self._signs:
            yield from ((at, words) for at, sign in enumerate(flat) if (words := signs(sign)))


_Words = dict[int, dict[str, set[int]]]
"""Words with their ids, by length: one look-up for each length serves a thousand words."""


def _make_word_index() -> _Words:
    return defaultdict(dict)


def _is_word_end(flat: str, end: int) -> bool:
    """Returns whether a word that ends here is not the beginning of a longer one."""
    return end >= len(flat) or not (is_glued(flat[end]) and is_glued(flat[end - 1]))
