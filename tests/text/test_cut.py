from __future__ import annotations

from component.widget.markdown import shorten_text
from store.search.text_search import cut_head, cut_tail
from store.session.title import first_line
from tests.table import table
from text.cut import cut_graphemes, cut_graphemes_before, cut_text


def test_a_short_text_stays() -> None:
    assert cut_text("abc", 3) == "abc"
    assert cut_text("", 0) == ""


def test_what_is_missing_is_counted_from_the_whole_however_often_it_is_cut() -> None:
    once = cut_text("x" * 2_000_000, 1_000_000)
    assert once.endswith("\n… (1,000,000 more characters were left out)")
    twice = cut_text(once, 20_000)
    assert twice == "x" * 20_000 + "\n… (1,980,000 more characters were left out)"
    assert cut_text(twice, 20_000) == twice
    assert cut_text(twice, 5).endswith("(1,999,995 more characters were left out)")


FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAG, ACCENT, HAND, JAMO = "🇰🇷", "e\u0301", "👍🏽", "\u1112\u1161\u11ab"
WHOLE = [FAMILY, FLAG, ACCENT, HAND, JAMO]


@table("one", WHOLE)
def test_no_character_that_a_reader_sees_is_cut_in_two(one: str) -> None:
    for before in range(12):
        text = "a" * before + one * 3
        for limit in range(len(one), len(text) + 2):
            assert set(cut_graphemes(text, limit).lstrip("a").split(one)) == {""}
            assert len(cut_graphemes(text, limit)) <= limit
        text = one * 3 + "a" * before
        for limit in range(len(one), len(text) + 2):
            assert set(cut_graphemes_before(text, limit).rstrip("a").split(one)) == {""}
            assert len(cut_graphemes_before(text, limit)) <= limit


def test_a_character_without_end_is_cut_all_the_same() -> None:
    assert len(cut_graphemes("e" + "\u0301" * 10_000, 60)) == 60
    assert len(cut_graphemes_before("e" + "\u0301" * 10_000, 60)) <= 60


@table("one", WHOLE)
def test_titles_names_and_snippets_have_whole_characters(one: str) -> None:
    for before in range(12):
        text = "a" * (50 + before) + one * 5
        for made in (first_line(text), shorten_text(text, 60).removesuffix("…"), cut_head(text, 60)):
            assert set(made.lstrip("a").split(one)) == {""}
        assert set(cut_tail(one * 5 + "a" * (50 + before), 60).rstrip("a").split(one)) == {""}
