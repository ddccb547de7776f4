"""The record of all conversations: sessions and the full transcript. Rows are mostly appended.

The question's row is written before the graph runs, the answer's row before the state is trimmed. A crash may repeat a
write (rows are keyed by session and turn) but never loses one (design 3.3). The summary ledger is
``store.turn.ledger``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    TextClause,
    and_,
    bindparam,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from errors import OutOfRange, SessionUnknown, StoreUnavailable, TooLong, TurnUnknown, redact_json_data
from store.database import schema
from store.database.engine import connect_database, translate_database_errors, where_is
from store.owner import (
    ANY_KEY,
    EVERYONE,
    ME,
    bind_engine,
    build_owner_condition,
    check_session,
    check_session_owner,
    key_of,
    owner_of_new,
)
from store.path import TRUNK, branch_at, on_path, parse_path
from store.record import Finished, Rewriting, Session, TurnRow, TurnStatus
from store.search.text_search import TextHit, search_texts
from store.search.turn_index import TurnIndex, delete_outdated_row
from store.search.turn_index_change import record_change
from store.session.folder import Folders
from store.session.history import ENDED, Histories, drop_marks, put_marks
from store.session.opening import (
    ON_ITS_BRANCHES,
    Opening,
    TurnPlace,
    as_session,
    find_file_kinds,
    read_opening,
    read_place,
)
from store.session.options import DEFAULT, AnswerOptions, Presets, SessionOptions, keep_prompts, write_options
from store.session.removal import remove_session, remove_turn_node
from store.session.title import TITLE_CHARS, first_line
from store.session.undelivered import UndeliveredSessions
from store.task.push import Pushes
from store.task.task import TaskTable
from store.tree import Tree
from store.turn.attachment import Attachments, assign_message_files
from store.turn.begun_call import BegunCalls
from store.turn.foreign import HAS_FOREIGN, insert_turn
from store.turn.image import Images
from store.turn.ledger import Ledger, path_of
from store.turn.outbox import Outbox, delete_sent_message
from store.turn.partial import Partials, delete_partial_text
from store.turn.stop import Stops
from store.turn.wording import Wordings
from store.user.api_key import ApiKeys
from store.user.approval import Approvals
from store.user.secret import Secrets
from store.user.usage import Usages
from store.user.user_setting import UserSettings
from store.world.worlds import Worlds
from text.clean import clean_text
from text.cut import cut_graphemes
from text.language import Language

LOWEST_RATE, HIGHEST_RATE = 0.1, 0.5

# The statements of every turn are built once: SQLAlchemy takes as long to build a statement as SQLite to run it.
_HERE = schema.session.c.id == bindparam("session")
_TURN = and_(
    schema.turn.c.session_id == bindparam("session"),
    schema.turn.c.branch == bindparam("in_branch"),
    schema.turn.c.number == bindparam("turn"),
)
_SESSION = select(schema.session).where(_HERE)
_BETWEEN = (
    select(schema.turn, schema.session.c.path, schema.session.c.owner)
    .select_from(
        schema.session.outerjoin(
            schema.turn, and_(ON_ITS_BRANCHES, schema.turn.c.number.between(bindparam("first"), bindparam("last")))
        )
    )
    .where(_HERE)
    .order_by(schema.turn.c.number)
)
_STATUS = select(schema.session.c.owner, schema.turn.c.status).outerjoin(schema.turn, _TURN).where(_HERE)


def _has_row(of: Table, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Returns whether a session has such a row in another table. It is named by the parameter ``session``: SQLite finds
    no column of the changed row in a query within ``RETURNING``."""
    return select(literal(1)).select_from(of).where(of.c.session_id == bindparam("session"), *conditions).exists()


