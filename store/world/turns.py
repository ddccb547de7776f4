"""The turns of stories: stored as they came, recognised by their texts, worked off once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from errors import WorldTurnRaw, WorldTurnTaken, WorldUnknown
from store.database import schema
from store.database import world_table as table
from store.owner import check_session, in_worlds
from store.path import Path, branch_at, parse_path
from store.search.turn_index import delete_outdated_row
from store.session.history import drop_marks, put_marks
from store.session.opening import TurnPlace
from store.session.session_path import lock_session_row
from store.turn.foreign import insert_turn
from store.turn.partial import delete_partial_text
from store.turn.shift import copy_turn_around
from store.world import change, story, tree
from store.world.change import Snapshot
from store.world.copy import copy_node_state, copy_verdicts
from store.world.record import Changes, Edit, KnownHistory, NewNode, Origin, StoryNode, Wording
from store.world.rows import WorldRows, check_world, lock_world_row

SNAPSHOT_TURNS = 16
"""After so many turns a state is stored whole again, so that reading one never looks further back."""
LOOK_BACK = 32
"""Turns that are looked at in one go for the last snapshot."""
_NODE, _WORLD, _TURN, _SESSION = table.node.c, table.world.c, schema.turn.c, schema.session.c


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the state after a turn is made from: the last snapshot on its path, the number of its turn, and the changes
    of the turns after it, each with its number, oldest first; without a snapshot the changes of all turns.
    ``settled``: all of these turns are worked off, so the state stays as it is."""

    snapshot: Snapshot | None
    begun: int
    changes: tuple[tuple[int, Changes], ...]
    settled: bool


