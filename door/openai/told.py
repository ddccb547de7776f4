"""What a client tells with a request: the turns so far, the message to answer, and its own system text.

Clients send the whole conversation each time, and shape it as they like: several system messages, a greeting of the
assistant before the first question, an answer in several messages, the results of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from errors import NoUserMessage
from prompt import render
from store import GivenTurn
from text.language import Language, detect

SYSTEM = ("system", "developer")
SPOKEN = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Message:
    """A message of OpenAI's protocol. ``role``: as the client named it; ``images``: its image parts, as OpenAI's."""

    role: str
    text: str
    images: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A request as turns. ``turns``: those with an answer, oldest first; a greeting before the first question is a turn
    with an empty question. ``began``: whether the user has said anything in these turns. ``text``, ``images``: the
    message to answer. ``system``: the system messages in one text, empty for none.
    """

    turns: tuple[GivenTurn, ...]
    began: bool
    text: str
    images: tuple[dict[str, Any], ...]
    system: str


def told(messages: Sequence[Message], language: Language) -> Told:
    """Returns what the client tells. ``language``: of a conversation whose words do not show it.

    System messages become one text, wherever they stand. Messages of one speaker in a row are one message; tool
    messages, and messages of other roles, are left out. When the assistant spoke last, the client wants its answer
    carried on («continue», a prefilled answer): then this answer counts as a whole turn, and the message asks to go on.
    Raises ``NoUserMessage``.
    """
    if not any(message.role == "user" for message in messages):
        raise NoUserMessage(field="messages")
    system = _joined(message for message in messages if message.role in SYSTEM)
    spoken = [message for message in messages if message.role in SPOKEN]
    groups = [(role, list(group)) for role, group in groupby(spoken, lambda message: message.role)]
    if groups[0][0] == "assistant":
        groups.insert(0, ("user", []))
    texts = [_joined(group) for _, group in groups]
    turns = tuple(GivenTurn(*pair, tokens=0) for pair in zip(texts[::2], texts[1::2], strict=False))
    began = any(group for _, group in groups[: 2 * len(turns) : 2])
    if len(groups) % 2 == 0:
        return Told(turns, began, render("go_on", detect(texts[-1], language)), (), system)
    images = tuple(image for message in groups[-1][1] for image in message.images)
    return Told(turns, began, texts[-1], images, system)


def _joined(messages: Iterable[Message]) -> str:
    """Returns the texts of messages as one, with blank lines between them."""
    return "\n\n".join(message.text for message in messages if message.text.strip())
