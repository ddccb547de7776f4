"""Import of ChatGPT's export, ``conversations.json``: a list of conversations, each a tree of messages.

Takes only visible text of the user and the assistant. Leaves out messages of tools and of the system, hidden messages,
reasoning and files. A turn is a question with all answers to it. Edited questions and other answers become branches, up
to ``MOST_BRANCHES``; a conversation with more branches keeps only the path that was open last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_to_dict
from pydantic import BaseModel, ConfigDict, ValidationError

from errors import BadConversation, Interrupted, why
from store.export.form import BranchForm, ConversationForm, SessionForm, TurnForm
from store.path import Path, fork
from store.title import first_line
from text.clean import clean
from text.language import detect

Count = Callable[[Sequence[AnyMessage]], int]
"""Counts the tokens that a turn's messages take in a prompt."""
MOST_BRANCHES = 50
RATE = 0.3


class _Lax(BaseModel):
    """A model of ChatGPT's format, which Gieok does not control and which grows: reads only the needed fields."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Author(_Lax):
    role: str = ""


class NodeContent(_Lax):
    content_type: str = ""
    parts: list[Any] | None = None


class NodeMessage(_Lax):
    author: Author = Author()
    content: NodeContent = NodeContent()
    create_time: float | None = None
    recipient: str | None = None
    metadata: dict[str, Any] | None = None


class Node(_Lax):
    message: NodeMessage | None = None
    parent: str | None = None
    children: list[str] = []


class Chat(_Lax):
    title: str | None = None
    create_time: float | None = None
    update_time: float | None = None
    mapping: dict[str, Node]
    current_node: str | None = None


@dataclass(frozen=True, slots=True)
class NodeTurn:
    """One turn of a path through the tree. ``nodes``: the ids of its messages, which tell the turn from its other
    versions.
    """

    nodes: tuple[str, ...]
    question: str
    answer: str
    moment: float


def is_chatgpt(data: Any) -> bool:
    """Returns whether the data is ChatGPT's export, or one conversation of it."""
    chats = data if isinstance(data, list) else [data]
    return bool(chats) and all(isinstance(chat, dict) for chat in chats) and "mapping" in chats[0]


def conversations(data: Any, count: Count) -> tuple[list[ConversationForm], tuple[str, ...]]:
    """Returns the conversations that have text, and the titles of those without. Raises ``BadConversation`` for an
    invalid conversation.
    """
    parsed, empty = [], []
    for index, item in enumerate(data if isinstance(data, list) else [data]):
        try:
            chat = Chat.model_validate(item)
            conversation = _conversation(chat, count)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, (f"conversation {index + 1}", *first["loc"])))
            raise BadConversation(**why(first), place=place) from error
        if conversation is None:
            empty.append(chat.title or "")
        else:
            parsed.append(conversation)
    return parsed, tuple(empty)


def _conversation(chat: Chat, count: Count) -> ConversationForm | None:
    ways = [way for leaf in _leaves(chat) if (way := _turns(chat, leaf))]
    if not ways:
        return None
    turns, branches, path = _laid_out(ways if len(ways) <= MOST_BRANCHES else ways[:1])
    moments = [turn.moment for _, _, turn in turns]
    created = chat.create_time or min(moments)
    updated = chat.update_time or max(moments)
    questions = " ".join(turn.question for _, _, turn in turns)[:2000]
    session = SessionForm(
        title=first_line(chat.title or turns[0][2].question),
        titled="user" if chat.title else "auto",
        language=detect(questions),
        compression_rate=RATE,
        created=created,
        updated=updated,
        path=path,
    )
    return ConversationForm(
        session=session,
        branches=[BranchForm(id=index, path=way, used=updated - index) for index, way in enumerate(branches)],
        turns=[_turn(branch, number, entry, count) for branch, number, entry in turns],
    )


def _leaves(chat: Chat) -> list[str]:
    """Returns the ends of the conversation: first the end that was open last, then the other ends, newest first."""
    ends = [name for name, node in chat.mapping.items() if not any(child in chat.mapping for child in node.children)]
    ends.sort(key=lambda name: -_moment(chat, name))
    current = chat.current_node if chat.current_node in chat.mapping else None
    return [current, *(name for name in ends if name != current)] if current is not None else ends


def _turns(chat: Chat, leaf: str) -> list[NodeTurn]:
    """Returns the turns on the way from the root to this node."""
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
    return [
        NodeTurn(tuple(nodes), question, "\n\n".join(answers), moment) for nodes, question, answers, moment in turns
    ]


def _way(chat: Chat, leaf: str) -> list[str]:
    """Returns the nodes from the root to this node; stops at a cycle in the file."""
    way, seen, name = [], set[str](), leaf
    while name in chat.mapping and name not in seen:
        seen.add(name)
        way.append(name)
        name = chat.mapping[name].parent or ""
    return way[::-1]


def _text(message: NodeMessage) -> str:
    """Returns the text of the message that a person could read; empty for a message without such text."""
    role, kind = message.author.role, message.content.content_type
    hidden = (message.metadata or {}).get("is_visually_hidden_from_conversation")
    inner = role == "assistant" and message.recipient not in (None, "all")
    if role not in ("user", "assistant") or kind not in ("text", "multimodal_text") or hidden or inner:
        return ""
    return "\n\n".join(part for part in message.content.parts or [] if isinstance(part, str) and part.strip())


def _moment(chat: Chat, name: str) -> float:
    message = chat.mapping[name].message
    return (message.create_time if message else None) or chat.create_time or time.time()


def _laid_out(ways: Sequence[Sequence[NodeTurn]]) -> tuple[list[tuple[int, int, NodeTurn]], list[Path], Path]:
    """Lays out the ways (one list of turns per end of the tree) as branches.

    Returns the turns with branch and number, the paths of the branches, and the path of the first way.
    """
    turns: list[tuple[int, int, NodeTurn]] = []
    branches: list[Path] = []
    # (id of the turn before, nodes of this turn): id and path of this turn
    known: dict[tuple[int, tuple[str, ...]], tuple[int, Path]] = {}
    for way in ways:
        previous, forked = 0, False
        path: Path = []
        for number, turn in enumerate(way, 1):
            if (previous, turn.nodes) not in known:
                if not forked:
                    path, forked = fork(path, number, len(branches)), True
                    branches.append(path)
                known[previous, turn.nodes] = len(known) + 1, path
                turns.append((path[-1][0], number, turn))
            previous, path = known[previous, turn.nodes]
    return turns, branches, branches[0]


def _turn(branch: int, number: int, said: NodeTurn, count: Count) -> TurnForm:
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
        tokens=count(messages),
        messages=messages_to_dict(messages),
    )
