"""Index files: written under a temporary name, moved into place whole, and read only if their checksum is right."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import private
from errors import GieokError, LibraryCorrupt
from store.database.engine import translate_database_errors

_STEP = 1 << 20


@contextmanager
def publish_index_file(path: Path) -> Iterator[Path]:
    """Yields a path to write to; afterwards the file is at ``path`` with its checksum, flushed to the disk. Translates
    errors of the disk into errors of Gieok."""
    part = path.with_name(f"{path.name}.part")
    with translate_database_errors(str(path)):
        sum_file = path.with_name(f"{path.name}.sum")
        private.make_folder(path.parent)
        private.make_file(part)
        private.make_file(sum_file)
        yield part
        _flush_path(part)
        sum_file.write_text(str(_compute_checksum(part)), "ascii")
        _flush_path(sum_file)
        os.replace(part, path)  # noqa: PTH105
        _flush_path(path.parent)


@contextmanager
def verify_index_file(path: Path) -> Iterator[None]:
    """Verifies a file before the caller reads it. Raises ``FileNotFoundError`` when there is no such file,
    ``LibraryCorrupt`` when its content is not what was written or the caller fails to read it."""
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        expected = int(path.with_name(f"{path.name}.sum").read_text("ascii"))
        if _compute_checksum(path) != expected:
            raise ValueError("its checksum is wrong")
        yield
    except GieokError:
        raise
    except Exception as error:  # libraries raise unrelated classes for a damaged file
        if not path.exists():  # a writer has just removed it
            raise FileNotFoundError(path) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
        raise LibraryCorrupt(path=str(path), reason=reason, reason_code="unreadable", detail=reason) from error


def prune_index_files(folder: Path, kind: str, keep: Collection[str]) -> None:
    """Removes all other files «kind-…», each before its checksum, so that a process about to open one gets
    ``FileNotFoundError``."""
    for path in sorted(folder.glob(f"{kind}-*")):
        if path.name.removesuffix(".part").removesuffix(".sum") not in keep:
            with suppress(OSError):  # some systems keep a file that is open: the next call removes it
                path.unlink()


def _compute_checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            value = zlib.crc32(piece, value)
    return value


def _flush_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
