"""The best section is quoted as it stands, by one search and no model call (specification 7.5, design 7.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from retrieval import Filters, Hit, LookUp
from retrieval.answer.fallback import NOT_FOUND, NOT_READY
from retrieval.answer.quote import SECTION_CHARS, quote_section
from retrieval.document import Collection, SearchScope
from tests.retrieval.test_loop import WHERE, Shelf, passage

NEAR = 0.875
HERE = Filters(product_language="en")
LATER = Filters(scope=SearchScope(session="a", has_files=True))
WITH_FILES = Filters(scope=SearchScope(session="a", asked_with_files=True))


def far(id_: int) -> Hit:
    return Hit(passage(id_), 1.0, 0.86, 0.1, 0.12, id_, id_, id_, heading=0.84)


def near(id_: int) -> Hit:
    return replace(far(id_), cosine=0.9, heading=0.9)


def run(shelf: Shelf, question: str = "How do I do it?", **values: Any) -> LookUp:
    shelf.near = NEAR
    return quote_section(shelf, question, "en", **values)


def test_the_best_passage_comes_with_its_whole_section() -> None:
    shelf = Shelf([near(2), near(1)])
    found = run(shelf)
    (cited,) = found.passages
    assert (cited.number, cited.passage.id, cited.text, cited.expanded) == (1, 2, "The whole section.", True)
    assert [name for name, *_ in shelf.asked] == ["sections", "section"]
    assert (found.sufficiency, found.confidence, found.fallback, found.calls) == ("not_judged", None, None, 1)


@pytest.mark.parametrize("section", ["", "x" * (SECTION_CHARS + 1)], ids=["gone", "long"])
def test_where_the_section_cannot_be_quoted_whole_the_passage_is(section: str) -> None:
    (cited,) = run(Shelf([near(1)], section=section)).passages
    assert (cited.text, cited.expanded) == ("Text 1.", False)


@pytest.mark.parametrize(
    ("cosine", "heading", "lead", "cover", "quoted"),
    [
        (0.86, 0.88, 0.0, 0.0, False),
        (0.86, 0.9, 0.0, 0.0, True),
        (0.91, 0.8, 0.0, 0.0, False),
        (0.86, 0.88, 0.04, 0.0, True),
        (0.86, 0.88, 0.0, 0.1, True),
    ],
)
def test_only_what_comes_near_is_quoted(cosine: float, heading: float, lead: float, cover: float, quoted: bool) -> None:
    hits = [replace(far(1), cosine=cosine, heading=heading, cover=cover), replace(far(2), score=1 - lead)]
    found = run(Shelf(hits, hits))
    assert bool(found.passages) is quoted
    assert (found.fallback is None) is quoted


def test_what_comes_less_near_gives_the_specified_sentence_and_the_menu() -> None:
    hits = [replace(far(1), cosine=0.83, heading=0.82)]
    found = run(Shelf(hits, hits))
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_found", NOT_FOUND["en"])
    assert found.fallback.links
    assert (found.sufficiency, found.trace[0].reason, len(found.trace[0].hits)) == ("empty", "unrelated", 1)


def test_what_comes_a_little_less_near_may_be_meant() -> None:
    hits = [replace(far(1), cosine=0.85, heading=0.86)]
    assert run(Shelf(hits, hits)).trace[0].reason == "unsure"


def test_nothing_found_is_not_ready_yet() -> None:
    found = run(Shelf([], []))
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_ready", NOT_READY["en"])
    assert (found.sufficiency, found.trace[0].reason) == ("empty", "empty")


def test_the_kind_that_the_question_names_is_looked_through_first() -> None:
    shelf = Shelf([near(1)])
    assert run(shelf, WHERE).trace[0].tool == "search_by_metadata"
    assert shelf.asked[0] == ("sections", WHERE, Filters("faq"))


@pytest.mark.parametrize("there", [[], [far(1)]], ids=["empty", "far"])
def test_what_that_kind_has_not_is_looked_for_everywhere(there: list[Hit]) -> None:
    shelf = Shelf(there, there, [near(2)])
    assert run(shelf, WHERE).passages[0].passage.id == 2
    assert [asked for _, _, asked in shelf.asked[:3]] == [Filters("faq"), HERE, Filters()]


def test_filters_of_the_caller_hold() -> None:
    shelf = Shelf([far(1)], [far(1)])
    assert not run(shelf, WHERE, filters=Filters("guide")).passages
    assert [asked for _, _, asked in shelf.asked] == [Filters("guide", product_language="en"), Filters("guide")]


@pytest.mark.parametrize(
    ("collection", "filters", "cosine", "reason"),
    [
        ("product", WITH_FILES, 0.87, "unrelated"),
        ("mine", WITH_FILES, 0.87, "unrelated"),
        ("session", WITH_FILES, 0.87, ""),
        ("product", WITH_FILES, 0.88, ""),
        ("product", Filters(), 0.87, ""),
        ("product", LATER, 0.87, "unrelated"),
        ("mine", LATER, 0.87, ""),
        ("session", LATER, 0.87, ""),
        ("product", LATER, 0.88, ""),
    ],
)
def test_a_question_of_a_conversation_with_files_means_others_only_where_their_vectors_are_near(
    collection: Collection, filters: Filters, cosine: float, reason: str
) -> None:
    hit = replace(far(1), passage=replace(passage(1), collection=collection), cosine=cosine, heading=cosine, cover=0.5)
    found = run(Shelf([hit], [hit]), filters=filters)
    assert (found.trace[0].reason, bool(found.passages)) == (reason, not reason)


def test_the_kind_that_a_question_with_files_names_is_looked_through_first() -> None:
    shelf = Shelf([near(1)])
    run(shelf, WHERE, filters=WITH_FILES)
    assert shelf.asked[0] == ("sections", WHERE, replace(WITH_FILES, doc_type="faq"))
