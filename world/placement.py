"""Where the world's own texts stand in a client's request (design 4): what never changes first, what changes last.

The client's messages stay as they are, all of them and in their order; two messages come between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from model.call.token import estimate
from world.receipt import Label, Part, part
from world.told import SYSTEM

Json = dict[str, Any]
Role = Literal["system", "user"]


@dataclass(frozen=True, slots=True)
class Placed:
    """The messages of a request. ``end``: how many stand before the ones that change; ``ours``: at which places our two
    messages stand, the stable one first; -1 for one without text."""

    messages: list[Any]
    end: int
    ours: tuple[int, int]


def placed(messages: Sequence[Any], prefix: str, changing: str, role: Role) -> Placed:
    """Returns the client's messages with ours: ``prefix`` as the first system message, ``changing`` before the user's
    last message, or at the end where the user has said nothing.

    ``role``: of the message that changes. A provider that collects all system messages in front of the others, as
    Anthropic's does, would read the whole history anew after every change, so it gets one of the user's.
    """
    last = max((at for at, message in enumerate(messages) if _role(message) == "user"), default=len(messages))
    first = [{"role": "system", "content": prefix}] if prefix else []
    block = [{"role": role, "content": changing}] if changing else []
    whole = [*first, *messages[:last], *block, *messages[last:]]
    end = len(first) + last
    return Placed(whole, end, (0 if first else -1, end if block else -1))


def parts(body: Mapping[str, Any], given: Placed, number: int, turns: int) -> list[Part]:
    """Returns the parts of a request's prompt for its receipt. ``number``: of the turn that is answered; ``turns``: how
    many the client told."""
    tools = {name: body[name] for name in ("tools", "functions") if body.get(name)}
    return [*([part("tools", tools)] if tools else []), *_messages(given, number - turns)]


def _messages(given: Placed, turn: int) -> Iterator[Part]:
    spoken = ""
    for at, message in enumerate(given.messages):
        role = _role(message)
        if role == "user" and spoken not in ("", "user"):
            turn += 1
        if role not in SYSTEM and at not in given.ours:
            spoken = role
        label = _label(at, role, given, spoken)
        yield part(label, message, turn if label == "history" else 0)


def _label(at: int, role: str, given: Placed, spoken: str) -> Label:
    if at in given.ours:
        return "files" if at == given.ours[0] else "changing"
    if at >= given.end:
        return "question"
    return "system" if role in SYSTEM and not spoken else "history"


def tokens(messages: Sequence[Any]) -> int:
    """Returns about how many tokens messages have, for a server that does not count them."""
    return sum(4 + estimate(text) for message in messages for text in texts(message))


def texts(message: Any) -> Iterator[str]:
    """Yields the texts of a message."""
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    yield from (one["text"] for one in parts if isinstance(one, Mapping) and isinstance(one.get("text"), str))


def _role(message: Any) -> str:
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


__all__ = ["Placed", "parts", "placed", "texts", "tokens"]
