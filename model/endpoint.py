"""Where a model was found: one plain value for hosted, local and embedded models alike (design §9)."""

from __future__ import annotations

from dataclasses import dataclass, field

from model.modelset import Kind
from model.profile import Choice


@dataclass(frozen=True)
class Found:
    """One OpenAI-compatible endpoint and what is known about it.

    ``url``: up to and including ``/v1``. ``key``: sent as the bearer token; never shown. ``chat``, ``utility``: what
    each role is trusted with, and why. ``context_size``: tokens of one prompt plus its answer. ``label``: a short
    name for people, such as ``qwen2.5-coder-1.5b-instruct-q4_k_m (embedded)``.
    """

    kind: Kind
    url: str
    key: str = field(repr=False)
    chat_model: str
    utility_model: str
    chat: Choice
    utility: Choice
    context_size: int
    label: str
