"""llm_node: builds the prompt, has tools chosen, streams the answer (context-managing.md «llm_node»)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, RemoveMessage, ToolCall
from langgraph.runtime import Runtime

from errors import AnswerCutOff, EmptyAnswer, ToolsUsedUp
from graph import choice, reply
from graph.call import calls_of, storable
from graph.context import FROZEN_TOKENS, Changing, Prompt, block, build, message_tokens
from graph.event import ContextBuilt, Token
from graph.node.summary import within
from graph.runtime import TurnContext, context, emit
from graph.state import ChatState
from graph.system import system_prompt
from graph.turns import covered, current, split, tool_rounds, turn_number
from model.stream import Model, Stopped, cut_off, stream, usage
from text import loop
from text.clean import clean


def llm_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """The model's next message: tool calls, or the answer; with the answer the summarised turns leave the state.

    Raises ``ContextTooLong``, ``EmptyAnswer`` and what the upstream raises.
    """
    turn, messages = context(runtime), list(state["messages"])
    if turn.stop.is_set():
        return {"messages": [stopped("")]}
    try:
        found = turn.retrieve(messages)
    except Stopped:
        return {"messages": [stopped("")]}
    language = state.get("language", "ko")
    if calls := _chosen(messages, turn):
        return {"messages": [AIMessage("", tool_calls=calls)]}
    if worded := _worded(messages, language, runtime):
        return {"messages": [*_covered(state), worded]}
    system = system_prompt(turn.models.profile, language, turn.tools)
    prompt = _prompt(state, turn, system, found)
    turn.notes.report, turn.notes.system = prompt.report, system
    emit(runtime, ContextBuilt(prompt.report))
    tools = turn.tools if tool_rounds(messages) < turn.settings.tool_limit else ()
    message = respond(choice.prepare(turn.models, tools), prompt.messages, runtime, tools)
    if message.tool_calls:
        return {"messages": [message]}
    return {"messages": [*_frozen(messages, language, prompt, turn), *_covered(state), message]}


def stopped(text: str) -> AIMessage:
    """A partial answer that the user stopped."""
    return AIMessage(text, response_metadata={"stopped": True})


def _prompt(state: ChatState, turn: TurnContext, system: str, found: Sequence[Changing]) -> Prompt:
    return build(
        state["messages"],
        within(state.get("summary_history") or [], state.get("session_id", ""), turn),
        turn_number(state),
        language=state.get("language", "ko"),
        system=system,
        count=turn.models.count,
        exact=turn.models.exact,
        limits=turn.limits(),
        changing=[*turn.changing, *found],
        history_tokens=turn.history_tokens,
        beside=choice.form_tokens(turn.models, turn.tools),
        layout=choice.layout(turn.models.profile),
    )


def _chosen(messages: list[AnyMessage], turn: TurnContext) -> list[ToolCall]:
    """The calls that a router makes at the start of a turn; none without one, or where tools are off."""
    if tool_rounds(messages) or not turn.settings.tool_limit:
        return []
    return storable(choice.choose(turn.models.profile, turn.tools, messages))


def _worded(messages: list[AnyMessage], language: str, runtime: Runtime[TurnContext]) -> AIMessage | None:
    """The answer that code words from what tools or a first search gave, where the profile wants it and it can; no
    model is called."""
    turn = context(runtime)
    if turn.models.profile.documents != "quoted":
        return None
    text = reply.word(current(messages), language)
    if text is None and turn.settings.retrieval_first:
        searches = (step.artifact for _, step in turn.notes.steps if step.artifact)
        text = next((text for found in searches if (text := reply.quote(found, language))), None)
    if text is None:
        return None
    turn.notes.first_token = time.monotonic()
    emit(runtime, Token(text))
    return AIMessage(text, response_metadata={"model": ""})


def respond(
    model: Model, prompt: list[AnyMessage], runtime: Runtime[TurnContext], tools: Sequence[Any] = ()
) -> AIMessage:
    """Streams one model call as ``Token`` events; stops between any two tokens when asked to.

    An answer of a small model that goes round in circles ends there, and its repetitions are dropped. Tool calls of a
    model that was offered no ``tools`` are ignored. Raises ``EmptyAnswer`` when neither text nor a tool
    call came, ``AnswerCutOff`` when the tokens were used up before one did, as by a model that thinks first, and
    ``ToolsUsedUp`` when it wanted only tools that it may not use any more.
    """
    turn = context(runtime)
    whole: AIMessageChunk | None = None
    said, circle = "", None
    for chunk in stream(model, prompt, stop=turn.stop):
        whole = chunk if whole is None else whole + chunk
        if text := clean(str(chunk.text)):
            turn.notes.first_token = turn.notes.first_token or time.monotonic()
            emit(runtime, Token(text))
            said += text
            circle = loop.begins(said) if turn.models.profile.prompt == "bare" else None
        if circle is not None:  # it would go on until its tokens are used up
            break
    text = clean(str(whole.text)) if whole is not None else ""
    text = text if circle is None else said[:circle].rstrip()
    if whole is not None and usage(whole)[-1]:
        turn.notes.add(whole, turn.models)
    else:  # stopped, or a server that counts nothing
        read = sum(message_tokens(message, turn.models.count) for message in prompt)
        read += choice.form_tokens(turn.models, tools)
        turn.notes.add_tokens(read, 0, turn.models.count(text), False, turn.models)
    if turn.stop.is_set():
        return stopped(text)
    calls = calls_of(whole) if whole is not None and tools else []
    if whole is not None and cut_off(whole):
        turn.notes.cut_at = usage(whole)[2] or turn.settings.answer_tokens
    if not (text.strip() or calls):
        if turn.notes.cut_at:
            raise AnswerCutOff(tokens=turn.notes.cut_at)
        raise ToolsUsedUp(limit=turn.settings.tool_limit) if whole is not None and whole.tool_calls else EmptyAnswer
    return AIMessage(text, tool_calls=calls, response_metadata={"model": turn.models.name})


def _covered(state: ChatState) -> list[RemoveMessage]:
    """Removals of the turns that a summary covers, but for the last of them, which is short-term memory: their rows and
    their ledger entry are written by now.

    None where nobody counts the turns (LangGraph's own tools): there the messages are what is counted.
    """
    if not state.get("turn_count"):
        return []
    last = covered(state.get("summary_history") or [])
    turns = split(state["messages"], turn_number(state))
    return [RemoveMessage(str(message.id)) for each in turns if each.number < last for message in each.messages]


def _frozen(messages: list[AnyMessage], language: str, prompt: Prompt, turn: TurnContext) -> list[AnyMessage]:
    """The question with its short block of what changes, and with marks of the lasting parts that stand before it, so
    that the next prompt continues this one."""
    text = block(turn.changing, language)
    question, *_ = current(messages)
    extra: dict[str, Any] = {"block": text} if text and turn.models.count(text) <= FROZEN_TOKENS else {}
    extra |= {"given": prompt.given} if prompt.given else {}
    return [question.model_copy(update={"additional_kwargs": {**question.additional_kwargs, **extra}})] if extra else []
