"""The schemas of the tools can be read by every client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from door.mcp.server import TOOLS
from door.mcp.tool.schema import build_portable_schema
from tests.table import table

HARD = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if"}
"""What some clients cannot read."""
NAMES = (
    "chat",
    "search_documents",
    "recall_memory",
    "remember",
    "forget",
    "summaries",
    "evaluate_memory",
    "world_state",
)


def keywords(schema: Any) -> Iterator[str]:
    """All keywords of a schema and of the schemas inside it; names of properties are none."""
    if isinstance(schema, list):
        for part in schema:
            yield from keywords(part)
    if isinstance(schema, dict):
        yield from schema
        for name, part in schema.items():
            yield from keywords(list(part.values()) if name == "properties" else part)


def test_the_tools_are_those_of_the_specification() -> None:
    assert sorted(tool.name for tool in TOOLS) == sorted(NAMES)


@table("tool", TOOLS)
def test_a_schema_is_portable(tool: Any) -> None:
    described = tool.protocol_form
    for schema in (described.input_schema, described.output_schema):
        assert schema["type"] == "object"
        assert not HARD & set(keywords(schema))
        assert "title" not in set(keywords(schema))


@table("tool", TOOLS)
def test_everything_that_a_caller_gives_is_described(tool: Any) -> None:
    described = tool.protocol_form
    assert described.description
    assert described.title
    undescribed = [name for name, row in described.input_schema["properties"].items() if not row.get("description")]
    assert undescribed == []


def test_the_hints_tell_what_a_tool_changes() -> None:
    hints: dict[str, Any] = {tool.name: tool.protocol_form.annotations for tool in TOOLS}
    assert {name for name, hint in hints.items() if not hint.read_only_hint} == {"chat", "remember", "forget"}
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"remember", "forget"}
    assert {name for name, hint in hints.items() if not hint.idempotent_hint} == {"chat"}
    assert {name for name, hint in hints.items() if hint.open_world_hint} == {"chat"}


def test_a_property_may_be_called_title() -> None:
    class Inner(BaseModel):
        title: str

    class Outer(BaseModel):
        title: str
        inner: Inner | None = None

    schema = build_portable_schema(Outer)
    assert set(schema["properties"]) == {"title", "inner"}
    assert set(schema["properties"]["inner"]["properties"]) == {"title"}
