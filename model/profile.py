"""What a model is trusted with: a small one only talks, a strong one does everything (design §9).

A ``Profile`` belongs to one role of a ``ModelSet`` (chat or utility). It is chosen from the setting, the catalogue
and the size that the server tells, here and nowhere else; the rest of the product reads the profile's fields and
never asks what kind of model it talks to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Why = Literal["setting", "catalogue", "size", "no_tools", "unknown_size", "one_slot", "summaries_setting"]
"""Why a profile was chosen: a setting says so, the catalogue knows the weights, the server told the size, the server's
model takes no tools, nobody told a size, one slot serves everything, or the setting for summaries changed it."""

SMALL_BELOW = 3.9e9
"""Parameters below which a model is small: about four billion."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn, as the model's card says."""

    temperature: float
    top_p: float
    top_k: int
    repeat_penalty: float

    def body(self) -> dict[str, Any]:
        """What llama.cpp's server takes beyond OpenAI's ``temperature``."""
        return {"top_p": self.top_p, "top_k": self.top_k, "repeat_penalty": self.repeat_penalty}


QWEN = Sampling(temperature=0.7, top_p=0.8, top_k=20, repeat_penalty=1.05)
"""The card of Qwen2.5's instruct models (generation_config.json)."""
QWEN3 = Sampling(temperature=0.7, top_p=0.8, top_k=20, repeat_penalty=1.0)
"""The card of Qwen3's instruct models of July 2025: no penalty for repetition."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What one role does.

    ``tools``: the model calls tools itself, or a router chooses them. ``summaries``, ``folds``: written by the model,
    or extracted by code. ``titles``: by the model, or the first words. ``documents``: the model answers from what
    tools and documents give and cites them, or code words it and quotes the best section. ``prompt``: with
    instructions, tools and the time, or bare: a few lines, summaries, memory and the conversation, and the user's
    message alone at its end. ``sampling``: None leaves it to the server.
    """

    name: Literal["small", "strong", "toolless"]
    tools: Literal["native", "routed"]
    summaries: Literal["model", "extracted"]
    folds: Literal["model", "extracted"]
    titles: Literal["model", "words"]
    documents: Literal["cited", "quoted"]
    prompt: Literal["full", "bare"]
    sampling: Sampling | None = None


SMALL = Profile("small", "routed", "extracted", "extracted", "words", "quoted", "bare")
STRONG = Profile("strong", "native", "model", "model", "model", "cited", "full")
TOOLLESS = replace(STRONG, name="toolless", tools="routed")
"""A strong model behind a server that takes no tools."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A profile and why it was chosen."""

    profile: Profile
    why: Why


def choose(
    setting: Literal["auto", "small", "strong"],
    *,
    known: Profile | None = None,
    parameters: float | None = None,
    takes_tools: bool | None = None,
) -> Choice:
    """The profile of one role.

    ``setting``: ``GIEOK_MODEL_PROFILE``. ``known``: what the catalogue says of these weights. ``parameters``: how
    many the server says that the model has. ``takes_tools``: whether the server takes tools; None where it does not
    say.
    """
    strong = TOOLLESS if takes_tools is False else STRONG
    if setting != "auto":
        asked = SMALL if setting == "small" else strong
        return Choice(replace(asked, sampling=known.sampling) if known else asked, "setting")
    if known is not None:
        return Choice(known, "catalogue")
    if parameters is not None and parameters < SMALL_BELOW:
        return Choice(SMALL, "size")
    if takes_tools is False:
        return Choice(TOOLLESS, "no_tools")
    return Choice(STRONG, "size" if parameters is not None else "unknown_size")


def written_by_model(choice: Choice) -> Choice:
    """The same role with summaries and folds written by the model (``GIEOK_SUMMARIES=model``)."""
    if choice.profile.summaries == choice.profile.folds == "model":
        return choice
    return Choice(replace(choice.profile, summaries="model", folds="model"), "summaries_setting")
