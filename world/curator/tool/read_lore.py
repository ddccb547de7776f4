"""The tool that shows entries of the lorebook."""

from __future__ import annotations

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from store.world.record import LoreEntry
from text.cut import cut_graphemes
from world.curator.desk import Desk
from world.curator.material import frame_material

CHARS = 2000
"""The most characters of an entry."""


class LoreArguments(BaseModel, extra="forbid"):
    """Arguments of ``read_lore``."""

    name: str = Field(min_length=1, max_length=200, description="Name of a person, place or thing")


def read_lore(desk: Desk) -> BaseTool:
    """Returns the tool ``read_lore`` for one desk."""

    @tool("read_lore", args_schema=LoreArguments)
    def run_tool(name: str) -> str:
        """Read what the lorebook says under a name: as the author wrote it, and as the story changed it."""
        entries = desk.lore(name)
        if not entries:
            raise ToolException(f"The lorebook has no entry with the name {name!r}.")
        return frame_material({"lore": "\n".join(_render_read_entry(desk, one) for one in entries)})

    run_tool.handle_tool_error = True
    return run_tool


def _render_read_entry(desk: Desk, entry: LoreEntry) -> str:
    mark = desk.state.lore.get(entry.id)
    now = mark.content if mark is not None and mark.content is not None else ""
    author = f"{entry.keyword} ({entry.layer}): {cut_graphemes(entry.content, CHARS)}"
    return f"{author}\n[Now] {cut_graphemes(now, CHARS)}" if now and now != entry.content else author
