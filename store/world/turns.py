"""The turns of stories: stored as they came, recognised by their texts, worked off once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from errors import WorldTurnRaw, WorldTurnTaken
from store.database import world_table as table
from store.history import put_marks
from store.owner import in_worlds
from store.world import change, line, tree
from store.world.change import Snapshot
from store.world.record import Changes, Edit, Known, NewNode, Node, Origin, Wording
from store.world.rows import Rows, check_world

SNAPSHOT_TURNS = 16
"""After so many turns a state is stored whole again, so that reading one never looks further back."""
LOOK_BACK = 32
"""Turns that are looked at in one go for the last snapshot."""
_NODE, _WORLD = table.node.c, table.world.c


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the state after a turn is made from: the last snapshot on its path, the number of its turn, and the changes
    of the turns after it, each with its number, oldest first; without a snapshot the changes of all turns.
    ``settled``: all of these turns are worked off, so the state stays as it is."""

    snapshot: Snapshot | None
    begun: int
    changes: tuple[tuple[int, Changes], ...]
    settled: bool


class Turns(Rows):
    """The turns of a user's worlds."""

    def known(self, world_id: str | None, turns: Sequence[tuple[str, str]]) -> Known:
        """Returns what of a client's history is known (``store.world.line.find_story``)."""
        with self._transaction() as connection:
            return line.find_story(connection, world_id, turns)

    def learn(self, world_id: str, wordings: Sequence[Wording]) -> None:
        """Lets turns be found by the words in which their client tells them, too. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            line.learn_wordings(connection, world_id, check_world(connection, world_id), wordings)

    def add(self, world_id: str, parent: Node | None, new: NewNode) -> Node:
        """Stores a turn after ``parent``, None for the beginning; returns the one that is there already, if it is the
        same. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            owner = check_world(connection, world_id)
            # locks the world's row, so that two processes store one turn after the other
            connection.execute(update(table.world).where(_WORLD.id == world_id).values(updated=time.time()))
            return self._added(connection, owner, world_id, parent, new)

    def _added(self, connection: Connection, owner: str, world_id: str, parent: Node | None, new: NewNode) -> Node:
        before = parent.id if parent else 0
        if parent is not None and tree.find(connection, parent.id).world != world_id:
            raise ValueError(f"turn {parent.id} belongs to another world")
        here = (_NODE.world_id == world_id, _NODE.parent == before)
        told = (_NODE.question == new.question, _NODE.answer == new.answers[0])
        same = connection.execute(select(_NODE.id).where(*here, *told)).scalar()
        if same is not None:
            return tree.find(connection, same)
        turn = parent.turn + 1 if parent else int(bool(new.question.strip()))
        row = {"world_id": world_id, "parent": before, "turn": turn, "question": new.question, "raw": new.raw}
        place = tree.next_place(connection, world_id, parent, turn)
        row |= {"line": place, "answer": new.answers[0]}
        row |= {
            "status": new.status,
            "origin": "none",
            "receipt": new.receipt,
            "report": new.report,
            "created": time.time(),
        }
        since = connection.execute(select(_NODE.since).where(_NODE.id == before)).scalar() or 0
        node_id = connection.execute(insert(table.node).returning(_NODE.id), {**row, "since": since + 1}).scalar_one()
        put_marks(connection, owner, world_id, place, [(turn, new.question, new.answers)])
        return tree.find(connection, node_id)

    def rebase(self, last: Node, edits: Sequence[Edit]) -> Node:
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
            nodes = [tree.as_node(row) for row in reversed(tree.before(connection, last, count))]
            parent = tree.find(connection, nodes[0].parent) if nodes[0].parent else None
            for node in nodes:
                parent = self._add_once_more(connection, owner, parent, node, changed.get(node.turn))
        assert parent is not None
        return parent

    def _add_once_more(
        self, connection: Connection, owner: str, parent: Node | None, node: Node, edit: Edit | None
    ) -> Node:
        """Stores a turn once more behind another one, in its client's words if these are others."""
        if edit is None:
            new = NewNode(node.question, (node.answer,), node.raw, node.status, node.receipt, node.report)
        else:
            new = NewNode(edit.question, (edit.answer,), edit.answer, "raw")
        if new.status == "done":
            new = replace(new, status="raw")
        made = self._added(connection, owner, node.world, parent, new)
        if edit is None:
            tree.copy_node_marks(connection, node.id, made.id)
            if node.block is not None and made.status == "raw":
                connection.execute(update(table.node).where(_NODE.id == made.id).values(block=node.block))
        return made

    def node(self, node_id: int) -> Node:
        """Returns a turn. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.find(connection, node_id)

    def path(self, node: Node, last: int = 50, skip: int = 0) -> list[Node]:
        """Returns the last turns that lead to this one, it included, oldest first. ``skip``: how many of the very last
        are left out. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return [tree.as_node(row) for row in reversed(tree.before(connection, node, last, skip))]

    def children(self, world_id: str, parent_id: int) -> list[Node]:
        """Returns the turns that follow a turn, oldest first; 0 for the beginnings of stories. Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            query = select(table.node).where(_NODE.world_id == world_id, _NODE.parent == parent_id).order_by(_NODE.id)
            return [tree.as_node(row) for row in connection.execute(query)]

    def leaves(self, world_id: str, limit: int = 50) -> list[Node]:
        """Returns the turns that no other follows, the newest first. Raises ``WorldUnknown``."""
        after = table.node.alias()
        with self._transaction() as connection:
            check_world(connection, world_id)
            followed = select(after.c.id).where(after.c.world_id == world_id, after.c.parent == _NODE.id).exists()
            query = select(table.node).where(_NODE.world_id == world_id, ~followed)
            return [tree.as_node(row) for row in connection.execute(query.order_by(_NODE.id.desc()).limit(limit))]

    def raw(self, limit: int = 100) -> list[Node]:
        """Returns turns that are not worked off, oldest first."""
        with self._transaction() as connection:
            query = select(table.node).where(table.RAW, in_worlds(connection, _NODE.world_id))
            return [tree.as_node(row) for row in connection.execute(query.order_by(_NODE.id).limit(limit))]

    def on_path(self, node: Node, node_ids: Sequence[int]) -> set[int]:
        """Returns which of these turns are this one or lie before it. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.ancestors(connection, node, node_ids)

    def node_at(self, node: Node, turn: int) -> int | None:
        """Returns the id of the turn with this number that lies on the way to ``node``, or is it; None when there is
        none. The ids on a path rise. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            return tree.at(connection, node, turn)

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
            tree.find(connection, node_id)
            if not _ready(connection, node_id):
                return False
            values: dict[str, Any] = {"status": "done", "origin": origin, "block": block, "refusals": list(refusals)}
            values |= {"mood": changes.mood}
            if snapshot is not None:
                values |= {"snapshot": change.plain_snapshot(snapshot), "since": 0}
            claimed = update(table.node).where(_NODE.id == node_id, _NODE.status == "raw").values(**values)
            if not connection.execute(claimed).rowcount:
                return False
            change.write(connection, node_id, changes)
        return True

    def settle_given(
        self, node_id: int, changes: Changes, *, origin: Origin, block: dict[str, Any] | None, refusals: Sequence[str]
    ) -> bool:
        """Writes what a turn changed that a client told, once; returns False for any other turn. It counts for the
        turns after it, where none of them has changed the same. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            node = tree.find(connection, node_id)
            unread = (_NODE.id == node_id, _NODE.status == "given", _NODE.origin == "none")
            values = {"origin": origin if block else "light", "block": block, "refusals": list(refusals)}
            told = update(table.node).where(*unread).values(**values, mood=changes.mood)
            if not connection.execute(told).rowcount:
                return False
            _write_late(connection, node, changes)
        return True

    def amend(self, node: Node, changes: Changes) -> None:
        """Adds to what a turn changed, also where others follow: it counts for those, where none of them has changed
        the same. Raises ``WorldTurnRaw`` while the turn is not worked off, ``WorldUnknown``."""
        with self._transaction() as connection:
            if tree.find(connection, node.id).status == "raw":
                raise WorldTurnRaw(turn=node.turn)
            _write_late(connection, node, changes)

    def changed(self, node: Node, changes: Changes) -> Node:
        """Adds the user's correction to what the last turn of a story changed. Raises ``WorldTurnTaken`` when other
        turns follow, ``WorldTurnRaw`` while it is not worked off, ``WorldUnknown``."""
        with self._transaction() as connection:
            tree.find(connection, node.id)
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
                old = change.snapshot_of(row.snapshot)
                recent = tuple(one for one in old.recent if one.node != node.id)
                recent = (*recent, changes.episode) if changes.episode else old.recent
                whole = Snapshot(change.merged(old.changes, changes), recent, old.important)
                values["snapshot"] = change.plain_snapshot(whole)
            connection.execute(update(table.node).where(_NODE.id == node.id).values(**values))
            change.write(connection, node.id, changes)
            raised = _WORLD.revision + 1  # states that other processes keep are outdated
            connection.execute(update(table.world).where(_WORLD.id == node.world).values(revision=raised))
            return tree.find(connection, node.id)

    def has_character(self, world_id: str, name: str) -> bool:
        """Returns whether a turn of a world has a row of somebody under this name. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            check_world(connection, world_id)
            people = table.characters.c
            query = select(people.node).join(table.node, _NODE.id == people.node)
            query = query.where(_NODE.world_id == world_id, people.name == name).limit(1)
            return connection.execute(query).first() is not None

    def stored_state(self, node: Node) -> StoredState:
        """Returns what the state after a turn is made from. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            snapshot, rows = _since_snapshot(connection, node)
            parts = change.read(connection, {row.id: row.mood for row in rows})
        whole, begun = snapshot or (None, 0)
        changes = tuple((row.turn, parts[row.id]) for row in reversed(rows))
        return StoredState(whole, begun, changes, all(row.status != "raw" for row in rows))