_WAITS = or_(
    _has_row(schema.outbox),
    _has_row(schema.attachment, schema.attachment.c.message.is_not(None)),
).label("waits")
"""Whether a message or a file of the session waits for a turn: most turns of programs need no look at either."""
_COUNTED = (
    update(schema.session)
    .where(_HERE)
    .values(turn_count=schema.session.c.turn_count + 1, updated=bindparam("now"))
    .returning(
        *(schema.session.c[name] for name in ("turn_count", "path", "title", "owner")),
        _WAITS,
    )
)
_GROWN = (
    update(schema.session)
    .where(_HERE)
    .values(
        updated=bindparam("now"),
        history_tokens=schema.session.c.history_tokens
        + bindparam("added", type_=schema.turn.c.tokens.type)
        - func.coalesce(select(schema.turn.c.tokens).where(_TURN).scalar_subquery(), 0),
    )
    .returning(_has_row(schema.partial).label("has_partial"))
)
_ENDED = update(schema.turn).where(_TURN)
_MARKED = update(schema.turn).where(_TURN).values(has_foreign=True)
_ONE_FOREIGN = select(HAS_FOREIGN).where(_TURN)
_ENTITLED = update(schema.session).where(_HERE).values(title=bindparam("first_words"))


class Store:
    """Sessions and turns in one database; ``ledger`` holds summaries, ``tree`` branches, ``wordings`` system prompts.

    ``folders``: named groups of sessions; ``outbox``: messages that are not turns yet; ``partials``: the text of
    running answers; ``stops``: requests to stop one; ``attachments``: files of conversations; ``options``: options of a
    conversation's answers; ``presets``: named options; ``approvals``: foreign tools that the user has allowed;
    ``user_settings``: the user's own settings; ``usages``: what model calls took;
    ``turn_index``: what a search in past turns reads; ``histories``: conversations that hold what a client tells;
    ``undelivered``: those whose first answer has not reached its client; ``worlds``: story worlds; ``tasks``,
    ``pushes``: tasks of other agents, and whom to tell of them.

    A store is a user's: it knows no session, folder or preset of another user (``store.owner``). The methods mean the
    turns of the session's path. Thread-safe; several processes may share one database.
    """

    def __init__(self, url: str, user: str = ME) -> None:
        self._whole, self._indexed = connect_database(url)
        self._bind(user)

    def of(self, user: str) -> Store:
        """Returns the store of another user, on the same connections; closing one closes both. Raises ``TooLong``."""
        if len(user) > schema.OWNER_CHARS:
            raise TooLong(what="user", size=len(user), limit=schema.OWNER_CHARS)
        return self._of(user)

    def narrow(self, key: str) -> Store:
        """Returns the store of the same user that knows no session, task or world but those made with this key."""
        return self._of(self._user, key)

    @property
    def everyone(self) -> Store:
        """Returns the store of all users, for maintenance only: sweeps, and work on a session that is already known."""
        return self._of(EVERYONE)

    @property
    def user(self) -> str | None:
        """Returns whose store this is; ``EVERYONE`` for the store of all users."""
        return self._user

    @property
    def key(self) -> str:
        """Returns the id of the key that the store is narrowed to; ``ANY_KEY`` for none."""
        return self._key

    def _of(self, user: str | None, key: str = ANY_KEY) -> Store:
        other = Store.__new__(type(self))
        other._whole, other._indexed = self._whole, self._indexed
        other._bind(user, key)
        return other

    def _bind(self, user: str | None, key: str = ANY_KEY) -> None:
        self._user, self._key, self._engine = user, key, bind_engine(self._whole, user, key)
        self._where = where_is(self._whole.url)
        self.ledger = Ledger(self.transaction)
        self.tree = Tree(self.transaction)
        self.folders = Folders(self.transaction)
        self.wordings = Wordings(self.transaction)
        self.outbox = Outbox(self.transaction)
        self.partials = Partials(self.transaction)
        self.stops = Stops(self.transaction)
        self.begun_calls = BegunCalls(self.transaction)
        self.attachments = Attachments(self.transaction)
        self.images = Images(self.transaction)
        self.options = SessionOptions(self.transaction)
        self.presets = Presets(self.transaction)
        self.approvals = Approvals(self.transaction)
        self.user_settings = UserSettings(self.transaction)
        self.usages = Usages(self.transaction)
        self.turn_index = TurnIndex(self.transaction, self._whole, self._user)
        self.histories = Histories(self.transaction)
        self.api_keys = ApiKeys(self.transaction)
        self.secrets = Secrets(self.transaction)
        self.worlds = Worlds(self.transaction)
        self.undelivered = UndeliveredSessions(self.transaction)
        self.tasks = TaskTable(self.transaction)
        self.pushes = Pushes(self.transaction)

    @property
    def engine(self) -> Engine:
        """Returns the SQLAlchemy engine, for locks and further tables; its connections are no user's."""
        return self._whole

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Opens a transaction; turns database failures into Gieok's own errors."""
        with translate_database_errors(self._where), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self._whole.dispose()

    # --- sessions -------------------------------------------------------------------------------

    def create_session(
        self,
        language: Language,
        compression_rate: float,
        session_id: str | None = None,
        options: AnswerOptions = DEFAULT,
        alias: str = "",
    ) -> Session:
        """Creates an empty session of the store's user.

        ``alias``: the name that a client gives it. When the user has a session of that name already, because another
        process was first, this one is returned. Raises ``OutOfRange`` for a rate outside 0.1 to 0.5, ``TooLong``, and
        the errors of ``Options.validate_options``.
        """
        if len(alias) > schema.ALIAS_CHARS:
            raise TooLong(what="session's name", size=len(alias), limit=schema.ALIAS_CHARS)
        now, options = time.time(), options.validate_options()
        row = {
            "id": session_id or uuid.uuid4().hex[:16],
            "title": "",
            "titled": "auto",
            "language": language,
            "compression_rate": checked_rate(compression_rate),
            "path": TRUNK,
            "turn_count": 0,
            "history_tokens": 0,
            "created": now,
            "updated": now,
            "pinned": False,
            "deleted": None,
            "revision": 0,
            "collections": None,
            "model": None,
            "folder": "",
            "alias": alias,
            "client_system": "",
        }
        try:
            with self.transaction() as connection:
                row["owner"] = owner_of_new(connection)
                connection.execute(insert(schema.session), row | {"api_key": key_of(connection)})
                branch = {"session_id": row["id"], "id": 0, "path": TRUNK, "used": now}
                connection.execute(insert(schema.branch), branch)
                if options != DEFAULT:
                    write_options(connection, str(row["id"]), options)
        except StoreUnavailable as error:
            known = self.find_session(alias) if isinstance(error.__cause__, IntegrityError) else None
            if known is None:
                raise
            return known
        return Session(**row)  # type: ignore[arg-type]

    def session(self, session_id: str) -> Session:
        """Returns the session. Raises ``SessionUnknown``."""
        with self.transaction() as connection:
            row = connection.execute(_SESSION, {"session": session_id}).one_or_none()
            check_session_owner(connection, session_id, row.owner if row else None)
        return as_session(row)

    def find_session(self, name: str) -> Session | None:
        """Returns the user's session with this id or, if there is none, with this alias; None without either. The
        aliases that a narrowed key gave are known to that key alone."""
        table = schema.session
        with self.transaction() as connection:
            owner = build_owner_condition(connection, table.c.owner)
            alias = and_(schema.NAMED, table.c.alias == name, table.c.api_key == key_of(connection))
            for named in (table.c.id == name, alias):
                row = connection.execute(select(table).where(named, owner)).first() if name else None
                if row is not None:
                    return as_session(row)
        return None

    def sessions(self, limit: int = 50, offset: int = 0, folder: str | None = None) -> list[Session]:
        """Returns sessions with a turn or a waiting message: pinned sessions first, then by last use, newest first.

        ``folder``: only sessions in this folder; empty for sessions in no folder; None for all sessions.
        """
        with self.transaction() as connection:
            waiting = [session for session in _not_begun(connection) if folder in (None, session.folder)]
            if not waiting:
                return _list_sessions(connection, limit, offset, folder)
            listed = _list_sessions(connection, limit + offset, 0, folder)
        # a session may be in both, because its first turn may begin between the two queries
        both = {session.id: session for session in (*waiting, *listed)}
        return sorted(both.values(), key=lambda session: (not session.pinned, -session.updated, session.id))[
            offset : offset + limit
        ]

    def set_rate(self, session_id: str, rate: float) -> None:
        """Sets the compression rate of the next summaries (specification 3.3)."""
        self._change(session_id, compression_rate=checked_rate(rate))

    def set_language(self, session_id: str, language: Language) -> None:
        """Sets the language of the session's prompts."""
        self._change(session_id, language=language)

    def set_rewriting(self, session_id: str, choice: Rewriting) -> None:
        """Sets whether the model is to write the summaries that code extracted."""
        self._change(session_id, rewriting=choice)

    def set_remembers(self, session_id: str, remembers: bool) -> None:
        """Sets whether a story has a memory and summaries of its own, from its next turn on."""
        self._change(session_id, remembers=remembers)

    def set_client_system(self, session_id: str, text: str) -> None:
        """Sets the client's own system text of the session; empty for none. Every text that the session has had is
        kept, so that an earlier answer can show its prompt.
        """
        with self.transaction() as connection:
            _update_session(connection, session_id, client_system=text)
            keep_prompts(connection, session_id, [text])

    def set_collections(self, session_id: str, collections: Sequence[str] | None) -> None:
        """Sets the collections of documents that the session's questions are looked up in; None for all."""
        self._change(session_id, collections=None if collections is None else list(collections))

    def set_model(self, session_id: str, model: Mapping[str, str] | None) -> None:
        """Sets the model that answers in the session (``store.record.Session``); None for the installation's."""
        self._change(session_id, model=None if model is None else dict(model))

    def search(self, query: str, limit: int = 50, within: str | None = None) -> list[TextHit]:
        """Returns the places where titles and turns hold all words of the query, newest first (``store.search``)."""
        with self.transaction() as connection:
            return search_texts(connection, query, limit, within, self._indexed)

    def rename_session(self, session_id: str, title: str) -> None:
        """Sets the user's own title, which nothing else replaces. An empty title restores the automatic title: the
        first question, until the model makes another title.
        """
        user_title = cut_graphemes(clean_text(title).strip(), TITLE_CHARS)
        first = None if user_title else self.turn(session_id, 1)
        automatic = first_line(first.question) if first else ""
        self._change(session_id, title=user_title or automatic, titled="user" if user_title else "auto")

    def set_model_title(self, session_id: str, title: str) -> bool:
        """Sets a title that a model made. Returns False when the user has set a title, which then stays."""
        table = schema.session
        untitled = (table.c.id == session_id, table.c.titled != "user")
        with self.transaction() as connection:
            check_session(connection, session_id)
            change = update(table).where(*untitled).values(title=cut_graphemes(title, TITLE_CHARS), titled="model")
            changed = connection.execute(change)
        return changed.rowcount > 0

    def pin_session(self, session_id: str, pinned: bool) -> None:
        self._change(session_id, pinned=pinned)

    def put_away(
        self, session_id: str, away: bool = True, beside: Callable[[Connection], object] = lambda _: None
    ) -> None:
        """Takes the session off the list, or brings the session back; removes nothing. ``beside`` writes further rows
        in the same transaction.
        """
        with self.transaction() as connection:
            _update_session(connection, session_id, deleted=time.time() if away else None)
            beside(connection)
            record_change(connection, session_id, rebuilt=False)

    def put_away_sessions(self, limit: int = 100) -> list[Session]:
        """Returns sessions that were put away and can be brought back, the last one first."""
        table = schema.session
        with self.transaction() as connection:
            query = select(table).where(schema.PUT_AWAY, build_owner_condition(connection, table.c.owner))
            query = query.order_by(table.c.deleted.desc()).limit(limit)
            return [as_session(row) for row in connection.execute(query)]

    def put_away_before(self, moment: float) -> list[str]:
        """Returns the ids of sessions that were put away before ``moment`` (Unix seconds); ``delete_session`` may
        remove these for good.
        """
        table = schema.session
        with self.transaction() as connection:
            query = select(table.c.id).where(
                schema.PUT_AWAY, table.c.deleted < moment, build_owner_condition(connection, table.c.owner)
            )
            return list(connection.execute(query).scalars())

    def last_used(self) -> float:
        """Returns when any session was used last (Unix seconds; 0 without sessions)."""
        with self.transaction() as connection:
            query = select(func.max(schema.session.c.updated)).where(
                build_owner_condition(connection, schema.session.c.owner)
            )
            return float(connection.execute(query).scalar() or 0.0)

    def delete_session(self, session_id: str) -> None:
        """Removes the session for good, with its turns, branches and summaries. Raises ``SessionUnknown``."""
        table = schema.session
        with self.transaction() as connection:
            # an update that changes nothing takes the lock first
            own = (table.c.id == session_id, build_owner_condition(connection, table.c.owner))
            if not connection.execute(update(table).where(*own).values(revision=table.c.revision)).rowcount:
                raise SessionUnknown(session=session_id)
            remove_session(connection, session_id)

    def mark_state_outdated(self, session_id: str) -> None:
        """Notes that the record has changed but the state has not: the next turn first makes the state anew."""
        self._change(session_id, revision=schema.session.c.revision + 1)

    # --- turns ----------------------------------------------------------------------------------

    def open_turn(self, session_id: str) -> Opening:
        """Returns the session as its next turn finds it, in one statement. Raises ``SessionUnknown``."""
        with self.transaction() as connection:
            return read_opening(connection, session_id)

    def find_place(self, session_id: str, number: int) -> TurnPlace | None:
        """Returns where the row of a turn lies, or None. Raises ``SessionUnknown``."""
        with self.transaction() as connection:
            return read_place(connection, session_id, number)

    def begin_turn(
        self, session_id: str, question: str, at: float | None = None, last: TurnPlace | None = None
    ) -> TurnPlace:
        """Counts the turn and stores its question, in one transaction; returns where its row lies.
        ``at``: when the user sent it (Unix seconds); None: now. ``last``: the turn before it, if the caller knows.

        Raises ``SessionUnknown``.
        """
        now = time.time() if at is None else at
        with self.transaction() as connection:
            counters = connection.execute(_COUNTED, {"session": session_id, "now": now}).one_or_none()
            if counters is None:
                raise SessionUnknown(session=session_id)
            number, path, title, owner, waits = counters
            check_session_owner(connection, session_id, owner)
            branch = branch_at(parse_path(path), number)
            files = (
                assign_message_files(connection, session_id, delete_sent_message(connection, session_id, question))
                if waits
                else []
            )
            row = {"session_id": session_id, "branch": branch, "number": number, "question": question}
            row |= {"status": "running", "started": now, "files": files or None}
            is_follower = last is not None and last.has_foreign and (last.branch, last.number) == (branch, number - 1)
            has_foreign = insert_turn(connection, parse_path(path), row, is_follower)
            if not title:
                connection.execute(_ENTITLED, {"session": session_id, "first_words": first_line(question)})
        documents, images = find_file_kinds(files)
        return TurnPlace(session_id, owner, branch, int(number), question, "running", documents, has_foreign, images)

    def restart_turn(self, session_id: str, number: int, at: float | None = None) -> None:
        """Marks a failed or cut-off turn as running again. ``at``: since when (Unix seconds); None: now."""
        now = time.time() if at is None else at
        cleared = dict.fromkeys(("error", "answer", "finished", "questions", "reasoning"))
        values = {"status": "running", "started": now, **cleared}
        with self.transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            delete_partial_text(connection, session_id)
            delete_outdated_row(connection, session_id, branch, number)
            remove_turn_node(connection, session_id, branch, number)
            key = {"session": session_id, "in_branch": branch, "turn": number}
            connection.execute(update(schema.turn).where(_TURN).values(**values), key)
            drop_marks(connection, session_id, branch, number)

    def finish_turn(
        self, session_id: str, number: int, end: Finished, at: float | None = None, place: TurnPlace | None = None
    ) -> None:
        """Writes how the turn ended, and ``at`` which moment (Unix seconds; None: now). ``place``: where its row lies,
        if the caller knows. Repeating the call changes nothing."""
        values = {name: getattr(end, name) for name in end.__slots__ if name != "has_foreign" or end.has_foreign}
        now = time.time() if at is None else at
        with self.transaction() as connection:
            place = place or read_place(connection, session_id, number)
            if place is None:
                return
            grown = {**place.key, "now": now, "added": end.tokens}
            row = connection.execute(_GROWN, grown).one_or_none()
            if row is None:
                raise SessionUnknown(session=session_id)
            connection.execute(_ENDED, {**place.key, "finished": now, **values})
            _put_turn_marks(connection, place, end)
            if row.has_partial:
                delete_partial_text(connection, session_id)

    def mark_foreign(self, session_id: str, number: int, place: TurnPlace | None = None) -> None:
        """Notes that the prompt of a turn held text of others. ``place``: where its row lies, if the caller knows."""
        with self.transaction() as connection:
            place = place or read_place(connection, session_id, number)
            if place is not None and not place.has_foreign:  # else a turn before it handed the mark down
                connection.execute(_MARKED, place.key)

    def has_foreign(self, session_id: str, number: int, place: TurnPlace | None = None) -> bool:
        """Returns whether the prompt of a turn holds text of others, by its own sources or by the turns before it.
        ``place``: where its row lies, if the caller knows."""
        with self.transaction() as connection:
            place = place or read_place(connection, session_id, number)
            if place is None or place.has_foreign:
                return place is not None
            return bool(connection.execute(_ONE_FOREIGN, place.key).scalar_one_or_none())

    def status(self, session: Session) -> TurnStatus | None:
        """Returns the status of the session's last turn; None before the first turn. Cheaper than reading the turn."""
        if not session.turn_count:
            return None
        key = {"session": session.id, "turn": session.turn_count}
        with self.transaction() as connection:
            key |= {"in_branch": branch_at(session.path, session.turn_count)}
            row = connection.execute(_STATUS, key).one_or_none()
            check_session_owner(connection, session.id, row.owner if row else None)
        return cast("TurnStatus | None", row.status if row else None)

    def change_steps(
        self, session_id: str, number: int, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
    ) -> None:
        """Replaces the steps of a turn by the result of ``change``, in one transaction. Raises ``TurnUnknown``."""
        table = schema.turn
        with self.transaction() as connection:
            key = _build_turn_condition(connection, session_id, number)
            # an update that changes nothing: it locks the row, so that nobody else writes the turn now
            claimed = connection.execute(update(table).where(*key).values(tokens=table.c.tokens))
            if not claimed.rowcount:
                raise TurnUnknown(session=session_id, turn=number)
            steps = connection.execute(select(table.c.steps).where(*key)).scalar_one() or []
            connection.execute(update(table).where(*key).values(steps=change(steps)))

    def set_feedback(self, session_id: str, number: int, thumb: str | None, note: str = "") -> None:
        """Stores the user's opinion of an answer: ``up``, ``down`` or None, with a note."""
        feedback = {"thumb": thumb, "note": note} if thumb or note else None
        with self.transaction() as connection:
            key = _build_turn_condition(connection, session_id, number)
            connection.execute(update(schema.turn).where(*key).values(feedback=feedback))

    def pin_turn(self, session_id: str, number: int, pinned: bool) -> None:
        """Notes whether every prompt holds a turn of the path word for word, from the next one on. Raises
        ``TurnUnknown``."""
        with self.transaction() as connection:
            key = _build_turn_condition(connection, session_id, number)
            if not connection.execute(update(schema.turn).where(*key).values(pinned=pinned)).rowcount:
                raise TurnUnknown(session=session_id, turn=number)
            _update_session(connection, session_id, revision=schema.session.c.revision + 1)

    def pinned_turns(self, session_id: str) -> list[TurnRow]:
        """Returns the turns of the path that every prompt holds word for word, oldest first."""
        return self._turns(session_id, [schema.pinned_row()])[::-1]

    def turn(self, session_id: str, number: int) -> TurnRow | None:
        """Returns turn ``number`` of the session's path, or None."""
        return next(iter(self.turns_between(session_id, number, number)), None)

    def turns(self, session_id: str, before: int | None = None, limit: int = 30) -> list[TurnRow]:
        """Returns the last ``limit`` turns before turn ``before`` (exclusive), oldest first."""
        number = schema.turn.c.number
        return self._turns(session_id, [] if before is None else [number < before], limit)[::-1]

    def reports(self, session_id: str, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Returns the context reports of the given turns by turn number; leaves out turns without a report."""
        found = self._read_column(session_id, numbers, schema.turn.c.report)
        return {number: report for number, report in found.items() if report}

    def question_heads(self, session_id: str, numbers: Iterable[int], chars: int) -> dict[int, str]:
        """Returns the first ``chars`` characters of the questions of these turns by turn number."""
        return self._read_column(session_id, numbers, func.substr(schema.turn.c.question, 1, chars))

    def _read_column(self, session_id: str, numbers: Iterable[int], column: ColumnElement[Any]) -> dict[int, Any]:
        """Returns one column of these turns of the path by turn number, without the rest of their rows."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            conditions = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = select(table.c.number, column.label("value")).where(
                *conditions, table.c.number.in_(sorted(numbers))
            )
            return {row.number: row.value for row in connection.execute(query)}

    def turns_between(self, session_id: str, first: int, last: int) -> list[TurnRow]:
        """Returns turns ``first`` to ``last``, both included, oldest first."""
        with self.transaction() as connection:
            rows = connection.execute(_BETWEEN, {"session": session_id, "first": first, "last": last}).all()
            check_session_owner(connection, session_id, rows[0].owner if rows else None)
        path = parse_path(rows[0].path)
        return [as_turn(row) for row in rows if row.number is not None and branch_at(path, row.number) == row.branch]

    def turns_at(self, session_id: str, numbers: Iterable[int]) -> list[TurnRow]:
        """Returns the turns of the path with these numbers, oldest first."""
        return self._turns(session_id, [schema.turn.c.number.in_(sorted(numbers))])[::-1]

    def tokens_before(self, session_id: str, number: int) -> int:
        """Returns the raw tokens of the turns before turn ``number``; ``Session.history_tokens`` counts all turns."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            conditions = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = select(func.sum(table.c.tokens)).where(*conditions, table.c.number < number)
            return connection.execute(query).scalar() or 0

    def _turns(
        self, session_id: str, where: Sequence[ColumnElement[bool] | TextClause], limit: int | None = None
    ) -> list[TurnRow]:
        """Returns turns of the session's path, newest first."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            query = select(table).where(table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = query.where(*where).order_by(table.c.number.desc()).limit(limit)
            return [as_turn(row) for row in connection.execute(query)]

    def _change(self, session_id: str, **values: object) -> None:
        with self.transaction() as connection:
            _update_session(connection, session_id, **values)


