"""Chats as Open WebUI exports them, one or all: each a tree of messages.

Takes the texts of both sides; files are named only. Leaves out the blocks in an answer that show reasoning, calls of
tools and code that ran.
"""

from __future__ import annotations

from typing import Any

from store.export.program.chat import (
    LaxForm,
    LaxObject,
    LaxObjects,
    LaxText,
    ProgramChat,
    ProgramMessage,
    join_text_parts,
    parse_moment,
)

_KINDS = ("reasoning", "tool_calls", "code_interpreter")
_OPEN, _CLOSE = "<details ", "</details>"


class OpenWebUIMessage(LaxForm):
    parentId: LaxText = ""
    role: LaxText = ""
    content: Any = None
    timestamp: Any = None
    files: LaxObjects = []


class OpenWebUIHistory(LaxForm):
    messages: dict[str, LaxObject] = {}
    currentId: LaxText = ""


class OpenWebUIContent(LaxForm):
    title: LaxText = ""
    history: OpenWebUIHistory | None = None
    messages: LaxObjects = []


class OpenWebUIChat(LaxForm):
    title: LaxText = ""
    chat: OpenWebUIContent
    created_at: Any = None
    updated_at: Any = None


def is_open_webui(chat: dict[str, Any]) -> bool:
    """Returns whether an object is a chat of Open WebUI's."""
    content = chat.get("chat")
    return isinstance(content, dict) and (not content or "history" in content or "messages" in content)


def read_open_webui(chat: dict[str, Any]) -> ProgramChat:
    """Returns a chat of Open WebUI's. Raises ``pydantic.ValidationError``."""
    read = OpenWebUIChat.model_validate(chat)
    history = read.chat.history
    if history and history.messages:
        messages = {name: _read_chat_message(item) for name, item in history.messages.items()}
        current = history.currentId
    else:  # of a version without branches: one after the other
        listed = enumerate(read.chat.messages)
        messages = {str(place): _read_chat_message(item | {"parentId": str(place - 1)}) for place, item in listed}
        current = ""
    created, updated = parse_moment(read.created_at), parse_moment(read.updated_at)
    return ProgramChat(read.title or read.chat.title, messages, current, created, updated)


def _read_chat_message(item: dict[str, Any]) -> ProgramMessage:
    message = OpenWebUIMessage.model_validate(item)
    text = join_text_parts(message.content) if message.role in ("user", "assistant") else ""
    if message.role == "assistant":
        text = remove_details(text).strip()
    files = tuple(name for file in message.files if (name := _find_file_name(file)))
    return ProgramMessage(message.parentId, message.role == "user", text, parse_moment(message.timestamp), files)


def _find_file_name(file: dict[str, Any]) -> str:
    """Returns the name of a file; an image without one is called so."""
    name = file.get("name")
    return name if isinstance(name, str) and name else "image" if file.get("type") == "image" else ""


def remove_details(text: str) -> str:
    """Returns an answer without the blocks ``<details type="reasoning">`` and the like; one that does not end goes to
    the end of the text. Takes time in proportion to the text."""
    kept, at = list[str](), 0
    while (begin := text.find(_OPEN, at)) >= 0:
        tag_end = begin + len(_OPEN)
        while tag_end < len(text) and text[tag_end] not in "<>":
            tag_end += 1
        tag = text[begin:tag_end]
        if not any(f'type="{kind}"' in tag for kind in _KINDS):
            kept.append(text[at : begin + len(_OPEN)])
            at = begin + len(_OPEN)
            continue
        kept.append(text[at:begin])
        end = text.find(_CLOSE, tag_end)
        at = len(text) if end < 0 else end + len(_CLOSE)
    return "".join([*kept, text[at:]])


__all__ = ["is_open_webui", "read_open_webui"]
