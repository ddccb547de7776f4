"""The library: documents in, passages out. The one door of this folder, for tools, pages and the command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from errors import DocumentUnknown, LibraryBusy, LibraryCorrupt, LibraryModelChanged, PassageUnknown
from model.interrupt import stopped_by
from model.modelset import ModelSet
from model.stream import Stopped
from retrieval import search as searching
from retrieval.change import UPLOAD, Added, Intake, Progress, Upload, sources
from retrieval.document import DocType, Document, Filters, Hit, Passage, Section, Status
from retrieval.embed import Embedder, Vectors, embedder
from retrieval.lookup import LookUp
from retrieval.loop import CALLS, look_up
from retrieval.pgvector import index
from retrieval.quote import quote
from retrieval.row import digest
from retrieval.search import View
from retrieval.shelf import Shelf
from retrieval.word import installed
from settings import Settings
from store import Store
from text.language import detect

CLOSE_SECONDS = 10.0
"""How long closing waits for an addition: it is at most in the middle of one passage, or of writing the index."""
WAIT_SECONDS = 0.2
TRIES = 10
"""How often a search starts again because a writer was faster."""


class Library:
    """All documents of one database. Thread-safe; processes may share it: one changes it while the others search.

    Errors: ``LibraryCorrupt`` and ``LibraryModelChanged`` until ``rebuild`` is called; ``EmbeddingFailed``;
    those of the store.
    """

    def __init__(self, settings: Settings, store: Store, embed: Embedder | None = None) -> None:
        self._settings = settings
        self._embedder = embed or embedder(settings)
        self._shelf = Shelf(settings, store, self._embedder, index(settings, store))
        self._rows = self._shelf.rows
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._adding = 0
        self._answers = 0
        self._quiet = threading.Event()
        self._quiet.set()
        self._closed = threading.Event()

    @classmethod
    def open(cls, settings: Settings, store: Store) -> Library:
        """The library of this database. Opens nothing yet: a damaged index is told when it is used."""
        return cls(settings, store)

    def close(self) -> None:
        """Stops additions that run, at their next passage, and waits for that."""
        self._closed.set()
        self._quiet.set()
        with self._idle:
            self._idle.wait_for(lambda: not self._adding, CLOSE_SECONDS)

    # --- changing -------------------------------------------------------------------------------

    def add(
        self,
        files: Iterable[Path | Upload],
        doc_type: DocType | None = None,
        *,
        without: Collection[str] = (),
        progress: Callable[[Progress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Added:
        """Takes files in: paths, folders, or uploads as (name, bytes); an upload replaces one of the same name.
        ``without``: paths in the folders that are left out.

        Unchanged files are skipped by their hash. In a folder, documents whose file is gone are removed. A file with a
        fault is listed with its error and the rest go on; what was read of it before stays. ``stop`` ends it after the
        passage being embedded; what is done stays. Raises ``LibraryBusy``, and what the class says.
        """
        halt = _Either(stop, self._closed)
        with self._working(), stopped_by(halt):
            return self._add(list(files), doc_type, without, progress, halt)

    def _add(
        self,
        given: list[Path | Upload],
        doc_type: DocType | None,
        without: Collection[str],
        progress: Callable[[Progress], None],
        halt: threading.Event,
    ) -> Added:
        self._shelf.check_model()
        wanted = [each for each in sources(given, self._settings.document_limit) if each.source not in without]
        intake = Intake(
            rows=self._rows,
            embedder=self._embedder,
            limit=self._settings.document_limit,
            publish=self._shelf.publish,
            progress=progress,
            stop=halt,
            pause=lambda: self._wait(halt),
        )
        done = intake.run(wanted, doc_type)
        gone = [] if done.cancelled else self._gone(given, {source.key for source in wanted})
        self.remove(*(document.id for document in gone))
        return replace(done, removed=tuple(document.name for document in gone))

    def seed(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        """Keeps vectors that were made elsewhere, by the hash of the text, for passages to come; those of another
        model than this library's are passed over."""
        missing = sorted(self._rows.missing(list(vectors), model)) if model == self._embedder.name else []
        if missing:
            self._rows.keep_vectors(missing, np.array([vectors[each] for each in missing]), model)

    def remove(self, *documents: int) -> None:
        """Removes documents with their passages. Raises ``DocumentUnknown``, changing nothing."""
        if documents:
            self._shelf.publish(removed=[each.id for each in self._chosen(documents)])

    def reindex(
        self,
        *documents: int,
        progress: Callable[[Progress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Added:
        """Reads the files of these documents again; uploads, whose files are not kept, stay as they are.

        So does a document whose file is gone or broken; that is listed as failed.
        """
        files = [Path(each.source) for each in self._chosen(documents) if not each.source.startswith(UPLOAD)]
        return self.add(files, progress=progress, stop=stop)

    def relocate(self, paths: Mapping[int, str]) -> None:
        """The files of these documents are elsewhere now; all else stays, so that what was chosen for them does."""
        with self._shelf.changing():
            known = self._rows.known([digest(path) for path in paths.values()])
            for document, path in paths.items():
                if digest(path) not in known:
                    self._rows.set_source(document, path)

    def set_type(self, document: int, doc_type: DocType) -> None:
        """Changes whether a document is FAQ or guide; nothing is embedded again."""
        self.document(document)
        self._shelf.publish(retyped={document: doc_type})

    def rebuild(
        self,
        *,
        progress: Callable[[Progress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> bool:
        """Makes the index anew from the rows; passages are embedded only where their vector is missing.

        False when it was stopped: what was embedded is kept. Files need not be there.
        """
        halt = _Either(stop, self._closed)
        with self._working(), stopped_by(halt):
            return self._rebuild(progress, halt)

    def _rebuild(self, progress: Callable[[Progress], None], halt: threading.Event) -> bool:
        texts = self._rows.texts()
        missing = sorted(self._rows.missing(list(texts), self._embedder.name))
        for start in range(0, len(missing), self._embedder.batch):
            progress(Progress("", 1, 1, len(texts) - len(missing) + start, len(texts)))
            self._wait(halt)
            if halt.is_set():
                return False
            some = missing[start : start + self._embedder.batch]
            try:
                vectors = self._embedder.passages([texts[each] for each in some])
            except Stopped:
                return False
            self._rows.keep_vectors(some, vectors, self._embedder.name)
        self._shelf.publish(whole=True)
        progress(Progress("", 1, 1, len(texts), len(texts)))
        return True

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """While an answer is being made, embedding waits (design §5 «Background work yields»)."""
        with self._mutex:
            self._answers += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._mutex:
                self._answers -= 1
                if not self._answers:
                    self._quiet.set()

    # --- reading --------------------------------------------------------------------------------

    def documents(self) -> list[Document]:
        """All documents by name, also those that failed."""
        return self._rows.documents()

    def document(self, id_: int) -> Document:
        """One document, or ``DocumentUnknown``."""
        return self._chosen([id_])[0]

    def passage(self, id_: int) -> Passage:
        """One passage, or ``PassageUnknown`` when its document has changed since."""
        found = self._rows.passages([id_]).get(id_)
        if found is None:
            raise PassageUnknown(passage=id_)
        return found

    def section(self, id_: str) -> Section:
        """A whole section by ``Passage.section_id``, or ``PassageUnknown``."""
        return self._rows.section(id_)

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]:
        """The ``k`` best passages for a query, best first: dense and lexical search, fused."""
        asked = filters or Filters()
        return self._searched(query, lambda view: searching.search(view, self._rows, self._embedder, query, asked, k))

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]:
        """Three of the FAQ and seven of the guides, in one order (copilot-rag.md §4.2)."""
        return self._searched(
            query, lambda view: searching.search_all(view, self._rows, self._embedder, query, filters)
        )

    def look_up(
        self,
        question: str,
        models: ModelSet,
        language: str | None = None,
        stop: threading.Event | None = None,
        *,
        filters: Filters | None = None,
        kind: Filters | None = None,
        calls: int = CALLS,
        budget: int | None = None,
    ) -> LookUp:
        """Finds passages to answer from, by the loop of copilot-rag.md §4, or for a model that is not trusted with
        judging them the best section, by one search (``retrieval.quote``). ``language`` None: the question's.
        ``filters``, ``kind``, ``calls``, ``budget`` (None: the setting): see ``retrieval.loop.look_up``.

        Raises ``Stopped`` when ``stop`` was set, and what the class says; a judge that fails is told in the trace.
        """
        spoken = language or detect(question)
        if models.profile.documents == "quoted":
            with stopped_by(stop):
                return quote(self, question, spoken, filters=filters, kind=kind, menu=self._settings.menu)
        return look_up(
            self,
            question,
            models,
            spoken,
            filters=filters,
            kind=kind,
            stop=stop,
            budget=self._settings.budget_retrieval if budget is None else budget,
            menu=self._settings.menu,
            calls=calls,
        )

    @property
    def folder(self) -> Path:
        """Where this machine keeps the files of the index."""
        return self._settings.data_dir / "library"

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever added."""
        return not self._rows.state().revision

    @property
    def is_empty(self) -> bool:
        """Whether there is no passage to find; never raises for a damaged or foreign index."""
        return not self._rows.any()

    @property
    def unrelated(self) -> float:
        """A cosine below which question and passage have nothing to do with each other; 0: not known."""
        return self._embedder.unrelated

    @property
    def near(self) -> float:
        """How near (``fuse.nearness``) documents come that have to do with a question; 0: not known."""
        return self._embedder.near

    @property
    def status(self) -> Status:
        """The library at a glance; never raises for a damaged or foreign index, but says so."""
        documents, state = self._rows.documents(), self._rows.state()
        failed = sum(document.state == "failed" for document in documents)
        count = sum(document.passages for document in documents)
        why: Literal["corrupt", "model"] | None = None
        try:
            self._shelf.open()
        except LibraryModelChanged:
            why = "model"
        except LibraryCorrupt:
            why = "corrupt"
        return Status(
            len(documents), failed, count, state.model or self._embedder.name, installed(), state.revision, why
        )

    def _chosen(self, ids: Sequence[int]) -> list[Document]:
        """The documents of these ids, or ``DocumentUnknown``."""
        found = {document.id: document for document in self._rows.documents(ids)}
        for id_ in ids:
            if id_ not in found:
                raise DocumentUnknown(document=id_)
        return [found[id_] for id_ in dict.fromkeys(ids)]

    def _searched(self, query: str, search: Callable[[View], list[Hit]]) -> list[Hit]:
        """Searches the revision that counts, and the next one when a writer was faster than the reading of its rows."""
        for _ in range(TRIES):
            view = self._shelf.open()
            if not view.slots or not query.strip():
                return []
            try:
                return search(view)
            except searching.Stale:
                continue
        raise LibraryBusy

    @contextmanager
    def _working(self) -> Iterator[None]:
        with self._idle:
            self._adding += 1
        try:
            yield
        finally:
            with self._idle:
                self._adding -= 1
                self._idle.notify_all()

    def _wait(self, halt: threading.Event) -> None:
        """Until no answer is being made, or the work is stopped."""
        while not self._quiet.wait(WAIT_SECONDS) and not halt.is_set():
            pass

    def _gone(self, given: Sequence[Path | Upload], seen: set[str]) -> list[Document]:
        """Documents of the given folders whose file is no longer there."""
        folders = [each.expanduser().absolute() for each in given if isinstance(each, Path) and each.is_dir()]
        return [
            document
            for document in (self.documents() if folders else ())
            if digest(document.source) not in seen
            and any(Path(document.source).is_relative_to(folder) for folder in folders)
        ]


class _Either(threading.Event):
    """Set as soon as one of two events is."""

    def __init__(self, *events: threading.Event | None) -> None:
        super().__init__()
        self._events = [event for event in events if event is not None]

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)
