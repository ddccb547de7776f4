"""ask_node: puts all open questions of the model's tool calls to the user at once, and waits (specification 14.1).

LangGraph's interrupt ends the run here. The next run, which brings the answers, begins this node anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from graph.state import ChatState
from graph.tool.client_tool import KIND
from graph.tool.question.asking import find_asking_tool
from graph.turn.runtime import TurnContext, read_turn_context
from store.turn.question import NO, UserAnswer, UserQuestion, parse_user_answer, parse_user_question

ANSWERS = "answers"
"""Key of the answers in what a waiting graph is resumed with."""


def ask_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the user's answers, by the ids of the questions; a question that was left out counts as refused. Where
    nobody can be asked, only a client is, for the results of its own tools."""
    turn = read_turn_context(runtime)
    questions = [parse_user_question(plain) for plain in state.get("asked") or ()]
    given: Mapping[str, Any] = {}
    put = [asked for asked in questions if turn.inputs.asks or asked.kind == KIND]
    if put and not turn.channel.is_stopped:
        given = interrupt([asked.plain() for asked in put])[ANSWERS]
    answers = {asked.id: _read_given_answer(asked, given.get(asked.id)) for asked in questions}
    _apply_tool_approvals(questions, answers, turn.inputs.tools)
    plain = {id_: answered.plain() for id_, answered in answers.items()}
    return {"asked": [], "answers": {**(state.get("answers") or {}), **plain}}


def _read_given_answer(asked: UserQuestion, given: Mapping[str, Any] | None) -> UserAnswer:
    return replace(parse_user_answer(given) if given is not None else NO, state=asked.state)


def _apply_tool_approvals(
    questions: Sequence[UserQuestion], answers: Mapping[str, UserAnswer], tools: Sequence[BaseTool]
) -> None:
    """Lets the tools keep the answers that hold for later calls."""
    for asked in questions:
        tool = find_asking_tool(asked.tool, tools)
        if asked.kind == "approve" and tool is not None:
            tool.allow(answers[asked.id].action)
