"""The library: adds documents and finds passages. Tools, pages and the command line use this folder only through it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

import private
from errors import DocumentUnknown, LibraryBusy, LibraryCorrupt, LibraryModelChanged, PassageUnknown
from model.call.interrupt import stopped_by
from model.call.stream import Stopped
from model.embedding import Embedder, Vectors, choose_embedder
from model.modelset import ModelSet
from retrieval.answer.lookup import LookUp
from retrieval.answer.loop import LookUpOptions, look_up
from retrieval.answer.quote import quote_section
from retrieval.calculation.answer import answer_by_table
from retrieval.calculation.query import TableResult, is_named
from retrieval.change import (
    UPLOAD,
    Added,
    AddingProgress,
    Addition,
    LibraryChange,
    SourceFile,
    Upload,
    list_source_files,
)
from retrieval.document import (
    EVERYBODYS,
    Collection,
    DocType,
    Document,
    Filters,
    Hit,
    LibraryStatus,
    Passage,
    SearchScope,
    Section,
)
from retrieval.index import search as searching
from retrieval.index.pgvector import choose_vector_index
from retrieval.index.published import Shelf
from retrieval.index.search import RevisionView
from retrieval.index.sheet import KnownSheet, list_sheets, read_sheets
from retrieval.index.word import find_installed_cut
from retrieval.read.address import Guard, is_near_machine, is_public_machine, is_web
from retrieval.read.reader import Reader, ReadLimits
from retrieval.read.site import Page, Visit
from retrieval.read.web import Web
from retrieval.read.web_mark import PageMarks
from settings import Settings
from store import Store
from text.digest import hash_text
from text.language import detect_language

CLOSE_SECONDS = 10.0
"""How long closing waits for a running addition, which ends after its current passage or after writing the index."""
WAIT_SECONDS = 0.2
SHEETS = 6
"""The most tables that a question is answered from at once."""
QUERY_SECONDS = 5.0
"""The most processor time of a query over tables."""
TRIES = 10
"""How often a search starts again because a writer published a new revision meanwhile."""


class Library:
    """All documents of one database. Thread-safe; processes may share it: one changes it while the others search.

    Methods raise ``LibraryCorrupt`` and ``LibraryModelChanged`` until ``rebuild`` is called, ``EmbeddingFailed``, and
    the errors of the store.
    """

    def __init__(self, settings: Settings, store: Store, embed: Embedder | None = None) -> None:
        self._settings = settings
        self._embedder = embed or choose_embedder(settings)
        self._shelf = Shelf(settings, store, self._embedder, choose_vector_index(settings, store))
        self._rows = self._shelf.rows
        self._store = store
        self._marks = PageMarks(store)
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._adding = 0
        self._answers = 0
        self._quiet = threading.Event()
        self._quiet.set()
        self._closed = threading.Event()

    @classmethod
    def open(cls, settings: Settings, store: Store) -> Library:
        """Returns the library of this database. Opens no index yet: a damaged index raises its error on first use."""
        private.restrict_to_owner(settings.data_dir)
        library = cls(settings, store)
        private.restrict_folder_to_owner(library.folder)
        return library

    def close(self) -> None:
        """Stops running additions after their current passage and waits for them, ``CLOSE_SECONDS`` at most."""
        self._closed.set()
        self._quiet.set()
        with self._idle:
            self._idle.wait_for(lambda: not self._adding, CLOSE_SECONDS)

    # --- changing -------------------------------------------------------------------------------

    def add(
        self,
        files: Iterable[Path | Upload | Page],
        doc_type: DocType | None = None,
        *,
        collection: Collection = "mine",
        without: Container[str] = (),
        follow_links: bool = False,
        progress: Callable[[AddingProgress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Added:
        """Adds files: paths, folders, or uploads as (name, bytes); an upload replaces one of the same name. Also adds
        web pages; when a site is read again, documents of pages that are gone are removed. A file that is given twice
        is added once, as it came last. ``collection``: of new documents; a conversation's file is found only where
        ``store.turn.attachment`` names it. ``without``: paths inside the folders to leave out. ``follow_links``: also
        reads links that lead out of a folder; otherwise they are listed as failed.

        Skips unchanged files by their hash. Removes documents whose file is gone from a given folder. A file with an
        error is listed with its error and the others go on; the library keeps the former content of that file. ``stop``
        ends the addition after the current passage; finished documents stay. Raises ``LibraryBusy`` and the errors of
        the class.
        """
        halt = _Either(stop, self._closed)
        with self._working(), stopped_by(halt):
            targets = list(files)
            local_files = [item for item in targets if not isinstance(item, Page)]
            self._shelf.check_model()
            limit = self._settings.document_limit
            candidates = list_source_files(local_files, limit, follow_links=follow_links, collection=collection)
            chosen = [*{item.key: item for item in candidates if item.source not in without}.values()]
            visit = self._visit([item for item in targets if isinstance(item, Page)], again=doc_type is not None)
            outcome = self._taken_in(chosen, visit, doc_type, progress, halt)
            keys = {source.key for source in chosen if not source.outside}
            gone = (
                []
                if outcome.cancelled
                else [*self._find_gone_documents(local_files, keys), *self._find_left_documents(visit)]
            )
            self.remove(*(document.id for document in gone))
            self._marks.sweep()
            failed = (*outcome.failed, *(visit.failed if visit else ()))
            return replace(outcome, removed=tuple(document.name for document in gone), failed=failed)

    def _visit(self, pages: Sequence[Page], *, again: bool) -> Visit | None:
        """Returns the visit that fetches the pages, or None. ``again``: also fetches pages that have not changed."""
        if not pages:
            return None
        web = Web(
            self._settings.document_limit, Guard(is_near_machine if self._settings.private_pages else is_public_machine)
        )
        return Visit(web, self._marks, pages, [document.source for document in self.documents()], again=again)

    def _find_left_documents(self, visit: Visit | None) -> list[Document]:
        """Returns the documents of pages that are no longer in their site."""
        gone = set(visit.gone) if visit else set[str]()
        return [document for document in (self.documents() if gone else ()) if document.source in gone]

    def _taken_in(
        self,
        wanted: Sequence[SourceFile],
        visit: Visit | None,
        doc_type: DocType | None,
        progress: Callable[[AddingProgress], None],
        halt: threading.Event,
    ) -> Added:
        with Reader(ReadLimits.of(self._settings)) as reader:
            intake = Addition(
                rows=self._rows,
                embedder=self._embedder,
                reader=reader,
                publish=self._shelf.publish,
                progress=progress,
                stop=halt,
                pause=lambda: self._wait(halt),
            )
            return intake.run(wanted, doc_type, visit)

    def seed(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        """Stores vectors that were computed elsewhere, by the hash of the text, for passages that are added later.
        Ignores vectors of another model than this library's."""
        missing = sorted(self._rows.missing(list(vectors), model)) if model == self._embedder.name else []
        if missing:
            self._rows.keep_vectors(missing, np.array([vectors[hash_] for hash_ in missing]), model)

    def remove(self, *documents: int) -> None:
        """Removes documents with their passages. Raises ``DocumentUnknown`` without removing any."""
        if documents:
            self._shelf.publish(LibraryChange(removed=[document.id for document in self._find_documents(documents)]))

    def reindex(
        self,
        *documents: int,
        progress: Callable[[AddingProgress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Added:
        """Reads the files and pages of these documents again. Uploads stay unchanged, because their files are not kept.

        A document whose file or page is gone or broken stays unchanged too and is listed as failed.
        """
        places = [item.source for item in self._find_documents(documents) if not item.source.startswith(UPLOAD)]
        files = [Page(item) if is_web(item) else Path(item) for item in places]
        return self.add(files, progress=progress, stop=stop)

    def relocate(self, paths: Mapping[int, str]) -> None:
        """Records that the files of these documents have moved to new paths. Everything else stays, also the type and
        collection that somebody chose. Skips a path that the library already has."""
        with self._shelf.changing():
            known = self._rows.find_known_files([hash_text(path) for path in paths.values()])
            for document, path in paths.items():
                if hash_text(path) not in known:
                    self._rows.set_source(document, path)

    def set_type(self, document: int, doc_type: DocType) -> None:
        """Sets whether a document is FAQ or guide; nothing is embedded again."""
        self.document(document)
        self._shelf.publish(LibraryChange(retyped={document: doc_type}))

    def move(self, collection: Collection, *documents: int) -> None:
        """Moves documents into another collection; nothing is embedded again."""
        self._find_documents(documents)
        if documents:
            self._shelf.publish(LibraryChange(moved=dict.fromkeys(documents, collection)))

    @property
    def has_orphans(self) -> bool:
        """Returns whether the library has files that no conversation uses any more."""
        return bool(self._rows.orphans())

    def sweep(self) -> None:
        """Removes the files that no conversation uses any more, with their vectors."""
        if self.has_orphans:
            self._shelf.publish(orphans=True)

    def rebuild(
        self,
        *,
        progress: Callable[[AddingProgress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> bool:
        """Rebuilds the index from the rows, without the files; embeds only passages whose vector is missing.

        Returns False when it was stopped; vectors computed by then are kept.
        """
        halt = _Either(stop, self._closed)
        with self._working(), stopped_by(halt):
            return self._rebuild(progress, halt)

    def _rebuild(self, progress: Callable[[AddingProgress], None], halt: threading.Event) -> bool:
        texts = self._rows.texts()
        missing = sorted(self._rows.missing(list(texts), self._embedder.name))
        for start in range(0, len(missing), self._embedder.batch):
            progress(AddingProgress("", 1, 1, len(texts) - len(missing) + start, len(texts)))
            self._wait(halt)
            if halt.is_set():
                return False
            batch = missing[start : start + self._embedder.batch]
            try:
                vectors = self._embedder.passages([texts[hash_] for hash_ in batch])
            except Stopped:
                return False
            self._rows.keep_vectors(batch, vectors, self._embedder.name)
        self._shelf.publish(whole=True)
        progress(AddingProgress("", 1, 1, len(texts), len(texts)))
        return True

    def complete(self, *, stop: threading.Event | None = None) -> int:
        """Embeds the passages of documents whose addition was cut off when this program ended, and which are found by
        their words alone. Returns how many; waits while an answer is being generated."""
        halt = _Either(stop, self._closed)
        with self._working(), stopped_by(halt):
            self._shelf.check_model()
            texts = self._rows.texts()
            missing = sorted(self._rows.missing(list(texts), self._embedder.name))
            for start in range(0, len(missing), self._embedder.batch):
                self._wait(halt)
                if halt.is_set():
                    return start
                batch = missing[start : start + self._embedder.batch]
                vectors = self._embedder.passages([texts[hash_] for hash_ in batch])
                self._rows.keep_vectors(batch, vectors, self._embedder.name)
            if self._shelf.open().lacks_vectors:
                self._shelf.publish(whole=True)
            return len(missing)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Makes embedding wait while an answer is being generated (design 5.4)."""
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
        """Returns all documents by name, also failed ones, but not the files of conversations (see
        ``find_attached_documents``)."""
        return self._rows.documents()

    def find_attached_documents(self, session: str) -> dict[str, Document]:
        """Returns the files of a conversation by key; a file that the library has not read yet is left out."""
        ids = self._rows.list_attached_ids(SearchScope(session=session))
        return {document.key: document for document in self._rows.documents(ids)}

    def sections_of(self, document: int) -> dict[str, tuple[str, ...]]:
        """Returns the headings above each section of a document by section id (see ``section``), in reading order."""
        return self._rows.sections(document)

    def document(self, id_: int) -> Document:
        """Returns one document. Raises ``DocumentUnknown``."""
        return self._find_documents([id_])[0]

    def passage(self, id_: int) -> Passage:
        """Returns one passage. Raises ``PassageUnknown`` when its document has changed since."""
        passage = self._rows.passages([id_]).get(id_)
        if passage is None:
            raise PassageUnknown(passage=id_)
        return passage

    def section(self, id_: str) -> Section:
        """Returns a whole section by ``Passage.section_id``. Raises ``PassageUnknown``."""
        return self._rows.section(id_)

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]:
        """Returns the ``k`` best passages for a query, best first, by dense and lexical search with fused scores."""
        conditions = filters or Filters()
        return self._search_revision(
            query, lambda view: searching.search_passages(view, self._rows, self._embedder, query, conditions, k)
        )

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]:
        """Returns three FAQ passages and seven guide passages in one order (specification 7.3)."""
        return self._search_revision(
            query, lambda view: searching.search_all_types(view, self._rows, self._embedder, query, filters)
        )

    def sections(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]:
        """Returns the ``k`` sections that answer a question best, best first, each as its best passage. Headings count
        as much as text."""
        conditions = filters or Filters()
        return self._search_revision(
            query, lambda view: searching.search_sections(view, self._rows, self._embedder, query, conditions, k)
        )

    def look_up(
        self,
        question: str,
        models: ModelSet,
        language: str | None = None,
        stop: threading.Event | None = None,
        *,
        scope: SearchScope = EVERYBODYS,
        options: LookUpOptions | None = None,
    ) -> LookUp:
        """Finds passages to answer from. A model that is trusted to judge passages uses the loop of specification 7.2;
        for other models one search finds the best section (``retrieval.answer.quote``). ``language`` None: the language
        of the question. ``scope``: the documents to search. ``options``: None for the budget of the settings and
        nothing else; their menu is always that of the settings.

        Raises ``Stopped`` when ``stop`` was set, and the errors of the class; the trace records a judge that fails.
        """
        answer_language, scoped = language or detect_language(question), _Within(self, scope)
        options = options or LookUpOptions(budget=self._settings.budget_retrieval)
        if models.profile.documents == "quoted":
            with stopped_by(stop):
                sheets = self.sheets(scope)
                calculated = answer_by_table(self, question, answer_language, sheets) if sheets else None
                conditions = replace(options.filters or Filters(), scope=scope)
                return calculated or quote_section(
                    scoped, question, answer_language, filters=conditions, kind=options.kind, menu=self._settings.menu
                )
        options = replace(options, menu=self._settings.menu)
        return look_up(scoped, question, models, answer_language, options, stop=stop)

    def sheets(self, scope: SearchScope = EVERYBODYS, most: int = SHEETS) -> list[KnownSheet]:
        """Returns the tables of a scope's documents that can be calculated with, the newest first."""
        return list_sheets(self._store, scope, most)

    def query_sheets(self, sheets: Sequence[KnownSheet], sql: str) -> TableResult:
        """Runs one SELECT over tables, which it knows as ``t1``, ``t2`` …, within ``QUERY_SECONDS``. Raises
        ``TableQueryFailed`` and ``DocumentError``."""
        limits = replace(ReadLimits.of(self._settings), seconds=QUERY_SECONDS)
        labels = [sheet.label for at, sheet in enumerate(sheets, 1) if is_named(sql, at)]
        with Reader(limits) as reader:
            return reader.query(labels[0] if labels else "", read_sheets(self._store, sheets, sql), sql)

    def passage_of(self, sheet: KnownSheet) -> Passage:
        """Returns the first passage of a table's document, to cite the table by. Raises ``PassageUnknown``."""
        section = next((id_ for id_ in self.sections_of(sheet.document_id)), "")
        passage = self.passage(self.section(section).passages[0])
        return replace(passage, path=(sheet.name,) if sheet.name else ())

    @property
    def folder(self) -> Path:
        """Returns the folder where this machine keeps the files of the index."""
        return self._settings.data_dir / "library"

    @property
    def is_new(self) -> bool:
        """Returns whether nothing was ever added."""
        return not self._rows.state().revision

    def is_empty(self, scope: SearchScope = EVERYBODYS) -> bool:
        """Returns whether the scope has no passage; never raises for a damaged index or an index of another model."""
        return not self._rows.has_passages(scope)

    @property
    def unrelated_cosine(self) -> float:
        """Returns the cosine below which question and passage are unrelated; 0: not known."""
        return self._embedder.unrelated

    @property
    def near(self) -> float:
        """Returns the ``heading.measure_nearness`` from which documents concern a question; 0: not known."""
        return self._embedder.near

    @property
    def status(self) -> LibraryStatus:
        """Returns the state of the library; reports a damaged index or an index of another model instead of raising."""
        documents, state = self._rows.documents(), self._rows.state()
        failed = sum(document.state == "failed" for document in documents)
        count = sum(document.passages for document in documents)
        reason: Literal["corrupt", "model"] | None = None
        try:
            self._shelf.open()
        except LibraryModelChanged:
            reason = "model"
        except LibraryCorrupt:
            reason = "corrupt"
        return LibraryStatus(
            len(documents),
            failed,
            count,
            state.model or self._embedder.name,
            find_installed_cut(),
            state.revision,
            reason,
        )

    def _find_documents(self, ids: Sequence[int]) -> list[Document]:
        """Returns the documents of these ids. Raises ``DocumentUnknown``."""
        by_id = {document.id: document for document in self._rows.documents(ids)}
        for id_ in ids:
            if id_ not in by_id:
                raise DocumentUnknown(document=id_)
        return [by_id[id_] for id_ in dict.fromkeys(ids)]

    def _search_revision(self, query: str, search: Callable[[RevisionView], list[Hit]]) -> list[Hit]:
        """Searches the current revision, and the next one when a writer changed the rows before the search read them.
        Raises ``LibraryBusy`` after ``TRIES`` searches."""
        for _ in range(TRIES):
            view = self._shelf.open()
            if not view.slots or not query.strip():
                return []
            try:
                return search(view)
            except searching.StaleRevision:
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
        """Blocks until no answer is being generated, or the work is stopped."""
        while not self._quiet.wait(WAIT_SECONDS) and not halt.is_set():
            pass

    def _find_gone_documents(self, given: Sequence[Path | Upload], seen: set[str]) -> list[Document]:
        """Returns the documents of the given folders whose file is no longer there."""
        folders = [item.expanduser().absolute() for item in given if isinstance(item, Path) and item.is_dir()]
        return [
            document
            for document in (self.documents() if folders else ())
            if hash_text(document.source) not in seen
            and any(Path(document.source).is_relative_to(folder) for folder in folders)
        ]


@dataclass(frozen=True)
class _Within:
    """A library limited to one scope."""

    library: Library
    scope: SearchScope

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]:
        return self.library.search_all(query, self._scope_filters(filters))

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]:
        return self.library.search(query, self._scope_filters(filters), k)

    def sections(self, query: str, filters: Filters | None = None) -> list[Hit]:
        return self.library.sections(query, self._scope_filters(filters))

    def section(self, id_: str) -> Section:
        return self.library.section(id_)

    @property
    def unrelated_cosine(self) -> float:
        return self.library.unrelated_cosine

    @property
    def near(self) -> float:
        return self.library.near

    def _scope_filters(self, filters: Filters | None) -> Filters:
        return replace(filters or Filters(), scope=self.scope)


class _Either(threading.Event):
    """An event that is set as soon as one of its events is set."""

    def __init__(self, *events: threading.Event | None) -> None:
        super().__init__()
        self._events = [event for event in events if event is not None]

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)
