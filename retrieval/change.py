"""Changing the library: an intake reads files one by one and publishes a new revision in one step.

Reading and embedding need no lock. Each vector is stored as soon as it is computed, so a run that was stopped or killed
resumes there. Publishing holds the library's lock: it writes the index files of the next revision first, then one
transaction changes the rows and raises the revision. Until then every search uses the old revision.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from errors import (
    DocumentBroken,
    DocumentError,
    DocumentMissing,
    DocumentNotEmbedded,
    DocumentOutside,
    DocumentTooLarge,
    EmbeddingFailed,
    GieokError,
    PageError,
)
from model.call.stream import Stopped
from model.embedding import Embedder, Vectors
from retrieval.answer.heading import build_heading_text
from retrieval.document import Collection, DocType
from retrieval.index.row import KnownFile, LibraryRows, embedded_text
from retrieval.read.content import Content, read_content
from retrieval.read.format.loaded import Sheet
from retrieval.read.load import SUFFIXES, clean_document_name, may_have_tables
from retrieval.read.reader import Reader
from retrieval.read.split import Piece
from text.digest import hash_text

WORDS_FIRST = 64
"""A new document with more passages than this is found by its words before it is embedded."""
PASSAGES, SECONDS = 2000, 60.0
"""After this many passages, or this many seconds since the last publication, an intake publishes what is ready."""
_FAQ = ("faq", "faqs", "자주묻는질문")
_PROBE = "Hello."
_NEVER_THERE = (DocumentMissing, DocumentOutside, PageError)
"""Errors that leave no failed document behind when the library does not have the source yet."""
UPLOAD = "upload:"
"""The prefix of an upload's source; the library does not keep the uploaded file."""
Upload = tuple[str, bytes]
Pause = Callable[[], None]
"""A function called before each embedding; it may wait while an answer is being generated."""


