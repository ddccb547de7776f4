"""What a client asks for, read from the JSON of its request: fields that are taken, left out, or refused by name."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from door.openai.client_tools import read_tools
from graph.answer.json_form import JsonForm, find_schema_fault
from graph.context.clock import find_zone
from graph.tool.client_tool import NO_TOOLS, ClientTools
from graph.turn.request import AnswerLimits
from server.refusal import build_field_refusal
from server.request.message import ClientMessage

SESSION, REPORT, MEMORY, TIME_ZONE = "gieok_session", "gieok_report", "gieok_memory", "gieok_zone"
"""Our options, as entries of ``metadata`` or as fields of the request: the conversation's name, whether the answer
brings its report, and whether the conversation shares the user's memory."""
TEXTS = ("text", "input_text", "output_text")
MODEL = "gieok"
"""The name under which every model of the installation answers."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request for an answer. ``session``: the conversation's name, or None; ``previous``: the id of the response that
    it follows; ``responds``: whether the answer needs such an id, too; ``usage``: whether a stream ends with its
    tokens; ``report``: whether the answer brings the report of its prompt; ``apart``: whether the conversation is kept
    apart from the user's memory; ``zone``: of the client's user, where it says one; ``tools``: those that the client
    runs itself; ``fills``: the name of its tool whose arguments the answer is, from a model that calls no tools;
    ``left_out``: names of the fields that were not used.
    """

    model: str
    messages: list[ClientMessage]
    limits: AnswerLimits
    stream: bool = False
    usage: bool = False
    report: bool = False
    apart: bool = False
    session: str | None = None
    previous: str | None = None
    responds: bool = False
    zone: ZoneInfo | None = None
    tools: ClientTools = NO_TOOLS
    fills: str = ""
    left_out: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


def chat_body(given: Any) -> Body:
    """Returns the request of ``/v1/chat/completions``. Raises ``Refusal``."""
    fields = _ensure_json_object(given)
    _refuse_unsupported_fields(fields)
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise build_field_refusal("messages", "messages must be a list with at least one message of the role «user».")
    limits = _read_answer_limits(fields, ("max_completion_tokens", "max_tokens"))
    options = fields.get("stream_options")
    usage = isinstance(options, Mapping) and options.get("include_usage") is True
    return _build_body(
        fields, [_read_client_message(at, each) for at, each in enumerate(messages)], limits, usage=usage
    )


def response_body(given: Any) -> Body:
    """Returns the request of ``/v1/responses``. Raises ``Refusal``."""
    fields = _ensure_json_object(given)
    _refuse_unsupported_fields(fields)
    asked = fields.get("input")
    if isinstance(asked, str):
        messages = [ClientMessage("user", asked)]
    elif isinstance(asked, list) and asked:
        messages = [_read_client_message(at, each, "input") for at, each in enumerate(asked)]
    else:
        raise build_field_refusal("input", "input must be a text or a list of messages.")
    if isinstance(fields.get("instructions"), str):
        messages.insert(0, ClientMessage("system", fields["instructions"]))
    previous = fields.get("previous_response_id")
    if previous is not None and not isinstance(previous, str):
        raise build_field_refusal("previous_response_id", "previous_response_id must be the id of a response.")
    return _build_body(
        fields, messages, _read_answer_limits(fields, ("max_output_tokens",)), previous=previous, responds=True
    )


