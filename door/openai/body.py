"""What a client asks for, read from the JSON of its request: fields that are taken, left out, or refused by name."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from starlette.requests import Request
from starlette.types import Message as ASGIMessage
from starlette.types import Receive

from door.openai.client_tools import read_tools
from door.openai.message import Message
from door.openai.refusal import Refusal, bad
from graph.answer.json_form import JsonForm, find_schema_fault
from graph.context.clock import find_zone
from graph.tool.client_tool import NO_TOOLS, ClientTools
from graph.turn.request import AnswerLimits
from text.clean import clean

SESSION, REPORT, MEMORY, TIME_ZONE = "gieok_session", "gieok_report", "gieok_memory", "gieok_zone"
"""Our options, as entries of ``metadata`` or as fields of the request: the conversation's name, whether the answer
brings its report, and whether the conversation shares the user's memory."""
TEXTS = ("text", "input_text", "output_text")
MODEL = "gieok"
"""The name under which every model of the installation answers."""
DRAINED = 4
"""How many times the limit of a body is read, and thrown away, before a client is cut off."""
_ESCAPE = re.compile(r"\\u(?:d|0000)", re.IGNORECASE)
"""JSON's escapes of what no text may hold: half a surrogate pair, and NUL."""


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
    messages: list[Message]
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


async def read_body(request: Request, limit: int) -> bytes:
    """Returns the body of a request of at most ``limit`` bytes. Raises ``Refusal`` (413) for a larger one, when it has
    arrived: a client that still sends would not see the answer. ``ClientDisconnect`` where the client leaves."""
    parts, size = list[bytes](), 0
    async for part in request.stream():
        size += len(part)
        if size <= limit:
            parts.append(part)
        else:
            parts.clear()
        if size > DRAINED * limit:
            break
    if size > limit:
        raise Refusal(413, f"The body is too large; the limit is {limit:,} bytes.", code="request_too_large")
    return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Returns a receiver that gives a body that was read once more, then what comes after it."""
    given = False

    async def receive_again() -> ASGIMessage:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def parsed(content: bytes) -> Any:
    """Returns the JSON of a request, with its texts cleaned (``text.clean``). Raises ``Refusal``."""
    try:
        written = content.decode("utf-8-sig")
        value = json.loads(written, parse_constant=_no_number, parse_int=_integer, parse_float=_read_fraction)
        return cleaned(value) if _ESCAPE.search(written) else value
    except (ValueError, RecursionError) as error:
        raise bad("body", "The body is no JSON, or has a number of too many digits.", "invalid_json") from error


def _no_number(name: str) -> None:
    raise ValueError(name)


def _integer(digits: str) -> int:
    """Returns a whole number that also fits a float: no field takes another, and no error could write it out."""
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError("a number has too many digits")
    return int(digits)


def _read_fraction(digits: str) -> float:
    """Returns a number that is finite: another could be stored, and never be written out as JSON again."""
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is too large")
    return number


def cleaned(value: Any) -> Any:
    """Returns JSON data with all its texts cleaned (``text.clean``)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    return {clean(name): cleaned(each) for name, each in value.items()} if isinstance(value, dict) else value


def chat_body(given: Any) -> Body:
    """Returns the request of ``/v1/chat/completions``. Raises ``Refusal``."""
    fields = _object(given)
    _refuse(fields)
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad("messages", "messages must be a list with at least one message of the role «user».")
    limits = _limits(fields, ("max_completion_tokens", "max_tokens"))
    options = fields.get("stream_options")
    usage = isinstance(options, Mapping) and options.get("include_usage") is True
    return _body(fields, [_message(at, each) for at, each in enumerate(messages)], limits, usage=usage)


def response_body(given: Any) -> Body:
    """Returns the request of ``/v1/responses``. Raises ``Refusal``."""
    fields = _object(given)
    _refuse(fields)
    asked = fields.get("input")
    if isinstance(asked, str):
        messages = [Message("user", asked)]
    elif isinstance(asked, list) and asked:
        messages = [_message(at, each, "input") for at, each in enumerate(asked)]
    else:
        raise bad("input", "input must be a text or a list of messages.")
    if isinstance(fields.get("instructions"), str):
        messages.insert(0, Message("system", fields["instructions"]))
    previous = fields.get("previous_response_id")
    if previous is not None and not isinstance(previous, str):
        raise bad("previous_response_id", "previous_response_id must be the id of a response.")
    return _body(fields, messages, _limits(fields, ("max_output_tokens",)), previous=previous, responds=True)


