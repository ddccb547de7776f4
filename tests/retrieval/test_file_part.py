"""What a small model reads of the files of a conversation, where no section of them can be quoted."""

from __future__ import annotations

from typing import Any

import pytest

from errors import PassageUnknown
from retrieval import Library, LookUp
from retrieval.answer.file_part import BEST, REASON, TOKENS, give_file_parts
from retrieval.answer.lookup import CUT, SearchStep
from retrieval.document import Filters, SearchScope, Section
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


def rendered(found: LookUp) -> str:
    """What the model is given, without what is said around it."""
    return "\n".join(f'<passage source="{cited.label}">\n{cited.text}\n</passage>' for cited in found.passages)


def test_a_short_file_is_given_whole_in_the_order_of_reading(library: Library) -> None:
    attach(library, "a", SHORT)
    attach(library, "b", ("secret.md", b"# Secret\n\nThe lamp is green.\n"))
    found = give(library, "lamp blue")
    (cited,) = found.passages
    assert cited.text == "The lamp is red.\n\n## Later\nThe lamp is blue."
    assert (cited.number, cited.label) == (1, "notes.md")
    assert (found.trace[-1].reason, found.sufficiency, found.fallback) == (REASON, "not_judged", None)
    assert found.budget == TOKENS


def test_of_a_long_file_the_beginning_and_what_was_found_are_given(library: Library) -> None:
    attach(library, "a", ("book.md", LONG))
    found = give(library, "Word27", tokens=400)
    beginning, *others = found.passages
    assert beginning.label == "book.md › Part 1"
    assert beginning.text.startswith("## Part 1\nWord1 stands here.")
    assert any(cited.text.startswith("## Part 27\nWord27 stands here.") for cited in others)
    assert 300 < count(rendered(found)) <= 400
    (only,) = give(library, tokens=400).passages
    assert only.text.endswith(CUT), "nothing was found: the beginning alone"


def test_what_was_found_in_the_middle_of_a_long_section_is_given(library: Library) -> None:
    text = " ".join(f"Word{at} stands here." for at in range(3000))
    attach(library, "a", ("book.txt", text.encode()))
    found = give(library, "Word2500", tokens=400)
    assert len(found.passages) == 2
    assert "Word2500 stands" in found.passages[1].text
    assert count(rendered(found)) <= 400


def test_many_short_sections_stay_within_the_tokens_and_are_not_all_read(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"## How do I change setting {at}?\n\nPress key {at}.\n\n" for at in range(600))
    attach(library, "a", ("keys.md", text.encode()))
    read, section = list[str](), library.section

    def note(id_: str) -> Section:
        read.append(id_)
        return section(id_)

    monkeypatch.setattr(library, "section", note)
    found = give(library, "key 400", tokens=500)
    assert count(rendered(found)) <= 500
    assert len(found.passages) <= 1 + BEST
    assert len(read) < 60


def test_the_newest_file_comes_first_and_an_empty_conversation_stays_as_it_was(library: Library) -> None:
    assert give(library).trace[-1].reason == "unsure"
    attach(library, "a", SHORT)
    attach(library, "a", ("later.md", b"# Later\n\nPears.\n"))
    assert [cited.label for cited in give(library).passages] == ["later.md", "notes.md"]


def test_a_file_that_changes_while_it_is_read_is_left_out(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    attach(library, "a", SHORT)
    for name in ("section", "passage"):
        with monkeypatch.context() as patch:
            patch.setattr(library, name, gone)
            assert give(library).passages == ()


def gone(id_: Any) -> Any:
    raise PassageUnknown(passage=id_)
