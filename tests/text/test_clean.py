from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from text.clean import clean_text


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert clean_text("a\ud800b") == "a\ufffdb"


def test_nul_is_removed() -> None:
    assert clean_text("a\x00b") == "ab"


def test_emoji_korean_and_line_breaks_stay() -> None:
    assert clean_text("안녕 👋🏽\n\tb\u200d") == "안녕 👋🏽\n\tb\u200d"


@given(st.text(st.characters(codec=None)))
def test_any_text_becomes_utf8_and_json(text: str) -> None:
    made = clean_text(text)
    assert json.loads(json.dumps(made)) == made
    assert "\x00" not in made.encode().decode()
