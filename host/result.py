"""What a foreign tool gave, as text for the model: cut here, and again to what a prompt holds (``graph.node.tool``)."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

MOST_CHARS = 1_000_000
"""The longest text of a result; what is behind it is counted and dropped."""


def render_tool_result(result: types.CallToolResult) -> str:
    """Returns the texts of a result; other kinds of content are named, never fetched. What it says as data stands there
    where no text says it."""
    parts = [_render_content_block(block) for block in result.content]
    has_text = any(isinstance(block, types.TextContent) and block.text for block in result.content)
    if not has_text and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return "\n\n".join(part for part in parts if part)


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
