"""llm_node: builds the prompt, lets tools be chosen, streams the answer (specification 4.4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, RemoveMessage, ToolCall
from langgraph.runtime import Runtime

from errors import AnswerCutOff, EmptyAnswer, ToolsUsedUp
from graph import choice
from graph.answer import by_code
from graph.answer.equation import Equations
from graph.answer.stop_word import StopWords
from graph.choice import expression, named
from graph.choice.expression import Sum
from graph.context.prompt import FROZEN_TOKENS, Changing, Prompt, block, build, message_tokens, short_term
from graph.context.system_prompt import system_prompt
from graph.context.turns import covered, current, split, tool_rounds, turn_number
from graph.node.summary import within
from graph.state import ChatState
from graph.tool.tool_call import calls_of, storable
from graph.turn.event import ContextBuilt, Token, ToolFinished, ToolStarted
from graph.turn.runtime import TurnContext, asked, context, emit
from model.call.stream import Model, Stopped, cut_off, stream, summed, usage
from text import loop
from text.clean import clean

SENT_STOPS = 4
"""The most stop words that OpenAI takes; the others are looked for here alone."""


def llm_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the model's next message: tool calls, or the answer. With the answer, the summarised turns leave the
    state.

    Raises ``ContextTooLong``, ``EmptyAnswer`` and the errors of the model's server.
    """
    turn, messages = context(runtime), list(state["messages"])
    if turn.channel.stopped:
        return {"messages": [stopped("")]}
    try:
        documents = turn.search.first(messages) if turn.search else ()
    except Stopped:
        return {"messages": [stopped("")]}
    language = state.get("language", "ko")
    prompt = partial(_prompt, state, turn, documents)
    try:
        calls = _named(messages, turn, language, prompt)
        calls = calls or _chosen(messages, turn, partial(_expression, turn, language, prompt))
    except Stopped:
        return {"messages": [stopped("")]}
    if calls:
        return {"messages": [AIMessage("", tool_calls=calls)]}
    if answer := _worded(messages, language, runtime):
        return {"messages": [*_covered(state, turn), answer]}
    given = prompt()
    emit(runtime, ContextBuilt(given.report))
    tools = turn.inputs.tools if tool_rounds(messages) < turn.settings.tool_limit else ()
    message = respond(choice.prepare(turn.models, tools), given.messages, runtime, tools)
    if message.tool_calls:
        return {"messages": [message]}
    return {"messages": [*_frozen(messages, language, given, turn), *_covered(state, turn), message]}


def stopped(text: str) -> AIMessage:
    """Returns a partial answer that the user stopped."""
    return AIMessage(text, response_metadata={"stopped": True})


def _prompt(state: ChatState, turn: TurnContext, found: Sequence[Changing]) -> Prompt:
    """Returns what the model is given, and notes it for the turn's report."""
    system = system_prompt(
        turn.models.profile, state.get("language", "ko"), turn.inputs.tools, own=turn.inputs.own_role
    )
    prompt = build(
        state["messages"],
        within(state.get("summary_history") or [], state.get("session_id", ""), turn),
        turn_number(state),
        language=state.get("language", "ko"),
        system=system,
        count=turn.models.count,
        exact=turn.models.exact,
        limits=turn.limits(),
        changing=[*turn.inputs.changing, *found],
        history_tokens=turn.inputs.history_tokens,
        beside=choice.form_tokens(turn.models, turn.inputs.tools),
        layout=choice.layout(turn.models.profile),
        instructions=turn.inputs.options.system_prompt,
        client_system=turn.inputs.client_system,
        images=turn.inputs.images,
    )
    mark = choice.form_mark(turn.models.profile, turn.inputs.tools)
    prompt = replace(prompt, report=replace(prompt.report, tools=mark))
    turn.notes.report, turn.notes.system = prompt.report, system
    return prompt


