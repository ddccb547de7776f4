"""What a small model reads of the files of a conversation, where no section of them can be quoted."""

from __future__ import annotations

import pytest

from model import scripted
from model.profile import SMALL
from retrieval import Library, LookUp
from retrieval.answer.file_part import BEST, LEAST, REASON, TOKENS, give_file_parts
from retrieval.answer.lookup import CUT, SearchStep
from retrieval.document import Filters, SearchScope
from tests.retrieval.conftest import Opened, Words
from tests.retrieval.test_collection import attach

SCOPE = SearchScope(session="a", asked_with_files=True)
SHORT = ("notes.md", b"# Notes\n\nThe lamp is red.\n\n## Later\n\nThe lamp is blue.\n")
LONG = (
    "# Book\n\n" + "\n\n".join(f"## Part {at}\n\n" + f"Word{at} stands here. " * 40 for at in range(1, 31))
).encode()


def count(text: str) -> int:
    return len(text.split())


def give(library: Library, query: str = "", tokens: int = TOKENS) -> LookUp:
    """What is given for a question that finds these sections, and quotes none."""
    hits = library.sections(query, Filters(scope=SCOPE)) if query else []
    step = SearchStep("search_all", {"query": query}, tuple(hits), None, "unsure")
    return give_file_parts(library, LookUp(query, "en", (), (step,), "empty"), "a", count, tokens)


def labels(found: LookUp) -> list[str]:
    return [cited.label for cited in found.passages]


def test_a_short_file_is_given_whole_in_the_order_of_reading(library: Library) -> None:
    attach(library, "a", SHORT)
    attach(library, "b", ("secret.md", b"# Secret\n\nThe lamp is green.\n"))
    found = give(library, "lamp blue")
    assert [cited.text for cited in found.passages] == ["The lamp is red.", "The lamp is blue."]
    assert [(cited.number, cited.expanded) for cited in found.passages] == [(1, True), (2, True)]
    assert (found.trace[-1].reason, found.sufficiency, found.fallback) == (REASON, "not_judged", None)
    assert found.budget == TOKENS


def test_of_a_long_file_the_beginning_and_what_was_found_are_given(library: Library) -> None:
    attach(library, "a", ("book.md", LONG))
    found = give(library, "Word27", tokens=400)
    assert labels(found)[0] == "book.md › Part 1"
    assert "book.md › Part 27" in labels(found)
    assert len(found.passages) <= 400 // 120 + 1 + BEST
    assert 400 - LEAST <= sum(count(cited.text.removesuffix(CUT)) for cited in found.passages) <= 400
    places = [int(label.rsplit(" ", 1)[1]) for label in labels(found)]
    assert places == sorted(places)
    assert [cited.text.endswith(CUT) for cited in found.passages] == [not cited.expanded for cited in found.passages]
    assert labels(give(library, tokens=400)) == [f"book.md › Part {at}" for at in (1, 2, 3, 4)], "nothing was found"


def test_the_newest_file_comes_first_and_an_empty_conversation_stays_as_it_was(library: Library) -> None:
    assert give(library).trace[-1].reason == "unsure"
    attach(library, "a", SHORT)
    attach(library, "a", ("later.md", b"# Later\n\nPears.\n"))
    assert labels(give(library))[0] == "later.md"


@pytest.mark.parametrize("asked_with_files", [True, False], ids=["with its question", "later"])
def test_a_small_model_reads_the_files_where_nothing_is_quoted(opened: Opened, asked_with_files: bool) -> None:
    words = Words()
    words.near = 2.0  # nothing is as near
    library = opened(words)
    attach(library, "a", SHORT)
    scope = SearchScope(session="a", asked_with_files=asked_with_files)
    models = scripted.build_scripted_models(profile=SMALL)
    found = library.look_up("Summarise the file.", models, scope=scope)
    assert [cited.text for cited in found.passages] == ["The lamp is red.", "The lamp is blue."]
    for other in (SearchScope(session="b"), SearchScope(("mine",), "a", asked_with_files)):
        assert library.look_up("Summarise the file.", models, scope=other).passages == ()
