"""llm_node: builds the prompt, lets tools be chosen, streams the answer (specification 4.4)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage, ToolCall
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from errors import AnswerCutOff, EmptyAnswer, FormUnmet, ImagesRejected, RequestRejected, ToolsUsedUp
from graph import choice
from graph.answer import by_code
from graph.answer.json_form import JsonForm
from graph.answer.reader import AnswerReader
from graph.choice import expression, named
from graph.choice.expression import Sum
from graph.context.prompt import (
    FROZEN_TOKENS,
    BuiltPrompt,
    Changing,
    PromptMaterial,
    add_note,
    build_turn_prompt,
    hash_prompt_messages,
    message_tokens,
    render_changing_block,
    short_term,
)
from graph.context.report import ContextReport, PartName, ReportPart
from graph.context.system_prompt import system_prompt
from graph.context.turns import (
    find_current_messages,
    find_last_covered_turn,
    is_circling,
    split_into_turns,
    tool_rounds,
    turn_number,
)
from graph.node.connection import connect_turn_models
from graph.node.summary import select_records_within_budget
from graph.state import ChatState
from graph.tool.client_tool import ClientTool
from graph.tool.tool_call import calls_of, make_call, make_storable_calls
from graph.turn.event import ContextBuilt, Thought, Token, ToolFinished, ToolStarted
from graph.turn.runtime import TurnContext, build_call_arguments, emit_turn_event, read_turn_context
from model.call.message_form import STRICT_FORM
from model.call.stream import Model, Stopped, cut_off, read_token_usage, stream_answer, sum_chunks
from prompt import render_prompt
from text.fence import find_words

SENT_STOPS = 4
"""The most stop words that OpenAI takes; the others are looked for here alone."""


def llm_node(state: ChatState, runtime: Runtime[TurnContext]) -> dict[str, Any]:
    """Returns the model's next message: tool calls, or the answer. With the answer, the summarised turns leave the
    state.

    Raises ``ContextTooLong``, ``EmptyAnswer`` and the errors of the model's server.
    """
    turn, messages = read_turn_context(runtime), list(state["messages"])
    if turn.channel.is_stopped:
        return {"messages": [make_stopped_answer("")]}
    if ending := turn.inputs.ending:
        return {"messages": [*_remove_summarised_messages(state, turn), AIMessage(ending)]}
    try:
        documents = turn.search.search_before_answer(messages) if turn.search else ()
        language, form = state.get("language", "ko"), turn.inputs.limits.form
        prompt = partial(_build_noted_prompt, state, turn, documents)
        # a tool that the message names, or that a router chooses, is called before the model is asked
        calls = _make_named_call(messages, turn, language, prompt)
        calls = calls or _choose_routed_calls(messages, turn, partial(_ask_sum_expression, turn, language, prompt))
        if calls:
            return {"messages": [AIMessage("", tool_calls=calls)]}
        # code words the results itself for a model that is not trusted to
        if form is None and (answer := _make_answer_by_code(messages, language, runtime)):
            return {"messages": [*_remove_summarised_messages(state, turn), answer]}
        given, tools = prompt(), _choose_offered(messages, turn)
        model = choice.prepare_chat_model(turn.models, tools)
        if fields := turn.inputs.client_tools.fields:
            model = model.bind(**fields)
        try:
            if form is None:
                emit_turn_event(runtime, ContextBuilt(given.report))
                message = stream_model_answer(model, given.messages, runtime, tools)
            else:
                message = _respond_in_form(model, given, runtime, tools, form, language)
        except ImagesRejected as error:
            given, message = _respond_without_images(error, model, prompt, runtime, tools)
    except Stopped:
        return {"messages": [make_stopped_answer("")]}
    if message.tool_calls:
        return {"messages": [message]}
    if turn.notes.images_refused:
        message = _add_refusal_notice(message, runtime, language)
    frozen = _freeze_question_block(messages, language, given, turn)
    return {"messages": [*frozen, *_remove_summarised_messages(state, turn), message]}


def _respond_without_images(
    error: ImagesRejected,
    model: Model,
    prompt: Callable[[], BuiltPrompt],
    runtime: Runtime[TurnContext],
    tools: Sequence[Any],
) -> tuple[BuiltPrompt, AIMessage]:
    """Returns the prompt without the images that the server refused, and the model's message to it. The further prompts
    of the turn go without images, too; where the model takes none, those of all later turns.

    Raises the error where the answer has a form, which has no room to say so; and ``Stopped``.
    """
    turn = read_turn_context(runtime)
    turn.notes.images_refused = True
    if error.values["lasting"]:
        turn.models.sight.refuse()
    if turn.inputs.limits.form is not None:
        raise error
    given = prompt()
    emit_turn_event(runtime, ContextBuilt(given.report))
    return given, stream_model_answer(model, given.messages, runtime, tools)


def _add_refusal_notice(message: AIMessage, runtime: Runtime[TurnContext], language: str) -> AIMessage:
    """Returns a finished answer that says at its end that the model did not get the images; one that was stopped as it
    is."""
    if message.response_metadata.get("stopped"):
        return message
    notice = f"\n\n{render_prompt('reply_images_refused', language)}"
    _show_text(runtime, notice)
    return message.model_copy(update={"content": f"{message.text}{notice}"})


def make_stopped_answer(text: str) -> AIMessage:
    """Returns a partial answer that the user stopped."""
    return AIMessage(text, response_metadata={"stopped": True})


def _build_noted_prompt(state: ChatState, turn: TurnContext, found: Sequence[Changing]) -> BuiltPrompt:
    """Returns what the model is given, and notes it for the turn's report. Raises ``Stopped``."""
    connect_turn_models(turn)
    system = system_prompt(
        turn.models.profile,
        state.get("language", "ko"),
        [tool for tool in turn.inputs.tools if not isinstance(tool, ClientTool)],
        own=turn.inputs.own_role,
    )
    prompt = build_turn_prompt(
        state["messages"],
        select_records_within_budget(state.get("summary_history") or [], state.get("session_id", ""), turn),
        turn_number(state),
        PromptMaterial(
            language=state.get("language", "ko"),
            system=system,
            count=turn.models.count,
            exact=turn.models.exact,
            changing=[*turn.inputs.changing, *found],
            beside=choice.count_form_tokens(turn.models, turn.inputs.tools) + _schema_tokens(state, turn),
            layout=choice.choose_prompt_layout(turn.models.profile),
            instructions=turn.inputs.options.system_prompt,
            client_system=turn.inputs.client_system,
            images=() if turn.notes.images_refused else turn.inputs.images,
            earlier_images=() if turn.notes.images_refused else turn.inputs.earlier_images,
        ),
        turn.limits(),
        history_tokens=turn.inputs.history_tokens,
        past_turns=turn.inputs.past_turns,
    )
    mark = choice.form_mark(turn.models.profile, turn.inputs.tools)
    prompt = replace(prompt, report=replace(prompt.report, tools=mark))
    turn.notes.report, turn.notes.system = prompt.report, system
    turn.note_foreign(state["messages"])
    return prompt


