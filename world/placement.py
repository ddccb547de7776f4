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


SHARE = 10
"""Entries stand at their depth where at most a tenth of the prompt is read anew because of it."""
FEWEST_CHARS = 3_000
"""A prompt that no provider caches anyway, about 1,000 tokens."""
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Deep:
    """A text that stands ``depth`` messages before the end, in the role that it asks for."""

    depth: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """The messages of a request. ``end``: how many stand before the ones that change; ``ours``: at which places our two
    messages stand, the stable one first; -1 for one without text. ``deep``: where the texts at a depth stand;
    ``steady``: how many messages stand before the first of all that move."""

    messages: list[Any]
    end: int
    ours: tuple[int, int]
    deep: tuple[int, ...] = ()

    @property
    def steady(self) -> int:
        """Returns how many messages stand where they stood, whatever the next turn brings."""
        return min((self.end, *self.deep))


def placed(
    messages: Sequence[Any],
    prefix: str,
    changing: str,
    role: Role,
    further: Sequence[tuple[str, str]] = (),
    deep: Sequence[Deep] = (),
) -> Placed:
    """Returns the client's messages with ours: ``prefix`` as the first system message, ``changing`` before the user's
    last message, or at the end where the user has said nothing; ``further`` texts, each with the role that it asks
    for, behind that message; ``deep`` ones at their depth.

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
    whole, at_depth = list[Any](first), list[int]()
    places = [(min(last, _find_depth(messages, one.depth)), one) for one in deep]
    for at in range(last + 1):  # what would stand at or behind the user's last message stands right before it
        for one in (one for place, one in places if place == at):
            at_depth.append(len(whole))
            whole.append({"role": "user" if one.role == "user" or role == "user" else "system", "content": one.text})
        whole += messages[at : min(at + 1, last)]
    end = len(whole)
    whole += [*block, *messages[last : last + 1], *behind, *messages[last + 1 :]]
    return Placed(whole, end, (0 if first else -1, end if block else -1), tuple(at_depth))


def _find_depth(messages: Sequence[Any], depth: int) -> int:
    """Returns the place of the message before which a text at this depth stands: so many messages of the conversation
    before its end; never between a call of a tool and its result."""
    spoken = [at for at, message in enumerate(messages) if role_of(message) not in SYSTEM]
    at = spoken[max(0, len(spoken) - depth)] if spoken else 0
    while at and role_of(messages[at]) == "tool":
        at -= 1
    return at


def find_deepest(messages: Sequence[Any]) -> int:
    """Returns the greatest depth at which a text may stand: everything behind it is read anew with every turn, because
    it moves on with the conversation. 1 where only the last message may."""
    sizes = [sum(map(len, texts(message))) for message in messages]
    spoken = [at for at, message in enumerate(messages) if role_of(message) not in SYSTEM]
    total = sum(sizes)
    if total < FEWEST_CHARS:
        return DEEPEST
    for depth in range(2, DEEPEST + 1):
        at = spoken[max(0, len(spoken) - depth)] if spoken else 0
        if SHARE * sum(sizes[at : spoken[-1] if spoken else 0]) > total:
            return depth - 1
    return DEEPEST


def parts(body: Mapping[str, Any], given: Placed, number: int, turns: int) -> list[Part]:
    """Returns the parts of a request's prompt for its receipt. ``number``: of the turn that is answered; ``turns``: how
    many the client told."""
    tools = {name: body[name] for name in ("tools", "functions") if body.get(name)}
    return [*([part("tools", tools)] if tools else []), *_messages(given, number - turns)]


def _messages(given: Placed, turn: int) -> Iterator[Part]:
    spoken = ""
    for at, message in enumerate(given.messages):
        role = role_of(message)
        own = at in given.ours or at in given.deep
        if role == "user" and spoken not in ("", "user") and not own:
            turn += 1
        if role not in SYSTEM and not own:
            spoken = role
        label = _label(at, role, given, spoken)
        yield part(label, message, turn if label == "history" else 0)


def _label(at: int, role: str, given: Placed, spoken: str) -> Label:
    if at in given.deep:
        return "changing"
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


__all__ = ["Deep", "Placed", "find_deepest", "parts", "placed", "texts", "tokens"]
