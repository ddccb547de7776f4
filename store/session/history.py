"""Where the turns lie that a client's history speaks of: an index of short marks of single messages.

A client of a stateless protocol sends its whole history with every request, in a shape of its own. What the history is
to the turns that are found here, ``history.align`` says; nothing here compares texts. All look-ups are bounded: their
cost does not grow with the number of conversations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, case, delete, or_, select, union_all

from history.align import Exchange, TurnEvidence, Weights, choose_pairs, weigh_turn_pairs
from history.form import MessageMarks, mark_message
from store.database import schema
from store.database.insert import insert_into
from store.owner import EVERYONE, build_owner_condition, check_session_owner, user_of
from store.path import Path, branch_at, parse_path
from store.record import Session, TurnStatus
from store.session.opening import as_session
from text.fence import find_words

ENDED = ("done", "stopped")
"""The statuses of turns that have marks: those with an answer that the model gets again."""
LEADING = 8
"""The last turns of a history whose marks lead to a conversation."""
FEW, EACH = 32, 500
"""The most turns that one mark leads to: first a few, for what is rare tells where a history belongs; where all of its
last messages are said more often, more of them. Of what still more conversations say alike, the one that is meant may
be missing (``Lead.is_cut``)."""
MOST_HOMES = 12
"""The most conversations that a history is held against: of those that say as much, the last used ones."""
MOST_TURNS = 1000
"""The last turns of a history that are compared; an older beginning counts as unknown."""
MOST_ROWS = 20_000
MOST_REPEATED = 4000
"""Told times stored turns with one message, above which only likely ones are held against each other."""
LIKELY = 4
"""Stored turns on each side of the place where a told one is looked for."""
MOST_PATHS = 24
"""The most paths of one conversation that a history is laid over."""
_FOUND = (schema.session.c.deleted.is_(None), schema.session.c.world == "")
"""Conversations that a history is held against: stories are found by their worlds (``store.world.story``)."""
_MARK, _TURN, _SESSION, _BRANCH = schema.history_mark.c, schema.turn.c, schema.session.c, schema.branch.c
_NUMBERED = (_TURN.session_id == _SESSION.id) & _TURN.number.in_(bindparam("numbers", expanding=True))
_OWNED = select(_SESSION.owner, _TURN.branch, _TURN.number).where(_SESSION.id == bindparam("session"))
_ASKED = _OWNED.add_columns(_TURN.question, _TURN.answer, _TURN.status, _TURN.given).select_from(
    schema.session.outerjoin(schema.turn, _NUMBERED)
)
_ANSWERED = _OWNED.select_from(schema.session.outerjoin(schema.turn, _NUMBERED & _TURN.given.is_(False)))
_IS_NEXT = _TURN.number == bindparam("following")
_FOLLOWED = _OWNED.add_columns(
    *(case((_IS_NEXT, column), else_=None).label(column.name) for column in (_TURN.question, _TURN.answer)),
    *(_TURN.status, _TURN.given),
).select_from(
    schema.session.outerjoin(
        schema.turn,
        (_TURN.session_id == _SESSION.id)
        & or_(_IS_NEXT, _TURN.number.in_(bindparam("numbers", expanding=True)) & _TURN.given.is_(False)),
    )
)
"""What was said in the turn that follows, and which of the others a client did not tell: their texts may be long."""
_PIECE = 16
"""Marks of one look-up for conversations."""
_LEADS = union_all(
    *(
        select(
            select(_MARK.mark, _MARK.home)
            .where(_MARK.mark == bindparam(f"mark_{at}"))
            .limit(bindparam("most", type_=Integer))
            .subquery()
        )
        for at in range(_PIECE)
    )
)


@dataclass(frozen=True, slots=True)
class Lead:
    """A path of a conversation that says something of a history. ``weights``: what speaks for each pair of a told turn
    and one of the path; ``weight``: of the heaviest chain of them. ``in_use``: whether the conversation uses the
    path. ``is_cut``: nothing but what more turns say than were looked at led to the conversation, so that another
    one may say as much. ``session``: the conversation; None for a world's line."""

    home: str
    path: Path
    weights: Weights
    weight: float
    in_use: bool = True
    is_cut: bool = False
    session: Session | None = None


