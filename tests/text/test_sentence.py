from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.looks import count_looks
from tests.steps import count_lines
from tests.table import table
from text.sentence import remove_sentences, split_sentences


@table(
    "text",
    [
        "The value is 3.14 exactly.",
        "Dr. Kim and Mr. Lee met J. Park.",
        "See https://example.com/a.b?c=d. now",
        "Version 2.1.0 costs $1.50 per seat, e.g. for teams.",
        "2026. 3. 5. 결제했습니다.",
        "1. Open the page.",
        "결과는 3.5점입니다.",
    ],
)
def test_decimals_dates_abbreviations_and_addresses_stay_whole(text: str) -> None:
    assert split_sentences(text)[0] == text if "https" not in text else split_sentences(text)[0].endswith("c=d.")


@table(
    ("text", "sentences"),
    [
        ("안녕하세요. 반갑습니다! 누구세요?", ["안녕하세요.", "반갑습니다!", "누구세요?"]),
        ("갔어요.그리고 왔어요.", ["갔어요.", "그리고 왔어요."]),
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("We met at 3 p.m. Then we ate.", ["We met at 3 p.m.", "Then we ate."]),
        ("첫 줄\n둘째 줄", ["첫 줄", "둘째 줄"]),
        ("정말? ㅋㅋㅋ 좋아", ["정말?", "ㅋㅋㅋ", "좋아"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_sentences_end_at_marks_and_line_breaks(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text(alphabet="가나다 요.!?,abc 12\n\"'”…。", max_size=80))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    assert re.sub(r"\s", "", "".join(split_sentences(text))) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("marks", ["!", ".", "ㅋ", "…", ".)"])
def test_a_long_run_of_marks_takes_no_square_of_its_length(marks: str) -> None:
    few, many = (partial(split_sentences, marks * count + "x") for count in (100, 1000))
    assert count_looks(many, "text") < 20 * count_looks(few, "text")
    assert count_lines(many) < 20 * count_lines(few)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("User said: Go on.", ""),
        ("go on", ""),
        ("My dog is Bori. Go on.", "My dog is Bori."),
        ("Go on. My dog is Bori.", "My dog is Bori."),
        ("My dog is Bori · Go on · It barks", "My dog is Bori · It barks"),
        ("I go on holidays", "I go on holidays"),
        ("Go on holidays with me.", "Go on holidays with me."),
    ],
)
def test_only_whole_sentences_are_removed(text: str, rest: str) -> None:
    assert remove_sentences(text, ["Go on."]) == rest
