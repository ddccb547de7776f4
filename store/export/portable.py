"""Sessions as files: exports sessions as JSON, imports them again, and imports the exports of other programs
(``store.export.program``), zipped or not.

Importing an export into an empty store and exporting the session again gives the same file, apart from the session's
id. A surrogate pair that a text holds as two characters becomes the one character that the pair encodes.
"""

from __future__ import annotations

import base64
import json
import math
import time
import uuid
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_from_dict, messages_to_dict
from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, Table, func, insert, select, update

from errors import (
    BadConversation,
    ConversationTooNew,
    FileTooLarge,
    ImageUnreadable,
    SessionUnknown,
    explain_validation_problem,
    redact_json_data,
)
from store.database import schema
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
    format_iso,
)
from store.export.program import Count, FileConversations, is_program_export, read_program_chats
from store.export.world_part import collect_world, write_world, write_world_turns
from store.export.zipped import is_zip_archive, unzip_conversations
from store.owner import check_session_owner, owner_of_new
from store.path import Path, branch_at, parse_path
from store.record import TurnStatus
from store.search.turn_index_change import record_changes
from store.session import options
from store.session.history import ENDED, put_marks
from store.session.options import AnswerOptions
from store.store import Store
from store.turn.image import StoredImage, build_image_key, list_image_keys, load_images, write_images
from text.clean import clean_text, escape_surrogates, refuse_json_constant

_OTHER_FILES = ("form", "json", "text", "deep")
"""Why a file of an archive is no export of a program."""
_BEGINNING = 200
"""Bytes in which a file of Gieok's says so."""
LIMIT = 200_000_000
"""Bytes of the largest file that is imported."""
_OUTSIDE = {"has_foreign": True, "is_imported": True}
"""The marks of imported turns: anybody may have written the file, so nothing in it is believed about them."""


@dataclass(frozen=True, slots=True)
class ImportedSessions:
    """The ids of the created sessions in the order of the file, the titles of conversations without any text, and why
    others were left out."""

    sessions: tuple[str, ...]
    empty: tuple[str, ...] = ()
    faults: tuple[BadConversation, ...] = ()


def render_session_json(store: Store, session_id: str, branches: bool = True) -> str:
    """Returns the session as JSON; without ``branches`` only the turns of its path. Raises ``SessionUnknown``."""
    return dump_json(collect_session(store, session_id, branches))


def dump_json(data: dict[str, Any]) -> str:
    """Returns plain data as JSON that a person can read and UTF-8 can encode."""
    whole = json.dumps(_replace_non_finite(data), ensure_ascii=False, indent=1, allow_nan=False)
    return escape_surrogates(whole) + "\n"


