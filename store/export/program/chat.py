"""A conversation as another program exports it, and the form of ours that it becomes.

Every program's file is a tree of messages. A turn is a question with all answers to it. Edited questions and other
answers become branches, the newest ``MOST_BRANCHES`` of them, with the path that was open last as the first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_to_dict
from pydantic import BaseModel, BeforeValidator, ConfigDict

from errors import Interrupted
from store.export.form import BranchForm, ConversationForm, SessionForm, TurnForm
from store.export.world_part import StoryTurnForm, WorldForm
from store.path import Path, fork_path
from store.session.title import first_line
from store.world.worlds import NAME_CHARS
from text.clean import clean_text
from text.cut import cut_graphemes
from text.language import detect_language

Count = Callable[[Sequence[AnyMessage]], int]
"""Counts the tokens that a turn's messages take in a prompt."""
MOST_BRANCHES = 50
RATE = 0.3
TITLE_CHARS = 2000
"""Letters of the questions by which the language of a conversation is told."""
LATEST = 4e9
"""Unix seconds that a message can have been written at; a larger number is milliseconds, or no time."""
_MOST_MILLISECONDS = 1000 * LATEST
_NUMBER = re.compile(r"\d{1,16}(\.\d{1,16})?")


class LaxForm(BaseModel):
    """A form of another program, which Gieok does not control and which grows: reads only the needed fields."""

    model_config = ConfigDict(extra="ignore")


