"""The branches of sessions: other answers to the same turn, edited questions, copies of a conversation."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from sqlalchemy import ColumnElement, Connection, Table, and_, func, insert, select, update

from errors import TurnUnknown
from store.database import schema
from store.owner import build_owner_condition, check_session_owner, key_of
from store.path import Path, branch_at, cut_path_before, fork_path, on_path, parse_path
from store.record import GivenTurn
from store.session import options
from store.session.history import copy_marks, put_marks
from store.session.session_path import lock_session_row, switch_session_path
from store.session.title import first_line
from store.turn.attachment import copy_attachments
from store.turn.foreign import insert_turn
from store.turn.image import copy_images
from store.turn.outbox import delete_sent_message
from store.turn.partial import delete_partial_text
from store.turn.shift import copy_turns_earlier
from store.world.copy import copy_nodes_earlier, copy_story
from store.world.rows import lock_world_of_session
from text.clean import clean_text

_NUMBER = re.compile(r" \(\d+\)$")
_PATHS_AT_ONCE = 50
"""Paths of branches that one query reads."""


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The versions of one turn. ``branches``: the branches that hold them, oldest first; ``current``: the index of the
    version in use.
    """

    number: int
    branches: tuple[int, ...]
    current: int


@dataclass(frozen=True, slots=True)
class Continued:
    """A turn of a line that is not in use, by number and branch, and how many turns that line has behind."""

    number: int
    branch: int
    later: int


