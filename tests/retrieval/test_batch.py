"""Indexing from the command line: folders, watching."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from errors import EmbeddingFailed
from retrieval import Added, Library, batch
from tests.retrieval.conftest import Words


def test_one_pass_says_what_it_did(library: Library, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples.")
    done = list(batch.index_paths(library, [tmp_path / "docs", tmp_path / "gone.md"], "faq"))
    assert [each.added for each in done] == [("docs/a.md",)]
    assert [(name, error.code) for name, error in done[0].failed] == [("gone.md", "document_missing")]
    assert [(document.name, document.doc_type) for document in library.documents()] == [("docs/a.md", "faq")]


def test_watching_follows_changes_until_it_is_stopped(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.02)
    folder, stop = tmp_path / "docs", threading.Event()
    folder.mkdir()
    (folder / "a.md").write_text("Apples.")
    passes = batch.index_paths(library, [folder], stop=stop, watch=True)
    assert next(passes).added == ("docs/a.md",)
    threading.Timer(0.1, lambda: (folder / "b.md").write_text("Pears.")).start()
    assert next(passes).added == ("docs/b.md",)
    threading.Timer(0.1, lambda: (folder / "a.md").unlink()).start()
    assert next(passes).removed == ("docs/a.md",)
    threading.Timer(0.1, stop.set).start()
    assert list(passes) == []


def test_watching_outlives_a_model_that_is_away(
    library: Library, words: Words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.02)
    (tmp_path / "a.md").write_text("Apples.")
    words.refuses = lambda _: True
    with pytest.raises(EmbeddingFailed):
        list(batch.index_paths(library, [tmp_path]))
    stop = threading.Event()
    passes = batch.index_paths(library, [tmp_path], stop=stop, watch=True)
    assert [(name, error.code) for name, error in next(passes).failed] == [("", "embedding_failed")]
    tries: list[int] = []

    def away(_: str) -> bool:
        tries.append(1)
        return len(tries) < 5

    words.refuses = away
    assert next(passes).added == (f"{tmp_path.name}/a.md",), "told once, and tried until it works"
    stop.set()
    assert list(passes) == []


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with a link that leads out of it and one that does not."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("The secret is blue.")
    (folder / "a.md").write_text("Apples.")
    (folder / "out.md").symlink_to(tmp_path / "secret.txt")
    (folder / "in.md").symlink_to("a.md")
    return folder


def test_a_link_that_leads_out_of_the_folder_is_left_out_unless_links_are_followed(
    library: Library, linked: Path
) -> None:
    def one(follow_links: bool = False) -> Added:
        (done,) = batch.index_paths(library, [linked], follow_links=follow_links)
        return done

    done = one()
    assert done.added == ("docs/a.md", "docs/in.md")
    ((name, error),) = done.failed
    assert (name, error.code, "--follow-links" in error.text()) == ("docs/out.md", "document_outside", True)
    assert [document.name for document in library.documents()] == ["docs/a.md", "docs/in.md"]
    assert one(follow_links=True).added == ("docs/out.md",)
    assert library.search("secret")[0].passage.text == "The secret is blue."
    assert one().removed == ("docs/out.md",), "what was read through it goes"


def test_watching_does_not_look_behind_a_link_that_leads_out(library: Library, linked: Path) -> None:
    target = linked.parent / "secret.txt"
    before, followed = batch._collect_file_stamps([linked], False), batch._collect_file_stamps([linked], True)
    target.write_text("The secret is longer now.")
    assert batch._collect_file_stamps([linked], False) == before
    assert batch._collect_file_stamps([linked], True) != followed
