"""Calls that chat programs make for themselves: titles, tags, suggestions, summaries. They are answered without a
trace, because they are not a turn of the user. What they look like is data (``side_call.yaml``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from model.call.message_form import SYSTEM
from server.request.message import ClientMessage
from server.request.told_request import SPOKEN
from text.clean import collapse_spaces

PATTERNS = Path(__file__).with_suffix(".yaml")


class Nudge(BaseModel):
    """The beginning of a program's system message that asks for the next answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client: str
    source: str
    begins: str

    def matches(self, text: str) -> bool:
        """Returns whether a text with single spaces matches."""
        return text.startswith(self.begins)


class Pattern(Nudge):
    """The words of a side call. ``holds``: all of them are in the message; ``one_of``: at least one of them; ``ends``:
    the message ends with it."""

    role: Literal["user", "system"]
    begins: str = ""
    holds: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    ends: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Pattern:
        if not (self.begins or self.holds):
            raise ValueError("a pattern needs words: begins or holds")
        return self

    def matches(self, text: str) -> bool:
        one = not self.one_of or any(words in text for words in self.one_of)
        whole = super().matches(text) and text.endswith(self.ends)
        return whole and one and all(words in text for words in self.holds)


class Patterns(BaseModel):
    """All that ``side_call.yaml`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    patterns: tuple[Pattern, ...]
    nudges: tuple[Nudge, ...]


def is_side_call(messages: Sequence[ClientMessage]) -> bool:
    """Returns whether a program asks for itself. Of what was said only the last message counts, when the user said it;
    of the program's own words every system message.
    """
    said = [message for message in messages if message.role in SPOKEN + SYSTEM]
    systems = [collapse_spaces(message.text) for message in said if message.role in SYSTEM]
    spoken = [message for message in said if message.role in SPOKEN]
    asked = [collapse_spaces(spoken[-1].text)] if spoken and spoken[-1].role == "user" else []
    texts = {"user": asked, "system": systems}
    found = any(pattern.matches(text) for pattern in load_side_patterns().patterns for text in texts[pattern.role])
    return found or _is_quiet(said)


@cache
def load_side_patterns() -> Patterns:
    """Returns the patterns of the data file. Raises pydantic's ``ValidationError`` when the file has a mistake."""
    return Patterns.model_validate(yaml.safe_load(PATTERNS.read_text("utf-8")))


def _is_quiet(said: Sequence[ClientMessage]) -> bool:
    """Returns whether the messages end with system messages right after an answer, none of which is a nudge."""
    last = next((at for at in reversed(range(len(said))) if said[at].role in SPOKEN), None)
    if last is None or said[last].role != "assistant" or not any(message.role == "user" for message in said):
        return False
    after = [collapse_spaces(message.text) for message in said[last + 1 :]]
    return bool(after) and not any(nudge.matches(text) for nudge in load_side_patterns().nudges for text in after)
