"""Which tools to call: the one file that switches between native tool calls and decided ones (design §9).

A model that calls tools natively gets them bound. For one that does not, a short call of constrained JSON decides: its
prompt is static (tools in a line each, then examples) and so comes from the cache of its own slot; only the question
and a cut line of context are new. Tools bring their words for that prompt in ``metadata`` (see ``graph/tool``).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError

from model.modelset import ModelSet
from model.stream import Model, complete
from prompt import render

Asked = str | tuple[str, str]
"""The question of an example, or the question before it and itself."""

REPLY = "reply"
MAX_TOKENS = 120
"""Longest decision in tokens."""
QUESTION_CHARS, CONTEXT_CHARS = 600, 150
FOLLOW_UP_WORDS = 6
"""A question of at most so many words may lean on the one before («And in Cairo?»); a longer one stands alone."""
_REPLIES: dict[str, tuple[Asked, ...]] = {
    "ko": (
        "안녕!",
        "나는 34살이야",
        "월드컵은 언제 처음 열렸어?",
        "어제 2시간 동안 5km를 뛰었어",
        ("서울은 지금 몇 시야?", "고마워, 도움이 됐어"),
        "내가 아까 뭐라고 했지?",
        "월세로 65만 원을 내고 있어",
        "김치찌개 끓이는 법 알려줘",
        "내일 10시에 회의가 있어",
    ),
    "en": (
        "Hello!",
        "I am 34 years old",
        "When was the first World Cup?",
        "I ran 5 km in 2 hours yesterday",
        ("What time is it in Seoul?", "Thanks, that helped"),
        "What did I say earlier?",
        "I pay 650 a month in rent",
        "How do I make an omelette?",
        "I have a meeting at 10",
    ),
}
"""Questions that need no tool; mixed with the tools' own examples, so that neither kind is the last word."""
_FORMS: dict[tuple[Any, ...], tuple[dict[str, Any], str]] = {}
_LABELS = {"ko": ("앞의 질문", "질문"), "en": ("Previous question", "Question")}


