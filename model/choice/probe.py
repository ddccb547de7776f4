"""The facts that an OpenAI-compatible server tells about itself: its models, their context and their size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from model.call.connection import is_loopback_host, load_system_authorities

_SCALE = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
OLLAMA_CONTEXT = 4096
"""Tokens of context that Ollama loads a model with by default. Ollama cuts a longer prompt without any message."""


_CHATTING = ("chat", "language", "llm", "vlm")
_SILENT = ("audio", "embedding", "embeddings", "image", "moderation", "rerank", "transcribe", "video")
"""Kinds of models as servers name them: ``_CHATTING`` write text, ``_SILENT`` do not."""

_SEEING = ("image", "multimodal", "vision")
"""Words by which servers list that a model takes images."""

_FAILED = (httpx2.HTTPError, httpx2.InvalidURL, ValueError)
"""Errors of a request. ``ValueError`` comes from an invalid proxy in the environment."""


class ListingRefusal(Exception):
    """The error of a server that did not list its models. ``status``: the HTTP status of its answer, None without an
    answer; ``late``: the answer did not come in time."""

    def __init__(self, url: str, status: int | None, late: bool = False) -> None:
        super().__init__(url)
        self.status, self.late = status, late


@dataclass(frozen=True)
class Listed:
    """A model as ``GET /v1/models`` lists it; ``context`` in tokens and ``parse_parameter_count`` where the server
    tells them.

    ``chats``: whether the model answers in text; ``takes_images``, ``takes_tools``; ``thinks``: whether it can think
    before it answers. None: not told.
    """

    name: str
    context: int | None
    parameters: float | None = None
    chats: bool | None = None
    takes_images: bool | None = None
    takes_tools: bool | None = None
    thinks: bool | None = None


@dataclass(frozen=True)
class ServerFacts:
    """The facts that a server tells about one model: whether it takes tools, its number of parameters, whether it takes
    images, whether it can think, its tokens of context. None: not told."""

    takes_tools: bool | None = None
    parameters: float | None = None
    takes_images: bool | None = None
    thinks: bool | None = None
    context: int | None = None


def list_server_models(url: str, key: str, timeout: float) -> tuple[Listed, ...]:
    """Returns the models at ``url`` (up to and including ``/v1``). ``timeout`` in seconds. Raises
    ``ListingRefusal``."""
    try:
        answer = _send_probe("GET", f"{url}/models", key, timeout)
    except _FAILED as error:
        raise ListingRefusal(url, None, isinstance(error, httpx2.TimeoutException)) from error
    if answer.status_code != 200:
        raise ListingRefusal(url, answer.status_code)
    entries = _read_model_entries(answer)
    named = [entry for entry in entries if isinstance(entry.get("id"), str)]
    return tuple(
        Listed(
            entry["id"],
            _read_context_size(entry),
            _read_positive_number(entry.get("meta"), "n_params"),
            _is_chat_model(entry),
            _takes_images(entry),
            _takes_tools(entry),
            _can_think(entry),
        )
        for entry in named
    )


def fetch_page_facts(url: str, key: str, model: str, timeout: float) -> ServerFacts:
    """Returns what the servers' own pages tell of a model: its context, and whether it takes images and tools
    (llama.cpp, LM Studio, Ollama). The first page that tells any of it is the last that is asked for.

    Ollama tells the context of loaded models only. For other models the result is the context that Ollama loads by
    default.
    """
    root = url.removesuffix("/v1")
    for page in ("/props", "/api/v0/models", "/api/ps"):
        try:
            answer = _send_probe("GET", root + page, key, timeout)
        except _FAILED:
            return ServerFacts()
        content = _read_json_page(answer) if answer.status_code == 200 else {}
        images = _takes_images(content)  # llama.cpp: of its one model
        for entry in _find_model_entries(content, model):
            size, sees = _read_context_size(entry), _takes_images(entry)
            if size or sees is not None:
                return ServerFacts(_takes_tools(entry), None, images if sees is None else sees, context=size)
        if images is not None:
            return ServerFacts(takes_images=images)
        if page == "/api/ps" and isinstance(content.get("models"), list):
            return ServerFacts(context=OLLAMA_CONTEXT)
    return ServerFacts()


def fetch_model_facts(url: str, key: str, model: str, timeout: float) -> ServerFacts:
    """Returns the facts that Ollama tells about a model (POST /api/show: «capabilities», «model_info», «details»);
    other servers tell nothing."""
    try:
        answer = _send_probe("POST", f"{url.removesuffix('/v1')}/api/show", key, timeout, json={"model": model})
    except _FAILED:
        return ServerFacts()
    page = _read_json_page(answer) if answer.status_code == 200 else {}
    capabilities, details = page.get("capabilities"), page.get("details")
    number = _read_positive_number(page.get("model_info"), "general.parameter_count")
    size = details.get("parameter_size") if isinstance(details, dict) else None
    tools, images, thinks = (
        [name in capabilities for name in ("tools", "vision", "thinking")]
        if isinstance(capabilities, list)
        else (None, None, None)
    )
    return ServerFacts(tools, number or parse_parameter_count(size), images, thinks)


def parse_parameter_count(size: object) -> float | None:
    """Returns the number of parameters from a size as people write it («3.2B», «494.03M»); None when the text is no
    size."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMBT])\s*", size, re.IGNORECASE) if isinstance(size, str) else None
    return float(match[1]) * _SCALE[match[2].upper()] if match else None


