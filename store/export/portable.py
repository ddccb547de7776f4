"""Sessions as files: exports sessions as JSON, imports them again, and imports ChatGPT's export, zipped or not.

Importing an export into an empty store and exporting the session again gives the same file, apart from the session's
id. A surrogate pair that a text holds as two characters becomes the one character that the pair encodes.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage, messages_from_dict
from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Table, func, insert, select, update

from errors import BadConversation, ConversationTooNew, FileTooLarge, SessionUnknown, bare, why
from store import options
from store.database import schema
from store.export.chatgpt import Count, conversations, is_chatgpt
from store.export.form import (
    FORMAT,
    TIMES,
    VERSION,
    BranchForm,
    ConversationForm,
    OptionsForm,
    SessionForm,
    SummaryForm,
    TurnForm,
    iso,
)
from store.export.zipped import is_zip, unzipped
from store.history import ENDED, put_marks
from store.options import Options
from store.owner import check, owner_of_new
from store.path import TRUNK, branch_at, plain
from store.record import TurnStatus
from store.store import Store
from store.turn_index_change import record_changes
from text.clean import encodable

LIMIT = 200_000_000
"""Bytes of the largest file that is imported."""
_OUTSIDE = {"has_foreign": True, "is_imported": True}
"""The marks of imported turns: anybody may have written the file, so nothing in it is believed about them."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The ids of the created sessions in the order of the file, and the titles of conversations without any text."""

    sessions: tuple[str, ...]
    empty: tuple[str, ...] = ()


def export(store: Store, session_id: str, branches: bool = True) -> str:
    """Returns the session as JSON; without ``branches`` only the turns of its path. Raises ``SessionUnknown``."""
    return dumped(collect(store, session_id, branches))


def dumped(data: dict[str, Any]) -> str:
    """Returns plain data as JSON that a person can read and UTF-8 can encode."""
    whole = json.dumps(_finite(data), ensure_ascii=False, indent=1, allow_nan=False)
    return encodable(whole) + "\n"


def _finite(value: Any) -> Any:
    """Replaces numbers that JSON cannot hold (infinity, NaN) by text; a tool call's arguments may hold such numbers."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def collect(store: Store, session_id: str, branches: bool = True) -> dict[str, Any]:
    """Returns everything that belongs to a session, in the form of ``ConversationForm``; without ``branches`` as one
    trunk.

    Raises ``SessionUnknown``.
    """
    with store.transaction() as connection:
        table = schema.session
        stored = connection.execute(select(table).where(table.c.id == session_id)).one_or_none()
        check(connection, session_id, stored.owner if stored else None)
        assert stored is not None
        session, path = {**stored._mapping, "options": _options(connection, session_id)}, plain(stored.path)
        session["client_system"] = stored.client_system or None
        turns = _rows(connection, schema.turn, session_id, ("branch", "number"))
        summaries = _rows(connection, schema.summary, session_id, ("branch", "first_turn", "version"))
        ways = _rows(connection, schema.branch, session_id, ("id",))
    if not branches:
        turns = [row for row in turns if branch_at(path, row["number"]) == row["branch"]]
        summaries = [row for row in summaries if branch_at(path, row["last_turn"]) == row["branch"]]
        ways = [{"id": 0, "path": TRUNK, "used": session["updated"]}]
        for row in (*turns, *summaries):
            row["branch"] = 0
        session["path"] = TRUNK
    return {
        "format": FORMAT,
        "version": VERSION,
        "session": _plain(SessionForm, session),
        "branches": [_plain(BranchForm, row) for row in ways],
        "turns": [_plain(TurnForm, row | {"status": _ended(row["status"])}) for row in turns],
        "summaries": [_plain(SummaryForm, row) for row in summaries],
    }


def _ended(status: TurnStatus) -> TurnStatus:
    """Returns the status that a file says: what a turn waits for cannot be answered elsewhere, so it counts as cut
    off."""
    return "running" if status == "waiting" else status


def read(data: bytes, limit: int, count: Count) -> tuple[list[ConversationForm], tuple[str, ...]]:
    """Returns the conversations in a file, all checked, and the titles of conversations without text.

    ``limit``: bytes of the file, and of the unpacked content of a ZIP archive; ``count``: counts the tokens of a
    turn's messages.
    Raises ``FileTooLarge``, ``ConversationTooNew``, ``BadConversation``.
    """
    if len(data) > limit:
        raise FileTooLarge(size=len(data), limit=limit)
    checked: list[ConversationForm] = []
    empty: tuple[str, ...] = ()
    for content in unzipped(data, limit) if is_zip(data) else [data]:
        more, blank = _read(content, count)
        checked, empty = [*checked, *more], (*empty, *blank)
    return checked, empty


def _read(data: bytes, count: Count) -> tuple[list[ConversationForm], tuple[str, ...]]:
    """Returns the conversations in one JSON text, and the titles of conversations without text."""
    parsed = _parsed(data)
    if is_chatgpt(parsed):
        return conversations(parsed, count)
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise _bad(f"it does not say that it is of the form {FORMAT!r}", "form", "the beginning", "start")
    version = parsed.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ConversationTooNew(found=version, known=VERSION)
    try:
        conversation = ConversationForm.model_validate(parsed)
    except ValidationError as error:
        raise _refused(error) from error
    for turn in conversation.turns:
        if turn.usage is None and turn.messages:  # no model answered it here, so it was counted by an import
            turn.tokens = count(cast("list[AnyMessage]", messages_from_dict(turn.messages)))
    return [conversation], ()


def import_(store: Store, data: bytes, limit: int, count: Count) -> Imported:
    """Imports all sessions of a file, or none: ``read``, then ``take_in``."""
    checked, empty = read(data, limit, count)
    return Imported(tuple(take_in(store, checked)), empty)


def take_in(store: Store, made: Sequence[ConversationForm]) -> list[str]:
    """Creates a session for each conversation and returns the ids. All sessions appear together, or none."""
    ids = {index: uuid.uuid4().hex[:16] for index in range(len(made))}
    newest_first = sorted(ids, key=lambda index: -made[index].session.updated)
    try:
        # one transaction per session, so that no other writer waits long; the sessions stay put away until the end
        for index in newest_first:
            with store.transaction() as connection:
                _write(connection, made[index], ids[index])
        with store.transaction() as connection:
            table = schema.session
            for session_id in ids.values():
                connection.execute(update(table).where(table.c.id == session_id).values(deleted=None))
            record_changes(connection, ids.values(), rebuilt=False)
    except BaseException:
        for session_id in ids.values():
            with suppress(SessionUnknown):  # not written yet
                store.delete_session(session_id)
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
    """Returns an error with its reason and place, also as codes with their values for translation."""
    return BadConversation(reason=reason, reason_code=reason_code, place=place, place_code=place_code, **values)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _refused(error: ValidationError) -> BadConversation:
    """Returns an error about the first invalid value and its place."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole file"
    return BadConversation(**why(first), place=place, place_code="" if first["loc"] else "whole")


