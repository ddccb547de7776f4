"""Who chooses tools: the model itself (``native``), or a router before the model is asked (``routed``) (design §9)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall
from langchain_core.tools import BaseTool

from graph.choice import native, routed
from graph.context import Layout
from graph.turns import current
from model.modelset import ModelSet
from model.profile import Profile
from model.stream import Model


def layout(profile: Profile) -> Layout:
    """How tools and memory stand in the prompt."""
    if profile.tools == "native":
        return "messages"
    return "bare" if profile.prompt == "bare" else "inline"


def prepare(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """The chat model, with the tools bound where it calls them itself."""
    return native.prepare(models, tools) if models.profile.tools == "native" else models.chat


def form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Tokens that the tools' forms take beside the messages."""
    return native.form_tokens(models, tools) if models.profile.tools == "native" else 0


def choose(profile: Profile, tools: Sequence[BaseTool], messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """The calls that are made before the model is asked; none where the model calls tools itself."""
    if profile.tools == "native" or not tools:
        return []
    question, *_ = own = current(messages)
    earlier = [str(message.text) for message in messages[: -len(own)] if isinstance(message, HumanMessage)]
    return routed.choose(str(question.text), earlier[-1] if earlier else None, tools)
