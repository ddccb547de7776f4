"""The record of all conversations: sessions and the full transcript, append-mostly.

The question's row is written before the graph runs, the answer's before the state is trimmed: a crash may repeat a
write (rows are keyed by session and turn) and never loses one (design §3). The summary ledger is ``store.ledger``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, insert, select, update

from errors import BadRate, SessionUnknown, TurnUnknown
from store import schema
from store.database import connect, translated
from store.ledger import Ledger, path_of
from store.outbox import Outbox, sent
from store.partial import Partials, dropped
from store.path import TRUNK, branch_at, on_path, plain
from store.record import Finished, Session, Turn, TurnStatus
from store.search import Hit, search
from store.tree import Tree
from store.wording import Wordings
from text.clean import clean
from text.language import Language

TITLE_CHARS = 60

# What every turn asks is put together once: SQLAlchemy takes as long to build a statement as SQLite to run it.
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

    ``outbox``: messages that are not turns yet; ``partials``: answers that are still being given.

    Turns are those of the session's path. Thread-safe; processes may share it.
    """

    def __init__(self, url: str) -> None:
        self._engine, self._indexed = connect(url)
        self._where = self._engine.url.render_as_string(hide_password=True)
        self.ledger = Ledger(self.transaction)
        self.tree = Tree(self.transaction)
        self.wordings = Wordings(self.transaction)
        self.outbox = Outbox(self.transaction)
        self.partials = Partials(self.transaction)

    @property
    def engine(self) -> Any:
        """The SQLAlchemy engine, for locks and further tables."""
        return self._engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction; database failures come out as our own errors."""
        with translated(self._where), self._engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    # --- sessions -------------------------------------------------------------------------------

    def create_session(self, language: Language, compression_rate: float, session_id: str | None = None) -> Session:
        """A new, empty session. Raises ``BadRate`` outside 0.1 to 0.5."""
        now = time.time()
        row = {
            "id": session_id or uuid.uuid4().hex[:16],
            "title": "",
            "titled": "auto",
            "language": language,
            "compression_rate": _checked_rate(compression_rate),
            "path": TRUNK,
            "turn_count": 0,
            "history_tokens": 0,
            "created": now,
            "updated": now,
            "pinned": False,
            "deleted": None,
            "revision": 0,
        }
        with self.transaction() as connection:
            connection.execute(insert(schema.session), row)
            branch = {"session_id": row["id"], "id": 0, "path": TRUNK, "used": now}
            connection.execute(insert(schema.branch), branch)
        return Session(**row)  # type: ignore[arg-type]

    def session(self, session_id: str) -> Session:
        """The session, or ``SessionUnknown``."""
        if clean(session_id) != session_id:  # no database takes it
            raise SessionUnknown(session=session_id)
        with self.transaction() as connection:
            row = connection.execute(_SESSION, {"session": session_id}).one_or_none()
        if row is None:
            raise SessionUnknown(session=session_id)
        return _session(row)

    def sessions(self, limit: int = 50, offset: int = 0) -> list[Session]:
        """Sessions with a turn or a message that waits, pinned ones first, then last used first."""
        with self.transaction() as connection:
            begun = _not_begun(connection)
            if not begun:
                return _listed(connection, limit, offset)
            listed = _listed(connection, limit + offset, 0)
        both = {each.id: each for each in (*begun, *listed)}  # one may have begun between the two
        return sorted(both.values(), key=lambda each: (not each.pinned, -each.updated, each.id))[
            offset : offset + limit
        ]

    def set_rate(self, session_id: str, rate: float) -> None:
        """The compression rate of the next summaries (context-managing.md «Sidebar 설정»)."""
        self._change(session_id, compression_rate=_checked_rate(rate))

    def set_language(self, session_id: str, language: Language) -> None:
        """The language of the session's prompts."""
        self._change(session_id, language=language)

    def search(self, query: str, limit: int = 50, within: str | None = None) -> list[Hit]:
        """Where titles and turns hold all words of the query, newest first (``store.search``)."""
        with self.transaction() as connection:
            return search(connection, query, limit, within, self._indexed)

    def rename_session(self, session_id: str, title: str) -> None:
        """The user's own title: nothing else replaces it. An empty one gives the title back to the conversation: to its
        first question, until the model makes another."""
        own = clean(title).strip()[:TITLE_CHARS]
        first = None if own else self.turn(session_id, 1)
        asked = _first_line(first.question) if first else ""
        self._change(session_id, title=own or asked, titled="user" if own else "auto")

    def entitle(self, session_id: str, title: str) -> bool:
        """The title that a model made; False when the user has given one, which stays."""
        table = schema.session
        mine = (table.c.id == session_id, table.c.titled != "user")
        with self.transaction() as connection:
            changed = connection.execute(update(table).where(*mine).values(title=title[:TITLE_CHARS], titled="model"))
        return changed.rowcount > 0

    def pin_session(self, session_id: str, pinned: bool) -> None:
        self._change(session_id, pinned=pinned)

    def put_away(self, session_id: str, away: bool = True) -> None:
        """Takes the session off the list, or brings it back; nothing is removed."""
        self._change(session_id, deleted=time.time() if away else None)

    def put_away_sessions(self, limit: int = 100) -> list[Session]:
        """Sessions that were put away and can be brought back, the last one first."""
        wanted = select(schema.session).where(schema.PUT_AWAY).order_by(schema.session.c.deleted.desc()).limit(limit)
        with self.transaction() as connection:
            return [_session(row) for row in connection.execute(wanted)]

    def put_away_before(self, moment: float) -> list[str]:
        """Sessions that were put away before ``moment`` (Unix seconds): what ``delete_session`` may remove for good."""
        wanted = select(schema.session.c.id).where(schema.PUT_AWAY, schema.session.c.deleted < moment)
        with self.transaction() as connection:
            return list(connection.execute(wanted).scalars())

    def last_used(self) -> float:
        """When any session was used last (Unix seconds; 0 when there is none)."""
        with self.transaction() as connection:
            return float(connection.execute(select(func.max(schema.session.c.updated))).scalar() or 0.0)

    def delete_session(self, session_id: str) -> None:
        """Removes the session for good, with its turns, branches and summaries."""
        with self.transaction() as connection:
            for table in (schema.turn, schema.summary, schema.branch, schema.outbox, schema.partial):
                connection.execute(delete(table).where(table.c.session_id == session_id))
            connection.execute(delete(schema.session).where(schema.session.c.id == session_id))

    def revise(self, session_id: str) -> None:
        """Notes that the record was changed under the state, which is then made anew before the next turn."""
        self._change(session_id, revision=schema.session.c.revision + 1)

    # --- turns ----------------------------------------------------------------------------------

    def accept_turn(self, session_id: str, question: str) -> int:
        """Counts the turn up and keeps its question, in one transaction; returns the turn's number."""
        now = time.time()
        with self.transaction() as connection:
            found = connection.execute(_COUNTED, {"session": session_id, "now": now}).one_or_none()
            if found is None:
                raise SessionUnknown(session=session_id)
            number, path, title = found
            row = {"session_id": session_id, "branch": branch_at(plain(path), number), "number": number}
            row |= {"question": question, "status": "running", "started": now}
            connection.execute(_ASKED, row)
            if not title:
                self._title(connection, session_id, question)
            sent(connection, session_id, question)
        return int(number)

    def restart_turn(self, session_id: str, number: int) -> None:
        """Marks a failed or cut-off turn as running again."""
        values = {"status": "running", "error": None, "answer": None, "started": time.time(), "finished": None}
        with self.transaction() as connection:
            dropped(connection, session_id)
            connection.execute(update(schema.turn).where(*_key(connection, session_id, number)).values(**values))

    def finish_turn(self, session_id: str, number: int, end: Finished) -> None:
        """Writes how the turn ended. Repeating it changes nothing."""
        values = {name: getattr(end, name) for name in end.__slots__}
        now = time.time()
        with self.transaction() as connection:
            branch = branch_at(path_of(connection, session_id), number)
            key = {"session": session_id, "in_branch": branch, "turn": number}
            connection.execute(_GROWN, {**key, "now": now, "added": end.tokens})
            connection.execute(_ENDED, {**key, "finished": now, **values})
            dropped(connection, session_id)

    def status(self, session: Session) -> TurnStatus | None:
        """How the session's last turn stands; None before the first. Cheaper than reading the turn."""
        if not session.turn_count:
            return None
        key = {"session": session.id, "turn": session.turn_count}
        with self.transaction() as connection:
            found = connection.execute(_STATUS, {**key, "in_branch": branch_at(session.path, session.turn_count)})
            return cast("TurnStatus | None", found.scalar_one_or_none())

    def change_steps(
        self, session_id: str, number: int, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
    ) -> None:
        """Puts other steps in the place of a turn's, in one transaction. Raises ``TurnUnknown``."""
        table = schema.turn
        with self.transaction() as connection:
            key = _key(connection, session_id, number)
            held = connection.execute(
                update(table).where(*key).values(tokens=table.c.tokens)
            )  # nobody else writes it now
            if not held.rowcount:
                raise TurnUnknown(session=session_id, turn=number)
            steps = connection.execute(select(table.c.steps).where(*key)).scalar_one() or []
            connection.execute(update(table).where(*key).values(steps=change(steps)))

    def set_feedback(self, session_id: str, number: int, thumb: str | None, note: str = "") -> None:
        """What the user thinks of an answer: ``up``, ``down`` or None, and why."""
        feedback = {"thumb": thumb, "note": note} if thumb or note else None
        with self.transaction() as connection:
            key = _key(connection, session_id, number)
            connection.execute(update(schema.turn).where(*key).values(feedback=feedback))

    def turn(self, session_id: str, number: int) -> Turn | None:
        """Turn ``number`` of the session's path, or None."""
        with self.transaction() as connection:
            key = {"session": session_id, "turn": number}
            branch = branch_at(path_of(connection, session_id), number) if number > 0 else 0
            row = connection.execute(_ONE, {**key, "in_branch": branch}).one_or_none()
        return as_turn(row) if row is not None else None

    def turns(self, session_id: str, before: int | None = None, limit: int = 30) -> list[Turn]:
        """The last ``limit`` turns before turn ``before`` (exclusive), oldest first."""
        number = schema.turn.c.number
        return self._turns(session_id, [] if before is None else [number < before], limit)[::-1]

    def reports(self, session_id: str, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The context reports of those of these turns that have one, by turn."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            here = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            wanted = select(table.c.number, table.c.report).where(*here, table.c.number.in_(sorted(numbers)))
            return {row.number: row.report for row in connection.execute(wanted) if row.report}

    def turns_between(self, session_id: str, first: int, last: int) -> list[Turn]:
        """Turns ``first`` to ``last``, both included, oldest first."""
        number = schema.turn.c.number
        return self._turns(session_id, [number >= first, number <= last])[::-1]

    def tokens_before(self, session_id: str, number: int) -> int:
        """The raw tokens of the turns before turn ``number``; of all turns together: ``Session.history_tokens``."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            here = (table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path))
            wanted = select(func.sum(table.c.tokens)).where(*here, table.c.number < number)
            return connection.execute(wanted).scalar() or 0

    def _turns(self, session_id: str, where: Sequence[ColumnElement[bool]], limit: int | None = None) -> list[Turn]:
        """Turns of the session's path, newest first."""
        table = schema.turn
        with self.transaction() as connection:
            path = path_of(connection, session_id)
            wanted = select(table).where(
                table.c.session_id == session_id, on_path(table.c.branch, table.c.number, path)
            )
            wanted = wanted.where(*where).order_by(table.c.number.desc()).limit(limit)
            return [as_turn(row) for row in connection.execute(wanted)]

    def _change(self, session_id: str, **values: object) -> None:
        with self.transaction() as connection:
            changed = connection.execute(
                update(schema.session).where(schema.session.c.id == session_id).values(**values)
            )
        if changed.rowcount == 0:
            raise SessionUnknown(session=session_id)

    @staticmethod
    def _title(connection: Connection, session_id: str, question: str) -> None:
        title = _first_line(question)
        connection.execute(update(schema.session).where(schema.session.c.id == session_id).values(title=title))


def _key(connection: Connection, session_id: str, number: int) -> tuple[Any, ...]:
    branch = branch_at(path_of(connection, session_id), number)
    return schema.turn.c.session_id == session_id, schema.turn.c.branch == branch, schema.turn.c.number == number


def _first_line(question: str) -> str:
    return " ".join(clean(question).split())[:TITLE_CHARS]


def _listed(connection: Connection, limit: int, offset: int) -> list[Session]:
    """The list as its index has it: sessions with a turn."""
    wanted = select(schema.session).where(schema.LISTED).limit(limit).offset(offset)
    order = (schema.session.c.pinned.desc(), schema.session.c.updated.desc(), schema.session.c.id)
    return [_session(row) for row in connection.execute(wanted.order_by(*order))]


def _not_begun(connection: Connection) -> list[Session]:
    """Sessions whose first message waits; it is their title."""
    own, waiting = schema.session, schema.outbox
    first = select(func.min(waiting.c.id)).group_by(waiting.c.session_id)
    joined = select(own, waiting.c.text).join(waiting, waiting.c.session_id == own.c.id)
    rows = connection.execute(
        joined.where(waiting.c.id.in_(first), own.c.turn_count == 0, own.c.deleted.is_(None))
    ).all()
    return [replace(_session(row), title=row.title or _first_line(row.text)) for row in rows]


def as_turn(row: Any) -> Turn:
    """A row of the turn table as a value."""
    values = {name: value for name, value in row._mapping.items() if name != "id"}
    return Turn(**{**values, "steps": values["steps"] or []})


def _session(row: Any) -> Session:
    values = {name: row._mapping[name] for name in Session.__slots__}
    return Session(**{**values, "path": plain(values["path"])})


def _checked_rate(rate: float) -> float:
    if not 0.1 <= rate <= 0.5:
        raise BadRate(value=rate)
    return round(rate, 4)