def _chosen(messages: list[AnyMessage], turn: TurnContext, write: Callable[[Sum], str | None]) -> list[ToolCall]:
    """Returns the calls that a router makes at the start of a turn; none without a router, or where tools are off."""
    if tool_rounds(messages) or not turn.settings.tool_limit:
        return []
    return storable(choice.choose(turn.models.profile, turn.inputs.tools, messages, write))


def _named(
    messages: list[AnyMessage], turn: TurnContext, language: str, prompt: Callable[[], Prompt]
) -> list[ToolCall]:
    """Returns the call of the foreign tool that the message names; none for a model that calls tools itself. Raises
    ``Stopped``."""
    if turn.models.profile.tools == "native" or tool_rounds(messages) or not turn.settings.tool_limit:
        return []
    question, *_ = current(messages)
    found = named.tool_of(str(question.text), turn.inputs.tools)
    if found is None:
        return []
    tool, wish = found
    if not named.parameters(tool).get("properties"):
        return storable([ToolCall(name=tool.name, args={}, id=uuid4().hex, type="tool_call")])
    asked_for = named.request(tool, wish, language, prompt().messages[:-1])
    reply, arguments = named.write(turn.models.chat, tool, asked_for, turn.channel.stop)
    _count(turn, reply, asked_for, str(reply.text) if reply else "")
    return storable([ToolCall(name=tool.name, args=arguments, id=uuid4().hex, type="tool_call")])


def _expression(turn: TurnContext, language: str, prompt: Callable[[], Prompt], asked: Sum) -> str | None:
    """Returns the expression that the model writes for a sum; None when code cannot trust it. Raises ``Stopped``."""
    messages = expression.request(asked, language, prompt().messages[:-1])
    reply = expression.write(turn.models.chat, messages, turn.channel.stop)
    if reply is None:
        return None
    formula = str(reply.text).strip()
    _count(turn, reply, messages, formula)
    return formula if expression.holds(formula, asked) else None


def _count(
    turn: TurnContext, reply: AIMessage | None, prompt: Sequence[AnyMessage], text: str, tools: Sequence[Any] = ()
) -> None:
    """Adds the tokens of a call: as the server counted them, or counted here where the call was stopped or the server
    counts nothing."""
    if reply is not None and usage(reply)[-1]:
        turn.notes.add(reply, turn.models)
        return
    prompt_tokens = sum(message_tokens(message, turn.models.count) for message in prompt)
    prompt_tokens += choice.form_tokens(turn.models, tools)
    turn.notes.add_tokens(prompt_tokens, 0, turn.models.count(text), False, turn.models)


def _worded(messages: list[AnyMessage], language: str, runtime: Runtime[TurnContext]) -> AIMessage | None:
    """Returns the answer that code words from the results of tools or of a first search, without a model call; None
    when the profile does not want this or code cannot word an answer."""
    turn = context(runtime)
    if turn.models.profile.documents != "quoted":
        return None
    text = by_code.word(current(messages), language)
    if text is None and turn.settings.retrieval_first:
        searches = (step.artifact for _, step in turn.notes.steps if step.artifact)
        text = next((text for artifact in searches if (text := by_code.quote(artifact, language))), None)
    if text is None:
        return None
    turn.notes.first_token = time.monotonic()
    emit(runtime, Token(text))
    return AIMessage(text, response_metadata={"model": ""})


