"""What a client asks for, read from the JSON of its request: fields that are taken, left out, or refused by name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from door.openai.refusal import bad
from door.openai.told import Message
from graph.turn.request import AnswerLimits
from text.clean import clean

SESSION, REPORT = "gieok_session", "gieok_report"
"""Entries of ``metadata``: the conversation's name, and whether the answer brings its report."""
TEXTS = ("text", "input_text", "output_text")
MODEL = "gieok"
"""The name under which every model of the installation answers."""
_ESCAPE = re.compile(r"\\u(?:d|0000)", re.IGNORECASE)
"""JSON's escapes of what no text may hold: half a surrogate pair, and NUL."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request for an answer. ``session``: the conversation's name, or None; ``previous``: the id of the response that
    it follows; ``responds``: whether the answer needs such an id, too; ``usage``: whether a stream ends with its
    tokens; ``report``: whether the answer brings the report of its prompt; ``left_out``: names of the fields that were
    not used.
    """

    model: str
    messages: list[Message]
    limits: AnswerLimits
    stream: bool = False
    usage: bool = False
    report: bool = False
    session: str | None = None
    previous: str | None = None
    responds: bool = False
    left_out: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


def parsed(content: bytes) -> Any:
    """Returns the JSON of a request, with its texts cleaned (``text.clean``). Raises ``Refusal``."""
    try:
        written = content.decode("utf-8-sig")
        value = json.loads(written, parse_constant=_no_number)
        return cleaned(value) if _ESCAPE.search(written) else value
    except (ValueError, RecursionError) as error:
        raise bad("body", "The body is no JSON.", "invalid_json") from error


def _no_number(name: str) -> None:
    raise ValueError(name)


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
    choice = fields.get("tool_choice")
    if choice not in (None, "none", "auto"):
        raise bad("tool_choice", "The tools of a client are not run, so none can be required.")
    if fields.get("function_call") not in (None, "none", "auto"):
        raise bad("function_call", "The functions of a client are not run, so none can be required.")
    for name in ("response_format", "text"):
        form = fields.get(name)
        kind = (form.get("format") or form).get("type", "text") if isinstance(form, Mapping) else "text"
        if kind != "text":
            raise bad(name, f"{name} must be text: answers of another form are not available.")
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
    notes = metadata if isinstance(metadata, Mapping) else {}
    model = fields.get("model") or MODEL
    if not isinstance(model, str):
        raise bad("model", "model must be the name of a model.")
    return Body(
        model=model,
        messages=messages,
        limits=limits,
        stream=fields.get("stream") is True,
        usage=usage,
        report=str(notes.get(REPORT, "")).lower() == "true",
        session=str(notes[SESSION]) if notes.get(SESSION) else None,
        previous=previous,
        responds=responds,
        left_out=tuple(name for name in ("tools", "functions") if fields.get(name)),
        fields=fields,
    )


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
    )
    return limits.checked()


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
        return Message("tool", "")  # a call or a result of the client's own tools
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        raise bad(place, f"{place} must be an object with a role and a content.")
    content, texts, images = given.get("content"), list[str](), list[dict[str, Any]]()
    if content is None or isinstance(content, str):
        return Message(given["role"], content or "")
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
    return Message(given["role"], "\n".join(texts), tuple(images))
