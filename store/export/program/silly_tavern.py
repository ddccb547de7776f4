"""A chat of SillyTavern, a file of JSON lines: first what belongs to the chat, then a message a line.

It becomes a story: the character gives the world its name, the user is its player, swipes are versions of a turn, other
greetings are other beginnings. Questions that follow each other are one. In a chat of several characters each message
begins with its name, but a narrator's. Leaves out what the program says itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from store.export.program.chat import (
    LaxFlag,
    LaxForm,
    LaxObject,
    LaxText,
    ProgramChat,
    ProgramMessage,
    parse_moment,
)

UNUSED = "unused"
"""Stands for the names in the first line of newer files."""
_NARRATOR = "narrator"
_HUMAN = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s")
"""«2024-1-5 @14h 05m 23s 123ms»."""


class TavernHead(LaxForm):
    user_name: LaxText = ""
    character_name: LaxText = ""
    create_date: Any = None


class TavernMessage(LaxForm):
    name: LaxText = ""
    is_user: LaxFlag = False
    is_system: LaxFlag = False
    send_date: Any = None
    mes: Any = ""
    swipes: Any = None
    swipe_id: Any = None
    extra: LaxObject = {}

    @property
    def is_narrator(self) -> bool:
        """Whether nobody in the story says it."""
        return bool(self.extra.get("type") == _NARRATOR)

    @property
    def is_of_program(self) -> bool:
        """Whether the program says it: help, notes; a message of the story that was only hidden has no type."""
        return self.is_system and bool(self.extra.get("type")) and not self.is_narrator


def is_silly_tavern(chat: dict[str, Any]) -> bool:
    """Returns whether an object holds the lines of a chat of SillyTavern."""
    lines = chat.get("lines")
    first = lines[0] if isinstance(lines, list) and lines else None
    return isinstance(first, dict) and (_is_head(first) or ("mes" in first and ("is_user" in first or "name" in first)))


def _is_head(line: dict[str, Any]) -> bool:
    """Returns whether a line belongs to the chat; chats of several characters had none before November 2025."""
    return "mes" not in line and ("chat_metadata" in line or {"user_name", "character_name"} <= line.keys())


def read_silly_tavern(chat: dict[str, Any]) -> ProgramChat:
    """Returns a chat of SillyTavern. ``chat``: its ``lines``. Raises ``pydantic.ValidationError``."""
    listed = [line for line in chat["lines"] if isinstance(line, dict)]
    head = TavernHead.model_validate(listed.pop(0) if listed and _is_head(listed[0]) else {})
    lines = [TavernMessage.model_validate(line) for line in listed]
    lines = [line for line in lines if not line.is_of_program]
    speaking = [line for line in lines if line.name and not line.is_narrator]
    characters = list(dict.fromkeys(line.name for line in speaking if not line.is_user))
    player = _find_name(head.user_name, [line.name for line in speaking if line.is_user])
    character = _find_name(head.character_name, characters)
    messages: dict[str, ProgramMessage] = {}
    parent = ""
    for place, line in enumerate(lines):
        chosen, texts = _list_versions(line)
        before = messages.get(parent)
        if line.is_user and before is not None and before.is_user:
            joined = f"{before.text}\n\n{texts[chosen]}".strip()
            messages[parent] = ProgramMessage(before.parent, True, joined, before.moment)
            continue
        has_label = len(characters) > 1 and bool(line.name) and not line.is_narrator and not line.is_user
        for version, text in texts.items():
            shown = f"{line.name}: {text}" if has_label and text.strip() else text
            messages[f"{place}.{version}"] = ProgramMessage(parent, line.is_user, shown, read_date(line.send_date))
        parent = f"{place}.{chosen}"
    return ProgramChat("", messages, parent, read_date(head.create_date), world=(character, player))


def _find_name(said: str, found: Sequence[str]) -> str:
    """Returns the name in the first line of a file, or else the first one of its messages."""
    return said if said and said != UNUSED else next(iter(found), "")


def _list_versions(line: TavernMessage) -> tuple[int, dict[int, str]]:
    """Returns which version of a message is open, and the texts of all. The open one may have been edited since, so the
    message itself says how it reads; versions without a text are left out."""
    texts = [_read_text(swipe) for swipe in line.swipes] if isinstance(line.swipes, list) else []
    chosen = line.swipe_id if isinstance(line.swipe_id, int) else 0
    if line.is_user or not 0 <= chosen < len(texts):
        return 0, {0: _read_text(line.mes)}
    texts[chosen] = _read_text(line.mes)
    return chosen, {version: text for version, text in enumerate(texts) if version == chosen or text.strip()}


def _read_text(value: Any) -> str:
    """Returns the text of a message or a swipe; some files have an object around it."""
    if isinstance(value, dict):
        value = value.get("mes") or value.get("message")
    return value if isinstance(value, str) else ""


def read_date(value: Any) -> float | None:
    """Returns the Unix seconds of a time in one of the forms that versions of SillyTavern have written."""
    if isinstance(value, str):
        if found := _HUMAN.search(value):
            year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
            try:
                return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
            except ValueError:
                return None
        try:
            return datetime.strptime(value, "%B %d, %Y %I:%M%p").replace(tzinfo=UTC).timestamp()
        except ValueError:
            pass
    return parse_moment(value)


__all__ = ["is_silly_tavern", "read_date", "read_silly_tavern"]
