"""Remembers and forgets for the user without a model, for a profile whose tools a router chooses.

The tools keep the user's own words. Only the user can say which lines to forget, so the tools ask the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from errors import PinsFull
from graph.tool.question.ask import build_ask_artifact
from graph.tool.reach import MemoryReach
from memory.state import PIN_CHARS
from prompt import render_prompt
from text import sentence
from text.clean import collapse_spaces
from text.cut import cut_graphemes

Near = Callable[[str, Sequence[str]], Sequence[float]]
"""A function that returns how near each text is to a question: cosines of the built-in embedding."""
MOST = 5
FLOOR, MARGIN = 0.77, 0.03
"""Cosines: a line may be meant when its cosine is at least the floor, and at most the margin below the nearest line. Of
22 wishes over twelve lines each (11 ko, 11 en) the line meant was among those left 21 times; two lines were left on
average."""


class WishArguments(BaseModel, extra="forbid"):
    """Arguments of both tools."""

    message: str = Field(
        description="What the user wrote; for remember, what to keep, or nothing when it names nothing"
    )


def make_wish_tools(reach: MemoryReach, near: Near) -> list[BaseTool]:
    """Returns ``remember`` and ``forget`` for a profile whose tools a router chooses; both take the user's message as
    it is."""

    def remember(message: str) -> tuple[str, dict[str, Any]]:
        reply = pin_wish_message(reach, message)
        return reply.text, reply.artifact or {}

    def forget(message: str) -> tuple[str, dict[str, Any]]:
        reply = ask_to_forget(reach, message, near)
        return reply.text, reply.artifact or {}

    about = {"remember": "Keeps what the user wants remembered.", "forget": "Asks the user what shall be forgotten."}
    return [
        StructuredTool.from_function(
            run, name=name, description=about[name], args_schema=WishArguments, response_format="content_and_artifact"
        )
        for name, run in (("remember", remember), ("forget", forget))
    ]


@dataclass(frozen=True)
class WishReply:
    """The text for the user, and the plain data beside it (``graph.tool.question.ask``)."""

    text: str
    artifact: dict[str, Any] | None = None


def pin_wish_message(reach: MemoryReach, message: str) -> WishReply:
    """Pins the user's message, word for word, and tells the user what was kept. Asks back for an empty message: the
    user wants something remembered and has not said what."""
    statement = fit_pin_text(message)
    if not statement:
        return WishReply(render_prompt("wish_what", reach.language))
    try:
        reach.memory.writer.pin(reach.tenant, reach.session, statement, turn=reach.turn, user=reach.user)
    except PinsFull as error:
        return WishReply(render_prompt("wish_full", reach.language, limit=error.values["limit"]))
    return WishReply(render_prompt("wish_kept", reach.language, statement=statement))


def ask_to_forget(reach: MemoryReach, message: str, near: Near) -> WishReply:
    """Asks the user which of the memory lines near the message to drop; tells the user when no line is near."""
    stored = reach.memory.reader.read_lines(reach.tenant, reach.session, user=reach.user)
    texts = list(dict.fromkeys(line.text for line in stored))
    lines = find_nearest_lines(message, texts, near) if texts else []
    if not lines:
        return WishReply(render_prompt("wish_none", reach.language))
    picking = {"pick": True} if len(lines) > 1 else {}
    return WishReply(
        render_prompt("wish_forget", reach.language), build_ask_artifact("forget", {"lines": lines, **picking})
    )


def fit_pin_text(message: str) -> str:
    """Returns as much of a message as one pin takes: its sentences from the first on, or the beginning of a first
    sentence that is too long."""
    whole = collapse_spaces(message)
    if len(whole) <= PIN_CHARS:
        return whole
    fitting = ""
    for part in sentence.split_sentences(whole):
        if len(f"{fitting} {part}".strip()) > PIN_CHARS:
            break
        fitting = f"{fitting} {part}".strip()
    return fitting or f"{cut_graphemes(whole, PIN_CHARS - 1).rstrip()}…"


def find_nearest_lines(message: str, texts: Sequence[str], near: Near) -> list[str]:
    """Returns the texts that a message may mean, nearest first."""
    ranked = sorted(zip(near(message, texts), texts, strict=True), key=lambda pair: -pair[0])
    least = max(FLOOR, ranked[0][0] - MARGIN)
    return [text for score, text in ranked[:MOST] if score >= least]
