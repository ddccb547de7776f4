"""Which story is this? A client sends its whole history and no id: it is laid over the branches of the user's stories.

The marks of its messages lead to stories and branches (``store.session.history``); which turn it ends at, the alignment
of both says (``history.align``). A turn of a story is known by its answer: a question in other words leads to the same
state.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select

from history.align import Alignment, Exchange, align_told_turns, find_changed
from store.database import schema
from store.database import world_table as table
from store.owner import EVERYONE, build_owner_condition, user_of
from store.path import TRUNK, Path, branch_at, parse_path
from store.session.history import MOST_PATHS, Lead, Rows, ToldMarks, find_homes, find_rows, lay_over
from store.world import tree
from store.world.record import Edit, KnownHistory, Wording
from text.fence import find_words

MOST_LAID = 6
"""The most lines that a history is laid over by its texts."""
SURE = 2
"""Known turns that show whose history this is, when it begins with something unknown."""
RATE = 0.3
"""The compression rate that a story has, as every conversation, until its user sets another."""
_BRANCH, _NODE, _WORLD, _SESSION, _TURN = (
    schema.branch.c,
    table.node.c,
    table.world.c,
    schema.session.c,
    schema.turn.c,
)


def open_story(connection: Connection, world_id: str) -> str:
    """Returns the id of the first story of a world; begins one where none is, or all were put away."""
    there = (schema.STORY, _SESSION.world == world_id, _SESSION.deleted.is_(None))
    query = select(_SESSION.id).where(*there).order_by(_SESSION.created, _SESSION.id).limit(1)
    known: str | None = connection.execute(query).scalar()
    return known or begin_story(connection, world_id)


def begin_story(connection: Connection, world_id: str) -> str:
    """Begins a story of a world: a conversation with no turn yet; returns its id. The first has the world's own."""
    world = connection.execute(select(table.world).where(_WORLD.id == world_id)).one()
    taken = connection.execute(select(func.count()).where(_SESSION.id == world_id)).scalar_one()
    session_id, now = uuid.uuid4().hex[:16] if taken else world_id, time.time()
    row = {"id": session_id, "world": world_id, "title": world.name, "titled": "user", "language": world.language}
    row |= {"compression_rate": RATE, "path": TRUNK, "turn_count": 0, "history_tokens": 0, "owner": world.owner}
    row |= {"api_key": world.api_key, "created": now, "updated": now}
    connection.execute(insert(schema.session), row)
    connection.execute(insert(schema.branch), {"session_id": session_id, "id": 0, "path": TRUNK, "used": now})
    return session_id


def match_open_story(connection: Connection, session_id: Any) -> ColumnElement[bool]:
    """Returns the condition that a column names a story of the connection's user that was not put away."""
    own = (_SESSION.deleted.is_(None), build_owner_condition(connection, _SESSION.owner))
    return select(_SESSION.id).where(_SESSION.id == session_id, *own).exists()


@dataclass(frozen=True, slots=True)
class Laid:
    """A history laid over a branch. ``world``: whose story it is; ``texts``: the turns of the branch that were
    compared."""

    lead: Lead
    world: str
    alignment: Alignment
    texts: Mapping[int, Exchange]


def find_story(connection: Connection, world_id: str | None, turns: Sequence[tuple[str, str]]) -> KnownHistory:
    """Returns what of a history is known (``KnownHistory``). ``turns``: questions with their answers, oldest first;
    ``world_id``: None for all worlds of the connection's user. Of several stories that fit alike the one is taken that
    was told last."""
    user = user_of(connection)
    if user is EVERYONE or not turns:
        return KnownHistory(None, 0)
    told = [Exchange(find_words(question), answer) for question, answer in turns]
    leads = _find_branches(connection, world_id, turns, user)
    laid = [_lay_branch(connection, told, lead, world) for lead, world in leads]
    fitting = [one for one in laid if _is_sure(one, told)]
    if not fitting:
        changed = (one.world for one in laid if find_changed(told[-1], one.texts) is not None)
        return KnownHistory(None, 0, world=next(changed, ""))
    rank = max(map(_rank_fit, fitting))
    best = {node.id: (node, one) for one in fitting if _rank_fit(one) == rank and (node := _find_end(connection, one))}
    node, one = best[max(best)]
    is_greeting = one.alignment.count == 1 and not turns[0][0].strip()
    worlds = {other.world for other, _ in best.values()}
    pairs = one.alignment.pairs
    wordings = tuple(
        Wording(branch_at(one.lead.path, pair.number), pair.number, *turns[pair.sent])
        for pair in pairs
        if pair.kind == "reworded" and pair.answer != "more"
    )
    edits = tuple(Edit(pair.number, *turns[pair.sent]) for pair in pairs if pair.kind == "edited")
    count = pairs[-1].sent + 1
    return KnownHistory(node, count, len(worlds) > 1 and not is_greeting, wordings, edits)


