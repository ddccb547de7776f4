"""``python cli.py index``: documents into the library from the command line, with progress and a summary."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from door.phrase import ErrorText, Language, phrase
from retrieval import Added, DocType, Library, Progress
from retrieval.batch import index
from retrieval.own import first_run

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class Indexing:
    """One call of the command. ``out`` gets the summaries (one JSON object each when ``as_json``), ``err`` the rest."""

    def __init__(
        self, library: Library, out: Console, err: Console, language: Language, error_text: ErrorText, *, as_json: bool
    ) -> None:
        self._library, self._out, self._err = library, out, err
        self._language, self._error_text, self._as_json = language, error_text, as_json
        self._stop = threading.Event()

    def add(self, paths: Sequence[Path], doc_type: DocType | None = None, *, watch: bool = False) -> int:
        """Adds files and folders; with ``watch`` until Ctrl-C. Returns the exit code: 1 when a file failed."""
        failed = False
        with _interrupts(self._stop), self._shown() as progress:
            for done in index(self._library, paths, doc_type, progress=progress, stop=self._stop, watch=watch):
                self._say(done)
                failed = failed or bool(done.failed)
                if done.cancelled:
                    return INTERRUPTED
                if watch:
                    self._note("index.watching")
        return 1 if failed else 0

    def begin(self) -> int:
        """Adds the product's own documents where nothing was ever added, as an app does when it opens."""
        if not self._library.is_new:
            return 0
        with _interrupts(self._stop), self._shown() as progress:
            done = first_run(self._library, progress=progress, stop=self._stop)
        if done is None or not done.cancelled:
            return 0
        self._note("index.cancelled")
        return INTERRUPTED

    def rebuild(self) -> int:
        """Makes the index anew from what the database holds."""
        with _interrupts(self._stop), self._shown() as progress:
            self._note("index.rebuilding")
            whole = self._library.rebuild(progress=progress, stop=self._stop)
        if not whole:
            self._note("index.cancelled")
            return INTERRUPTED
        if self._as_json:
            self._out.print_json(data={"rebuilt": True, **asdict(self._library.status)})
        else:
            self._out.print(phrase(self._language, "index.rebuilt"))
        return 0

    @contextmanager
    def _shown(self) -> Iterator[Callable[[Progress], None]]:
        """A line that says where it is, on a terminal only."""
        with self._err.status("", spinner_style="dim") as status:
            yield lambda at: self._show(status, at)

    def _show(self, status: Status, at: Progress) -> None:
        said = phrase(self._language, "index.reading", file=at.file, files=at.files, name=at.name) if at.name else ""
        share = f" {at.passage}/{at.passages}" if at.passages else ""
        status.update(escape(f"{said}{share}"))

    def _say(self, done: Added) -> None:
        if self._as_json:
            self._out.print(json.dumps(self._plain(done), ensure_ascii=False), markup=False, highlight=False)
            return
        for _, error in done.failed:
            said, do = self._error_text(error.code, error.text(), error.values)
            self._err.print(phrase(self._language, "index.failed", said=said, do=do), style="red", markup=False)
        counts = {name: len(getattr(done, name)) for name in ("added", "changed", "unchanged", "removed", "failed")}
        numbers = {"passages": done.passages, "embedded": done.embedded, "seconds": done.seconds}
        self._out.print(phrase(self._language, "index.done", **counts, **numbers), markup=False, highlight=False)
        if done.cancelled:
            self._note("index.cancelled")

    def _plain(self, done: Added) -> dict[str, Any]:
        failed = [
            {"name": name, "code": error.code, "message": self._error_text(error.code, error.text(), error.values)[0]}
            for name, error in done.failed
        ]
        names = {name: list(getattr(done, name)) for name in ("added", "changed", "unchanged", "removed")}
        numbers = {"passages": done.passages, "embedded": done.embedded, "seconds": round(done.seconds, 3)}
        return {**names, "failed": failed, **numbers, "cancelled": done.cancelled}

    def _note(self, key: str) -> None:
        self._err.print(phrase(self._language, key), markup=False, highlight=False)


@contextmanager
def _interrupts(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C stops after the passage being embedded, the second one at once."""
    if threading.current_thread() is not threading.main_thread():  # only there signals can be heard
        yield
        return

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
