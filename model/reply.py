"""JSON in a model's reply, wherever it stands: behind thoughts, in a code fence, inside another object."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage

from errors import RequestRejected
from model.stream import Model, complete

MOST_TRIES = 200
"""Opening braces of a reply that are tried: what a model thinks may have any number of them."""
_DECODER = json.JSONDecoder(strict=False)


def shape(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """``response_format`` for a reply in this JSON schema, an object whose properties are all required."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def complete_shaped(
    model: Model,
    messages: LanguageModelInput,
    response_format: dict[str, Any],
    *,
    stop: threading.Event | None = None,
    **bind: Any,
) -> AIMessage:
    """As ``model.stream.complete``, held to a shape; asked once more without it where the server refuses it."""
    try:
        return complete(model, messages, stop=stop, response_format=response_format, **bind)
    except RequestRejected:
        return complete(model, messages, stop=stop, **bind)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a reply, the likeliest answer first: the last one, what it holds, then those before it."""
    for top in reversed(_top(text)):
        yield from _with_inner(top)


def _top(text: str) -> list[dict[str, Any]]:
    """The objects that stand in no other one, in order."""
    whole: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(MOST_TRIES):
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            whole.append(value)
        at = text.find("{", end)
    return whole


def _with_inner(top: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An object and those inside; without recursion, for it may be nested deeper than Python goes."""
    left: list[Any] = [top]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value
