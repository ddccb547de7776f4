"""Where the world's own texts stand in a client's request (design 4): what never changes first, what changes last.

The client's messages stay as they are, all of them and in their order; two messages come between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from model.call.message_form import SYSTEM, role_of
from model.call.token import estimate_tokens
from world.prompt.receipt import Label, ReceiptPart, build_receipt_part

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
class Standing:
    """A text that stands with a turn, before the message ``at`` of the client's, with which the turn begins."""

    at: int
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """The messages of a request. ``end``: how many stand before the ones that change; ``ours``: at which places our two
    messages stand, the stable one first; -1 for one without text. ``deep``: where the texts at a depth stand;
    ``steady``: how many messages stand before the first of all that move; ``standing``: where the texts that stand with
    a turn are, with the turn's number."""

    messages: list[Any]
    end: int
    ours: tuple[int, int]
    deep: tuple[int, ...] = ()
    standing: Mapping[int, int] = field(default_factory=dict)

    @property
    def steady(self) -> int:
        """Returns how many messages stand where they stood, whatever the next turn brings."""
        return min((self.end, *self.deep))


def place_world_texts(
    messages: Sequence[Any],
    prefix: str,
    changing: str,
    role: Role,
    further: Sequence[tuple[str, str]] = (),
    deep: Sequence[Deep] = (),
    standing: Sequence[Standing] = (),
) -> Placed:
    """Returns the client's messages with ours: ``prefix`` as the first system message, ``changing`` before the user's
    last message, or at the end where the user has said nothing; ``further`` texts, each with the role that it asks
    for, behind that message; ``deep`` ones at their depth, ``standing`` ones with their turns.

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
    whole, at_depth, stand = list[Any](first), list[int](), dict[int, int]()
    places = [(min(last, _find_depth(messages, one.depth)), one) for one in deep]
    for at in range(last + 1):  # what would stand at or behind the user's last message stands right before it
        for kept in (kept for kept in standing if kept.at == at):
            stand[len(whole)] = kept.turn
            early = all(role_of(message) in SYSTEM for message in messages[:at])
            whole.append({"role": "user" if early else role, "content": kept.text})
        for one in (one for place, one in places if place == at):
            at_depth.append(len(whole))
            whole.append({"role": "user" if one.role == "user" or role == "user" else "system", "content": one.text})
        whole += messages[at : min(at + 1, last)]
    end = len(whole)
    whole += [*block, *messages[last : last + 1], *behind, *messages[last + 1 :]]
    return Placed(whole, end, (0 if first else -1, end if block else -1), tuple(at_depth), stand)


def find_turn_starts(messages: Sequence[Any]) -> list[int]:
    """Returns with which message every turn begins: with the user's, or, of a greeting, with the assistant's."""
    starts, spoken = list[int](), ""
    for at, message in enumerate(messages):
        role = role_of(message)
        if role == "assistant" and not any(text.strip() for text in list_message_texts(message)):
            continue
        if role in ("user", "assistant"):
            if not spoken or (role == "user" and spoken != "user"):
                starts.append(at)
            spoken = role
    return starts


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
    sizes = [sum(map(len, list_message_texts(message))) for message in messages]
    spoken = [at for at, message in enumerate(messages) if role_of(message) not in SYSTEM]
    total = sum(sizes)
    if total < FEWEST_CHARS:
        return DEEPEST
    for depth in range(2, DEEPEST + 1):
        at = spoken[max(0, len(spoken) - depth)] if spoken else 0
        if SHARE * sum(sizes[at : spoken[-1] if spoken else 0]) > total:
            return depth - 1
    return DEEPEST


def list_receipt_parts(body: Mapping[str, Any], given: Placed, numbers: Sequence[int]) -> list[ReceiptPart]:
    """Returns the parts of a request's prompt for its receipt. ``numbers``: of the turns that the client told, and of
    the one that is answered."""
    tools = {name: body[name] for name in ("tools", "functions") if body.get(name)}
    return [*([build_receipt_part("tools", tools)] if tools else []), *_list_message_parts(given, numbers)]


def _list_message_parts(given: Placed, numbers: Sequence[int]) -> Iterator[ReceiptPart]:
    spoken, passed = "", 0
    for at, message in enumerate(given.messages):
        role = role_of(message)
        own = at in given.ours or at in given.deep or at in given.standing
        if role == "user" and spoken not in ("", "user") and not own:
            passed += 1
        if role not in SYSTEM and not own:
            spoken = role
        label = _label_prompt_message(at, role, given, spoken)
        turn = numbers[min(passed, len(numbers) - 1)] if label == "history" else 0
        yield build_receipt_part(label, message, given.standing.get(at, turn))


def _label_prompt_message(at: int, role: str, given: Placed, spoken: str) -> Label:
    if at in given.deep:
        return "changing"
    if at in given.standing:
        return "lore"
    if at in given.ours:
        return "files" if at == given.ours[0] else "changing"
    if at >= given.end:
        return "question"
    return "system" if role in SYSTEM and not spoken else "history"


def estimate_message_tokens(messages: Sequence[Any]) -> int:
    """Returns about how many tokens messages have, for a server that does not count them."""
    return sum(4 + estimate_tokens(text) for message in messages for text in list_message_texts(message))


def list_message_texts(message: Any) -> Iterator[str]:
    """Yields the texts of a message."""
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    yield from (one["text"] for one in parts if isinstance(one, Mapping) and isinstance(one.get("text"), str))


__all__ = [
    "Deep",
    "Placed",
    "Standing",
    "estimate_message_tokens",
    "find_deepest",
    "find_turn_starts",
    "list_message_texts",
    "list_receipt_parts",
    "place_world_texts",
]