def _schema_tokens(state: ChatState, turn: TurnContext) -> int:
    """Returns the tokens that the form of the answer takes where the model reads it in its question, or its server adds
    it to the prompt."""
    form = turn.inputs.limits.form
    note = render_prompt("json_form", state.get("language", "ko"), schema=form.text) if form is not None else ""
    return turn.models.count(note) if note else 0


def _choose_offered(messages: list[AnyMessage], turn: TurnContext) -> list[BaseTool]:
    """Returns the tools for the next call: ours until their rounds are used up, and not where the client wants a call
    of its own; the client's always, because how long it goes on is its own affair. None once the model repeats a call
    that brings nothing new."""
    if is_circling(messages):
        return []
    ours = tool_rounds(messages) < turn.settings.tool_limit and turn.inputs.client_tools.choice is None
    return [tool for tool in turn.inputs.tools if ours or isinstance(tool, ClientTool)]


def _choose_routed_calls(
    messages: list[AnyMessage], turn: TurnContext, write: Callable[[Sum], str | None]
) -> list[ToolCall]:
    """Returns the calls that a router makes at the start of a turn; none without a router, or where tools are off."""
    if tool_rounds(messages) or not turn.settings.tool_limit:
        return []
    return make_storable_calls(
        choice.choose_tool_calls(turn.models.profile, turn.inputs.tools, messages, write, turn.now)
    )


