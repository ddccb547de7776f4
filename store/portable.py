"""Sessions as files: exported as JSON, taken in again, and taken in from ChatGPT's export, packed or not.

An export that is imported into an empty store and exported again is the same file, apart from the session's id. A
surrogate pair that stands in a text as two characters becomes the one character that it writes.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Table, func, insert, select, update

from errors import BadConversation, ConversationTooNew, FileTooLarge, SessionUnknown, why
from store import schema
from store.chatgpt import conversations, is_chatgpt
from store.form import FORMAT, TIMES, VERSION, BranchForm, Conversation, SessionForm, SummaryForm, TurnForm, iso
from store.path import TRUNK, branch_at, plain
from store.store import Store
from store.zipped import is_zip, unzipped

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Imported:
    """The sessions that were made, in the order of the file, and the titles of conversations without any text."""

    sessions: tuple[str, ...]
    empty: tuple[str, ...] = ()


def export(store: Store, session_id: str, branches: bool = True) -> str:
    """The session as JSON; without ``branches`` only the turns of its path. Raises ``SessionUnknown``."""
    return dumped(collect(store, session_id, branches))


def dumped(data: dict[str, Any]) -> str:
    """Plain data as JSON that a person can read and UTF-8 can hold."""
    whole = json.dumps(_finite(data), ensure_ascii=False, indent=1, allow_nan=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", whole) + "\n"


def _finite(value: Any) -> Any:
    """Numbers that JSON cannot hold as text; a tool call's arguments may have had them."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def collect(store: Store, session_id: str, branches: bool = True) -> dict[str, Any]:
    """Everything that belongs to a session, in the form of ``Conversation``; without ``branches`` as one trunk."""
    with store.transaction() as connection:
        table = schema.session
        found = connection.execute(select(table).where(table.c.id == session_id)).one_or_none()
        if found is None:
            raise SessionUnknown(session=session_id)
        session, path = dict(found._mapping), plain(found.path)
        turns = _rows(connection, schema.turn, session_id, ("branch", "number"))
        summaries = _rows(connection, schema.summary, session_id, ("branch", "first_turn", "version"))
        ways = _rows(connection, schema.branch, session_id, ("id",))
    if not branches:
        turns = [each for each in turns if branch_at(path, each["number"]) == each["branch"]]
        summaries = [each for each in summaries if branch_at(path, each["last_turn"]) == each["branch"]]
        ways = [{"id": 0, "path": TRUNK, "used": session["updated"]}]
        for each in (*turns, *summaries):
            each["branch"] = 0
        session["path"] = TRUNK
    return {
        "format": FORMAT,
        "version": VERSION,
        "session": _plain(SessionForm, session),
        "branches": [_plain(BranchForm, each) for each in ways],
        "turns": [_plain(TurnForm, each) for each in turns],
        "summaries": [_plain(SummaryForm, each) for each in summaries],
    }


def read(data: bytes, limit: int, count: Callable[[str], int]) -> tuple[list[Conversation], tuple[str, ...]]:
    """The conversations in a file, all checked, and the titles of those without text.

    ``limit``: bytes, also of what a ZIP archive holds; ``count``: tokens of a text. Raises ``FileTooLarge``,
    ``ConversationTooNew``, ``BadConversation``.
    """
    if len(data) > limit:
        raise FileTooLarge(size=len(data), limit=limit)
    found = _parsed(unzipped(data, limit) if is_zip(data) else data)
    if is_chatgpt(found):
        return conversations(found, count)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _bad(f"it does not say that it is of the form {FORMAT!r}", "form", "the beginning", "start")
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ConversationTooNew(found=version, known=VERSION)
    try:
        return [Conversation.model_validate(found)], ()
    except ValidationError as error:
        raise _refused(error) from error


def import_(store: Store, data: bytes, limit: int, count: Callable[[str], int]) -> Imported:
    """``read`` and ``take_in``: sessions from a file, all or none."""
    made, empty = read(data, limit, count)
    return Imported(tuple(take_in(store, made)), empty)


