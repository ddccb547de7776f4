"""A conversation as LibreChat exports it: messages in a list, or each with those that follow it.

Takes the texts of both sides; files are named only. Leaves out thinking, calls of tools, and answers that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from store.export.program.chat import (
    LaxFlag,
    LaxForm,
    LaxObjects,
    LaxText,
    ProgramChat,
    ProgramMessage,
    choose_message_id,
    join_text_parts,
    parse_moment,
)


class LibreChatMessage(LaxForm):
    messageId: LaxText = ""
    parentMessageId: LaxText = ""
    isCreatedByUser: LaxFlag = False
    createdAt: Any = None
    text: LaxText = ""
    content: Any = None
    error: LaxFlag = False
    files: LaxObjects = []
    children: LaxObjects = []


class LibreChatConversation(LaxForm):
    title: LaxText = ""
    messages: list[Any] | None = None
    messagesTree: list[Any] | None = None


def is_librechat(chat: dict[str, Any]) -> bool:
    """Returns whether an object is a conversation of LibreChat's."""
    return "conversationId" in chat and ("messages" in chat or "messagesTree" in chat)


def read_librechat(chat: dict[str, Any]) -> ProgramChat:
    """Returns a conversation of LibreChat's. Raises ``pydantic.ValidationError``."""
    read = LibreChatConversation.model_validate(chat)
    messages: dict[str, ProgramMessage] = {}
    for item, parent in _walk_messages(read.messagesTree or read.messages or []):
        text = "" if item.error else item.text or join_text_parts(item.content)
        names = (file.get("filename") for file in item.files)
        files = tuple(name for name in names if isinstance(name, str) and name)
        key = choose_message_id(item.messageId, len(messages), messages)
        messages[key] = ProgramMessage(parent, item.isCreatedByUser, text, parse_moment(item.createdAt), files)
    return ProgramChat(read.title, messages)


def _walk_messages(found: list[Any]) -> Iterator[tuple[LibreChatMessage, str]]:
    """Yields all messages with the id of the message before. One form for each, without those that follow it: pydantic
    reads no form as deep as a conversation is long."""
    waiting: list[tuple[Any, str | None]] = [(item, None) for item in reversed(found) if isinstance(item, dict)]
    while waiting:
        item, before = waiting.pop()
        message = LibreChatMessage.model_validate(item)
        yield message, message.parentMessageId if before is None else before
        waiting += [(child, message.messageId) for child in reversed(message.children)]


__all__ = ["is_librechat", "read_librechat"]
