"""The revisions of the library: opens the current one and publishes the next, one writer at a time (design 7.1)."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Collection as Collection_
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np

from errors import LibraryBusy, LibraryModelChanged, SessionBusy
from model.embedding import Embedder, Vectors
from retrieval.change import NO_CHANGE, LibraryChange
from retrieval.index.lexical import Lexical, Segments
from retrieval.index.row import LibraryRows, RevisionState, Slot
from retrieval.index.search import RevisionView
from retrieval.index.segment import Marks, build_hash_marks
from retrieval.index.vectors import Ids, Index, Prepared, Searcher
from retrieval.index.word import find_installed_cut
from retrieval.plan import LibraryPlan
from settings import Settings
from store import Store
from store.lock import session_lock

LOCK = "library of documents"
LOCK_SECONDS = 60.0
UNUSED_SECONDS = 30 * 86400.0
"""How long the vectors of removed passages are kept, in case their files come back."""
SWEEP_SECONDS = 86400.0
_log = logging.getLogger(__name__)


class Shelf:
    """The revisions of one library. Thread-safe; processes and machines that share the database may each have a
    shelf."""

    def __init__(self, settings: Settings, store: Store, embedder: Embedder, index: Index) -> None:
        self.rows = LibraryRows(store)
        self._store = store
        self._embedder = embedder
        self._index = index
        self._segments = Segments(settings.data_dir / "library")
        self._lock = session_lock(store.engine, settings.data_dir)
        self._mutex = threading.RLock()
        self._view: RevisionView | None = None
        self._swept = 0.0

    def open(self) -> RevisionView:
        """Returns the current revision. Raises ``LibraryCorrupt``, ``LibraryModelChanged`` or ``LibraryBusy``."""
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

    def check_model(self, state: RevisionState | None = None) -> None:
        """Raises ``LibraryModelChanged`` when the vectors come from another model than the setting's."""
        now = state or self.rows.state()
        if now.revision and now.model != self._embedder.name and self.rows.has_passages():
            raise LibraryModelChanged(old=now.model, new=self._embedder.name)

    def publish(
        self,
        change: LibraryChange = NO_CHANGE,
        *,
        orphans: bool = False,
        whole: bool = False,
        by_words: bool = False,
        filled: Collection_[str] = (),
    ) -> None:
        """Publishes the next revision, with a change of the documents. ``orphans``: removes files that no
        conversation uses any more, with their vectors. ``whole``: builds the index from all texts
        and vectors instead of changing it. ``by_words``: passages without a vector are found by their words until it is
        ``filled`` in; that names the hashes of passages that have their vectors since.

        Writes the index files first; then one transaction changes the rows and raises the revision. When no documents
        are added, no model is called, so documents embedded with another model can still be removed or retyped.
        """
        with self.changing():
            orphan_ids = self.rows.orphans() if orphans else []
            if orphans and not orphan_ids:
                return
            texts_left = self.rows.list_embedded_hashes(orphan_ids)
            old = self.rows.state()
            view = self._view if self._view and self._view.revision == old.revision else None
            old_slots = view.slots if view else self.rows.slots()
            whole_change = replace(change, removed=[*change.removed, *orphan_ids])
            plan = LibraryPlan(self.rows, self._store, old_slots, old.next_id, whole_change)
            slots = tuple(plan.slots)
            texts = _build_slot_marks(slots)
            new = self._next(old, plan.next_id, embeds=bool(change.staged) or whole)
            name = _build_revision_name(new, slots, texts)
            lexical = self._lexical(slots, texts, plan.texts, whole=whole)
            usable = None
            if not whole and new.model == old.model:
                usable = view.searcher if view else self._usable(old, old_slots)
            late = [slot for slot in plan.slots if slot.hash in filled]
            prepared = self._prepare(usable, plan, new, name, late, by_words=by_words or bool(filled))
            with self._store.transaction() as connection:
                plan.commit(connection)
                prepared.commit(connection)
                self.rows.set_state(connection, old, new)
            published = RevisionView(new.revision, prepared.searcher, lexical, slots, _build_slot_ids(slots))
            self._view = published if new.model == self._embedder.name else None
            self._index.prune(name)
            self._segments.prune()
            self.rows.forget_vectors(texts_left)
            self._sweep()

    def _sweep(self) -> None:
        """Removes unused vectors. Looks through all vectors, so it runs once a day: a publication should cost only what
        it changes."""
        if time.time() > self._swept + SWEEP_SECONDS:
            self._swept = time.time()
            self.rows.drop_vectors(self._swept - UNUSED_SECONDS)

    def _next(self, old: RevisionState, next_id: int, *, embeds: bool) -> RevisionState:
        model, dimension = old.model, old.dimension
        if not old.revision or (embeds and model != self._embedder.name):
            model, dimension = self._embedder.name, self._embedder.dimension
        return RevisionState(old.revision + 1, next_id, model, dimension)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Holds the lock of the one writer, among threads and processes. Raises ``LibraryBusy`` after a minute."""
        with self._mutex, ExitStack() as stack:
            self._take(stack)
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

    def _load(self, state: RevisionState) -> RevisionView:
        if not state.revision:
            no_ids = np.empty(0, np.int64)
            return RevisionView(0, _Nothing(), Lexical(_build_slot_marks(()), (), find_installed_cut()), (), no_ids)
        slots = tuple(self.rows.slots())
        if self.rows.state().revision != state.revision:
            raise FileNotFoundError
        texts = _build_slot_marks(slots)
        searcher, lexical = self._index.open(_build_revision_name(state, slots, texts)), self._segments.open(texts)
        return RevisionView(state.revision, searcher, lexical, slots, _build_slot_ids(slots))

    def _restore(self, state: RevisionState) -> None:
        """Makes the files of the current revision from the rows, because this machine lacks them."""
        with self.changing():
            now, slots = self.rows.state(), tuple(self.rows.slots())
            texts = _build_slot_marks(slots)
            name = _build_revision_name(now, slots, texts)
            _log.info("making the files of revision %d from the rows", now.revision)
            try:
                self._index.open(name)
            except FileNotFoundError:
                prepared = self._index.replace(name, *self._vectors(slots, now))
                with self._store.transaction() as connection:
                    prepared.commit(connection)
            self._lexical(slots, texts, {})

    def _usable(self, state: RevisionState, slots: Sequence[Slot]) -> Searcher | None:
        """Returns the index of the current revision, to be changed; None when it must be built from all vectors."""
        try:
            return self._index.open(_build_revision_name(state, slots, _build_slot_marks(slots)))
        except FileNotFoundError:
            return None

    def _prepare(
        self,
        old: Searcher | None,
        plan: LibraryPlan,
        new: RevisionState,
        name: str,
        late: Sequence[Slot],
        *,
        by_words: bool,
    ) -> Prepared:
        """Prepares the index of the next revision; ``late``: passages that have their vectors since."""
        if old is not None:
            gone = np.asarray([*plan.gone, *(slot.id for slot in late)], np.int64)
            added = self._vectors([*plan.new, *late], new, plan.texts, by_words=by_words)
            absent = max(0, len(plan.slots) - len(plan.new) + len(plan.gone) - old.count)
            changed = self._index.change(old, name, gone, *added, absent)
            if changed is not None:
                return changed
        return self._index.replace(name, *self._vectors(plan.slots, new, plan.texts, by_words=by_words))

    def _vectors(
        self, slots: Sequence[Slot], of: RevisionState, texts: dict[str, str] | None = None, *, by_words: bool = False
    ) -> tuple[Ids, Vectors]:
        """Returns ids and vectors of these passages; embeds passages that have no vector, or leaves them out when they
        are found ``by_words``. Raises ``LibraryModelChanged``."""
        hashes = [slot.hash for slot in slots]
        missing = self.rows.missing(hashes, of.model)
        if by_words and missing:
            slots = [slot for slot in slots if slot.hash not in missing]
            hashes, missing = [slot.hash for slot in slots], set()
        if missing and of.model != self._embedder.name:
            raise LibraryModelChanged(old=of.model, new=self._embedder.name)
        if missing:
            for hash_, text in self._read(missing, texts or {}).items():
                self.rows.keep_vectors([hash_], self._embedder.passages([text]), of.model)
        return _build_slot_ids(slots), self.rows.vectors(hashes, of.model, of.dimension)

    def _lexical(self, slots: Sequence[Slot], texts: Marks, new: Mapping[str, str], *, whole: bool = False) -> Lexical:
        return self._segments.hold(
            texts, lambda missing: self._read((slots[position].hash for position in missing), new), whole=whole
        )

    def _read(self, hashes: Iterable[str], new: Mapping[str, str]) -> dict[str, str]:
        """Returns texts by hash, from the new ones or else from the rows."""
        texts = {hash_: new.get(hash_) for hash_ in hashes}
        stored = self.rows.texts([hash_ for hash_, text in texts.items() if text is None])
        return {hash_: stored[hash_] if text is None else text for hash_, text in texts.items()}


class _Nothing:
    """The index of an empty library."""

    count = 0

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Vectors]:
        return np.empty(0, np.int64), np.empty(0, np.float32)


def _build_revision_name(state: RevisionState, slots: Sequence[Slot], texts: Marks) -> str:
    """Returns the name of the revision in its file names: its number, and a hash of the passages that it holds."""
    content = hashlib.sha256(_build_slot_ids(slots).tobytes() + texts.tobytes())
    return f"{state.revision}-{content.hexdigest()[:12]}"


def _build_slot_ids(slots: Sequence[Slot]) -> Ids:
    return np.asarray([slot.id for slot in slots], np.int64)


def _build_slot_marks(slots: Sequence[Slot]) -> Marks:
    return build_hash_marks(slot.hash for slot in slots)