def _object(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise bad("body", "The body must be a JSON object.", "invalid_json")
    return given


def _refuse(fields: Mapping[str, Any]) -> None:
    """Raises ``Refusal`` for fields that change what an answer is, and that the endpoint does not know."""
    if fields.get("n") not in (None, 1):
        raise bad("n", "n must be 1: an answer is a turn of a conversation.")
    for name in ("logprobs", "top_logprobs"):
        if fields.get(name):
            raise bad(name, f"{name} are not available.")
    if fields.get("function_call") not in (None, "none", "auto"):
        raise bad("function_call", "The functions of a client are not run, so none can be required.")
    if fields.get("background"):
        raise bad("background", "background responses are not available.")


def _body(
    fields: Mapping[str, Any],
    messages: list[Message],
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
        raise bad("model", "model must be the name of a model.")
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
        raise bad(TIME_ZONE, f'{TIME_ZONE} must be an IANA time zone such as "Asia/Seoul", not {str(name)[:64]!r}.')
    return zone


def _limits(fields: Mapping[str, Any], longest: Sequence[str]) -> AnswerLimits:
    """Returns the limits of the answer. ``longest``: the fields for its tokens. Raises ``Refusal``, and the errors of
    ``AnswerLimits.checked``."""
    tokens = next((_number(fields, name) for name in longest if fields.get(name) is not None), None)
    stop = fields.get("stop") or []
    words = [stop] if isinstance(stop, str) else stop
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise bad("stop", "stop must be a text or a list of texts.")
    limits = AnswerLimits(
        int(tokens) if tokens is not None else None,
        _number(fields, "temperature"),
        _number(fields, "top_p"),
        tuple(words),
        _read_form(fields),
    )
    return limits.checked()


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
        raise bad(name, f"{name} must be text, json_object, or json_schema with a name and a schema.")
    if fault := find_schema_fault(schema):
        raise bad(name, f"The schema of {name} is none: {fault}", "invalid_json_schema")
    about = given.get("description")
    return JsonForm(
        schema, str(given.get("name") or "answer"), about if isinstance(about, str) else "", given.get("strict") is True
    )


def _number(fields: Mapping[str, Any], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise bad(name, f"{name} must be a number.", "invalid_type")
    return value


def _message(at: int, given: Any, field: str = "messages") -> Message:
    """Returns one message. Raises ``Refusal`` for a form that it cannot have, and for parts other than text and
    images."""
    place = f"{field}[{at}]"
    if isinstance(given, Mapping) and given.get("type") not in (None, "message"):
        return _tool_item(given)
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        raise bad(place, f"{place} must be an object with a role and a content.")
    content, texts, images = given.get("content"), list[str](), list[dict[str, Any]]()
    calls, call = _calls(given), str(given.get("tool_call_id") or given.get("name") or "")
    if content is None or isinstance(content, str):
        return Message(given["role"], content or "", calls=calls, call=call)
    if not isinstance(content, list):
        raise bad(f"{place}.content", f"{place}.content must be a text or a list of parts.", "invalid_type")
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind in ("image_url", "input_image"):
            images.append({"type": "image_url", "image_url": part.get("image_url")})
        elif kind != "refusal":
            raise bad(f"{place}.content", f"{place}.content may have parts of text and images only, not {kind!r}.")
    return Message(given["role"], "\n".join(texts), tuple(images), calls, call)


def _tool_item(given: Mapping[str, Any]) -> Message:
    """Returns an item of the responses API that is no message: a call of a client's tool, or the result of one."""
    kind, call = str(given.get("type")), str(given.get("call_id") or "")
    if kind.endswith("_output"):
        output = given.get("output")
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False) if output else ""
        return Message("tool", text, call=call)
    name = str(given.get("name") or "")
    return Message("assistant", "", calls={call: name}) if kind.endswith("_call") else Message("tool", "")


def _calls(given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the names of the tools that a message calls, by the ids of the calls."""
    calls, old = given.get("tool_calls"), given.get("function_call")
    functions = [(call.get("id"), call.get("function")) for call in calls or () if isinstance(call, Mapping)]
    if isinstance(old, Mapping):
        functions.append((old.get("name"), old))
    return {str(id_): str(function.get("name") or "") for id_, function in functions if isinstance(function, Mapping)}
