"""JSON in a model's reply, wherever it stands: behind thoughts, in a code fence, inside another object."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

from errors import RequestRejected
from model.call.stream import Model, complete_answer

MOST_TRIES = 200
"""Opening braces of a reply that ``find_json_objects`` tries, because a model's thoughts may hold any number of
braces."""
K = TypeVar("K", bound=BaseModel)
_DECODER = json.JSONDecoder(strict=False)


def build_response_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the ``response_format`` for a reply in this JSON schema, an object whose properties are all required."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def complete_shaped(
    model: Model,
    messages: LanguageModelInput,
    response_format: dict[str, Any],
    *,
    stop: threading.Event | None = None,
    **bind: Any,
) -> AIMessage:
    """Returns the answer as ``model.call.stream.complete_answer`` does, in ``response_format``; asks once more without
    that format where the server refuses it."""
    try:
        return complete_answer(model, messages, stop=stop, response_format=response_format, **bind)
    except RequestRejected:
        return complete_answer(model, messages, stop=stop, **bind)


def find_json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects of a reply, the likeliest answer first: the last object, those inside it, then those
    before it."""
    for top in reversed(_find_outer_objects(text)):
        yield from _with_inner(top)


def find_valid_object(text: str, kind: type[K]) -> K | None:
    """Returns the likeliest object of a reply that can be read as a ``kind``; None where there is none."""
    for value in find_json_objects(text):
        with suppress(ValidationError):
            return kind.model_validate(value)
    return None


def _find_outer_objects(text: str) -> list[dict[str, Any]]:
    """Returns the objects that lie inside no other object, in order."""
    outermost: list[dict[str, Any]] = []
    start = text.find("{")
    for _ in range(MOST_TRIES):
        if start < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            outermost.append(value)
        start = text.find("{", end)
    return outermost


def _with_inner(top: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields an object and all objects inside it; without recursion, because the nesting may be deeper than Python
    allows."""
    pending: list[Any] = [top]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value
