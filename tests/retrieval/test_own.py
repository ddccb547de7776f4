"""The product's own documents: their first run, the vectors that come with them, and that both languages are whole."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import settings
from model.embedding import BuiltIn
from retrieval import Library, product_docs
from retrieval.change import list_source_files, stage_file
from retrieval.product_docs import OWN, first_run
from tests.retrieval.conftest import Opened, Words
from tests.table import table


def test_the_vectors_that_come_with_the_documents_are_those_of_their_passages() -> None:
    texts, known = product_docs.read_docs_texts(), product_docs.load_docs_vectors()
    assert set(known) == set(texts), "the documents have changed: python -m retrieval.product_docs"
    some = sorted(texts)[::50]
    made = BuiltIn().passages([texts[each] for each in some])
    assert np.einsum("ij,ij->i", made, np.array([known[each] for each in some], np.float32)).min() > 0.999


def test_a_first_run_embeds_nothing_and_answers_at_once_in_both_languages(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ready(BuiltIn):
        def passages(self, texts: object) -> np.ndarray:
            raise AssertionError("the vectors of these documents come with them")

    library = opened(Ready())
    done = first_run(library)
    assert done is not None
    assert (done.embedded, done.failed) == (0, ())
    asked = {
        "How do I change the compression rate?": "faq/en/summaries.md › How do I change the compression rate?",
        "압축률은 어떻게 바꿔?": "faq/ko/summaries.md › 압축률은 어떻게 바꾸나요?",
    }
    for question, label in asked.items():
        assert label in [hit.passage.label for hit in library.search_all(question)[:3]]


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"PK\x03\x04 no archive", None])
def test_without_them_the_documents_are_embedded(
    library: Library, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    (tmp_path / "faq").mkdir()
    (tmp_path / "faq/a.md").write_text("Apples.")
    if damage is not None:
        (tmp_path / "vectors.npz").write_bytes(damage)
    monkeypatch.setattr(product_docs, "OWN", (tmp_path / "faq",))
    monkeypatch.setattr(product_docs, "VECTORS", tmp_path / "vectors.npz")
    assert first_run(library) is not None
    assert len(words.made) == 1


def test_they_are_written_for_the_passages_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faq").mkdir()
    (tmp_path / "faq/a.md").write_text("Apples.")
    monkeypatch.setattr(product_docs, "OWN", (tmp_path / "faq",))
    monkeypatch.setattr(product_docs, "VECTORS", tmp_path / "vectors.npz")
    assert (product_docs.write_docs_vectors(), product_docs.write_docs_vectors()) == (2, 0), (
        "the passage and its headings"
    )
    before = product_docs.VECTORS.read_bytes()
    (tmp_path / "faq/b.md").write_text("Pears.")
    assert product_docs.write_docs_vectors() == 2
    (tmp_path / "faq/b.md").unlink()
    assert product_docs.write_docs_vectors() == 0
    assert product_docs.VECTORS.read_bytes() == before


def test_the_vectors_of_another_model_are_passed_over(library: Library, words: Words) -> None:
    first_run(library)
    assert 0 < len(words.made) < len(product_docs.read_docs_texts()), "headings are embedded when they are asked for"


def test_a_first_run_indexes_the_products_own_documents_once(library: Library) -> None:
    done = first_run(library)
    assert done is not None
    assert not done.failed
    assert first_run(library) is None
    best = library.search_all("How do I change the compression rate?")[0].passage
    assert best.label == "faq/en/summaries.md › How do I change the compression rate?"


def test_a_first_run_that_was_cut_off_goes_on(library: Library, opened: Opened, words: Words) -> None:
    stop = threading.Event()
    words.before = lambda: stop.set() if len(words.made) > 10 else None
    cut = first_run(library, stop=stop)
    assert cut is not None
    assert cut.cancelled
    before = len(library.documents())
    done = first_run(opened())
    assert done is not None
    assert before < len(library.documents()) == len(list(list_source_files(OWN, 10**7)))
    assert first_run(opened()) is None


def test_what_was_removed_of_the_products_own_stays_away(library: Library) -> None:
    first_run(library)
    library.remove(*(document.id for document in library.documents()))
    assert first_run(library) is None
    assert library.documents() == []


def test_an_update_of_the_product_is_followed(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "faq"
    (folder / "en").mkdir(parents=True)
    (folder / "en/a.md").write_text("Apples.")
    monkeypatch.setattr(product_docs, "OWN", (folder,))
    first_run(library)
    (folder / "en/a.md").write_text("Pears.")
    done = first_run(library)
    assert done is not None
    assert done.changed == ("faq/en/a.md",)
    assert library.search("pears")[0].passage.label == "faq/en/a.md"


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the product with two documents, as it stands after an installation."""
    folder = tmp_path / "one/docs"
    (folder / "faq/en").mkdir(parents=True)
    for name in ("Apples", "Pears"):
        (folder / f"faq/en/{name.lower()}.md").write_text(f"{name}.")
    monkeypatch.setattr(product_docs, "OWN", (folder / "faq",))
    return folder


