"""The export of claude.ai, ``conversations.json``: a list of conversations, each a list of messages that name the
message before.

Takes the texts of both sides. A text that was pasted into a question stands with it, and the text of a file where there
are no words beside it; other files are named only. Leaves out thinking, tools and their results.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from store.export.program.chat import (
    LaxForm,
    LaxText,
    ProgramChat,
    ProgramMessage,
    choose_message_id,
    join_text_parts,
    keep_objects,
    parse_moment,
)

_PASTED = re.compile(r"(paste[\w-]*\.txt)?", re.IGNORECASE)
"""Names of what the program takes out of a long question: none, or «paste.txt»."""
_NOT_SHOWN = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```", re.IGNORECASE)
"""Stands in the plain text of a message for a tool's call."""


class ClaudeAttachment(LaxForm):
    file_name: LaxText = ""
    extracted_content: LaxText = ""


class ClaudeMessage(LaxForm):
    uuid: LaxText = ""
    sender: LaxText = ""
    text: LaxText = ""
    content: Any = None
    created_at: Any = None
    parent_message_uuid: LaxText = ""
    attachments: Annotated[list[ClaudeAttachment], BeforeValidator(keep_objects)] = []
    files: Annotated[list[ClaudeAttachment], BeforeValidator(keep_objects)] = []


class ClaudeChat(LaxForm):
    name: LaxText = ""
    created_at: Any = None
    updated_at: Any = None
    current_leaf_message_uuid: LaxText = ""
    chat_messages: list[Any] | None


def is_claude(chat: dict[str, Any]) -> bool:
    """Returns whether an object is a conversation of claude.ai."""
    return "chat_messages" in chat


def read_claude(chat: dict[str, Any]) -> ProgramChat:
    """Returns a conversation of claude.ai. Raises ``pydantic.ValidationError``."""
    read = ClaudeChat.model_validate(chat)
    listed = [ClaudeMessage.model_validate(item) for item in read.chat_messages or () if isinstance(item, dict)]
    has_tree = any(message.parent_message_uuid for message in listed)
    messages: dict[str, ProgramMessage] = {}
    before = ""
    for place, message in enumerate(listed):
        name = choose_message_id(message.uuid, place, messages)
        text = join_text_parts(message.content) or _NOT_SHOWN.sub("", message.text).strip()
        pasted = [item for item in message.attachments if item.extracted_content and (_is_pasted(item) or not text)]
        named = [item for item in (*message.attachments, *message.files) if item not in pasted]
        messages[name] = ProgramMessage(
            message.parent_message_uuid if has_tree else before,
            message.sender.lower() in ("human", "user"),
            "\n\n".join(filter(None, (text, *(item.extracted_content for item in pasted)))),
            parse_moment(message.created_at),
            tuple(dict.fromkeys(item.file_name for item in named if item.file_name)),
        )
        before = name
    created, updated = parse_moment(read.created_at), parse_moment(read.updated_at)
    return ProgramChat(read.name, messages, read.current_leaf_message_uuid, created, updated)


def _is_pasted(attachment: ClaudeAttachment) -> bool:
    return _PASTED.fullmatch(attachment.file_name) is not None


__all__ = ["is_claude", "read_claude"]
