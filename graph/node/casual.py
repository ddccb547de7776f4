"""casual_node: a greeting or thanks gets one short call without tools, summaries or tool descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from errors import EmptyMessage
from graph.casual import is_casual
from graph.context import digest, mark, message_tokens
from graph.event import ContextBuilt
from graph.node.llm import respond, stopped
from graph.report import ContextReport, LeftOut, Part
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from graph.turns import current, turn_number
from model.profile import Profile
from prompt import render
from text.language import detect

ASKED = 200
"""Characters at the end of an answer in which a question mark asks the user."""


def casual_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """The short answer; still a turn."""
    turn = context(runtime)
    if turn.stop.is_set():
        return {"messages": [stopped("")]}
    question = _question(state)
    language = detect(question, state.get("language", "ko"))  # the conversation's own may not be known yet
    prompt = casual_prompt(render("casual", language), question)
    turn.notes.report, turn.notes.system = _report(prompt, state, turn), str(prompt[0].text)
    emit(runtime, ContextBuilt(turn.notes.report))
    return {"messages": [respond(turn.models.chat, prompt, runtime)]}


def casual_prompt(system: str, question: str) -> list[AnyMessage]:
    """The whole prompt of a casual turn."""
    return [SystemMessage(system), HumanMessage(question)]


def wants_casual(state: ChatState, profile: Profile) -> bool:
    """Whether the turn is only a greeting, thanks or the like, and answers no question of the message before it.

    A bare prompt has no shorter form, so there is no fast path for it. Raises ``EmptyMessage`` without a user's
    message.
    """
    question = _question(state)
    return profile.prompt == "full" and is_casual(question) and not _asked(state["messages"])


def _asked(messages: Sequence[AnyMessage]) -> bool:
    """Whether the message before the turn's own asked the user something."""
    own = current(messages)
    before = str(messages[-len(own) - 1].text) if len(messages) > len(own) else ""
    return any(mark in before[-ASKED:] for mark in ("?", "？"))


def _question(state: ChatState) -> str:
    asked = current(state["messages"])
    if not asked or not isinstance(asked[0], HumanMessage):
        raise EmptyMessage
    return str(asked[0].text)


def _report(prompt: list[AnyMessage], state: ChatState, turn: TurnContext) -> ContextReport:
    number, count, limits = turn_number(state), turn.models.count, turn.limits()
    system, asked = (message_tokens(message, count) for message in prompt)
    said = Part("system", system, limits.system, mark=mark(str(prompt[0].text)))
    parts = (said, Part("question", asked, limits.question, (str(number),)))
    earlier = (LeftOut(f"1-{number - 1}" if number > 2 else "1", "casual"),) if number > 1 else ()
    total = system + asked
    full = total + turn.history_tokens
    return ContextReport(number, parts, earlier, total, full, turn.models.exact, digest(prompt))
