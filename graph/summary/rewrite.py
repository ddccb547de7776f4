"""Has the model write the summaries that code extracted from a long past, one after another, when the user asks for it.

Each one is a piece of side work of its own, so that other work of the conversation comes between; the newest turns come
first. The session keeps the user's choice, so that the work goes on after a restart. An extracted summary stays as an
earlier version of the model's.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

from errors import GieokError, SessionUnknown
from graph.context.chunk import ledger_fields
from graph.context.turns import CHUNK
from graph.summary import is_hopeless, make
from graph.summary.known import read_known
from graph.turn.engine import Engine
from graph.turn.rebuild import messages_of
from model.price import usd
from store import Session, Summary

log = logging.getLogger(__name__)

NAME = "rewrite"
REQUEST_TOKENS = 200
"""Tokens of a call beside the turns, estimated: the instructions, and a repair now and then."""


@dataclass(frozen=True, slots=True)
class RewriteOffer:
    """How many summaries the model would write, in as many calls and a few more, and what that takes, estimated.
    ``usd``: None where the price is unknown."""

    count: int
    tokens: int
    usd: float | None


def rewrite_key(session_id: str) -> tuple[str, str]:
    """Returns the name of the work among the side work."""
    return (NAME, session_id)


def make_offer(engine: Engine, session: Session) -> RewriteOffer | None:
    """Returns what writing a session's extracted summaries takes; None where there are none, or code writes summaries.
    Raises the errors of resolving the models."""
    models = engine.models()
    count = engine.store.ledger.count_extracted(session.id) if models.side.summaries == "model" else 0
    if not count:
        return None
    read = session.history_tokens * CHUNK * count // max(1, session.turn_count) + REQUEST_TOKENS * count
    written = int(session.compression_rate * session.history_tokens * CHUNK * count) // max(1, session.turn_count)
    price = None if models.alone else usd(models.side_name, read, 0, written, url=models.url)
    return RewriteOffer(count, read + written, price)


def start_rewrite(engine: Engine, session_id: str) -> None:
    """Begins the work, or goes on with it."""
    engine.store.set_rewriting(session_id, "now")
    _submit_next(engine, session_id, sys.maxsize)


def stop_rewrite(engine: Engine, session_id: str, forever: bool = False) -> None:
    """Ends the work; what is written stays. ``forever``: the user does not want to be asked again."""
    engine.store.set_rewriting(session_id, "never" if forever else "")
    engine.background.interrupt(rewrite_key(session_id))


def is_running(engine: Engine, session_id: str) -> bool:
    """Returns whether a summary is being written, or waits for it."""
    wanted: Hashable = rewrite_key(session_id)
    return engine.background.has(lambda job: job == wanted)


def _submit_next(engine: Engine, session_id: str, before: int) -> None:
    work = partial(_write_next, engine, session_id, before)
    engine.aside(rewrite_key(session_id), work, f"{NAME} {session_id}")


def _write_next(engine: Engine, session_id: str, before: int, stop: threading.Event) -> None:
    """Writes the newest extracted summary of turns before turn ``before``, and submits the work for the next one.

    A summary that the model fails at stays as it is. A server that is away ends the work until somebody begins it anew.
    """
    try:
        session = engine.store.session(session_id)
        left = [each for each in engine.store.ledger.find_extracted(session_id) if each.turns[0] < before]
        if session.rewriting != "now" or engine.models().side.summaries != "model":
            return
        if not left:
            engine.store.set_rewriting(session_id, "")
            return
        _write_summary(engine, session, left[-1], stop)
    except SessionUnknown:  # deleted meanwhile
        return
    except GieokError as error:
        log.info("an extracted summary stays: %s", error.code)
        if not is_hopeless(error):
            return
    _submit_next(engine, session_id, left[-1].turns[0])


def _write_summary(engine: Engine, session: Session, old: Summary, stop: threading.Event) -> None:
    """Writes one summary in place of ``old``, unless somebody has changed that one meanwhile.

    Does not hold the session: the user's next message need not wait, and the state is made anew before it.
    """
    rows = engine.store.turns_between(session.id, old.turns[0], old.turns[-1])
    messages = [message for row in rows for message in messages_of(row)]
    write = partial(make, messages, old.turns, thread_id=session.id, rate=old.rate, language=session.language)
    made = write(models=engine.models(), stop=stop, writer="model", known=read_known(engine, session, rows))
    fields = ledger_fields(made) | {"origin": "regenerated"}
    ledger = engine.store.ledger
    if ledger.replace(session.id, old.turns, old.rate, old.status, replaced=old.id, **fields) is not None:
        engine.store.revise(session.id)