@dataclass(frozen=True, slots=True)
class PathTurn:
    """A turn of a path, as a client's history is held against it."""

    question: str
    answer: str
    status: TurnStatus
    given: bool

    @property
    def exchange(self) -> Exchange:
        """Returns the turn as histories are compared: of a question the user's words."""
        return Exchange(find_words(self.question), self.answer, self.status == "stopped")


# --- the index --------------------------------------------------------------------------------------


def put_marks(
    connection: Connection, owner: str, home: str, branch: int, turns: Iterable[tuple[int, str, Sequence[str]]]
) -> None:
    """Makes turns known. ``turns``: their numbers, questions, and every form in which a client may send the answer.
    Marks that are there already stay."""
    rows = [
        {"mark": mark, "home": home, "branch": branch, "number": number}
        for number, question, answers in turns
        for mark in _marks_of_turn(question, answers, owner)
    ]
    _put_rows(connection, rows)


def _put_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(insert_into(connection, schema.history_mark).on_conflict_do_nothing(), rows)


def _marks_of_turn(question: str, answers: Sequence[str], owner: str) -> list[int]:
    asked = mark_message(words, "question", owner).all if (words := find_words(question)).strip() else ()
    said = (mark for answer in answers if answer.strip() for mark in mark_message(answer, "answer", owner).all)
    return list(dict.fromkeys((*asked, *said)))


def drop_marks(connection: Connection, home: str, branch: int | None = None, number: int | None = None) -> None:
    """Makes turns unknown: all of a conversation or a world, or one turn."""
    conditions = [_MARK.home == home]
    conditions += [_MARK.branch == branch] if branch is not None else []
    conditions += [_MARK.number == number] if number is not None else []
    connection.execute(delete(schema.history_mark).where(*conditions))


def copy_marks(connection: Connection, home: str, path: Path, last: int, to: str) -> None:
    """Makes the turns of a path known as the trunk of another conversation. ``last``: the last of them."""
    query = select(schema.history_mark).where(_MARK.home == home, _MARK.number <= last)
    rows = [
        {"mark": row.mark, "home": to, "branch": 0, "number": row.number}
        for row in connection.execute(query)
        if branch_at(path, row.number) == row.branch
    ]
    _put_rows(connection, rows)


def copy_marks_earlier(connection: Connection, home: str, path: Path, number: int, branch: int) -> None:
    """Makes the turns of a path after turn ``number`` known on ``branch``, too, one place earlier."""
    query = select(schema.history_mark).where(_MARK.home == home, _MARK.number > number)
    rows = [
        {"mark": row.mark, "home": home, "branch": branch, "number": row.number - 1}
        for row in connection.execute(query)
        if branch_at(path, row.number) == row.branch
    ]
    _put_rows(connection, rows)


def copy_turn_marks(connection: Connection, home: str, source: tuple[int, int], target: tuple[int, int]) -> None:
    """Lets a turn be found by the marks of another one, too. ``source``, ``target``: their branches and numbers."""
    query = select(_MARK.mark).where(_MARK.home == home, _MARK.branch == source[0], _MARK.number == source[1])
    rows = [
        {"mark": mark, "home": home, "branch": target[0], "number": target[1]}
        for mark in connection.execute(query).scalars()
    ]
    _put_rows(connection, rows)


@dataclass(frozen=True, slots=True)
class ToldMarks:
    """The marks of told turns: of each, its question's and its answer's; None for an empty one. ``older``: how many
    turns of the history stand before these."""

    turns: tuple[tuple[MessageMarks | None, MessageMarks | None], ...]
    older: int

    @classmethod
    def of(cls, told: Sequence[tuple[str, str]], owner: str) -> ToldMarks:
        older = max(0, len(told) - MOST_TURNS)
        turns = tuple(
            (
                mark_message(words, "question", owner) if (words := find_words(question)).strip() else None,
                mark_message(answer, "answer", owner) if answer.strip() else None,
            )
            for question, answer in told[older:]
        )
        return cls(turns, older)

    def leading(self) -> tuple[list[int], list[int]]:
        """Returns the marks that lead to conversations, the latest first: of whole messages, and of edges."""
        last = [marks for turn in reversed(self.turns[-LEADING:]) for marks in reversed(turn) if marks is not None]
        wholes = (mark for marks in last for mark in marks.whole)
        return list(dict.fromkeys(wholes)), list(dict.fromkeys(mark for marks in last for mark in marks.edges))

    def places(self) -> dict[int, list[tuple[int, str, bool]]]:
        """Returns for each mark which told turns have it, in which side, and whether it is of the whole."""
        places: dict[int, list[tuple[int, str, bool]]] = {}
        near = len(self.turns) - 2 * LEADING
        for at, turn in enumerate(self.turns):
            for side, marks in zip(("question", "answer"), turn, strict=True):
                if marks is not None:
                    for mark in marks.whole:
                        places.setdefault(mark, []).append((self.older + at, side, True))
                    for mark in marks.edges if at >= near else ():
                        places.setdefault(mark, []).append((self.older + at, side, False))
        return places


