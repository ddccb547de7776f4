"""``python cli.py index``: adds documents to the library from the command line, with progress and a summary."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from door.terminal.interrupt import catch_interrupts
from retrieval import Added, AddingProgress, DocType, Library
from retrieval.batch import NICE, index_paths
from retrieval.product_docs import first_run
from retrieval.read.site import Page
from server.phrase import ErrorText, Language, render_phrase

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


class Indexing:
    """One call of the command. ``out`` gets the summaries (one JSON object each when ``as_json``), ``err`` the rest."""

    def __init__(
        self, library: Library, out: Console, err: Console, language: Language, error_text: ErrorText, *, as_json: bool
    ) -> None:
        self._library, self._out, self._err = library, out, err
        self._language, self._error_text, self._as_json = language, error_text, as_json
        self._stop = threading.Event()

    def add(
        self,
        paths: Sequence[Path | Page],
        doc_type: DocType | None = None,
        *,
        watch: bool = False,
        follow_links: bool = False,
    ) -> int:
        """Adds files, folders and pages; with ``watch`` until Ctrl-C. Returns the exit code: 1 when a document failed,
        ``INTERRUPTED`` after Ctrl-C."""
        failed = False
        with contextlib.suppress(OSError):  # an answer that another process makes meanwhile goes first
            os.nice(NICE)
        with catch_interrupts(self._stop), self._show_status() as progress:
            passes = index_paths(
                self._library,
                paths,
                doc_type,
                progress=progress,
                stop=self._stop,
                watch=watch,
                follow_links=follow_links,
            )
            for added in passes:
                self._say(added)
                failed = failed or bool(added.failed)
                if added.cancelled:
                    return INTERRUPTED
                if watch:
                    self._note("index.watching")
        return 1 if failed else 0

    def begin(self) -> int:
        """Adds the product's own documents to a new library, as the app does when it opens. Returns the exit code."""
        if not self._library.is_new:
            return 0
        with catch_interrupts(self._stop), self._show_status() as progress:
            added = first_run(self._library, progress=progress, stop=self._stop)
        if added is None or not added.cancelled:
            return 0
        self._note("index.cancelled")
        return INTERRUPTED

    def rebuild(self) -> int:
        """Builds the index anew from the documents in the database. Returns the exit code."""
        with catch_interrupts(self._stop), self._show_status() as progress:
            self._note("index.rebuilding")
            completed = self._library.rebuild(progress=progress, stop=self._stop)
        if not completed:
            self._note("index.cancelled")
            return INTERRUPTED
        if self._as_json:
            self._out.print_json(data={"rebuilt": True, **asdict(self._library.status)})
        else:
            self._out.print(render_phrase(self._language, "index.rebuilt"))
        return 0

    @contextmanager
    def _show_status(self) -> Iterator[Callable[[AddingProgress], None]]:
        """Shows a status line with the progress, on a terminal only."""
        with self._err.status("", spinner_style="dim") as status:
            yield lambda progress: self._show(status, progress)

    def _show(self, status: Status, at: AddingProgress) -> None:
        text = (
            render_phrase(self._language, "index.reading", file=at.file, files=at.files, name=at.name)
            if at.name
            else ""
        )
        share = f" {at.passage}/{at.passages}" if at.passages else ""
        status.update(escape(f"{text}{share}"))

    def _say(self, done: Added) -> None:
        if self._as_json:
            self._out.print(json.dumps(self._plain(done), ensure_ascii=False), markup=False, highlight=False)
            return
        for _, error in done.failed:
            message, do = self._error_text(error.code, error.text(), error.values)
            self._err.print(
                render_phrase(self._language, "index.failed", said=message, do=do), style="red", markup=False
            )
        counts = {name: len(getattr(done, name)) for name in ("added", "changed", "unchanged", "removed", "failed")}
        numbers = {"passages": done.passages, "embedded": done.embedded, "seconds": done.seconds}
        self._out.print(render_phrase(self._language, "index.done", **counts, **numbers), markup=False, highlight=False)
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
        self._err.print(render_phrase(self._language, key), markup=False, highlight=False)
