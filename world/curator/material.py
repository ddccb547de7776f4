"""What the curator's model is shown: instructions, and the story's own texts as data inside tags."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

import prompt
from store.world.record import StoryFinding, StoryNode
from text.fence import fence_text
from world.curator.desk import EVERY, Desk
from world.curator.notebook import LIMIT
from world.curator.story import SHORT
from world.story.live import live_state

TAGS = ("memory", "intended", "findings", "story", "state", "turns", "lore")


def build_agent_messages(desk: Desk) -> list[AnyMessage]:
    """Returns the first messages of the agent."""
    due = desk.story.due
    shorten = (
        prompt.render_prompt("world_curator_shorten", desk.language, turns=desk.story.turns, limit=SHORT) if due else ""
    )
    turn, first = desk.node.turn, first_turn(desk)
    told = prompt.render_prompt("world_curator", desk.language, turn=turn, first=first, limit=LIMIT, story=shorten)
    return [
        SystemMessage(told),
        HumanMessage(frame_material({**collect_earlier_notes(desk), "story": desk.story.whole if due else ""})),
    ]


def build_plain_messages(desk: Desk) -> list[AnyMessage]:
    """Returns the messages of the one plain call."""
    nodes = desk.turns(first_turn(desk), desk.node.turn)
    material = {
        **collect_earlier_notes(desk),
        "state": live_state(desk.state, desk.language),
        "turns": render_curated_turns(nodes, desk.chars),
    }
    told = prompt.render_prompt("world_curator_plain", desk.language, limit=LIMIT)
    return [SystemMessage(told), HumanMessage(frame_material(material))]


def first_turn(desk: Desk) -> int:
    """Returns the first turn that is looked at: the one after the last look, at most two looks ago."""
    return max(desk.since + 1, desk.node.turn - 2 * EVERY + 1, 1)


def collect_earlier_notes(desk: Desk) -> dict[str, str]:
    """Returns what the curator and the user noted before."""
    known = [one for one in desk.earlier if one.status != "dismissed"]
    return {
        "memory": desk.memory,
        "intended": _render_finding_list(desk.intended_findings),
        "findings": _render_finding_list(known),
    }


def render_curated_turns(nodes: Iterable[StoryNode], chars: int) -> str:
    """Returns turns word for word; of longer texts the middle is left out."""
    return "\n".join(
        f"[Turn {one.turn}] [Player] {_shorten_middle(one.question, chars)}\n[Narrator] "
        f"{_shorten_middle(one.answer, chars)}"
        for one in nodes
    )


def frame_material(parts: dict[str, str]) -> str:
    """Returns texts as data inside tags that the texts cannot close."""
    return "\n".join(f"<{tag}>\n{fence_text(text, *TAGS).strip() or '–'}\n</{tag}>" for tag, text in parts.items())


def _render_finding_list(findings: Iterable[StoryFinding]) -> str:
    return "\n".join(f"- [Turn {one.turn}] {one.kind}: {one.subject}: {one.text}" for one in findings)


def _shorten_middle(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    return f"{text[: chars // 2]} … {text[-chars // 2 :]}"