def _find_branches(
    connection: Connection, world_id: str | None, turns: Sequence[tuple[str, str]], user: str
) -> list[tuple[Lead, str]]:
    """Returns the branches that say something of a history, the best ones first, each with its world."""
    marks = ToldMarks.of(turns, user)

    def read_used(ids: list[str]) -> Mapping[str, float]:
        query = select(_SESSION.id, _SESSION.updated).where(_SESSION.id.in_(ids), *there)
        return {row.id: row.updated for row in connection.execute(query)}

    there = (_SESSION.world != "", _SESSION.deleted.is_(None), build_owner_condition(connection, _SESSION.owner))
    if world_id is None:
        homes = list(find_homes(connection, marks, read_used))
    else:
        homes = [*connection.execute(select(_SESSION.id).where(schema.STORY, _SESSION.world == world_id)).scalars()]
    places = marks.places()
    rows = find_rows(connection, homes, places) if homes else {}
    own = select(_SESSION.id, _SESSION.world).where(_SESSION.id.in_(list(rows)), *there)
    leads = list[tuple[Lead, str]]()
    for home, world in connection.execute(own).all():
        for path in _find_paths(connection, home, rows, places):
            leads.append((lay_over(home, path, rows[home], places), world))
    rank = {home: at for at, home in enumerate(homes)}
    return sorted(leads, key=lambda one: (-round(one[0].weight, 3), rank[one[0].home], -_find_newest(one[0])))[
        :MOST_LAID
    ]


def _find_newest(lead: Lead) -> int:
    """Returns the newest branch of a path."""
    return max(branch for branch, _ in lead.path)


def _find_paths(
    connection: Connection, home: str, rows: Rows, places: Mapping[int, Sequence[tuple[int, str, bool]]]
) -> list[Path]:
    """Returns the paths of a story's branches that say the last of what is known."""
    last: dict[int, int] = {}
    for branch, _, mark in rows[home]:
        last[branch] = max(last.get(branch, -1), *(sent for sent, _, _ in places[mark]))
    chosen = sorted(last, key=lambda branch: (-last[branch], -branch))[:MOST_PATHS]
    query = select(_BRANCH.path).where(_BRANCH.session_id == home, _BRANCH.id.in_(chosen))
    return [parse_path(path) for path in connection.execute(query).scalars()]


def _lay_branch(connection: Connection, told: Sequence[Exchange], lead: Lead, world: str) -> Laid:
    texts: dict[int, Exchange] = {}

    def read(numbers: Sequence[int]) -> dict[int, Exchange]:
        query = select(_NODE.turn, _NODE.branch, _TURN.question, _TURN.answer, _TURN.status).select_from(tree.TOLD)
        query = query.where(_NODE.turn.in_(list(numbers)))
        for row in tree.list_rows_between(connection, query, lead.home, lead.path, min(numbers), max(numbers)):
            texts[row.turn] = Exchange(row.question, row.answer, row.status == "stopped")
        return texts

    return Laid(lead, world, align_told_turns(told, lead.weights, read, first=lead.path[0][1], by_answer=True), texts)


def _is_sure(laid: Laid, told: Sequence[Exchange]) -> bool:
    """Returns whether the known turns show that this is the story: it begins there, or enough of them are known."""
    pairs = laid.alignment.pairs
    if not pairs:
        return False
    begins = pairs[0].kind != "edited" and pairs[0].sent == 0 and pairs[0].number == laid.lead.path[0][1]
    return begins or laid.alignment.known_count >= min(SURE, len(told))


def _rank_fit(laid: Laid) -> tuple[int, int]:
    """Returns how well a branch fits: how many turns it knows, and how late the last of them is."""
    return laid.alignment.known_count, laid.alignment.pairs[-1].sent


def _find_end(connection: Connection, laid: Laid) -> Any:
    """Returns the last known turn."""
    number = laid.alignment.pairs[-1].number
    query = select(_NODE.id, _NODE.branch, _NODE.turn)
    rows = tree.list_rows_between(connection, query, laid.lead.home, laid.lead.path, number, number)
    return tree.load_node(connection, rows[0].id) if rows else None


__all__ = ["begin_story", "find_story", "match_open_story", "open_story"]
