"""Which entries a text names."""

from __future__ import annotations

import random
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tests.table import table
from world.lore.mention import Matcher

WORDS = {
    "어둠의 숲": [1],
    "숲": [2],
    "크룩": [3],
    "Aria": [4],
    "dark forest": [5],
    "C-3PO": [6],
    "에르겐": [7, 8],
    " ": [9],
}


@table(
    ("text", "ids"),
    [
        ("어둠의 숲으로 간다", {1, 2}),
        ("어둠의   숲", {1, 2}),
        ("크룩이 웃는다", {3}),
        ("「크룩」", {3}),
        (unicodedata.normalize("NFD", "크룩에게 말한다"), {3}),
        ("ARIA, come here", {4}),
        ("Aria는 멈춘다", {4}),
        ("Aria's sword", {4}),
        ("Ariadne and malaria", set()),
        ("Aria2", set()),
        ("the Dark\nForest burns", {5}),
        ("dark forestry", set()),
        ("c-3po!", {6}),
        ("에르겐", {7, 8}),
        ("", set()),
        ("   ", set()),
    ],
)
def test_a_word_names_its_entries(text: str, ids: set[int]) -> None:
    assert Matcher(WORDS).find(text) == ids


@given(st.lists(st.text("가나다 ", min_size=1, max_size=4), max_size=8), st.text("가나다라 ", max_size=60))
def test_a_korean_word_is_found_wherever_it_stands(words: list[str], text: str) -> None:
    flat = " ".join(text.split())
    wanted = {at for at, word in enumerate(words) if word.split() and " ".join(word.split()) in flat}
    together: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        together.setdefault(word, []).append(at)
    assert Matcher(together).find(text) == wanted


@given(st.lists(st.text("ab1 ", min_size=1, max_size=3), max_size=8), st.text("ab1 .", max_size=40))
def test_an_english_word_is_found_only_by_itself(words: list[str], text: str) -> None:
    flat = " ".join(text.split())
    wanted = {
        at
        for at, word in enumerate(words)
        if word.split() and re.search(rf"(?<!\w){re.escape(' '.join(word.split()))}(?!\w)", flat)
    }
    together: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        together.setdefault(word, []).append(at)
    assert Matcher(together).find(text) == wanted


def test_only_words_that_begin_as_the_text_does_are_tried() -> None:
    """The number of words does not count: it is what keeps a large lorebook below a millisecond."""
    chance = random.Random(7)
    letters = [chr(code) for code in range(ord("가"), ord("힣"), 7)]
    korean = {"".join(chance.choices(letters, k=3)): [id] for id in range(3000)}
    english = {"".join(chance.choices("abcdefghijklmnop", k=7)): [id] for id in range(3000, 6000)}
    matcher = Matcher(korean | english)
    text = " ".join([*list(korean)[:400], *list(english)[:400]])
    assert sum(len(words) for _, words in matcher._find_tried_words(text)) < 2 * 800
    alike = Matcher({f"{first} {word}": ids for word, ids in korean.items() for first in ("늙은", "old")})
    assert {len(words) for _, words in alike._find_tried_words("늙은 old")} == {1}
    assert matcher.find(text) >= {*range(400), *range(3000, 3400)}
