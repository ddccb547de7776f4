"""Changing the library: files in, one by one, and a new revision published in one step.

Reading and embedding need no lock, and each vector is kept as soon as it is made: a run that is stopped or killed goes
on there. Publishing holds the library's lock: index files of the next revision are written first, then one transaction
changes the rows and raises the revision. Until then everybody searches the old one.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from errors import (
    DocumentBroken,
    DocumentEmpty,
    DocumentError,
    DocumentMissing,
    DocumentNotEmbedded,
    DocumentTooLarge,
    EmbeddingFailed,
    GieokError,
)
from model.stream import Stopped
from retrieval.document import DocType
from retrieval.embed import Embedder, Vectors
from retrieval.load import SUFFIXES, label, load
from retrieval.row import Known, Rows, digest, embedded_text
from retrieval.split import Piece, split
from text.language import detect

PASSAGES, SECONDS = 2000, 60.0
"""What is published at once, at most: passages, and the time since the last publishing."""
_FAQ = ("faq", "faqs", "자주묻는질문")
_PROBE = "Hello."
UPLOAD = "upload:"
"""How the source of an upload begins; its file is not kept."""
Upload = tuple[str, bytes]
Pause = Callable[[], None]
"""Called before each embedding; may wait while an answer is being made."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an addition is: files, and passages of the file ``name`` that are embedded."""

    name: str
    file: int
    files: int
    passage: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """What an addition did, by document name. ``failed``: name and error; ``cancelled``: stopped before its end."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[tuple[str, GieokError], ...] = ()
    passages: int = 0
    embedded: int = 0
    seconds: float = 0.0
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A file to take in. ``read`` gives its bytes or raises a ``DocumentError``; ``key`` tells it from all others."""

    name: str
    source: str
    read: Callable[[], bytes]

    @property
    def key(self) -> str:
        return digest(self.source)


@dataclass(frozen=True, slots=True)
class Staged:
    """A document ready to be published; ``pieces`` empty and ``error`` set when it failed."""

    source: Source
    asked_type: DocType | None
    doc_type: DocType
    title: str
    language: str
    hash: str
    size: int
    pieces: tuple[Piece, ...] = ()
    error: dict[str, Any] | None = None

    def texts(self) -> list[str]:
        return [embedded_text(self.title, piece.path, piece.text) for piece in self.pieces]


class Cancelled(Exception):
    """The addition was stopped."""


@dataclass
class Intake:
    """One addition. ``publish(staged)`` makes what is ready searchable."""

    rows: Rows
    embedder: Embedder
    limit: int
    publish: Callable[[Sequence[Staged]], None]
    progress: Callable[[Progress], None]
    stop: threading.Event
    pause: Pause
    _names: dict[str, list[str]] = field(default_factory=lambda: {"added": [], "changed": [], "unchanged": []})
    _failed: list[tuple[str, GieokError]] = field(default_factory=list)
    _passages: int = 0
    _ready: list[Staged] = field(default_factory=list)
    _last: float = field(default_factory=time.monotonic)
    _embedded: int = 0

    def run(self, sources: Sequence[Source], asked: DocType | None) -> Added:
        """Takes all files in; a bad one fails alone. What is done when ``stop`` is set, or the model fails, stays."""
        start, known, cancelled = time.monotonic(), self.rows.known([source.key for source in sources]), False
        try:
            for number, source in enumerate(sources, 1):
                self._check()
                self._one(source, asked, known, Progress(source.name, number, len(sources)))
            self._flush()
        except Cancelled:
            self._flush()
            cancelled = True
        except EmbeddingFailed:
            self._flush()
            raise
        added, changed, unchanged = (tuple(self._names[kind]) for kind in ("added", "changed", "unchanged"))
        return Added(
            added=added,
            changed=changed,
            unchanged=unchanged,
            failed=tuple(self._failed),
            passages=self._passages,
            embedded=self._embedded,
            seconds=time.monotonic() - start,
            cancelled=cancelled,
        )

    def _one(self, source: Source, asked: DocType | None, known: dict[str, Known], at: Progress) -> None:
        """A document that is there keeps its name and the type that somebody chose; when its file can no longer be
        read it stays as it was. A path that never was there is not kept."""
        before = known.get(source.key)
        if before:
            source, asked = replace(source, name=before.name), asked or before.asked_type
        at = replace(at, name=source.name)
        self.progress(at)
        try:
            data = source.read()
            if before and (before.hash, before.asked_type, before.state) == (_hash(data), asked, "ready"):
                self._names["unchanged"].append(source.name)
                return
            staged = stage(source, data, asked, self.limit)
            self._embed(staged, at)
        except DocumentError as error:
            self._failed.append((source.name, error))
            if not (before.state == "ready" if before else isinstance(error, DocumentMissing)):
                self._ready.append(failure(source, asked, error))
            return
        self._ready.append(staged)
        self._names["changed" if before else "added"].append(source.name)
        self._passages += len(staged.pieces)
        if sum(len(each.pieces) for each in self._ready) >= PASSAGES or time.monotonic() - self._last > SECONDS:
            self._flush()

    def _embed(self, staged: Staged, at: Progress) -> None:
        """Makes and keeps the vectors that are missing; a stop keeps those that are made."""
        texts = {digest(text): text for text in staged.texts()}
        missing = self.rows.missing(list(texts), self.embedder.name)
        total, todo = len(texts), [each for each in texts if each in missing]
        for start in range(0, len(todo), self.embedder.batch):
            self.progress(replace(at, passage=total - len(todo) + start, passages=total))
            self.pause()
            self._check()
            some = todo[start : start + self.embedder.batch]
            try:
                made = self._vectors(staged.source.name, [texts[each] for each in some])
            except Stopped:
                raise Cancelled from None
            self.rows.keep_vectors(some, made, self.embedder.name)
            self._embedded += len(some)
        self.progress(replace(at, passage=total, passages=total))

    def _vectors(self, name: str, texts: Sequence[str]) -> Vectors:
        """Where the model works and refuses just these texts, it is the document's fault and the rest go on."""
        try:
            return self.embedder.passages(texts)
        except EmbeddingFailed as error:
            self.embedder.passages([_PROBE])
            raise DocumentNotEmbedded(name=name, **error.values) from error

    def _flush(self) -> None:
        if self._ready:
            self.publish(self._ready)
            self._ready.clear()
        self._last = time.monotonic()

    def _check(self) -> None:
        if self.stop.is_set():
            raise Cancelled


