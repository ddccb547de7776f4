"""What a client tells of a story with a request: its turns so far, and the message that is answered.

Clients send the whole story every time and shape it as they like: several system messages, notes between turns, a
greeting first, answers in several messages, rounds of tools, an answer that goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from model.call.message_form import SYSTEM
from text.clean import collapse_spaces
from world.story.persona import find_persona_name

SPOKEN = ("user", "assistant")
MOST_NAMES = 6
"""Names of speakers that are tried in front of an answer."""
_NAME = re.compile(r"\s*([^\n:]{1,40}): ")
_ONLY = re.compile(r"\bonly as (.{1,40}?)[.\]]")
"""How group chats ask for the answer of one character."""


@dataclass(frozen=True, slots=True)
class StoryMessage:
    """A message. ``role``: as the client named it; ``calls``: whether it calls tools; ``name``: of who speaks, where
    the client says it."""

    role: str
    text: str
    calls: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToldStory:
    """A request as turns. ``turns``: questions with their answers, oldest first; a greeting has an empty question.
    ``question``: the message to answer, empty for a greeting; ``before``: what was already said in answer to it.
    ``tools``: whether rounds of tools led to the answer. ``names``: of speakers that the client writes in front of
    answers. ``player``: the name of the user's character; empty where the client does not say it.
    """

    turns: tuple[tuple[str, str], ...]
    question: str
    before: str = ""
    tools: bool = False
    names: tuple[str, ...] = ()
    player: str = ""

    def answers(self, shown: str) -> tuple[str, ...]:
        """Returns the forms in which the client may send the answer back; the first is what the reader saw."""
        spoken = [shown, *(f"{name}: {shown}" for name in self.names)]
        if (match := _NAME.match(shown)) and match[1] in self.names:
            spoken.append(shown[match.end() :])
        forms = spoken
        if self.before:
            joined = [f"{self.before}\n\n{one}" for one in spoken]
            forms = [*joined[:1], f"{self.before}{shown}", *joined[1:], *(spoken if self.tools else ())]
        return tuple({collapse_spaces(form): form for form in reversed(forms)}.values())[::-1]


def build_told_story(lines: Sequence[StoryMessage]) -> ToldStory:
    """Returns what the client tells. System messages and the messages of tools are left out; messages of one speaker in
    a row are one. When the assistant spoke last, its answer goes on."""
    spoken = [line for line in lines if line.role == "user" or (line.role == "assistant" and line.text.strip())]
    groups = [(role, list(group)) for role, group in groupby(spoken, lambda line: line.role)]
    if groups and groups[0][0] == "assistant":
        groups.insert(0, ("user", []))
    texts = [_join_line_texts(group) for _, group in groups]
    turns = tuple(zip(texts[::2], texts[1::2], strict=False))
    question, before = texts[-1] if texts else "", ""
    if turns and len(groups) % 2 == 0:
        (question, before), turns = turns[-1], turns[:-1]
    names = _find_speaker_names(lines)
    return ToldStory(turns, question, before, _has_tool_calls(lines), names, _find_player_name(lines, names))


def _join_line_texts(lines: Iterable[StoryMessage]) -> str:
    """Returns the texts of messages as one, with blank lines between them."""
    return "\n\n".join(line.text for line in lines if line.text.strip())


def _has_tool_calls(lines: Sequence[StoryMessage]) -> bool:
    """Returns whether tools were called since the user's last message."""
    last = max((at for at, line in enumerate(lines) if line.role == "user"), default=-1)
    return any(line.calls or line.role in ("tool", "function") for line in lines[last + 1 :])


def _find_player_name(lines: Sequence[StoryMessage], names: Sequence[str]) -> str:
    """Returns the name of the user's character, where the client says it. ``names``: of those who answer."""
    systems = [line.text for line in lines if line.role in SYSTEM]
    said = [(line.name, line.text) for line in lines if line.role == "user"]
    others = [*names, *(line.name for line in lines if line.role == "assistant" and line.name)]
    return find_persona_name(systems, said, others)


def _find_speaker_names(lines: Sequence[StoryMessage]) -> tuple[str, ...]:
    """Returns the names that stand in front of answers, the latest first."""
    systems = [line.text for line in lines if line.role in SYSTEM]
    asked = [match[1] for text in systems for match in _ONLY.finditer(text)]
    fronts = (_NAME.match(line.text) for line in reversed(lines) if line.role == "assistant")
    return tuple(dict.fromkeys([*asked, *(match[1].strip() for match in fronts if match)]))[:MOST_NAMES]


__all__ = ["StoryMessage", "ToldStory", "build_told_story"]
