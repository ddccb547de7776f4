"""Makes many summaries anew, one after another, when the user asks for it: those that code extracted from a long past,
by the model; or those of another rate, at the rate of now.

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
from graph.summary import ChunkSource, Writer, is_hopeless, make_chunk_summary
from graph.summary.known import read_known
from graph.turn.process.engine import TurnEngine
from graph.turn.session.rebuild import messages_of
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.price import compute_call_price
from store import Session, SummaryRow

log = logging.getLogger(__name__)

NAME, REMAKE = "rewrite", "remake"
SAME_RATE = 1e-6
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


def make_offer(engine: TurnEngine, session: Session) -> RewriteOffer | None:
    """Returns what writing a session's extracted summaries takes; None where there are none, or code writes summaries.
    Raises the errors of resolving the models."""
    models = engine.models()
    count = engine.store.ledger.count_extracted(session.id) if models.side.summaries == "model" else 0
    return _estimate_rewrite_offer(models, session, count) if count else None


def make_rate_offer(engine: TurnEngine, session: Session) -> RewriteOffer | None:
    """Returns what making anew the summaries of other rates takes, nothing where code makes them; None where there are
    none. Raises the errors of resolving the models."""
    rates = engine.store.ledger.count_rates(session.id)
    count = sum(made for rate, made in rates.items() if abs(rate - session.compression_rate) > SAME_RATE)
    if not count:
        return None
    models = engine.models()
    return (
        _estimate_rewrite_offer(models, session, count)
        if models.side.summaries == "model"
        else RewriteOffer(count, 0, None)
    )


def _estimate_rewrite_offer(models: ModelSet, session: Session, count: int) -> RewriteOffer:
    tokens = session.history_tokens * CHUNK * count // max(1, session.turn_count)
    return estimate_offer(models, count, tokens, int(session.compression_rate * tokens))


def estimate_offer(models: ModelSet, count: int, tokens: int, written: int) -> RewriteOffer:
    """Returns what ``count`` summaries of turns with ``tokens`` in all take that get ``written`` tokens."""
    read = tokens + REQUEST_TOKENS * count
    price = None if models.alone else compute_call_price(models.side_name, read, 0, written, url=models.url)
    return RewriteOffer(count, read + written, price)


def start_rewrite(engine: TurnEngine, session_id: str) -> None:
    """Begins the work, or goes on with it."""
    engine.store.set_rewriting(session_id, "now")
    _submit_next(engine, session_id, sys.maxsize)


def stop_rewrite(engine: TurnEngine, session_id: str, forever: bool = False) -> None:
    """Ends the work; what is written stays. ``forever``: the user does not want to be asked again."""
    engine.store.set_rewriting(session_id, "never" if forever else "")
    engine.background.interrupt(rewrite_key(session_id))


def is_running(engine: TurnEngine, session_id: str, name: str = NAME) -> bool:
    """Returns whether a summary is being written, or waits for it. ``name``: of the work."""
    wanted: Hashable = (name, session_id)
    return engine.background.has(lambda job: job == wanted)


def _submit_next(engine: TurnEngine, session_id: str, before: int) -> None:
    work = partial(_write_next, engine, session_id, before)
    engine.aside(rewrite_key(session_id), work, f"{NAME} {session_id}")


def _write_next(engine: TurnEngine, session_id: str, before: int, stop: threading.Event) -> None:
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
        _write_summary(engine, session, left[-1], left[-1].rate, "model", stop)
    except SessionUnknown:  # deleted meanwhile
        return
    except GieokError as error:
        log.info("an extracted summary stays: %s", error.code)
        if not is_hopeless(error):
            return
    _submit_next(engine, session_id, left[-1].turns[0])


def start_remake(engine: TurnEngine, session_id: str) -> None:
    """Begins to make the summaries of other rates anew; what is made stays when it is stopped."""
    _submit_remake(engine, session_id, sys.maxsize)


def stop_remake(engine: TurnEngine, session_id: str) -> None:
    """Ends the work of ``start_remake``; the summary that is being written stays as it was."""
    engine.background.cancel((REMAKE, session_id))


def _submit_remake(engine: TurnEngine, session_id: str, before: int) -> None:
    engine.aside((REMAKE, session_id), partial(_remake_next, engine, session_id, before), f"{REMAKE} {session_id}")


def _remake_next(engine: TurnEngine, session_id: str, before: int, stop: threading.Event) -> None:
    """Makes the newest summary of another rate anew, of those before turn ``before``, and submits the next one. Ends as
    ``_write_next`` does."""
    try:
        session = engine.store.session(session_id)
        others = engine.store.ledger.find_at_other_rates(session_id, session.compression_rate)
        left = [each for each in others if each.turns[0] < before]
        if not left:
            return
        _write_summary(engine, session, left[-1], session.compression_rate, None, stop)
    except SessionUnknown:  # deleted meanwhile
        return
    except GieokError as error:
        log.info("a summary stays at its rate: %s", error.code)
        if not is_hopeless(error):
            return
    if stop.is_set():  # by a turn, behind which it goes on, or for good
        raise Stopped
    _submit_remake(engine, session_id, left[-1].turns[0])


def _write_summary(
    engine: TurnEngine, session: Session, old: SummaryRow, rate: float, writer: Writer | None, stop: threading.Event
) -> None:
    """Writes one summary in place of ``old``, unless somebody has changed that one meanwhile. ``writer``: None for the
    profile's.

    Does not hold the session: the user's next message need not wait, and the state is made anew before it.
    """
    rows = engine.store.turns_between(session.id, old.turns[0], old.turns[-1])
    messages = [message for row in rows for message in messages_of(row)]
    known = read_known(engine, session, rows)
    source = ChunkSource(messages, old.turns, session.id, rate, session.language, known, old.hint)
    made = make_chunk_summary(source, engine.models(), stop, writer=writer)
    origin = "extracted" if made.origin == "extracted" and writer is None else "regenerated"
    fields = ledger_fields(made) | {"origin": origin, "hint": old.hint}
    ledger = engine.store.ledger
    if ledger.replace(session.id, old.turns, rate, old.status, replaced=old.id, **fields) is not None:
        engine.store.mark_state_outdated(session.id)
