"""summary_node: brings due chunk summaries into the context (specification 3.5, design 5.1).

Level-triggered: every finished three-turn chunk without a summary is due, so the next turn makes up for a turn that was
skipped or failed. A turn seldom waits for a summary: code makes one in milliseconds, and while a model still writes
one, its turns stay raw. The turn waits only if these raw turns would overflow the context.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, cast

from langgraph.runtime import Runtime

from errors import GieokError
from graph.context.chunk import chunk_messages, describe_failure, is_paused, ledger_fields, stands_in
from graph.context.prompt import message_tokens, over_budget
from graph.context.turns import due_chunks, turn_number
from graph.node.connection import connect_turn_models
from graph.state import ChatState, SummaryRecord
from graph.summary import ChunkSource, make_chunk_summary
from graph.turn.event import SummaryLater, SummaryMade, SummaryStarted
from graph.turn.runtime import TurnContext, emit_turn_event, read_turn_context
from model.call.stream import Stopped

FULL = 0.8
"""Share of the prompt's room; a turn whose raw messages take more waits for a summary."""
MOST_DUE = 8
"""Most chunks that one turn takes care of; an imported conversation has more, and the background makes the rest."""


def is_summary_due(state: ChatState) -> bool:
    """Returns whether a finished chunk has no summary in the context yet: at turns 4, 7, 10 …, and after a failure."""
    return next(due_chunks(turn_number(state), state.get("summary_history") or []), None) is not None


def summary_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Appends the records of all due chunks; the oldest records leave over budget. Runs when ``is_summary_due``."""
    turn = read_turn_context(runtime)
    records = list(state.get("summary_history") or [])
    chunks = list(islice(due_chunks(turn_number(state), records), MOST_DUE))
    for chunk in chunks:
        record = None if turn.channel.is_stopped else _take_chunk_summary(chunk, state, runtime)
        if record is None:
            break
        records.append(record)
    retired = list_leaving_records(records, turn)
    if retired and turn.ledger:
        turn.ledger.retire(state["session_id"], records[len(retired)]["turns"][0])
    return {"summary_history": records[len(retired) :]}


def list_leaving_records(records: list[SummaryRecord], turn: TurnContext) -> list[SummaryRecord]:
    """Returns the oldest records over the budget of the settings: they leave the state, which all pages share."""
    return _list_records_over_budget(records, replace(turn, inputs=replace(turn.inputs, budgets={})))


def select_records_within_budget(
    records: Sequence[SummaryRecord], session_id: str, turn: TurnContext
) -> list[SummaryRecord]:
    """Returns the records for this page's prompt: all records of the state, unless the page has a budget of its own for
    them.

    Then the oldest over that budget stay out of this prompt alone, and records that have left the state return as far
    as there is room.
    """
    if "budget_summaries" not in turn.inputs.budgets or not records:
        return list(records)
    retired = turn.ledger.on_path(session_id, records[0]["turns"][0] - 1) if turn.ledger else []
    candidates = [*(cast(SummaryRecord, summary.record) for summary in retired), *records]
    return candidates[len(_list_records_over_budget(candidates, turn)) :]


def _list_records_over_budget(records: list[SummaryRecord], turn: TurnContext) -> list[SummaryRecord]:
    return over_budget(records, turn.limits().summaries, turn.models.count)


def _take_chunk_summary(chunk: list[int], state: ChatState, runtime: Runtime[TurnContext]) -> SummaryRecord | None:
    turn = read_turn_context(runtime)
    info = runtime.execution_info
    session_id = state.get("session_id") or (info.thread_id if info else None) or ""  # Gieok's runner sets the first
    rate = state.get("compression_rate", turn.settings.compression_rate)
    summary = turn.ledger.take(session_id, chunk, rate) if turn.ledger else None
    if summary is None and turn.models.side.summaries == "model":
        number = turn_number(state)
        if (
            turn.ledger
            and _waits_for_later(turn, session_id, chunk, number)
            and not _is_context_overflowing(state, turn)
        ):
            emit_turn_event(runtime, SummaryLater(tuple(chunk)))
            return None
        emit_turn_event(runtime, SummaryStarted(tuple(chunk)))
        if turn.ledger and turn.ahead and turn.ahead.finish(chunk, rate, turn.channel.stop):
            summary = turn.ledger.take(session_id, chunk, rate)
    if summary is None:
        return _make_summary_in_turn(chunk, state, session_id, rate, runtime)
    record = cast(SummaryRecord, summary.record)
    emit_turn_event(
        runtime, SummaryMade(tuple(summary.turns), record, summary.ahead, summary.seconds, tuple(summary.lost))
    )
    return record


def _waits_for_later(turn: TurnContext, session_id: str, chunk: list[int], number: int) -> bool:
    """Returns whether this turn does without the summary: it is made after answers, or the model's server failed."""
    if turn.settings.ahead or turn.ledger is None:
        return turn.settings.ahead
    return is_paused(turn.ledger.find_failure(session_id, chunk), number)


def _is_context_overflowing(state: ChatState, turn: TurnContext) -> bool:
    """Returns whether raw messages and summaries fill nearly all of the prompt's room."""
    raw = sum(message_tokens(message, turn.models.count) for message in state["messages"])
    limits = turn.limits()
    summaries = sum(turn.models.count(record["summary"]) for record in state.get("summary_history") or [])
    texts = (turn.inputs.options.system_prompt, turn.inputs.client_system)
    return raw + summaries + limits.system + sum(map(turn.models.count, texts)) > FULL * limits.prompt


def _make_summary_in_turn(
    chunk: list[int], state: ChatState, session_id: str, rate: float, runtime: Runtime[TurnContext]
) -> SummaryRecord | None:
    turn, began = read_turn_context(runtime), time.monotonic()
    messages = chunk_messages(state["messages"], turn_number(state), chunk)
    find_failure = partial(turn.ledger.find_failure, session_id, chunk) if turn.ledger else lambda: None

    def in_place(error: GieokError) -> bool:
        """Returns whether code writes instead: looked for after an error alone, for it counts the raw turns."""
        return stands_in(find_failure(), error) or _is_context_overflowing(state, turn)

    try:
        if turn.models.side.summaries == "model":
            connect_turn_models(turn)
        source = ChunkSource(
            messages, chunk, session_id, rate, state.get("language", "ko"), known=turn.read_known(chunk)
        )
        summary = make_chunk_summary(source, turn.models, turn.channel.stop, stands_in=in_place)
    except Stopped:
        return None
    except GieokError as error:
        if turn.ledger:
            turn.ledger.fail(session_id, chunk, rate, describe_failure(error, find_failure(), turn_number(state)))
        emit_turn_event(runtime, SummaryMade(tuple(chunk), None, False, time.monotonic() - began, error=str(error)))
        return None
    tokens = (summary.prompt_tokens, summary.cached_tokens, summary.answer_tokens)
    turn.notes.add_tokens(*tokens, summary.exact, turn.models, summary.calls, side=True)
    if turn.ledger:
        # the usage of this turn has the call
        turn.ledger.add(session_id, chunk, rate, "active", is_counted=False, **ledger_fields(summary))
    emit_turn_event(runtime, SummaryMade(tuple(chunk), summary.record, False, summary.seconds, tuple(summary.lost)))
    return summary.record
