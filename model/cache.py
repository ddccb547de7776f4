"""Cache breakpoints in a request: where a provider that takes them keeps the prompt that it has read.

Anthropic's rules, which gateways pass on: a breakpoint marks a content block, and the prompt up to it is kept; at most
four in one request; a prompt below the model's minimum is not kept; from a breakpoint the provider looks back over at
most 20 blocks for a prompt that it kept before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

Wanted = Literal["auto", "on", "off"]
Json = dict[str, Any]

MOST = 4
"""Breakpoints in one request."""
LOOK_BACK = 20
"""Content blocks over which a provider looks back from a breakpoint, that one included."""
STEP = 16
"""Content blocks by which the middle breakpoint moves on: it stays put for eight turns, and the kept prompt before it
is in reach of it and of the last one."""
MARK: Json = {"type": "ephemeral"}
LEAST = 1024
_LEAST = (
    (re.compile(r"haiku-?4|opus-?4[.-][5-9]", re.IGNORECASE), 4096),
    (re.compile(r"haiku|sonnet-?4[.-][6-9]", re.IGNORECASE), 2048),
)
"""Shortest prompts that are kept, in tokens, by family."""
_HOSTS = ("openrouter.ai", "anthropic.com")


def takes_breakpoints(url: str, wanted: Wanted) -> bool:
    """Returns whether requests to this address get breakpoints. ``auto``: where OpenRouter or Anthropic answers,
    because a server that does not know the field may refuse the request."""
    if wanted != "auto":
        return wanted == "on"
    host = urlsplit(url).hostname or ""
    return any(host == known or host.endswith(f".{known}") for known in _HOSTS)


def find_least_tokens(model: str) -> int:
    """Returns the tokens of the shortest prompt that the model's provider keeps."""
    return next((tokens for pattern, tokens in _LEAST if pattern.search(model)), LEAST)


def mark_breakpoints(body: Mapping[str, Any], end: int, *, count: Callable[[str], int], minimum: int = LEAST) -> Json:
    """Returns the request with up to three breakpoints: at the end of the leading system messages, in the middle, and
    on the last message of the history. Everything else stays as it is; the given request is not changed.

    ``end``: the number of messages before the ones that change. ``count``: the tokens of a text. A breakpoint is left
    out where four are reached with the client's own, and where the prompt up to it is shorter than ``minimum``. Where
    not all have room, the last message comes first, then the system messages.
    """
    messages: list[Any] = list(body.get("messages", ()))
    room = MOST - sum(1 for _ in _find_breakpoints(body))
    reached = _sum_prompt_tokens(messages[:end], count)
    places = [
        at
        for at in _choose_breakpoint_places(messages[:end])
        if reached[at] >= minimum and not any(_find_breakpoints(messages[at]))
    ]
    for at in places[: max(0, room)]:
        messages[at] = _with_mark(messages[at])
    return {**body, "messages": messages}


def _choose_breakpoint_places(history: Sequence[Any]) -> list[int]:
    """Returns the messages that get a breakpoint, the most useful first."""
    usable = [at for at, message in enumerate(history) if _count_content_blocks(message)]
    system = max((at for at in usable if at < _count_leading_systems(history)), default=None)
    last = usable[-1] if usable else None
    places = [at for at in (last, system, _find_middle_breakpoint(history, usable)) if at is not None]
    return list(dict.fromkeys(places))


def _count_leading_systems(history: Sequence[Any]) -> int:
    """Returns the number of system messages at the beginning."""
    roles = [message.get("role") if isinstance(message, Mapping) else None for message in history]
    return next((at for at, role in enumerate(roles) if role not in ("system", "developer")), len(roles))


def _find_middle_breakpoint(history: Sequence[Any], usable: Sequence[int]) -> int | None:
    """Returns the last message whose last block is a step of the history's blocks, before the last message."""
    begin, blocks, found = _count_leading_systems(history), 0, None
    for at in range(begin, len(history) - 1):
        before, blocks = blocks, blocks + _count_content_blocks(history[at])
        if at in usable and blocks // STEP > before // STEP:
            found = at
    return found


def _count_content_blocks(message: Any) -> int:
    """Returns the number of content blocks of a message that can hold a breakpoint at its end; 0 for none."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return 1 if content.strip() else 0
    if not isinstance(content, list) or not content or not isinstance(content[-1], Mapping):
        return 0
    return len(content) if content[-1].get("type") in ("text", "image_url") else 0


def _sum_prompt_tokens(history: Sequence[Any], count: Callable[[str], int]) -> list[int]:
    """Returns the tokens of the prompt up to and with every message."""
    total, reached = 0, list[int]()
    for message in history:
        total += sum(count(text) for text in _read_content_texts(message))
        reached.append(total)
    return reached


def _read_content_texts(message: Any) -> Iterator[str]:
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    yield from (part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _with_mark(message: Mapping[str, Any]) -> Json:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": MARK}]}


def _find_breakpoints(value: Any) -> Iterator[Any]:
    """Yields the breakpoints that a value of a request holds already: on tools, messages and their parts."""
    if not isinstance(value, Mapping):
        return
    if value.get("cache_control"):
        yield value
    for name in ("tools", "messages", "content"):
        inner = value.get(name)
        for part in inner if isinstance(inner, list) else ():
            yield from _find_breakpoints(part)


__all__ = [
    "LEAST",
    "LOOK_BACK",
    "MARK",
    "MOST",
    "STEP",
    "Wanted",
    "find_least_tokens",
    "mark_breakpoints",
    "takes_breakpoints",
]
