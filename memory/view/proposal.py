"""What a fold would write, for a user who wants to say yes first.

A proposal is plain data in the row of its session. It counts as long as the memory that it was made from is the newest;
whatever changes that memory drops it, and the next fold begins from what is there then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, select

from memory.fold import Folded
from memory.row.rows import Head, change_source
from memory.state import Entity, MemoryState, MemoryTurn
from memory.text import render_text
from memory.view.recollect import Difference, compare_memory_texts
from store.database import memory_table as table


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that waits for the user's yes. ``turns``: the numbers that it takes in; ``changes``: line by line
    against the memory of now; ``entities``, ``profile``: values that it sets anew, and lasting facts that it would
    note."""

    turns: tuple[int, ...]
    folded: Folded
    changes: tuple[Difference, ...]
    entities: tuple[Entity, ...]
    profile: tuple[Entity, ...]


def read_asks_first(connection: Connection, tenant: str, user: str) -> bool:
    """Tells whether folds wait for the user's yes."""
    query = select(table.user.c.asks_first).where(table.user.c.tenant == tenant, table.user.c.user == user)
    return bool(connection.execute(query).scalar_one_or_none())


def write_proposal(
    connection: Connection, head: Head, state: MemoryState, turns: Sequence[MemoryTurn], made: Folded
) -> None:
    """Notes what a fold would write."""
    data = {"sources": _identify_turns(turns), "version": state.version_id, "folded": asdict(made)}
    change_source(connection, head.scope, proposal=data, rejection=None)


def find_proposal(head: Head, state: MemoryState) -> Proposal | None:
    """Returns the proposal that waits; None for none, and for one whose memory or turns have changed since."""
    data = head.proposal
    sources = data.get("sources", []) if data else []
    turns = state.waiting[: len(sources)]
    if not data or not sources or data["version"] != state.version_id or sources != _identify_turns(turns):
        return None
    folded = _parse_folded(data["folded"])
    known = {(row.key, row.text) for row in state.entities}
    return Proposal(
        tuple(turn.number for turn in turns),
        folded,
        tuple(compare_memory_texts(render_text(state.lines, state.language), folded.text)),
        tuple(entity for entity in folded.entities if (entity.key, entity.value) not in known),
        folded.profile,
    )


def _identify_turns(turns: Sequence[MemoryTurn]) -> list[list[float]]:
    """Returns branch, number and moment of each turn: an edited turn has the number of the one before it."""
    return [[turn.branch, turn.number, turn.at] for turn in turns]


def _parse_folded(data: dict[str, Any]) -> Folded:
    def entities(name: str) -> tuple[Entity, ...]:
        return tuple(Entity(each["key"], each["value"], each["turn"]) for each in data[name])

    fields = {**data, "entities": entities("entities"), "profile": entities("profile")}
    return Folded(**{**fields, "kept": tuple(data["kept"]), "lost": tuple(data["lost"])})
