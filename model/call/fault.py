"""Gieok's errors for failures upstream: this module alone translates third-party exceptions (design 1.5).

Gieok's errors pass on the code, the type and the parameter name of the upstream error, and none of its text, because
servers echo keys and messages in their texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from json import JSONDecodeError, loads
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic import ValidationError

from errors import (
    ContextOverflow,
    ContextTooLong,
    GieokError,
    ImagesRejected,
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

if TYPE_CHECKING:  # it takes half a second: it is imported with the client, or with the first failure
    import openai

_TOO_LONG = ("context_length_exceeded", "exceed_context_size_error", "context window", "maximum context length")
_OVER = re.compile(r"maximum context length is (?P<limit>\d+) tokens.*?(?:resulted in|requested) (?P<tokens>\d+)", re.S)
_NO_TOOLS = re.compile(
    r"does not support tool|tools? (?:use |calling )?(?:is|are) not supported|requires --jinja", re.I
)
_IMAGE = r"(?:image|vision|visual|multi-?modal)"
_NO_SUPPORT = (
    r"(?:not support|unsupported|only support|not enabled|not accept|cannot (?:read|process|handle)|no endpoints found"
    r"|at most 0|expected .?text|is not a)"
)
_NO_IMAGES = re.compile(
    rf"{_NO_SUPPORT}[^.\n]{{0,80}}{_IMAGE}|{_IMAGE}[^.\n]{{0,80}}{_NO_SUPPORT}|{_IMAGE} input|content must be a string",
    re.I,
)
"""How servers say that a model takes no images: llama.cpp, vLLM, LM Studio, Ollama, OpenAI, OpenRouter, Mistral, Groq,
DeepSeek."""
_BAD_IMAGE = re.compile(
    r"invalid[_ ]image|formats?\b|too (?:large|big|small|many)|exceed|decode|corrupt|download|fetch|base64|pixel"
    r"|dimension|at most [1-9]|policy|safety",
    re.I,
)
"""Words about the images of one request, which say nothing of others."""
_ANY_IMAGE = re.compile(rf"\b{_IMAGE}", re.I)
NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
"""OpenAI's codes for an empty account; they come with the status of a rate limit."""
_PASSING = (408, 409, 425)
"""HTTP statuses below 500 that may pass: the same request may succeed later."""
_NAME = re.compile(r"[\w.\[\]-]{1,80}")
_NO_JSON = (JSONDecodeError, UnicodeDecodeError, RecursionError)
"""What reading an answer raises that is no JSON, or is nested without end."""


@contextmanager
def translate_upstream_errors(url: str, model: str, seconds: float) -> Iterator[None]:
    """Raises Gieok's errors in place of third-party exceptions of the block. ``seconds``: the time-out that
    ``ModelTimeout`` names."""
    try:
        yield
    except _list_upstream_errors() as error:
        raise translate_error(error, url=url, model=model, seconds=seconds) from error
    except (AttributeError, KeyError, TypeError, ValidationError) as error:  # of langchain-openai: an unknown shape
        reason = "it sent something that is not Chat Completions"
        raise ModelBroken(url=url, reason=reason, reason_code="shape") from error


def _list_upstream_errors() -> tuple[type[Exception], ...]:
    import openai

    return (openai.APIError, httpx2.HTTPError, *_NO_JSON)


def translate_error(error: Exception, *, url: str, model: str, seconds: float) -> GieokError:
    """Returns Gieok's error for an exception of the OpenAI client, of httpx or of JSON."""
    import openai

    if isinstance(error, openai.APIStatusError):
        refused = _refuses_images(error.status_code, str(error).replace(model, "")) if _has_images(error) else None
        if refused is not None:
            return ImagesRejected(url=url, model=model, status=error.status_code, lasting=refused)
        wait = _read_retry_seconds(error.response.headers.get("retry-after", ""))
        return _build_status_error(
            error.status_code, _read_error_body(error), str(error), url=url, model=model, wait=wait
        )
    if isinstance(error, openai.APIError) and _too_long(_read_error_body(error), str(error)):
        return _build_overflow_error(_read_error_body(error), str(error))
    cause = error.__cause__
    while isinstance(cause, openai.APIError) and cause.__cause__ is not None:
        cause = cause.__cause__
    lost = (
        cause if isinstance(cause, httpx2.HTTPError) else error
    )  # of httpx; the cause of its own errors is httpcore's
    if isinstance(error, openai.APITimeoutError) or isinstance(lost, httpx2.TimeoutException):
        return ModelTimeout(url=url, seconds=seconds)
    if isinstance(lost, httpx2.ConnectError | httpx2.ProxyError | httpx2.UnsupportedProtocol):
        return ModelUnreachable(url=url)
    return ModelBroken(url=url, **_describe_broken_answer(error))