def take_in(store: Store, made: Sequence[Conversation]) -> list[str]:
    """Makes a session of each conversation; all of them appear together, or none. Returns their ids."""
    ids = {index: uuid.uuid4().hex[:16] for index in range(len(made))}
    newest_first = sorted(ids, key=lambda index: -made[index].session.updated)
    try:
        for (
            index
        ) in newest_first:  # each in a transaction of its own, so that nobody waits long; put away until the end
            with store.transaction() as connection:
                _write(connection, made[index], ids[index])
        with store.transaction() as connection:
            table = schema.session
            for own in ids.values():
                connection.execute(update(table).where(table.c.id == own).values(deleted=None))
    except BaseException:
        for own in ids.values():
            store.delete_session(own)
        raise
    return list(ids.values())


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise _bad("it is no text in UTF-8", "text", f"byte {error.start:,}", "byte", byte=error.start) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        at = {"line": error.lineno, "column": error.colno}
        raise _bad(f"it is no JSON: {error.msg}", "json", place, "line", detail=error.msg, **at) from error
    except (ValueError, RecursionError) as error:
        raise _bad(f"it is no JSON: {error}", "json", "somewhere inside", "inside", detail=str(error)) from error


def _bad(reason: str, reason_code: str, place: str, place_code: str, **values: object) -> BadConversation:
    """What is wrong and where, also as codes with their values, for translation."""
    return BadConversation(reason=reason, reason_code=reason_code, place=place, place_code=place_code, **values)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _refused(error: ValidationError) -> BadConversation:
    """The first thing that is wrong, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole file"
    return BadConversation(**why(first), place=place, place_code="" if first["loc"] else "whole")


def _rows(connection: Connection, table: Table, session_id: str, order: Sequence[str]) -> list[dict[str, Any]]:
    wanted = select(table).where(table.c.session_id == session_id).order_by(*(table.c[name] for name in order))
    return [dict(row._mapping) for row in connection.execute(wanted)]


def _plain(shape: type[BaseModel], row: dict[str, Any]) -> dict[str, Any]:
    """The row's values in the order of the form; what is None is left out."""
    values = {name: row[name] for name in shape.model_fields if row[name] is not None}
    if "record" in values:
        values["record"] = {name: value for name, value in values["record"].items() if name != "thread_id"}
    return {name: iso(value) if name in TIMES else value for name, value in values.items()}


def _write(connection: Connection, made: Conversation, own: str) -> None:
    """Rows of a session that is put away for now."""
    path = made.session.path
    turns = sorted(made.turns, key=lambda each: (each.started, each.branch, each.number))
    here = [each for each in turns if branch_at(path, each.number) == each.branch]
    counted = {"turn_count": len(here), "history_tokens": sum(each.tokens for each in here), "revision": 0}
    session = {**_values(made.session), "id": own, **counted, "deleted": time.time()}
    connection.execute(insert(schema.session), session)
    connection.execute(insert(schema.branch), [{"session_id": own, **_values(each)} for each in made.branches])
    before = connection.execute(select(func.min(schema.turn.c.id))).scalar()
    first = min(1 if before is None else before, 1) - len(turns)  # below all others: see ``schema.turn``
    rows = [{"session_id": own, "id": first + index, **_values(each)} for index, each in enumerate(turns)]
    connection.execute(insert(schema.turn), rows)
    summaries = [_summary(each, own) for each in made.summaries]
    if summaries:
        connection.execute(insert(schema.summary), summaries)


def _values(form: BaseModel) -> dict[str, Any]:
    return {name: getattr(form, name) for name in type(form).model_fields}


def _summary(form: SummaryForm, own: str) -> dict[str, Any]:
    record = {"thread_id": own, **form.record.model_dump()} if form.record else None
    places = {"session_id": own, "first_turn": form.turns[0], "last_turn": form.turns[-1]}
    return {**_values(form), **places, "record": record}
