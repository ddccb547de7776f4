"""Indexing from the command line: folders, watching, the first run; and the product's own documents."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

import settings
from retrieval import Library, batch
from retrieval.change import sources, stage
from tests.retrieval.conftest import Opened, Words

DOCS = batch.OWN


def test_one_pass_says_what_it_did(library: Library, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples.")
    done = list(batch.index(library, [tmp_path / "docs", tmp_path / "gone.md"], "faq", polite=False))
    assert [each.added for each in done] == [("docs/a.md",)]
    assert [(name, error.code) for name, error in done[0].failed] == [("gone.md", "document_broken")]
    assert {document.name: document.doc_type for document in library.documents()} == {
        "docs/a.md": "faq",
        "gone.md": "faq",
    }


def test_watching_follows_changes_until_it_is_stopped(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.02)
    folder, stop = tmp_path / "docs", threading.Event()
    folder.mkdir()
    (folder / "a.md").write_text("Apples.")
    passes = batch.index(library, [folder], stop=stop, watch=True, polite=False)
    assert next(passes).added == ("docs/a.md",)
    threading.Timer(0.1, lambda: (folder / "b.md").write_text("Pears.")).start()
    assert next(passes).added == ("docs/b.md",)
    threading.Timer(0.1, lambda: (folder / "a.md").unlink()).start()
    assert next(passes).removed == ("docs/a.md",)
    threading.Timer(0.1, stop.set).start()
    began = time.monotonic()
    assert list(passes) == []
    assert time.monotonic() - began < 5


def test_a_first_run_indexes_the_products_own_documents_once(library: Library) -> None:
    done = batch.first_run(library)
    assert done is not None
    assert not done.failed
    assert batch.first_run(library) is None
    best = library.search_all("How do I change the compression rate?")[0].passage
    assert best.label == "faq/en/summaries.md › How do I change the compression rate?"


def test_a_first_run_that_was_cut_off_goes_on(library: Library, opened: Opened, words: Words) -> None:
    stop = threading.Event()
    words.before = lambda: stop.set() if len(words.made) > 10 else None
    cut = batch.first_run(library, stop=stop)
    assert cut is not None
    assert cut.cancelled
    before = len(library.documents())
    done = batch.first_run(opened())
    assert done is not None
    assert before < len(library.documents()) == len(list(sources(DOCS, 10**7)))
    assert batch.first_run(opened()) is None


def test_what_was_removed_of_the_products_own_stays_away(library: Library) -> None:
    batch.first_run(library)
    library.remove(*(document.id for document in library.documents()))
    assert batch.first_run(library) is None
    assert library.documents() == []


def test_an_update_of_the_product_is_followed(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "faq"
    (own / "en").mkdir(parents=True)
    (own / "en/a.md").write_text("Apples.")
    monkeypatch.setattr(batch, "OWN", (own,))
    batch.first_run(library)
    (own / "en/a.md").write_text("Pears.")
    done = batch.first_run(library)
    assert done is not None
    assert done.changed == ("faq/en/a.md",)
    assert library.search("pears")[0].passage.label == "faq/en/a.md"


def test_a_library_with_documents_has_no_first_run(library: Library) -> None:
    library.add([("mine.md", b"Mine.")])
    assert batch.first_run(library) is None
    assert len(library.documents()) == 1


def test_the_products_own_documents_are_whole_in_both_languages() -> None:
    staged = [stage(source, source.read(), None, 10**7) for source in sources(DOCS, 10**7)]
    assert len({each.source.name for each in staged}) == len(staged), "a citation names one file"
    by_language = {
        language: [each for each in staged if f"/{language}/" in each.source.name] for language in ("ko", "en")
    }
    for language, each in by_language.items():
        assert {document.language for document in each} == {language}
        entries = [piece for document in each if document.doc_type == "faq" for piece in document.pieces]
        assert len(entries) >= 20
        assert sum(document.doc_type == "guide" for document in each) >= 8
    names = [
        sorted(each.source.name.replace(f"/{language}/", "/") for each in documents)
        for language, documents in by_language.items()
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "path", sorted(path for folder in DOCS for path in folder.rglob("*.md")), ids=lambda each: each.name
)
def test_the_products_own_documents_name_only_settings_that_exist(path: Path) -> None:
    known = {settings.variable(field) for field in settings.Settings.model_fields}
    named = set(
        re.findall(r"\b(?:GIEOK|OPENAI|CHAT|UTILITY|EMBEDDING|REDIS|DATABASE)_[A-Z_]+\b", path.read_text("utf-8"))
    )
    assert named <= known