@dataclass(frozen=True, slots=True)
class AddingProgress:
    """The progress of an addition: file ``file`` of ``files``, and the embedded passages of the file ``name``."""

    name: str
    file: int
    files: int
    passage: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of an addition, by document name. ``failed``: name and error; ``cancelled``: stopped too early."""

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
class SourceFile:
    """A file to add. ``read`` returns its bytes or raises a ``DocumentError``; ``key`` identifies the document.

    ``outside``: the file is a link that leads out of the folder, and links are not followed; ``read`` raises the error
    for it. ``file``: the file name that selects the reader where ``name`` is not a file name. ``same``: the content is
    known to be unchanged since the last read.
    """

    name: str
    source: str
    read: Callable[[], bytes]
    outside: bool = False
    file: str = ""
    same: bool = False
    collection: Collection = "mine"

    @property
    def key(self) -> str:
        return hash_text(self.source)


class Pages(Protocol):
    """Sources that are fetched one after another. ``waiting``: how many more are known to come."""

    waiting: int

    def __iter__(self) -> Iterator[SourceFile]: ...


@dataclass(frozen=True, slots=True)
class Staged:
    """A document ready to be published; a failed one has ``error`` and no ``pieces``."""

    source: SourceFile
    asked_type: DocType | None
    doc_type: DocType
    title: str
    language: str
    hash: str
    size: int
    pieces: tuple[Piece, ...] = ()
    error: dict[str, Any] | None = None
    sheets: tuple[Sheet, ...] = ()

    def texts(self) -> list[str]:
        return [embedded_text(self.title, piece.path, piece.text) for piece in self.pieces]

    def headings(self) -> list[str]:
        return [build_heading_text(self.title, piece.path, piece.text) for piece in self.pieces]


@dataclass(frozen=True, slots=True)
class LibraryChange:
    """What one publication changes of the documents. ``staged``: those that come or come anew; ``removed``: ids of
    those that go; ``retyped``, ``moved``: new types and collections, by id."""

    staged: Sequence[Staged] = ()
    removed: Sequence[int] = ()
    retyped: Mapping[int, DocType] = field(default_factory=dict)
    moved: Mapping[int, Collection] = field(default_factory=dict)


NO_CHANGE = LibraryChange()


class Cancelled(Exception):
    """The addition was stopped."""


@dataclass
class Addition:
    """One addition to the library. ``publish``: ``retrieval.index.published.Shelf.publish``, which makes documents
    searchable."""

    rows: LibraryRows
    embedder: Embedder
    reader: Reader
    publish: Callable[..., None]
    progress: Callable[[AddingProgress], None]
    stop: threading.Event
    pause: Pause
    _names: dict[str, list[str]] = field(default_factory=lambda: {"added": [], "changed": [], "unchanged": []})
    _failed: list[tuple[str, GieokError]] = field(default_factory=list)
    _passages: int = 0
    _ready: list[Staged] = field(default_factory=list)
    _last: float = field(default_factory=time.monotonic)
    _embedded: int = 0

    def run(self, sources: Sequence[SourceFile], asked: DocType | None, pages: Pages | None = None) -> Added:
        """Adds all files, then the pages; a file with an error fails alone. When ``stop`` is set, or the model fails
        with ``EmbeddingFailed``, documents that are ready are still published."""
        start, known, cancelled = (
            time.monotonic(),
            self.rows.find_known_files([source.key for source in sources]),
            False,
        )
        try:
            for number, source in enumerate(sources, 1):
                self._check()
                self._one(source, asked, known, AddingProgress(source.name, number, len(sources)))
            if pages is not None:
                self._pages(pages, asked, len(sources))
            self._flush()
        except (Cancelled, Stopped):
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

    def _pages(self, pages: Pages, asked: DocType | None, before: int) -> None:
        for number, source in enumerate(pages, before + 1):
            self._check()
            progress = AddingProgress(source.name, number, number + pages.waiting)
            self._one(source, asked, self.rows.find_known_files([source.key]), progress)

    def _one(self, source: SourceFile, asked: DocType | None, known: dict[str, KnownFile], at: AddingProgress) -> None:
        """Adds one source. A known document keeps its name, its collection and the type that somebody chose; when its
        file can no longer be read, the document stays as it was. A new source that cannot be reached (``_NEVER_THERE``)
        is not stored as a failed document."""
        stored = known.get(source.key)
        if stored:
            source = replace(source, name=stored.name, collection=stored.collection)
            asked = asked or stored.asked_type
        at = replace(at, name=source.name)
        self.progress(at)
        try:
            data = source.read()
            unchanged = stored and (stored.hash, stored.asked_type, stored.state) == (
                _hash_content(data),
                asked,
                "ready",
            )
            if source.same or (unchanged and not _lacks_sheets(source, stored)):
                self._names["unchanged"].append(source.name)
                return
            staged = self._read(source, data, asked)
            if unchanged and not staged.sheets:
                self._names["unchanged"].append(source.name)
                return
            if stored is None and len(staged.pieces) > WORDS_FIRST:
                self._embed_published(staged, at)
                return
            self._embed(staged, at)
        except DocumentError as error:
            self._failed.append((source.name, error))
            if not (stored.state == "ready" if stored else isinstance(error, _NEVER_THERE)):
                self._ready.append(build_failed_document(source, asked, error))
            return
        self._ready.append(staged)
        self._names["changed" if stored else "added"].append(source.name)
        self._passages += len(staged.pieces)
        if sum(len(document.pieces) for document in self._ready) >= PASSAGES or time.monotonic() - self._last > SECONDS:
            self._flush()

    def _embed_published(self, staged: Staged, at: AddingProgress) -> None:
        """Publishes a long document by its words, embeds it, and publishes its vectors as they come. A document that is
        not embedded to its end is removed again."""
        self._flush()
        self.publish(LibraryChange([staged]), by_words=True)
        try:
            self._embed(staged, at, publish=True)
        except (Cancelled, Stopped, DocumentError, EmbeddingFailed):
            known = self.rows.find_known_files([staged.source.key]).values()
            self.publish(LibraryChange(removed=[file.id for file in known]))
            raise
        self._names["added"].append(staged.source.name)
        self._passages += len(staged.pieces)

    def _read(self, source: SourceFile, data: bytes, asked: DocType | None) -> Staged:
        """Reads and splits the file; errors name the source. Raises ``Cancelled`` when the addition is stopped."""
        try:
            return _build_staged(source, data, asked, self.reader.read(source.file or source.name, data))
        except Stopped:
            raise Cancelled from None
        except DocumentError as error:
            raise type(error)(**{**error.values, "name": source.name}) if source.file else error from error

    def _embed(self, staged: Staged, at: AddingProgress, *, publish: bool = False) -> None:
        """Computes and stores the missing vectors of a document; a stop keeps those already stored. ``publish``: the
        document is in the library, and its vectors are published every ``SECONDS``."""
        waiting = set[str]()
        texts = {hash_text(text): text for text in staged.texts()}
        missing = self.rows.missing(list(texts), self.embedder.name)
        total, todo = len(texts), [hash_ for hash_ in texts if hash_ in missing]
        for start in range(0, len(todo), self.embedder.batch):
            self.progress(replace(at, passage=total - len(todo) + start, passages=total))
            self.pause()
            self._check()
            batch = todo[start : start + self.embedder.batch]
            try:
                vectors = self._vectors(staged.source.name, [texts[hash_] for hash_ in batch])
            except Stopped:
                raise Cancelled from None
            self.rows.keep_vectors(batch, vectors, self.embedder.name)
            self._embedded += len(batch)
            waiting |= set(batch)
            if publish and time.monotonic() - self._last > SECONDS:
                self.publish(filled=waiting)
                waiting, self._last = set(), time.monotonic()
        if publish and waiting:
            self.publish(filled=waiting)
        self.progress(replace(at, passage=total, passages=total))

    def _vectors(self, name: str, texts: Sequence[str]) -> Vectors:
        """Embeds texts of the document ``name``. When the model refuses them but embeds a probe, raises
        ``DocumentNotEmbedded``: only this document fails and the addition goes on."""
        try:
            return self.embedder.passages(texts)
        except EmbeddingFailed as error:
            self.embedder.passages([_PROBE])
            raise DocumentNotEmbedded(name=name, **error.values) from error

    def _flush(self) -> None:
        if self._ready:
            self.publish(LibraryChange([*self._ready]))
            self._ready.clear()
        self._last = time.monotonic()

    def _check(self) -> None:
        if self.stop.is_set():
            raise Cancelled


def stage_file(source: SourceFile, data: bytes, asked: DocType | None, limit: int) -> Staged:
    """Loads and splits a trusted file in this process, without limits on time and memory. Raises ``DocumentError``."""
    return _build_staged(source, data, asked, read_content(source.name, data, limit))


def _build_staged(source: SourceFile, data: bytes, asked: DocType | None, read: Content) -> Staged:
    """Returns the document that was read. Its type is the requested one, else the one of its front matter, else the one
    of its path."""
    doc_type = asked or read.said or by_path(source.source)
    hash_, size = _hash_content(data), len(data)
    return Staged(source, asked, doc_type, read.title, read.language, hash_, size, read.pieces, sheets=read.sheets)


def _lacks_sheets(source: SourceFile, stored: KnownFile | None) -> bool:
    """Returns whether a known document may have tables and has none: a version that kept no tables has read it."""
    return stored is not None and not stored.has_sheets and may_have_tables(source.file or source.name)


def _hash_content(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_failed_document(source: SourceFile, asked: DocType | None, error: GieokError) -> Staged:
    """Returns a document that could not be read, for the list of documents."""
    plain = {"code": error.code, "values": error.values}
    return Staged(source, asked, asked or by_path(source.source), source.name, "en", "", 0, (), plain)


def by_path(source: str) -> DocType:
    """Returns «faq» when one of the three nearest folders, or a word of the file's name, says FAQ; else «guide»."""
    *folders, name = source.lower().replace("\\", "/").split("/")
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return "faq" if any(part in _FAQ for part in (*folders[-3:], *words)) else "guide"