def find_homes(
    connection: Connection, marks: ToldMarks, read_used: Callable[[list[str]], Mapping[str, float]]
) -> dict[str, bool]:
    """Returns the conversations or worlds that the last marks lead to, at most ``MOST_HOMES``, and of each whether it
    was found among too many (``Lead.is_cut``): those of rare marks first, because what many say alike tells little; of
    equal ones those that were used last. ``read_used``: returns those of some ids that may be found, with the moments
    when they were used."""
    whole, edges = marks.leading()
    found = _look_up_rare(connection, whole) or _look_up_rare(connection, edges)
    weights: dict[str, float] = {}
    for homes, _ in found:
        for home in homes:
            weights[home] = weights.get(home, 0.0) + 1 / len(homes)
    used = read_used(list(weights)) if weights else {}
    best = sorted(used, key=lambda home: (-round(weights[home], 6), -used[home], home))[:MOST_HOMES]
    return {home: all(is_cut for homes, is_cut in found if home in homes) for home in best}


def _look_up_rare(connection: Connection, marks: Sequence[int]) -> list[tuple[set[str], bool]]:
    """Returns what ``_look_up`` does for the marks of a few turns; for all marks where none is as rare."""
    found = _look_up(connection, marks, FEW)
    rare = [(homes, False) for homes, is_cut in found if not is_cut]
    return rare or (_look_up(connection, marks, EACH) if found else [])


def _look_up(connection: Connection, marks: Sequence[int], most: int) -> list[tuple[set[str], bool]]:
    """Returns for each known mark where it leads to, at most to so many turns, and whether to as many or more."""
    rows: dict[int, list[str]] = {}
    for start in range(0, len(marks), _PIECE):
        some = marks[start : start + _PIECE]
        values: dict[str, int | None] = {"most": most}
        values |= {f"mark_{at}": some[at] if at < len(some) else None for at in range(_PIECE)}
        for mark, home in connection.execute(_LEADS, values):
            rows.setdefault(mark, []).append(home)
    return [(set(homes), len(homes) >= most) for homes in rows.values()]


Rows = Mapping[str, Sequence[tuple[int, int, int]]]
"""Of conversations and worlds the branches, numbers and marks of turns that a history speaks of."""


def find_rows(connection: Connection, homes: Sequence[str], wanted: Iterable[int]) -> Rows:
    """Returns which turns of these conversations have one of the marks."""
    query = select(_MARK.home, _MARK.branch, _MARK.number, _MARK.mark).where(_MARK.home.in_(homes))
    query = query.where(_MARK.mark.in_(list(wanted))).limit(MOST_ROWS)
    rows: dict[str, list[tuple[int, int, int]]] = {}
    for home, branch, number, mark in connection.execute(query):
        rows.setdefault(home, []).append((branch, number, mark))
    return rows


