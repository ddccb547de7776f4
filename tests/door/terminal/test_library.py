"""``cli.py index``: progress, a summary, errors by file, going on, watching, rebuilding."""

from __future__ import annotations

import io
import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from component.page.catalogue import Words as Catalogue
from door.terminal.library import INTERRUPTED, Indexing
from errors import LibraryCorrupt
from retrieval import Library, batch
from tests.retrieval.conftest import Opened, Words, libraries


class Called:
    """The command over a library, and what it printed."""

    def __init__(self, library: Library, *, as_json: bool = False, language: Any = "en") -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        out, err = (Console(file=file, width=200, soft_wrap=True) for file in (self._out, self._err))
        self.run = Indexing(library, out, err, language, Catalogue(language).error, as_json=as_json)

    @property
    def out(self) -> str:
        return self._out.getvalue()

    @property
    def err(self) -> str:
        return self._err.getvalue()


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def opened(tmp_path: Path, words: Words) -> Any:
    with libraries(tmp_path, words) as open_:
        yield open_


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "apples.md").write_text("# Apples\n\nApples are red.\n")
    (made / "pears.md").write_text("# Pears\n\nPears are green.\n")
    return made


@pytest.fixture(autouse=True)
def in_its_own_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test must not make the whole test process polite for good."""
    monkeypatch.setattr("os.nice", lambda _: 0)


def test_a_folder_is_added_and_summed_up(opened: Opened, folder: Path) -> None:
    first, second = Called(library := opened()), Called(library)
    assert first.run.add([folder], "faq") == 0
    assert "2 added, 0 changed, 0 unchanged, 0 removed, 0 failed" in first.out
    assert {document.doc_type for document in library.documents()} == {"faq"}
    (folder / "pears.md").unlink()
    assert second.run.add([folder]) == 0
    assert "0 added, 0 changed, 1 unchanged, 1 removed, 0 failed" in second.out


def test_a_bad_file_is_told_by_name_and_the_rest_goes_on(opened: Opened, folder: Path) -> None:
    (folder / "empty.md").write_text("")
    called = Called(library := opened())
    assert called.run.add([folder, folder / "gone.md"]) == 1
    assert "'empty.md' has no text" in called.err.replace("docs/", "")
    assert "gone.md" in called.err
    assert "2 added, 0 changed, 0 unchanged, 0 removed, 2 failed" in called.out
    assert library.search("pears")


def test_errors_are_told_in_korean(opened: Opened, folder: Path) -> None:
    (folder / "empty.md").write_text("")
    called = Called(opened(), language="ko")
    called.run.add([folder])
    assert "empty.md" in called.err
    assert "has no text" not in called.err
    assert "추가 2" in called.out


def test_json_is_one_object_a_pass(opened: Opened, folder: Path) -> None:
    (folder / "empty.md").write_text("")
    called = Called(opened(), as_json=True)
    assert called.run.add([folder]) == 1
    (line,) = called.out.splitlines()
    printed = json.loads(line)
    assert len(printed["added"]) == 2
    assert [each["code"] for each in printed["failed"]] == ["document_empty"]
    assert printed["cancelled"] is False


def test_ctrl_c_keeps_what_is_done_and_the_next_call_goes_on(opened: Opened, folder: Path, words: Words) -> None:
    before = signal.getsignal(signal.SIGINT)
    words.before = lambda: signal.raise_signal(signal.SIGINT) if not words.made else None
    called = Called(opened())
    assert called.run.add([folder]) == INTERRUPTED
    assert "goes on from here" in called.err
    assert signal.getsignal(signal.SIGINT) == before
    made = len(words.made)
    again = Called(library := opened())
    assert again.run.add([folder]) == 0
    assert len(library.documents()) == 2
    assert len(words.made) - made < 2 + 1, "what was embedded is not embedded again"


def test_watching_follows_changes(opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.02)
    called = Called(library := opened())
    steps: list[Callable[[], object]] = [
        lambda: (folder / "plums.md").write_text("Plums are blue."),
        lambda: signal.raise_signal(signal.SIGINT),
    ]
    says = called.run._say

    def say(done: Any) -> None:
        says(done)
        threading.Timer(0.05, steps.pop(0)).start()

    monkeypatch.setattr(called.run, "_say", say)
    assert called.run.add([folder], watch=True) == 0
    assert "1 added" in called.out.splitlines()[1]
    assert library.search("plums")[0].passage.name.endswith("plums.md")


def test_a_damaged_index_is_rebuilt_without_embedding(opened: Opened, folder: Path, words: Words) -> None:
    library = opened()
    Called(library).run.add([folder])
    made = len(words.made)
    for file in library.folder.iterdir():
        file.write_bytes(b"rubbish")
    damaged = opened()
    with pytest.raises(LibraryCorrupt, match=r"cli\.py index --rebuild"):
        damaged.search("pears")
    called = Called(damaged)
    assert called.run.rebuild() == 0
    assert "made anew" in called.out
    assert damaged.search("pears")[0].passage.name.endswith("pears.md")
    assert len(words.made) == made


def test_a_link_that_leads_out_is_told_and_followed_only_when_asked(
    opened: Opened, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("Secrets are blue.")
    (folder / "link.md").symlink_to(tmp_path / "secret.txt")
    first, second = Called(library := opened()), Called(library)
    assert first.run.add([folder]) == 1
    assert "--follow-links" in first.err
    assert second.run.add([folder], follow_links=True) == 0
    assert "1 added" in second.out
