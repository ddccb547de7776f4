"""A file that the user named: private, whole or not at all, and never silently over another one."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from door.terminal.file import write_user_file
from errors import FileTaken, FileUnwritten
from tests.table import table


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder that this process may read but not write into, also when root runs the tests."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.rmdir()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_and_whole(tmp_path: Path) -> None:
    path = write_user_file(str(tmp_path / "대화.md"), "안녕\n")
    assert (path.read_text("utf-8"), mode(path)) == ("안녕\n", 0o600)
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


def test_a_name_may_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_user_file("~/chat.json", "{}") == tmp_path / "chat.json"


def test_an_existing_file_stays_unless_it_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    path.write_text("mine")
    path.chmod(0o644)
    with pytest.raises(FileTaken) as raised:
        write_user_file(str(path), "new")
    assert f"/export --force {path}" in raised.value.text()
    assert path.read_text() == "mine"
    write_user_file(str(path), "new", replace=True)
    assert (path.read_text(), mode(path)) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(FileTaken):
        write_user_file(str(link), "new")
    with pytest.raises(FileUnwritten):
        write_user_file(str(link), "new", replace=True)
    assert list(tmp_path.iterdir()) == [link]


@table(
    ("name", "reason"),
    [
        ("missing/chat.md", "no_folder"),
        ("file/chat.md", "no_folder"),
        ("folder", "no_file"),
        ("a" * 300, ""),
        ("a\0b", None),
        ("~nobody-of-this-name/chat.md", None),
    ],
)
def test_what_cannot_be_written_is_told_and_leaves_nothing(name: str, reason: str | None) -> None:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        (folder / "file").write_text("mine")
        (folder / "folder").mkdir()
        with pytest.raises(FileUnwritten) as raised:
            write_user_file(name if name.startswith("~") else f"{folder}/{name}", "new", replace=True)
        assert raised.value.values.get("reason_code") == reason
        assert raised.value.values["reason"]
        assert sorted(path.name for path in folder.iterdir()) == ["file", "folder"]


def test_a_folder_that_may_not_be_written_into_is_told(locked: Path) -> None:
    with pytest.raises(FileUnwritten) as raised:
        write_user_file(str(locked / "chat.md"), "new")
    assert raised.value.values["reason_code"] == "no_permission"
    assert list(locked.iterdir()) == []


def test_a_failure_in_the_middle_frees_the_name_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileUnwritten, match="No space left"):
        write_user_file(str(tmp_path / "chat.md"), "new")
    assert list(tmp_path.iterdir()) == []
