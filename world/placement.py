"""Where the world's own texts stand in a client's request (design 4): what never changes first, what changes last.

The client's messages stay as they are, all of them and in their order; two messages come between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from model.call.message_form import SYSTEM, role_of
from model.call.token import estimate
from world.receipt import Label, Part, part

Json = dict[str, Any]
Role = Literal["system", "user"]


@dataclass(frozen=True, slots=True)
class Placed:
    """The messages of a request. ``end``: how many stand before the ones that change; ``ours``: at which places our two
    messages stand, the stable one first; -1 for one without text."""

    messages: list[Any]
    end: int
    ours: tuple[int, int]


def placed(
    messages: Sequence[Any], prefix: str, changing: str, role: Role, further: Sequence[tuple[str, str]] = ()
) -> Placed:
    """Returns the client's messages with ours: ``prefix`` as the first system message, ``changing`` before the user's
    last message, or at the end where the user has said nothing; ``further`` texts, each with the role that it asks
    for, behind that message.

    ``role``: of the message that changes. A provider that collects all system messages in front of the others, as
    Anthropic's does, would read the whole history anew after every change, so it gets one of the user's. So does every
    provider in the first turn, where the message would become one with the system message (``model.call.message_form``)
    and leave it with the second turn.
    """
    last = max((at for at, message in enumerate(messages) if role_of(message) == "user"), default=len(messages))
    first = [{"role": "system", "content": prefix}] if prefix else []
    is_first = all(role_of(message) in SYSTEM for message in messages[:last])
    block = [{"role": "user" if is_first else role, "content": changing}] if changing else []
    behind = [{"role": "user" if asked == "user" else role, "content": text} for asked, text in further]
    whole = [*first, *messages[:last], *block, *messages[last : last + 1], *behind, *messages[last + 1 :]]
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
        role = role_of(message)
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


__all__ = ["Placed", "parts", "placed", "texts", "tokens"]
