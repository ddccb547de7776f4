"""The price of a model call, from the table inside the package genai-prices; no network is used."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from genai_prices import Usage, calc_price

from model.call.connection import is_loopback_host
from model.modelset import ModelSet

PRICED = 1_000
"""Tokens of the call whose price stands for a million of them: some providers charge more for long prompts."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The price of a model in US dollars per million tokens of prompt and of answer; ``context``: the tokens that it
    takes, None where the table does not say."""

    prompt: float
    answer: float
    context: int | None = None


def find_price_rate(model: str, url: str = "") -> Rate | None:
    """Returns the price of a model at an address, as ``compute_call_price`` knows it; None where it is not known."""
    if is_loopback_host(urlsplit(url).hostname or ""):
        return None
    prompts, answers = Usage(input_tokens=PRICED), Usage(output_tokens=PRICED)
    try:
        prompt, answer = (
            calc_price(usage, model_ref=model, provider_api_url=url or None) for usage in (prompts, answers)
        )
    except LookupError:
        return None
    scale = 1_000_000 / PRICED
    return Rate(float(prompt.total_price) * scale, float(answer.total_price) * scale, prompt.model.context_window)


def compute_call_price(
    model: str, prompt: int, cached: int, answer: int, *, written: int = 0, url: str = ""
) -> float | None:
    """Returns the US dollars of one call, or None when the price of the model is not known.

    ``prompt``, ``cached`` (the part of the prompt that came from the provider's cache), ``written`` (the part that was
    put into it), ``answer``: tokens. ``url``: the address of the provider, because providers charge differently for one
    model; without an address the price of the model's own maker counts. A model on this machine has no price: None; nor
    has a call that wrote to a cache whose price of writing is not known.
    """
    if is_loopback_host(urlsplit(url).hostname or ""):
        return None
    cached = min(cached, prompt)
    written = min(written, prompt - cached)
    usage = Usage(
        input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=written or None, output_tokens=answer
    )
    try:
        price = calc_price(usage, model_ref=model, provider_api_url=url or None)
    except LookupError:
        return None
    if written and price.model_price.cache_write_mtok is None:
        return None
    return float(price.total_price)


def price_side_calls(models: ModelSet, prompt: int, answer: int) -> float | None:
    """Returns the US dollars of calls of the utility model; 0 on this machine, None when the price is unknown."""
    return 0.0 if models.alone else compute_call_price(models.side_name, prompt, 0, answer, url=models.url)


def price_model_call(models: ModelSet, name: str, prompt: int, cached: int, answer: int) -> tuple[float | None, float]:
    """Returns the US dollars of one call of the model ``name`` at the address of ``models``, and what the provider's
    cache saved of them. 0 for a model that answers alone on its machine, None where the price is not known."""
    if models.alone:
        return 0.0, 0.0
    price = compute_call_price(name, prompt, cached, answer, url=models.url)
    if price is None or not cached:
        return price, 0.0
    return price, (compute_call_price(name, prompt, 0, answer, url=models.url) or price) - price