class Tree:
    """Branches of all sessions; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def begin(self, session_id: str, number: int, question: str) -> None:
        """Begins a new branch that leaves the session's path before turn ``number``, and writes that turn's question as
        running. A question of a file stays one that nobody need have asked.

        Raises ``TurnUnknown`` when the path has no such turn.
        """
        now = time.time()
        with self._transaction() as connection:
            path = _load_path_with_turn(connection, session_id, number)
            branch_path = _create_fork(connection, session_id, path, number, now)
            turn = {"session_id": session_id, "branch": branch_path[-1][0], "number": number, "question": question}
            turn["files"] = _load_turn_files(connection, session_id, branch_at(path, number), number)
            turn["is_imported"] = _is_imported_question(connection, session_id, number, question)
            turn["has_foreign"] = turn["is_imported"]
            turn |= {"status": "running", "started": now}
            insert_turn(connection, path, turn)
            delete_sent_message(connection, session_id, question, number)
            delete_partial_text(connection, session_id)
            switch_session_path(connection, session_id, branch_path)

    def give(self, session_id: str, number: int, turns: Sequence[GivenTurn], at: float) -> int:
        """Writes finished turns that were made elsewhere, from turn ``number`` on, and returns the last turn's number.

        Turns after the last one go on; any other ``number`` begins a new branch there. ``at``: when they were told
        (Unix seconds). Without turns nothing changes. Raises ``TurnUnknown`` for a number that leaves a gap.
        """
        with self._transaction() as connection:
            path, count, owner = _load_session_place(connection, session_id)
            if not 1 <= number <= count + 1:
                raise TurnUnknown(session=session_id, turn=number)
            if not turns:
                return number - 1
            if number <= count:
                path = _create_fork(connection, session_id, path, number, at)
            branch = branch_at(path, number)
            rows = [
                _build_given_row(session_id, branch, at_number, turn, at)
                for at_number, turn in enumerate(turns, number)
            ]
            connection.execute(insert(schema.turn), rows)
            known = [(at_number, turn.question, [turn.answer]) for at_number, turn in enumerate(turns, number)]
            put_marks(connection, owner, session_id, branch, known)
            delete_partial_text(connection, session_id)
            switch_session_path(connection, session_id, path, at)
            untitled = (schema.session.c.id == session_id, schema.session.c.title == "")
            connection.execute(update(schema.session).where(*untitled).values(title=first_line(turns[0].question)))
        return number + len(turns) - 1

    def cut(self, session_id: str, number: int) -> None:
        """Takes turn ``number`` and those after it off the session's path; ``switch`` brings them back. The first turn
        stays. Raises ``TurnUnknown``."""
        now = time.time()
        with self._transaction() as connection:
            path = _load_path_with_turn(connection, session_id, number)
            if number == 1:
                raise TurnUnknown(session=session_id, turn=number)
            delete_partial_text(connection, session_id)
            switch_session_path(connection, session_id, _create_fork(connection, session_id, path, number, now), now)

    def remove(
        self,
        session_id: str,
        number: int,
        beside: Callable[[Connection, Path, Path], object] = lambda connection, path, forked: None,
    ) -> None:
        """Begins a branch without turn ``number``, on which those after it stand as they were, one place earlier
        (``store.turn.shift``); ``switch`` brings it back. The turns of a story are to be worked off anew there.
        ``beside`` writes further rows in the same transaction, given the path as it was and the one without the turn.
        Raises ``TurnUnknown``, also for the only turn."""
        now = time.time()
        with self._transaction() as connection:
            lock_world_of_session(connection, session_id)  # before the story, as whoever tells a turn does
            lock_session_row(connection, session_id)
            path, count, _ = _load_session_place(connection, session_id)
            if count == 1 or not 1 <= number <= count:
                raise TurnUnknown(session=session_id, turn=number)
            forked = _create_fork(connection, session_id, path, number, now)
            branch = branch_at(forked, number)
            delete_partial_text(connection, session_id)
            copy_nodes_earlier(connection, session_id, path, number, count, branch)
            beside(connection, path, forked)
            copy_turns_earlier(connection, session_id, path, number, branch)
            switch_session_path(connection, session_id, forked, now)

    def switch(self, session_id: str, number: int, branch: int) -> None:
        """Puts the session on the last used path through the version of turn ``number`` that ``branch`` holds.

        The version need not belong to a turn of the present path. Turns that were taken back from that line are on it
        again. Raises ``TurnUnknown`` when there is no such turn.
        """
        turn = schema.turn
        conditions = (turn.c.session_id == session_id, turn.c.branch == branch, turn.c.number == number)
        with self._transaction() as connection:
            _load_session_place(connection, session_id)
            row = connection.execute(select(turn.c.id).where(*conditions)).first()
            reaching = (path for path in _list_branch_paths(connection, session_id) if path[0][1] <= number)
            path = next((path for path in reaching if branch_at(path, number) == branch), None) if row else None
            if path is None:
                raise TurnUnknown(session=session_id, turn=number)
            switch_session_path(connection, session_id, path)

    def copy(self, session_id: str, last_turn: int) -> str:
        """Creates a session with the turns up to ``last_turn`` and their summaries; returns the new session's id."""
        copy_id, now = uuid.uuid4().hex[:16], time.time()
        with self._transaction() as connection:
            path = _load_path_with_turn(connection, session_id, last_turn)
            table = schema.session
            row = dict(connection.execute(select(table).where(table.c.id == session_id)).one()._mapping)
            trunk = [(0, path[0][1])]
            row |= {"id": copy_id, "path": trunk, "created": now, "pinned": False, "deleted": None, "alias": ""}
            row |= {"api_key": key_of(connection), "undelivered": ""}
            row["rewriting"] = ""  # nobody has been asked about the copy
            row["title"] = _number_copy_title(connection, row["title"])
            connection.execute(insert(table), row)
            connection.execute(insert(schema.branch), {"session_id": copy_id, "id": 0, "path": trunk, "used": now})
            options.copy_options(connection, session_id, copy_id)
            for rows, number in (
                (schema.turn, schema.turn.c.number),
                (schema.turn_index, schema.turn_index.c.number),
                (schema.summary, schema.summary.c.last_turn),
            ):
                _copy_rows(connection, rows, number, last_turn, path, (session_id, copy_id))
            copied_summaries = schema.summary.c.session_id == copy_id
            connection.execute(update(schema.summary).where(copied_summaries).values(is_counted=False))
            query = select(schema.turn.c.files).where(schema.turn.c.session_id == copy_id)
            copy_marks(connection, session_id, path, last_turn, copy_id)
            files = [file for turn_files in connection.execute(query).scalars() for file in turn_files or ()]
            copy_attachments(connection, session_id, copy_id, files)
            copy_images(connection, session_id, copy_id, files)
            if row["world"]:
                copy_story(connection, session_id, path, last_turn, copy_id)
            switch_session_path(connection, copy_id, trunk)
        return copy_id

    def alternatives(self, session_id: str, numbers: Iterable[int]) -> dict[int, Alternatives]:
        """Returns the versions of those given turns that have more than one, by turn number."""
        with self._transaction() as connection:
            path, *_ = _load_session_place(connection, session_id)
            found = _list_turn_places(connection, session_id, numbers)
        versions = {}
        for number in dict.fromkeys(number for number, _ in found):
            shared, current = cut_path_before(path, number), branch_at(path, number)
            held = [way for at, way in found if at == number and cut_path_before(way, number) == shared]
            branches = sorted(branch_at(way, number) for way in held)
            if len(branches) > 1 and current in branches:
                versions[number] = Alternatives(number, tuple(branches), branches.index(current))
        return versions

    def find_continuation(self, session_id: str, number: int) -> Continued | None:
        """Returns the last used line that goes on after another version of turn ``number``, or after the path's last
        turn itself, where later ones were taken back. Else None."""
        turn = schema.turn
        with self._transaction() as connection:
            path, count, _ = _load_session_place(connection, session_id)
            at = number + (number == count)
            shared, current = cut_path_before(path, number), branch_at(path, at)

            def is_other(way: Path) -> bool:
                leads = way[0][1] <= number and branch_at(way, at) != current
                return leads and cut_path_before(way, number) == shared

            after = _list_turn_places(connection, session_id, [number + 1])
            if not any(is_other(way) for _, way in after):  # as usual: then no branch is read
                return None
            was_moved = _is_copied_turn(connection, session_id, branch_at(path, number), number)
            for other in filter(is_other, _list_branch_paths(connection, session_id)):
                if was_moved and branch_at(other, number) != branch_at(path, number):
                    continue  # a turn was taken out: what followed stands here, too
                later_turns = (turn.c.session_id == session_id, turn.c.number > number)
                counted = select(func.count()).where(*later_turns, on_path(turn.c.branch, turn.c.number, other))
                if later := int(connection.execute(counted).scalar_one()):
                    return Continued(at, branch_at(other, at), later)
        return None


