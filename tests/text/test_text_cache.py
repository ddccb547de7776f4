"""Caches of texts hold only so many entries, and far fewer of long texts."""

from __future__ import annotations

from typing import Any

import pytest

from memory import line
from memory.fold import extracted
from text.fact import fact, note
from text.text_cache import LONG_CHARS, MOST_LONG, TextCache, cache_texts

CACHES = [
    fact.find_facts,
    fact._fold_fact_text,
    fact._index_loose_values,
    note._list_letter_pairs,
    line.find_letter_pairs,
    extracted._list_fact_kinds,
]
MOST = 5


def make_text(number: int, chars: int) -> str:
    return f"{number} ".ljust(chars, "a")


def test_a_result_is_computed_once_and_the_texts_used_last_stay() -> None:
    computed: list[str] = []

    @cache_texts(MOST)
    def measure(text: str) -> int:
        computed.append(text)
        return len(text)

    for chars, most in ((LONG_CHARS, MOST), (LONG_CHARS + 1, MOST_LONG)):
        texts = [make_text(number, chars) for number in range(most + 1)]
        computed.clear()
        assert [measure(text) for text in (*texts, *texts[1:])] == [chars] * (2 * most + 1)
        assert computed == texts
        measure(texts[0])
        assert computed == [*texts, texts[0]], "the oldest one was forgotten"
    assert measure.count_entries() == (MOST, MOST_LONG)


@pytest.mark.parametrize("cache", CACHES)
def test_a_process_remembers_few_long_texts_however_many_come(cache: TextCache[Any]) -> None:
    for number in range(MOST_LONG + 5):
        cache(make_text(number, LONG_CHARS + 1))
    assert cache.count_entries()[1] == MOST_LONG