class StoryTurns(WorldRows):
    """The turns of a user's worlds."""

    def find_known_history(self, world_id: str | None, turns: Sequence[tuple[str, str]]) -> KnownHistory:
        """Returns what of a client's history is known (``store.world.story.find_story``)."""
        with self._transaction() as connection:
            return story.find_story(connection, world_id, turns)

    def learn(self, node: StoryNode, wordings: Sequence[Wording]) -> None:
        """Lets turns of a story be found by the words in which their client tells them, too. ``node``: any turn of it.
        Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            owner = check_world(connection, node.world)
            tree.lock_story(connection, node)
            for one in wordings:
                put_marks(connection, owner, node.session, one.branch, [(one.turn, one.question, [one.answer])])

    def add(self, world_id: str, parent: StoryNode | None, new: NewNode, place: TurnPlace | None = None) -> StoryNode:
        """Stores a turn after ``parent``, None for the beginning; returns the one that is there already, if it is the
        same. ``place``: of the turn's row, where it was begun already (``Store.begin_turn``). A turn that a later
        request asked for, too, and got, is another version that the story does not show: as a rule its client had left,
        sent its message again and has that answer. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            owner = check_world(connection, world_id)
            # locks the world's row, so that two processes store one turn after the other
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(updated=time.time()))
            if parent is not None and tree.load_node(connection, parent.id).world != world_id:
                raise ValueError(f"turn {parent.id} belongs to another world")
            if place is not None:
                if not lock_session_row(connection, place.session_id):
                    raise WorldUnknown(world=world_id)
                path = _read_path(connection, place.session_id, place.branch)
                spot = _Spot(place.session_id, place.branch, place.number, path, is_begun=True)
                return _write_node(connection, (world_id, owner), parent, new, spot)
            if (same := _find_same(connection, world_id, parent, new)) is not None:
                return _note_waiting(connection, tree.load_node(connection, same), new)
            session_id, parent = self._find_home(connection, owner, world_id, parent, new)
            spot = _choose_spot(connection, session_id, parent, new)
            if (failed := _take_up_failed(connection, parent, new.question)) is not None:
                spot = failed
            is_outrun = _is_outrun(connection, parent, new, spot)
            node = _write_node(connection, (world_id, owner), parent, new, replace(spot, is_shown=not is_outrun))
            return node if is_outrun else _note_waiting(connection, node, new)

    def begin_after(self, parent: StoryNode, question: str, began: float) -> TurnPlace | None:
        """Writes the question of the turn after ``parent``, for one that fails; the same question there that failed
        before is this turn. None where the story has not begun to be played, or shows an answer after ``parent``, or
        another line: it stays as it is. ``began``: when the request came (Unix seconds). Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            owner = check_world(connection, parent.world)
            lock_world_row(connection, parent.world)
            tree.lock_story(connection, parent)
            if not parent.turn or _find_open_end(connection, parent) is None:
                return None
            new = NewNode(question, ("",), "", "raw")
            spot = _take_up_failed(connection, parent, question)
            if spot is None:
                spot = _choose_spot(connection, parent.session, parent, new)
                row = {"session_id": spot.session_id, "branch": spot.branch, "number": spot.number}
                insert_turn(connection, spot.path, {**row, "question": question, "status": "running", "started": began})
                tree.follow_path(connection, spot.session_id, spot.path, spot.number, 0)
            return TurnPlace(spot.session_id, owner, spot.branch, spot.number, question, "running", False, False)

    def _find_home(
        self, connection: Connection, owner: str, world_id: str, parent: StoryNode | None, new: NewNode
    ) -> tuple[str, StoryNode | None]:
        """Returns the story in which a turn follows another one, and that one as this story has it: words that begin no
        story of the world so far begin a story of their own."""
        home = parent.session if parent is not None else story.open_story(connection, world_id)
        if not new.question.strip() or (parent is not None and parent.turn):
            return home, parent
        query = select(_NODE.session_id, _NODE.parent).select_from(tree.TOLD).order_by(_NODE.id.desc())
        query = query.where(_NODE.world_id == world_id, _TURN.question == new.question)
        for row in connection.execute(query.where(story.match_open_story(connection, _NODE.session_id))):
            first = tree.load_node(connection, row.parent) if row.parent else None
            if (first and not first.turn and first.answer) == (parent and parent.answer):
                return row.session_id, first
        begun = (_TURN.session_id == home, _TURN.number > 0)
        if connection.execute(select(_TURN.id).where(*begun).limit(1)).first() is None:
            return home, parent
        home = story.begin_story(connection, world_id)
        if parent is not None:
            parent = write_greeting(connection, owner, home, parent)
        return home, parent

    def rebase(self, last: StoryNode, edits: Sequence[Edit]) -> StoryNode:
        """Begins a branch with turns as their client changed them, which keeps what came after them up to ``last``;
        returns its end. All of its turns are to be worked off anew, so that each changes the state that is before it
        now: a changed answer is read again, the others by what was read in them. Raises ``WorldUnknown``."""
        changed = {edit.turn: edit for edit in edits if edit.turn <= last.turn}
        if not changed:
            return last
        with self._transaction() as connection:
            owner = check_world(connection, last.world)
            connection.execute(update(table.world).where(_WORLD.id == last.world).values(updated=time.time()))
            count = last.turn - min(changed) + 1
            nodes = [tree.as_node(row) for row in reversed(tree.list_rows_before(connection, last, count))]
            parent = tree.load_node(connection, nodes[0].parent) if nodes[0].parent else None
            for node in nodes:
                parent = self._add_once_more(connection, owner, parent, node, changed.get(node.turn))
        assert parent is not None
        return parent

    def _add_once_more(
        self, connection: Connection, owner: str, parent: StoryNode | None, node: StoryNode, edit: Edit | None
    ) -> StoryNode:
        """Stores a turn once more behind another one, in its client's words if these are others."""
        if edit is None:
            new = NewNode(node.question, (node.answer,), node.raw, node.status, node.receipt, node.report)
        else:
            new = NewNode(edit.question, (edit.answer,), edit.answer, "raw")
        if new.status == "done":
            new = replace(new, status="raw")
        new = replace(new, tokens=tree.load_turn_tokens(connection, node))
        same = _find_same(connection, node.world, parent, new, node.session)
        if same is not None:
            made = tree.load_node(connection, same)
        else:
            spot = _choose_spot(connection, node.session, parent, new)
            made = _write_node(connection, (node.world, owner), parent, new, spot)
            if edit is None:
                copy_turn_around(connection, node.session, (node.branch, node.turn), (made.branch, made.turn))
                self._copy_what_was_read(connection, node, made)
        if edit is None:
            tree.copy_node_marks(connection, node.id, made.id)
        return made

    def _copy_what_was_read(self, connection: Connection, node: StoryNode, made: StoryNode) -> None:
        """Gives a turn that says the same as another one what was read in that, and what was judged of it."""
        values: dict[str, Any] = {"block": node.block}
        if made.status == "given":
            values |= {"origin": node.origin, "refusals": list(node.refusals)}
            values["mood"] = connection.execute(select(_NODE.mood).where(_NODE.id == node.id)).scalar()
            copy_node_state(connection, node.id, made.id)
        else:
            values["source"] = node.id if node.status == "done" else node.source
        connection.execute(update(table.node).where(_NODE.id == made.id).values(**values))
        copy_verdicts(connection, node.id, made.id)

    def last_before(self, session_id: str, number: int, branch: int | None = None) -> StoryNode | None:
        """Returns the last turn before turn ``number`` that was answered; None where there is none. ``branch``: where
        that turn lies; None: on the path that the story shows. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            shown = select(_SESSION.path).where(_SESSION.id == session_id)
            path = (
                parse_path(connection.execute(shown).scalar_one())
                if branch is None
                else _read_path(connection, session_id, branch)
            )
            columns, last = select(_NODE.id, _NODE.branch, _NODE.turn), number - 1
            while last >= path[0][1]:
                rows = tree.list_rows_between(connection, columns, session_id, path, last - LOOK_BACK + 1, last)
                if rows:
                    return tree.load_node(connection, rows[0].id)
                last -= LOOK_BACK
        return None

    def node(self, node_id: int) -> StoryNode:
        """Returns a turn. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.load_node(connection, node_id)

    def path(self, node: StoryNode, last: int = 50, skip: int = 0) -> list[StoryNode]:
        """Returns the last turns that lead to this one, it included, oldest first. ``skip``: how many of the very last
        are left out. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return [tree.as_node(row) for row in reversed(tree.list_rows_before(connection, node, last, skip))]

    def children(self, world_id: str, parent_id: int) -> list[StoryNode]:
        """Returns the turns that follow a turn, oldest first; 0 for the beginnings of stories. Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            query = select(*tree.COLUMNS).select_from(tree.TOLD)
            query = query.where(_NODE.world_id == world_id, _NODE.parent == parent_id).order_by(_NODE.id)
            return [tree.as_node(row) for row in connection.execute(query)]

    def leaves(self, world_id: str, limit: int = 50) -> list[StoryNode]:
        """Returns the turns that no other follows, the newest first. Raises ``WorldUnknown``."""
        after = table.node.alias()
        with self._transaction() as connection:
            check_world(connection, world_id)
            followed = select(after.c.id).where(after.c.world_id == world_id, after.c.parent == _NODE.id).exists()
            query = select(*tree.COLUMNS).select_from(tree.TOLD).where(_NODE.world_id == world_id, ~followed)
            return [tree.as_node(row) for row in connection.execute(query.order_by(_NODE.id.desc()).limit(limit))]

    def raw(self, limit: int = 100) -> list[StoryNode]:
        """Returns turns that are not worked off, oldest first."""
        with self._transaction() as connection:
            query = select(*tree.COLUMNS).select_from(tree.TOLD)
            query = query.where(table.IS_RAW, in_worlds(connection, _NODE.world_id))
            return [tree.as_node(row) for row in connection.execute(query.order_by(_NODE.id).limit(limit))]

    def on_path(self, node: StoryNode, node_ids: Sequence[int]) -> set[int]:
        """Returns which of these turns are this one or lie before it. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.find_ancestors(connection, node, node_ids)

    def node_at(self, node: StoryNode, turn: int) -> int | None:
        """Returns the id of the turn with this number that lies on the way to ``node``, or is it; None when there is
        none. The ids on a path rise. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.find_node_at(connection, node, turn)

    # --- states ---------------------------------------------------------------------------------

    def settle(
        self,
        node_id: int,
        changes: Changes,
        *,
        origin: Origin,
        block: dict[str, Any] | None = None,
        refusals: Sequence[str] = (),
        snapshot: Snapshot | None = None,
    ) -> bool:
        """Writes what a turn changed, once: returns False when somebody else was first, or while the turn before is not
        worked off. ``snapshot``: the whole state after the turn, wanted when ``needs_snapshot``. Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            tree.load_node(connection, node_id)
            if not _is_previous_done(connection, node_id):
                return False
            values: dict[str, Any] = {"status": "done", "origin": origin, "block": block, "refusals": list(refusals)}
            values |= {"mood": changes.mood}
            if snapshot is not None:
                values |= {"snapshot": change.plain_snapshot(snapshot), "since": 0}
            claimed = update(table.node).where(_NODE.id == node_id, _NODE.status == "raw").values(**values)
            if not connection.execute(claimed).rowcount:
                return False
            change.write_changes(connection, node_id, changes)
        return True

    def settle_given(
        self, node_id: int, changes: Changes, *, origin: Origin, block: dict[str, Any] | None, refusals: Sequence[str]
    ) -> bool:
        """Writes what a turn changed that a client told, once; returns False for any other turn. It counts for the
        turns after it, where none of them has changed the same. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            node = tree.load_node(connection, node_id)
            lock_world_row(connection, node.world)
            unread = (_NODE.id == node_id, _NODE.status == "given", _NODE.origin == "none")
            values = {"origin": origin if block else "light", "block": block, "refusals": list(refusals)}
            told = update(table.node).where(*unread).values(**values, mood=changes.mood)
            if not connection.execute(told).rowcount:
                return False
            _write_late(connection, node, changes)
        return True

    def amend(self, node: StoryNode, changes: Changes) -> None:
        """Adds to what a turn changed, also where others follow: it counts for those, where none of them has changed
        the same. Raises ``WorldTurnRaw`` while the turn is not worked off, ``WorldUnknown``."""
        with self._transaction() as connection:
            lock_world_row(connection, node.world)
            if tree.load_node(connection, node.id).status == "raw":
                raise WorldTurnRaw(turn=node.turn)
            _write_late(connection, node, changes)

    def correct_turn(self, node: StoryNode, changes: Changes) -> StoryNode:
        """Adds the user's correction to what the last turn of a story changed. Raises ``WorldTurnTaken`` when other
        turns follow, ``WorldTurnRaw`` while it is not worked off, ``WorldUnknown``."""
        with self._transaction() as connection:
            lock_world_row(connection, node.world)
            tree.load_node(connection, node.id)
            follows = select(func.count()).where(_NODE.world_id == node.world, _NODE.parent == node.id)
            columns = select(_NODE.snapshot, _NODE.mood, _NODE.status, follows.scalar_subquery().label("follow"))
            row = connection.execute(columns.where(_NODE.id == node.id)).one()
            if row.follow:
                raise WorldTurnTaken(turn=node.turn)
            if row.status == "raw":
                raise WorldTurnRaw(turn=node.turn)
            values: dict[str, Any] = {"origin": "user", "status": "done"}
            values |= {"mood": row.mood if changes.mood is None else changes.mood}
            if row.snapshot:
                old = change.parse_snapshot(row.snapshot)
                recent = tuple(one for one in old.recent if one.node != node.id)
                recent = (*recent, changes.episode) if changes.episode else old.recent
                whole = Snapshot(change.merge_changes(old.changes, changes), recent, old.important)
                values["snapshot"] = change.plain_snapshot(whole)
            connection.execute(update(table.node).where(_NODE.id == node.id).values(**values))
            change.write_changes(connection, node.id, changes)
            raised = _WORLD.revision + 1  # states that other processes keep are outdated
            connection.execute(update(table.world).where(_WORLD.id == node.world).values(revision=raised))
            return tree.load_node(connection, node.id)

    def has_character(self, world_id: str, name: str) -> bool:
        """Returns whether a turn of a world has a row of somebody under this name. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            people = table.characters.c
            query = select(people.node).join(table.node, _NODE.id == people.node)
            query = query.where(_NODE.world_id == world_id, people.name == name).limit(1)
            return connection.execute(query).first() is not None

    def changes_at(self, node: StoryNode) -> Changes:
        """Returns what a turn itself has changed. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            tree.load_node(connection, node.id)
            mood = connection.execute(select(_NODE.mood).where(_NODE.id == node.id)).scalar()
            return change.load_changes(connection, {node.id: mood})[node.id]

    def stored_state(self, node: StoryNode) -> StoredState:
        """Returns what the state after a turn is made from. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            snapshot, rows = _since_snapshot(connection, node)
            parts = change.load_changes(connection, {row.id: row.mood for row in rows})
        whole, begun = snapshot or (None, 0)
        changes = tuple((row.turn, parts[row.id]) for row in reversed(rows))
        return StoredState(whole, begun, changes, all(row.status != "raw" for row in rows))


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a turn goes: on which branch of a story, as which turn, and the path that leads there. ``is_begun``: its
    row is there, with the question. ``is_shown``: the story goes to that path."""

    session_id: str
    branch: int
    number: int
    path: Path
    is_begun: bool = False
    is_shown: bool = True


