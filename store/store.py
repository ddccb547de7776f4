"""The record of all conversations: sessions and the full transcript, append-mostly.

The question's row is written before the graph runs, the answer's before the state is trimmed: a crash may repeat a
write (rows are keyed by session and turn) and never loses one (design §3). The summary ledger is ``store.ledger``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from errors import BadRate, SessionUnknown
from store import schema
from store.database import connect, translated
from store.ledger import Ledger
from store.record import Finished, Session, Turn
from text.clean import clean
from text.language import Language

TITLE_CHARS = 60


class Store:
    """Sessions and turns in one database; ``ledger`` holds the summaries. Thread-safe; processes may share it."""

    def __init__(self, url: str) -> None:
        self._engine = connect(url)
        self._where = self._engine.url.render_as_string(hide_password=True)
        self.ledger = Ledger(self.transaction)

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
            "language": language,
            "compression_rate": _checked_rate(compression_rate),
            "turn_count": 0,
            "history_tokens": 0,
            "created": now,
            "updated": now,
        }
        with self.transaction() as connection:
            connection.execute(insert(schema.session), row)
        return Session(**row)  # type: ignore[arg-type]

    def session(self, session_id: str) -> Session:
        """The session, or ``SessionUnknown``."""
        if clean(session_id) != session_id:  # no database takes it
            raise SessionUnknown(session=session_id)
        with self.transaction() as connection:
            row = connection.execute(select(schema.session).where(schema.session.c.id == session_id)).one_or_none()
        if row is None:
            raise SessionUnknown(session=session_id)
        return Session(**row._mapping)

    def sessions(self, limit: int = 50, offset: int = 0) -> list[Session]:
        """Sessions with at least one turn, last used first."""
        wanted = select(schema.session).where(schema.session.c.turn_count > 0)
        wanted = wanted.order_by(schema.session.c.updated.desc(), schema.session.c.id).limit(limit).offset(offset)
        with self.transaction() as connection:
            return [Session(**row._mapping) for row in connection.execute(wanted)]

    def set_rate(self, session_id: str, rate: float) -> None:
        """The compression rate of the next summaries (context-managing.md «Sidebar 설정»)."""
        self._change(session_id, compression_rate=_checked_rate(rate))

    def set_language(self, session_id: str, language: Language) -> None:
        """The language of the session's prompts."""
        self._change(session_id, language=language)

    def rename_session(self, session_id: str, title: str) -> None:
        self._change(session_id, title=clean(title).strip()[:TITLE_CHARS])

    def delete_session(self, session_id: str) -> None:
        """Removes the session with its turns and summaries."""
        with self.transaction() as connection:
            connection.execute(delete(schema.turn).where(schema.turn.c.session_id == session_id))
            connection.execute(delete(schema.summary).where(schema.summary.c.session_id == session_id))
            connection.execute(delete(schema.session).where(schema.session.c.id == session_id))

    # --- turns ----------------------------------------------------------------------------------

    def accept_turn(self, session_id: str, question: str) -> int:
        """Counts the turn up and keeps its question, in one transaction; returns the turn's number."""
        now = time.time()
        with self.transaction() as connection:
            counted = (
                update(schema.session)
                .where(schema.session.c.id == session_id)
                .values(turn_count=schema.session.c.turn_count + 1, updated=now)
                .returning(schema.session.c.turn_count)
            )
            number = connection.execute(counted).scalar_one_or_none()
            if number is None:
                raise SessionUnknown(session=session_id)
            row = {
                "session_id": session_id,
                "number": number,
                "question": question,
                "status": "running",
                "started": now,
            }
            connection.execute(insert(schema.turn), row)
            if number == 1:
                self._title(connection, session_id, question)
        return int(number)

    def restart_turn(self, session_id: str, number: int) -> None:
        """Marks a failed or cut-off turn as running again."""
        with self.transaction() as connection:
            values = {"status": "running", "error": None, "started": time.time(), "finished": None}
            connection.execute(update(schema.turn).where(*_key(session_id, number)).values(**values))

    def finish_turn(self, session_id: str, number: int, end: Finished) -> None:
        """Writes how the turn ended. Repeating it changes nothing."""
        values = {name: getattr(end, name) for name in end.__slots__ if name != "tokens"}
        now = time.time()
        with self.transaction() as connection:
            before = connection.execute(
                select(schema.turn.c.status).where(*_key(session_id, number))
            ).scalar_one_or_none()
            connection.execute(update(schema.turn).where(*_key(session_id, number)).values(finished=now, **values))
            grown = end.tokens if before == "running" else 0
            connection.execute(
                update(schema.session)
                .where(schema.session.c.id == session_id)
                .values(updated=now, history_tokens=schema.session.c.history_tokens + grown)
            )

    def turn(self, session_id: str, number: int) -> Turn | None:
        found = self._turns(select(schema.turn).where(*_key(session_id, number)))
        return found[0] if found else None

    def turns(self, session_id: str, before: int | None = None, limit: int = 30) -> list[Turn]:
        """The last ``limit`` turns before turn ``before`` (exclusive), oldest first."""
        wanted = select(schema.turn).where(schema.turn.c.session_id == session_id)
        if before is not None:
            wanted = wanted.where(schema.turn.c.number < before)
        return self._turns(wanted.order_by(schema.turn.c.number.desc()).limit(limit))[::-1]

    def turns_between(self, session_id: str, first: int, last: int) -> list[Turn]:
        """Turns ``first`` to ``last``, both included, oldest first."""
        wanted = select(schema.turn).where(
            schema.turn.c.session_id == session_id, schema.turn.c.number >= first, schema.turn.c.number <= last
        )
        return self._turns(wanted.order_by(schema.turn.c.number))

    def _turns(self, wanted: Select[Any]) -> list[Turn]:
        with self.transaction() as connection:
            rows = [dict(row._mapping) for row in connection.execute(wanted)]
        return [Turn(**{**row, "steps": row["steps"] or []}) for row in rows]

    def _change(self, session_id: str, **values: object) -> None:
        with self.transaction() as connection:
            changed = connection.execute(
                update(schema.session).where(schema.session.c.id == session_id).values(**values)
            )
        if changed.rowcount == 0:
            raise SessionUnknown(session=session_id)

    @staticmethod
    def _title(connection: Connection, session_id: str, question: str) -> None:
        first_line = " ".join(clean(question).split())[:TITLE_CHARS]
        connection.execute(update(schema.session).where(schema.session.c.id == session_id).values(title=first_line))


def _key(session_id: str, number: int) -> tuple[Any, Any]:
    return schema.turn.c.session_id == session_id, schema.turn.c.number == number


def _checked_rate(rate: float) -> float:
    if not 0.1 <= rate <= 0.5:
        raise BadRate(value=rate)
    return round(rate, 4)
