"""The endpoint of a model: one plain value for hosted, local and embedded models alike (design 9.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.modelset import Kind
from model.profile import ProfileChoice


@dataclass(frozen=True)
class Found:
    """One OpenAI-compatible endpoint and the facts that Gieok knows about it.

    ``url``: up to and including ``/v1``. ``key``: sent as the bearer token; never shown. ``chat``, ``utility``: the
    profile of each role and the reason for it. ``context_size``: tokens of one prompt plus its answer. ``label``: a
    short name for people, such as ``qwen2.5-coder-1.5b-instruct-q4_k_m (embedded)``. ``curator_model``: looks over
    stories, with the profile ``curator``; empty: the chat model does.
    """

    kind: Kind
    url: str
    key: str = field(repr=False)
    chat_model: str
    utility_model: str
    chat: ProfileChoice
    utility: ProfileChoice
    context_size: int
    label: str
    curator_model: str = ""
    curator: ProfileChoice | None = None
