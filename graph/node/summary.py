"""summary_node: brings due chunk summaries into the context (context-managing.md «summary_node 동작», design §5).

Level-triggered: whatever three-turn chunk is finished and not covered is due, so a turn that was skipped or failed is
made up for by the next. Nobody waits for a summary: code makes one in milliseconds, and one that a model still writes
leaves its turns raw until the next turn. Only where these would overflow the context it is waited for.
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
from graph.chunk import chunk_messages, ledger_error, ledger_fields
from graph.context import message_tokens, over_budget
from graph.event import SummaryLater, SummaryMade, SummaryStarted
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState, SummaryRecord
from graph.summary import make
from graph.turns import due_chunks, turn_number
from model.stream import Stopped

FULL = 0.8
"""Share of the prompt's room above which a turn waits for a summary rather than keep its turns raw."""
MOST_DUE = 8
"""Chunks that one turn looks after; an imported conversation has more, and they are made in the background."""


def is_due(state: ChatState) -> bool:
    """Whether a finished chunk has no summary in the context yet: at turns 4, 7, 10 …, and after a failure."""
    return next(due_chunks(turn_number(state), state.get("summary_history") or []), None) is not None


def summary_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Appends the records of all due chunks; the oldest leave when they outgrow their budget. Runs when ``is_due``."""
    turn = context(runtime)
    records = list(state.get("summary_history") or [])
    chunks = list(islice(due_chunks(turn_number(state), records), MOST_DUE))
    for chunk in chunks:
        record = None if turn.stop.is_set() else _summary(chunk, state, runtime)
        if record is None:
            break
        records.append(record)
    gone = leaving(records, turn)
    if gone and turn.ledger:
        turn.ledger.retire(state["session_id"], records[len(gone)]["turns"][0])
    return {"summary_history": records[len(gone) :]}


def leaving(records: list[SummaryRecord], turn: TurnContext) -> list[SummaryRecord]:
    """The oldest records over the budget of the settings: they leave the state, which all pages share."""
    return _over(records, replace(turn, budgets={}))


def within(records: Sequence[SummaryRecord], session_id: str, turn: TurnContext) -> list[SummaryRecord]:
    """Of the records in the state those that the prompt has: all, unless the page has a budget of its own for them.

    Then the oldest stay out of this prompt alone, and those that have left the state are in it as far as there is room.
    """
    if "budget_summaries" not in turn.budgets or not records:
        return list(records)
    left = turn.ledger.on_path(session_id, records[0]["turns"][0] - 1) if turn.ledger else []
    every = [*(cast(SummaryRecord, each.record) for each in left), *records]
    return every[len(_over(every, turn)) :]


def _over(records: list[SummaryRecord], turn: TurnContext) -> list[SummaryRecord]:
    """The oldest records over budget, as far as long-term memory holds their turns (design §4).

    At twice the budget they go in any case.
    """
    budget, count = turn.limits().summaries, turn.models.count
    oldest = over_budget(records, budget, count)
    if turn.unfolded is None:
        return oldest
    folded = [record for record in oldest if record["turns"][-1] < turn.unfolded]
    return max(folded, over_budget(records, 2 * budget, count), key=len)


def _summary(chunk: list[int], state: ChatState, runtime: Runtime[TurnContext]) -> SummaryRecord | None:
    turn = context(runtime)
    info = runtime.execution_info
    session_id = state.get("session_id") or (info.thread_id if info else None) or ""  # Gieok's runner gives the first
    rate = state.get("compression_rate", turn.settings.compression_rate)
    found = turn.ledger.take(session_id, chunk, rate) if turn.ledger else None
    if found is None and turn.models.side.summaries == "model":
        if turn.ledger and turn.settings.ahead and not _overflows(state, turn):
            emit(runtime, SummaryLater(tuple(chunk)))
            return None
        emit(runtime, SummaryStarted(tuple(chunk)))
        if turn.finish_ahead(chunk, rate, turn.stop) and turn.ledger:
            found = turn.ledger.take(session_id, chunk, rate)
    if found is None:
        return _make(chunk, state, session_id, rate, runtime)
    record = cast(SummaryRecord, found.record)
    emit(runtime, SummaryMade(tuple(found.turns), record, found.ahead, found.seconds, tuple(found.lost)))
    return record


def _overflows(state: ChatState, turn: TurnContext) -> bool:
    """Whether what is raw now fills nearly all that the prompt may have."""
    raw = sum(message_tokens(message, turn.models.count) for message in state["messages"])
    given = turn.limits()
    summaries = sum(turn.models.count(record["summary"]) for record in state.get("summary_history") or [])
    return raw + summaries + given.system > FULL * given.prompt


def _make(
    chunk: list[int], state: ChatState, session_id: str, rate: float, runtime: Runtime[TurnContext]
) -> SummaryRecord | None:
    turn, began = context(runtime), time.monotonic()
    messages = chunk_messages(state["messages"], turn_number(state), chunk)
    write = partial(make, messages, chunk, thread_id=session_id, rate=rate, language=state.get("language", "ko"))
    again = partial(turn.ledger.hopeless, session_id, chunk) if turn.ledger else lambda: False
    try:
        made = write(models=turn.models, stop=turn.stop, again=again)
    except Stopped:
        return None
    except GieokError as error:
        _failed(chunk, rate, error, session_id, time.monotonic() - began, runtime)
        return None
    turn.notes.add_tokens(made.prompt_tokens, 0, made.answer_tokens, made.exact, turn.models, made.calls, side=True)
    if turn.ledger:
        turn.ledger.add(session_id, chunk, rate, "active", **ledger_fields(made))
    emit(runtime, SummaryMade(tuple(chunk), made.record, False, made.seconds, tuple(made.lost)))
    return made.record


def _failed(
    chunk: list[int], rate: float, error: GieokError, session_id: str, seconds: float, runtime: Runtime[TurnContext]
) -> None:
    turn = context(runtime)
    if turn.ledger:
        before = turn.ledger.hopeless(session_id, chunk)
        turn.ledger.fail(session_id, chunk, rate, ledger_error(error, before))
    emit(runtime, SummaryMade(tuple(chunk), None, False, seconds, error=str(error)))
