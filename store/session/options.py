"""Options of one conversation's answers (its own system prompt, temperature, longest answer), and named presets of
them.

A conversation's own system prompt is the user's text, unless it came out of a file (``has_imported_prompt``). The store
keeps every system prompt that a conversation has had, so that an earlier answer can show its prompt. Deleting the
conversation for good deletes these texts too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from errors import Empty, OutOfRange, PresetTaken, PresetUnknown, TooLong
from store.database import schema
from store.owner import build_owner_condition, check_session, check_session_owner, owner_of_new
from store.turn.wording import build_text_mark
from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes

PROMPT_CHARS = 20_000
SYSTEM_CHARS = 10 * PROMPT_CHARS
"""Characters of the longest system text of a client: cards of characters, with their worlds and examples, are long."""
TEMPERATURES = (0.0, 2.0)
ANSWER_TOKENS = (16, 1_000_000)
NAME_CHARS = 60

Transaction = Callable[[], AbstractContextManager[Connection]]
_OWN, _SENT, _PRESET = schema.session_options, schema.session_prompt, schema.preset
_TOUCHED = (
    update(schema.session).where(schema.session.c.id == bindparam("session")).values(revision=schema.session.c.revision)
)
"""Changes nothing, and makes SQLite begin a transaction that writes before the options are read."""


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Options of a conversation's answers. ``system_prompt`` replaces Gieok's own role and tone; empty keeps them.
    ``temperature`` and ``answer_tokens`` (the longest answer) leave the choice to the model's settings when None.
    """

    system_prompt: str = ""
    temperature: float | None = None
    answer_tokens: int | None = None

    def validate_options(self) -> AnswerOptions:
        """Returns the options cleaned for storing and sending.

        Raises ``TooLong``, ``OutOfRange``.
        """
        prompt = clean_text(self.system_prompt).strip()
        if len(prompt) > PROMPT_CHARS:
            raise TooLong(what="system prompt", size=len(prompt), limit=PROMPT_CHARS)
        low, high = TEMPERATURES
        if self.temperature is not None and not low <= self.temperature <= high:
            raise OutOfRange(what="temperature", value=self.temperature, low=low, high=high)
        least, most = ANSWER_TOKENS
        if self.answer_tokens is not None and not least <= self.answer_tokens <= most:
            raise OutOfRange(what="longest answer", value=self.answer_tokens, low=least, high=most)
        return AnswerOptions(prompt, self.temperature, self.answer_tokens)


DEFAULT = AnswerOptions()


class SessionOptions:
    """The options of all conversations; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def of(self, session_id: str) -> AnswerOptions:
        """Returns the options of a conversation; the default options when none were set. Raises ``SessionUnknown``."""
        with self._transaction() as connection:
            check_session(connection, session_id)
            return load_options(connection, session_id)

    def set(self, session_id: str, options: AnswerOptions) -> AnswerOptions:
        """Stores the options that apply from the next answer on; returns them as stored. Raises ``SessionUnknown`` and
        the errors of ``Options.validate_options``.
        """
        options = options.validate_options()
        with self._transaction() as connection:
            _lock_session(connection, session_id)
            write_options(connection, session_id, options, is_imported=has_imported_prompt(connection, session_id))
        return options

    def change(self, session_id: str, seen: AnswerOptions, wanted: AnswerOptions) -> AnswerOptions:
        """Stores what ``wanted`` changes against ``seen``, which may be older than what is stored: what was not changed
        stays as it is. Returns the options as stored. Raises as ``set`` does."""
        wanted = wanted.validate_options()
        changes = {name: value for name, value in asdict(wanted).items() if value != getattr(seen, name)}
        with self._transaction() as connection:
            _lock_session(connection, session_id)
            connection.execute(_TOUCHED, {"session": session_id})
            options = replace(load_options(connection, session_id), **changes)
            write_options(connection, session_id, options, is_imported=has_imported_prompt(connection, session_id))
        return options

    def prompt(self, session_id: str, mark: str) -> str | None:
        """Returns a system prompt, or a client's system text, that this conversation has had at some time, by its
        mark. Raises ``SessionUnknown``.
        """
        query = select(_SENT.c.text).where(_SENT.c.session_id == session_id, _SENT.c.mark == mark)
        with self._transaction() as connection:
            check_session(connection, session_id)
            return connection.execute(query).scalar_one_or_none()


def _lock_session(connection: Connection, session_id: str) -> None:
    """Lets nobody else write the session until the transaction ends. Raises ``SessionUnknown``."""
    locked = select(schema.session.c.owner).where(schema.session.c.id == session_id).with_for_update()
    check_session_owner(connection, session_id, connection.execute(locked).scalar_one_or_none())


def load_options(connection: Connection, session_id: str) -> AnswerOptions:
    """Returns the options of a conversation; the default options when none are stored."""
    row = connection.execute(select(_OWN).where(_OWN.c.session_id == session_id)).one_or_none()
    return DEFAULT if row is None else _build_options(row)


def has_imported_prompt(connection: Connection, session_id: str) -> bool:
    """Returns whether the conversation's own system prompt, or one that the user has changed since, came out of a file:
    then it is text of others (``store.turn.foreign``). An empty one ends that."""
    query = select(_OWN.c.is_imported).where(_OWN.c.session_id == session_id)
    return bool(connection.execute(query).scalar_one_or_none())


def write_options(
    connection: Connection,
    session_id: str,
    options: AnswerOptions,
    earlier: Iterable[str] = (),
    is_imported: bool = False,
) -> None:
    """Writes the options of a conversation. ``earlier``: system prompts that the conversation had before;
    ``is_imported``: a system prompt comes out of a file."""
    connection.execute(delete(_OWN).where(_OWN.c.session_id == session_id))
    if options != DEFAULT:
        mark = is_imported and bool(options.system_prompt)
        connection.execute(insert(_OWN), {"session_id": session_id, **asdict(options), "is_imported": mark})
    keep_prompts(connection, session_id, (*earlier, options.system_prompt))


def keep_prompts(connection: Connection, session_id: str, prompts: Iterable[str]) -> None:
    """Keeps system prompts and the client's system texts of a conversation under their marks."""
    known = set(connection.execute(select(_SENT.c.mark).where(_SENT.c.session_id == session_id)).scalars())
    texts = {build_text_mark(text): text for text in prompts if text}
    rows = [{"session_id": session_id, "mark": key, "text": text} for key, text in texts.items() if key not in known]
    if rows:
        connection.execute(insert(_SENT), rows)