def stage(source: Source, data: bytes, asked: DocType | None, limit: int) -> Staged:
    """Loads and splits a file; its type is as asked, else by front matter, else by path. Raises ``DocumentError``."""
    loaded = load(source.name, data, limit)
    front = (loaded.front.get("doc_type") or loaded.front.get("type") or "").lower()
    said: DocType | None = "faq" if front == "faq" else "guide" if front == "guide" else None
    pieces = tuple(split(loaded.text, markdown=loaded.markdown, title=loaded.title))
    if not pieces:
        raise DocumentEmpty(name=source.name)
    language = detect(f"{loaded.title}\n{loaded.text}")
    doc_type = asked or said or by_path(source.source)
    return Staged(source, asked, doc_type, loaded.title, language, _hash(data), len(data), pieces)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def failure(source: Source, asked: DocType | None, error: GieokError) -> Staged:
    """A document that could not be read, for the list."""
    plain = {"code": error.code, "values": error.values}
    return Staged(source, asked, asked or by_path(source.source), source.name, "en", "", 0, (), plain)


def by_path(source: str) -> DocType:
    """«faq» when a folder near the file, or a word of its name, is that; else «guide»."""
    *folders, name = source.lower().replace("\\", "/").split("/")
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return "faq" if any(part in _FAQ for part in (*folders[-3:], *words)) else "guide"


def sources(given: Iterable[Path | Upload], limit: int) -> Iterator[Source]:
    """The files meant: uploads, files, and every readable file below a folder, in order."""
    for each in given:
        if isinstance(each, tuple):
            name, data = label(each[0]), each[1]
            yield Source(name, f"{UPLOAD}{name}", lambda data=data: data)  # type: ignore[misc]
        else:
            yield from _files(each, limit)


def _files(path: Path, limit: int) -> Iterator[Source]:
    """A file by its name; those below a folder by the last folders above them, as far as the given one."""
    whole = path.expanduser().absolute()
    if not whole.is_dir():
        yield _file(whole, label(whole.name), limit)
        return
    for file in sorted(whole.rglob("*")):
        inner = file.relative_to(whole).parts
        if file.suffix.lower() in SUFFIXES and file.is_file() and not any(part.startswith(".") for part in inner):
            above = (whole.name, *inner[:-1])[-2:]
            yield _file(file, "/".join((*map(label, above), label(file.name))), limit)


def _file(path: Path, name: str, limit: int) -> Source:
    def read() -> bytes:
        try:
            size = path.stat().st_size
            if size > limit:
                raise DocumentTooLarge(name=name, size=size, limit=limit)
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DocumentMissing(name=name, path=str(path)) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise DocumentBroken(name=name, reason=reason, reason_code="unreadable", detail=reason) from error

    return Source(name, str(path), read)
