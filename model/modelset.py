"""The models that a session uses, as one value: who answers, who does side work, and what both are trusted with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from langchain_core.language_models import BaseChatModel

from model.profile import STRONG, Profile, Why

Kind = Literal["hosted", "local", "embedded", "scripted"]


@dataclass(frozen=True)
class ModelSet:
    """Both roles of one endpoint. Each is a LangChain chat model behind the same client.

    ``chat`` answers the user; ``utility`` makes summaries and other side calls. ``profile``: what the chat model is
    trusted with; ``side``: the same of the utility model; ``why``, ``side_why``: why these were chosen. ``count`` gives
    the tokens of a text; ``exact`` says whether by the model's own tokenizer. ``name``: the chat model; ``side_name``:
    the one of side calls. ``context_size``: tokens of one prompt plus answer. ``kind``: where the model runs; what it
    is trusted with is the profiles'.
    """

    chat: BaseChatModel
    utility: BaseChatModel
    count: Callable[[str], int]
    exact: bool
    name: str
    kind: Kind
    url: str
    context_size: int
    profile: Profile = STRONG
    side: Profile = STRONG
    why: Why = "unknown_size"
    side_why: Why = "unknown_size"
    utility_name: str = ""

    @property
    def side_name(self) -> str:
        return self.utility_name or self.name

    @property
    def alone(self) -> bool:
        """Whether one model on this machine serves everything, so that side work waits while a turn runs."""
        return self.kind in ("embedded", "local")
