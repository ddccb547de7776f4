"""The profiles of models: a small model only talks, a strong model does everything (design 9.3).

A ``Profile`` belongs to one role of a ``ModelSet`` (chat or utility). This module alone chooses it, from the setting,
the catalogue and the size that the server reports. The rest of the product reads the profile's fields and never asks
which kind of model it talks to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Why = Literal["setting", "catalogue", "size", "no_tools", "unknown_size", "one_slot", "summaries_setting"]
"""Why a profile was chosen: a setting names it, the catalogue knows the weights, the server reports the size, the
server's model takes no tools, the size is unknown, one slot serves all calls, or the setting for summaries changes it.
"""

SMALL_BELOW = 3.9e9
"""Parameters below which a model counts as small: about four billion."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the server draws the next token, as the model's card recommends.

    ``never_first``: a letter that no answer begins with; "" allows every letter. A model that calls tools itself has no
    such letter, because llama.cpp takes no grammar beside tools.
    """

    temperature: float
    top_p: float
    top_k: int
    repeat_penalty: float
    never_first: str = ""

    def body(self) -> dict[str, Any]:
        """Returns the fields that llama.cpp's server takes beyond OpenAI's ``temperature``."""
        card = {"top_p": self.top_p, "top_k": self.top_k, "repeat_penalty": self.repeat_penalty}
        first = {"grammar": f"root ::= [^{self.never_first}] [^\\x00]*"} if self.never_first else {}
        return {**card, **NO_COPY, **first}


NO_COPY: dict[str, Any] = {
    "dry_multiplier": 0.8,
    "dry_base": 1.75,
    "dry_allowed_length": 16,
    "dry_penalty_last_n": 4096,
    "dry_sequence_breakers": ["\n", ":", '"', "*", *"0123456789"],
}
"""llama.cpp's DRY sampler over the whole prompt, because a small model copies its own last apology, or the question,
again and again. DRY makes copies of more than sixteen tokens in a row unlikely. A digit begins a new row, so that
prices and dates are copied as they are."""

QWEN = Sampling(temperature=0.7, top_p=0.8, top_k=20, repeat_penalty=1.05)
"""From the model card of Qwen2.5's instruct models (generation_config.json)."""
QWEN3 = Sampling(temperature=0.7, top_p=0.8, top_k=20, repeat_penalty=1.0)
"""From the model card of Qwen3's instruct models of July 2025: no penalty for repetition."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The division of labour between the model and the code in one role.

    ``tools``: the model calls tools itself, or a router chooses them. ``summaries``, ``folds``: the model writes them,
    or code extracts them. ``titles``: the model writes them, or code takes the first words. ``documents``: the model
    answers from the results of tools and documents and cites them, or code words the results and quotes the best
    section. ``prompt``: full, with instructions, tools and the time; or bare, with a few lines, summaries, memory and
    the conversation, and the user's message alone at its end. ``sampling``: None leaves it to the server. ``images``:
    the model reads images that come with a message. ``story``: at the end of a turn of a story the model tells what
    has changed in a state block, or a light call reads that from the turn afterwards (decision 22). ``past_tokens``:
    the most tokens of past turns that a prompt shows.
    """

    name: Literal["small", "strong", "toolless"]
    tools: Literal["native", "routed"]
    summaries: Literal["model", "extracted"]
    folds: Literal["model", "extracted"]
    titles: Literal["model", "words"]
    documents: Literal["cited", "quoted"]
    prompt: Literal["full", "bare"]
    sampling: Sampling | None = None
    images: bool = False
    story: Literal["block", "light"] = "block"
    past_tokens: int = 20_000


SMALL = Profile("small", "routed", "extracted", "extracted", "words", "quoted", "bare", story="light", past_tokens=250)
STRONG = Profile("strong", "native", "model", "model", "model", "cited", "full", images=True)
TOOLLESS = replace(STRONG, name="toolless", tools="routed")
"""A strong model behind a server that takes no tools."""


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """A profile and why it was chosen."""

    profile: Profile
    why: Why


def choose_model_profile(
    setting: Literal["auto", "small", "strong"],
    *,
    known: Profile | None = None,
    parameters: float | None = None,
    takes_tools: bool | None = None,
    takes_images: bool | None = None,
) -> ProfileChoice:
    """Returns the profile of one role and why it was chosen.

    ``setting``: ``GIEOK_MODEL_PROFILE``. ``known``: the catalogue's profile of these weights. ``parameters``: the
    model's size as the server reports it. ``takes_tools``, ``takes_images``: whether the server takes them; None where
    it does not say.
    """
    strong = TOOLLESS if takes_tools is False else STRONG
    strong = replace(strong, images=takes_images is not False)
    if setting != "auto":
        profile = SMALL if setting == "small" else strong
        if known:
            profile = replace(profile, sampling=_choose_sampling(profile, known), images=known.images)
        return ProfileChoice(profile, "setting")
    if known is not None:
        return ProfileChoice(known, "catalogue")
    if parameters is not None and parameters < SMALL_BELOW:
        return ProfileChoice(SMALL, "size")
    if takes_tools is False:
        return ProfileChoice(strong, "no_tools")
    return ProfileChoice(strong, "size" if parameters is not None else "unknown_size")


def _choose_sampling(asked: Profile, known: Profile) -> Sampling | None:
    """Returns the sampling of the known weights; without the grammar for a model that calls tools itself."""
    if known.sampling is None or asked.tools == "routed":
        return known.sampling
    return replace(known.sampling, never_first="")


def written_by_model(choice: ProfileChoice) -> ProfileChoice:
    """Returns the choice with summaries and folds written by the model (``GIEOK_SUMMARIES=model``)."""
    if choice.profile.summaries == choice.profile.folds == "model":
        return choice
    return ProfileChoice(replace(choice.profile, summaries="model", folds="model"), "summaries_setting")
