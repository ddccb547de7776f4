"""Values of a model's JSON, read as they are meant."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from model.call.lenient import make_number_reader, read_items, read_word, read_words


@pytest.mark.parametrize(
    ("value", "word"),
    [("a", "a"), (7, "7"), (7.5, "7.5"), ("null", None), ("", None), (" None ", None), ({"text": "a", "n": 1}, "a")],
)
def test_a_word_is_read(value: Any, word: str | None) -> None:
    assert read_word(value) == word


@pytest.mark.parametrize("value", [True, {"a": "x", "b": "y"}, ["a"]])
def test_what_is_no_word_stays_for_the_check(value: Any) -> None:
    assert read_word(value) == value


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, ()), ("a", ("a",)), ("none", ()), (["a", None, 3, {}, {"text": "b"}], ("a", "3", "b")), ([], ())],
)
def test_words_are_read(value: Any, words: tuple[str, ...]) -> None:
    assert read_words(value) == words


@pytest.mark.parametrize(
    ("value", "number"),
    [("8", 8.0), ("8/10", 8.0), (" 7.5 / 10 ", 7.5), (8, 8), ("4/5", "4/5"), ("eight", "eight"), (None, None)],
)
def test_a_number_out_of_ten_is_read(value: Any, number: Any) -> None:
    assert make_number_reader(10)(value) == number


def test_what_is_bad_among_items_is_left_out() -> None:
    class One(BaseModel):
        name: str

    read = read_items(One)
    assert read([{"name": "a"}, {"nom": "b"}, "c", None]) == (One(name="a"),)
    assert read({"name": "a"}) == (One(name="a"),)
    assert read(None) == ()