def lay_over(
    home: str,
    path: Path,
    rows: Sequence[tuple[int, int, int]],
    places: Mapping[int, Sequence[tuple[int, str, bool]]],
    *,
    in_use: bool = True,
) -> Lead:
    """Returns what speaks for a history along one path."""
    lasts = [first - 1 for _, first in path[1:]] + [2**31]
    range_of = {branch: (first, last) for (branch, first), last in zip(path, lasts, strict=True)}
    found: dict[int, list[int]] = {}
    for branch, number, mark in rows:
        if branch in range_of and range_of[branch][0] <= number <= range_of[branch][1]:
            found.setdefault(mark, []).append(number)
    evidence, anchors, around = list[TurnEvidence](), dict[int, int](), dict[int, int]()
    for mark, numbers in found.items():  # what both sides say once, first
        if len(numbers) == len(places[mark]) == 1:
            ((sent, side, whole),) = places[mark]
            evidence.append(TurnEvidence(sent, numbers[0], side, whole))
            around.setdefault(sent, numbers[0])
            if whole:
                anchors[sent] = around[sent] = numbers[0]
    for mark, numbers in found.items():
        if len(numbers) == len(places[mark]) == 1:
            continue
        here, is_repeated = set(numbers), len(numbers) * len(places[mark]) > MOST_REPEATED
        likely = _choose_likely(sorted(here), places[mark], around) if is_repeated else {}
        for sent, side, whole in places[mark]:
            own = [anchors[sent]] if anchors.get(sent) in here else likely[sent] if is_repeated else numbers
            evidence += [TurnEvidence(sent, number, side, whole) for number in own]
    weights = weigh_turn_pairs(evidence)
    _, weight = choose_pairs(weights, path[0][1] if path else 1)
    return Lead(home, path, weights, weight, in_use)


def _choose_likely(
    numbers: Sequence[int], places: Sequence[tuple[int, str, bool]], around: Mapping[int, int]
) -> dict[int, Sequence[int]]:
    """Returns for each told turn of a message that both sides say again and again the few stored turns that it may be:
    those where it lies by the nearest told turn whose place is known (``around``). Where none is known, an answer may
    lie as far from the first or from the last turn that has it; a question, such as «Continue.», says nothing."""
    sents = sorted(around)
    likely: dict[int, Sequence[int]] = {}
    for sent, side, _ in places:
        if sents:
            at = bisect_left(sents, sent)
            near = min(sents[max(0, at - 1) : at + 1], key=lambda one: abs(one - sent))
            wanted = [sent + around[near] - near]
        else:
            ends = ((numbers[0], places[0][0]), (numbers[-1], places[-1][0])) if side == "answer" else ()
            wanted = [sent + number - end for number, end in ends]
        spots = (bisect_left(numbers, number) for number in wanted)
        likely[sent] = sorted({number for at in spots for number in numbers[max(0, at - LIKELY) : at + LIKELY]})
    return likely


# --- conversations ----------------------------------------------------------------------------------