def keep_objects(value: Any) -> list[Any]:
    """Returns the objects of a list; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


LaxText = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
"""A text; anything else counts as none, for real files have null and numbers in every field."""
LaxFlag = Annotated[bool, BeforeValidator(lambda value: value is True)]
LaxObjects = Annotated[list[dict[str, Any]], BeforeValidator(keep_objects)]
"""A list of objects; its other items are left out."""
LaxObject = Annotated[dict[str, Any], BeforeValidator(lambda value: value if isinstance(value, dict) else {})]


@dataclass(frozen=True, slots=True)
class ProgramMessage:
    """A message in the tree. ``parent``: the id of the message before, "" for none; ``text``: what a person could read,
    "" for a message that only leads on; ``moment``: Unix seconds, None if unknown; ``files``: names."""

    parent: str
    is_user: bool
    text: str
    moment: float | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramChat:
    """A conversation. ``messages``: by id, in the order of the file; ``current``: the id of the message that was open
    last, "" if unknown; ``world``: names of the character and of the player, for a chat that is a story."""

    title: str
    messages: Mapping[str, ProgramMessage]
    current: str = ""
    created: float | None = None
    updated: float | None = None
    world: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _TreeTurn:
    """One turn of a way through the tree. ``ids``: of its messages, which tell the turn from its other versions."""

    ids: tuple[str, ...]
    question: str
    answer: str
    moment: float
    files: tuple[str, ...]


@dataclass(slots=True)
class _OpenTurn:
    """A turn that is being read."""

    ids: list[str]
    question: str
    moment: float
    files: tuple[str, ...]
    answers: list[str] = field(default_factory=list)

    def close(self) -> _TreeTurn:
        return _TreeTurn(tuple(self.ids), self.question, "\n\n".join(self.answers), self.moment, self.files)


def build_conversation(chat: ProgramChat, count: Count) -> ConversationForm | None:
    """Returns the conversation; None where nobody said anything."""
    every_way = (way for leaf in _list_leaves(chat) if (way := _list_way_turns(chat, leaf)))
    ways = list(islice(every_way, MOST_BRANCHES))
    if not ways:
        return None
    turns, branches, path = _lay_out(ways)
    moments = [turn.moment for _, _, turn in turns]
    words = " ".join(turn.question or turn.answer for _, _, turn in turns)[:TITLE_CHARS]
    session = SessionForm(
        title=first_line(chat.title or turns[0][2].question or turns[0][2].answer),
        titled="user" if chat.title else "auto",
        language=detect_language(words),
        compression_rate=RATE,
        created=chat.created or min(moments),
        updated=chat.updated or max(moments),
        path=path,
    )
    return ConversationForm(
        session=session,
        branches=[BranchForm(id=index, path=way, used=session.updated - index) for index, way in enumerate(branches)],
        turns=[_build_turn_form(branch, number, turn, count) for branch, number, turn in turns],
        world=_build_world_form(chat, session, turns) if chat.world else None,
    )


def _list_leaves(chat: ProgramChat) -> list[str]:
    """Returns the ends of the conversation: first the end that was open last, then the other ends, newest first."""
    parents = {message.parent for message in chat.messages.values()}
    order = {name: index for index, name in enumerate(chat.messages)}
    ends = sorted(
        (name for name in chat.messages if name not in parents),
        key=lambda name: (-_find_moment(chat, name), -order[name]),
    )
    current = chat.current if chat.current in chat.messages else None
    return [current, *(name for name in ends if name != current)] if current is not None else ends


def _list_way_turns(chat: ProgramChat, leaf: str) -> list[_TreeTurn]:
    """Returns the turns on the way from the beginning to a message. An answer before any question is the greeting of
    a story; elsewhere it is left out. A question of files alone reads as their names."""
    turns: list[_OpenTurn] = []
    for name in _list_way(chat, leaf):
        message = chat.messages[name]
        text = message.text if message.text.strip() else ", ".join(message.files) if message.is_user else ""
        if not text:
            continue
        moment = _find_moment(chat, name)
        if message.is_user:
            turns.append(_OpenTurn([name], text, moment, message.files))
        elif turns:
            turns[-1].ids.append(name)
            turns[-1].answers.append(text)
        elif chat.world:
            turns.append(_OpenTurn([name], "", moment, (), [text]))
    return [turn.close() for turn in turns]


def _list_way(chat: ProgramChat, leaf: str) -> list[str]:
    """Returns the ids from the first message to this one; stops at a circle in the file."""
    way, seen, name = [], set[str](), leaf
    while name in chat.messages and name not in seen:
        seen.add(name)
        way.append(name)
        name = chat.messages[name].parent
    return way[::-1]


def _find_moment(chat: ProgramChat, name: str) -> float:
    return chat.messages[name].moment or chat.created or time.time()


def _lay_out(ways: Sequence[Sequence[_TreeTurn]]) -> tuple[list[tuple[int, int, _TreeTurn]], list[Path], Path]:
    """Lays out the ways (one list of turns per end of the tree) as branches.

    Returns the turns with branch and number, the paths of the branches, and the path of the first way.
    """
    turns: list[tuple[int, int, _TreeTurn]] = []
    branches: list[Path] = []
    # (id of the turn before, ids of this turn's messages): id and path of this turn
    known: dict[tuple[int, tuple[str, ...]], tuple[int, Path]] = {}
    for way in ways:
        previous, forked = 0, False
        path: Path = []
        for number, turn in enumerate(way, 1 if way[0].question else 0):  # a greeting is turn 0
            if (previous, turn.ids) not in known:
                if not forked:
                    path, forked = fork_path(path, number, len(branches)), True
                    branches.append(path)
                known[previous, turn.ids] = len(known) + 1, path
                turns.append((path[-1][0], number, turn))
            previous, path = known[previous, turn.ids]
    return turns, branches, branches[0]


def _build_turn_form(branch: int, number: int, turn: _TreeTurn, count: Count) -> TurnForm:
    values: dict[str, Any] = {
        "branch": branch,
        "number": number,
        "question": turn.question,
        "started": turn.moment,
        "files": [{"name": name} for name in turn.files] or None,
    }
    if turn.answer:
        question = HumanMessage(clean_text(turn.question), id=turn.ids[0], additional_kwargs={"turn": number})
        messages: list[AnyMessage] = [question, AIMessage(clean_text(turn.answer), id=turn.ids[-1])]
        values |= {"answer": turn.answer, "status": "done", "finished": turn.moment}
        values |= {"tokens": count(messages), "messages": messages_to_dict(messages)}
    else:
        error = Interrupted(turn=number)
        problem = {"code": error.code, "message": str(error), "values": error.values, "retryable": error.retryable}
        values |= {"status": "failed", "error": problem}
    return TurnForm(**values)


def _build_world_form(
    chat: ProgramChat, session: SessionForm, turns: Sequence[tuple[int, int, _TreeTurn]]
) -> WorldForm:
    """Returns the world of a story whose tables nobody has written yet: they are read from the turns later."""
    character, player = chat.world or ("", "")
    answered = [(branch, number, turn.answer) for branch, number, turn in turns if turn.answer]
    return WorldForm(
        name=cut_graphemes(character or session.title or "–", NAME_CHARS),
        player=cut_graphemes(player, NAME_CHARS),
        language=session.language,
        turns=[
            StoryTurnForm(branch=branch, number=number, raw=answer, status="given")
            for branch, number, answer in answered
        ],
    )


def choose_message_id(own: str, place: int, known: Container[str]) -> str:
    """Returns the id of a message; for one without, or with another's, one made of its place in the file."""
    return own if own and own not in known else f"{own}.{place}"


def parse_moment(value: Any) -> float | None:
    """Returns the Unix seconds of a time as programs write it: ISO 8601, seconds, or milliseconds, as a number or as
    text; None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return None
        value = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MOST_MILLISECONDS:
        return None
    seconds = value / 1000 if value > LATEST else float(value)
    return seconds if seconds <= LATEST else None


def join_text_parts(parts: Any, kinds: Sequence[str] = ("text",)) -> str:
    """Returns the texts of a message's parts, with an empty line between them: a text, or a list of texts and of
    objects ``{"type": …, "text": …}`` (or ``content_type``). ``kinds``: the types whose text a person reads."""
    if isinstance(parts, str):
        return parts
    texts = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and (part.get("type") or part.get("content_type")) in kinds:
            text = part.get("text")
            part = text.get("value") if isinstance(text, dict) else text
        if isinstance(part, str) and part.strip():
            texts.append(part)
    return "\n\n".join(texts)


__all__ = [
    "Count",
    "LaxFlag",
    "LaxForm",
    "LaxObject",
    "LaxObjects",
    "LaxText",
    "ProgramChat",
    "ProgramMessage",
    "build_conversation",
    "choose_message_id",
    "join_text_parts",
    "keep_objects",
    "parse_moment",
]
