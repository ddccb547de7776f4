"""The same question under other summaries, side by side: another rate, or the whole history raw (design §4).

A question of the conversation is asked as it was then: with what had been said before its turn, and with what it was
given of memory, passages and time; without its own answer and what followed.

Nothing is stored: no turn, no state. What a variant costs is counted before it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import AnyMessage

from errors import TurnUnknown
from graph import exact, memory
from graph.context import Changing, Prompt, message_tokens
from graph.engine import Engine
from graph.node.summary import within
from graph.preview import changing, next_prompt
from graph.rebuild import made as state_of
from graph.rebuild import messages_of
from graph.report import ContextReport
from graph.runtime import TurnContext
from graph.state import SummaryRecord
from graph.summary import make
from graph.turns import covered, question
from model.modelset import ModelSet
from model.price import usd
from model.stream import stream
from store import Session
from text.clean import clean

REQUEST_TOKENS = 200
"""What a summary call adds to its turns: the instructions, and a repair now and then."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One side of a comparison: summaries at ``rate``, as they stand when it is None; ``full``: no summaries."""

    rate: float | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """What a variant needs: the prompt of the answer, and the summaries that must be made first. ``usd``: if known."""

    prompt_tokens: int
    summary_calls: int
    summary_tokens: int
    usd: float | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of one side: the whole answer and what the model was given for it."""

    text: str
    report: ContextReport
    stopped: bool


def cost(engine: Engine, session_id: str, text: str, variant: Variant, turn: int | None = None) -> Cost:
    """What ``answer`` would need, without calling the model."""
    session, models = _before(engine, session_id, turn), engine.models()
    missing = [chunk for chunk, record in _chunks(engine, session, variant) if record is None]
    made_of = sum(message_tokens(each, models.count) for chunk in missing for each in _raw(engine, session, chunk))
    tokens = made_of + len(missing) * REQUEST_TOKENS
    now = replace(variant, rate=None)
    prompt = _prompt(engine, session, text, now, models, _given(engine, session, models, turn)).report.total_tokens
    price = usd(models.name, prompt + tokens, 0, engine.settings.answer_tokens // 2, url=models.url)
    return Cost(prompt, len(missing), tokens, price, models.exact)


def answer(
    engine: Engine,
    session_id: str,
    text: str,
    variant: Variant,
    stop: threading.Event | None = None,
    turn: int | None = None,
) -> Iterator[str | Answered]:
    """Pieces of the answer as they arrive, then ``Answered``. Tools are not called.

    ``turn``: where the text is asked, in place of that turn's question; None: after the last turn. Raises
    ``TurnUnknown``, ``SummaryRejected`` when a summary cannot be made at the variant's rate, and what the model raises.
    """
    halt = stop or threading.Event()
    session, models = _before(engine, session_id, turn), engine.models()
    with engine.background.turn(lambda _key: False, engine.yields):
        prompt = _prompt(engine, session, text, variant, models, _given(engine, session, models, turn), halt)
        pieces: list[str] = []
        for chunk in stream(models.chat, prompt.messages, stop=halt):
            if piece := clean(str(chunk.text)):
                pieces.append(piece)
                yield piece
    yield Answered("".join(pieces), prompt.report, halt.is_set())


def _before(engine: Engine, session_id: str, turn: int | None) -> Session:
    """The session as it stood before ``turn``, or as it stands."""
    session = engine.store.session(session_id)
    if turn is None:
        return session
    if not 1 <= turn <= session.turn_count:
        raise TurnUnknown(session=session_id, turn=turn)
    return replace(session, turn_count=turn - 1, history_tokens=engine.store.tokens_before(session_id, turn))


def _given(engine: Engine, session: Session, models: ModelSet, turn: int | None) -> Sequence[Changing]:
    """What stands before the question. The memory itself is at the end of the conversation: it is asked only there."""
    if turn is None:
        remembered = memory.before(engine, session, models, session.turn_count + 1)
        return changing(engine, session, remembered, models.profile)
    row = engine.store.turn(session.id, turn)
    return exact.changing(engine, row, session.language) if row else ()


def _prompt(
    engine: Engine,
    session: Session,
    text: str,
    variant: Variant,
    models: ModelSet,
    given: Sequence[Changing],
    stop: threading.Event | None = None,
) -> Prompt:
    number = session.turn_count + 1
    records = _records(engine, session, variant, models, stop)
    raw = engine.store.turns_between(session.id, covered(records) + 1, session.turn_count)
    messages = [message for turn in raw for message in messages_of(turn)]
    asked = [*messages, question(clean(text), number, session.id)]
    return next_prompt(engine, session, models, asked, records, given)


def _records(
    engine: Engine, session: Session, variant: Variant, models: ModelSet, stop: threading.Event | None
) -> list[SummaryRecord]:
    return [
        record or _made(engine, session, variant, chunk, models, stop)
        for chunk, record in _chunks(engine, session, variant)
    ]


def _chunks(engine: Engine, session: Session, variant: Variant) -> list[tuple[list[int], SummaryRecord | None]]:
    """The chunks that have summaries in the context, each with its record at the variant's rate, if there is one."""
    if variant.full:
        return []
    turn = TurnContext(engine.models(), engine.settings, engine.budgets, ledger=engine.store.ledger)
    records = within(state_of(engine, session, session.turn_count)["summary_history"], session.id, turn)
    if variant.rate is None:
        return [(record["turns"], record) for record in records]
    return [(record["turns"], _at(engine, session, record, variant.rate)) for record in records]


def _at(engine: Engine, session: Session, record: SummaryRecord, rate: float) -> SummaryRecord | None:
    known = engine.store.ledger.versions(session.id, record["turns"][0])
    fitting = [
        each.record for each in known if each.record and abs(each.rate - rate) < 1e-9 and each.origin != "edited"
    ]
    return cast(SummaryRecord, fitting[-1]) if fitting else None


def _made(
    engine: Engine,
    session: Session,
    variant: Variant,
    chunk: list[int],
    models: ModelSet,
    stop: threading.Event | None,
) -> SummaryRecord:
    return make(
        _raw(engine, session, chunk),
        chunk,
        thread_id=session.id,
        rate=variant.rate or session.compression_rate,
        models=models,
        language=session.language,
        stop=stop,
    ).record


def _raw(engine: Engine, session: Session, chunk: list[int]) -> list[AnyMessage]:
    rows = engine.store.turns_between(session.id, chunk[0], chunk[-1])
    return [message for row in rows for message in messages_of(row)]
