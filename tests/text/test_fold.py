"""One form for every comparison of texts; and where its letters stand in the text as it was written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from component.answer.citation import in_section
from memory.line import is_same_line
from memory.state import same_key
from retrieval.index.word import cut_text_words
from text.fold import fold_name, fold_text, fold_with_places
from world.lore.mention import Matcher
from world.naming.spelling import find_spelling

FORMS = ("NFC", "NFD", "NFKD")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_text_is_the_same(form: str) -> None:
    text = "서울 Café, １４일, ﬁne ㎏ Straße"
    other = unicodedata.normalize(form, text)  # type: ignore[arg-type]
    assert fold_text(other) == fold_text(text) == "서울 café, 14일, fine kg strasse"
    assert cut_text_words(other, "ngram") == cut_text_words(text, "ngram")
    assert is_same_line(other, text)
    assert same_key(other) == same_key(text)
    assert fold_name(f"  {other} ") == fold_name(text)


@given(st.text(max_size=40))
def test_a_folded_text_is_folded_already_and_its_places_lead_back(text: str) -> None:
    folded = fold_text(text)
    assert fold_text(folded) == folded
    placed = fold_with_places(text)
    assert len(placed.starts) == len(placed.ends) == len(placed.text)
    for at in range(len(placed.text)):
        start, end = placed.span(at, at + 1)
        assert placed.text[at] in fold_text(text[start:end])


@pytest.mark.parametrize("form", FORMS)
def test_names_of_a_story_are_known_in_every_form(form: str) -> None:
    written = unicodedata.normalize(form, "크룩")  # type: ignore[arg-type]
    assert Matcher({"크룩": [1]}).find(f"{written}이 웃는다") == {1}
    assert Matcher({written: [1]}).find("크룩이 웃는다") == {1}
    assert find_spelling(written, ["크룩"]) == "크룩"


def test_a_citation_is_marked_where_its_letters_stand() -> None:
    text = unicodedata.normalize("NFD", "환불은 ") + "１４일 안에"
    html = in_section(text, text, "환불 14일")
    assert f"<b>{unicodedata.normalize('NFD', '환불')}</b>" in html
    assert "<b>１４일</b>" in html
