"""The tools of the curator, each made for one desk; a new one is a file and a line in ``TOOLS``.

Shows ``TOOLS`` and ``make_curator_tools`` to the agent.
May import ``world.curator``, ``world.story`` and ``store.world.record``; a tool writes on its desk alone.
"""

from __future__ import annotations

from collections.abc import Callable

from langchain_core.tools import BaseTool

from world.curator.desk import Desk
from world.curator.tool.correct_table import correct_table
from world.curator.tool.edit_memory import edit_memory
from world.curator.tool.plan_event import plan_event
from world.curator.tool.read_lore import read_lore
from world.curator.tool.read_state import read_state
from world.curator.tool.read_turns import read_turns
from world.curator.tool.report_finding import report_finding
from world.curator.tool.rewrite_memory import rewrite_memory
from world.curator.tool.shorten_live import shorten_live
from world.curator.tool.shorten_story import shorten_story

TOOLS: tuple[Callable[[Desk], BaseTool], ...] = (
    read_state,
    read_turns,
    read_lore,
    report_finding,
    correct_table,
    shorten_live,
    edit_memory,
    rewrite_memory,
    plan_event,
    shorten_story,
)


def make_curator_tools(desk: Desk) -> list[BaseTool]:
    """Returns the tools for one desk; ``shorten_story`` only while the story is long enough for it."""
    return [make(desk) for make in TOOLS if make is not shorten_story or desk.story.due]