def write_greeting(connection: Connection, owner: str, session_id: str, told: StoryNode) -> StoryNode:
    """Begins a story with the greeting of another one of its world. ``owner``: of the world."""
    tokens = tree.load_turn_tokens(connection, told)
    greeting = NewNode("", (told.answer,), told.raw, "given", tokens=tokens)
    spot = _choose_spot(connection, session_id, None, greeting)
    return _write_node(connection, (told.world, owner), None, greeting, spot)


def _note_waiting(connection: Connection, node: StoryNode, new: NewNode) -> StoryNode:
    """Notes that the client of a turn waits for its answer; returns the turn."""
    if new.waits is not None:
        own = schema.session.c.id == node.session
        connection.execute(update(schema.session).where(own).values(undelivered=new.waits or str(node.id)))
    return node


def _choose_spot(connection: Connection, session_id: str, parent: StoryNode | None, new: NewNode) -> _Spot:
    """Returns where a new turn of a story goes; a beginning without a question is a greeting, turn 0."""
    number = parent.turn + 1 if parent else int(bool(new.question.strip()))
    branch, path = tree.choose_next_line(connection, session_id, parent, number)
    return _Spot(session_id, branch, number, path)


def _find_open_end(connection: Connection, parent: StoryNode) -> Path | None:
    """Returns the path that a story shows, where it shows nothing after a turn, or one that failed; else None."""
    shown = select(_SESSION.path, _SESSION.turn_count).where(_SESSION.id == parent.session)
    stored, count = connection.execute(shown).one()
    path = parse_path(stored)
    if parent.turn < path[0][1] or branch_at(path, parent.turn) != parent.branch:
        return None
    if count == parent.turn:
        return path
    last = (_TURN.session_id == parent.session, _TURN.branch == branch_at(path, count), _TURN.number == count)
    is_failed = connection.execute(select(_TURN.id).where(*last, _TURN.status == "failed")).first() is not None
    return path if is_failed and count == parent.turn + 1 else None


