"""Numbers in words, as people count things."""

from __future__ import annotations

from tests.table import table
from text.fact.number import parse_number_word


@table(
    ("word", "number"),
    [
        *(("한", 1), ("하나", 1), ("석", 3), ("넉", 4), ("열두", 12), ("스무", 20), ("서른둘", 32), ("아흔아홉", 99)),
        *(("이", 2), ("십", 10), ("십칠", 17), ("이십", 20), ("구십구", 99), ("백", 100)),
        *(("one", 1), ("Twelve", 12), ("nineteen", 19), ("twenty-five", 25), ("ninety nine", 99), ("a hundred", 100)),
    ],
)
def test_a_number_in_words_is_read(word: str, number: int) -> None:
    assert parse_number_word(word) == number


@table("word", ["", "물약", "일십", "다스", "스무하나하나", "twenty-ten", "hundreds", "onetwo"])
def test_what_is_no_number_is_none(word: str) -> None:
    assert parse_number_word(word) is None