def list_session_prompts(connection: Connection, session_id: str) -> list[str]:
    """Returns every system prompt of its own that a conversation has had, and every system text of its client."""
    return list(connection.execute(select(_SENT.c.text).where(_SENT.c.session_id == session_id)).scalars())


def copy_options(connection: Connection, session_id: str, to: str) -> None:
    """Gives the new conversation ``to`` the options of another conversation."""
    earlier, is_imported = list_session_prompts(connection, session_id), has_imported_prompt(connection, session_id)
    write_options(connection, to, load_options(connection, session_id), earlier, is_imported)


class Presets:
    """Named options of a user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def all(self) -> dict[str, AnswerOptions]:
        """Returns every preset by its name, sorted by name."""
        with self._transaction() as connection:
            rows = connection.execute(select(_PRESET).where(build_owner_condition(connection, _PRESET.c.owner))).all()
        return {row.name: _build_options(row) for row in sorted(rows, key=lambda row: str(row.name).casefold())}

    def save(self, name: str, options: AnswerOptions) -> str:
        """Stores options under a name and replaces a preset of the same name; returns the name as stored.

        Raises ``Empty`` and the errors of ``Options.validate_options``.
        """
        name, options = _clean_preset_name(name), options.validate_options()
        with self._transaction() as connection:
            changed = connection.execute(
                update(_PRESET).where(*_build_preset_condition(connection, name)).values(**asdict(options))
            )
            if not changed.rowcount:
                _write_preset(connection, name, options)
        return name

    def rename(self, name: str, to: str) -> str:
        """Gives a preset another name; returns the name as stored.

        Raises ``Empty``, ``PresetTaken``, ``PresetUnknown``.
        """
        to = _clean_preset_name(to)
        with self._transaction() as connection:
            if (
                to != name
                and connection.execute(select(_PRESET.c.name).where(*_build_preset_condition(connection, to))).first()
            ):
                raise PresetTaken(name=to)
            changed = connection.execute(
                update(_PRESET).where(*_build_preset_condition(connection, name)).values(name=to)
            )
            if not changed.rowcount:
                raise PresetUnknown(name=name)
        return to

    def delete(self, name: str) -> None:
        """Deletes a preset; conversations that use the preset keep their options."""
        with self._transaction() as connection:
            connection.execute(delete(_PRESET).where(*_build_preset_condition(connection, name)))


def _build_preset_condition(connection: Connection, name: str) -> tuple[ColumnElement[bool], ...]:
    return _PRESET.c.name == name, build_owner_condition(connection, _PRESET.c.owner)


def _write_preset(connection: Connection, name: str, options: AnswerOptions) -> None:
    try:
        with connection.begin_nested():
            row = {"owner": owner_of_new(connection), "name": name, **asdict(options)}
            connection.execute(insert(_PRESET), row)
    except IntegrityError:  # another process was first
        connection.execute(update(_PRESET).where(*_build_preset_condition(connection, name)).values(**asdict(options)))


def _clean_preset_name(name: str) -> str:
    name = cut_graphemes(collapse_spaces(clean_text(name)), NAME_CHARS)
    if not name:
        raise Empty(what="preset's name")
    return name


def _build_options(row: Any) -> AnswerOptions:
    return AnswerOptions(row.system_prompt, row.temperature, row.answer_tokens)