def list_source_files(
    given: Iterable[Path | Upload], limit: int, *, follow_links: bool = False, collection: Collection = "mine"
) -> Iterator[SourceFile]:
    """Yields the files to add: uploads, files, and every readable file below a folder, in order. ``follow_links``: also
    reads links that lead out of the folder."""
    for item in given:
        if isinstance(item, tuple):
            yield build_upload_source(*item, collection)
        else:
            yield from (replace(file, collection=collection) for file in _list_path_sources(item, limit, follow_links))


def build_upload_source(name: str, data: bytes, collection: Collection = "mine") -> SourceFile:
    """Returns the source of an upload. The source of a conversation's file includes the hash of its content: two
    conversations may have files of one name, and the same file in both is one document."""
    shown = clean_document_name(name)
    unique_name = f"{_hash_content(data)}/{shown}" if collection == "session" else shown
    return SourceFile(shown, f"{UPLOAD}{unique_name}", lambda: data, collection=collection)


def leads_out(file: Path, folder: Path) -> bool:
    """Returns whether a file below a folder is a link to a file outside that folder."""
    return file.is_symlink() and not file.resolve().is_relative_to(folder.resolve())


def _list_path_sources(path: Path, limit: int, follow_links: bool) -> Iterator[SourceFile]:
    """Yields a file under its name, or the files below a folder under the name and at most two folders above, up to and
    including the given one."""
    root = path.expanduser().absolute()
    if not root.is_dir():
        yield _build_file_source(root, clean_document_name(root.name), limit)
        return
    for file in sorted(root.rglob("*")):
        inner = file.relative_to(root).parts
        if file.suffix.lower() in SUFFIXES and file.is_file() and not any(part.startswith(".") for part in inner):
            folders = (root.name, *inner[:-1])[-2:]
            name = "/".join((*map(clean_document_name, folders), clean_document_name(file.name)))
            yield (
                _build_file_source(file, name, limit)
                if follow_links or not leads_out(file, root)
                else _build_outside_source(file, name)
            )


def _build_outside_source(path: Path, name: str) -> SourceFile:
    def read() -> bytes:
        raise DocumentOutside(name=name, path=str(path.resolve()))

    return SourceFile(name, str(path), read, outside=True)


def _build_file_source(path: Path, name: str, limit: int) -> SourceFile:
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

    return SourceFile(name, str(path), read)
