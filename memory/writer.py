"""Writing long-term memory: facts and pins of the profile, changes by hand, and what belongs to a session's row.

Every call is one transaction on the rows and is done when it returns, whether Redis is there or not. Calling it again
has the effect of one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from errors import NothingToUndo, PinsFull
from memory.key import Scope
from memory.line import is_same_line, letters_of
from memory.reader import USER
from memory.row.apart import set_session_apart
from memory.row.profile import ProfileLine, carries_over, make_fact, read_profile, read_profile_rows, write_fact
from memory.row.rows import (
    Head,
    MemoryRows,
    add_line,
    add_version,
    as_line,
    bump_session_revision,
    change_lines,
    change_source,
    match_session,
    read_head,
    read_memory,
    read_newest_version,
)
from memory.state import (
    KEY_CHARS,
    MOST_ENTITIES,
    MOST_PINS,
    PIN_CHARS,
    TEXT_CHARS,
    VALUE_CHARS,
    LineOrigin,
    MemoryLine,
    MemoryState,
    MemoryTurn,
    clean_required_line,
    clean_text_line,
    make_memory_entity,
    same_key,
)
from memory.text import NewLine, match_lines
from memory.view.known import restore_forgotten, take_back_fact
from settings import Settings
from store.database import memory_table as table
from store.database import schema
from store.database.insert import insert_into
from text import sentence
from text.clean import clean_text


class MemoryWriter:
    """Writes the memories of all sessions. Thread-safe; several processes may write at once."""

    def __init__(self, settings: Settings, rows: MemoryRows) -> None:
        self._settings, self._rows = settings, rows
        self._given: dict[Scope, frozenset[str]] = {}

    # --- a turn ---------------------------------------------------------------------------------

    def open_session(self, tenant: str, session: str, *, user: str = USER) -> None:
        """Notes that a session is this user's, so that the user's other conversations find what is said in it."""
        scope = Scope(tenant, session)
        known = select(table.source.c.user).where(*match_session(table.source, scope))
        with self._rows.transaction() as connection:
            if not connection.execute(known).scalar_one_or_none():
                bump_session_revision(connection, scope, user)
                change_source(connection, scope, user=user)

    def remember(
        self,
        tenant: str,
        session: str,
        key: str,
        value: str,
        *,
        turn: int,
        user: str = USER,
        origin: LineOrigin = "user",
    ) -> bool:
        """Keeps a fact in the profile under a key, in place of an older value; returns whether the profile holds it
        then. ``origin``: whose words it is; what others say takes no place of what the user told. Raises ``TooLong``,
        ``Empty``."""
        fact = make_memory_entity(key, value, turn)
        with self._rows.writing(Scope(tenant, session), user) as connection:
            head, known = self._profile(connection, tenant, session)
            said = MemoryTurn(turn, "", "", time.time())
            made = replace(make_fact(head, fact.key, fact.value, said), origin=origin)
            return write_fact(connection, head, known, made)

    def save_given(self, tenant: str, session: str, texts: Mapping[str, str], since: float) -> None:
        """Saves the texts that a prompt gets of this memory, by their marks, so that the prompt can be shown later.

        ``since``: when they were read (Unix seconds). Nothing is saved where something was erased or forgotten since.
        """
        scope = Scope(tenant, session)
        if set(texts) <= self._given.get(scope, frozenset()):
            return
        with self._rows.alone() as connection:
            # an erasure holds this row while it deletes
            lock = select(table.source.c.session).where(*match_session(table.source, scope))
            connection.execute(lock.with_for_update())
            head = read_head(connection, scope)
            newest = select(table.line.c.forgotten_at).where(
                table.line.c.tenant == tenant,
                table.line.c.user == head.user,
                table.line.c.kind == "forgotten",  # every forgetting writes one
                table.line.c.forgotten_at >= since,
            )
            erased = select(table.user.c.erased_at).where(table.user.c.tenant == tenant, table.user.c.user == head.user)
            at = connection.execute(erased).scalar_one_or_none()
            if connection.execute(newest.limit(1)).first() or (at or 0.0) >= since:
                return
            for mark, given in texts.items():
                row = {"scope": scope.tag, "mark": mark, "text": given}
                connection.execute(insert_into(connection, table.given).values(**row).on_conflict_do_nothing())
        self._given = {**(self._given if len(self._given) < 1000 else {}), scope: frozenset(texts)}

    def forget_given(self) -> None:
        """Lets go of what is known to be saved already, after an erasure."""
        self._given = {}

    # --- the panel ------------------------------------------------------------------------------

    def edit(self, tenant: str, session: str, text: str, *, user: str = USER) -> None:
        """Replaces the session's memory by hand, as a version of its own. Raises ``TooLong``."""
        clean_text_line("memory", text, TEXT_CHARS)
        wanted = "\n".join(sentence.split_sentences(clean_text(text)))

        def change(connection: Connection, head: Head, state: MemoryState) -> None:
            found = match_lines(wanted, state.lines, (), by_hand=True)
            if [*found] != [*state.lines]:
                lines = write_new(connection, head, found)
                add_version(connection, head, state, lines, [row.id for row in state.entities], origin="edit")

        self._change(tenant, session, user, change)

    def undo(self, tenant: str, session: str, *, user: str = USER) -> None:
        """Goes back one version: its source turns wait again, and what it had forgotten is back. Raises
        ``NothingToUndo``."""

        def change(connection: Connection, head: Head, state: MemoryState) -> None:
            version = read_newest_version(connection, head)
            if version is None:
                raise NothingToUndo(session=session)
            connection.execute(update(table.version).where(table.version.c.id == version.id).values(undone=True))
            of_it = (table.line.c.tenant == tenant, table.line.c.forgotten_at == version.created)
            if version.origin == "forget":
                connection.execute(delete(table.line).where(*of_it, table.line.c.kind == "forgotten"))
                connection.execute(update(table.line).where(*of_it).values(forgotten_at=None))
            change_source(connection, head.scope, rejection=None)

        self._change(tenant, session, user, change)

    def pin(self, tenant: str, session: str, statement: str, *, turn: int | None = None, user: str = USER) -> None:
        """Pins a statement: it stands in the profile word for word, in this and the user's other conversations.

        ``turn``: the turn that says it; None: a line or turn that does, else no turn. Raises ``TooLong``, ``Empty``,
        ``PinsFull``.
        """
        pinned = clean_required_line("statement", statement, PIN_CHARS)
        with self._rows.writing(Scope(tenant, session), user) as connection:
            head, known = self._profile(connection, tenant, session)
            state = read_memory(connection, head)
            row = next((line.row for line in known if is_same_line(line.row.label, pinned)), None)
            if row is not None and row.pinned:
                return
            if sum(line.row.pinned for line in known) >= MOST_PINS:
                raise PinsFull(limit=MOST_PINS)
            if row is not None:
                change_lines(connection, [row.id], pinned=True)
                return
            fact = make_fact(head, "", pinned, _find_source_turn(state, pinned, turn), pinned=True)
            write_fact(connection, head, (), fact)

    def unpin(self, tenant: str, session: str, statement: str, *, user: str = USER) -> None:
        """Unpins a statement, here and for the user's other conversations; a pin without a key leaves the profile."""
        with self._rows.writing(Scope(tenant, session), user) as connection:
            _, known = self._profile(connection, tenant, session)
            rows = [line.row for line in known if line.row.pinned and is_same_line(line.row.label, statement)]
            change_lines(connection, [row.id for row in rows if row.key], pinned=False)
            for row in rows:
                if not row.key:
                    connection.execute(delete(table.line).where(table.line.c.id == row.id))

    def take_back(self, tenant: str, session: str, line: int, *, user: str = USER) -> bool:
        """Takes a fact back that a turn of this session told (``memory.view.known.take_back_fact``); returns whether it
        was there."""
        with self._rows.writing(Scope(tenant, session), user) as connection:
            return take_back_fact(connection, read_head(connection, Scope(tenant, session)), line)

    def restore_forgotten(self, tenant: str, session: str, at: float, *, user: str = USER) -> bool:
        """Brings back what was forgotten at a moment (``memory.view.known.restore_forgotten``); returns whether there
        was anything."""
        with self._rows.writing(Scope(tenant, session), user) as connection:
            head = read_head(connection, Scope(tenant, session))
            return restore_forgotten(connection, head, at, self._settings.user_memory)

    def reword(self, tenant: str, session: str, line: int, text: str, *, user: str = USER) -> None:
        """Puts the user's own words in place of one line of a session: a fact, a pin, a sentence or a value. It keeps
        its key, its turn and, where it has a key, the value before it. Raises ``TooLong``, ``Empty``."""

        def change(connection: Connection, head: Head, state: MemoryState) -> None:
            found = connection.execute(
                select(table.line).where(table.line.c.id == line, *match_session(table.line, head.scope))
            )
            row = next(map(as_line, found), None)
            carried = carries_over(connection, head, self._settings.user_memory)
            profile = [line.row for line in read_profile(connection, head, carried)]
            if row not in (*profile, *state.lines, *state.entities) or row.text == text.strip():
                return  # gone, or a newer value has taken its place
            limit = VALUE_CHARS if row.key else PIN_CHARS if row.kind == "profile" else TEXT_CHARS
            said = clean_required_line("value" if row.key else "statement", text, limit)
            kind = "sentence" if row.kind == "statement" else row.kind  # the user's words of then are no more
            values: dict[str, object] = {"kind": kind, "branch": row.branch, "turn": row.turn, "at": time.time()}
            values |= {"origin": "user", "key": row.key, "pinned": row.pinned}
            made = add_line(connection, head, **values, text=said)
            if row.key:
                change_lines(connection, [row.id], replaced_by=made)
            elif row.kind == "profile":
                connection.execute(delete(table.line).where(table.line.c.id == row.id))
            groups = [
                [made if each.id == row.id else each.id for each in part] for part in (state.lines, state.entities)
            ]
            if any(made in group for group in groups):
                add_version(connection, head, state, *groups, origin="edit")

        self._change(tenant, session, user, change)

    def put_entity(self, tenant: str, session: str, key: str, value: str, *, turn: int, user: str = USER) -> None:
        """Sets one of the session's entities by hand, as a version of its own. Raises ``TooLong``, ``Empty``."""
        new = make_memory_entity(key, value, turn)

        def change(connection: Connection, head: Head, state: MemoryState) -> None:
            older = [row for row in state.entities if same_key(row.key) == same_key(new.key)]
            if any(row.text == new.value for row in older):
                return
            line = NewLine("entity", new.value, MemoryTurn(turn, "", "", time.time()), "user", new.key)
            [made] = write_new(connection, head, [line])
            change_lines(connection, [row.id for row in older], replaced_by=made)
            entities = [row.id for row in state.entities if row not in older]
            ids = [*entities, made][-MOST_ENTITIES:]
            add_version(connection, head, state, [row.id for row in state.lines], ids, origin="edit")

        self._change(tenant, session, user, change)

    def remove_entity(self, tenant: str, session: str, key: str, *, user: str = USER) -> None:
        """Removes the entity and the fact of this key; a turn may bring it back. Raises ``TooLong``."""
        wanted = same_key(clean_text_line("key", key, KEY_CHARS))

        def change(connection: Connection, head: Head, state: MemoryState) -> None:
            entities = [row.id for row in state.entities if same_key(row.key) != wanted]
            if len(entities) < len(state.entities):
                add_version(connection, head, state, [row.id for row in state.lines], entities, origin="edit")
            carried = carries_over(connection, head, self._settings.user_memory)
            facts = read_profile_rows(connection, head, carried)
            gone = [row.id for row in facts if row.key and same_key(row.key) == wanted]
            connection.execute(delete(table.line).where(table.line.c.id.in_(gone)))
            drop_given(connection, head)

        self._change(tenant, session, user, change)
        self.forget_given()

    # --- what belongs to a session or a user ----------------------------------------------------

    def set_carries(self, tenant: str, on: bool, user: str = USER) -> None:
        """Switches on or off that the user's conversations share what lasts; nothing is lost."""
        with self._rows.transaction() as connection:
            put_user(connection, tenant, user, apart=not on)

    def set_asks_first(self, tenant: str, on: bool, user: str = USER) -> None:
        """Switches on or off that a fold waits for the user's yes before it counts. Off drops what waits: the next fold
        takes its turns in."""
        with self._rows.transaction() as connection:
            put_user(connection, tenant, user, asks_first=on)
            if not on:
                mine = (table.source.c.tenant == tenant, table.source.c.user == user)
                connection.execute(update(table.source).where(*mine).values(proposal=None))

    def keep_apart(self, tenant: str, session: str, *, user: str = USER) -> None:
        """Keeps a session apart (``memory.row.apart``)."""
        set_session_apart(self._rows, tenant, session, user)

    def note_deletion(
        self, tenant: str, session: str, forget: bool | None, *, user: str = USER
    ) -> Callable[[Connection], None]:
        """Returns the function that writes within the transaction of a deletion.

        ``forget``: whether what this session told leaves the profile until the conversation is restored; None: it is
        being restored.
        """
        scope = Scope(tenant, session)

        def write(connection: Connection) -> None:
            bump_session_revision(connection, scope, user)
            change_source(connection, scope, stays=None if forget is None else not forget)
            if forget is False:  # the path goes with the conversation: what is not on it now never comes back
                head = read_head(connection, scope)
                rows = select(table.line).where(*match_session(table.line, scope), table.line.c.kind == "profile")
                gone = [row.id for row in connection.execute(rows) if not head.has(row.branch, row.turn)]
                connection.execute(delete(table.line).where(table.line.c.id.in_(gone)))

        return write

    def copy_session(self, tenant: str, session: str, made: str, *, user: str = USER) -> None:
        """Gives the new session ``made``, a copy of the first turns of ``session``, a copy of what these turns
        told."""
        scope, copy = Scope(tenant, session), Scope(tenant, made)
        with self._rows.writing(copy, user) as connection:
            head = read_head(connection, scope)
            counted = select(schema.session.c.turn_count).where(schema.session.c.id == made)
            last = connection.execute(counted).scalar_one()
            own = {"apart": head.apart, "skipped": min(head.skipped, last), "erased_at": head.erased_at or None}
            change_source(connection, copy, **own)
            carried = carries_over(connection, head, self._settings.user_memory)
            ids = _copy_lines(connection, head, copy, last, carried)
            _copy_versions(connection, head, copy, last, ids)
            given = select(table.given).where(table.given.c.scope == scope.tag)
            rows = [{**row._mapping, "scope": copy.tag} for row in connection.execute(given)]
            if rows:
                connection.execute(insert(table.given), rows)

    # --- internal -------------------------------------------------------------------------------

    def _profile(self, connection: Connection, tenant: str, session: str) -> tuple[Head, list[ProfileLine]]:
        head = read_head(connection, Scope(tenant, session))
        return head, read_profile(connection, head, carries_over(connection, head, self._settings.user_memory))

    def _change(
        self, tenant: str, session: str, user: str, change: Callable[[Connection, Head, MemoryState], None]
    ) -> None:
        with self._rows.writing(Scope(tenant, session), user) as connection:
            head = read_head(connection, Scope(tenant, session))
            change(connection, head, read_memory(connection, head))


