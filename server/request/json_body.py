"""The JSON of a request's body, as every door reads it: within a limit, once more for the application behind, and with
clean texts and numbers that can be stored."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

from starlette.requests import Request
from starlette.types import Message as ASGIMessage
from starlette.types import Receive

from server.refusal import Refusal, build_field_refusal
from text.clean import clean_text, refuse_json_constant

DRAINED = 4
"""How many times the limit of a body is read, and thrown away, before a client is cut off."""
_ESCAPE = re.compile(r"\\u(?:d|0000)", re.IGNORECASE)
"""JSON's escapes of what no text may hold: half a surrogate pair, and NUL."""


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


def parse_request_json(content: bytes) -> Any:
    """Returns the JSON of a request, with its texts cleaned (``text.clean``). Raises ``Refusal``."""
    try:
        written = content.decode("utf-8-sig")
        value = json.loads(
            written, parse_constant=refuse_json_constant, parse_int=_parse_whole_number, parse_float=_read_fraction
        )
        return clean_json_texts(value) if _ESCAPE.search(written) else value
    except (ValueError, RecursionError) as error:
        raise build_field_refusal(
            "body", "The body is no JSON, or has a number of too many digits.", "invalid_json"
        ) from error


def _parse_whole_number(digits: str) -> int:
    """Returns a whole number that also fits a float: no field takes another, and no error could write it out."""
    if len(digits) > sys.float_info.max_10_exp:
        raise ValueError("a number has too many digits")
    return int(digits)


def _read_fraction(digits: str) -> float:
    """Returns a number that is finite: another could be stored, and never be written out as JSON again."""
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is too large")
    return number


def clean_json_texts(value: Any) -> Any:
    """Returns JSON data with all its texts cleaned (``text.clean``)."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json_texts(each) for each in value]
    return (
        {clean_text(name): clean_json_texts(each) for name, each in value.items()} if isinstance(value, dict) else value
    )
