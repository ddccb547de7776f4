"""A long document is found by its words while it is embedded, by meaning as its vectors come, and nothing is left half
in."""

from __future__ import annotations

import threading

import pytest

from retrieval import AddingProgress, Filters, Library
from retrieval import change as module
from retrieval.answer.fuse import CANDIDATES
from retrieval.change import WORDS_FIRST
from tests.retrieval.conftest import Opened, Words

COUNT = WORDS_FIRST + 40


def book() -> bytes:
    parts = (f"## Part {number}\n\nThe fruit{number} is sweet.\n\n" for number in range(COUNT))
    return f"# Book\n\n{''.join(parts)}".encode()


class Killed(BaseException):
    """Ends an addition as a killed process would: nothing is tidied up."""


def at_first(words: Words, then: type[BaseException]) -> None:
    """Raises as soon as the second batch of passages is embedded."""
    made = len(words.made)

    def before() -> None:
        if len(words.made) > made:
            raise then

    words.before = before


def test_a_long_document_is_found_by_its_words_at_once(library: Library, words: Words) -> None:
    seen = list[tuple[int, list[str]]]()

    def look(progress: AddingProgress) -> None:
        if progress.passages and not progress.passage:
            hits = library.search(f"fruit{COUNT - 1}", Filters(), k=1)
            seen.append((progress.passages, [hit.passage.text for hit in hits]))
            assert library.sections(f"fruit{COUNT - 1}", Filters())[0].passage.text == f"The fruit{COUNT - 1} is sweet."

    done = library.add([("book.md", book())], progress=look)
    assert seen == [(COUNT, [f"The fruit{COUNT - 1} is sweet."])]
    assert (done.added, done.passages) == (("book.md",), COUNT)
    # all fit alike; more than the candidates need not come, and which are left out depends on the machine
    assert len(library.search("sweet", k=CANDIDATES)) == CANDIDATES


def test_vectors_are_published_as_they_come(library: Library, words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.0)
    revisions = list[int]()
    library.add([("book.md", book())], progress=lambda _: revisions.append(library._rows.state().revision))
    assert len(set(revisions)) > COUNT // words.batch // 2
    found = library.search("the fruit7 is sweet", k=3)
    assert found[0].dense_rank is not None


def test_a_document_that_was_stopped_or_refused_is_not_in_the_library(opened: Opened, words: Words) -> None:
    library, stop = opened(), threading.Event()
    done = library.add([("book.md", book())], progress=lambda at: stop.set() if at.passage else None, stop=stop)
    assert (done.cancelled, done.added, library.documents()) == (True, (), [])
    words.refuses = lambda text: "fruit90 " in text
    done = library.add([("book.md", book()), ("a.md", b"# A\n\nApples.\n")])
    assert [(name, error.code) for name, error in done.failed] == [("book.md", "document_not_embedded")]
    assert done.added == ("a.md",)
    assert {document.name: document.state for document in library.documents()} == {"a.md": "ready", "book.md": "failed"}
    assert [hit.passage.name for hit in library.search("apples", k=5)] == ["a.md"]


def test_what_a_killed_process_left_is_embedded_at_the_next_start(opened: Opened, words: Words) -> None:
    library = opened()
    at_first(words, Killed)
    with pytest.raises(Killed):
        library.add([("book.md", book())])
    words.before = lambda: None
    again = opened(words)
    assert again.search(f"fruit{COUNT - 1}", k=1)[0].passage.text == f"The fruit{COUNT - 1} is sweet."
    assert again._shelf.open().lacks_vectors
    assert again.complete() > COUNT // 2
    assert again.complete() == 0
    view = again._shelf.open()
    assert (view.lacks_vectors, view.searcher.count) == (False, COUNT)
    again.remove(*(document.id for document in again.documents()))
    assert again.search("sweet") == []


def test_another_document_can_be_added_and_removed_meanwhile(library: Library) -> None:
    library.add([("a.md", b"# A\n\nApples are red.\n")])
    (apples,) = library.documents()
    looked = list[str]()

    def remove(progress: AddingProgress) -> None:
        if progress.passages and not looked:
            looked.append(library.search("apples")[0].passage.name)
            library.remove(apples.id)

    library.add([("book.md", book())], progress=remove)
    assert looked == ["a.md"]
    assert {hit.passage.name for hit in library.search("apples sweet", k=COUNT)} == {"book.md"}
