"""What the curator keeps for the lines of a story: versions of its texts, and the contradictions that were noticed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from errors import WorldUnknown
from store.database import world_table as table
from store.owner import build_owner_condition
from store.path import branch_at
from store.user.usage import SideUsage, write_side_usage
from store.world import tree
from store.world.record import BlockName, CuratedBlock, FindingStatus, NoteKind, StoryFinding, StoryNode
from store.world.rows import WorldRows, check_world, lock_world_row

_BLOCK, _FINDING, _NODE, _WORLD = table.block.c, table.finding.c, table.node.c, table.world.c
_PLACE = (_NODE.branch, _NODE.turn)


class Curated(WorldRows):
    """The curator's texts and findings in a user's worlds."""

    def block(self, node: StoryNode, name: BlockName) -> CuratedBlock | None:
        """Returns the newest version of a text on the path of a turn. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            query = select(table.block, *_PLACE).join(table.node, _NODE.id == _BLOCK.node)
            query = query.where(_BLOCK.name == name).order_by(_NODE.turn.desc(), _BLOCK.version.desc())
            row = next(_list_path_rows(connection, node, query), None)
        return CuratedBlock(name, row.node, row.version, row.text, row.created) if row is not None else None

    def put_block(self, node: StoryNode, name: BlockName, text: str) -> CuratedBlock:
        """Stores a further version of a text, which counts from this turn on. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            tree.lock_story(connection, node)
            last = select(func.max(_BLOCK.version)).where(_BLOCK.node == node.id, _BLOCK.name == name)
            version = (connection.execute(last).scalar() or 0) + 1
            row = {"node": node.id, "name": name, "version": version, "text": text, "created": time.time()}
            connection.execute(insert(table.block), row)
        return CuratedBlock(name, node.id, version, text, float(row["created"]))

    def findings(self, node: StoryNode, status: FindingStatus | None = None, limit: int = 50) -> list[StoryFinding]:
        """Returns the findings on the path of a turn, the newest first. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            query = select(table.finding, *_PLACE).join(table.node, _NODE.id == _FINDING.node)
            query = query.where(_FINDING.world_id == node.world)
            query = query.where(_FINDING.status == status) if status is not None else query
            rows = _list_path_rows(connection, node, query.order_by(_FINDING.id.desc()))
            return [_build_finding(row) for row in islice(rows, limit)]

    def add_finding(
        self, node: StoryNode, kind: NoteKind, subject: str, text: str, mend: dict[str, Any] | None = None
    ) -> StoryFinding | None:
        """Stores what was noticed at a turn, or put right (``mend``); None for a contradiction that the user has called
        intended before, or that is open already. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            lock_world_row(connection, node.world)  # so that two processes note the same thing once
            tree.lock_story(connection, node)
            query = select(_FINDING.status, *_PLACE).join(table.node, _NODE.id == _FINDING.node)
            query = query.where(_FINDING.world_id == node.world, _FINDING.kind == kind, _FINDING.subject == subject)
            if mend is None and {row.status for row in _list_path_rows(connection, node, query)} & {
                "open",
                "dismissed",
            }:
                return None
            row = {"world_id": node.world, "node": node.id, "kind": kind, "subject": subject, "text": text}
            row |= {"status": "open", "created": time.time(), "mend": mend}
            new = connection.execute(insert(table.finding).returning(_FINDING.id), row).scalar_one()
        return StoryFinding(int(new), node.id, node.turn, kind, subject, text, "open", float(row["created"]), mend)  # type: ignore[arg-type]

    def note_side_usage(self, node: StoryNode, used: SideUsage) -> None:
        """Stores what calls beside the answers took for a turn: the tracker's, the curator's; nothing where the story
        is removed at this moment. Raises ``WorldUnknown``."""
        with self._transaction() as connection:
            session_id, _, _ = tree.load_node_place(connection, node.id)  # whose it is
            write_side_usage(connection, session_id, used)

    def lock_world(self, world_id: str) -> None:
        """Keeps other processes from changing a world until the transaction ends (``together``). Raises
        ``WorldUnknown``."""
        with self._transaction() as connection:
            lock_world_row(connection, world_id)  # first: SQLite may refuse to write what was read before another wrote
            check_world(connection, world_id)

    def set_finding(self, finding_id: int, status: FindingStatus) -> None:
        """Sets what the user thinks of a finding. Raises ``WorldUnknown`` for another user's."""
        with self._transaction() as connection:
            owned = select(_WORLD.id).where(build_owner_condition(connection, _WORLD.owner))
            own = (_FINDING.id == finding_id, _FINDING.world_id.in_(owned))
            if not connection.execute(update(table.finding).where(*own).values(status=status)).rowcount:
                raise WorldUnknown(world="")


def _list_path_rows(connection: Connection, node: StoryNode, query: Any) -> Iterator[Any]:
    """Yields the rows of a query whose turns lie on the path of ``node``. ``query``: with branch and number of the
    turn. Raises ``WorldUnknown``."""
    session_id, path, turn = tree.load_node_place(connection, node.id)
    for row in connection.execute(query.where(_NODE.session_id == session_id, _NODE.turn <= turn)):
        if row.turn >= path[0][1] and branch_at(path, row.turn) == row.branch:
            yield row


def _build_finding(row: Any) -> StoryFinding:
    return StoryFinding(row.id, row.node, row.turn, row.kind, row.subject, row.text, row.status, row.created, row.mend)