def _write_late(connection: Connection, node: Node, changes: Changes) -> None:
    """Writes what a turn changed after others may have followed it: whole states from it on do not have it."""
    change.write(connection, node.id, changes)
    later = (_NODE.world_id == node.world, _NODE.id >= node.id, _NODE.snapshot.is_not(None))
    connection.execute(update(table.node).where(*later).values(snapshot=None))
    raised = _WORLD.revision + 1
    connection.execute(update(table.world).where(_WORLD.id == node.world).values(revision=raised))


def _ready(connection: Connection, node_id: int) -> bool:
    """Returns whether the last turn before this one that an answer made, not one that a client told, is worked off."""
    columns = select(_NODE.parent, _NODE.status)
    parent = connection.execute(select(_NODE.parent).where(_NODE.id == node_id)).scalar_one()
    while parent:
        row = connection.execute(columns.where(_NODE.id == parent)).one()
        if row.status != "given":
            return bool(row.status == "done")
        parent = row.parent
    return True


def needs_snapshot(node: Node) -> bool:
    """Returns whether the state after a turn is to be stored whole."""
    return node.since >= SNAPSHOT_TURNS


def _since_snapshot(connection: Connection, node: Node) -> tuple[tuple[Snapshot, int] | None, list[Any]]:
    """Returns the last snapshot up to a turn with its number, and the rows of the turns after it, newest first."""
    path, turn = tree.place(connection, node.id)
    columns = select(_NODE.id, _NODE.line, _NODE.turn, _NODE.status, _NODE.mood, _NODE.snapshot)
    rows: list[Any] = []
    while True:
        some = tree.between(connection, columns, path, turn - LOOK_BACK + 1, turn) if turn >= path[0][1] else []
        for row in some:
            if row.snapshot:
                return (change.snapshot_of(row.snapshot), row.turn), rows
            rows.append(row)
        if not some:
            return None, rows
        turn -= LOOK_BACK


__all__ = ["SNAPSHOT_TURNS", "Turns", "needs_snapshot"]
