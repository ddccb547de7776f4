"""ChatGPT's export, ``conversations.json``: a list of conversations, each a tree of messages.

Only what was said in text is taken: messages of tools and of the system, hidden ones, reasoning and files are not. A
turn is a question with all that was answered to it. Edited questions and other answers become branches, where there
are at most ``MOST_BRANCHES``; else the path that was open last is taken alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_to_dict
from pydantic import BaseModel, ConfigDict, ValidationError

from errors import BadConversation, Interrupted, why
from store.form import BranchForm, Conversation, SessionForm, TurnForm
from store.path import Path, fork
from text.clean import clean
from text.language import detect

MOST_BRANCHES = 50
RATE = 0.3
TITLE_CHARS = 60


class _Lax(BaseModel):
    """Their form is not ours and grows: only what is needed is looked at."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Author(_Lax):
    role: str = ""


class Content(_Lax):
    content_type: str = ""
    parts: list[Any] | None = None


class Message(_Lax):
    author: Author = Author()
    content: Content = Content()
    create_time: float | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None


class Node(_Lax):
    message: Message | None = None
    parent: str | None = None
    children: list[str] = []


class Chat(_Lax):
    title: str | None = None
    create_time: float | None = None
    update_time: float | None = None
    mapping: dict[str, Node]
    current_node: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One turn on the way through the tree; ``nodes`` tells it from other versions of it."""

    nodes: tuple[str, ...]
    question: str
    answer: str
    moment: float


def is_chatgpt(data: Any) -> bool:
    """Whether this is their export, or one conversation of it."""
    chats = data if isinstance(data, list) else [data]
    return bool(chats) and all(isinstance(each, dict) for each in chats) and "mapping" in chats[0]


def conversations(data: Any, count: Callable[[str], int]) -> tuple[list[Conversation], tuple[str, ...]]:
    """The conversations with text in them, and the titles of those without. Raises ``BadConversation``."""
    made, empty = [], []
    for index, each in enumerate(data if isinstance(data, list) else [data]):
        try:
            chat = Chat.model_validate(each)
            found = _conversation(chat, count)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, (f"conversation {index + 1}", *first["loc"])))
            raise BadConversation(**why(first), place=place) from error
        if found is None:
            empty.append(chat.title or "")
        else:
            made.append(found)
    return made, tuple(empty)


def _conversation(chat: Chat, count: Callable[[str], int]) -> Conversation | None:
    ways = [way for leaf in _leaves(chat) if (way := _turns(chat, leaf))]
    if not ways:
        return None
    turns, branches, path = _laid_out(ways if len(ways) <= MOST_BRANCHES else ways[:1])
    moments = [each.moment for _, _, each in turns]
    created = chat.create_time or min(moments)
    updated = chat.update_time or max(moments)
    words = " ".join(each.question for _, _, each in turns)[:2000]
    session = SessionForm(
        title=" ".join(clean(chat.title or turns[0][2].question).split())[:TITLE_CHARS],
        titled="user" if chat.title else "auto",
        language=detect(words),
        compression_rate=RATE,
        created=created,
        updated=updated,
        path=path,
    )
    return Conversation(
        session=session,
        branches=[BranchForm(id=index, path=way, used=updated - index) for index, way in enumerate(branches)],
        turns=[_turn(branch, number, said, count) for branch, number, said in turns],
    )


def _leaves(chat: Chat) -> list[str]:
    """Where the conversation ends: first where it was open last, then the other ends, newest first."""
    ends = [name for name, node in chat.mapping.items() if not any(child in chat.mapping for child in node.children)]
    ends.sort(key=lambda name: -_moment(chat, name))
    current = chat.current_node if chat.current_node in chat.mapping else None
    return [current, *(name for name in ends if name != current)] if current is not None else ends


def _turns(chat: Chat, leaf: str) -> list[Said]:
    """The turns on the way from the root to this node."""
    turns: list[tuple[list[str], str, list[str], float]] = []
    for name in _way(chat, leaf):
        message = chat.mapping[name].message
        text = _text(message) if message else ""
        if message is None or not text:
            continue
        if message.author.role == "user":
            turns.append(([name], text, [], _moment(chat, name)))
        elif turns:
            turns[-1][0].append(name)
            turns[-1][2].append(text)
    return [Said(tuple(nodes), asked, "\n\n".join(answers), moment) for nodes, asked, answers, moment in turns]


def _way(chat: Chat, leaf: str) -> list[str]:
    """The nodes from the root to this one; a circle in the file ends it."""
    way, seen, name = [], set[str](), leaf
    while name in chat.mapping and name not in seen:
        seen.add(name)
        way.append(name)
        name = chat.mapping[name].parent or ""
    return way[::-1]


def _text(message: Message) -> str:
    """What a person could read of the message, or nothing."""
    role, kind = message.author.role, message.content.content_type
    hidden = (message.metadata or {}).get("is_visually_hidden_from_conversation")
    inner = role == "assistant" and message.recipient not in (None, "all")
    if role not in ("user", "assistant") or kind not in ("text", "multimodal_text") or hidden or inner:
        return ""
    return "\n\n".join(part for part in message.content.parts or [] if isinstance(part, str) and part.strip())


def _moment(chat: Chat, name: str) -> float:
    message = chat.mapping[name].message
    return (message.create_time if message else None) or chat.create_time or time.time()


def _laid_out(ways: Sequence[Sequence[Said]]) -> tuple[list[tuple[int, int, Said]], list[Path], Path]:
    """The turns with branch and number, the paths of the branches, and the path of the first way."""
    turns: list[tuple[int, int, Said]] = []
    branches: list[Path] = []
    known: dict[tuple[int, tuple[str, ...]], tuple[int, Path]] = {}  # by the turn before: this turn, and its path
    for way in ways:
        last, own = 0, False
        path: Path = []
        for number, said in enumerate(way, 1):
            if (last, said.nodes) not in known:
                if not own:
                    path, own = fork(path, number, len(branches)), True
                    branches.append(path)
                known[last, said.nodes] = len(known) + 1, path
                turns.append((path[-1][0], number, said))
            last, path = known[last, said.nodes]
    return turns, branches, branches[0]


def _turn(branch: int, number: int, said: Said, count: Callable[[str], int]) -> TurnForm:
    if not said.answer:
        error = Interrupted(turn=number)
        problem = {"code": error.code, "message": str(error), "values": error.values, "retryable": error.retryable}
        return TurnForm(
            branch=branch, number=number, question=said.question, status="failed", started=said.moment, error=problem
        )
    question = HumanMessage(clean(said.question), id=said.nodes[0], additional_kwargs={"turn": number})
    messages: list[AnyMessage] = [question, AIMessage(clean(said.answer), id=said.nodes[-1])]
    return TurnForm(
        branch=branch,
        number=number,
        question=said.question,
        answer=said.answer,
        status="done",
        started=said.moment,
        finished=said.moment,
        tokens=sum(count(message.text) for message in messages),
        messages=messages_to_dict(messages),
    )