def respond(
    model: Model, prompt: list[AnyMessage], runtime: Runtime[TurnContext], tools: Sequence[Any] = ()
) -> AIMessage:
    """Streams one model call as ``Token`` events and returns the message; stops between any two tokens when asked to.

    The answer ends before a stop word of the client. When the answer of a small model goes round in circles, it ends
    there, and its repetitions are dropped. Tool calls of a model that was offered no ``tools`` are ignored. Raises
    ``EmptyAnswer`` when neither text nor a tool call came, ``AnswerCutOff`` when the tokens were used up before either
    came, as by a model that thinks first, and ``ToolsUsedUp`` when the model wanted only tools that it may not use any
    more.
    """
    turn = context(runtime)
    chunks: list[AIMessageChunk] = []
    limits = turn.inputs.limits
    small = turn.models.profile.prompt == "bare"
    corrected: list[tuple[str, str]] = []
    sums, answer, loop_start = Equations(lambda *sum_: corrected.append(sum_)), "", None
    words = StopWords(limits.stop)
    if limits.stop:
        model = model.bind(stop=list(limits.stop[:SENT_STOPS]))
    for chunk in stream(model, prompt, stop=turn.channel.stop, **asked(turn.inputs.options, limits)):
        chunks.append(chunk)
        piece = words.feed(clean(str(chunk.text)))
        if text := sums.feed(piece) if small else piece:
            turn.notes.first_token = turn.notes.first_token or time.monotonic()
            emit(runtime, Token(text))
            answer += text
            loop_start = loop.begins(answer) if small else None
        if loop_start is not None or words.met:  # the model would go on until its tokens are used up
            break
    whole, held = summed(chunks), words.end()
    if rest := sums.feed(held) + sums.end() if small else held:
        emit(runtime, Token(rest))
        answer += rest
    text = answer if loop_start is None else answer[:loop_start].rstrip()
    for plain, value in corrected:
        _show_sum(plain, value, runtime)
    _count(turn, whole, prompt, text, tools)
    if turn.channel.stopped:
        return stopped(text)
    calls = calls_of(whole) if whole is not None and tools and not words.met else []
    is_cut = whole is not None and cut_off(whole) and not words.met
    turn.notes.cut_at = (usage(whole)[2] if whole else 0) or turn.answer_tokens if is_cut else 0
    if not (text.strip() or calls):
        if turn.notes.cut_at:
            raise AnswerCutOff(tokens=turn.notes.cut_at)
        raise ToolsUsedUp(limit=turn.settings.tool_limit) if whole is not None and whole.tool_calls else EmptyAnswer
    return AIMessage(text, tool_calls=calls, response_metadata={"model": turn.models.name})


def _covered(state: ChatState, turn: TurnContext) -> list[RemoveMessage]:
    """Returns removals of the summarised turns' messages, except short-term memory; the turns' rows and their ledger
    entry are written by now.

    Short-term memory is the last summarised turn; for a bare prompt, the last ones within the budget of raw turns.
    Removes nothing where the state has no turn count (LangGraph's own tools): the turns are then counted from the
    messages.
    """
    if not state.get("turn_count"):
        return []
    first = last = covered(state.get("summary_history") or [])
    turns = split(state["messages"], turn_number(state))
    if turn.models.profile.prompt == "bare":
        first = short_term(turns, last, turn.limits().recent, turn.models.count)
    return [RemoveMessage(str(message.id)) for group in turns if group.number < first for message in group.messages]


def _show_sum(plain: str, value: str, runtime: Runtime[TurnContext]) -> None:
    """Shows a sum that code corrected in the answer, in the form of a tool's step."""
    started = ToolStarted(uuid4().hex, "calculate", {"expression": plain})
    finished = ToolFinished(started.call, started.name, f"{plain} = {value}", True, 0.0)
    context(runtime).notes.steps.append((started, finished))
    emit(runtime, started)
    emit(runtime, finished)


def _frozen(messages: list[AnyMessage], language: str, prompt: Prompt, turn: TurnContext) -> list[AnyMessage]:
    """Returns the question with its short block of changing parts, and with marks of the lasting parts before it, so
    that the next prompt continues this prompt."""
    text = block(turn.inputs.changing, language)
    question, *_ = current(messages)
    extra: dict[str, Any] = {"block": text} if text and turn.models.count(text) <= FROZEN_TOKENS else {}
    extra |= {"given": prompt.given} if prompt.given else {}
    return [question.model_copy(update={"additional_kwargs": {**question.additional_kwargs, **extra}})] if extra else []
