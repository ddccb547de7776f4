"""A user's past turns in memory, as a search reads them: vectors, words, and where each turn lies.

Turns are added at the end and marked as gone; the table is packed anew when half of it is gone. Which turns count is
a mask of each search, for every conversation searches others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrieval.past.posting import Postings
from retrieval.past.row import VALUE, RowWords, unpack_words
from store.search.turn_index import IndexChanges, IndexedTurn, Revision, TurnKey

NOWHERE = -1
TABLE_BYTES, ROW_BYTES = 2000, 600
"""Bytes of the objects of a table and of a turn, beside what their arrays hold (measured)."""
Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]

_PLACE = np.dtype(
    [
        ("session", np.int32),
        ("branch", np.int32),
        ("number", np.int32),
        ("before", np.int32),  # the position of the turn before on the path of its session
        ("after", np.int32),
        ("length", np.float32),
        ("at", np.float64),
        ("has_number", np.bool_),
        ("has_vector", np.bool_),
        ("is_refused", np.bool_),
        ("counts", np.bool_),  # lies on the path of its session, which is not put away
    ]
)
_NEW = np.array((NOWHERE, 0, 0, NOWHERE, NOWHERE, 0, 0, False, False, False, False), _PLACE)


class _Session(NamedTuple):
    code: int
    rows: dict[tuple[int, int], int]
    """Positions by branch and number."""


class TurnTable:
    """The rows of one user by one set of rules; not thread-safe. ``revision``: up to which they were read."""

    def __init__(self) -> None:
        self.revision = Revision()
        self.postings = Postings()
        self.words = list[RowWords | None]()
        self._size = 0
        self._places = np.zeros(0, _PLACE)
        self._vectors = np.zeros((0, 0), np.float32)
        self._sum = np.zeros(0, np.float64)
        self._sessions: dict[str, _Session] = {}
        self._names = list[str]()
        self._pieces: dict[str, Mapping[int, range]] = {}

    def __len__(self) -> int:
        return self._size

    @property
    def size(self) -> int:
        """Bytes in memory, about; also of a table without turns, because there may be many users."""
        # the words of a turn stand once in its own arrays and once in the postings
        arrays = self._vectors.nbytes + self._places.nbytes + 2 * self.postings.size
        return TABLE_BYTES + ROW_BYTES * len(self.words) + arrays

    @property
    def places(self) -> NDArray[np.void]:
        return self._places[: self._size]

    @property
    def vectors(self) -> NDArray[np.float32]:
        """A row per turn, zeros without a vector; of no columns when no turn has one."""
        return self._vectors[: self._size]

    @property
    def mean_vector(self) -> NDArray[np.float32]:
        """The mean of all vectors."""
        return (self._sum / max(1, int(self.places["has_vector"].sum()))).astype(np.float32)

    def key(self, position: int) -> TurnKey:
        place = self._places[position]
        return TurnKey(self._names[place["session"]], int(place["branch"]), int(place["number"]))

    def choose_searched(self, sessions: Collection[str], session_id: str, before: int) -> Mask:
        """Returns which turns a search may find: on the paths of these sessions, of ``session_id`` before a turn; no
        question that the model refused."""
        is_named = np.zeros(len(self._names) + 1, bool)
        is_named[[self._sessions[name].code for name in sessions if name in self._sessions]] = True
        places = self.places
        mask: Mask = places["counts"] & ~places["is_refused"] & is_named[places["session"]]
        own = self._sessions.get(session_id)
        if own is not None:
            mask &= (places["session"] != own.code) | (places["number"] < before)
        return mask

    # --- changes --------------------------------------------------------------------------------

    def apply(self, changes: IndexChanges) -> None:
        """Takes in what changed since ``revision``."""
        if changes.remaining is not None:
            for name in [name for name in self._sessions if name not in changes.remaining]:
                self._drop(name, self._sessions[name].rows)
        for session in changes.sessions:
            if session.is_rebuilt and session.session_id in self._sessions:
                kept = {(row.branch, row.number) for row in session.rows}
                rows = self._sessions[session.session_id].rows
                self._drop(session.session_id, {key: row for key, row in rows.items() if key not in kept})
            self.add(session.rows)
            self.set_path(session.session_id, session.pieces)
        self.revision = changes.revision
        if 2 * sum(len(session.rows) for session in self._sessions.values()) < self._size - 100:
            self._pack()

    def add(self, rows: Iterable[IndexedTurn]) -> None:
        """Adds turns, or puts them in the place of what they said before; ``set_path`` then makes them count."""
        for row in rows:
            session = self._session(row.session_id)
            words = unpack_words(row.words)
            old = session.rows.get((row.branch, row.number))
            if old is not None:
                known = self.words[old]
                if known is not None and _is_same(known, words):
                    self._set_vector(old, row.vector)
                    continue
                self._drop(row.session_id, {(row.branch, row.number): old})
            self._append(session, row, words)

    def set_path(self, session_id: str, pieces: Mapping[int, range]) -> None:
        """Lets those turns of a session count that lie on its path, each beside its neighbours."""
        rows = self._session(session_id).rows
        self._pieces[session_id] = pieces
        on_path = sorted((number, row) for (branch, number), row in rows.items() if number in pieces.get(branch, ()))
        every = list(rows.values())
        for name, value in (("counts", False), ("before", NOWHERE), ("after", NOWHERE)):
            self._places[name][every] = value
        numbers = np.array([number for number, _ in on_path], np.int64)
        at = np.array([row for _, row in on_path], np.int64)
        self._places["counts"][at] = True
        follows = np.flatnonzero(np.diff(numbers) == 1)
        self._places["after"][at[follows]] = at[follows + 1]
        self._places["before"][at[follows + 1]] = at[follows]

    def _session(self, name: str) -> _Session:
        if name not in self._sessions:
            self._sessions[name] = _Session(len(self._names), {})
            self._names.append(name)
        return self._sessions[name]

    def _append(self, session: _Session, row: IndexedTurn, words: RowWords) -> None:
        position = self._size
        if position == len(self._places):
            self._grow(max(64, position * 3 // 2))
        length = float(words.question.sum() + words.answer.sum())
        self._places[position] = _NEW
        for name, value in (
            ("session", session.code),
            ("branch", row.branch),
            ("number", row.number),
            ("length", length),
            ("at", words.at),
            ("has_number", words.has_number),
            ("is_refused", words.is_refused),
        ):
            self._places[name][position] = value
        self._size += 1
        self.words.append(words)
        self.postings.add(position, words)
        session.rows[row.branch, row.number] = position
        self._set_vector(position, row.vector)

    def _set_vector(self, position: int, packed: bytes) -> None:
        if not packed:
            return
        vector = np.frombuffer(packed, VALUE).astype(np.float32)
        if self._vectors.shape[1] != len(vector):
            self._vectors = np.zeros((len(self._places), len(vector)), np.float32)
            self._sum = np.zeros(len(vector))
        self._sum += vector - self._vectors[position]
        self._vectors[position] = vector
        self._places["has_vector"][position] = True

    def _drop(self, name: str, rows: Mapping[tuple[int, int], int]) -> None:
        """Takes turns out; their neighbours are set by ``set_path``, or are gone with them."""
        known = self._sessions[name].rows
        for key, position in [*rows.items()]:
            if self._places["has_vector"][position]:
                self._sum -= self._vectors[position]
            self._places[position] = _NEW
            self.words[position] = None
            del known[key]
        if not known:
            self._pieces.pop(name, None)

    def _grow(self, capacity: int) -> None:
        places, vectors = np.zeros(capacity, _PLACE), np.zeros((capacity, self._vectors.shape[1]), np.float32)
        places[: self._size], vectors[: self._size] = self._places[: self._size], self._vectors[: self._size]
        self._places, self._vectors = places, vectors

    def _pack(self) -> None:
        """Makes the table anew without the turns that are gone."""
        old = defaultdict[str, list[IndexedTurn]](list)
        new = TurnTable()
        for name, session in self._sessions.items():
            for (branch, number), position in session.rows.items():
                words = self.words[position]
                assert words is not None
                row = IndexedTurn(name, branch, number, self._packed_vector(position), b"")
                new._append(new._session(name), row, words)
                old[name].append(row)
        for name in old:
            new.set_path(name, self._pieces[name])
        new.revision = self.revision
        self.__dict__.update(new.__dict__)

    def _packed_vector(self, position: int) -> bytes:
        return self._vectors[position].astype(VALUE).tobytes() if self._places["has_vector"][position] else b""


def _is_same(one: RowWords, two: RowWords) -> bool:
    columns = ((one.terms, two.terms), (one.question, two.question), (one.answer, two.answer))
    return one.at == two.at and all(np.array_equal(first, second) for first, second in columns)
