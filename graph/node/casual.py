"""casual_node: answers a greeting or thanks with one short call, without tools, summaries or tool descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from errors import Empty
from graph.answer.casual import is_casual
from graph.context.prompt import hash_prompt_messages, message_tokens
from graph.context.report import ContextReport, PromptOmission, ReportPart
from graph.context.turns import find_current_messages, turn_number
from graph.node.connection import connect_turn_models
from graph.node.llm import make_stopped_answer, stream_model_answer
from graph.state import ChatState
from graph.turn.event import ContextBuilt
from graph.turn.runtime import TurnContext, emit_turn_event, read_turn_context
from model.call.stream import Stopped
from model.profile import Profile
from prompt import render_prompt
from store.turn.wording import build_text_mark
from text.language import detect_language
from text.sentence import QUESTION_MARKS

ASKED = 200
"""Characters at the end of an answer in which a question mark means that the answer asks the user something."""


def casual_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the short answer. The exchange still counts as a turn."""
    turn = read_turn_context(runtime)
    if turn.channel.is_stopped:
        return {"messages": [make_stopped_answer("")]}
    try:
        connect_turn_models(turn)
    except Stopped:
        return {"messages": [make_stopped_answer("")]}
    question = _read_current_question(state)
    language = detect_language(
        question, state.get("language", "ko")
    )  # the conversation's language may not be known yet
    prompt = casual_prompt(render_prompt("casual", language), question)
    turn.notes.report, turn.notes.system = _build_casual_report(prompt, state, turn), str(prompt[0].text)
    emit_turn_event(runtime, ContextBuilt(turn.notes.report))
    return {"messages": [stream_model_answer(turn.models.chat, prompt, runtime)]}


def casual_prompt(system: str, question: str) -> list[AnyMessage]:
    """Returns the whole prompt of a casual turn."""
    return [SystemMessage(system), HumanMessage(question)]


def wants_casual(state: ChatState, profile: Profile) -> bool:
    """Returns whether the message is only a greeting, thanks or the like, and does not answer a question of the model.

    False for a bare prompt, which has no shorter form. Raises ``Empty`` without a user's message.
    """
    question = _read_current_question(state)
    return profile.prompt == "full" and is_casual(question) and not _has_question_before(state["messages"])


def _has_question_before(messages: Sequence[AnyMessage]) -> bool:
    """Returns whether the message before this turn asked the user something."""
    turn = find_current_messages(messages)
    before = str(messages[-len(turn) - 1].text) if len(messages) > len(turn) else ""
    return any(sign in before[-ASKED:] for sign in QUESTION_MARKS)


def _read_current_question(state: ChatState) -> str:
    messages = find_current_messages(state["messages"])
    if not messages or not isinstance(messages[0], HumanMessage):
        raise Empty(what="message")
    return str(messages[0].text)


def _build_casual_report(prompt: list[AnyMessage], state: ChatState, turn: TurnContext) -> ContextReport:
    number, count, limits = turn_number(state), turn.models.count, turn.limits()
    system, question = (message_tokens(message, count) for message in prompt)
    system_part = ReportPart("system", system, limits.system, mark=build_text_mark(str(prompt[0].text)))
    parts = (system_part, ReportPart("question", question, limits.question, (str(number),)))
    earlier = (PromptOmission(f"1-{number - 1}" if number > 2 else "1", "casual"),) if number > 1 else ()
    total = system + question
    full = total + turn.inputs.history_tokens
    return ContextReport(number, parts, earlier, total, full, turn.models.exact, hash_prompt_messages(prompt))
