"""Adding documents from the command line and at the first run: ``python cli.py index PATH… [--type] [--watch]``."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from retrieval.change import Added, Progress
from retrieval.document import DocType
from retrieval.library import Library
from retrieval.load import SUFFIXES

OWN = tuple(Path(__file__).parent.parent / "docs" / kind for kind in ("faq", "guide"))
"""The product's own FAQ and guides: what a first run indexes."""
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
    ``Library.add`` raises; a path that does not exist is listed as failed.
    """
    halt = stop or threading.Event()
    if polite:
        with contextlib.suppress(OSError):
            os.nice(NICE)
    while True:
        seen = _stamps(paths)
        yield library.add(paths, doc_type, progress=progress, stop=halt)
        if not watch:
            return
        while _stamps(paths) == seen:
            if halt.wait(POLL_SECONDS):
                return
        time.sleep(0.2)  # whoever writes a file may still be writing it


def first_run(
    library: Library, *, progress: Callable[[Progress], None] = lambda _: None, stop: threading.Event | None = None
) -> Added | None:
    """Indexes the product's own documents into a library that nothing was ever added to, the FAQ first; a run that was
    cut off goes on at the next start. Later only those that are still there and have changed, as an update of the
    product brings them: what was removed stays away. None when nothing was to do.
    """
    mark = library.folder / "first-run"
    if not (library.is_new or mark.exists()):
        return _own_again(library, progress, stop)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    done = [library.add([folder], progress=progress, stop=stop) for folder in OWN if folder.is_dir()]
    if not any(each.cancelled for each in done):
        mark.unlink(missing_ok=True)
    return _sum(done)


def _own_again(library: Library, progress: Callable[[Progress], None], stop: threading.Event | None) -> Added | None:
    roots = tuple(str(folder) for folder in OWN)
    own = [document for document in library.documents() if document.source.startswith(roots)]
    done = library.reindex(*(each.id for each in own if Path(each.source).exists()), progress=progress, stop=stop)
    return done if done.changed or done.failed or done.cancelled else None


def _sum(done: Sequence[Added]) -> Added:
    """Several additions as one."""
    return Added(
        added=tuple(name for each in done for name in each.added),
        changed=tuple(name for each in done for name in each.changed),
        unchanged=tuple(name for each in done for name in each.unchanged),
        removed=tuple(name for each in done for name in each.removed),
        failed=tuple(failure for each in done for failure in each.failed),
        passages=sum(each.passages for each in done),
        embedded=sum(each.embedded for each in done),
        seconds=sum(each.seconds for each in done),
        cancelled=any(each.cancelled for each in done),
    )


def _stamps(paths: Sequence[Path]) -> dict[Path, tuple[float, int]]:
    """Time and size of every file meant."""
    found: dict[Path, tuple[float, int]] = {}
    for path in paths:
        inside = [each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES] if path.is_dir() else [path]
        for each in inside:
            with contextlib.suppress(OSError):
                found[each] = ((stat := each.stat()).st_mtime, stat.st_size)
    return found
