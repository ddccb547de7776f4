"""One MCP server as the file names it: a command, or an address (specification 14.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

Utility = Callable[[str, str, int], str]
"""Answers a server's request to our utility model: system prompt, text, most tokens."""

Permission = Literal["ask", "allow", "off"]
MOST_ARGUMENTS = 100


class ServerEntry(BaseModel):
    """A server. Values of ``env`` and ``headers`` are secret: no text of this object shows them.

    ``tools``: the permission of single tools; the others ask. ``sampling``: whether the server may ask our utility
    model. ``type``: only where the address alone does not say it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["stdio", "http", "streamable-http", "sse"] | None = None
    command: str | None = Field(None, min_length=1, max_length=4096)
    args: tuple[str, ...] = Field((), max_length=MOST_ARGUMENTS)
    env: dict[str, SecretStr] = {}
    cwd: str | None = None
    url: str | None = Field(None, max_length=4096, pattern=r"^https?://")
    headers: dict[str, SecretStr] = {}
    disabled: bool = False
    tools: dict[str, Permission] = {}
    sampling: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("name either command or url")
        if self.command is not None and self.type not in (None, "stdio"):
            raise ValueError(f"a command has the type stdio, not {self.type}")
        if self.url is not None and self.type == "stdio":
            raise ValueError("an address has the type http or sse, not stdio")
        return self

    def permission(self, tool: str) -> Permission:
        """Returns the permission of a tool, by the server's own name for it."""
        return self.tools.get(tool, "ask")

    def plain(self) -> dict[str, Any]:
        """Returns the entry for the file, with its secrets and without defaults."""
        data = self.model_dump(exclude_defaults=True, exclude={"env", "headers"})
        for name in ("env", "headers"):
            if values := getattr(self, name):
                data[name] = {key: value.get_secret_value() for key, value in values.items()}
        if "args" in data:
            data["args"] = list(data["args"])
        return data
