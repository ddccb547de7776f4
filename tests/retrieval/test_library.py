"""The library over real SQLite, real FAISS and a quick embedder: changes, crashes, two processes, damage."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from errors import DocumentUnknown, EmbeddingFailed, LibraryCorrupt, LibraryModelChanged, PassageUnknown
from model.embedding import Vectors
from retrieval import AddingProgress, Filters, Library
from retrieval.index import lexical, published, segment
from retrieval.index.row import LibraryRows, Slot
from retrieval.index.word import Cut
from retrieval.index.word import cut_passage_words as words_of
from tests.process import end, start
from tests.retrieval.conftest import Opened, Words, libraries

FAQ = """# Apples

## How do I peel an apple?

1. Take a knife.
2. Peel it.

## Are pears green?

Pears are green.
"""
GUIDE = "# Kitchen\n\n## Baking bread\n\nBread needs flour and patience.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs/faq").mkdir(parents=True)
    (tmp_path / "docs/faq/fruit.md").write_text(FAQ)
    (tmp_path / "docs/kitchen.md").write_text(GUIDE)
    return tmp_path / "docs"


def content(library: Library) -> set[tuple[str, str, tuple[str, ...], str, str]]:
    """What can be found, without ids."""
    found: set[tuple[str, str, tuple[str, ...], str, str]] = set()
    for document in library.documents():
        passages = [library.section(f"{document.id}:{number}") for number in range(document.sections)]
        found |= {(document.name, document.state, each.path, each.text, document.doc_type) for each in passages}
        found |= {(document.name, document.state, (), "", document.doc_type)}
    return found


def wants(library: Library) -> str | None:
    """Why the library asks for a rebuild."""
    return library.status.rebuild


def test_a_folder_is_found_by_what_it_says(library: Library, folder: Path) -> None:
    done = library.add([folder])
    assert done.added == ("docs/faq/fruit.md", "docs/kitchen.md")
    assert (done.passages, done.failed) == (3, ())
    best = library.search_all("how can I peel apples")[0]
    assert (best.passage.label, best.passage.doc_type, best.passage.has_steps) == (
        "docs/faq/fruit.md › How do I peel an apple?",
        "faq",
        True,
    )
    assert (best.dense_rank, best.lexical_rank, best.fused_rank) == (1, 1, 1)


def test_what_did_not_change_is_neither_read_nor_embedded_again(library: Library, folder: Path, words: Words) -> None:
    library.add([folder])
    embedded, revision = len(words.made), library.status.revision
    done = library.add([folder])
    assert done.unchanged == ("docs/faq/fruit.md", "docs/kitchen.md")
    assert (len(words.made), library.status.revision) == (embedded, revision)


def test_of_a_changed_file_only_the_changed_passages_are_embedded_and_the_others_keep_their_ids(
    library: Library, folder: Path, words: Words
) -> None:
    library.add([folder])
    apple = library.search("peel an apple")[0].passage
    words.made.clear()
    (folder / "faq/fruit.md").write_text(FAQ.replace("Pears are green.", "Pears are yellow."))
    assert library.add([folder]).changed == ("docs/faq/fruit.md",)
    assert [text.splitlines()[-1] for text in words.made] == ["Pears are yellow."]
    assert library.passage(apple.id) == apple
    assert library.search("pears yellow")[0].passage.text == "Pears are yellow."


def test_a_removed_file_is_no_longer_found(library: Library, folder: Path) -> None:
    library.add([folder])
    bread = library.search("bread flour")[0].passage
    (folder / "kitchen.md").unlink()
    assert library.add([folder]).removed == ("docs/kitchen.md",)
    assert all(hit.passage.name != "docs/kitchen.md" for hit in library.search("bread flour"))
    with pytest.raises(PassageUnknown):
        library.passage(bread.id)


def test_an_upload_replaces_one_of_the_same_name_and_is_not_taken_for_a_missing_file(
    library: Library, folder: Path
) -> None:
    library.add([("note.txt", b"Lemons are sour.")])
    library.add([("note.txt", b"Lemons are yellow."), folder])
    assert [document.name for document in library.documents()] == ["docs/faq/fruit.md", "docs/kitchen.md", "note.txt"]
    assert library.search("lemons")[0].passage.text == "Lemons are yellow."


def test_a_bad_file_fails_alone_and_is_listed_with_its_reason(library: Library) -> None:
    done = library.add([("broken.pdf", b"%PDF-1.7 nothing"), ("good.md", b"Plums are blue."), ("empty.md", b" \n")])
    assert done.added == ("good.md",)
    assert [(name, error.code) for name, error in done.failed] == [
        ("broken.pdf", "document_broken"),
        ("empty.md", "document_empty"),
    ]
    listed = {document.name: document for document in library.documents()}
    assert (listed["broken.pdf"].state, listed["broken.pdf"].passages) == ("failed", 0)
    assert listed["empty.md"].error == {"code": "document_empty", "values": {"name": "empty.md"}}
    assert library.status.failed == 2


def test_a_file_that_cannot_be_read_any_more_leaves_the_document_as_it_was(
    library: Library, folder: Path, tmp_path: Path
) -> None:
    library.add([folder, ("note.md", b"Lemons are sour.")])
    every, before = [each.id for each in library.documents()], content(library)
    folder.rename(tmp_path / "away")
    done = library.reindex(*every)
    assert [(name, error.code) for name, error in done.failed] == [
        ("docs/faq/fruit.md", "document_missing"),
        ("docs/kitchen.md", "document_missing"),
    ]
    assert library.add([("note.md", b"\x00\x00\x00")]).failed
    assert content(library) == before
    (tmp_path / "away").rename(folder)
    assert library.reindex(*every).unchanged == ("docs/faq/fruit.md", "docs/kitchen.md")


def test_a_path_that_is_not_there_leaves_nothing_behind(library: Library, folder: Path, tmp_path: Path) -> None:
    library.add([folder])
    before = content(library)
    folder.rename(tmp_path / "away")
    done = library.add([folder, tmp_path / "typo/nope.md"])
    assert [(name, error.code) for name, error in done.failed] == [
        (name, "document_missing") for name in ("docs", "nope.md")
    ]
    assert content(library) == before


def test_a_folder_takes_the_place_of_a_file_that_failed(library: Library, folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "away")
    folder.write_text("A file without an ending.")
    assert library.add([folder]).failed
    folder.unlink()
    (tmp_path / "away").rename(folder)
    assert library.add([folder]).removed == ("docs",)
    assert library.status.failed == 0


def test_a_document_keeps_its_name_when_its_file_is_read_again(library: Library, folder: Path) -> None:
    library.add([folder])
    (folder / "faq/fruit.md").write_text(FAQ.replace("Pears are green", "Pears are yellow"))
    fruit = library.search("pears", Filters("faq"))[0].passage
    assert library.reindex(fruit.document_id).changed == ("docs/faq/fruit.md",)
    (found,) = library.search("pears yellow", Filters("faq"), k=1)
    assert (found.passage.text, found.passage.label) == ("Pears are yellow.", fruit.label)


def test_a_document_that_the_model_refuses_fails_alone(library: Library, words: Words) -> None:
    words.refuses = lambda text: "poison" in text
    done = library.add([("a.md", b"Apples."), ("b.md", b"# B\n\nWater.\n\n## C\n\nA poison."), ("c.md", b"Pears.")])
    assert done.added == ("a.md", "c.md")
    assert [(name, error.code) for name, error in done.failed] == [("b.md", "document_not_embedded")]
    assert "a poison" in str(done.failed[0][1])
    assert [each.name for each in library.documents() if each.state == "failed"] == ["b.md"]
    words.refuses = lambda _: False
    assert library.add([("b.md", b"# B\n\nWater.\n\n## C\n\nA poison.")]).changed == ("b.md",)


def test_what_was_ready_before_the_model_went_away_can_be_found(library: Library, words: Words) -> None:
    words.refuses = lambda text: len(words.made) > 0
    with pytest.raises(EmbeddingFailed):
        library.add([("a.md", b"Apples."), ("b.md", b"Pears."), ("c.md", b"Plums.")])
    assert [(each.name, each.state) for each in library.documents()] == [("a.md", "ready")]
    assert library.search("apples")[0].passage.name == "a.md"


def test_a_section_tells_where_its_passages_begin(library: Library) -> None:
    library.add([("a.md", "\n\n".join(["Save it. " * 50, "Open it. " * 50, "Save it. " * 50]).encode())])
    section = library.section(library.search("save")[0].passage.section_id)
    assert len(section.passages) >= 3
    for id_, at in zip(section.passages, section.starts, strict=True):
        assert section.text.startswith(library.passage(id_).text, at)


def test_filters_hold_for_every_hit(library: Library, folder: Path) -> None:
    library.add([folder])
    assert {hit.passage.doc_type for hit in library.search("apple bread", Filters("faq"))} == {"faq"}
    assert [hit.passage.has_steps for hit in library.search("apple bread", Filters(has_steps=True))] == [True]
    assert library.search("apple", Filters(language="ko")) == []
    kitchen = next(each.id for each in library.documents() if each.name == "docs/kitchen.md")
    assert {hit.passage.document_id for hit in library.search("apple", Filters(documents=(kitchen,)))} == {kitchen}


def test_a_filter_looks_through_the_passages_once_a_revision(library: Library, folder: Path) -> None:
    library.add([folder])
    view = library._shelf.open()
    first = library.search_all("apple")
    unread = replace(view, slots=_Unread(view.slots))
    unread._masks.update(view._masks)
    library._shelf._view = unread
    assert library.search_all("apple") == first
    library._shelf._view = view
    library.set_type(first[0].passage.document_id, "guide")
    assert {hit.passage.doc_type for hit in library.search_all("apple")} == {"guide"}


class _Unread(tuple[Slot, ...]):
    """Fails when it is looked through."""

    def __iter__(self) -> Iterator[Slot]:
        raise AssertionError


def test_search_all_takes_three_of_the_faq_and_seven_of_the_guides(library: Library) -> None:
    text = "\n\n".join(f"## Apple {number}\n\nApple number {number}." for number in range(12))
    library.add([("faq.md", text.encode()), ("guide.md", text.replace("number", "sort").encode())])
    found = [hit.passage.doc_type for hit in library.search_all("apple")]
    assert (found.count("faq"), found.count("guide")) == (3, 7)


def test_what_the_guides_lack_the_faq_fills_up(library: Library) -> None:
    text = "\n\n".join(f"## Apple {number}\n\nApple number {number}." for number in range(12))
    library.add([("faq.md", text.encode()), ("guide.md", b"An apple.")])
    assert len(library.search_all("apple")) == 10


def test_the_type_can_be_changed_without_embedding_and_stays_when_the_file_is_read_again(
    library: Library, folder: Path, words: Words
) -> None:
    library.add([folder])
    kitchen = next(each for each in library.documents() if each.name == "docs/kitchen.md")
    words.made.clear()
    library.set_type(kitchen.id, "faq")
    assert library.search("bread", Filters("faq"))[0].passage.name == "docs/kitchen.md"
    (folder / "kitchen.md").write_text(GUIDE + "\nAnd salt.\n")
    library.add([folder])
    assert library.document(kitchen.id).doc_type == "faq"
    assert len(words.made) == 1


def test_an_empty_library_and_an_empty_question_find_nothing(library: Library, folder: Path) -> None:
    assert library.search_all("apple") == []
    library.add([folder])
    assert library.search_all("   ") == []
    library.remove(*(document.id for document in library.documents()))
    assert library.search_all("apple") == []
    assert library.status.passages == 0


def test_removing_what_is_not_there_changes_nothing(library: Library, folder: Path) -> None:
    library.add([folder])
    with pytest.raises(DocumentUnknown):
        library.remove(library.documents()[0].id, 999)
    assert len(library.documents()) == 2


def test_progress_counts_files_and_passages(library: Library, folder: Path) -> None:
    said: list[AddingProgress] = []
    library.add([folder], progress=said.append)
    assert said[0] == AddingProgress("docs/faq/fruit.md", 1, 2)
    assert said[-1] == AddingProgress("docs/kitchen.md", 2, 2, 1, 1)


def test_a_cancelled_addition_keeps_what_was_embedded_and_goes_on_later(
    library: Library, folder: Path, words: Words
) -> None:
    stop = threading.Event()
    words.batch = 1
    words.before = stop.set
    done = library.add([folder], stop=stop)
    assert (done.cancelled, done.added) == (True, ())
    assert len(words.made) == 1
    words.before = lambda: None
    assert library.add([folder]).added == ("docs/faq/fruit.md", "docs/kitchen.md")
    assert len(words.made) == 3


def test_embedding_waits_while_an_answer_is_made(library: Library, folder: Path, words: Words) -> None:
    with library.quiet():
        work = threading.Thread(target=library.add, args=([folder],))
        work.start()
        work.join(0.3)
        assert (work.is_alive(), words.made) == (True, [])
    work.join(60)
    assert len(words.made) == 3


def test_a_second_library_sees_what_the_first_changed(opened: Opened, folder: Path) -> None:
    one, two = opened(), opened()
    one.add([folder])
    assert two.search("bread")[0].passage.name == "docs/kitchen.md"
    two.remove(next(each.id for each in two.documents() if each.name == "docs/kitchen.md"))
    assert all(hit.passage.name != "docs/kitchen.md" for hit in one.search("bread"))


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def raising(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    "place",
    [
        "retrieval.index.segment.Segment.save",
        "retrieval.index.vectors.faiss.write_index",
        "retrieval.index.row.LibraryRows.set_state",
    ],
)
def test_a_crash_in_mid_build_leaves_the_old_index_working(
    opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    library = opened()
    library.add([folder])
    before = content(library)
    (folder / "kitchen.md").write_text("# Kitchen\n\nRice needs water.\n")
    with monkeypatch.context() as patch:
        patch.setattr(place, raising)
        with pytest.raises(Killed):
            library.add([folder])
    for each in (library, opened()):
        assert content(each) == before
        assert each.search("bread flour")[0].passage.name == "docs/kitchen.md"
    assert opened().add([folder]).changed == ("docs/kitchen.md",)
    assert library.search("rice water")[0].passage.text == "Rice needs water."


def _killed(path: Path, place: str) -> None:
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch, libraries(path) as open_:
        patch.setattr(place, die)
        open_().add([path / "docs"])


@pytest.mark.parametrize(
    "place", ["retrieval.index.vectors.faiss.write_index", "retrieval.index.row.LibraryRows.set_state"]
)
def test_a_kill_in_mid_build_leaves_the_old_index_working(
    opened: Opened, folder: Path, tmp_path: Path, place: str
) -> None:
    opened().add([folder])
    before = content(opened())
    (folder / "kitchen.md").write_text("# Kitchen\n\nRice needs water.\n")
    assert end(start(_killed, tmp_path, place)) == -signal.SIGKILL
    library = opened()
    assert content(library) == before
    assert library.search("bread flour")[0].passage.name == "docs/kitchen.md"
    assert library.add([folder]).changed == ("docs/kitchen.md",)
    assert library.search("rice water")[0].passage.text == "Rice needs water."


def test_what_a_crash_left_is_not_taken_for_the_revision_of_another_machine(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (opened(data=name, database_url=f"sqlite:///{tmp_path / 'shared.db'}") for name in ("one", "two"))
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.index.row.LibraryRows.set_state", raising)
        with pytest.raises(Killed):
            one.add([("a.md", b"Apples are red.")])
    two.add([("b.md", b"Bread needs flour.")])
    (hit,) = one.search("bread flour")
    assert (hit.passage.name, hit.lexical_rank) == ("b.md", 1)
    assert hit.cosine == pytest.approx(two.search("bread flour")[0].cosine)
    assert [each.lexical_rank for each in one.search("apples red")] == [None]


def index_files(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "data/library").iterdir() if path.suffix in (".faiss", ".npz"))


def test_old_index_files_are_removed(library: Library, tmp_path: Path) -> None:
    for number in range(5):
        library.add([(f"{number}.md", b"Some text.")])
    assert len(index_files(tmp_path)) <= 3, "one of vectors, and of words as many as the logarithm"


def test_adding_to_a_library_reads_and_cuts_only_what_is_new(
    opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().add([folder])
    library, cut = opened(), list[str]()
    assert library.search("bread flour")

    def counted(text: str, by: Cut) -> list[str]:
        cut.append(text)
        return words_of(text, by)

    monkeypatch.setattr(segment, "cut_passage_words", counted)
    monkeypatch.setattr(LibraryRows, "slots", raising)
    monkeypatch.setattr(LibraryRows, "texts", lambda _, hashes: {} if not hashes else raising())
    library.add([("rice.md", b"Rice needs water.")])
    library.set_type(library.documents()[0].id, "guide")
    assert [text.splitlines()[-1] for text in cut] == ["Rice needs water."]
    assert library.search("rice water")[0].passage.name == "rice.md"


def test_vectors_that_nothing_uses_are_looked_for_once_a_day(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, library, now = list[float](), opened(), time.time()
    monkeypatch.setattr(LibraryRows, "drop_vectors", lambda _, before: looked.append(before))
    for later in (0.0, 60.0, 2 * published.SWEEP_SECONDS):
        monkeypatch.setattr("retrieval.index.published.time.time", lambda later=later: now + later)
        library.add([(f"{later}.md", b"Some text.")])
    assert looked == [now - published.UNUSED_SECONDS, now + 2 * published.SWEEP_SECONDS - published.UNUSED_SECONDS]


def test_a_type_changes_with_the_revision_or_not_at_all(
    opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = opened()
    library.add([folder])
    before = content(library)
    with monkeypatch.context() as patch:
        patch.setattr("retrieval.index.row.LibraryRows.set_state", raising)
        with pytest.raises(Killed):
            library.set_type(library.documents()[0].id, "guide")
    assert content(opened()) == before


def test_words_that_other_rules_cut_are_cut_anew(
    opened: Opened, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().add([folder])
    old = {path for path in index_files(tmp_path) if path.name.startswith("lexical-")}
    monkeypatch.setattr(lexical, "build_cut_edition", lambda cut: f"{cut}-new")
    library = opened()
    assert library.search("bread flour")[0].lexical_rank == 1
    library.add([("rice.md", b"Rice needs water.")])
    assert not old & set(index_files(tmp_path))
    assert opened().search("rice water")[0].passage.name == "rice.md"


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"x" + data[1:], lambda _: b""])
def test_a_damaged_index_says_so_and_is_rebuilt_without_embedding(
    opened: Opened, folder: Path, tmp_path: Path, words: Words, damage: Callable[[bytes], bytes]
) -> None:
    opened().add([folder])
    for path in index_files(tmp_path):
        path.write_bytes(damage(path.read_bytes()))
    words.made.clear()
    library = opened()
    with pytest.raises(LibraryCorrupt):
        library.search("bread")
    assert wants(library) == "corrupt"
    assert len(library.documents()) == 2
    assert library.rebuild()
    assert wants(library) is None
    assert words.made == []
    assert library.search("bread flour")[0].passage.name == "docs/kitchen.md"


def test_missing_index_files_are_made_again_from_the_rows(
    opened: Opened, folder: Path, tmp_path: Path, words: Words
) -> None:
    opened().add([folder])
    for path in index_files(tmp_path):
        path.unlink()
    words.made.clear()
    assert opened().search("bread flour")[0].passage.name == "docs/kitchen.md"
    assert words.made == []


def test_another_model_means_a_rebuild_and_says_so(opened: Opened, folder: Path) -> None:
    opened().add([folder])
    other = Words("other words")
    library = opened(other)
    with pytest.raises(LibraryModelChanged):
        library.search("bread")
    with pytest.raises(LibraryModelChanged):
        library.add([folder])
    assert wants(library) == "model"
    stop = threading.Event()
    stop.set()
    assert not library.rebuild(stop=stop)
    assert library.rebuild()
    assert len(other.made) == 3
    assert library.search("bread flour")[0].passage.name == "docs/kitchen.md"


class Away(Words):
    """A model whose server cannot be reached."""

    def query(self, text: str) -> Vectors:
        raise EmbeddingFailed(model=self.name, reason="it is off")

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.query("size"))


@pytest.mark.parametrize("now", [Away("other words"), Away()], ids=["another model", "the same"])
def test_documents_can_be_removed_and_retyped_without_a_model(opened: Opened, folder: Path, now: Words) -> None:
    opened().add([folder, ("note.md", b"Lemons are sour.")])
    library = opened(now)
    ids = {each.name: each.id for each in library.documents()}
    library.remove(ids["note.md"])
    library.set_type(ids["docs/kitchen.md"], "faq")
    if now.name == "words":
        assert wants(library) is None
    else:
        with pytest.raises(LibraryModelChanged):
            library.search("bread")
    back = opened(Words())
    assert {hit.passage.name for hit in back.search("bread flour", Filters("faq"))} == set(ids) - {"note.md"}
    library.remove(ids["docs/kitchen.md"], ids["docs/faq/fruit.md"])
    assert back.search("bread") == []
    assert library.documents() == []


def test_a_failing_embedder_is_told_and_the_library_stays(library: Library, folder: Path, words: Words) -> None:
    library.add([folder / "kitchen.md"])

    def fail() -> None:
        raise EmbeddingFailed(model="words", reason="it is off")

    words.before = fail
    with pytest.raises(EmbeddingFailed):
        library.add([folder])
    assert library.search("bread")[0].passage.name == "kitchen.md"


def test_vectors_survive_storage_within_half_precision(library: Library, folder: Path, words: Words) -> None:
    library.add([folder])
    hit = library.search("Bread needs flour and patience.")[0]
    exact = float(
        words.query("Bread needs flour and patience.") @ words.query("Kitchen › Baking bread\n" + hit.passage.text)
    )
    assert hit.cosine == pytest.approx(exact, abs=2e-3)


STEP = st.tuples(
    st.sampled_from("abc"), st.sampled_from(["", "Red fox.", "Blue fox.\n\n## More\n\nOld owl.", "Red fox."])
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=1, max_size=6))
def test_any_sequence_of_changes_equals_a_rebuild(
    steps: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("sequence")
    (path / "docs").mkdir()
    with libraries(path) as open_:
        library = open_()
        for name, text in steps:
            file = path / "docs" / f"{name}.md"
            if text:
                file.write_text(text)
            else:
                file.unlink(missing_ok=True)
            library.add([path / "docs"])
        fresh = open_(data="fresh")
        fresh.add([path / "docs"])
        assert content(library) == content(fresh)
        for query in ("red fox", "old owl", "blue"):
            one, two = (
                [(hit.passage.text, round(hit.score, 4)) for hit in each.search(query)] for each in (library, fresh)
            )
            assert sorted(one) == sorted(two)


def _write(data: Path, folder: Path, rounds: int) -> None:
    with libraries(data.parent) as open_:
        library = open_()
        for number in range(rounds):
            (folder / "kitchen.md").write_text(f"# Kitchen\n\nBread number {number}.\n")
            library.add([folder])


def test_one_process_searches_while_another_writes(opened: Opened, folder: Path, tmp_path: Path) -> None:
    library, rounds = opened(), 12
    library.add([folder])
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(tmp_path / "data", folder, rounds))
    writer.start()
    seen = set()
    while writer.is_alive():
        hits = library.search("bread", Filters("guide"))
        assert len(hits) == 1, "there is always exactly one guide"
        seen.add(hits[0].passage.text)
    writer.join()
    assert writer.exitcode == 0
    assert library.search("bread", Filters("guide"))[0].passage.text == f"Bread number {rounds - 1}."
    assert len(seen) > 1


def test_two_writers_at_once_lose_nothing(opened: Opened, tmp_path: Path) -> None:
    one, two = opened(), opened()

    def add(library: Library, name: str) -> None:
        for number in range(8):
            library.add([(f"{name}{number}.md", f"Text {name} {number}.".encode())])

    work = [threading.Thread(target=add, args=each) for each in ((one, "x"), (two, "y"))]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(one.documents()) == 16
    assert len({hit.passage.id for hit in one.search("Text", k=50)}) == 16


def test_a_file_that_is_given_twice_is_added_and_named_once(library: Library, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nApples are red.\n")
    done = library.add([tmp_path, tmp_path / "a.md", ("b.md", b"Pears.\n"), ("b.md", b"Plums.\n")])
    assert done.added == ("a.md", "b.md")
    assert library.search("plums")[0].passage.text == "Plums."
    assert len(library.documents()) == 2
    again = library.add([("b.md", b"Pears.\n")])
    assert (again.changed, len(library.documents())) == (("b.md",), 2)
