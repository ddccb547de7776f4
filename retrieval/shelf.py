"""The revisions of the library: opening the one that counts, publishing the next, one writer at a time (design §7)."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from errors import LibraryBusy, LibraryModelChanged, SessionBusy
from retrieval.change import Staged
from retrieval.document import DocType
from retrieval.embed import Embedder, Vectors
from retrieval.index import Ids, Index, Prepared, Searcher
from retrieval.lexical import Lexical, Segments
from retrieval.plan import Plan
from retrieval.row import Rows, Slot, State
from retrieval.search import View
from retrieval.segment import Marks, marks
from retrieval.word import installed
from settings import Settings
from store import Store
from store.lock import session_lock

LOCK = "library of documents"
LOCK_SECONDS = 60.0
UNUSED_SECONDS = 30 * 86400.0
"""How long the vectors of removed passages are kept, for files that come back."""
SWEEP_SECONDS = 86400.0
_log = logging.getLogger(__name__)


class Shelf:
    """Revisions of one library. Thread-safe; processes and machines that share the database may each have one."""

    def __init__(self, settings: Settings, store: Store, embedder: Embedder, index: Index) -> None:
        self.rows = Rows(store)
        self._store = store
        self._embedder = embedder
        self._index = index
        self._segments = Segments(settings.data_dir / "library")
        self._lock = session_lock(store.engine, settings.data_dir)
        self._mutex = threading.RLock()
        self._view: View | None = None
        self._swept = 0.0

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

    def publish(
        self,
        staged: Sequence[Staged] = (),
        removed: Sequence[int] = (),
        *,
        retyped: Mapping[int, DocType] | None = None,
        whole: bool = False,
    ) -> None:
        """The next revision: documents in and out, or of another type. ``whole``: the index is made from all texts
        and vectors, not changed.

        Index files are written first; then one transaction changes the rows and raises the revision. When nothing
        comes in, no model is asked: what was made with another one can still be removed or retyped.
        """
        with self.changing():
            old = self.rows.state()
            view = self._view if self._view and self._view.revision == old.revision else None
            before = view.slots if view else self.rows.slots()
            plan = Plan(self.rows, self._store, before, old.next_id, staged=staged, removed=removed, retyped=retyped)
            slots, new = tuple(plan.slots), self._next(old, plan.next_id, embeds=bool(staged) or whole)
            texts = _texts(slots)
            name, lexical = _name(new, slots, texts), self._lexical(slots, texts, plan.texts, whole=whole)
            usable = None
            if not whole and new.model == old.model:
                usable = view.searcher if view else self._usable(old, before)
            prepared = self._prepare(usable, plan, new, name)
            with self._store.transaction() as connection:
                plan.commit(connection)
                prepared.commit(connection)
                self.rows.set_state(connection, old, new)
            mine = new.model == self._embedder.name
            self._view = View(new.revision, prepared.searcher, lexical, slots, _ids(slots)) if mine else None
            self._index.prune(name)
            self._segments.prune()
            self._sweep()

    def _sweep(self) -> None:
        """Looks through all vectors for unused ones; once a day, so that a publication costs what it changes."""
        if time.time() > self._swept + SWEEP_SECONDS:
            self._swept = time.time()
            self.rows.drop_vectors(self._swept - UNUSED_SECONDS)

    def _next(self, old: State, next_id: int, *, embeds: bool) -> State:
        model, dimension = old.model, old.dimension
        if not old.revision or (embeds and model != self._embedder.name):
            model, dimension = self._embedder.name, self._embedder.dimension
        return State(old.revision + 1, next_id, model, dimension)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One writer at a time, among threads and processes. Raises ``LibraryBusy`` after a minute."""
        with self._mutex, ExitStack() as held:
            self._take(held)
            yield

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
            return View(0, _Nothing(), Lexical(_texts(()), (), installed()), (), none)
        slots = tuple(self.rows.slots())
        if self.rows.state().revision != state.revision:
            raise FileNotFoundError
        texts = _texts(slots)
        searcher, lexical = self._index.open(_name(state, slots, texts)), self._segments.open(texts)
        return View(state.revision, searcher, lexical, slots, _ids(slots))

    def _restore(self, state: State) -> None:
        """This machine lacks files of the revision: makes them from the rows."""
        with self.changing():
            now, slots = self.rows.state(), tuple(self.rows.slots())
            texts = _texts(slots)
            name = _name(now, slots, texts)
            _log.info("making the files of revision %d from the rows", now.revision)
            try:
                self._index.open(name)
            except FileNotFoundError:
                prepared = self._index.replace(name, *self._vectors(slots, now))
                with self._store.transaction() as connection:
                    prepared.commit(connection)
            self._lexical(slots, texts, {})

    def _usable(self, state: State, slots: Sequence[Slot]) -> Searcher | None:
        """The index that counts, to change it; None when it must be made from all vectors."""
        try:
            return self._index.open(_name(state, slots, _texts(slots)))
        except FileNotFoundError:
            return None

    def _prepare(self, old: Searcher | None, plan: Plan, new: State, name: str) -> Prepared:
        if old is not None:
            gone = np.asarray(plan.gone, np.int64)
            changed = self._index.change(old, name, gone, *self._vectors(plan.new, new, plan.texts))
            if changed is not None:
                return changed
        return self._index.replace(name, *self._vectors(plan.slots, new, plan.texts))

    def _vectors(self, slots: Sequence[Slot], of: State, texts: dict[str, str] | None = None) -> tuple[Ids, Vectors]:
        """Ids and vectors of these passages; one that is missing is made. Raises ``LibraryModelChanged``."""
        hashes = [slot.hash for slot in slots]
        missing = self.rows.missing(hashes, of.model)
        if missing and of.model != self._embedder.name:
            raise LibraryModelChanged(old=of.model, new=self._embedder.name)
        if missing:
            for hash_, text in self._read(missing, texts or {}).items():
                self.rows.keep_vectors([hash_], self._embedder.passages([text]), of.model)
        return _ids(slots), self.rows.vectors(hashes, of.model, of.dimension)

    def _lexical(self, slots: Sequence[Slot], texts: Marks, new: Mapping[str, str], *, whole: bool = False) -> Lexical:
        return self._segments.hold(
            texts, lambda missing: self._read((slots[each].hash for each in missing), new), whole=whole
        )

    def _read(self, hashes: Iterable[str], new: Mapping[str, str]) -> dict[str, str]:
        """Texts by their hash, from the new ones or else from the rows."""
        known = {hash_: new.get(hash_) for hash_ in hashes}
        there = self.rows.texts([hash_ for hash_, text in known.items() if text is None])
        return {hash_: there[hash_] if text is None else text for hash_, text in known.items()}


class _Nothing:
    """The index of an empty library."""

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Vectors]:
        return np.empty(0, np.int64), np.empty(0, np.float32)


def _name(state: State, slots: Sequence[Slot], texts: Marks) -> str:
    """The revision as its files have it: its number, and a mark of the passages that it holds."""
    held = hashlib.sha256(_ids(slots).tobytes() + texts.tobytes())
    return f"{state.revision}-{held.hexdigest()[:12]}"


def _ids(slots: Sequence[Slot]) -> Ids:
    return np.asarray([slot.id for slot in slots], np.int64)


def _texts(slots: Sequence[Slot]) -> Marks:
    return marks(slot.hash for slot in slots)
