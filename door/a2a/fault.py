"""Errors of Gieok's as errors of the protocol, by the table (``door.status``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError, InternalError

from door.a2a.task import Call
from door.openai import refusal
from door.status import status_of
from errors import GieokError

_T = TypeVar("_T")
_BY_CODE = {code: kind for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


def fault(error: GieokError) -> A2AError:
    """Returns the protocol's error, without what only the operator of the machine may know."""
    kind = _BY_CODE.get(status_of(error).a2a, InternalError)
    return kind(message=str(refusal.of(error).error["message"]))


def translated(call: Call) -> Call:
    """Returns the same way to run work in a thread; errors of Gieok's become those of the protocol."""

    async def run(work: Callable[[], _T]) -> _T:
        try:
            return await call(work)
        except GieokError as error:
            raise fault(error) from error

    return run