def names(library: Library) -> list[str]:
    return [document.name for document in library.documents()]


def test_an_update_brings_its_new_documents_and_takes_those_it_dropped(library: Library, product: Path) -> None:
    first_run(library)
    library.remove(*(document.id for document in library.documents() if "pears" in document.name))
    (product / "faq/en/plums.md").write_text("Plums.")
    done = first_run(library)
    assert done is not None
    assert done.added == ("faq/en/plums.md",)
    assert names(library) == ["faq/en/apples.md", "faq/en/plums.md"], "what was removed stays away"
    (product / "faq/en/plums.md").unlink()
    done = first_run(library)
    assert done is not None
    assert done.removed == ("faq/en/plums.md",)
    assert first_run(library) is None


def test_an_update_in_another_folder_is_followed(
    library: Library, product: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_run(library)
    apples, pears = library.documents()
    library.set_type(apples.id, "guide")
    library.remove(pears.id)
    library.add([("mine.md", b"Mine.")])
    other = product.parent.parent / "two/docs"
    shutil.copytree(product, other)
    (other / "faq/en/apples.md").write_text("Quinces.")
    (other / "faq/en/plums.md").write_text("Plums.")
    monkeypatch.setattr(product_docs, "OWN", (other / "faq",))
    done = first_run(library)
    assert done is not None
    assert (done.changed, done.added, done.removed) == (("faq/en/apples.md",), ("faq/en/plums.md",), ())
    assert names(library) == ["faq/en/apples.md", "faq/en/plums.md", "mine.md"]
    assert library.document(apples.id).doc_type == "guide"
    assert library.search("quinces")[0].passage.label == "faq/en/apples.md"
    assert first_run(library) is None


@pytest.mark.parametrize("noted", [None, "", "{}", "[1]"])
def test_without_a_note_of_what_was_given_nothing_comes_back(
    library: Library, product: Path, noted: str | None
) -> None:
    first_run(library)
    note = library.folder / product_docs.OFFERED
    note.unlink() if noted is None else note.write_text(noted)
    library.remove(library.documents()[0].id)
    assert first_run(library) is None
    (product / "faq/en/plums.md").write_text("Plums.")
    first_run(library)
    assert names(library) == ["faq/en/pears.md", "faq/en/plums.md"]


def test_an_update_brings_nothing_where_everything_was_removed(library: Library, product: Path) -> None:
    first_run(library)
    library.remove(*(document.id for document in library.documents()))
    (product / "faq/en/plums.md").write_text("Plums.")
    assert first_run(library) is None
    assert library.documents() == []


def test_a_library_with_documents_has_no_first_run(library: Library) -> None:
    library.add([("mine.md", b"Mine.")])
    assert first_run(library) is None
    assert len(library.documents()) == 1


def test_the_products_own_documents_are_whole_in_both_languages() -> None:
    staged = [stage_file(source, source.read(), None, 10**7) for source in list_source_files(OWN, 10**7)]
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


@table("path", sorted(path for folder in OWN for path in folder.rglob("*.md")), ids=lambda each: each.name)
def test_the_products_own_documents_name_only_settings_that_exist(path: Path) -> None:
    known = {settings.find_variable_name(field) for field in settings.Settings.model_fields}
    named = set(
        re.findall(r"\b(?:GIEOK|OPENAI|CHAT|UTILITY|EMBEDDING|REDIS|DATABASE)_[A-Z_]+\b", path.read_text("utf-8"))
    )
    assert named <= known