def _number_copy_title(connection: Connection, title: str) -> str:
    """Returns the title of a copy: «… (2)», or the next number that no other session has."""
    plain_title, table = _NUMBER.sub("", title), schema.session
    if not plain_title:
        return title
    like = select(table.c.title).where(
        table.c.title.startswith(f"{plain_title} (", autoescape=True), build_owner_condition(connection, table.c.owner)
    )
    titles = set(connection.execute(like).scalars())
    return next(name for name in (f"{plain_title} ({number})" for number in itertools.count(2)) if name not in titles)


def _load_path_with_turn(connection: Connection, session_id: str, number: int) -> Path:
    """Returns the session's path. Raises ``TurnUnknown`` when the path has no turn ``number``."""
    path, count, _ = _load_session_place(connection, session_id)
    if not 1 <= number <= count:
        raise TurnUnknown(session=session_id, turn=number)
    return path


def _load_session_place(connection: Connection, session_id: str) -> tuple[Path, int, str]:
    """Returns the session's path, the number of its turns, and its owner. Raises ``SessionUnknown``."""
    table = schema.session
    query = select(table.c.path, table.c.turn_count, table.c.owner).where(table.c.id == session_id)
    row = connection.execute(query).one_or_none()
    check_session_owner(connection, session_id, row.owner if row else None)
    assert row is not None
    return parse_path(row.path), int(row.turn_count), str(row.owner)


def _create_fork(connection: Connection, session_id: str, path: Path, number: int, now: float) -> Path:
    """Begins a new branch that leaves ``path`` before turn ``number``; returns the path along that branch."""
    lock_session_row(connection, session_id)
    newest = (
        connection.execute(select(func.max(schema.branch.c.id)).where(_build_branch_condition(session_id))).scalar()
        or 0
    )
    forked = fork_path(path, number, newest + 1)
    row = {"session_id": session_id, "id": newest + 1, "path": forked, "used": now}
    connection.execute(insert(schema.branch), row)
    return forked


