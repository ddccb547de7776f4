"""Which story is this? A client sends its whole history and no id: it is laid over the lines of the user's worlds.

The marks of its messages lead to worlds and lines (``store.history``); which turn it ends at, the alignment of both
says (``history.align``). A turn of a story is known by its answer: a question in other words leads to the same state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from history.align import Alignment, Exchange, align, find_changed
from store.database import world_table as table
from store.history import MOST_PATHS, Lead, Rows, ToldMarks, find_homes, find_rows, lay_over, put_marks
from store.owner import EVERYONE, mine, user_of
from store.path import Path, branch_at, plain
from store.world import tree
from store.world.record import Edit, Known, Wording
from text.fence import find_words

MOST_LAID = 6
"""The most lines that a history is laid over by its texts."""
SURE = 2
"""Known turns that show whose history this is, when it begins with something unknown."""
_LINE, _NODE, _WORLD = table.line.c, table.node.c, table.world.c


@dataclass(frozen=True, slots=True)
class Laid:
    """A history laid over a line. ``texts``: the turns of the line that were compared."""

    lead: Lead
    alignment: Alignment
    texts: Mapping[int, Exchange]


def find_story(connection: Connection, world_id: str | None, turns: Sequence[tuple[str, str]]) -> Known:
    """Returns what of a history is known (``Known``). ``turns``: questions with their answers, oldest first;
    ``world_id``: None for all worlds of the connection's user. Of several stories that fit alike the one is taken that
    was told last."""
    user = user_of(connection)
    if user is EVERYONE or not turns:
        return Known(None, 0)
    told = [Exchange(find_words(question), answer) for question, answer in turns]
    laid = [_lay_line(connection, told, lead) for lead in _find_lines(connection, world_id, turns, user)]
    fitting = [one for one in laid if _is_sure(one, told)]
    if not fitting:
        changed = (one.lead.home for one in laid if find_changed(told[-1], one.texts) is not None)
        return Known(None, 0, world=next(changed, ""))
    rank = max(map(_rank, fitting))
    best = {node.id: (node, one) for one in fitting if _rank(one) == rank and (node := _find_end(connection, one))}
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
    return Known(node, count, len(worlds) > 1 and not is_greeting, wordings, edits)


def _find_lines(
    connection: Connection, world_id: str | None, turns: Sequence[tuple[str, str]], user: str
) -> list[Lead]:
    """Returns the lines that say something of a history, the best ones first."""
    marks = ToldMarks.of(turns, user)

    def read_used(ids: list[str]) -> Mapping[str, float]:
        query = select(_WORLD.id, _WORLD.updated).where(_WORLD.id.in_(ids), mine(connection, _WORLD.owner))
        return {row.id: row.updated for row in connection.execute(query)}

    homes = list(find_homes(connection, marks, read_used)) if world_id is None else [world_id]
    places = marks.places()
    rows = find_rows(connection, homes, places) if homes else {}
    own = select(_WORLD.id).where(_WORLD.id.in_(list(rows)), mine(connection, _WORLD.owner))
    leads = list[Lead]()
    for home in connection.execute(own).scalars().all():
        for path in _find_paths(connection, home, rows, places):
            leads.append(lay_over(home, path, rows[home], places))
    rank = {home: at for at, home in enumerate(homes)}
    return sorted(leads, key=lambda lead: (-round(lead.weight, 3), rank[lead.home], -_find_last_line(lead)))[:MOST_LAID]


def _find_last_line(lead: Lead) -> int:
    return max(line for line, _ in lead.path)


def _find_paths(
    connection: Connection, home: str, rows: Rows, places: Mapping[int, Sequence[tuple[int, str, bool]]]
) -> list[Path]:
    """Returns the paths of a world's lines that say the last of what is known."""
    last: dict[int, int] = {}
    for line, _, mark in rows[home]:
        last[line] = max(last.get(line, -1), *(sent for sent, _, _ in places[mark]))
    chosen = sorted(last, key=lambda line: (-last[line], -line))[:MOST_PATHS]
    query = select(_LINE.path).where(_LINE.id.in_(chosen), _LINE.world_id == home)
    return [plain(path) for path in connection.execute(query).scalars()]


def _lay_line(connection: Connection, told: Sequence[Exchange], lead: Lead) -> Laid:
    texts: dict[int, Exchange] = {}

    def read(numbers: Sequence[int]) -> dict[int, Exchange]:
        query = select(_NODE.turn, _NODE.line, _NODE.question, _NODE.answer, _NODE.report)
        query = query.where(_NODE.turn.in_(list(numbers)))
        for row in tree.between(connection, query, lead.path, min(numbers), max(numbers)):
            texts[row.turn] = Exchange(row.question, row.answer, bool((row.report or {}).get("stopped")))
        return texts

    return Laid(lead, align(told, lead.weights, read, first=lead.path[0][1], by_answer=True), texts)


def _is_sure(laid: Laid, told: Sequence[Exchange]) -> bool:
    """Returns whether the known turns show that this is the story: it begins there, or enough of them are known."""
    pairs = laid.alignment.pairs
    if not pairs:
        return False
    begins = pairs[0].kind != "edited" and pairs[0].sent == 0 and pairs[0].number == laid.lead.path[0][1]
    return begins or laid.alignment.known_count >= min(SURE, len(told))


def _rank(laid: Laid) -> tuple[int, int]:
    """Returns how well a line fits: how many turns it knows, and how late the last of them is."""
    return laid.alignment.known_count, laid.alignment.pairs[-1].sent


def _find_end(connection: Connection, laid: Laid) -> Any:
    """Returns the last known turn."""
    number = laid.alignment.pairs[-1].number
    rows = tree.between(connection, select(_NODE.id, _NODE.line, _NODE.turn), laid.lead.path, number, number)
    return tree.find(connection, rows[0].id) if rows else None


def learn_wordings(connection: Connection, world_id: str, owner: str, wordings: Sequence[Wording]) -> None:
    """Lets turns be found by the words in which their client tells them, too."""
    for one in wordings:
        put_marks(connection, owner, world_id, one.line, [(one.turn, one.question, [one.answer])])


__all__ = ["find_story", "learn_wordings"]
