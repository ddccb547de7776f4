"""Which conversations hold what a client says was said: runs of turns that say the same as a history, by their marks.

A client of a stateless protocol sends its whole history with every request. A mark stands for one question and its
answer, so that turns are compared by an index and not by their texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, bindparam, select

from store.database import schema
from store.owner import EVERYONE, check_session, mine, user_of
from store.path import Path, branch_at, plain
from store.record import TurnStatus

ENDED = ("done", "stopped")
"""The statuses of turns that have a mark: those with an answer that the model gets again."""
LAST = 16
"""The last marks of a history that lead to a conversation."""
EACH = 50
"""The most turns that one mark leads to: what many conversations say alike decides nothing."""
MOST_SESSIONS = 30
MOST_MARKS = 1000
"""The last marks of a history that are compared; an older beginning counts as unknown."""
MOST_TURNS = 5000
MOST_BRANCHES = 500
MOST_PAIRS = 20_000
MOST_RUNS = 50

_TURN, _SESSION, _BRANCH = schema.turn.c, schema.session.c, schema.branch.c
_LEADS = select(_TURN.session_id).where(_TURN.mark == bindparam("wanted")).limit(EACH)
_ASKED = select(_TURN.question, _TURN.answer, _TURN.status, _TURN.given)


Places = dict[str, list[tuple[int, int]]]
"""Where a conversation holds a mark: branches and numbers of turns."""


@dataclass(frozen=True, slots=True)
class Run:
    """Turns ``first`` to ``last`` of a path of a session, which say what the history says from mark ``start`` on."""

    session_id: str
    path: Path
    first: int
    last: int
    start: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn of a path, as a client's history is held against it."""

    question: str
    answer: str
    status: TurnStatus
    given: bool


