"""Adding documents from the command line: ``python cli.py index PATH…``."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from errors import EmbeddingFailed, LibraryBusy
from retrieval.change import Added, AddingProgress, leads_out
from retrieval.document import DocType
from retrieval.library import Library
from retrieval.read.load import SUFFIXES
from retrieval.read.site import Page

POLL_SECONDS = 2.0
"""Seconds between two checks of the files while watching."""
NICE = 10
"""What is added to the priority number of a process, or a thread, that indexes: answers go first."""


def index_paths(
    library: Library,
    paths: Sequence[Path | Page],
    doc_type: DocType | None = None,
    *,
    progress: Callable[[AddingProgress], None] = lambda _: None,
    stop: threading.Event | None = None,
    watch: bool = False,
    follow_links: bool = False,
) -> Iterator[Added]:
    """Adds the paths to the library and yields the outcome of each pass: of one pass, or with ``watch`` of one more
    after every change of a file, until ``stop`` is set. Only the first pass reads web pages.

    ``follow_links``: see ``Library.add``. Raises what ``Library.add`` raises; a path that does not exist is listed as
    failed. With ``watch``, ``EmbeddingFailed`` and ``LibraryBusy`` are not raised: the first of several equal errors is
    yielded as a failure without a name, and every later check tries again.
    """
    halt = stop or threading.Event()
    last_fault, targets = "", [*paths]
    files = [path for path in paths if isinstance(path, Path)]
    while True:
        stamps = _collect_file_stamps(files, follow_links)
        try:
            outcome, fault = library.add(targets, doc_type, follow_links=follow_links, progress=progress, stop=halt), ""
        except (EmbeddingFailed, LibraryBusy) as error:
            if not watch:
                raise
            outcome, fault = Added(failed=(("", error),)), str(error)
        if not fault or fault != last_fault:
            yield outcome
        last_fault = fault
        if not watch:
            return
        targets = targets if fault else [*files]
        while not halt.wait(POLL_SECONDS):
            if last_fault or _collect_file_stamps(files, follow_links) != stamps:
                break
        else:
            return
        time.sleep(0.2)  # another program may still be writing the file


def _collect_file_stamps(paths: Sequence[Path], follow_links: bool) -> dict[Path, tuple[float, int]]:
    """Returns time and size of every file to index. A link that leads out of its folder and is not followed counts with
    its own time and size."""
    stamps: dict[Path, tuple[float, int]] = {}
    for path in paths:
        files = [file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES] if path.is_dir() else [path]
        for file in files:
            with contextlib.suppress(OSError):
                stat = file.stat() if follow_links or not leads_out(file, path) else file.lstat()
                stamps[file] = (stat.st_mtime, stat.st_size)
    return stamps