def _replace_non_finite(value: Any) -> Any:
    """Replaces numbers that JSON cannot hold (infinity, NaN) by text; a tool call's arguments may hold such numbers."""
    if isinstance(value, dict):
        return {name: _replace_non_finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_non_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def collect_session(store: Store, session_id: str, branches: bool = True) -> dict[str, Any]:
    """Returns everything that belongs to a session, in the form of ``ConversationForm``; without ``branches`` as one
    trunk.

    Raises ``SessionUnknown``.
    """
    with store.transaction() as connection:
        table = schema.session
        stored = connection.execute(select(table).where(table.c.id == session_id)).one_or_none()
        check_session_owner(connection, session_id, stored.owner if stored else None)
        assert stored is not None
        session, path = (
            {**stored._mapping, "options": _load_options_values(connection, session_id)},
            parse_path(stored.path),
        )
        session["client_system"] = stored.client_system or None
        turns = _load_session_rows(connection, schema.turn, session_id, ("branch", "number"))
        summaries = _load_session_rows(connection, schema.summary, session_id, ("branch", "first_turn", "version"))
        ways = _load_session_rows(connection, schema.branch, session_id, ("id",))
        world = _collect_story(connection, stored, None if branches else path)
        images = load_images(connection, session_id, [key for row in turns for key in list_image_keys(row["files"])])
    for row in turns if world else ():
        row["messages"] = row["messages"] or _say_again(row)
    if not branches:
        turns = [row for row in turns if row["number"] >= path[0][1]]
        turns = [row for row in turns if branch_at(path, row["number"]) == row["branch"]]
        summaries = [row for row in summaries if branch_at(path, row["last_turn"]) == row["branch"]]
        trunk = [(0, path[0][1])]
        ways = [{"id": 0, "path": trunk, "used": session["updated"]}]
        for row in (*turns, *summaries):
            row["branch"] = 0
        session["path"] = trunk
    return {
        "format": FORMAT,
        "version": VERSION,
        "session": _build_form_values(SessionForm, session),
        "branches": [_build_form_values(BranchForm, row) for row in ways],
        "turns": [
            _build_form_values(TurnForm, row | {"status": _end_waiting_status(row["status"])}, images) for row in turns
        ],
        "summaries": [_build_form_values(SummaryForm, row) for row in summaries],
        **({"images": shown} if (shown := _build_image_values(turns, images)) else {}),
        **({"world": world} if world else {}),
    }


def _build_image_values(
    turns: Sequence[dict[str, Any]], images: Mapping[str, StoredImage]
) -> dict[str, dict[str, str]]:
    """Returns the images that came with these turns, as ``ImageForm`` by their keys."""
    keys = {key for row in turns for key in list_image_keys(row["files"])}
    return {
        key: {"kind": images[key].kind, "data": base64.b64encode(images[key].data).decode("ascii")}
        for key in sorted(keys & images.keys())
    }


def _prepare_images(made: ConversationForm) -> dict[str, StoredImage]:
    """Returns the images of an imported conversation that its turns name, by the keys that the files of the turns get:
    made anew as the page makes a dropped one. A file whose image is none keeps its name only."""
    from store.turn.image_file import prepare_image  # loads Pillow, which few imports need

    prepared = dict[str, StoredImage | None]()
    for file in (file for turn in made.turns for file in turn.files or ()):
        name = file.pop("image", "")
        if name and name not in prepared:
            try:
                prepared[name] = prepare_image(file["name"], base64.b64decode(made.images[name].data))
            except ImageUnreadable:
                prepared[name] = None
        if (image := prepared.get(name)) is not None:
            file["key"] = build_image_key(image.data)
    return {build_image_key(image.data): image for image in prepared.values() if image is not None}


def _collect_story(connection: Connection, session: Any, path: Path | None) -> dict[str, Any] | None:
    """Returns what the world of a story adds; None for a conversation without one."""
    return collect_world(connection, session.world, session.id, path) if session.world else None


def _say_again(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the messages of a turn of a story, whose row has none."""
    if row["status"] not in ENDED:
        return None
    question = HumanMessage(clean_text(row["question"]), additional_kwargs={"turn": row["number"]})
    return messages_to_dict([question, AIMessage(clean_text(row["answer"] or ""))])


def _end_waiting_status(status: TurnStatus) -> TurnStatus:
    """Returns the status that a file says: what a turn waits for cannot be answered elsewhere, so it counts as cut
    off."""
    return "running" if status == "waiting" else status


def read_conversations(data: bytes, limit: int, count: Count) -> FileConversations:
    """Returns the conversations in a file, all checked.

    Gieok's own files are taken whole or not at all. Of other programs' files what can be read is taken, and the rest is
    named: one odd conversation among thousands is no reason to have none. ``limit``: bytes of the file, and of the
    unpacked content of a ZIP archive; ``count``: counts the tokens of a turn's messages.
    Raises ``FileTooLarge``, ``ConversationTooNew``, ``BadConversation``, the last one also where nothing can be read.
    """
    if len(data) > limit:
        raise FileTooLarge(size=len(data), limit=limit)
    members = unzip_conversations(data, limit) if is_zip_archive(data) else [("", data)]
    has_own = any(FORMAT.encode() in content[:_BEGINNING] for _, content in members)
    found = FileConversations()
    for name, content in members:
        try:
            part = _read_json_conversations(content, count)
        except BadConversation as error:
            if has_own or error.values.get("reason_code") not in _OTHER_FILES:
                raise _name_member(error, name) from error
            part = FileConversations(faults=[error])  # a file of something else, beside those of conversations
        found.conversations.extend(part.conversations)
        found.empty.extend(part.empty)
        found.faults.extend(_name_member(fault, name) for fault in part.faults)
    if found.faults and not found.conversations and not found.empty:
        raise found.faults[0]
    return found


def _name_member(error: BadConversation, name: str) -> BadConversation:
    """Returns an error about a file of an archive with the name of that file."""
    if not name:
        return error
    return BadConversation(**{**error.values, "place": f"{name}: {error.values['place']}", "place_code": ""})


def _read_json_conversations(data: bytes, count: Count) -> FileConversations:
    """Returns the conversations in one JSON text."""
    parsed = _parse_export_json(data)
    if is_program_export(parsed):
        return read_program_chats(parsed, count)
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise _build_file_error(
            "it is no export of Gieok or of another program that is known", "form", "the beginning", "start"
        )
    version = parsed.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ConversationTooNew(found=version, known=VERSION)
    try:
        conversation = ConversationForm.model_validate(parsed)
    except ValidationError as error:
        raise _build_invalid_error(error) from error
    for turn in conversation.turns:
        if turn.usage is None and turn.messages:  # no model answered it here, so it was counted by an import
            turn.tokens = count(cast("list[AnyMessage]", messages_from_dict(turn.messages)))
    return FileConversations([conversation])


def import_conversations(store: Store, data: bytes, limit: int, count: Count) -> ImportedSessions:
    """Imports the sessions of a file: ``read_conversations``, then ``create_imported_sessions``."""
    found = read_conversations(data, limit, count)
    made = create_imported_sessions(store, found.conversations)
    return ImportedSessions(tuple(made), tuple(found.empty), tuple(found.faults))


def create_imported_sessions(store: Store, made: Sequence[ConversationForm]) -> list[str]:
    """Creates a session for each conversation and returns the ids. All sessions appear together, or none."""
    newest_first = sorted(range(len(made)), key=lambda index: -made[index].session.updated)
    # ids that ascend: the list orders sessions of one time by them, so these keep the order that they have in the file
    ids = dict(zip(newest_first, sorted(uuid.uuid4().hex[:16] for _ in made), strict=True))
    images = [
        _prepare_images(conversation) if conversation.images else {} for conversation in made
    ]  # takes long: before anything is locked
    try:
        # one transaction per session, so that no other writer waits long; the sessions stay put away until the end
        for index in newest_first:
            with store.transaction() as connection:
                _write_session(connection, made[index], ids[index], images[index])
        with store.transaction() as connection:
            table = schema.session
            for session_id in ids.values():
                connection.execute(update(table).where(table.c.id == session_id).values(deleted=None))
            record_changes(connection, ids.values(), rebuilt=False)
    except BaseException:
        for session_id in ids.values():
            with suppress(SessionUnknown):  # not written yet
                world_id = store.session(session_id).world
                store.delete_session(session_id)
                if world_id:  # it was made for this story
                    store.worlds.delete(world_id)
        raise
    return [ids[index] for index in range(len(made))]


def _parse_export_json(data: bytes) -> Any:
    try:
        text = data.decode("utf-8-sig").strip()
        if (lines := _split_json_lines(text)) is not None:
            return {"lines": lines}
        parsed = json.loads(text, parse_constant=refuse_json_constant)
        is_line = isinstance(parsed, dict) and is_program_export({"lines": [parsed]})
        return {"lines": [parsed]} if is_line else parsed
    except UnicodeDecodeError as error:
        raise _build_file_error(
            "it is no text in UTF-8", "text", f"byte {error.start:,}", "byte", byte=error.start
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        at = {"line": error.lineno, "column": error.colno}
        raise _build_file_error(f"it is no JSON: {error.msg}", "json", place, "line", detail=error.msg, **at) from error
    except RecursionError as error:
        raise _build_file_error("it is nested too deeply", "deep", "somewhere inside", "inside") from error
    except ValueError as error:
        raise _build_file_error(
            f"it is no JSON: {error}", "json", "somewhere inside", "inside", detail=str(error)
        ) from error


def _split_json_lines(text: str) -> list[Any] | None:
    """Returns the values of a file that has a JSON object in each line; None for a file that is one JSON value. Raises
    ``json.JSONDecodeError`` with the place in the file."""
    first, _, rest = text.partition("\n")
    if not rest or not first.rstrip().endswith("}"):
        return None
    try:
        lines = [json.loads(first, parse_constant=refuse_json_constant)]
    except json.JSONDecodeError:  # the object does not end with its line
        return None
    at = len(text) - len(rest)
    for line in rest.split("\n"):  # JSON lets other ends of lines stand in its texts
        try:
            lines += [json.loads(line, parse_constant=refuse_json_constant)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise json.JSONDecodeError(error.msg, text, at + error.pos) from error
        at += len(line) + 1
    return lines


def _build_file_error(reason: str, reason_code: str, place: str, place_code: str, **values: object) -> BadConversation:
    """Returns an error with its reason and place, also as codes with their values for translation."""
    return BadConversation(reason=reason, reason_code=reason_code, place=place, place_code=place_code, **values)


def _build_invalid_error(error: ValidationError) -> BadConversation:
    """Returns an error about the first invalid value and its place."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the whole file"
    return BadConversation(**explain_validation_problem(first), place=place, place_code="" if first["loc"] else "whole")


def _load_session_rows(
    connection: Connection, table: Table, session_id: str, order: Sequence[str]
) -> list[dict[str, Any]]:
    query = select(table).where(table.c.session_id == session_id).order_by(*(table.c[name] for name in order))
    return [dict(row._mapping) for row in connection.execute(query)]


def _build_form_values(shape: type[BaseModel], row: dict[str, Any], images: Container[str] = ()) -> dict[str, Any]:
    """Returns the row's values in the order of the form, without values that are None. ``images``: the keys of those
    that the export has."""
    values = {name: row[name] for name in shape.model_fields if row[name] is not None}
    if "record" in values:
        values["record"] = {name: value for name, value in values["record"].items() if name != "thread_id"}
    if "files" in values:
        values["files"] = [
            {"name": file["name"], **({"image": file["key"]} if file.get("key") in images else {})}
            for file in values["files"]
        ]
    if "error" in values:
        values["error"] = redact_json_data(
            values["error"]
        )  # rows of earlier versions hold addresses with their secrets
    return {name: format_iso(value) if name in TIMES else value for name, value in values.items()}


def _load_options_values(connection: Connection, session_id: str) -> dict[str, Any] | None:
    """Returns the options in the form of ``OptionsForm``, without default values; None when all are default."""
    current = options.load_options(connection, session_id)
    texts = sorted(
        text for text in options.list_session_prompts(connection, session_id) if text != current.system_prompt
    )
    values = {**asdict(current), "earlier": texts}
    return {name: value for name, value in values.items() if value not in ("", None, [])} or None


def _write_session(connection: Connection, made: ConversationForm, own: str, images: Mapping[str, StoredImage]) -> None:
    """Writes the rows of a session that stays put away until the whole import succeeds."""
    path = made.session.path
    turns = sorted(made.turns, key=lambda form: (form.started, form.branch, form.number))
    reached = [form for form in turns if form.number >= path[0][1]]
    on_path = [form for form in reached if branch_at(path, form.number) == form.branch]
    last = max((form.number for form in on_path), default=0)
    totals = {"turn_count": last, "history_tokens": sum(form.tokens for form in on_path), "revision": 0}
    owner = owner_of_new(connection)
    session = {**_read_form_values(made.session), "id": own, "owner": owner, **totals, "deleted": time.time()}
    options_form: OptionsForm | None = session.pop("options")
    if made.world is not None:
        session["world"] = write_world(connection, made.world)
    connection.execute(insert(schema.session), session)
    if options_form is not None:
        checked = AnswerOptions(
            options_form.system_prompt, options_form.temperature, options_form.answer_tokens
        ).validate_options()
        options.write_options(connection, own, checked, options_form.earlier, is_imported=True)
    write_images(connection, own, images)
    connection.execute(
        insert(schema.branch), [{"session_id": own, **_read_form_values(form)} for form in made.branches]
    )
    lowest = connection.execute(select(func.min(schema.turn.c.id))).scalar()
    first = min(1 if lowest is None else lowest, 1) - len(turns)  # below all other ids: see ``schema.turn``
    rows = [
        {"session_id": own, "id": first + index, **_OUTSIDE, **_read_form_values(form)}
        for index, form in enumerate(turns)
    ]
    connection.execute(insert(schema.turn), rows)
    for branch in dict.fromkeys(form.branch for form in turns):
        ended = [form for form in turns if form.branch == branch and form.status in ENDED]
        put_marks(connection, owner, own, branch, [(form.number, form.question, [form.answer or ""]) for form in ended])
    if made.world is not None:
        paths = [form.path for form in made.branches]
        write_world_turns(connection, made.world, session["world"], own, paths)
    summaries = [_build_summary_values(form, own) for form in made.summaries]
    if summaries:
        connection.execute(insert(schema.summary), summaries)


def _read_form_values(form: BaseModel) -> dict[str, Any]:
    return {name: getattr(form, name) for name in type(form).model_fields}


def _build_summary_values(form: SummaryForm, own: str) -> dict[str, Any]:
    record = {"thread_id": own, **form.record.model_dump()} if form.record else None
    places = {"session_id": own, "first_turn": form.turns[0], "last_turn": form.turns[-1], "is_counted": False}
    return {**_read_form_values(form), **places, "record": record}