def _ensure_json_object(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise build_field_refusal("body", "The body must be a JSON object.", "invalid_json")
    return given


def _refuse_unsupported_fields(fields: Mapping[str, Any]) -> None:
    """Raises ``Refusal`` for fields that change what an answer is, and that the endpoint does not know."""
    if fields.get("n") not in (None, 1):
        raise build_field_refusal("n", "n must be 1: an answer is a turn of a conversation.")
    for name in ("logprobs", "top_logprobs"):
        if fields.get(name):
            raise build_field_refusal(name, f"{name} are not available.")
    if fields.get("function_call") not in (None, "none", "auto"):
        raise build_field_refusal("function_call", "The functions of a client are not run, so none can be required.")
    if fields.get("background"):
        raise build_field_refusal("background", "background responses are not available.")


def _build_body(
    fields: Mapping[str, Any],
    messages: list[ClientMessage],
    limits: AnswerLimits,
    *,
    usage: bool = False,
    previous: str | None = None,
    responds: bool = False,
) -> Body:
    metadata = fields.get("metadata")
    notes = {**fields, **(metadata if isinstance(metadata, Mapping) else {})}
    model = fields.get("model") or MODEL
    if not isinstance(model, str):
        raise build_field_refusal("model", "model must be the name of a model.")
    tools, foreign = read_tools(fields)
    return Body(
        model=model,
        messages=messages,
        limits=limits,
        stream=fields.get("stream") is True,
        usage=usage,
        report=str(notes.get(REPORT, "")).lower() == "true",
        apart=str(notes.get(MEMORY, "")).lower() == "false",
        session=str(notes[SESSION]) if notes.get(SESSION) else None,
        zone=_read_zone(fields, notes),
        previous=previous,
        responds=responds,
        tools=tools,
        left_out=(*(["tools"] if foreign else []), *(["functions"] if fields.get("functions") else [])),
        fields=fields,
    )


def _read_zone(fields: Mapping[str, Any], notes: Mapping[str, Any]) -> ZoneInfo | None:
    """Returns the zone of the client's user, from our own field or from where OpenAI's API has it (the user's location
    of a web search, in either API); None where none is told. Raises ``Refusal`` for a name that is no zone."""
    tools = fields.get("tools")
    places = [fields.get("web_search_options"), *(tools if isinstance(tools, list) else [])]
    locations = [place.get("user_location") for place in places if isinstance(place, Mapping)]
    nested = [at.get("approximate", at) for at in locations if isinstance(at, Mapping)]
    told = [at.get("timezone") for at in nested if isinstance(at, Mapping)]
    name = notes.get(TIME_ZONE) or next(filter(None, told), None)
    if not name:
        return None
    zone = find_zone(str(name))
    if zone is None and notes.get(TIME_ZONE):
        raise build_field_refusal(
            TIME_ZONE, f'{TIME_ZONE} must be an IANA time zone such as "Asia/Seoul", not {str(name)[:64]!r}.'
        )
    return zone


def _read_answer_limits(fields: Mapping[str, Any], longest: Sequence[str]) -> AnswerLimits:
    """Returns the limits of the answer. ``longest``: the fields for its tokens. Raises ``Refusal``, and the errors of
    ``AnswerLimits.validate_limits``."""
    tokens = next((_read_number_field(fields, name) for name in longest if fields.get(name) is not None), None)
    stop = fields.get("stop") or []
    words = [stop] if isinstance(stop, str) else stop
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise build_field_refusal("stop", "stop must be a text or a list of texts.")
    limits = AnswerLimits(
        int(tokens) if tokens is not None else None,
        _read_number_field(fields, "temperature"),
        _read_number_field(fields, "top_p"),
        tuple(words),
        _read_form(fields),
    )
    return limits.validate_limits()


def _read_form(fields: Mapping[str, Any]) -> JsonForm | None:
    """Returns the form of the answer; None for plain text. Raises ``Refusal`` for a form that is none."""
    asked, name = fields.get("response_format"), "response_format"
    if asked is None and isinstance(text := fields.get("text"), Mapping):  # the responses API has it there
        asked, name = text.get("format"), "text.format"
    kind = asked.get("type", "text") if isinstance(asked, Mapping) else "text" if asked is None else ""
    if kind == "text":
        return None
    if kind == "json_object":
        return JsonForm()
    given = asked.get("json_schema", asked) if kind == "json_schema" and isinstance(asked, Mapping) else None
    schema = given.get("schema") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(schema, Mapping):
        raise build_field_refusal(name, f"{name} must be text, json_object, or json_schema with a name and a schema.")
    if fault := find_schema_fault(schema):
        raise build_field_refusal(name, f"The schema of {name} is none: {fault}", "invalid_json_schema")
    about = given.get("description")
    return JsonForm(
        schema, str(given.get("name") or "answer"), about if isinstance(about, str) else "", given.get("strict") is True
    )


def _read_number_field(fields: Mapping[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise build_field_refusal(name, f"{name} must be a number.", "invalid_type")
    return value


def _read_client_message(at: int, given: Any, field: str = "messages") -> ClientMessage:
    """Returns one message. Raises ``Refusal`` for a form that it cannot have, and for parts other than text and
    images."""
    place = f"{field}[{at}]"
    if isinstance(given, Mapping) and given.get("type") not in (None, "message"):
        return _tool_item(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        raise build_field_refusal(place, f"{place} must be an object with a role and a content.")
    content, texts, images = given.get("content"), list[str](), list[dict[str, Any]]()
    calls, call = _read_tool_names(given), str(given.get("tool_call_id") or given.get("name") or "")
    if content is None or isinstance(content, str):
        return ClientMessage(given["role"], content or "", calls=calls, call=call)
    if not isinstance(content, list):
        raise build_field_refusal(
            f"{place}.content", f"{place}.content must be a text or a list of parts.", "invalid_type"
        )
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind in ("image_url", "input_image"):
            images.append({"type": "image_url", "image_url": part.get("image_url")})
        elif kind != "refusal":
            raise build_field_refusal(
                f"{place}.content", f"{place}.content may have parts of text and images only, not {kind!r}."
            )
    return ClientMessage(given["role"], "\n".join(texts), tuple(images), calls, call)


def _tool_item(given: Mapping[str, Any]) -> ClientMessage:
    """Returns an item of the responses API that is no message: a call of a client's tool, or the result of one."""
    kind, call = str(given.get("type")), str(given.get("call_id") or "")
    if kind.endswith("_output"):
        output = given.get("output")
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False) if output else ""
        return ClientMessage("tool", text, call=call)
    name = str(given.get("name") or "")
    return ClientMessage("assistant", "", calls={call: name}) if kind.endswith("_call") else ClientMessage("tool", "")


def _read_tool_names(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names of the tools that a message calls, by the ids of the calls."""
    calls, old = given.get("tool_calls"), given.get("function_call")
    functions = [(call.get("id"), call.get("function")) for call in calls or () if isinstance(call, Mapping)]
    if isinstance(old, Mapping):
        functions.append((old.get("name"), old))
    return {str(id_): str(function.get("name") or "") for id_, function in functions if isinstance(function, Mapping)}
