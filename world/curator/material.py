"""What the curator's model is shown: instructions, and the story's own texts as data inside tags."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

import prompt
from store.world.record import Finding, Node
from text.fence import fenced
from world.curator.desk import EVERY, Desk
from world.curator.notebook import LIMIT
from world.curator.story import SHORT
from world.live import live_state

TAGS = ("memory", "intended", "findings", "story", "state", "turns", "lore")


def opening(desk: Desk) -> list[AnyMessage]:
    """Returns the first messages of the agent."""
    due = desk.story.due
    shorten = prompt.render("world_curator_shorten", desk.language, turns=desk.story.turns, limit=SHORT) if due else ""
    turn, first = desk.node.turn, first_turn(desk)
    told = prompt.render("world_curator", desk.language, turn=turn, first=first, limit=LIMIT, story=shorten)
    return [SystemMessage(told), HumanMessage(frame({**notes(desk), "story": desk.story.whole if due else ""}))]


def plain(desk: Desk) -> list[AnyMessage]:
    """Returns the messages of the one plain call."""
    nodes = desk.turns(first_turn(desk), desk.node.turn)
    material = {
        **notes(desk),
        "state": live_state(desk.state, desk.language),
        "turns": turns(nodes, desk.chars),
    }
    told = prompt.render("world_curator_plain", desk.language, limit=LIMIT)
    return [SystemMessage(told), HumanMessage(frame(material))]


def first_turn(desk: Desk) -> int:
    """Returns the first turn that is looked at: the one after the last look, at most two looks ago."""
    return max(desk.since + 1, desk.node.turn - 2 * EVERY + 1, 1)


def notes(desk: Desk) -> dict[str, str]:
    """Returns what the curator and the user noted before."""
    known = [one for one in desk.earlier if one.status != "dismissed"]
    return {"memory": desk.memory, "intended": _findings(desk.dismissed), "findings": _findings(known)}


def turns(nodes: Iterable[Node], chars: int) -> str:
    """Returns turns word for word; of longer texts the middle is left out."""
    return "\n".join(
        f"[Turn {one.turn}] [Player] {_short(one.question, chars)}\n[Narrator] {_short(one.answer, chars)}"
        for one in nodes
    )


def frame(parts: dict[str, str]) -> str:
    """Returns texts as data inside tags that the texts cannot close."""
    return "\n".join(f"<{tag}>\n{fenced(text, *TAGS).strip() or '–'}\n</{tag}>" for tag, text in parts.items())


def _findings(findings: Iterable[Finding]) -> str:
    return "\n".join(f"- [Turn {one.turn}] {one.kind}: {one.subject}: {one.text}" for one in findings)


def _short(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    return f"{text[: chars // 2]} … {text[-chars // 2 :]}"
