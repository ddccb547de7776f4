"""What of ``store.worlds`` the curator reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from store.world.record import (
    Block,
    BlockName,
    Changes,
    Episode,
    Finding,
    FindingStatus,
    LoreEntry,
    Node,
    NoteKind,
)


class StoryRows(Protocol):
    """The rows that the text of a story is made from."""

    def path(self, node: Node, last: int = 50) -> list[Node]: ...
    def episodes(self, world_id: str, node_ids: Sequence[int]) -> dict[int, Episode]: ...
    def block(self, node: Node, name: BlockName) -> Block | None: ...
    def node(self, node_id: int) -> Node: ...


class Rows(StoryRows, Protocol):
    """All rows of the curator."""

    def lore(self, world_id: str) -> list[LoreEntry]: ...
    def put_block(self, node: Node, name: BlockName, text: str) -> Block: ...
    def findings(self, node: Node, status: FindingStatus | None = None, limit: int = 50) -> list[Finding]: ...
    def amend(self, node: Node, changes: Changes) -> None: ...
    def add_finding(
        self, node: Node, kind: NoteKind, subject: str, text: str, mend: dict[str, Any] | None = None
    ) -> Finding | None: ...
