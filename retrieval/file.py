"""Index files: written beside their place and moved there whole, with a checksum that reading looks at."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errors import GieokError, LibraryCorrupt
from store.database import translated

_STEP = 1 << 20


@contextmanager
def published(path: Path) -> Iterator[Path]:
    """A file to write; at the end it stands at ``path`` with its checksum, on the disk. Disk errors become ours."""
    part = path.with_name(f"{path.name}.part")
    with translated(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        _flush(part)
        sum_file = path.with_name(f"{path.name}.sum")
        sum_file.write_text(str(_checksum(part)), "ascii")
        _flush(sum_file)
        os.replace(part, path)  # noqa: PTH105
        _flush(path.parent)


@contextmanager
def checked(path: Path) -> Iterator[None]:
    """Raises ``FileNotFoundError`` when there is no such file, ``LibraryCorrupt`` when it is not what was written."""
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        expected = int(path.with_name(f"{path.name}.sum").read_text("ascii"))
        if _checksum(path) != expected:
            raise ValueError("its checksum is wrong")
        yield
    except GieokError:
        raise
    except Exception as error:  # what a library says of a damaged file has no common class
        if not path.exists():  # a writer has just removed it
            raise FileNotFoundError(path) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
        raise LibraryCorrupt(path=str(path), reason=reason, reason_code="unreadable", detail=reason) from error


def prune(folder: Path, kind: str, keep: Collection[str]) -> None:
    """Removes all other files «kind-…», each before its checksum: who is just opening one finds it gone."""
    for path in sorted(folder.glob(f"{kind}-*")):
        if path.name.removesuffix(".part").removesuffix(".sum") not in keep:
            with suppress(OSError):  # a system that keeps open files: the next one removes it
                path.unlink()


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            value = zlib.crc32(piece, value)
    return value


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