def _make_named_call(
    messages: list[AnyMessage], turn: TurnContext, language: str, prompt: Callable[[], BuiltPrompt]
) -> list[ToolCall]:
    """Returns the call of the foreign tool that the message names; none for a model that calls tools itself. Raises
    ``Stopped``."""
    if turn.models.profile.tools == "native" or tool_rounds(messages) or not turn.settings.tool_limit:
        return []
    question, *_ = find_current_messages(messages)
    found = named.tool_of(find_words(str(question.text)), turn.inputs.tools)
    if found is None:
        return []
    tool, wish = found
    if not named.build_argument_schema(tool).get("properties"):
        return make_storable_calls([make_call(tool.name, {})])
    asked_for = named.build_arguments_prompt(tool, wish, language, prompt().messages[:-1])
    reply, arguments = named.ask_model_arguments(turn.models.chat, tool, asked_for, turn.channel.stop)
    _add_call_tokens(turn, reply, asked_for, str(reply.text) if reply else "")
    return make_storable_calls([make_call(tool.name, arguments)])


def _ask_sum_expression(turn: TurnContext, language: str, prompt: Callable[[], BuiltPrompt], asked: Sum) -> str | None:
    """Returns the expression that the model writes for a sum; None when code cannot trust it. Raises ``Stopped``."""
    messages = expression.build_expression_prompt(asked, language, prompt().messages[:-1])
    reply = expression.ask_model_expression(turn.models.chat, messages, turn.channel.stop)
    if reply is None:
        return None
    formula = str(reply.text).strip()
    _add_call_tokens(turn, reply, messages, formula)
    return formula if expression.is_expression_faithful(formula, asked) else None


def _add_call_tokens(
    turn: TurnContext, reply: AIMessage | None, prompt: Sequence[AnyMessage], text: str, tools: Sequence[Any] = ()
) -> None:
    """Adds the tokens of a call: as the server counted them, or counted here where the call was stopped or the server
    counts nothing."""
    if reply is not None and read_token_usage(reply)[-1]:
        turn.notes.add(reply, turn.models)
        return
    prompt_tokens = sum(message_tokens(message, turn.models.count) for message in prompt)
    prompt_tokens += choice.count_form_tokens(turn.models, tools)
    turn.notes.add_tokens(prompt_tokens, 0, turn.models.count(text), False, turn.models)


def _make_answer_by_code(messages: list[AnyMessage], language: str, runtime: Runtime[TurnContext]) -> AIMessage | None:
    """Returns the answer that code words from the results of tools or of a first search, without a model call; None
    when the profile does not want this or code cannot word an answer."""
    turn = read_turn_context(runtime)
    if turn.models.profile.documents != "quoted":
        return None
    text = by_code.render_answer_by_code(find_current_messages(messages), language)
    if text is None and turn.prompting.retrieval_first:
        searches = (step.artifact for _, step in turn.notes.steps if step.artifact)
        text = next((text for artifact in searches if (text := by_code.render_best_passage(artifact, language))), None)
    if text is None:
        return None
    _show_text(runtime, text)
    return AIMessage(text, response_metadata={"model": ""})


def _respond_in_form(
    model: Model, given: BuiltPrompt, runtime: Runtime[TurnContext], tools: Sequence[Any], form: JsonForm, language: str
) -> AIMessage:
    """Returns an answer in the form that the client asked for; shows it whole, because it is checked first.

    A server that takes no forms is asked in words, and an answer that does not fit is asked for once more. A small
    model always reads the schema: a grammar holds the form of its words and tells it nothing of their meaning. What was
    stopped or cut off is shown as it is, and what comes before a tool call is not: a client reads all that it is shown
    as one piece of JSON. Raises ``FormUnmet``, and the errors of ``stream_model_answer``.
    """
    turn = read_turn_context(runtime)
    shaped: Model = model.bind(response_format=form.response_format)
    note = render_prompt("json_form", language, schema=form.text)
    worded = [*given.messages[:-1], *add_note(given.messages[-1], note)]
    field, in_words = json.dumps(form.response_format, ensure_ascii=False), {"form": note}

    def ask(model: Model, sent: list[AnyMessage], **added: str) -> AIMessage:
        _report_form(runtime, given.report, sent, added)
        return stream_model_answer(model, sent, runtime, tools, quiet=True)

    try:
        is_bare = turn.models.profile.prompt == "bare"
        message = ask(shaped, worded, **in_words) if is_bare else ask(shaped, given.messages, form_field=field)
    except RequestRejected:
        shaped = model
        message = ask(shaped, worded, **in_words)
    text = str(message.text)
    if _has_ended(message, turn):
        try:
            text = form.read(text)
        except FormUnmet as unmet:
            again = render_prompt("json_form_again", language, reason=unmet.values["reason"])
            sent = [*worded, AIMessage(text), HumanMessage(again)]
            message = ask(shaped, sent, **in_words, unfit=text, form_again=again)
            text = form.read(str(message.text)) if _has_ended(message, turn) else str(message.text)
    if text and not message.tool_calls:
        _show_text(runtime, text)
    return message.model_copy(update={"content": text})


