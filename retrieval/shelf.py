"""The revisions of the library: opening the one that counts, publishing the next, one writer at a time (design §7)."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from errors import LibraryBusy, LibraryModelChanged, SessionBusy
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

        Index files are written first; then one transaction changes the rows and raises the revision. When nothing
        comes in, no model is asked: what was made with another one can still be removed or retyped.
        """
        with self.changing():
            old = self.rows.state()
            plan = Plan(self.rows, self._store, staged, removed, old.next_id)
            slots, new = tuple(plan.slots), self._next(old, plan.next_id, embeds=bool(staged) or whole)
            name, lexical = _name(new, slots), self._lexical(slots, plan.texts)
            lexical.save(self._lexical_path(name))
            usable = None if whole or new.model != old.model else self._usable(old)
            prepared = self._prepare(usable, plan, new, name)
            with self._store.transaction() as connection:
                plan.commit(connection)
                prepared.commit(connection)
                self.rows.set_state(connection, old, new)
            mine = new.model == self._embedder.name
            self._view = View(new.revision, prepared.searcher, lexical, slots, _ids(slots)) if mine else None
            self._index.prune(name)
            self.rows.drop_vectors(time.time() - UNUSED_SECONDS)

    def _next(self, old: State, next_id: int, *, embeds: bool) -> State:
        model, dimension = old.model, old.dimension
        if not old.revision or (embeds and model != self._embedder.name):
            model, dimension = self._embedder.name, self._embedder.dimension
        return State(old.revision + 1, next_id, model, dimension)

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
        slots = tuple(self.rows.slots())
        if self.rows.state().revision != state.revision:
            raise FileNotFoundError
        name = _name(state, slots)
        searcher, lexical = self._index.open(name), Lexical.load(self._lexical_path(name))
        if lexical.cut != installed():
            lexical = self._lexical(slots, {})
        return View(state.revision, searcher, lexical, slots, _ids(slots))

    def _restore(self, state: State) -> None:
        """This machine has no files of the revision: makes them from the rows."""
        with self.changing():
            now, slots = self.rows.state(), tuple(self.rows.slots())
            name = _name(now, slots)
            _log.info("making the files of revision %d from the rows", now.revision)
            try:
                self._index.open(name)
            except FileNotFoundError:
                prepared = self._index.replace(name, *self._vectors(slots, now))
                with self._store.transaction() as connection:
                    prepared.commit(connection)
            self._lexical(slots, {}).save(self._lexical_path(name))

    def _usable(self, state: State) -> Searcher | None:
        """The index that counts, to change it; None when it must be made from all vectors."""
        if self._view is not None and self._view.revision == state.revision:
            return self._view.searcher
        try:
            return self._index.open(_name(state, self.rows.slots()))
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
            for hash_, text in {**self.rows.texts(), **(texts or {})}.items():
                if hash_ in missing:
                    self.rows.keep_vectors([hash_], self._embedder.passages([text]), of.model)
        return _ids(slots), self.rows.vectors(hashes, of.model, of.dimension)

    def _lexical(self, slots: Sequence[Slot], texts: dict[str, str]) -> Lexical:
        """BM25 over these passages; the words of those that were there before are remembered."""
        cut, known = installed(), self._words
        unknown = {slot.hash for slot in slots} - known.keys()
        if unknown - texts.keys():
            texts = {**self.rows.texts(), **texts}
        known = {**known, **{hash_: words(texts[hash_], cut) for hash_ in unknown}}
        self._words = {slot.hash: known[slot.hash] for slot in slots}
        return Lexical.make([slot.id for slot in slots], [self._words[slot.hash] for slot in slots], cut)

    def _lexical_path(self, name: str) -> Path:
        return self._folder / f"lexical-{name}.npz"


class _Nothing:
    """The index of an empty library."""

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Vectors]:
        return np.empty(0, np.int64), np.empty(0, np.float32)


def _name(state: State, slots: Sequence[Slot]) -> str:
    """The revision as its files have it: its number, and a mark of the passages that it holds."""
    held = hashlib.sha256("\n".join(f"{slot.id} {slot.hash}" for slot in slots).encode())
    return f"{state.revision}-{held.hexdigest()[:12]}"


def _ids(slots: Sequence[Slot]) -> Ids:
    return np.asarray([slot.id for slot in slots], np.int64)
