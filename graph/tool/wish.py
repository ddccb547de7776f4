"""What the user wants remembered or forgotten, done without a model: for a profile whose tools a router chooses.

The user's own words are what is kept. What is to be forgotten nobody but the user can say, so the user is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from errors import MemoryAway, PinsFull
from graph.tool.ask import asking
from graph.tool.reach import Reach
from memory.state import PIN_CHARS
from prompt import render
from text import sentence

Near = Callable[[str, Sequence[str]], Sequence[float]]
"""How near each of some texts comes to a question: cosines of the built-in embedding."""
MOST = 5
FLOOR, MARGIN = 0.77, 0.03
"""Cosines: a line below the floor is not meant, nor one that comes so much less near than the nearest. Of 22 wishes
over twelve lines each (11 ko, 11 en) the line meant was among those left 21 times; two were left on average."""


class WishArguments(BaseModel, extra="forbid"):
    """Arguments of both tools."""

    message: str = Field(description="What the user wrote")


def tools(reach: Reach, near: Near) -> list[BaseTool]:
    """``remember`` and ``forget`` for a profile whose tools a router chooses; they take the user's message as it is."""

    def remember(message: str) -> tuple[str, dict[str, Any]]:
        done = keep(reach, message)
        return done.text, done.artifact or {}

    def forget(message: str) -> tuple[str, dict[str, Any]]:
        done = ask_to_forget(reach, message, near)
        return done.text, done.artifact or {}

    about = {"remember": "Keeps what the user wants remembered.", "forget": "Asks the user what shall be forgotten."}
    return [
        StructuredTool.from_function(
            run, name=name, description=about[name], args_schema=WishArguments, response_format="content_and_artifact"
        )
        for name, run in (("remember", remember), ("forget", forget))
    ]


@dataclass(frozen=True)
class Said:
    """What the user is told, and the plain data beside it (``graph.tool.ask``)."""

    text: str
    artifact: dict[str, Any] | None = None


def keep(reach: Reach, message: str) -> Said:
    """Pins what the user said, word for word, and says what was kept."""
    statement = fitted(message)
    try:
        reach.memory.pin(reach.tenant, reach.session, statement, user=reach.user)
    except PinsFull as error:
        return Said(render("wish_full", reach.language, limit=error.values["limit"]))
    except MemoryAway:
        return Said(render("wish_away", reach.language))
    return Said(render("wish_kept", reach.language, statement=statement))


def ask_to_forget(reach: Reach, message: str, near: Near) -> Said:
    """Asks the user which of the lines of memory that come near the message shall go; says so where none does."""
    found = reach.memory.lines(reach.tenant, reach.session, user=reach.user, patience=reach.patience)
    texts = list(dict.fromkeys(line.text for line in found))
    lines = nearest(message, texts, near) if texts else []
    if not lines:
        return Said(render("wish_none", reach.language))
    picking = {"pick": True} if len(lines) > 1 else {}
    return Said(render("wish_forget", reach.language), asking("forget", {"lines": lines, **picking}))


def fitted(message: str) -> str:
    """As much of a message as one pin takes: its sentences from the first on; of a longer sentence its beginning."""
    whole = " ".join(message.split())
    if len(whole) <= PIN_CHARS:
        return whole
    kept = ""
    for each in sentence.split(whole):
        if len(f"{kept} {each}".strip()) > PIN_CHARS:
            break
        kept = f"{kept} {each}".strip()
    return kept or f"{whole[: PIN_CHARS - 1].rstrip()}…"


def nearest(message: str, texts: Sequence[str], near: Near) -> list[str]:
    """The texts that a message may mean, nearest first."""
    ranked = sorted(zip(near(message, texts), texts, strict=True), key=lambda pair: -pair[0])
    least = max(FLOOR, ranked[0][0] - MARGIN)
    return [text for score, text in ranked[:MOST] if score >= least]