def _update_session(connection: Connection, session_id: str, **values: object) -> None:
    table = schema.session
    own = (table.c.id == session_id, build_owner_condition(connection, table.c.owner))
    changed = connection.execute(update(table).where(*own).values(**values))
    if changed.rowcount == 0:
        raise SessionUnknown(session=session_id)


def _build_turn_condition(connection: Connection, session_id: str, number: int) -> tuple[Any, ...]:
    branch = branch_at(path_of(connection, session_id), number)
    return schema.turn.c.session_id == session_id, schema.turn.c.branch == branch, schema.turn.c.number == number


def _put_turn_marks(connection: Connection, place: TurnPlace, end: Finished) -> None:
    """Makes a turn known that ends so; one without an answer that the model gets again is none."""
    if end.status not in ENDED:
        drop_marks(connection, place.session_id, place.branch, place.number)
        return
    said = [(place.number, place.question, [end.answer or ""])]
    put_marks(connection, place.owner, place.session_id, place.branch, said)


def _list_sessions(connection: Connection, limit: int, offset: int, folder: str | None) -> list[Session]:
    """Returns sessions with a turn, in the order of the list's indexes."""
    query = select(schema.session).where(schema.LISTED, build_owner_condition(connection, schema.session.c.owner))
    query = query.limit(limit).offset(offset)
    if folder is not None:
        query = query.where(schema.session.c.folder == folder)
    order = (schema.session.c.pinned.desc(), schema.session.c.updated.desc(), schema.session.c.id)
    return [as_session(row) for row in connection.execute(query.order_by(*order))]


