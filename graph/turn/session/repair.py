"""Repairs a session whose last run was cut off, before the session takes a new message (design 3.5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, messages_to_dict
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from errors import Interrupted
from graph.context.prompt import raw_tokens
from graph.context.turns import is_answer, is_unanswered, make_closing_messages, open_calls
from graph.context.turns import make_question_message as question_message
from graph.state import ChatState
from graph.summary import backlog
from graph.turn.finish import build_finished_row, build_waiting_row, plain_error, turn_messages
from graph.turn.process.engine import TurnEngine, build_graph_config
from graph.turn.runtime import Notes
from graph.turn.session.rebuild import is_state_current, rebuild_session_state
from model.call import token
from store import Finished, Session, TurnRow
from store.database.engine import translate_database_errors
from store.path import branch_at
from store.record import TurnStatus
from store.turn.question import UserQuestion, parse_user_question
from text.clean import clean_text


def complete_last_turn(engine: TurnEngine, session: Session) -> TurnRow | None:
    """Returns the last turn; first copies its answer from the state if only the turn's row lacks the answer.

    If the turn was cut off in mid-answer, its row gets the text that had arrived.
    """
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("running", "failed"):
        return last
    state = engine.state_of(session)
    if last.status == "running" and (questions := open_questions(engine, session, last.number)):
        before = engine.store.partials.text(session.id, last.number)
        engine.store.finish_turn(
            session.id, last.number, build_waiting_row(questions, Notes(), last.seconds or 0.0, before)
        )
        return engine.store.turn(session.id, last.number)
    if not is_state_current(state, session, last.number) or not _has_state_answer(state):
        engine.store.partials.settle(session.id, last.number)
        return engine.store.turn(session.id, last.number)
    engine.store.finish_turn(
        session.id,
        last.number,
        build_finished_row(state["messages"], last.number, Notes(), tokens=_estimate_turn_tokens(state, last.number)),
    )
    return engine.store.turn(session.id, last.number)


def settle_last_turn(engine: TurnEngine, session: Session, status: TurnStatus | None) -> None:
    """Settles the last turn before a new one: writes an answer that its row lacks, marks the turn as failed, or ends
    its wait for the user, whose new message is a no. ``status``: of the last turn."""
    if status not in ("running", "failed", "waiting"):
        return
    last = complete_last_turn(engine, session)
    if last is not None and last.status == "waiting":
        _end_waiting_turn(engine, session, last)
    elif last is not None and last.status == "running":
        error = plain_error(Interrupted(turn=last.number))
        engine.store.finish_turn(session.id, last.number, Finished("failed", answer=last.answer, error=error))


def _end_waiting_turn(engine: TurnEngine, session: Session, last: TurnRow) -> None:
    """Ends a turn that waits, with what had been written of its answer, and what its tools still hold."""
    if engine.host is not None:
        engine.host.let_go([parse_user_question(plain) for plain in last.questions])
    snapshot = engine.snapshot(session.id)
    messages = [
        *snapshot.values.get("messages", ()),
        *make_closing_messages(snapshot.values.get("messages", ()), last.number),
    ]
    raw = (
        turn_messages(messages, last.number)
        if is_state_current(cast(ChatState, snapshot.values), session, last.number)
        else []
    )
    end = Finished(
        "stopped",
        last.answer or "",
        messages_to_dict(raw),
        steps=last.steps,
        report=last.report,
        usage=last.usage,
        seconds=last.seconds or 0.0,
        tokens=raw_tokens(raw, token.estimate_tokens),
    )
    engine.store.finish_turn(session.id, last.number, end)


def open_questions(engine: TurnEngine, session: Session, number: int) -> list[UserQuestion]:
    """Returns what turn ``number`` waits for, by its state; none when it does not wait, or has its answers already."""
    with translate_database_errors("the checkpoints"):
        kept = engine.checkpoints.saver.get_tuple(build_graph_config(session.id))
    if kept is None or not is_state_current(cast(ChatState, kept.checkpoint["channel_values"]), session, number):
        return []
    writes = [(channel, value) for _, channel, value in kept.pending_writes or ()]
    if any(channel == RESUME for channel, _ in writes):
        return []
    interrupts = [interrupt for channel, value in writes if channel == INTERRUPT for interrupt in value]
    return [parse_user_question(plain) for interrupt in interrupts for plain in interrupt.value]


def build_turn_input(engine: TurnEngine, session: Session, number: int, text: str, images: int = 0) -> dict[str, Any]:
    """Returns the graph's input for a new turn: messages that close the turn before it, then the question. ``images``:
    how many images go with the question.

    A state that does not belong to the record (a power cut, a lost file, another branch) is made anew first, and so is
    one that lacks more summaries than a model can be writing.
    """
    state = engine.state_of(session)
    if not is_state_current(state, session, number - 1):
        backlog.fill_gaps(engine, session, number - 1)
        state = rebuild_session_state(engine, session, number - 1)
    elif backlog.is_behind(state, number - 1) and backlog.fill_gaps(engine, session, number - 1, backlog.BEHIND):
        state = rebuild_session_state(engine, session, number - 1)
    return {
        "messages": [
            *close_last_turn(engine, session, state.get("messages", []), number - 1),
            question_message(clean_text(text), number, session.id, images),
        ],
        "session_id": session.id,
        "turn_count": number,
        "compression_rate": session.compression_rate,
        "language": session.language,
        "revision": session.revision,
        **({} if state else {"summary_history": []}),
        **({"asked": [], "answers": {}} if state.get("asked") or state.get("answers") else {}),
    }


def close_last_turn(
    engine: TurnEngine, session: Session, messages: Sequence[AnyMessage], number: int
) -> list[AnyMessage]:
    """Returns the messages that must follow turn ``number``, the last one, before a new message."""
    begun: Collection[str] = ()
    if open_calls(messages):
        branch = branch_at(session.path, number)
        begun = engine.store.begun_calls.find_interrupted(session.id, number, branch)
    return make_closing_messages(messages, number, begun)


def build_retry_input(engine: TurnEngine, session: Session, last: TurnRow, images: int = 0) -> dict[str, Any] | None:
    """Returns the graph's input to run the last turn again: None resumes at the node where the turn ended; a turn that
    never reached a node starts with an input."""
    snapshot = engine.snapshot(session.id)
    if snapshot.next and is_state_current(cast(ChatState, snapshot.values), session, last.number):
        return None
    return build_turn_input(engine, session, last.number, last.question, images)


def _estimate_turn_tokens(state: ChatState, number: int) -> int:
    """Returns an estimate of the turn's raw tokens: the models may not be ready when a session is opened."""
    return raw_tokens(turn_messages(state["messages"], number), token.estimate_tokens)


def _has_state_answer(state: ChatState) -> bool:
    messages = state.get("messages", [])
    return bool(messages) and is_answer(messages[-1]) and not is_unanswered(messages[-1])
