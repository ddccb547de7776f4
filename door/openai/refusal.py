"""How the endpoint refuses a request: OpenAI's error object and the status that belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.responses import JSONResponse

import errors
from door.status import retry_after, status_of
from errors import GieokError, OutOfRange, TooLong
from graph.turn.event import Failed


class Refusal(Exception):
    """A request that is not answered. ``param``: the field at fault; ``wait``: seconds until a try makes sense;
    ``headers``: of the answer, beside ``Retry-After``."""

    def __init__(
        self,
        http: int,
        message: str,
        *,
        code: str,
        kind: str = "invalid_request_error",
        param: str | None = None,
        wait: int | None = None,
    ) -> None:
        super().__init__(message)
        self.http, self.wait, self.code = http, wait, code
        self.headers: dict[str, str] = {}
        self.error = {"message": message, "type": kind, "param": param, "code": code}

    def response(self) -> JSONResponse:
        """Returns the answer to the client."""
        wait = {"Retry-After": str(self.wait)} if self.wait else {}
        return JSONResponse({"error": self.error}, self.http, {**self.headers, **wait})


def bad(field: str, message: str, code: str = "invalid_value") -> Refusal:
    """Returns the refusal of a field that the endpoint cannot take."""
    return Refusal(400, message, code=code, param=field)


def of(error: GieokError) -> Refusal:
    """Returns the refusal for an error of Gieok's."""
    status = status_of(error)
    wait = retry_after(error)
    return Refusal(status.http, error.text(), code=status.code, kind=status.type, param=_field(error), wait=wait)


def of_turn(failed: Failed) -> Refusal:
    """Returns the refusal for a turn that failed."""
    kind = _BY_CODE.get(failed.code)
    if kind is None:
        return Refusal(500, failed.message, code=failed.code, kind="api_error")
    return of(kind(**failed.values))


def _field(error: GieokError) -> str | None:
    """Returns the field of the request that an error names."""
    values: dict[str, Any] = error.values
    if "field" in values:
        return str(values["field"])
    return str(values["what"]) if isinstance(error, OutOfRange | TooLong) else None


def _classes(kind: type[GieokError]) -> Iterator[type[GieokError]]:
    yield kind
    for other in kind.__subclasses__():
        yield from _classes(other)


_BY_CODE = {kind.code: kind for kind in _classes(errors.GieokError)}
