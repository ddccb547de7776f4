"""Calls of the memory's tools in one turn, over a memory in a list."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.messages import ToolMessage

from graph.tool import memory_tools
from graph.tool.reach import MemoryReach
from memory import Memory
from tests.stub.memory import ListedMemory


def reaching(memory: ListedMemory, language: Any = "en") -> MemoryReach:
    """What the tools of one turn reach."""
    return MemoryReach(cast(Memory, memory), "acme", "s1", 9, language)


def call(reach: MemoryReach, name: str, **arguments: object) -> ToolMessage:
    """What a tool answers."""
    found = {tool.name: tool for tool in memory_tools(reach)}
    message = found[name].invoke({"type": "tool_call", "name": name, "args": arguments, "id": "1"})
    assert isinstance(message, ToolMessage)
    return message