def _take_up_failed(connection: Connection, parent: StoryNode | None, question: str) -> _Spot | None:
    """Returns the place of the turn after ``parent`` that a story shows as its last one, where it asks the same and
    failed; its row is as before its answer. None where there is none."""
    path = _find_open_end(connection, parent) if parent is not None else None
    if parent is None or path is None:
        return None
    branch, number = branch_at(path, parent.turn + 1), parent.turn + 1
    here = (_TURN.session_id == parent.session, _TURN.branch == branch, _TURN.number == number)
    failed = update(schema.turn).where(*here, _TURN.question == question, _TURN.status == "failed")
    if not connection.execute(failed.values(status="running", error=None, answer=None, finished=None)).rowcount:
        return None
    drop_marks(connection, parent.session, branch, number)
    delete_outdated_row(connection, parent.session, branch, number)
    return _Spot(parent.session, branch, number, path, is_begun=True)


def _is_outrun(connection: Connection, parent: StoryNode | None, new: NewNode, spot: _Spot) -> bool:
    """Returns whether another turn at a new turn's place has a whole answer to the same question, by a request that
    came later; of a half answer, by one that ended later: a worker may be slow to take a request whose client has left.
    """
    if new.began is None or spot.path[-1] != (spot.branch, spot.number):  # it is the only one
        return False
    here = (_NODE.session_id == spot.session_id, _NODE.parent == (parent.id if parent else 0))
    same = (_TURN.question == new.question, _TURN.status == "done")
    moment = _TURN.finished if new.is_stopped else _TURN.started
    query = select(_NODE.id).select_from(tree.TOLD).where(*here, *same, moment > new.began).limit(1)
    return connection.execute(query).first() is not None


