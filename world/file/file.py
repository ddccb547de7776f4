"""The Markdown files of worlds on the disk (specification 12.5 and 12.6): the user's own, live_state.md and story.md.

They lie in ``data_dir/world/<world id>/``; those that Gieok writes in a folder of each story there, named by its id.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import private
from errors import BadWorldFile
from world.file.card_file import CardFiles
from world.file.front import LiveStateFile, WorldFile, parse_live_file, parse_world_file

PREFIX = "stable_prefix.md"
"""The file that stands first in every prompt."""
LIVE = "live_state.md"
STORY = "story.md"
WRITTEN = (LIVE, STORY)
"""The files that Gieok writes for each story. A prompt gets what they show from the story's own turn, and live_state.md
where it is of that turn."""
MOST_FILES = 32
MOST_BYTES = 200_000
REMOVALS = 3
"""How often the removal of a folder is tried in which somebody writes meanwhile."""
_NAME = re.compile(r"[a-z0-9_-]{1,60}\.md")
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class Files:
    """What a world's folder holds. ``further``: the user's files beside the prefix, by name; ``live``: of one story.
    ``problems``: why a file was not read; it stops nothing."""

    prefix: WorldFile | None = None
    further: tuple[WorldFile, ...] = ()
    live: LiveStateFile | None = None
    problems: tuple[BadWorldFile, ...] = ()


class WorldFiles:
    """The folders of all worlds below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.cards = CardFiles(folder)

    def all(self, world: str, story: str = "") -> Files:
        """Reads the files of a world, with live_state.md of one of its stories; unchanged ones come from memory. Never
        raises for a file."""
        found: dict[str, WorldFile] = {}
        shown: LiveStateFile | None = None
        problems: list[BadWorldFile] = []
        for name in self.names(world):
            try:
                found[name] = self.read(world, name)
            except BadWorldFile as problem:
                problems.append(problem)
        try:
            shown = self.live(world, story) if story else None
        except BadWorldFile as problem:
            problems.append(problem)
        further = tuple(file for name, file in found.items() if name != PREFIX)
        return Files(found.get(PREFIX), further, shown, tuple(problems))

    def names(self, world: str) -> list[str]:
        """Returns the names of a world's Markdown files, sorted, without those that Gieok writes; at most
        ``MOST_FILES``."""
        try:
            found = sorted(path.name for path in self._of(world).iterdir() if path.suffix == ".md")
        except (OSError, BadWorldFile):
            return []
        return [name for name in found if name not in WRITTEN][:MOST_FILES]

    def live(self, world: str, story: str) -> LiveStateFile | None:
        """Returns live_state.md of a story; None where none is written. Raises ``BadWorldFile``."""
        if not self._path(world, LIVE, story).exists():
            return None
        return parse_live_file(self.read(world, LIVE, story))

    def read(self, world: str, name: str, story: str = "") -> WorldFile:
        """Reads a file. ``story``: whose it is, where Gieok writes it. Raises ``BadWorldFile``."""
        path = self._path(world, name, story)
        status = self._status(path)
        try:
            return _read_world_file(path, status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError as error:
            raise BadWorldFile(name=name, reason="it cannot be read", reason_code="unread") from error

    @staticmethod
    def _status(path: Path) -> os.stat_result:
        """Returns what the disk tells of a file that may be read. Raises ``BadWorldFile``."""
        name = path.name
        try:
            status = path.lstat()
            if not path.is_file() or path.is_symlink():
                raise BadWorldFile(name=name, reason="it is a link or no file", reason_code="link")
        except OSError as error:
            raise BadWorldFile(name=name, reason="it cannot be read", reason_code="unread") from error
        _check_size(name, status.st_size)
        return status

    def text(self, world: str, name: str) -> str:
        """Returns a file as it is, front matter included, for an editor; also one whose front matter is damaged, so
        that it can be mended. Raises ``BadWorldFile``."""
        self._status(self._path(world, name))
        try:
            return self._path(world, name).read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadWorldFile(name=name, reason="it is not UTF-8", reason_code="no_utf8") from error
        except OSError as error:
            raise BadWorldFile(name=name, reason="it cannot be read", reason_code="unread") from error

    def write(self, world: str, name: str, text: str, story: str = "") -> None:
        """Replaces or creates a file in one step, so that a reader sees the old or the new one. Raises ``OSError``, and
        ``BadWorldFile`` for a name, size or front matter that is not allowed."""
        path, data = self._path(world, name, story), text.encode("utf-8", "replace")
        _check_size(name, len(data))
        parse_world_file(name, data)
        private.make_folder(path.parent)
        temporary = path.with_name(f"{name}.{os.getpid()}-{threading.get_ident()}.tmp")
        try:
            with os.fdopen(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"
            ) as file:
                file.write(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def write_live(self, world: str, story: str, shown: LiveStateFile) -> None:
        """Writes live_state.md of a story. Raises ``OSError``."""
        self.write(world, LIVE, shown.text, story)
        for name in WRITTEN:  # an earlier version wrote one for all stories of a world
            self.remove(world, name)

    def write_story(self, world: str, story: str, text: str) -> None:
        """Writes story.md of a story. Raises ``OSError``."""
        self.write(world, STORY, f"{text.strip()}\n", story)

    def remove(self, world: str, name: str) -> None:
        """Removes a file, if there is one. Raises ``BadWorldFile`` for a name that is not allowed."""
        self._path(world, name).unlink(missing_ok=True)

    def remove_all(self, world: str, story: str = "") -> None:
        """Removes the folder of a world that was deleted, or that of one of its stories. Raises ``OSError``."""
        folder = self._of(world, story)
        for _ in range(REMOVALS):  # a turn that is still read may write a file there, or take its own away
            try:
                shutil.rmtree(folder)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                    raise
            if not folder.exists():
                return
        shutil.rmtree(folder)

    def _of(self, world: str, story: str = "") -> Path:
        for id in (world, story) if story else (world,):
            if not _ID.fullmatch(id):
                raise BadWorldFile(name=id, reason="this is no world's id", reason_code="world")
        return self._folder / world / story

    def _path(self, world: str, name: str, story: str = "") -> Path:
        if not _NAME.fullmatch(name):
            reason = "a name has small letters a to z, digits, _ and -, and ends with .md"
            raise BadWorldFile(name=name, reason=reason, reason_code="name")
        return self._of(world, story) / name


def _check_size(name: str, size: int) -> None:
    if size > MOST_BYTES:
        reason = f"it has more than {MOST_BYTES:,} bytes"
        raise BadWorldFile(name=name, reason=reason, reason_code="size", limit=MOST_BYTES)


@lru_cache(maxsize=512)
def _read_world_file(path: Path, modified: int, size: int, inode: int) -> WorldFile:
    """Reads a file; the last three arguments tell one state of it from another."""
    with path.open("rb") as file:
        return parse_world_file(path.name, file.read(MOST_BYTES))
