"""What a foreign tool gave, as text for the model: cut here, and again to what a prompt holds (``graph.node.tool``)."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

from text.clean import parse_json

MOST_CHARS = 1_000_000
"""The longest text of a result; what is behind it is counted and dropped."""

MOST_VALUES = 1_000


def render_tool_result(result: types.CallToolResult) -> str:
    """Returns the texts of a result; other kinds of content are named, never fetched. What it says as data stands there
    where its texts do not say it."""
    parts = [_render_content_block(block) for block in result.content]
    text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
    if result.structured_content is not None and not _says_all(text, result.structured_content):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return "\n\n".join(part for part in parts if part)


def _says_all(text: str, data: Any) -> bool:
    """Returns whether every value of the data stands in a text, as itself or as in JSON: servers say most data twice.
    Of more than ``MOST_VALUES`` values none is looked for, only whether the text is the data as JSON."""
    values, open_ = list[Any](), [data]
    while open_ and len(values) <= MOST_VALUES:
        match open_.pop():
            case dict() as fields:
                open_ += fields.values()
            case list() as items:
                open_ += items
            case value:
                values.append(value)
    if len(values) > MOST_VALUES:
        return bool(_parse_json(text) == data)
    return bool(text) and all(str(value) in text or json.dumps(value).strip('"') in text for value in values)


def _parse_json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _render_content_block(block: Any) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return f"[{resource.uri}]\n{resource.text}"
        case types.EmbeddedResource(resource=resource):
            return f"[{resource.uri}: not shown]"
        case types.ResourceLink():
            return f"[{block.name}: {block.uri}]"
    return f"[{getattr(block, 'type', 'content')} {getattr(block, 'mime_type', '')}: not shown]"
