"""Exceptions that nobody took, such as that of a task on the event loop whose end nobody waits for.

asyncio would write the whole chain of exceptions into the log, with their messages and arguments, which may hold what
somebody said.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from errors import GieokError, format_error_trace

log = logging.getLogger("gieok.endpoint")


def report_to_log(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Writes what asyncio has to say; for ``loop.set_exception_handler``."""
    what = str(context.get("message", "")).partition("(")[0]  # the arguments of a callback stand in parentheses
    report_lost(what, context.get("exception"))


def report_lost(what: str, error: BaseException | None) -> None:
    """Writes one line for an error of Gieok's or one that it caused, kind and place for any other.

    ``what``: what was lost, without any content of a message.
    """
    ours = find_ours(error)
    if ours is not None:
        log.warning("%s: %s", what, ours.code)
    else:
        log.error("%s: %s", what, format_error_trace(error) if error is not None else "no exception")


def find_ours(error: BaseException | None) -> GieokError | None:
    """Returns the error of Gieok's that an exception is, or that it was raised for; None where there is none."""
    while error is not None and not isinstance(error, GieokError):
        error = error.__cause__ or error.__context__
    return error


__all__ = ["find_ours", "report_lost", "report_to_log"]