def mark_of(question: str, answer: str) -> str:
    """Returns the mark of a finished turn: 32 hexadecimal digits that stand for its question and answer. Texts that
    differ only in white space have the same mark, because clients trim and wrap texts.
    """
    texts = (" ".join(text.split()) for text in (question, answer))
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def owned(mark: str, owner: str) -> str:
    """Returns a mark as the column ``turn.mark`` holds it: of one owner, so that a look-up meets no turn of another
    user, however many users say the same.
    """
    return hashlib.sha256(f"{mark}\n{owner}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Histories:
    """What the conversations of a user have in common with a client's history; ``transaction`` opens a database
    transaction.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def runs(self, marks: Sequence[str], within: str | None = None) -> list[Run]:
        """Returns the runs of turns that say the same as a part of a history, the longest first, at most ``MOST_RUNS``.

        ``marks``: the marks of the history's turns, oldest first. Looks at conversations that hold one of the last
        ``LAST`` different marks and are not put away, or only at the conversation ``within``. Of each path of such a
        conversation it returns the longest run, and the run that ends with the history when that is another one. Of
        equally long runs, those come first that each conversation uses now. The cost does not grow with the number of
        conversations. Everyone's store has no runs, because a history is one user's.
        """
        with self._transaction() as connection:
            user = user_of(connection)
            if user is EVERYONE or not marks:
                return []
            older = max(0, len(marks) - MOST_MARKS)
            wanted = [owned(mark, user) for mark in marks[older:]]
            sessions = _sessions(connection, wanted) if within is None else [within]
            if not sessions:
                return []
            paths = _paths(connection, sessions)
            places = _places(connection, paths, wanted)
        return _best(paths, places, wanted, older)

    def agreeing(self, session_id: str, path: Path, marks: Sequence[str], first: int) -> list[bool]:
        """Returns for each mark of a history whether the turn of the path in its place says the same; the first mark's
        place is turn ``first``. Everyone's store returns nothing. Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            check_session(connection, session_id)
            user = user_of(connection)
            wanted = [] if user is EVERYONE else [owned(mark, user) for mark in marks]
            query = select(_TURN.branch, _TURN.number, _TURN.mark)
            query = query.where(_TURN.mark.in_(set(wanted)), _TURN.session_id == session_id)
            held = {(row.branch, row.number, row.mark) for row in connection.execute(query)}
        return [(branch_at(path, number), number, mark) in held for number, mark in enumerate(wanted, first)]

    def asked(self, session_id: str, path: Path, number: int) -> Asked | None:
        """Returns turn ``number`` of a path, which need not be the one in use; None when the path has no such turn.
        Raises ``SessionUnknown``.
        """
        with self._transaction() as connection:
            check_session(connection, session_id)
            key = (_TURN.session_id == session_id, _TURN.branch == branch_at(path, number), _TURN.number == number)
            row = connection.execute(_ASKED.where(*key)).one_or_none()
        return None if row is None else Asked(row.question, row.answer or "", row.status, row.given)


def _sessions(connection: Connection, wanted: Sequence[str]) -> list[str]:
    """Returns the conversations that the last marks lead to, at most ``MOST_SESSIONS``: those of rare marks first,
    because what many conversations say alike tells little.
    """
    weights = dict[str, float]()
    for mark in islice(dict.fromkeys(reversed(wanted)), LAST):
        found = set(connection.execute(_LEADS, {"wanted": mark}).scalars())
        for session_id in found:
            weights[session_id] = weights.get(session_id, 0.0) + 1 / len(found)
    return sorted(weights, key=lambda session_id: (-weights[session_id], session_id))[:MOST_SESSIONS]


def _paths(connection: Connection, sessions: Sequence[str]) -> dict[str, list[Path]]:
    """Returns the paths of each conversation that is not put away: the path in use first, then the last used."""
    current = select(_SESSION.id, _SESSION.path).where(
        _SESSION.id.in_(sessions), _SESSION.deleted.is_(None), mine(connection, _SESSION.owner)
    )
    paths = {row.id: [plain(row.path)] for row in connection.execute(current)}
    others = select(_BRANCH.session_id, _BRANCH.path).where(_BRANCH.session_id.in_(list(paths)))
    for row in connection.execute(others.order_by(_BRANCH.used.desc()).limit(MOST_BRANCHES)):
        if (path := plain(row.path)) not in paths[row.session_id]:
            paths[row.session_id].append(path)
    return paths


def _places(connection: Connection, sessions: Iterable[str], wanted: Sequence[str]) -> dict[str, Places]:
    """Returns where each conversation holds the wanted marks."""
    query = select(_TURN.session_id, _TURN.branch, _TURN.number, _TURN.mark)
    query = query.where(_TURN.mark.in_(set(wanted)), _TURN.session_id.in_(list(sessions))).limit(MOST_TURNS)
    places = dict[str, Places]()
    for row in connection.execute(query):
        places.setdefault(row.session_id, {}).setdefault(row.mark, []).append((row.branch, row.number))
    return places


def _best(
    paths: Mapping[str, Sequence[Path]], places: Mapping[str, Places], wanted: Sequence[str], older: int
) -> list[Run]:
    """Returns the runs in order. ``older``: the number of the history's marks before the wanted ones."""
    ranked = [
        (rank, run)
        for session_id, of_session in paths.items()
        for rank, path in enumerate(of_session)
        for run in _of_path(session_id, path, places.get(session_id, {}), wanted, older)
    ]
    ranked.sort(key=lambda entry: (-entry[1].length, entry[0], -entry[1].start))
    return [run for _, run in ranked[:MOST_RUNS]]


def _of_path(session_id: str, path: Path, places: Places, wanted: Sequence[str], older: int) -> list[Run]:
    """Returns the longest run of one path, and the run that ends with the history when that is another one."""
    lengths = _lengths(path, places, wanted)
    starts = [(at, number) for at, number in lengths if (at - 1, number - 1) not in lengths]
    if not starts:
        return []
    longest = max(starts, key=lambda start: (lengths[start], start))
    ending = [start for start in starts if start[0] + lengths[start] == len(wanted)]
    chosen = {longest, max(ending, key=lambda start: (lengths[start], start), default=longest)}
    return [
        Run(session_id, path, number, number + lengths[at, number] - 1, older + at) for at, number in sorted(chosen)
    ]


def _lengths(path: Path, places: Places, wanted: Sequence[str]) -> dict[tuple[int, int], int]:
    """Returns how many marks and turns agree from each pair of a wanted mark and a turn of the path on; looks at the
    last ``MOST_PAIRS`` pairs.
    """
    numbers = {
        mark: [number for branch, number in of_mark if branch_at(path, number) == branch]
        for mark, of_mark in places.items()
    }
    pairs = ((at, number) for at in reversed(range(len(wanted))) for number in numbers.get(wanted[at], ()))
    lengths = dict[tuple[int, int], int]()
    for at, number in islice(pairs, MOST_PAIRS):
        lengths[at, number] = lengths.get((at + 1, number + 1), 0) + 1
    return lengths
