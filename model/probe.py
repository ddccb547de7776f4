"""What an OpenAI-compatible server says about itself: its models and how many tokens they take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
OLLAMA_CONTEXT = 4096
"""What Ollama loads a model with where nobody says otherwise; a longer prompt it would cut without a word."""


_FAILED = (httpx2.HTTPError, httpx2.InvalidURL, ValueError)
"""ValueError: of a proxy in the environment that cannot be one."""


class Refused(Exception):
    """The server did not list its models. ``status``: what it answered; None: nothing."""

    def __init__(self, url: str, status: int | None) -> None:
        super().__init__(url)
        self.status = status


@dataclass(frozen=True)
class Listed:
    """A model as ``GET /v1/models`` lists it; ``context`` in tokens and ``parameters`` where the server tells them."""

    name: str
    context: int | None
    parameters: float | None = None


@dataclass(frozen=True)
class Told:
    """What a server tells of one model: whether it takes tools, and how many parameters it has. None: not told."""

    takes_tools: bool | None = None
    parameters: float | None = None


def listed(url: str, key: str, timeout: float) -> tuple[Listed, ...]:
    """The models at ``url`` (up to and including ``/v1``). Raises ``Refused``. ``timeout`` in seconds."""
    try:
        answer = _asked("GET", f"{url}/models", key, timeout)
    except _FAILED as error:
        raise Refused(url, None) from error
    if answer.status_code != 200:
        raise Refused(url, answer.status_code)
    entries = _json(answer).get("data")
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    named = (entry for entry in entries if isinstance(entry.get("id"), str))
    return tuple(Listed(entry["id"], _context(entry), _count(entry.get("meta"), "n_params")) for entry in named)


def context_size(url: str, key: str, model: str, timeout: float) -> int | None:
    """Tokens that the model takes, from the servers' own pages: llama.cpp, LM Studio, Ollama.

    Ollama says it only of a model that is loaded: of another, the size that it will load it with by default.
    """
    root = url.removesuffix("/v1")
    for page in ("/props", "/api/v0/models", "/api/ps"):
        try:
            answer = _asked("GET", root + page, key, timeout)
        except _FAILED:
            return None
        said = _json(answer) if answer.status_code == 200 else {}
        for entry in _entries(said, model):
            if size := _context(entry):
                return size
        if page == "/api/ps" and isinstance(said.get("models"), list):
            return OLLAMA_CONTEXT
    return None


def told(url: str, key: str, model: str, timeout: float) -> Told:
    """What Ollama tells of a model (POST /api/show: «capabilities», «model_info», «details»); of others nothing."""
    try:
        answer = _asked("POST", f"{url.removesuffix('/v1')}/api/show", key, timeout, json={"model": model})
    except _FAILED:
        return Told()
    page = _json(answer) if answer.status_code == 200 else {}
    able, details = page.get("capabilities"), page.get("details")
    counted = _count(page.get("model_info"), "general.parameter_count")
    size = details.get("parameter_size") if isinstance(details, dict) else None
    return Told("tools" in able if isinstance(able, list) else None, counted or parameters(size))


def parameters(size: object) -> float | None:
    """The number of parameters in a size as people write it («3.2B», «494.03M»); None when it is no size."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMBT])\s*", size, re.IGNORECASE) if isinstance(size, str) else None
    return float(match[1]) * _SCALE[match[2].upper()] if match else None


def _count(entry: object, name: str) -> float | None:
    """A positive number in a part of a server's page."""
    value = entry.get(name) if isinstance(entry, dict) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _asked(method: str, url: str, key: str, timeout: float, json: dict[str, Any] | None = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    here = httpx2.URL(url).host in ("127.0.0.1", "localhost", "::1")
    return httpx2.request(
        method, url, json=json, headers=headers, timeout=timeout, follow_redirects=method == "GET", trust_env=not here
    )


def _json(answer: httpx2.Response) -> dict[str, Any]:
    try:
        value = answer.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _entries(page: dict[str, Any], model: str) -> Iterator[dict[str, Any]]:
    """llama.cpp's settings, and the entries that are about this model."""
    if isinstance(settings := page.get("default_generation_settings"), dict):
        yield settings
    for kind in ("data", "models"):
        entries = page.get(kind)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and model in (entry.get("id"), entry.get("name"), entry.get("model")):
                yield entry


def _context(entry: dict[str, Any]) -> int | None:
    """Tokens of context by the names that servers use: llama.cpp, vLLM, LM Studio, OpenRouter and Ollama, Groq."""
    meta = entry.get("meta")
    names = (
        "n_ctx",
        "max_model_len",
        "loaded_context_length",
        "context_length",
        "max_context_length",
        "context_window",
    )
    for place in (entry, meta if isinstance(meta, dict) else {}):
        for name in names:
            if isinstance(size := place.get(name), int) and size > 0:
                return size
    return None