def build_refusal_error(status: int, headers: Mapping[str, str], content: bytes, *, url: str, model: str) -> GieokError:
    """Returns Gieok's error for the answer of a server that did not take a request. ``headers``: names in lower
    case."""
    text = content.decode("utf-8", "replace")
    try:
        value = loads(text)
    except ValueError:
        value = None
    error = value.get("error") if isinstance(value, Mapping) else None
    body = error if isinstance(error, Mapping) else {}
    return _build_status_error(
        status, body, text, url=url, model=model, wait=_read_retry_seconds(headers.get("retry-after", ""))
    )


def _build_status_error(
    status: int, body: Mapping[str, Any], text: str, *, url: str, model: str, wait: int
) -> GieokError:
    codes = (body.get("code"), body.get("type"))  # they tell more than the status
    if status == 402 or any(code in codes for code in NO_CREDIT):
        return NoCredit(url=url)
    if status == 404 or "model_not_found" in codes:
        return ModelUnknown(url=url, model=model)
    if status in (401, 403) and "unsupported_country_region_territory" not in codes:
        return KeyRejected(url=url, status=status)
    if status == 429:
        return ModelPaused(url=url, seconds=wait) if wait else ModelOverloaded(url=url)
    if status == 413 or _too_long(body, text):
        return _build_overflow_error(body, text)
    if status in (400, 500, 501) and _NO_TOOLS.search(text):
        return ToolsRejected(url=url, model=model)
    kind = ModelServerError if status >= 500 or status in _PASSING else RequestRejected
    return kind(url=url, status=status, reason=_read_error_reason(body) or _name_http_status(status))


def _has_images(error: openai.APIStatusError) -> bool:
    """Returns whether the refused request held images."""
    try:
        return b'"image_url"' in error.request.content
    except httpx2.RequestNotRead:
        return False


def _refuses_images(status: int, text: str) -> bool | None:
    """Returns whether a server that refuses a request says that its model takes no images; False where it says that of
    these images alone, None where it speaks of something else. ``text``: without the model's name, which may hold such
    a word."""
    if status in (400, 404, 415, 422, 500, 501) and _NO_IMAGES.search(text) and not _BAD_IMAGE.search(text):
        return True
    return False if status in (400, 415, 422) and _ANY_IMAGE.search(text) else None


def _read_retry_seconds(header: str) -> int:
    """Returns the seconds of ``Retry-After``; 0 when the header is missing or holds a date."""
    return int(header) if re.fullmatch(r"\d{1,6}", header) else 0


def _too_long(body: Mapping[str, Any], text: str) -> bool:
    evidence = f"{body.get('code')} {body.get('type')} {text}"
    return any(mark in evidence for mark in _TOO_LONG)


def _build_overflow_error(body: Mapping[str, Any], text: str) -> GieokError:
    """Returns the error with the numbers of llama.cpp (``n_prompt_tokens``, ``n_ctx``) or of OpenAI's sentence, when
    there are any."""
    tokens, limit = body.get("n_prompt_tokens"), body.get("n_ctx")
    if match := _OVER.search(text):
        tokens, limit = int(match["tokens"]), int(match["limit"])
    if isinstance(tokens, int) and isinstance(limit, int):
        return ContextTooLong(tokens=tokens, limit=limit)
    return ContextOverflow()


def _read_error_body(error: openai.APIError) -> Mapping[str, Any]:
    return error.body if isinstance(error.body, Mapping) else {}


def _read_error_reason(body: Mapping[str, Any]) -> str:
    names = (body.get("code"), body.get("type"), body.get("param"))
    plain = [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
    return ", ".join(dict.fromkeys(plain))


def _name_http_status(status: int) -> str:
    phrases = {entry.value: entry.phrase for entry in HTTPStatus}
    return phrases.get(status, "no reason given")


def _describe_broken_answer(error: Exception) -> dict[str, str]:
    """Returns the reason as text, and as ``reason_code`` for translation into the user's language."""
    import openai

    if isinstance(error, _NO_JSON):
        return {"reason": "it sent something that is not JSON", "reason_code": "json"}
    if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
        return {"reason": "the connection was lost", "reason_code": "lost"}
    reason = _read_error_reason(_read_error_body(error)) if isinstance(error, openai.APIError) else ""
    if reason:
        return {"reason": f"it reported an error ({reason})", "reason_code": "reported", "detail": reason}
    return {"reason": "it reported an error", "reason_code": "error"}
