"""The models of a session as one value: the chat model, the utility model, and the profile of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from model.profile import STRONG, Profile, Why
from model.raw import Raw
from model.sight import Sight

Kind = Literal["hosted", "local", "embedded", "scripted"]

SideModel = Literal["named", "openai", "same"]
"""Why side work uses its model: the settings name it, OpenAI has a model for side work, or it is the chat model."""

Read = Callable[[Sequence[BaseMessage], threading.Event], None]


@dataclass(frozen=True)
class ModelSet:
    """The chat model and the utility model of one endpoint: two LangChain chat models behind the same client.

    ``chat`` answers the user; ``utility`` makes summaries and other side calls. ``profile``, ``side``: the profiles of
    the chat model and of the utility model; ``why``, ``side_why``: why these profiles were chosen. ``count`` returns
    the tokens of a text; ``exact`` says whether ``count`` asks the model's own tokenizer. ``name``: the chat model;
    ``side_name``: the model of side calls; ``utility_why``: why side calls use that model. ``context_size``: tokens of
    one prompt plus its answer. ``kind``: where the model runs; the profiles say what the model is trusted with.
    ``read`` has the chat model read a prompt ahead until the event is set; None where reading ahead saves nothing.
    ``curator``, ``curator_profile``: the model that looks over story worlds; None: the chat model does.
    ``raw`` sends a client's own request to the chat model's server; None for a model that has no server.
    ``connect`` starts the model's server again if it has ended, so that ``count`` is exact from then on; None where
    nothing has to be started. ``sight``: what the chat model's server said of images since.
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
    utility_why: SideModel = "same"
    read: Read | None = None
    curator: BaseChatModel | None = None
    curator_profile: Profile | None = None
    raw: Raw | None = None
    connect: Callable[[], object] | None = None
    sight: Sight = field(default_factory=Sight, compare=False)

    @property
    def takes_images(self) -> bool:
        """Returns whether the chat model is shown images."""
        return self.profile.images and not self.sight.is_refused

    @property
    def side_name(self) -> str:
        return self.utility_name or self.name

    @property
    def alone(self) -> bool:
        """Whether one model on this machine serves everything, so that side work waits while a turn runs."""
        return self.kind in ("embedded", "local")
