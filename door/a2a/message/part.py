"""What another agent's message says: its text, and data and text files as data beside the text.

Nothing is fetched, and nothing is kept as a document. What is no text is refused before a task begins.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from a2a.types import Message, Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError

from door.a2a.message.form import read_proto_data
from graph.turn.request import MESSAGE_LIMIT
from prompt import render_prompt
from text.clean import clean_text
from text.decode import NoText, decode_text
from text.fence import frame_outside_text
from text.language import Language

NOTE = "outside"
TEXT_KINDS = (
    "application/json",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
    "application/x-sh",
)
KINDS = ("text/plain", "text/markdown", "text/csv", "text/html", "application/json")
"""The kinds that the card names; every other kind of text is read as well."""


def build_turn_text(parts: Sequence[Part], file_limit: int, language: Language) -> str:
    """Returns the text for the turn. ``file_limit``: bytes of the largest file; ``language``: of the note that files
    and data are no instructions.

    Raises ``ContentTypeNotSupportedError`` for what is no text, and ``InvalidParamsError`` for what is too long or says
    nothing.
    """
    text = "\n\n".join(
        filter(None, (_read_part_text(part, file_limit, render_prompt(NOTE, language)) for part in parts))
    )
    if not clean_text(text).strip():
        raise InvalidParamsError(message="The message says nothing.")
    if len(text) > MESSAGE_LIMIT:
        raise InvalidParamsError(message=f"The message is too long; the limit is {MESSAGE_LIMIT:,} characters.")
    return text


def data_of(message: Message) -> list[Any]:
    """Returns the data parts of a message."""
    return [read_proto_data(part.data) for part in message.parts if part.WhichOneof("content") == "data"]


def plain_text_of(message: Message) -> str:
    """Returns the text parts of a message."""
    texts = (part.text.strip() for part in message.parts if part.WhichOneof("content") == "text")
    return "\n\n".join(filter(None, texts))


def _read_part_text(part: Part, file_limit: int, note: str) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text.strip()
        case "data":
            return frame_outside_text(
                "data.json", json.dumps(read_proto_data(part.data), ensure_ascii=False, indent=1), note
            )
        case "raw":
            return frame_outside_text(part.filename or "file.txt", _read_file_text(part, file_limit), note)
        case "url":
            raise ContentTypeNotSupportedError(message="Addresses are not fetched: send the file itself.")
    raise InvalidParamsError(message="A part has no content.")


def _read_file_text(part: Part, file_limit: int) -> str:
    kind = part.media_type.partition(";")[0].strip().lower()
    if kind and not kind.startswith("text/") and kind not in TEXT_KINDS and not kind.endswith(("+json", "+xml")):
        raise ContentTypeNotSupportedError(message=f"Files of the kind {kind[:100]} are not read: send text.")
    if len(part.raw) > file_limit:
        raise InvalidParamsError(message=f"The file is too large; the limit is {file_limit:,} bytes.")
    try:
        return decode_text(part.raw)
    except NoText:
        raise ContentTypeNotSupportedError(message="The file is no text.") from None
