"""The best section is quoted as it stands, by one search and no model call (copilot-rag.md §4.4, design §9)."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval import Filters, Hit, LookUp
from retrieval.fallback import NOT_FOUND, NOT_READY
from retrieval.quote import SECTION_CHARS, quote
from tests.retrieval.test_loop import WHERE, Shelf, hit, passage

NEAR = 0.905


def far(id_: int) -> Hit:
    return Hit(passage(id_), 1.0, 0.86, 0.1, 0.12, id_, id_, id_)


def run(shelf: Shelf, question: str = "How do I do it?", **values: Any) -> LookUp:
    shelf.near = NEAR
    return quote(shelf, question, "en", **values)


def test_the_best_passage_comes_with_its_whole_section() -> None:
    shelf = Shelf([hit(2), hit(1)])
    found = run(shelf)
    (cited,) = found.passages
    assert (cited.number, cited.passage.id, cited.text, cited.expanded) == (1, 2, "The whole section.", True)
    assert [name for name, *_ in shelf.asked] == ["all", "section"]
    assert (found.sufficiency, found.confidence, found.fallback, found.calls) == ("not_judged", None, None, 1)


@pytest.mark.parametrize("section", ["", "x" * (SECTION_CHARS + 1)], ids=["gone", "long"])
def test_where_the_section_cannot_be_quoted_whole_the_passage_is(section: str) -> None:
    (cited,) = run(Shelf([hit(1)], section=section)).passages
    assert (cited.text, cited.expanded) == ("Text 1.", False)


@pytest.mark.parametrize(("cosine", "cover", "near"), [(0.86, 0.12, False), (0.86, 0.24, True), (0.91, 0.0, True)])
def test_only_what_comes_near_is_quoted(cosine: float, cover: float, near: bool) -> None:
    found = run(Shelf([Hit(passage(1), 1.0, cosine, 0.1, cover, 1, 1, 1)]))
    assert bool(found.passages) is near
    assert (found.fallback is None) is near


def test_what_comes_less_near_gives_the_specified_sentence_and_the_menu() -> None:
    found = run(Shelf([far(1)]))
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_found", NOT_FOUND["en"])
    assert found.fallback.links
    assert (found.sufficiency, found.trace[0].reason, len(found.trace[0].hits)) == ("empty", "unrelated", 1)


def test_nothing_found_is_not_ready_yet() -> None:
    found = run(Shelf([]))
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_ready", NOT_READY["en"])
    assert (found.sufficiency, found.trace[0].reason) == ("empty", "empty")


def test_the_kind_that_the_question_names_is_looked_through_first() -> None:
    shelf = Shelf([hit(1)])
    assert run(shelf, WHERE).trace[0].tool == "search_by_metadata"
    assert shelf.asked[0] == ("metadata", WHERE, Filters("faq"))


@pytest.mark.parametrize("there", [[], [far(1)]], ids=["empty", "far"])
def test_what_that_kind_has_not_is_looked_for_everywhere(there: list[Hit]) -> None:
    shelf = Shelf(there, [hit(2)])
    assert run(shelf, WHERE).passages[0].passage.id == 2
    assert [name for name, *_ in shelf.asked] == ["metadata", "all", "section"]


def test_filters_of_the_caller_hold() -> None:
    shelf = Shelf([far(1)])
    assert not run(shelf, WHERE, filters=Filters("guide")).passages
    assert shelf.asked == [("all", WHERE, Filters("guide"))]
