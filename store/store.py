"""The record of all conversations: sessions and the full transcript. Rows are mostly appended.

The question's row is written before the graph runs, the answer's row before the state is trimmed. A crash may repeat a
write (rows are keyed by session and turn) but never loses one (design 3.3). The summary ledger is ``store.ledger``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, select, update

from errors import OutOfRange, SessionUnknown, TurnUnknown, bare
from store.attachment import Attachments, taken
from store.database import schema
from store.database.engine import connect, translated, where_is
from store.folder import Folders
from store.ledger import Ledger, path_of
from store.options import DEFAULT, Options, Presets, SessionOptions, put
from store.outbox import Outbox, sent
from store.partial import Partials, dropped
from store.path import TRUNK, branch_at, on_path, plain
from store.record import Finished, Session, Turn, TurnStatus
from store.search import TextHit, search
from store.tree import Tree
from store.turn_index import TurnIndex, outdated
from store.wording import Wordings
from text.clean import clean
from text.language import Language

LOWEST_RATE, HIGHEST_RATE = 0.1, 0.5
TITLE_CHARS = 60

# The statements of every turn are built once: SQLAlchemy takes as long to build a statement as SQLite to run it.
_HERE = schema.session.c.id == bindparam("session")
_TURN = and_(
    schema.turn.c.session_id == bindparam("session"),
    schema.turn.c.branch == bindparam("in_branch"),
    schema.turn.c.number == bindparam("turn"),
)
_SESSION = select(schema.session).where(_HERE)
_ONE = select(schema.turn).where(_TURN)
_STATUS = select(schema.turn.c.status).where(_TURN)
_COUNTED = (
    update(schema.session)
    .where(_HERE)
    .values(turn_count=schema.session.c.turn_count + 1, updated=bindparam("now"))
    .returning(schema.session.c.turn_count, schema.session.c.path, schema.session.c.title)
)
_ASKED = insert(schema.turn)
_GROWN = (
    update(schema.session)
    .where(_HERE)
    .values(
        updated=bindparam("now"),
        history_tokens=schema.session.c.history_tokens
        + bindparam("added", type_=schema.turn.c.tokens.type)
        - func.coalesce(select(schema.turn.c.tokens).where(_TURN).scalar_subquery(), 0),
    )
)
_ENDED = update(schema.turn).where(_TURN)


class Store:
    """Sessions and turns in one database; ``ledger`` holds summaries, ``tree`` branches, ``wordings`` system prompts.

    ``folders``: named groups of sessions; ``outbox``: messages that are not turns yet; ``partials``: the text of
    running answers; ``attachments``: files of conversations; ``options``: options of a conversation's answers;
    ``presets``: named options; ``turn_index``: what a search in past turns reads.

    The methods mean the turns of the session's path. Thread-safe; several processes may share one database.
    """

    def __init__(self, url: str) -> None:
        self._engine, self._indexed = connect(url)
        self._where = where_is(self._engine.url)
        self.ledger = Ledger(self.transaction)
        self.tree = Tree(self.transaction)
        self.folders = Folders(self.transaction)
        self.wordings = Wordings(self.transaction)
        self.outbox = Outbox(self.transaction)
        self.partials = Partials(self.transaction)
        self.attachments = Attachments(self.transaction)
        self.options = SessionOptions(self.transaction)
        self.presets = Presets(self.transaction)
        self.turn_index = TurnIndex(self.transaction)

    @property
    def engine(self) -> Any:
        """Returns the SQLAlchemy engine, for locks and further tables."""
        return self._engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Opens a transaction; turns database failures into Gieok's own errors."""
        with translated(self._where), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    # --- sessions -------------------------------------------------------------------------------

    def create_session(
        self,
        language: Language,
        compression_rate: float,
        session_id: str | None = None,
        options: Options = DEFAULT,
    ) -> Session:
        """Creates an empty session. Raises ``OutOfRange`` for a rate outside 0.1 to 0.5, and the errors of
        ``Options.checked``.
        """
        now, options = time.time(), options.checked()
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
            "folder": "",
        }
        with self.transaction() as connection:
            connection.execute(insert(schema.session), row)
            branch = {"session_id": row["id"], "id": 0, "path": TRUNK, "used": now}
            connection.execute(insert(schema.branch), branch)
            if options != DEFAULT:
                put(connection, str(row["id"]), options)
        return Session(**row)  # type: ignore[arg-type]

    def session(self, session_id: str) -> Session:
        """Returns the session. Raises ``SessionUnknown``."""
        with self.transaction() as connection:
            row = connection.execute(_SESSION, {"session": session_id}).one_or_none()
        if row is None:
            raise SessionUnknown(session=session_id)
        return _session(row)

    def sessions(self, limit: int = 50, offset: int = 0, folder: str | None = None) -> list[Session]:
        """Returns sessions with a turn or a waiting message: pinned sessions first, then by last use, newest first.

        ``folder``: only sessions in this folder; empty for sessions in no folder; None for all sessions.
        """
        with self.transaction() as connection:
            waiting = [session for session in _not_begun(connection) if folder in (None, session.folder)]
            if not waiting:
                return _listed(connection, limit, offset, folder)
            listed = _listed(connection, limit + offset, 0, folder)
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

    def set_collections(self, session_id: str, collections: Sequence[str] | None) -> None:
        """Sets the collections of documents that the session's questions are looked up in; None for all."""
        self._change(session_id, collections=None if collections is None else list(collections))

    def search(self, query: str, limit: int = 50, within: str | None = None) -> list[TextHit]:
        """Returns the places where titles and turns hold all words of the query, newest first (``store.search``)."""
        with self.transaction() as connection:
            return search(connection, query, limit, within, self._indexed)

    def rename_session(self, session_id: str, title: str) -> None:
        """Sets the user's own title, which nothing else replaces. An empty title restores the automatic title: the
        first question, until the model makes another title.
        """
        user_title = clean(title).strip()[:TITLE_CHARS]
        first = None if user_title else self.turn(session_id, 1)
        automatic = _first_line(first.question) if first else ""
        self._change(session_id, title=user_title or automatic, titled="user" if user_title else "auto")

    def entitle(self, session_id: str, title: str) -> bool:
        """Sets a title that a model made. Returns False when the user has set a title, which then stays."""
        table = schema.session
        mine = (table.c.id == session_id, table.c.titled != "user")
        with self.transaction() as connection:
            changed = connection.execute(update(table).where(*mine).values(title=title[:TITLE_CHARS], titled="model"))
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
            _changed(connection, session_id, deleted=time.time() if away else None)
            beside(connection)

    def put_away_all(self, session_ids: Iterable[str], away: bool = True) -> None:
        """Puts several sessions away, or brings them back, in one transaction; skips sessions that no longer exist."""
        table, moment = schema.session, time.time() if away else None
        change = update(table).where(table.c.id == bindparam("own")).values(deleted=moment)
        rows = [{"own": session_id} for session_id in session_ids]
        with self.transaction() as connection:
            if rows:
                connection.execute(change, rows)

    def put_away_sessions(self, limit: int = 100) -> list[Session]:
        """Returns sessions that were put away and can be brought back, the last one first."""
        query = select(schema.session).where(schema.PUT_AWAY).order_by(schema.session.c.deleted.desc()).limit(limit)
        with self.transaction() as connection:
            return [_session(row) for row in connection.execute(query)]

    def put_away_before(self, moment: float) -> list[str]:
        """Returns the ids of sessions that were put away before ``moment`` (Unix seconds); ``delete_session`` may
        remove these for good.
        """
        query = select(schema.session.c.id).where(schema.PUT_AWAY, schema.session.c.deleted < moment)
        with self.transaction() as connection:
            return list(connection.execute(query).scalars())

    def last_used(self) -> float:
        """Returns when any session was used last (Unix seconds; 0 without sessions)."""
        with self.transaction() as connection:
            return float(connection.execute(select(func.max(schema.session.c.updated))).scalar() or 0.0)

    def delete_session(self, session_id: str) -> None:
        """Removes the session for good, with its turns, branches and summaries."""
        with self.transaction() as connection:
            # first, because this statement takes the lock
            connection.execute(delete(schema.session).where(_HERE), {"session": session_id})
            others = (schema.session_options, schema.session_prompt, schema.outbox, schema.partial, schema.attachment)
            for table in (schema.turn, schema.turn_index, schema.summary, schema.branch, *others):
                connection.execute(delete(table).where(table.c.session_id == session_id))

    def revise(self, session_id: str) -> None:
        """Notes that the record has changed but the state has not: the next turn first makes the state anew."""
        self._change(session_id, revision=schema.session.c.revision + 1)

    # --- turns ----------------------------------------------------------------------------------

    def accept_turn(self, session_id: str, question: str, at: float | None = None) -> int:
        """Counts the turn and stores its question, in one transaction; returns the turn's number.
        ``at``: when the user sent it (Unix seconds); None: now.

        Raises ``SessionUnknown``.
        """
        now = time.time() if at is None else at
        with self.transaction() as connection:
            counters = connection.execute(_COUNTED, {"session": session_id, "now": now}).one_or_none()
            if counters is None:
                raise SessionUnknown(session=session_id)
            number, path, title = counters
            row = {"session_id": session_id, "branch": branch_at(plain(path), number), "number": number}
            files = taken(connection, session_id, sent(connection, session_id, question))
            row |= {"question": question, "status": "running", "started": now, "files": files or None}
            connection.execute(_ASKED, row)
            if not title:
                self._title(connection, session_id, question)
        return int(number)

    def restart_turn(self, session_id: str, number: int, at: float | None = None) -> None:
        """Marks a failed or cut-off turn as running again. ``at``: since when (Unix seconds); None: now."""
        now = time.time() if at is None else at
        values = {"status": "running", "error": None, "answer": None, "started": now, "finished": None}
        with self.transaction() as connection:
            dropped(connection, session_id)
            outdated(connection, session_id, branch_at(path_of(connection, session_id), number), number)
            connection.execute(update(schema.turn).where(*_key(connection, session_id, number)).values(**values))

    def finish_turn(self, session_id: str, number: int, end: Finished, at: float | None = None) -> None:
        """Writes how the turn ended, and ``at`` which moment (Unix seconds; None: now). Repeating the call changes
        nothing."""
        values = {name: getattr(end, name) for name in end.__slots__}
        now = time.time() if at is None else at
        with self.transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            key = {"session": session_id, "in_branch": branch, "turn": number}
            connection.execute(_GROWN, {**key, "now": now, "added": end.tokens})
            connection.execute(_ENDED, {**key, "finished": now, **values})
            dropped(connection, session_id)

    def status(self, session: Session) -> TurnStatus | None:
        """Returns the status of the session's last turn; None before the first turn. Cheaper than reading the turn."""
        if not session.turn_count:
            return None
        key = {"session": session.id, "turn": session.turn_count}
        with self.transaction() as connection:
            result = connection.execute(_STATUS, {**key, "in_branch": branch_at(session.path, session.turn_count)})
            return cast("TurnStatus | None", result.scalar_one_or_none())

    def change_steps(
        self, session_id: str, number: int, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
    ) -> None:
        """Replaces the steps of a turn by the result of ``change``, in one transaction. Raises ``TurnUnknown``."""
        table = schema.turn
        with self.transaction() as connection:
            key = _key(connection, session_id, number)
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
            key = _key(connection, session_id, number)
            connection.execute(update(schema.turn).where(*key).values(feedback=feedback))

    def turn(self, session_id: str, number: int) -> Turn | None:
        """Returns turn ``number`` of the session's path, or None."""
        with self.transaction() as connection:
            key = {"session": session_id, "turn": number}
            branch = branch_at(path_of(connection, session_id), number) if number > 0 else 0
            row = connection.execute(_ONE, {**key, "in_branch": branch}).one_or_none()
        return as_turn(row) if row is not None else None

    def turns(self, session_id: str, before: int | None = None, limit: int = 30) -> list[Turn]:
        """Returns the last ``limit`` turns before turn ``before`` (exclusive), oldest first."""
        number = schema.turn.c.number
        return self._turns(session_id, [] if before is None else [number < before], limit)[::-1]

    def reports(self, session_id: str, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Returns the context reports of the given turns by turn number; leaves out turns without a report."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            conditions = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = select(table.c.number, table.c.report).where(*conditions, table.c.number.in_(sorted(numbers)))
            return {row.number: row.report for row in connection.execute(query) if row.report}

    def turns_between(self, session_id: str, first: int, last: int) -> list[Turn]:
        """Returns turns ``first`` to ``last``, both included, oldest first."""
        number = schema.turn.c.number
        return self._turns(session_id, [number >= first, number <= last])[::-1]

    def tokens_before(self, session_id: str, number: int) -> int:
        """Returns the raw tokens of the turns before turn ``number``; ``Session.history_tokens`` counts all turns."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            conditions = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = select(func.sum(table.c.tokens)).where(*conditions, table.c.number < number)
            return connection.execute(query).scalar() or 0

    def _turns(self, session_id: str, where: Sequence[ColumnElement[bool]], limit: int | None = None) -> list[Turn]:
        """Returns turns of the session's path, newest first."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            query = select(table).where(table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            query = query.where(*where).order_by(table.c.number.desc()).limit(limit)
            return [as_turn(row) for row in connection.execute(query)]

    def _change(self, session_id: str, **values: object) -> None:
        with self.transaction() as connection:
            _changed(connection, session_id, **values)

    @staticmethod
    def _title(connection: Connection, session_id: str, question: str) -> None:
        title = _first_line(question)
        connection.execute(update(schema.session).where(schema.session.c.id == session_id).values(title=title))


def _changed(connection: Connection, session_id: str, **values: object) -> None:
    changed = connection.execute(update(schema.session).where(schema.session.c.id == session_id).values(**values))
    if changed.rowcount == 0:
        raise SessionUnknown(session=session_id)


def _key(connection: Connection, session_id: str, number: int) -> tuple[Any, ...]:
    branch = branch_at(path_of(connection, session_id), number)
    return schema.turn.c.session_id == session_id, schema.turn.c.branch == branch, schema.turn.c.number == number


def _first_line(question: str) -> str:
    return " ".join(clean(question).split())[:TITLE_CHARS]


def _listed(connection: Connection, limit: int, offset: int, folder: str | None) -> list[Session]:
    """Returns sessions with a turn, in the order of the list's indexes."""
    query = select(schema.session).where(schema.LISTED).limit(limit).offset(offset)
    if folder is not None:
        query = query.where(schema.session.c.folder == folder)
    order = (schema.session.c.pinned.desc(), schema.session.c.updated.desc(), schema.session.c.id)
    return [_session(row) for row in connection.execute(query.order_by(*order))]


def _not_begun(connection: Connection) -> list[Session]:
    """Returns sessions whose first message waits; the message stands in for a missing title."""
    sessions, outbox = schema.session, schema.outbox
    first = select(func.min(outbox.c.id)).group_by(outbox.c.session_id)
    joined = select(sessions, outbox.c.text).join(outbox, outbox.c.session_id == sessions.c.id)
    rows = connection.execute(
        joined.where(outbox.c.id.in_(first), sessions.c.turn_count == 0, sessions.c.deleted.is_(None))
    ).all()
    return [replace(_session(row), title=row.title or _first_line(row.text)) for row in rows]


def as_turn(row: Any) -> Turn:
    """Returns a row of the turn table as a ``Turn``."""
    values = {name: value for name, value in row._mapping.items() if name != "id"}
    return Turn(
        **{**values, "steps": values["steps"] or [], "files": values["files"] or [], "error": bare(values["error"])}
    )


def _session(row: Any) -> Session:
    values = {name: row._mapping[name] for name in Session.__slots__}
    return Session(**{**values, "path": plain(values["path"])})


def checked_rate(rate: float) -> float:
    """Returns a compression rate with four decimals. Raises ``OutOfRange``."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise OutOfRange(what="compression rate", value=rate, low=LOWEST_RATE, high=HIGHEST_RATE)
    return round(rate, 4)