def write_new(connection: Connection, head: Head, found: list[MemoryLine | NewLine]) -> list[int]:
    """Writes those lines that are new; returns the ids of all of them, in order."""
    ids = list[int]()
    for line in found:
        if isinstance(line, MemoryLine):
            ids.append(line.id)
            continue
        turn = line.turn or MemoryTurn(0, "", "", time.time())
        values = {"kind": line.kind, "turn": turn.number, "at": turn.at or time.time(), "origin": line.origin}
        ids.append(add_line(connection, head, **values, key=line.key, text=line.text))
    return ids


def put_user(connection: Connection, tenant: str, user: str, **values: object) -> None:
    """Writes the row of a user."""
    row = {"tenant": tenant, "user": user, "apart": False, **values}
    statement = insert_into(connection, table.user).values(**row)
    connection.execute(statement.on_conflict_do_update(index_elements=["tenant", "user"], set_=values))


def drop_given(connection: Connection, head: Head) -> None:
    """Deletes the texts that prompts received of the memories of a session's user, after something was forgotten, so
    that past prompts no longer show it."""
    of_user = select(table.source.c.session).where(
        table.source.c.tenant == head.scope.tenant, table.source.c.user == head.user
    )
    tags = [Scope(head.scope.tenant, name).tag for name in connection.execute(of_user).scalars()]
    connection.execute(delete(table.given).where(table.given.c.scope.in_({*tags, head.scope.tag})))


