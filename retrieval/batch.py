"""Adding documents from the command line: ``python cli.py index PATH… [--type] [--watch]``."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from errors import EmbeddingFailed, LibraryBusy
from retrieval.change import Added, Progress
from retrieval.document import DocType
from retrieval.library import Library
from retrieval.load import SUFFIXES

POLL_SECONDS = 2.0
"""How often files are looked at while watching."""
NICE = 10


def index(
    library: Library,
    paths: Sequence[Path],
    doc_type: DocType | None = None,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    stop: threading.Event | None = None,
    watch: bool = False,
    polite: bool = True,
) -> Iterator[Added]:
    """What each pass did: one, or with ``watch`` one more after every change, until ``stop`` is set.

    ``polite``: this process steps behind others, so that an answer made meanwhile is not slowed. Raises what
    ``Library.add`` raises; a path that does not exist is told as failed. With ``watch`` so is, once and under no name,
    a model or a library that is away: it is tried again at every look.
    """
    halt = stop or threading.Event()
    if polite:
        with contextlib.suppress(OSError):
            os.nice(NICE)
    away = ""
    while True:
        seen = _stamps(paths)
        try:
            done, fault = library.add(paths, doc_type, progress=progress, stop=halt), ""
        except (EmbeddingFailed, LibraryBusy) as error:
            if not watch:
                raise
            done, fault = Added(failed=(("", error),)), str(error)
        if not fault or fault != away:
            yield done
        away = fault
        if not watch:
            return
        while not halt.wait(POLL_SECONDS):
            if away or _stamps(paths) != seen:
                break
        else:
            return
        time.sleep(0.2)  # whoever writes a file may still be writing it


def _stamps(paths: Sequence[Path]) -> dict[Path, tuple[float, int]]:
    """Time and size of every file meant."""
    found: dict[Path, tuple[float, int]] = {}
    for path in paths:
        inside = [each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES] if path.is_dir() else [path]
        for each in inside:
            with contextlib.suppress(OSError):
                found[each] = ((stat := each.stat()).st_mtime, stat.st_size)
    return found
