"""The Markdown files of a world: what is read, what is refused, how a file is replaced."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from errors import BadWorldFile
from tests.table import table
from world.file.file import MOST_BYTES, MOST_FILES, WorldFiles
from world.file.front import LiveStateFile

LIVE = LiveStateFile("2026-01-02T03:04:05+00:00", 5, 31, "위치: 숲")


@pytest.fixture
def files(tmp_path: Path) -> WorldFiles:
    return WorldFiles(tmp_path / "world")


def put(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / "world" / "w1" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_world_without_a_folder_has_no_files(files: WorldFiles) -> None:
    found = files.all("w1")
    assert (found.prefix, found.further, found.live, found.problems) == (None, (), None, ())


def test_what_is_written_is_read(files: WorldFiles) -> None:
    files.write("w1", "stable_prefix.md", "# 세계\n")
    files.write("w1", "npc.md", "---\nbudget: 120\n---\n\n에르겐\n")
    files.write_live("w1", "s1", LIVE)
    files.write_story("w1", "s1", "이야기")
    found = files.all("w1", "s1")
    assert found.prefix
    assert found.prefix.body == "# 세계"
    assert [(file.name, file.body, file.budget, file.choose_budget(9)) for file in found.further] == [
        ("npc.md", "에르겐", 120, 120)
    ]
    assert found.live == LIVE
    assert files.text("w1", "npc.md") == "---\nbudget: 120\n---\n\n에르겐\n"
    assert files.names("w1") == ["npc.md", "stable_prefix.md"]
    assert files.all("w1", "s2").live is None
    assert files.all("w2").prefix is None


def test_the_live_file_has_a_front_matter(files: WorldFiles, tmp_path: Path) -> None:
    for name in ("live_state.md", "story.md"):
        put(tmp_path, name, "of all stories of the world, as an earlier version wrote it")
    files.write_live("w1", "s1", LIVE)
    assert [path.name for path in (tmp_path / "world" / "w1").iterdir()] == ["s1"]
    text = (tmp_path / "world" / "w1" / "s1" / "live_state.md").read_text("utf-8")
    assert text == "---\nupdated_at: 2026-01-02T03:04:05+00:00\nturn: 5\nnode: 31\n---\n위치: 숲\n"


def test_a_change_on_the_disk_is_seen(files: WorldFiles, tmp_path: Path) -> None:
    path = put(tmp_path, "npc.md", "old")
    assert files.read("w1", "npc.md").body == "old"
    path.write_text("newer", "utf-8")
    assert files.read("w1", "npc.md").body == "newer"
    files.write("w1", "npc.md", "other")
    assert files.read("w1", "npc.md").body == "other"
    files.remove("w1", "npc.md")
    assert files.all("w1").further == ()


def test_an_unchanged_file_is_not_read_again(files: WorldFiles, tmp_path: Path) -> None:
    path = put(tmp_path, "npc.md", "one")
    first = files.read("w1", "npc.md")
    path.chmod(0)
    try:
        assert files.read("w1", "npc.md") is first
    finally:
        path.chmod(0o600)


@table(
    ("name", "data", "code"),
    [
        ("npc.md", b"\xff\xfe\xfa", "no_utf8"),
        ("npc.md", "---\nbudget: [\n---\ntext", "front"),
        ("npc.md", "---\n- a\n---\ntext", "front"),
        ("npc.md", "---\nbudget: many\n---\ntext", "budget"),
        ("npc.md", "---\nbudget: true\n---\ntext", "budget"),
        ("npc.md", "---\nbudget: -1\n---\ntext", "budget"),
        ("npc.md", "x" * (MOST_BYTES + 1), "size"),
        ("s1/live_state.md", "written by somebody", "front"),
        ("s1/live_state.md", "---\nturn: five\nnode: 3\n---\n", "front"),
        ("세력.md", "text", "name"),
        ("NPC.md", "text", "name"),
    ],
)
def test_a_damaged_or_foreign_file_is_named_and_stops_nothing(
    name: str, data: bytes | str, code: str, files: WorldFiles, tmp_path: Path
) -> None:
    put(tmp_path, "faction.md", "fine")
    path = put(tmp_path, name, data)
    found = files.all("w1", "s1")
    path.unlink()
    assert [(one.values["name"], one.values["reason_code"]) for one in found.problems] == [(path.name, code)]
    assert [file.name for file in found.further] == ["faction.md"]
    assert found.live is None


def test_only_what_looks_like_front_matter_is_one(files: WorldFiles) -> None:
    for text in ("--- not one\ntext", "text\n---\na: 1\n---", "---\nwithout an end"):
        files.write("w1", "npc.md", text)
        assert files.read("w1", "npc.md").body == text
    files.write("w1", "npc.md", "\ufeff---\r\nbudget: 3\r\n---\r\ntext")
    assert (files.read("w1", "npc.md").body, files.read("w1", "npc.md").budget) == ("text", 3)
    files.write("w1", "npc.md", "---\n---\ntext")
    assert files.read("w1", "npc.md").body == "text"


@table(
    "name",
    [
        "../secret.md",
        "a/b.md",
        "/etc/passwd",
        "npc.txt",
        ".md",
        "npc.md.md",
        "NPC.md",
        "세력.md",
        "a\x00.md",
        "npc.md\n",
        "",
    ],
)
def test_a_name_leads_nowhere_else(name: str, files: WorldFiles, tmp_path: Path) -> None:
    for use in (lambda: files.write("w1", name, "x"), lambda: files.read("w1", name), lambda: files.remove("w1", name)):
        with pytest.raises(BadWorldFile) as caught:
            use()
        assert caught.value.values["reason_code"] == "name"
    assert not (tmp_path / "world").exists()


@table("world", ["..", "a/b", "", "w1/..", "한글"])
def test_a_worlds_id_leads_nowhere_else(world: str, files: WorldFiles) -> None:
    with pytest.raises(BadWorldFile):
        files.write(world, "npc.md", "x")
    assert files.all(world).further == ()


def test_a_link_is_not_followed(files: WorldFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret", "utf-8")
    folder = put(tmp_path, "faction.md", "fine").parent
    (folder / "npc.md").symlink_to(secret)
    found = files.all("w1")
    assert [one.values["reason_code"] for one in found.problems] == ["link"]
    files.write("w1", "npc.md", "mine")
    assert secret.read_text("utf-8") == "secret"
    assert files.read("w1", "npc.md").body == "mine"


def test_what_is_written_is_private(files: WorldFiles, tmp_path: Path) -> None:
    files.write("w1", "npc.md", "x")
    folder = tmp_path / "world" / "w1"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "npc.md").stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == ["npc.md"]


def test_a_file_too_large_is_not_written(files: WorldFiles) -> None:
    files.write("w1", "npc.md", "old")
    with pytest.raises(BadWorldFile):
        files.write("w1", "npc.md", "가" * MOST_BYTES)
    assert files.read("w1", "npc.md").body == "old"


def test_a_reader_sees_one_whole_file(files: WorldFiles) -> None:
    """Two writers and a reader at once: every read is one of the two texts."""
    texts = ["a" * 50_000, "b" * 50_000]
    files.write("w1", "npc.md", texts[0])
    ended = threading.Event()
    broken: list[str] = []

    def read() -> None:
        while not ended.is_set():
            if (body := files.read("w1", "npc.md").body) not in texts:
                broken.append(body[:20])

    reader = threading.Thread(target=read)

    def write(text: str) -> None:
        for _ in range(60):
            files.write("w1", "npc.md", text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    ended.set()
    reader.join()
    assert broken == []
    assert files.names("w1") == ["npc.md"]


def test_a_folder_full_of_files_is_read_in_part(files: WorldFiles) -> None:
    for number in range(MOST_FILES + 5):
        files.write("w1", f"n{number:02}.md", "x")
    assert len(files.all("w1").further) == MOST_FILES


def test_a_deleted_world_leaves_no_folder(files: WorldFiles, tmp_path: Path) -> None:
    files.write("w1", "npc.md", "x")
    for story in ("s1", "s2"):
        files.write_story("w1", story, "x")
    files.remove_all("w1", "s1")
    assert sorted(path.name for path in (tmp_path / "world" / "w1").iterdir()) == ["npc.md", "s2"]
    files.remove_all("w1")
    files.remove_all("w1")
    assert not (tmp_path / "world" / "w1").exists()