def _report_form(
    runtime: Runtime[TurnContext], report: ContextReport, sent: list[AnyMessage], added: Mapping[str, str]
) -> None:
    """Reports a call that asks for a form. ``added``: what is sent beside the prompt, by the names of the report's
    parts; ``form_field``: the field of the request, which is no message."""
    turn = read_turn_context(runtime)
    field = added.get("form_field", "")
    parts = [ReportPart("form", 0, 0, text=field)] if field else []
    names: tuple[PartName, ...] = ("form", "unfit", "form_again")
    parts += [ReportPart(name, turn.models.count(added[name]), 0, text=added[name]) for name in names if name in added]
    more = sum(part.tokens for part in parts)
    turn.notes.report = replace(
        report,
        parts=(*report.parts, *parts),
        total_tokens=report.total_tokens + more,
        full_tokens=report.full_tokens + more,
        digest=hash_prompt_messages(sent),
    )
    emit_turn_event(runtime, ContextBuilt(turn.notes.report))


def _has_ended(message: AIMessage, turn: TurnContext) -> bool:
    """Returns whether a message is a whole answer, whose form can be checked."""
    return not (message.tool_calls or message.response_metadata.get("stopped") or turn.notes.cut_at)


def stream_model_answer(
    model: Model,
    prompt: list[AnyMessage],
    runtime: Runtime[TurnContext],
    tools: Sequence[Any] = (),
    *,
    quiet: bool = False,
) -> AIMessage:
    """Streams one model call as ``Token`` events and returns the message; stops between any two tokens when asked to.
    ``quiet``: sends no events and leaves the words as they are, for an answer that is checked before it is shown.

    The answer ends before a stop word of the client. When the answer of a small model goes round in circles, it ends
    there, and its repetitions are dropped. Thoughts are shown apart. Calls of offered ``tools`` count in text as well;
    tool calls of a model that was offered none are ignored. Raises
    ``EmptyAnswer`` when neither text nor a tool call came, ``AnswerCutOff`` when the tokens were used up before either
    came, as by a model that thinks first, and ``ToolsUsedUp`` when the model wanted only tools that it may not use any
    more.
    """
    turn, limits = read_turn_context(runtime), read_turn_context(runtime).inputs.limits
    show: Callable[[str], None] = (lambda _: None) if quiet else partial(_show_text, runtime)
    reader = AnswerReader(
        show,
        partial(_show_thought, runtime, turn.notes.thought, turn.notes.thought_seconds),
        limits.stop,
        {tool.name for tool in tools} if turn.models.profile.tools == "native" and not quiet else (),
        small=turn.models.profile.prompt == "bare" and not quiet,
    )
    if limits.stop:
        model = model.bind(stop=list(limits.stop[:SENT_STOPS]))
    chunks: list[AIMessageChunk] = []
    for chunk in stream_answer(
        model, prompt, stop=turn.channel.stop, **build_call_arguments(turn.inputs.options, limits)
    ):
        chunks.append(chunk)
        if reader.hear(chunk):
            break
    whole = sum_chunks(chunks)
    has_calls = whole is not None and bool(whole.tool_calls or whole.invalid_tool_calls)
    text = reader.end(takes_calls=not (turn.channel.is_stopped or has_calls))
    for plain, value in reader.corrected:
        _show_sum(plain, value, runtime)
    _add_call_tokens(turn, whole, prompt, reader.thought + text, tools)
    if reader.thought.strip() == text.strip():  # a model that was expected to think answered at once
        turn.notes.thought = turn.notes.thought.removesuffix(reader.thought).rstrip()
    if whole is not None and whole.response_metadata.get(STRICT_FORM) and turn.notes.report is not None:
        turn.notes.report = replace(turn.notes.report, strict=True)
        emit_turn_event(runtime, ContextBuilt(turn.notes.report))
    if turn.channel.is_stopped:
        return make_stopped_answer(text)
    calls = calls_of(whole) if whole is not None and tools and not reader.met_stop_word else []
    calls = calls or make_storable_calls(reader.calls)
    is_cut = whole is not None and cut_off(whole) and not reader.met_stop_word
    turn.notes.cut_at = (read_token_usage(whole)[2] if whole else 0) or turn.answer_tokens if is_cut else 0
    if not (text.strip() or calls):
        if turn.notes.cut_at:
            raise AnswerCutOff(tokens=turn.notes.cut_at)
        raise ToolsUsedUp(limit=turn.settings.tool_limit) if whole is not None and whole.tool_calls else EmptyAnswer
    return AIMessage(text, tool_calls=calls, response_metadata={"model": turn.models.name})