def _read_positive_number(entry: object, name: str) -> float | None:
    """Returns a positive number from a part of a server's page; None when there is none."""
    value = entry.get(name) if isinstance(entry, dict) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _is_chat_model(entry: dict[str, Any]) -> bool | None:
    """Returns whether a listed model chats, from the fields of Mistral (capabilities.completion_chat), OpenRouter
    (architecture.output_modalities) and Together (type). OpenAI, vLLM and Ollama do not tell: None."""
    capabilities, architecture, kind = entry.get("capabilities"), entry.get("architecture"), entry.get("type")
    if isinstance(capabilities, dict) and isinstance(capabilities.get("completion_chat"), bool):
        return bool(capabilities["completion_chat"])
    if isinstance(architecture, dict) and isinstance(architecture.get("output_modalities"), list):
        return "text" in architecture["output_modalities"]
    return kind in _CHATTING if kind in (*_CHATTING, *_SILENT) else None


def _takes_images(entry: dict[str, Any]) -> bool | None:
    """Returns whether a model takes images, from the fields of OpenRouter (architecture.input_modalities), Mistral
    (capabilities.vision), llama.cpp (modalities.vision), LM Studio (type «vlm» or «llm»), and of gateways that name
    them alike. OpenAI and vLLM do not tell: None."""
    architecture, kind = entry.get("architecture"), entry.get("type")
    inputs = (architecture if isinstance(architecture, dict) else entry).get("input_modalities")
    if isinstance(inputs, list):
        return "image" in inputs
    for name in ("capabilities", "modalities"):
        able = entry.get(name)
        if isinstance(able, dict) and isinstance(able.get("vision"), bool):
            return bool(able["vision"])
        if isinstance(able, list) and any(word in able for word in _SEEING):
            return True
    return kind == "vlm" if kind in ("vlm", "llm") else None


def _takes_tools(entry: dict[str, Any]) -> bool | None:
    """Returns whether a listed model takes tools, from the fields of Mistral (capabilities.function_calling),
    OpenRouter (supported_parameters) and LM Studio (capabilities)."""
    able, parameters = entry.get("capabilities"), entry.get("supported_parameters")
    if isinstance(able, dict) and isinstance(able.get("function_calling"), bool):
        return bool(able["function_calling"])
    if isinstance(parameters, list):
        return "tools" in parameters
    return True if isinstance(able, list) and ("tool_use" in able or "tools" in able) else None


def _can_think(entry: dict[str, Any]) -> bool | None:
    """Returns whether a listed model can think before it answers, from the fields of OpenRouter (supported_parameters)
    and Mistral (capabilities.reasoning)."""
    able, parameters = entry.get("capabilities"), entry.get("supported_parameters")
    if isinstance(able, dict) and isinstance(able.get("reasoning"), bool):
        return bool(able["reasoning"])
    return "reasoning" in parameters if isinstance(parameters, list) else None


def _send_probe(method: str, url: str, key: str, timeout: float, json: dict[str, Any] | None = None) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    local = is_loopback_host(httpx2.URL(url).host)
    return httpx2.request(
        method,
        url,
        json=json,
        headers=headers,
        timeout=timeout,
        follow_redirects=method == "GET",
        verify=load_system_authorities() if local else True,
        trust_env=not local,
    )


def _read_json_page(answer: httpx2.Response) -> dict[str, Any]:
    try:
        value = answer.json()
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_model_entries(answer: httpx2.Response) -> list[dict[str, Any]]:
    """Returns the entries of a list of models; Together sends the bare list."""
    try:
        value = answer.json()
    except (ValueError, RecursionError):
        return []
    entries = value.get("data") if isinstance(value, dict) else value
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _find_model_entries(page: dict[str, Any], model: str) -> Iterator[dict[str, Any]]:
    """Yields llama.cpp's settings, and the entries about this model."""
    if isinstance(settings := page.get("default_generation_settings"), dict):
        yield settings
    for kind in ("data", "models"):
        entries = page.get(kind)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and model in (entry.get("id"), entry.get("name"), entry.get("model")):
                yield entry


def _read_context_size(entry: dict[str, Any]) -> int | None:
    """Returns the tokens of context, by the field names of llama.cpp, vLLM, LM Studio, OpenRouter and Ollama, Groq."""
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
