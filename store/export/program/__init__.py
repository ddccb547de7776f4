"""Conversations of other programs, each form in a file of its own; a new one is such a file and a line below.

Shows ``read_program_chats``, which tells the programs apart, to ``store.export.portable``.
May import the forms of ``store.export``, ``store.session``, ``store.world``, ``store.path`` and ``text``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from errors import BadConversation, explain_validation_problem
from store.export.form import ConversationForm
from store.export.program.chat import Count, ProgramChat, build_conversation
from store.export.program.chatgpt import is_chatgpt, read_chatgpt
from store.export.program.claude import is_claude, read_claude
from store.export.program.librechat import is_librechat, read_librechat
from store.export.program.open_webui import is_open_webui, read_open_webui
from store.export.program.silly_tavern import is_silly_tavern, read_silly_tavern


@dataclass(frozen=True)
class FileConversations:
    """What a file holds. ``empty``: titles of conversations without text; ``faults``: why others cannot be read."""

    conversations: list[ConversationForm] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    faults: list[BadConversation] = field(default_factory=list)


READERS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], ProgramChat]], ...] = (
    (is_chatgpt, read_chatgpt),
    (is_claude, read_claude),
    (is_open_webui, read_open_webui),
    (is_librechat, read_librechat),
    (is_silly_tavern, read_silly_tavern),
)


def is_program_export(data: Any) -> bool:
    """Returns whether data is a conversation of another program, or a list that has one, or an empty list: the export
    of somebody without conversations."""
    items = data if isinstance(data, list) else [data]
    return data == [] or any(isinstance(item, dict) and any(is_form(item) for is_form, _ in READERS) for item in items)


def read_program_chats(data: Any, count: Count) -> FileConversations:
    """Returns the conversations of another program's file. One that cannot be read does not keep the others out."""
    chats, empty, faults = list[ConversationForm](), list[str](), list[BadConversation]()
    for index, item in enumerate(data if isinstance(data, list) else [data], 1):
        try:
            chat = _read_chat(item, index)
            conversation = build_conversation(chat, count)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, (f"conversation {index}", *first["loc"])))
            faults.append(BadConversation(**explain_validation_problem(first), place=place))
            continue
        except BadConversation as error:
            faults.append(error)
            continue
        if conversation is None:
            empty.append(chat.title)
        else:
            chats.append(conversation)
    return FileConversations(chats, empty, faults)


def _read_chat(item: Any, index: int) -> ProgramChat:
    for is_form, read in READERS:
        if isinstance(item, dict) and is_form(item):
            return read(item)
    reason = "it is no conversation of a program that is known"
    raise BadConversation(reason=reason, reason_code="program", place=f"conversation {index}")


__all__ = ["Count", "FileConversations", "is_program_export", "read_program_chats"]