def _not_begun(connection: Connection) -> list[Session]:
    """Returns sessions whose first message waits; the message stands in for a missing title."""
    sessions, outbox = schema.session, schema.outbox
    first = select(func.min(outbox.c.id)).group_by(outbox.c.session_id)
    joined = select(sessions, outbox.c.text).join(outbox, outbox.c.session_id == sessions.c.id)
    begun = (
        sessions.c.turn_count == 0,
        sessions.c.deleted.is_(None),
        build_owner_condition(connection, sessions.c.owner),
    )
    rows = connection.execute(joined.where(outbox.c.id.in_(first), *begun)).all()
    return [replace(as_session(row), title=row.title or first_line(row.text)) for row in rows]


def as_turn(row: Any) -> TurnRow:
    """Returns a row of the turn table as a ``TurnRow``."""
    values = {name: row._mapping[name] for name in TurnRow.__slots__}
    return TurnRow(
        **{
            **values,
            **{name: values[name] or [] for name in ("steps", "files", "questions")},
            "error": redact_json_data(values["error"]),
        }
    )


def checked_rate(rate: float) -> float:
    """Returns a compression rate with four decimals. Raises ``OutOfRange``."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise OutOfRange(what="compression rate", value=rate, low=LOWEST_RATE, high=HIGHEST_RATE)
    return round(rate, 4)
