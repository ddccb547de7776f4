"""How the endpoint refuses a request: OpenAI's error object, or JSON-RPC's, and the status that belongs to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, assert_never

from starlette.responses import JSONResponse, Response

import errors
from errors import GieokError, OutOfRange, TooLong
from graph.turn.event import Failed, TurnQuestions
from server.status import INVALID_REQUEST, SERVER_ERROR, retry_after, status_of

log = logging.getLogger("gieok.endpoint")

MCP_PATH, AGENT_PATH = "/mcp", "/a2a"
RPC_PATHS = frozenset((MCP_PATH, AGENT_PATH))
"""Where clients speak JSON-RPC: there every refusal has its envelope, whoever refuses."""
PLACES = frozenset(("address", "file", "log", "path", "place", "url", "where"))
"""Values of errors that name a place on the machine or in its network."""
HIDDEN = "…"


class Refusal(Exception):
    """A request that is not answered. ``param``: the field at fault; ``wait``: seconds until a try makes sense;
    ``again``: whether the same request may succeed later; ``headers``: of the answer, beside ``Retry-After`` and
    ``x-should-retry``, which OpenAI's libraries obey."""

    def __init__(
        self,
        http: int,
        message: str,
        *,
        code: str,
        kind: str = "invalid_request_error",
        param: str | None = None,
        wait: int | None = None,
        again: bool = False,
    ) -> None:
        super().__init__(message)
        self.http, self.wait, self.code, self.again = http, wait, code, again or wait is not None
        self.headers: dict[str, str] = {}
        self.error = {"message": message, "type": kind, "param": param, "code": code}

    def response_at(self, path: str) -> Response:
        """Returns the answer to a client of this path, in the form of its protocol."""
        return self.rpc_response() if (path.rstrip("/") or path) in RPC_PATHS else self.response()

    def response(self) -> Response:
        """Returns the answer to the client."""
        wait = {"Retry-After": str(self.wait)} if self.wait else {}
        again = {"x-should-retry": "true" if self.again else "false"}
        return JSONResponse({"error": self.error}, self.http, {**self.headers, **again, **wait})

    def rpc_response(self) -> Response:
        """Returns the answer in the envelope of JSON-RPC, as an error without a request: MCP and A2A."""
        wait = {"Retry-After": str(self.wait)} if self.wait else {}
        number = INVALID_REQUEST if self.http in (400, 413) else SERVER_ERROR
        data = {"code": self.code, "retryable": self.again}
        told = {"code": number, "message": str(self), "data": data}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": told}, self.http, {**self.headers, **wait})


def build_field_refusal(field: str, message: str, code: str = "invalid_value") -> Refusal:
    """Returns the refusal of a field that the endpoint cannot take."""
    return Refusal(400, message, code=code, param=field)


def shutting_down() -> Refusal:
    """Returns the refusal of a server that ends."""
    return Refusal(503, "The server is ending.", code="shutting_down", kind="api_error", wait=5)


def build_unbegun_refusal() -> Refusal:
    """Returns the refusal of a request that was stopped before it began, as a rule because its client had left: what it
    asked may have been answered elsewhere since, and it leaves nothing behind."""
    return Refusal(503, "The request was stopped before it began.", code="stopped", kind="api_error", wait=5)


def waits_for_user() -> Refusal:
    """Returns the refusal of a turn that waits for an answer of the user, which the endpoint cannot bring."""
    message = "This conversation waits for an answer of its user: give it in Gieok, or send the message once more."
    return Refusal(409, message, code="waits_for_user", kind="conflict_error")


def build_error_refusal(error: GieokError) -> Refusal:
    """Returns the refusal for an error of Gieok's, without what only the operator of the machine may know."""
    status = status_of(error)
    return Refusal(
        status.http,
        _render_public_text(error, ours=status.http >= 500),
        code=status.code,
        kind=status.type,
        param=_find_refused_field(error),
        wait=retry_after(error),
        again=error.retryable,
    )


def build_end_refusal(end: Failed | TurnQuestions | GieokError | Refusal) -> Refusal:
    """Returns the refusal for the end of a request that has no answer."""
    match end:
        case Failed():
            return build_turn_refusal(end)
        case TurnQuestions():
            return waits_for_user()
        case GieokError():
            return build_error_refusal(end)
        case Refusal():
            return end
        case _:
            assert_never(end)


def build_turn_refusal(failed: Failed) -> Refusal:
    """Returns the refusal for a turn that failed."""
    error = error_of(failed)
    if error is None:
        return Refusal(500, GieokError().text(), code=failed.code, kind="api_error")
    return build_error_refusal(error)


def error_of(failed: Failed) -> GieokError | None:
    """Returns the error with which a turn failed; None for a code that is not known."""
    kind = _BY_CODE.get(failed.code)
    return None if kind is None else kind(**failed.values)


def _render_public_text(error: GieokError, *, ours: bool) -> str:
    """Returns the text of an error without the values that name a place; of an error that is ``ours``, with numbers
    only, or what it says to callers: the reason that these are not told stands in the log."""
    if error.outside:
        log.warning("%s: %s", error.code, error.text())
        return error.outside
    values = {
        name: HIDDEN if name in PLACES or (ours and not isinstance(value, int | float)) else value
        for name, value in error.values.items()
    }
    return type(error)(**values).text()


def _find_refused_field(error: GieokError) -> str | None:
    """Returns the field of the request that an error names."""
    values: dict[str, Any] = error.values
    if "field" in values:
        return str(values["field"])
    return str(values["what"]) if isinstance(error, OutOfRange | TooLong) else None


def _list_error_classes(kind: type[GieokError]) -> Iterator[type[GieokError]]:
    yield kind
    for other in kind.__subclasses__():
        yield from _list_error_classes(other)


_BY_CODE = {kind.code: kind for kind in _list_error_classes(errors.GieokError)}
