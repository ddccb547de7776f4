"""JSON schemas of arguments and results that every client can read: no references, no unions, no generated titles."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

_REFERENCE = "#/$defs/"


class Arguments(BaseModel, extra="forbid"):
    """The arguments of a tool. A default of '' or 0 stands for «not given», because not every client sends null."""


class StructuredResult(BaseModel):
    """The structured result of a tool. A field with the value None is left out."""


class _Portable(GenerateJsonSchema):
    """Describes ``T | None`` as ``T``: an optional field may be missing, and is never null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if described.get("default") is None:
            described.pop("default", None)
        return described


@cache
def build_portable_schema(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Returns the schema of a model, with all its parts in place. Do not change it."""
    schema = model.model_json_schema(schema_generator=_Portable, mode=mode)
    parts = schema.pop("$defs", {})
    described: dict[str, Any] = _in_place(schema, parts)
    described.pop("description", None)  # the tool has a description of its own
    return described


def _in_place(value: Any, parts: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_in_place(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if isinstance(reference, str):
        beside = {name: item for name, item in value.items() if name != "$ref"}
        return _in_place({**parts[reference.removeprefix(_REFERENCE)], **beside}, parts)
    # the name of a property may be «title», too; then its value is a schema
    return {
        name: _in_place(item, parts) for name, item in value.items() if name != "title" or not isinstance(item, str)
    }
