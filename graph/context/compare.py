"""Asks the same question under other summaries, side by side: at another rate, or with the history raw (design 4.6).

A question of the conversation is asked as it was asked then: with the turns before it, and with the memory, passages
and time of its prompt; without its own answer and the later turns.

Nothing is stored: no turn, no state. The cost of a variant is counted before the variant runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from langchain_core.messages import AnyMessage

from errors import TurnUnknown
from graph.context import exact_prompt
from graph.context.preview import build_changing_parts, next_prompt
from graph.context.prompt import BuiltPrompt, Changing, message_tokens
from graph.context.report import ContextReport
from graph.context.turns import find_last_covered_turn, make_question_message
from graph.node.summary import select_records_within_budget
from graph.state import SummaryRecord
from graph.summary import ChunkSource, Made, make_chunk_summary
from graph.turn.memory import long_term, past_turns
from graph.turn.process.engine import TurnEngine
from graph.turn.runtime import Inputs, TurnContext, build_call_arguments
from graph.turn.session.rebuild import build_session_state as state_of
from graph.turn.session.rebuild import messages_of, raw_messages
from model.call.stream import stream_answer
from model.call.thought import is_moved
from model.modelset import ModelSet
from model.price import compute_call_price
from store import Session, SummaryRow
from text.clean import clean_text

REQUEST_TOKENS = 200
"""Tokens of a summary call beside its turns, estimated: the instructions, and a repair now and then."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One side of a comparison. ``rate``: of its summaries, None for the summaries as they stand; ``full``: no
    summaries, the whole history raw."""

    rate: float | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a variant: the prompt of the answer, and the summaries that must be made first.
    ``usd``: None when unknown."""

    prompt_tokens: int
    summary_calls: int
    summary_tokens: int
    usd: float | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The end of one side: the whole answer and the report of its prompt."""

    text: str
    report: ContextReport
    stopped: bool


def estimate_variant_cost(
    engine: TurnEngine, session_id: str, text: str, variant: Variant, turn: int | None = None
) -> Cost:
    """Returns what ``stream_variant_answer`` would need, without calling the model."""
    session, models = _load_session_before(engine, session_id, turn), engine.models()
    missing = [chunk for chunk, record in _list_variant_chunks(engine, session, variant) if record is None]
    raw_tokens = sum(
        message_tokens(message, models.count)
        for chunk in missing
        for message in load_chunk_messages(engine, session.id, chunk)
    )
    tokens = raw_tokens + len(missing) * REQUEST_TOKENS
    now = replace(variant, rate=None)
    prompt = _build_variant_prompt(engine, session, text, now, models, turn).report.total_tokens
    price = compute_call_price(models.name, prompt + tokens, 0, engine.settings.answer_tokens // 2, url=models.url)
    return Cost(prompt, len(missing), tokens, price, models.exact)


def stream_variant_answer(
    engine: TurnEngine,
    session_id: str,
    text: str,
    variant: Variant,
    stop: threading.Event | None = None,
    turn: int | None = None,
) -> Iterator[str | Answered]:
    """Yields pieces of the answer as they arrive, then ``Answered``. Calls no tools.

    ``turn``: the turn whose question ``text`` replaces; None asks after the last turn. Raises ``TurnUnknown``,
    ``SummaryRejected`` when a summary cannot be made at the variant's rate, and the model's errors.
    """
    halt = stop or threading.Event()
    session, models = _load_session_before(engine, session_id, turn), engine.models()
    with engine.background.turn(lambda _key: False, engine.yields):
        prompt = _build_variant_prompt(engine, session, text, variant, models, turn, halt)
        pieces: list[str] = []
        for chunk in stream_answer(
            models.chat, prompt.messages, stop=halt, **build_call_arguments(engine.store.options.of(session.id))
        ):
            if is_moved(chunk):
                pieces.clear()
            if piece := clean_text(str(chunk.text)):
                pieces.append(piece)
                yield piece
    yield Answered("".join(pieces), prompt.report, halt.is_set())


def _load_session_before(engine: TurnEngine, session_id: str, turn: int | None) -> Session:
    """Returns the session as it stood before ``turn``; as it stands now when ``turn`` is None."""
    session = engine.store.session(session_id)
    if turn is None:
        return session
    if not 1 <= turn <= session.turn_count:
        raise TurnUnknown(session=session_id, turn=turn)
    return replace(session, turn_count=turn - 1, history_tokens=engine.store.tokens_before(session_id, turn))


def _load_given_parts(
    engine: TurnEngine, session: Session, models: ModelSet, turn: int | None, text: str
) -> Sequence[Changing]:
    """Returns the parts before the question. Memory is read only for a question at the end of the conversation, because
    memory holds only that state; the parts of an earlier turn come from the record."""
    if turn is None:
        remembered = long_term.load_memory_view(engine, session, models)
        return build_changing_parts(engine, session, remembered, models.profile, text)
    row = engine.store.turn(session.id, turn)
    return exact_prompt.rebuild_changing_parts(engine, row, session.language) if row else ()


def _build_variant_prompt(
    engine: TurnEngine,
    session: Session,
    text: str,
    variant: Variant,
    models: ModelSet,
    turn: int | None,
    stop: threading.Event | None = None,
) -> BuiltPrompt:
    number = session.turn_count + 1
    given = _load_given_parts(engine, session, models, turn, text)
    past = past_turns.find_past(engine, session, text, number, models.profile) if turn is None else None
    records = _make_variant_records(engine, session, variant, models, stop)
    rows = engine.store.turns_between(session.id, find_last_covered_turn(records) + 1, session.turn_count)
    messages = raw_messages(engine, session, rows, session.turn_count)
    all_messages = [*messages, make_question_message(clean_text(text), number, session.id)]
    return next_prompt(engine, session, models, all_messages, records, given, past, variant.full)


def _make_variant_records(
    engine: TurnEngine, session: Session, variant: Variant, models: ModelSet, stop: threading.Event | None
) -> list[SummaryRecord]:
    rate = variant.rate or session.compression_rate
    return [
        record or make_at(engine, session, chunk, rate, models, stop).record
        for chunk, record in _list_variant_chunks(engine, session, variant)
    ]


def _list_variant_chunks(
    engine: TurnEngine, session: Session, variant: Variant
) -> list[tuple[list[int], SummaryRecord | None]]:
    """Returns the chunks with summaries in the context, each with its record at the variant's rate, or None without
    one."""
    if variant.full:
        return []
    inputs = Inputs(budgets=engine.budgets)
    turn = TurnContext(engine.models(), engine.settings, inputs=inputs, ledger=engine.store.ledger)
    records = select_records_within_budget(
        state_of(engine, session, session.turn_count)["summary_history"], session.id, turn
    )
    if variant.rate is None:
        return [(record["turns"], record) for record in records]
    versions = [
        (record["turns"], version_at(engine, session.id, record["turns"][0], variant.rate)) for record in records
    ]
    return [(turns, cast(SummaryRecord, version.record) if version else None) for turns, version in versions]


def version_at(engine: TurnEngine, session_id: str, first_turn: int, rate: float) -> SummaryRow | None:
    """Returns the newest summary in the ledger of the chunk that begins with ``first_turn``, made at this rate; None
    where there is none. A summary in the user's own words has no rate."""
    fitting = [
        version
        for version in engine.store.ledger.versions(session_id, first_turn)
        if version.record and abs(version.rate - rate) < 1e-9 and version.origin != "edited"
    ]
    return fitting[-1] if fitting else None


def make_at(
    engine: TurnEngine,
    session: Session,
    chunk: list[int],
    rate: float,
    models: ModelSet,
    stop: threading.Event | None,
) -> Made:
    """Makes the summary of a chunk at a rate; stores nothing. Raises what ``graph.summary.make_chunk_summary``
    raises."""
    messages = load_chunk_messages(engine, session.id, chunk)
    return make_chunk_summary(ChunkSource(messages, chunk, session.id, rate, session.language), models, stop)


def load_chunk_messages(engine: TurnEngine, session_id: str, chunk: list[int]) -> list[AnyMessage]:
    """Returns the messages of a chunk's turns, from the record."""
    rows = engine.store.turns_between(session_id, chunk[0], chunk[-1])
    return [message for row in rows for message in messages_of(row)]
