"""The mark of turns whose prompts held text of others (``schema.turn.c.has_foreign``).

A turn has the mark from its beginning where the conversation's system prompt came out of a file. It inherits the mark
from any earlier turn of its path, because the prompt holds what was said there: as it was said, summarised or
remembered. Looking at the turn before would not be enough: a version of the product that does not
know the mark may have written it, beside this one or before an upgrade.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, insert, or_, select, update

from store.database import schema
from store.path import Path, on_path
from store.session.options import has_imported_prompt

_TURN, _EARLIER = schema.turn.c, schema.turn.alias("earlier")
_SAME_BRANCH = and_(_EARLIER.c.session_id == _TURN.session_id, _EARLIER.c.branch == _TURN.branch)
_AFTER_MARKED = exists().where(schema.foreign_row("earlier"), _SAME_BRANCH, _EARLIER.c.number < _TURN.number)
HAS_FOREIGN: ColumnElement[bool] = or_(_TURN.has_foreign, _AFTER_MARKED).label("has_foreign")
"""Whether a turn has the mark, also one that a version without marks wrote after a marked one of the same branch, and
that nothing follows yet."""
_INSERTED = insert(schema.turn)


def insert_turn(connection: Connection, path: Path, row: dict[str, Any], is_follower: bool = False) -> bool:
    """Writes the row of a new turn, which inherits the mark from the turns before it on ``path``; returns whether it
    has the mark. ``is_follower``: the turn before it has the mark, so that the chain is whole."""
    has_foreign = is_follower or inherit_mark(connection, row["session_id"], row["number"], path)
    has_foreign = has_foreign or row.get("has_foreign", False) or has_imported_prompt(connection, row["session_id"])
    connection.execute(_INSERTED, {**row, "has_foreign": has_foreign})
    return has_foreign


def inherit_mark(connection: Connection, session_id: str, number: int, path: Path) -> bool:
    """Returns whether a turn of ``path`` before turn ``number`` has the mark. Turns between that lack it get it.

    One look at the index of marked turns (``turn_foreign``), however long the conversation and large its rows are.
    """
    before = (_TURN.session_id == session_id, on_path(_TURN.branch, _TURN.number, path), _TURN.number < number)
    query = select(func.count(), func.min(_TURN.number)).select_from(schema.turn).where(schema.foreign_row(), *before)
    marked, first = connection.execute(query).one()
    if marked and marked < number - first:  # the chain is broken
        missed = (*before, _TURN.number > first, _TURN.has_foreign.is_(False))
        connection.execute(update(schema.turn).where(*missed).values(has_foreign=True))
    return bool(marked)
