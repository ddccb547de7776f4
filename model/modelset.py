"""The models that a session uses, as one value: who answers, who does side work, who decides on tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from langchain_core.language_models import BaseChatModel

Kind = Literal["hosted", "local", "embedded", "scripted"]


@dataclass(frozen=True)
class ModelSet:
    """All roles of one endpoint. Each is a LangChain chat model behind the same client.

    ``chat`` answers the user; ``utility`` makes summaries and other side calls; ``decide`` chooses tools by
    constrained JSON, or is None when the chat model calls tools natively. ``count`` gives the tokens of a text;
    ``exact`` says whether by the model's own tokenizer. ``name``: the chat model; ``side_name``: the one of side calls.
    ``context_size``: tokens of one prompt plus answer.
    ``constrained``: the server honours ``response_format`` json_schema and the model needs that help.
    """

    chat: BaseChatModel
    utility: BaseChatModel
    decide: BaseChatModel | None
    count: Callable[[str], int]
    exact: bool
    name: str
    kind: Kind
    url: str
    context_size: int
    constrained: bool = False
    utility_name: str = ""

    @property
    def side_name(self) -> str:
        return self.utility_name or self.name

    @property
    def alone(self) -> bool:
        """Whether one model on this machine serves everything, so that side work yields to a turn (design §5)."""
        return self.kind in ("embedded", "local")

    @property
    def casual(self) -> BaseChatModel:
        """Who answers greetings: on the embedded model the utility slot, so that the chat's cached prefix stays."""
        return self.utility if self.kind == "embedded" else self.chat
