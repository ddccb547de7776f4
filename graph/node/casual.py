"""casual_node: a greeting or thanks gets one short call without tools, summaries or tool descriptions."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from errors import EmptyMessage
from graph.casual import is_casual
from graph.context import digest, mark, message_tokens
from graph.event import ContextBuilt
from graph.hint import courtesy
from graph.node.llm import respond, stopped
from graph.report import ContextReport, LeftOut, Part
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from graph.turns import current, turn_number
from model.stream import Model
from prompt import render
from text.language import detect

CASUAL_TOKENS = 160
"""Longest answer of the embedded model to a greeting."""


def casual_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """The short answer; still a turn."""
    turn = context(runtime)
    if turn.stop.is_set():
        return {"messages": [stopped("")]}
    question = _question(state)
    language = detect(question, state.get("language", "ko"))  # the conversation's own may not be known yet
    hint = courtesy(turn.models, question, language)
    prompt = casual_prompt(render("casual", language), question, hint)
    turn.notes.report, turn.notes.system = _report(prompt, hint, state, turn), str(prompt[0].text)
    emit(runtime, ContextBuilt(turn.notes.report))
    model: Model = turn.models.casual
    if turn.models.kind == "embedded":  # its side role has no limit of its own, and a small model may not end
        model = model.bind(max_tokens=CASUAL_TOKENS)
    made = respond(model, prompt, runtime)
    turn.notes.cut_at = 0  # no setting makes it longer
    return {"messages": [made]}


def casual_prompt(system: str, question: str, hint: str = "") -> list[AnyMessage]:
    """The whole prompt of a casual turn; ``hint``: how to answer, before the question."""
    return [SystemMessage(system), HumanMessage(f"{hint}\n\n{question}" if hint else question)]


def wants_casual(state: ChatState) -> bool:
    """Whether the turn is only a greeting, thanks or the like. Raises ``EmptyMessage`` without a user's message."""
    return is_casual(_question(state))


def _question(state: ChatState) -> str:
    asked = current(state["messages"])
    if not asked or not isinstance(asked[0], HumanMessage):
        raise EmptyMessage
    return str(asked[0].text)


def _report(prompt: list[AnyMessage], hint: str, state: ChatState, turn: TurnContext) -> ContextReport:
    number, count, limits = turn_number(state), turn.models.count, turn.limits()
    system, asked = (message_tokens(message, count) for message in prompt)
    told = count(hint) if hint else 0
    said = Part("system", system, limits.system, mark=mark(str(prompt[0].text)))
    hinted = (Part("hint", told, 0, text=hint),) if hint else ()
    parts = (said, *hinted, Part("question", asked - told, limits.question, (str(number),)))
    earlier = (LeftOut(f"1-{number - 1}" if number > 2 else "1", "casual"),) if number > 1 else ()
    total = system + asked
    full = total + turn.history_tokens
    return ContextReport(number, parts, earlier, total, full, turn.models.exact, digest(prompt))
