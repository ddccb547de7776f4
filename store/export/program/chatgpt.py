"""ChatGPT's export, ``conversations.json`` or ``conversations-000.json`` and on: a list of conversations, each a tree
of messages.

Takes only visible text of the user and the assistant, also what was spoken; files are named only. Leaves out messages
of tools and of the system, hidden messages, reasoning, and the marks by which an answer names its sources.
"""

from __future__ import annotations

import re
from typing import Any

from store.export.program.chat import (
    LaxForm,
    LaxObject,
    LaxText,
    ProgramChat,
    ProgramMessage,
    join_text_parts,
    parse_moment,
)

_SPOKEN, _IMAGE = "audio_transcription", "image_asset_pointer"
_SOURCES = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue202]|【\\d+(?::\\d+)?†[^【】]*】")


class ChatNode(LaxForm):
    message: LaxObject = {}
    parent: LaxText = ""


class ChatGPTChat(LaxForm):
    title: LaxText = ""
    create_time: Any = None
    update_time: Any = None
    mapping: dict[str, LaxObject]
    current_node: LaxText = ""


def is_chatgpt(chat: dict[str, Any]) -> bool:
    """Returns whether an object is a conversation of ChatGPT's."""
    return "mapping" in chat


def read_chatgpt(chat: dict[str, Any]) -> ProgramChat:
    """Returns a conversation of ChatGPT's. Raises ``pydantic.ValidationError``."""
    read = ChatGPTChat.model_validate(chat)
    messages = {name: _read_node_message(ChatNode.model_validate(node)) for name, node in read.mapping.items()}
    created, updated = parse_moment(read.create_time), parse_moment(read.update_time)
    return ProgramChat(read.title, messages, read.current_node, created, updated)


def _read_node_message(node: ChatNode) -> ProgramMessage:
    """Returns a message with the text that a person could read; empty for a message without such text."""
    message = node.message
    author, content, about = (_get_object(message, name) for name in ("author", "content", "metadata"))
    role, parts = author.get("role"), content.get("parts")
    moment = parse_moment(message.get("create_time"))
    hidden = about.get("is_visually_hidden_from_conversation")
    inner = role == "assistant" and message.get("recipient") not in (None, "all")
    is_shown = content.get("content_type") in ("text", "multimodal_text") and not hidden and not inner
    if role not in ("user", "assistant") or not is_shown:
        return ProgramMessage(node.parent, False, "", moment)
    text = join_text_parts(parts, (_SPOKEN,)) if isinstance(parts, list) else ""
    if role == "assistant":
        return ProgramMessage(node.parent, False, _SOURCES.sub("", text), moment)
    return ProgramMessage(node.parent, True, text, moment, _list_question_files(about.get("attachments"), parts))


def _get_object(message: dict[str, Any], name: str) -> dict[str, Any]:
    found = message.get(name)
    return found if isinstance(found, dict) else {}


def _list_question_files(attachments: Any, parts: Any) -> tuple[str, ...]:
    """Returns the names of the files of a question; an image without a name is called so."""
    listed = attachments if isinstance(attachments, list) else []
    names = [item["name"] for item in listed if isinstance(item, dict) and isinstance(item.get("name"), str)]
    shown = parts if isinstance(parts, list) else []
    images = [part for part in shown if isinstance(part, dict) and part.get("content_type") == _IMAGE]
    return tuple(names or ["image"] * len(images))


__all__ = ["is_chatgpt", "read_chatgpt"]