def _write_node(
    connection: Connection, owned: tuple[str, str], parent: StoryNode | None, new: NewNode, spot: _Spot
) -> StoryNode:
    """Writes a turn with what its world adds. ``owned``: the world and its owner."""
    (world_id, owner), before = owned, parent.id if parent else 0
    grown = _write_turn(connection, new, spot)
    row = {"world_id": world_id, "session_id": spot.session_id, "branch": spot.branch, "turn": spot.number}
    row |= {"parent": before, "raw": new.raw, "status": new.status, "origin": "none"}
    row |= {"receipt": new.receipt, "report": new.report}
    since = connection.execute(select(_NODE.since).where(_NODE.id == before)).scalar() or 0
    node_id = connection.execute(insert(table.node).returning(_NODE.id), {**row, "since": since + 1}).scalar_one()
    put_marks(connection, owner, spot.session_id, spot.branch, [(spot.number, new.question, new.answers)])
    tree.follow_path(connection, spot.session_id, spot.path, spot.number, grown, is_shown=spot.is_shown)
    return tree.load_node(connection, node_id)


def _find_same(
    connection: Connection, world_id: str, parent: StoryNode | None, new: NewNode, session_id: str = ""
) -> int | None:
    """Returns the id of the turn after another one that says the same as a new one, if there is one. ``session_id``: of
    the story to look in; empty for all of the world's that were not put away."""
    here = (_NODE.world_id == world_id, _NODE.parent == (parent.id if parent else 0))
    there = (_NODE.session_id == session_id,) if session_id else (story.match_open_story(connection, _NODE.session_id),)
    told = [_TURN.question == new.question, _TURN.answer == new.answers[0]]
    if not new.is_stopped:  # an answer that was cut off may lack no more than its end, or what changed the state
        told.append(_TURN.status != "stopped")
    query = select(_NODE.id).select_from(tree.TOLD).where(*here, *there, *told)
    found: int | None = connection.execute(query).scalar()
    return found


