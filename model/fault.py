"""What went wrong upstream, as Gieok's errors: third-party exceptions are translated here, once (style «errors»).

No text of an upstream error is passed on, because servers echo keys and messages in it; only its code, type and the
name of the parameter are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any

import httpx2
import openai
from pydantic import ValidationError

from errors import (
    ContextOverflow,
    ContextTooLong,
    GieokError,
    KeyRejected,
    ModelBroken,
    ModelOverloaded,
    ModelPaused,
    ModelServerError,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    NoCredit,
    RequestRejected,
    ToolsRejected,
)

_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "context window", "maximum context length")
_OVER = re.compile(r"maximum context length is (?P<limit>\d+) tokens.*?(?:resulted in|requested) (?P<tokens>\d+)", re.S)
_NO_TOOLS = re.compile(
    r"does not support tool|tools? (?:use |calling )?(?:is|are) not supported|requires --jinja", re.I
)
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""What OpenAI names an empty account, with the status of a rate limit."""
_PASSING = (408, 409, 425)
"""HTTP statuses below 500 that the same request may not meet again."""
_NAME = re.compile(r"[\w.\[\]-]{1,80}")


@contextmanager
def translated(url: str, model: str, seconds: float) -> Iterator[None]:
    """Let only Gieok's errors out of the block. ``seconds``: the time-out that is named when it struck."""
    try:
        yield
    except (openai.APIError, httpx2.HTTPError, JSONDecodeError, UnicodeDecodeError) as error:
        raise translate(error, url=url, model=model, seconds=seconds) from error
    except (AttributeError, KeyError, TypeError, ValidationError) as error:  # langchain-openai, of a shape it lacks
        reason = "it sent something that is not Chat Completions"
        raise ModelBroken(url=url, reason=reason, reason_code="shape") from error


def translate(error: Exception, *, url: str, model: str, seconds: float) -> GieokError:
    """The error of Gieok that an exception of the OpenAI client, of httpx or of JSON stands for."""
    if isinstance(error, openai.APIStatusError):
        wait = _wait(error.response.headers.get("retry-after", ""))
        return _status(error.status_code, _body(error), str(error), url=url, model=model, wait=wait)
    if isinstance(error, openai.APIError) and _too_long(_body(error), str(error)):
        return _overflow(_body(error), str(error))
    cause = error.__cause__
    while isinstance(cause, openai.APIError) and cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(error, openai.APITimeoutError) or isinstance(cause or error, httpx2.TimeoutException):
        return ModelTimeout(url=url, seconds=seconds)
    if isinstance(cause or error, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return ModelUnreachable(url=url)
    return ModelBroken(url=url, **_broken(error))


def _status(status: int, body: Mapping[str, Any], text: str, *, url: str, model: str, wait: int) -> GieokError:
    said = (body.get("code"), body.get("type"))  # they tell more than the status
    if status == 402 or any(each in said for each in NO_CREDIT):
        return NoCredit(url=url)
    if status == 404 or "model_not_found" in said:
        return ModelUnknown(url=url, model=model)
    if status in (401, 403) and "unsupported_country_region_territory" not in said:
        return KeyRejected(url=url, status=status)
    if status == 429:
        return ModelPaused(url=url, seconds=wait) if wait else ModelOverloaded(url=url)
    if status == 413 or _too_long(body, text):
        return _overflow(body, text)
    if status in (400, 500, 501) and _NO_TOOLS.search(text):
        return ToolsRejected(url=url, model=model)
    kind = ModelServerError if status >= 500 or status in _PASSING else RequestRejected
    return kind(url=url, status=status, reason=_reason(body) or _phrase(status))


def _wait(header: str) -> int:
    """Seconds of ``Retry-After``; 0 when there is none, or a date."""
    return int(header) if re.fullmatch(r"\d{1,6}", header) else 0


def _too_long(body: Mapping[str, Any], text: str) -> bool:
    said = f"{body.get('code')} {body.get('type')} {text}"
    return any(mark in said for mark in _TOO_LONG)


def _overflow(body: Mapping[str, Any], text: str) -> GieokError:
    """With the numbers of llama.cpp (``n_prompt_tokens``, ``n_ctx``) or of OpenAI's sentence, when there are any."""
    tokens, limit = body.get("n_prompt_tokens"), body.get("n_ctx")
    if found := _OVER.search(text):
        tokens, limit = int(found["tokens"]), int(found["limit"])
    if isinstance(tokens, int) and isinstance(limit, int):
        return ContextTooLong(tokens=tokens, limit=limit)
    return ContextOverflow()


def _body(error: openai.APIError) -> Mapping[str, Any]:
    return error.body if isinstance(error.body, Mapping) else {}


def _reason(body: Mapping[str, Any]) -> str:
    names = (body.get("code"), body.get("type"), body.get("param"))
    plain = [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
    return ", ".join(dict.fromkeys(plain))


def _phrase(status: int) -> str:
    known = {each.value: each.phrase for each in HTTPStatus}
    return known.get(status, "no reason given")


def _broken(error: Exception) -> dict[str, str]:
    """The reason, for translation too."""
    if isinstance(error, JSONDecodeError | UnicodeDecodeError):
        return {"reason": "it sent something that is not JSON", "reason_code": "json"}
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        return {"reason": "the connection was lost", "reason_code": "lost"}
    said = _reason(_body(error)) if isinstance(error, openai.APIError) else ""
    if said:
        return {"reason": f"it reported an error ({said})", "reason_code": "reported", "detail": said}
    return {"reason": "it reported an error", "reason_code": "error"}