class Histories:
    """What the conversations of a user have in common with a client's history; ``transaction`` opens a database
    transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def find(self, told: Sequence[tuple[str, str]], within: str | None = None) -> list[Lead]:
        """Returns the best path of each conversation that says something of a history, the best one first.

        ``told``: questions and answers, oldest first. Looks at conversations that one of the last ``LEADING`` turns
        leads to and that are not put away, or only at the conversation ``within``. Everyone's store has none, because
        a history is one user's.
        """
        with self._transaction() as connection:
            user = user_of(connection)
            if user is EVERYONE or not told:
                return []
            marks = ToldMarks.of(told, user)
            sessions = dict[str, Session]()

            def read_used(ids: list[str]) -> Mapping[str, float]:
                if len(ids) <= MOST_HOMES:  # as usual: then they are read once
                    sessions.update(_read_sessions(connection, ids))
                    return {id_: session.updated for id_, session in sessions.items()}
                there = (_SESSION.id.in_(ids), *_FOUND, build_owner_condition(connection, _SESSION.owner))
                rows = connection.execute(select(_SESSION.id, _SESSION.updated).where(*there))
                return {row.id: row.updated for row in rows}

            homes = find_homes(connection, marks, read_used) if within is None else {within: False}
            if not homes:
                return []
            places = marks.places()
            rows = find_rows(connection, list(homes), places)
            sessions = {home: sessions[home] for home in rows} if sessions else _read_sessions(connection, list(rows))
            paths = _find_row_paths(connection, rows, sessions)
        leads = [
            max(
                (lay_over(home, path, rows[home], places, in_use=not at) for at, path in enumerate(of_home)),
                key=lambda lead: (lead.weight, lead.in_use),
            )
            for home, of_home in paths.items()
        ]
        rank = {home: at for at, home in enumerate(homes)}
        leads = [replace(lead, is_cut=homes[lead.home], session=sessions[lead.home]) for lead in leads if lead.weights]
        return sorted(leads, key=lambda lead: (-round(lead.weight, 3), rank[lead.home]))

    def read(self, session_id: str, path: Path, numbers: Sequence[int]) -> dict[int, PathTurn]:
        """Returns turns of a path, which need not be the one in use, by their numbers. Raises ``SessionUnknown``."""
        versions = self.read_versions(session_id, numbers)
        return {number: turn for (number, branch), turn in versions.items() if branch_at(path, number) == branch}

    def read_versions(self, session_id: str, numbers: Sequence[int]) -> dict[tuple[int, int], PathTurn]:
        """Returns turns on whatever branch, by their numbers and branches. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            rows = _read_turns(connection, session_id, numbers, given=True)
        return {(row.number, row.branch): _make_asked(row) for row in rows}

    def find_path_turn(self, session_id: str, path: Path, number: int) -> PathTurn | None:
        """Returns turn ``number`` of a path; None when the path has no such turn. Raises ``SessionUnknown``."""
        return self.read(session_id, path, [number]).get(number)

    def is_answered(self, session_id: str, path: Path, numbers: Sequence[int]) -> bool:
        """Returns whether a model of ours answered one of these turns: a client told the others. Raises
        ``SessionUnknown``."""
        with self._transaction() as connection:
            rows = _read_turns(connection, session_id, numbers, given=False)
        return any(branch_at(path, row.number) == row.branch for row in rows)

    def follow(
        self, session_id: str, path: Path, numbers: Sequence[int], following: int
    ) -> tuple[bool, PathTurn | None]:
        """Returns what ``is_answered`` says of some turns, and turn ``following``, which is none of them. Raises
        ``SessionUnknown``."""
        values = {"session": session_id, "numbers": list(numbers), "following": following}
        with self._transaction() as connection:
            rows = connection.execute(_FOLLOWED, values).all()
            check_session_owner(connection, session_id, rows[0].owner if rows else None)
        here = [row for row in rows if row.number is not None and branch_at(path, row.number) == row.branch]
        asked = next((_make_asked(row) for row in here if row.number == following), None)
        return any(row.number != following for row in here), asked

    def learn(self, session_id: str, path: Path, number: int, question: str, answer: str) -> None:
        """Lets turn ``number`` of a path be found by other words, too: those in which its client tells it, or all that
        its client was shown. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            branch = branch_at(path, number)
            found = _read_turns(connection, session_id, [number], given=True)
            row = next((row for row in found if row.branch == branch), None)
            if row is not None and row.status in ENDED:
                put_marks(connection, row.owner, session_id, branch, [(number, question, [answer])])


def _read_turns(connection: Connection, session_id: str, numbers: Sequence[int], given: bool) -> Sequence[Any]:
    """Returns the turns with these numbers, on whatever branch. ``given``: those that a client told, too, and what was
    said. Raises ``SessionUnknown``."""
    rows = connection.execute(_ASKED if given else _ANSWERED, {"session": session_id, "numbers": list(numbers)}).all()
    check_session_owner(connection, session_id, rows[0].owner if rows else None)
    return [row for row in rows if row.number is not None]


def _make_asked(row: Any) -> PathTurn:
    return PathTurn(row.question, row.answer or "", row.status, row.given)


def _read_sessions(connection: Connection, ids: list[str]) -> dict[str, Session]:
    """Returns those of these conversations that may be found."""
    query = select(schema.session).where(
        _SESSION.id.in_(ids), *_FOUND, build_owner_condition(connection, _SESSION.owner)
    )
    return {row.id: as_session(row) for row in connection.execute(query)}


def _find_row_paths(connection: Connection, rows: Rows, sessions: Mapping[str, Session]) -> dict[str, list[Path]]:
    """Returns of each conversation the paths that its rows may lie on: the one in use first, then the last used ones.
    Where the path in use holds all rows, no other holds more."""
    paths = {home: [session.path] for home, session in sessions.items()}
    beside = {
        home
        for home, session in sessions.items()
        if any(branch_at(session.path, number) != branch for branch, number, _ in rows[home])
    }
    if not beside:
        return paths
    branches = {branch for home in beside for branch, _, _ in rows[home]}
    others = select(_BRANCH.session_id, _BRANCH.path).where(_BRANCH.session_id.in_(beside))
    for row in connection.execute(others.where(_BRANCH.id.in_(branches)).order_by(_BRANCH.used.desc())):
        of_home = paths[row.session_id]
        if len(of_home) < MOST_PATHS and (path := parse_path(row.path)) not in of_home:
            of_home.append(path)
    return paths