def prepare(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """The chat model, with the tools bound when it calls them natively."""
    native = models.decide is None and tools
    return models.chat.bind_tools([_form(tool)[0] for tool in tools]) if native else models.chat


def form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Tokens of the tools' forms, which go to a natively calling model beside the messages; as JSON, which is about how
    servers write them into the prompt."""
    if models.decide is not None or not tools:
        return 0
    return models.count("\n".join(_form(tool)[1] for tool in tools))


def _form(tool: BaseTool) -> tuple[dict[str, Any], str]:
    """The tool in OpenAI's form, and that as JSON; made once for tools that differ only in the session they reach."""
    key = (tool.name, tool.description, tool.args_schema)
    known = isinstance(tool.args_schema, type)  # a schema that is no class has no identity to go by
    if known and key in _FORMS:
        return _FORMS[key]
    form = convert_to_openai_tool(tool)
    made = (form, _json(form))
    if known:
        _FORMS[key] = made
    return made


def decision(
    models: ModelSet,
    tools: Sequence[BaseTool],
    question: str,
    history: Sequence[AnyMessage] = (),
    *,
    language: str,
    stop: threading.Event | None = None,
) -> AIMessage:
    """What the question needs, by one short model call: an empty message with tool calls and the call's usage.

    No tool calls when none are needed or the decision is invalid. ``history``: the turns before the question; only its
    last question is used, and only for a short one. Natively calling models are not asked. Raises what
    ``model.stream.complete`` raises.
    """
    tools = fitting(tools, question)
    if models.decide is None or not tools or not question.strip():
        return AIMessage("")
    messages = [SystemMessage(instructions(tools, language)), HumanMessage(_ask(question, history, language))]
    answer = complete(models.decide, messages, stop=stop, **_constraint(tools))
    made = grounded(parse(str(answer.text), tools), tools, question) or suggested(tools, question)
    return AIMessage("", tool_calls=made, usage_metadata=answer.usage_metadata)


def fitting(tools: Sequence[BaseTool], question: str) -> Sequence[BaseTool]:
    """The tools whose ``cue`` the question shows, or else those that have none: so the usual prompt stays short, and
    the same."""
    cues = {tool.name: (tool.metadata or {}).get("cue") for tool in tools}
    shown = [tool for tool in tools if (cue := cues[tool.name]) and cue(question)]
    return shown or [tool for tool in tools if not cues[tool.name]]


def grounded(made: Sequence[ToolCall], tools: Sequence[BaseTool], question: str) -> list[ToolCall]:
    """The calls whose arguments have to do with the question, corrected by it where their tool knows how.

    A small model's arguments can be made up. A tool may say so: ``metadata["ground"]`` is a function of the arguments
    and the question that gives the arguments to use, or None for no call.
    """
    known = {tool.name: (tool.metadata or {}).get("ground") for tool in tools}
    checked = [(each, known[each["name"]]) for each in made]
    used = [(each, ground(each["args"], question) if ground else each["args"]) for each, ground in checked]
    return [ToolCall(**{**each, "args": arguments}) for each, arguments in used if arguments is not None]


def suggested(tools: Sequence[BaseTool], question: str) -> list[ToolCall]:
    """The call of the first tool that knows better than a model that wants none: ``metadata["suggest"]`` is a function
    of the question that gives arguments, or None."""
    for tool in tools:
        suggest = (tool.metadata or {}).get("suggest")
        if suggest is not None and (arguments := suggest(question)) is not None:
            return [_call(tool.name, arguments)]
    return []


def describe(tools: Sequence[BaseTool], language: str) -> str:
    """The tools in a line each, for the system prompt and the decision prompt."""
    return "\n".join(f"- {tool.name}: {_about(tool, language)}" for tool in tools)


def instructions(tools: Sequence[BaseTool], language: str) -> str:
    """The static part of the decision prompt."""
    return render("decide", language, tools=describe(tools, language), examples=_examples(tools, language))


def parse(text: str, tools: Sequence[BaseTool]) -> list[ToolCall]:
    """The decision as tool calls: none unless it names a known tool, with arguments that its schema takes."""
    try:
        decision = json.loads(text)
    except (ValueError, RecursionError):
        return []
    known = {tool.name: tool for tool in tools}
    if not isinstance(decision, dict) or len(decision) != 1:
        return []
    name, arguments = next(iter(decision.items()))
    if name not in known or not isinstance(arguments, dict) or not _takes(known[name], arguments):
        return []
    return [_call(name, arguments)]


def _call(name: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=f"call_{uuid4().hex[:12]}", type="tool_call")


def schema(tools: Sequence[BaseTool]) -> dict[str, Any]:
    """JSON schema of a decision: an object whose one key is a tool, with its arguments, or ``reply``."""
    shapes = {REPLY: {"type": "object", "properties": {}, "additionalProperties": False}}
    shapes |= {tool.name: _arguments(tool) for tool in tools}
    return {
        "anyOf": [
            {"type": "object", "properties": {name: shape}, "required": [name], "additionalProperties": False}
            for name, shape in shapes.items()
        ]
    }


def _constraint(tools: Sequence[BaseTool]) -> dict[str, Any]:
    shape = {"name": "decision", "schema": schema(tools)}
    return {"response_format": {"type": "json_schema", "json_schema": shape}, "max_tokens": MAX_TOKENS}


def _about(tool: BaseTool, language: str) -> str:
    about = (tool.metadata or {}).get("about", {})
    return str(about.get(language) or tool.description)


def _examples(tools: Sequence[BaseTool], language: str) -> str:
    needs: list[tuple[Asked, dict[str, Any]]] = [
        (asked, {tool.name: arguments})
        for tool in tools
        for asked, arguments in (tool.metadata or {}).get("examples", {}).get(language, ())
    ]
    replies: list[tuple[Asked, dict[str, Any]]] = [(asked, {REPLY: {}}) for asked in _REPLIES[language]]
    mixed = [pair for pairs in zip_longest(needs, replies) for pair in pairs if pair]
    return "\n".join(f"{_put(asked, language)}\n{_json(decision)}" for asked, decision in mixed)


def _put(asked: Asked, language: str) -> str:
    """The lines that put a question to the model."""
    before, now = _LABELS[language]
    if isinstance(asked, str):
        return f"{now}: {asked}"
    return f"{before}: {asked[0]}\n{now}: {asked[1]}"


def _ask(question: str, history: Sequence[AnyMessage], language: str) -> str:
    short = _cut(question, QUESTION_CHARS)
    earlier = [str(message.text) for message in history if isinstance(message, HumanMessage)]
    if not earlier or len(short.split()) > FOLLOW_UP_WORDS:
        return _put(short, language)
    return _put((_cut(earlier[-1], CONTEXT_CHARS), short), language)


def _cut(text: str, limit: int) -> str:
    """One line; of a long text its start and its end, where the request usually stands."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit // 3]} … {line[-(limit * 2 // 3) :]}"


def _arguments(tool: BaseTool) -> dict[str, Any]:
    """The tool's argument schema without titles, descriptions and defaults, all properties required."""
    full = tool.tool_call_schema
    bare = _bare(full.model_json_schema() if isinstance(full, type) and issubclass(full, BaseModel) else full)
    return {**bare, "required": list(bare.get("properties", {})), "additionalProperties": False}


def _bare(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_bare(each) for each in shape]
    if not isinstance(shape, dict):
        return shape
    dropped = ("title", "description", "default")
    return {
        key: ({name: _bare(each) for name, each in value.items()} if key == "properties" else _bare(value))
        for key, value in shape.items()
        if key == "properties" or key not in dropped
    }


def _takes(tool: BaseTool, arguments: dict[str, Any]) -> bool:
    taken = tool.args_schema  # not tool_call_schema, which has lost the validators
    if not (isinstance(taken, type) and issubclass(taken, BaseModel)):
        return True
    try:
        taken.model_validate(arguments)
    except ValidationError:
        return False
    return set(arguments) <= set(taken.model_fields)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
