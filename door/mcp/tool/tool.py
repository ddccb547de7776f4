"""What a tool is: its names, its schemas, what it changes, and the function that answers a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import mcp_types as types
from pydantic import ValidationError

from door.mcp.call import McpToolCall
from door.mcp.caller import McpCaller
from door.mcp.tool.schema import Arguments, StructuredResult, build_portable_schema
from server.refusal import Refusal, build_field_refusal
from server.request.json_body import clean_json_texts

A = TypeVar("A", bound=Arguments)
Told = StructuredResult | types.InputRequiredResult


def is_open_to_all(_: McpCaller) -> bool:
    """Returns True: a tool that every caller may use."""
    return True


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool. ``run``: answers a call; ``offered``: whether a caller may use it.

    ``writes``, ``destroys``, ``repeats``, ``reaches``: the hints of the protocol. It changes something; it may take
    something away; the same call twice has the effect of one; it reaches what lies beyond Gieok.
    """

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[StructuredResult]
    run: Callable[[McpToolCall, A], Awaitable[Told]]
    offered: Callable[[McpCaller], bool] = is_open_to_all
    writes: bool = False
    destroys: bool = False
    repeats: bool = True
    reaches: bool = False

    @property
    def protocol_form(self) -> types.Tool:
        """Returns the tool as clients list it."""
        hints = types.ToolAnnotations(
            read_only_hint=not self.writes,
            destructive_hint=self.destroys,
            idempotent_hint=self.repeats,
            open_world_hint=self.reaches,
        )
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=build_portable_schema(self.arguments),
            output_schema=build_portable_schema(self.result, "serialization"),
            annotations=hints,
        )

    async def call(self, call: McpToolCall) -> types.CallToolResult | types.InputRequiredResult:
        """Answers a call. Raises ``Refusal`` for arguments that are no such ones, and what the tool raises."""
        told = await self.run(call, self._read(call.params.arguments))
        if isinstance(told, types.InputRequiredResult):
            return told
        text = types.TextContent(type="text", text=told.model_dump_json(exclude_none=True))
        return types.CallToolResult(content=[text], structured_content=told.model_dump(mode="json", exclude_none=True))

    def _read(self, given: dict[str, Any] | None) -> A:
        try:
            return self.arguments.model_validate(clean_json_texts(given or {}))
        except ValidationError as error:
            raise _build_argument_refusal(self.name, error) from None


def _build_argument_refusal(name: str, error: ValidationError) -> Refusal:
    """Returns the refusal of arguments: it names the first field at fault and the reason, not the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"])) or "arguments"
    return build_field_refusal(field, f"{name} cannot take these arguments: {field}: {first['msg']}.")