def _rows(connection: Connection, table: Table, session_id: str, order: Sequence[str]) -> list[dict[str, Any]]:
    query = select(table).where(table.c.session_id == session_id).order_by(*(table.c[name] for name in order))
    return [dict(row._mapping) for row in connection.execute(query)]


def _plain(shape: type[BaseModel], row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row's values in the order of the form, without values that are None."""
    values = {name: row[name] for name in shape.model_fields if row[name] is not None}
    if "record" in values:
        values["record"] = {name: value for name, value in values["record"].items() if name != "thread_id"}
    if "files" in values:
        values["files"] = [{"name": file["name"]} for file in values["files"]]
    if "error" in values:
        values["error"] = bare(values["error"])  # rows of earlier versions hold addresses with their secrets
    return {name: iso(value) if name in TIMES else value for name, value in values.items()}


def _options(connection: Connection, session_id: str) -> dict[str, Any] | None:
    """Returns the options in the form of ``OptionsForm``, without default values; None when all are default."""
    current = options.read(connection, session_id)
    texts = sorted(text for text in options.prompts(connection, session_id) if text != current.system_prompt)
    values = {**asdict(current), "earlier": texts}
    return {name: value for name, value in values.items() if value not in ("", None, [])} or None


def _write(connection: Connection, made: ConversationForm, own: str) -> None:
    """Writes the rows of a session that stays put away until the whole import succeeds."""
    path = made.session.path
    turns = sorted(made.turns, key=lambda form: (form.started, form.branch, form.number))
    on_path = [form for form in turns if branch_at(path, form.number) == form.branch]
    totals = {"turn_count": len(on_path), "history_tokens": sum(form.tokens for form in on_path), "revision": 0}
    owner = owner_of_new(connection)
    session = {**_values(made.session), "id": own, "owner": owner, **totals, "deleted": time.time()}
    options_form: OptionsForm | None = session.pop("options")
    connection.execute(insert(schema.session), session)
    if options_form is not None:
        checked = Options(options_form.system_prompt, options_form.temperature, options_form.answer_tokens).checked()
        options.put(connection, own, checked, options_form.earlier)
    connection.execute(insert(schema.branch), [{"session_id": own, **_values(form)} for form in made.branches])
    lowest = connection.execute(select(func.min(schema.turn.c.id))).scalar()
    first = min(1 if lowest is None else lowest, 1) - len(turns)  # below all other ids: see ``schema.turn``
    rows = [{"session_id": own, "id": first + index, **_OUTSIDE, **_values(form)} for index, form in enumerate(turns)]
    connection.execute(insert(schema.turn), rows)
    for branch in dict.fromkeys(form.branch for form in turns):
        ended = [form for form in turns if form.branch == branch and form.status in ENDED]
        put_marks(connection, owner, own, branch, [(form.number, form.question, [form.answer or ""]) for form in ended])
    summaries = [_summary(form, own) for form in made.summaries]
    if summaries:
        connection.execute(insert(schema.summary), summaries)


def _values(form: BaseModel) -> dict[str, Any]:
    return {name: getattr(form, name) for name in type(form).model_fields}


def _summary(form: SummaryForm, own: str) -> dict[str, Any]:
    record = {"thread_id": own, **form.record.model_dump()} if form.record else None
    places = {"session_id": own, "first_turn": form.turns[0], "last_turn": form.turns[-1], "is_counted": False}
    return {**_values(form), **places, "record": record}