def _show_thought(
    runtime: Runtime[TurnContext], earlier: str, seconds_before: float, text: str, seconds: float, *, moved: bool
) -> None:
    """Notes and shows a piece of thought. ``earlier``, ``seconds_before``: what the turn was thought about before this
    call."""
    notes = read_turn_context(runtime).notes
    if notes.thought == earlier and earlier:  # the thoughts before the next call stand apart
        text = f"\n\n{text}"
    notes.thought += text
    notes.thought_seconds = seconds_before + seconds
    if moved:
        notes.first_token = None
    emit_turn_event(runtime, Thought(text, notes.thought_seconds, moved))


def _show_text(runtime: Runtime[TurnContext], text: str) -> None:
    """Shows a piece of the answer."""
    notes = read_turn_context(runtime).notes
    notes.first_token = notes.first_token or time.monotonic()
    emit_turn_event(runtime, Token(text))


def _remove_summarised_messages(state: ChatState, turn: TurnContext) -> list[RemoveMessage]:
    """Returns removals of the summarised turns' messages, except pinned turns and short-term memory; the turns' rows
    and their ledger entry are written by now.

    Short-term memory is the last summarised turn; for a bare prompt, the last ones within the budget of raw turns.
    Removes nothing where the state has no turn count (LangGraph's own tools): the turns are then counted from the
    messages.
    """
    if not state.get("turn_count"):
        return []
    first = last = find_last_covered_turn(state.get("summary_history") or [])
    turns = [
        group
        for group in split_into_turns(state["messages"], turn_number(state))
        if not (group.is_pinned and group.number <= last)
    ]
    if turn.models.profile.prompt == "bare":
        first = short_term(turns, last, turn.limits().recent, turn.models.count)
    return [RemoveMessage(str(message.id)) for group in turns if group.number < first for message in group.messages]


def _show_sum(plain: str, value: str, runtime: Runtime[TurnContext]) -> None:
    """Shows a sum that code corrected in the answer, in the form of a tool's step."""
    started = ToolStarted(uuid4().hex, "calculate", {"expression": plain})
    finished = ToolFinished(started.call, started.name, f"{plain} = {value}", True, 0.0)
    read_turn_context(runtime).notes.steps.append((started, finished))
    emit_turn_event(runtime, started)
    emit_turn_event(runtime, finished)


def _freeze_question_block(
    messages: list[AnyMessage], language: str, prompt: BuiltPrompt, turn: TurnContext
) -> list[AnyMessage]:
    """Returns the question with its short block of changing parts, and with marks of the lasting parts before it, so
    that the next prompt continues this prompt."""
    text = render_changing_block(turn.inputs.changing, language)
    question, *_ = find_current_messages(messages)
    extra: dict[str, Any] = {"block": text} if text and turn.models.count(text) <= FROZEN_TOKENS else {}
    extra |= {"given": prompt.given} if prompt.given else {}
    return [question.model_copy(update={"additional_kwargs": {**question.additional_kwargs, **extra}})] if extra else []
