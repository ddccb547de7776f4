"""The revisions of the library: opening the one that counts, publishing the next, one writer at a time (design §7)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from errors import LibraryBusy, LibraryCorrupt, LibraryModelChanged, SessionBusy
from retrieval.change import Staged
from retrieval.embed import Embedder, Vectors
from retrieval.index import Ids, Index, Prepared, Searcher
from retrieval.lexical import Lexical
from retrieval.plan import Plan
from retrieval.row import Rows, Slot, State
from retrieval.search import View
from retrieval.word import installed, words
from settings import Settings
from store import Store
from store.lock import session_lock

LOCK = "library of documents"
LOCK_SECONDS = 60.0
UNUSED_SECONDS = 30 * 86400.0
"""How long the vectors of removed passages are kept, for files that come back."""
_log = logging.getLogger(__name__)


class Shelf:
    """Revisions of one library. Thread-safe; processes and machines that share the database may each have one."""

    def __init__(self, settings: Settings, store: Store, embedder: Embedder, index: Index) -> None:
        self.rows = Rows(store)
        self._store = store
        self._embedder = embedder
        self._index = index
        self._folder = settings.data_dir / "library"
        self._lock = session_lock(store.engine, settings.data_dir)
        self._mutex = threading.RLock()
        self._depth = 0
        self._view: View | None = None
        self._words: dict[str, list[str]] = {}

    def open(self) -> View:
        """The revision that counts now. Raises ``LibraryCorrupt``, ``LibraryModelChanged`` or ``LibraryBusy``."""
        for _ in range(5):
            state, view = self.rows.state(), self._view
            if view is not None and view.revision == state.revision:
                return view
            self.check_model(state)
            with self._mutex:
                try:
                    self._view = self._load(state)
                except FileNotFoundError:  # not on this machine yet, or a writer was faster: look again
                    if self.rows.state() == state:
                        self._restore(state)
        raise LibraryBusy

    def check_model(self, state: State | None = None) -> None:
        """Raises ``LibraryModelChanged`` when the vectors are of another model than the setting's."""
        now = state or self.rows.state()
        if now.revision and now.model != self._embedder.name and self.rows.any():
            raise LibraryModelChanged(old=now.model, new=self._embedder.name)

    def publish(self, staged: Sequence[Staged] = (), removed: Sequence[int] = (), *, whole: bool = False) -> None:
        """The next revision: documents in and out. ``whole``: the index is made from all vectors, not changed.

        Index files are written first; then one transaction changes the rows and raises the revision.
        """
        with self.changing():
            old, revision = self.rows.state(), 0
            plan = Plan(self.rows, self._store, staged, removed, old.next_id)
            revision, slots = old.revision + 1, tuple(plan.slots)
            lexical = self._lexical(slots, plan.texts)
            lexical.save(self._lexical_path(revision))
            prepared = self._prepare(None if whole else self._usable(old), plan, revision)
            new = State(revision, plan.next_id, self._embedder.name, self._embedder.dimension)
            with self._store.transaction() as connection:
                plan.commit(connection)
                prepared.commit(connection)
                self.rows.set_state(connection, old, new)
            self._view = View(revision, prepared.searcher, lexical, slots, _ids(slots))
            self._index.prune(revision)
            self.rows.drop_vectors(time.time() - UNUSED_SECONDS)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One writer at a time, among threads and processes. Raises ``LibraryBusy`` after a minute."""
        with self._mutex, ExitStack() as held:
            if not self._depth:
                self._take(held)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def _take(self, held: ExitStack) -> None:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                held.enter_context(self._lock.hold(LOCK))
                return
            except SessionBusy:
                if time.monotonic() > until:
                    raise LibraryBusy from None
                time.sleep(0.05)

    def _load(self, state: State) -> View:
        if not state.revision:
            none = np.empty(0, np.int64)
            return View(0, _Nothing(), Lexical(none, None, installed()), (), none)
        searcher = self._index.open(state.revision)
        lexical = Lexical.load(self._lexical_path(state.revision))
        slots = tuple(self.rows.slots())
        if self.rows.state().revision != state.revision:
            raise FileNotFoundError
        if not np.array_equal(lexical.ids, _ids(slots)):
            raise LibraryCorrupt(path=str(self._folder), reason="it is of other passages than the database")
        if lexical.cut != installed():
            lexical = self._lexical(slots, {})
        return View(state.revision, searcher, lexical, slots, _ids(slots))

    def _restore(self, state: State) -> None:
        """This machine has no files of the revision: makes them from the rows."""
        with self.changing():
            now, slots = self.rows.state(), tuple(self.rows.slots())
            _log.info("making the files of revision %d from the rows", now.revision)
            try:
                self._index.open(now.revision)
            except FileNotFoundError:
                prepared = self._index.replace(now.revision, *self._vectors(slots))
                with self._store.transaction() as connection:
                    prepared.commit(connection)
            self._lexical(slots, {}).save(self._lexical_path(now.revision))

    def _usable(self, state: State) -> Searcher | None:
        """The index that counts, to change it; None when it must be made from all vectors."""
        if not state.revision or state.model != self._embedder.name:
            return None
        if self._view is not None and self._view.revision == state.revision:
            return self._view.searcher
        try:
            return self._index.open(state.revision)
        except FileNotFoundError:
            return None

    def _prepare(self, old: Searcher | None, plan: Plan, revision: int) -> Prepared:
        if old is not None:
            gone = np.asarray(plan.gone, np.int64)
            changed = self._index.change(old, revision, gone, *self._vectors(plan.new, plan.texts))
            if changed is not None:
                return changed
        return self._index.replace(revision, *self._vectors(plan.slots, plan.texts))

    def _vectors(self, slots: Sequence[Slot], texts: dict[str, str] | None = None) -> tuple[Ids, Vectors]:
        """Ids and vectors of these passages; one that is missing is made."""
        hashes, model = [slot.hash for slot in slots], self._embedder.name
        missing = self.rows.missing(hashes, model)
        if missing:
            for hash_, text in {**self.rows.texts(), **(texts or {})}.items():
                if hash_ in missing:
                    self.rows.keep_vectors([hash_], self._embedder.passages([text]), model)
        return _ids(slots), self.rows.vectors(hashes, model, self._embedder.dimension)

    def _lexical(self, slots: Sequence[Slot], texts: dict[str, str]) -> Lexical:
        """BM25 over these passages; the words of those that were there before are remembered."""
        cut, known = installed(), self._words
        unknown = {slot.hash for slot in slots} - known.keys()
        if unknown - texts.keys():
            texts = {**self.rows.texts(), **texts}
        known = {**known, **{hash_: words(texts[hash_], cut) for hash_ in unknown}}
        self._words = {slot.hash: known[slot.hash] for slot in slots}
        return Lexical.make([slot.id for slot in slots], [self._words[slot.hash] for slot in slots], cut)

    def _lexical_path(self, revision: int) -> Path:
        return self._folder / f"lexical-{revision}.npz"


class _Nothing:
    """The index of an empty library."""

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Vectors]:
        return np.empty(0, np.int64), np.empty(0, np.float32)


def _ids(slots: Sequence[Slot]) -> Ids:
    return np.asarray([slot.id for slot in slots], np.int64)
