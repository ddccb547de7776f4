"""Errors of Gieok's as errors of the protocol, by the table (``server.status``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from a2a.server.jsonrpc_models import JSONRPCError
from a2a.server.request_handlers.response_helpers import EXCEPTION_MAP
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2A_ERROR_REASONS,
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    ErrorMapping,
    InternalError,
)

from door.a2a.task.task import ThreadRunner
from errors import GieokError
from server import refusal
from server.status import SERVER_ERROR, status_of

_T = TypeVar("_T")
_BY_CODE = {code: kind for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


class Unavailable(A2AError):
    """The service cannot answer now, because something that it stands on is away, and can later: the protocol leaves
    such errors to the server (JSON-RPC -32000 to -32099; google.rpc.Code UNAVAILABLE). Version 0.3 has an internal
    error there, with the same words."""


A2A_ERROR_MAPPING[Unavailable] = ErrorMapping(503, "UNAVAILABLE", "UNAVAILABLE")
A2A_ERROR_REASONS[Unavailable] = "UNAVAILABLE"
JSON_RPC_ERROR_CODE_MAP[Unavailable] = SERVER_ERROR
EXCEPTION_MAP[Unavailable] = JSONRPCError


def build_a2a_error(error: GieokError) -> A2AError:
    """Returns the protocol's error, without what only the operator of the machine may know."""
    refused = refusal.build_error_refusal(error)
    kind = _BY_CODE.get(status_of(error).a2a, InternalError)
    if refused.http == 503:
        kind = Unavailable
    about = {"code": refused.code, "retryable": str(refused.again).lower()}
    about |= {"retryAfterSeconds": str(refused.wait)} if refused.wait else {}
    return kind(message=str(refused.error["message"]), data=about if kind is Unavailable else None)


def translate_call_errors(call: ThreadRunner) -> ThreadRunner:
    """Returns the same way to run work in a thread; errors of Gieok's become those of the protocol."""

    async def run(work: Callable[[], _T]) -> _T:
        try:
            return await call(work)
        except GieokError as error:
            raise build_a2a_error(error) from error

    return run
