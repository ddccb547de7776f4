"""The tool that shows the tables as they are after the last turn."""

from __future__ import annotations

from langchain_core.tools import BaseTool, tool

from store.world.record import Character, Relation
from world.curator.desk import Desk
from world.curator.material import frame_material
from world.story.live import live_state

MOST = 100
"""The most characters and relations that are shown, the newest first."""


def read_state(desk: Desk) -> BaseTool:
    """Returns the tool ``read_state`` for one desk."""

    @tool("read_state")
    def run_tool() -> str:
        """Read what the tables hold now: place, hit points, inventory, people with place and status, relations."""
        people = [_render_person_row(one) for one in list(desk.state.characters.values())[:-MOST:-1]]
        relations = [_render_relation_row(one) for one in list(desk.state.relations.values())[:-MOST:-1]]
        return frame_material(
            {"state": "\n".join((live_state(desk.state, desk.language), "", *people, "", *relations))}
        )

    return run_tool


def _render_person_row(one: Character) -> str:
    hp = f"HP {one.hp}" if one.hp is not None else ""
    return " | ".join(filter(None, (one.name, one.location, hp, one.status)))


def _render_relation_row(one: Relation) -> str:
    return f"{one.from_char} → {one.to_char}: {one.rel_type} ({one.strength:+d})"