def _build_given_row(session_id: str, branch: int, number: int, turn: GivenTurn, at: float) -> dict[str, Any]:
    """Returns the row of a turn that a client tells."""
    question = HumanMessage(clean_text(turn.question), id=f"{session_id}-{number}", additional_kwargs={"turn": number})
    answer = AIMessage(clean_text(turn.answer), id=f"{session_id}-{branch}-{number}-answer")
    return {
        "session_id": session_id,
        "branch": branch,
        "number": number,
        "question": turn.question,
        "answer": turn.answer,
        "status": "done",
        "messages": messages_to_dict([question, answer]),
        "steps": [],
        "tokens": turn.tokens,
        "started": at,
        "finished": at,
        "given": not turn.is_own,
        "has_foreign": True,  # nobody knows, or noted, what the answer was made from
    }


def _is_copied_turn(connection: Connection, session_id: str, branch: int, number: int) -> bool:
    """Returns whether a turn stands here in another place than where it was made (``Tree.remove``)."""
    table = schema.turn
    key = (table.c.session_id == session_id, table.c.branch == branch, table.c.number == number)
    return bool(connection.execute(select(table.c.is_copy).where(*key)).scalar())


def _load_turn_files(connection: Connection, session_id: str, branch: int, number: int) -> Any:
    """Returns the files of a turn as its row holds them."""
    table = schema.turn
    key = (table.c.session_id == session_id, table.c.branch == branch, table.c.number == number)
    return connection.execute(select(table.c.files).where(*key)).scalar()


def _is_imported_question(connection: Connection, session_id: str, number: int, question: str) -> bool:
    """Returns whether a version of turn ``number`` that came out of a file asks the same."""
    turn, branches = schema.turn.c, select(schema.branch.c.id).where(_build_branch_condition(session_id))
    versions = (turn.session_id == session_id, turn.branch.in_(branches), turn.number == number)
    found = select(turn.id).where(*versions, turn.is_imported, turn.question == question).limit(1)
    return connection.execute(found).first() is not None


def _build_branch_condition(session_id: str) -> Any:
    return schema.branch.c.session_id == session_id


def _list_turn_places(connection: Connection, session_id: str, numbers: Iterable[int]) -> list[tuple[int, Path]]:
    """Returns the turns with these numbers, on whatever branch: the number of each, and the path of its branch. Two are
    versions of one turn where these paths are the same before it."""
    here = and_(schema.turn.c.session_id == schema.branch.c.session_id, schema.turn.c.branch == schema.branch.c.id)
    query = select(schema.turn.c.number, schema.branch.c.path).select_from(schema.branch.join(schema.turn, here))
    query = query.where(_build_branch_condition(session_id), schema.turn.c.number.in_(sorted(numbers)))
    return [(number, parse_path(path)) for number, path in connection.execute(query)]


def _list_branch_paths(connection: Connection, session_id: str) -> Iterator[Path]:
    """Yields the paths of all branches that hold a turn of their own, last used first."""
    table, turn = schema.branch, schema.turn
    used_branches = select(turn.c.branch).where(turn.c.session_id == session_id).distinct()
    of_session = _build_branch_condition(session_id)
    newest = select(table.c.id).where(of_session, table.c.id.in_(used_branches)).order_by(table.c.used.desc())
    ids = list(connection.execute(newest).scalars())
    # By pages that are read whole: a caller that stops early leaves no cursor open, under which SQLite refuses to
    # write once another process has written, and a conversation of thousands of branches is not read for one path.
    for begin in range(0, len(ids), _PATHS_AT_ONCE):
        page = ids[begin : begin + _PATHS_AT_ONCE]
        query = select(table.c.id, table.c.path).where(of_session, table.c.id.in_(page))
        paths = {row.id: row.path for row in connection.execute(query)}
        yield from (parse_path(paths[branch]) for branch in page if branch in paths)


def _copy_rows(
    connection: Connection, table: Table, number: ColumnElement[int], last: int, path: Path, ids: tuple[str, str]
) -> None:
    """Copies the rows of the path up to turn ``last`` from the first session to the trunk of the second."""
    source, copy_id = ids
    query = select(table).where(table.c.session_id == source, on_path(table.c.branch, number, path), number <= last)
    rows = [{**row._mapping, "session_id": copy_id, "branch": 0} for row in connection.execute(query)]
    if rows:
        connection.execute(insert(table), [{key: values[key] for key in values if key != "id"} for values in rows])