def _read_path(connection: Connection, session_id: str, branch: int) -> Path:
    here = (schema.branch.c.session_id == session_id, schema.branch.c.id == branch)
    return parse_path(connection.execute(select(schema.branch.c.path).where(*here)).scalar_one())


def _write_turn(connection: Connection, new: NewNode, spot: _Spot) -> int:
    """Writes what was said in a turn; returns by how many tokens its row has grown."""
    now = time.time()
    row: dict[str, Any] = {
        "question": new.question,
        "answer": new.answers[0],
        "status": "stopped" if new.is_stopped else "done",
    }
    row |= {
        "tokens": new.tokens,
        "usage": new.usage,
        "finished": now,
        "given": new.is_given or new.status == "given",
        "steps": [],
    }
    row |= {"seconds": new.seconds, "first_token_seconds": new.first_token_seconds}
    if not spot.is_begun:
        place = {"session_id": spot.session_id, "branch": spot.branch, "number": spot.number}
        place["started"] = now if new.began is None else new.began
        connection.execute(insert(schema.turn), place | row)
        return new.tokens
    here = (_TURN.session_id == spot.session_id, _TURN.branch == spot.branch, _TURN.number == spot.number)
    counted = connection.execute(select(_TURN.tokens).where(*here)).scalar_one() or 0
    connection.execute(update(schema.turn).where(*here).values(**row))
    delete_partial_text(connection, spot.session_id)
    return new.tokens - counted


def _write_late(connection: Connection, node: StoryNode, changes: Changes) -> None:
    """Writes what a turn changed after others may have followed it: whole states from it on do not have it."""
    change.write_changes(connection, node.id, changes)
    later = (_NODE.world_id == node.world, _NODE.id >= node.id, _NODE.snapshot.is_not(None))
    connection.execute(update(table.node).where(*later).values(snapshot=None))
    raised = _WORLD.revision + 1
    connection.execute(update(table.world).where(_WORLD.id == node.world).values(revision=raised))


def _is_previous_done(connection: Connection, node_id: int) -> bool:
    """Returns whether the last turn before this one that an answer made, not one that a client told, is worked off."""
    columns = select(_NODE.parent, _NODE.status)
    parent = connection.execute(select(_NODE.parent).where(_NODE.id == node_id)).scalar_one()
    while parent:
        row = connection.execute(columns.where(_NODE.id == parent)).one()
        if row.status != "given":
            return bool(row.status == "done")
        parent = row.parent
    return True


def needs_snapshot(node: StoryNode) -> bool:
    """Returns whether the state after a turn is to be stored whole."""
    return node.since >= SNAPSHOT_TURNS


def _since_snapshot(connection: Connection, node: StoryNode) -> tuple[tuple[Snapshot, int] | None, list[Any]]:
    """Returns the last snapshot up to a turn with its number, and the rows of the turns after it, newest first."""
    session_id, path, turn = tree.load_node_place(connection, node.id)
    columns = select(_NODE.id, _NODE.branch, _NODE.turn, _NODE.status, _NODE.mood, _NODE.snapshot)
    rows: list[Any] = []
    while True:
        first = turn - LOOK_BACK + 1
        some = tree.list_rows_between(connection, columns, session_id, path, first, turn) if turn >= path[0][1] else []
        for row in some:
            if row.snapshot:
                return (change.parse_snapshot(row.snapshot), row.turn), rows
            rows.append(row)
        if not some:
            return None, rows
        turn -= LOOK_BACK


__all__ = ["SNAPSHOT_TURNS", "StoryTurns", "needs_snapshot", "write_greeting"]