def _find_source_turn(state: MemoryState, statement: str, turn: int | None) -> MemoryTurn:
    """Returns the turn in which a statement was said: the given one, else that of a line or a turn that says the same,
    else turn 0, for it was written by hand."""
    if turn is not None:
        return MemoryTurn(turn, "", "", time.time())
    row = next((row for row in state.lines if is_same_line(row.text, statement)), None)
    if row is not None:
        return MemoryTurn(row.turn, "", "", row.at, row.branch)
    holding = [said for said in state.short if letters_of(statement) in letters_of(said.question)]
    return MemoryTurn(holding[-1].number if holding else 0, "", "", time.time())


def _copy_lines(connection: Connection, head: Head, copy: Scope, last: int, carried: bool) -> dict[int, int]:
    """Copies the lines of a session's path up to turn ``last`` to its copy, whose turns all lie in the trunk, and all
    that was forgotten; returns new ids by old. ``carried``: whether the copy sees the profile anyway."""
    ids, replaced = dict[int, int](), dict[int, int]()
    query = select(table.line).where(*match_session(table.line, head.scope))
    path = read_head(connection, copy)
    names = ("kind", "turn", "at", "origin", "key", "text", "pinned", "forgotten_at", "imported")
    for row in connection.execute(query.order_by(table.line.c.id)).all():
        is_there = row.turn <= last and head.has(row.branch, row.turn)
        if row.kind == "forgotten" or (is_there and (row.kind != "profile" or not carried)):
            values = {name: row._mapping[name] for name in names}
            ids[row.id] = add_line(connection, path, branch=0, **values)
            older = row._mapping["replaced_by"]
            replaced |= {row.id: older} if older else {}
    for old, newer in replaced.items():
        if newer in ids:
            change_lines(connection, [ids[old]], replaced_by=ids[newer])
    return ids


def _copy_versions(connection: Connection, head: Head, copy: Scope, last: int, ids: Mapping[int, int]) -> None:
    query = select(table.version).where(*match_session(table.version, head.scope))
    for row in connection.execute(query.order_by(table.version.c.id)).all():
        if not row.undone and row.turn <= last and head.has(row.branch, row.turn):
            values = {name: value for name, value in row._mapping.items() if name != "id"}
            values |= {"session": copy.session, "branch": 0}
            for name in ("lines", "entities"):
                values[name] = [ids[each] for each in values[name] if each in ids]
            connection.execute(insert(table.version), values)
