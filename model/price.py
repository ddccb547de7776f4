"""The price of a model call, from the table inside the package genai-prices; no network is used."""

from __future__ import annotations

from urllib.parse import urlsplit

from genai_prices import Usage, calc_price

from model.call.connection import is_loopback


def usd(model: str, prompt: int, cached: int, answer: int, *, url: str = "") -> float | None:
    """Returns the US dollars of one call, or None when the price of the model is not known.

    ``prompt``, ``cached`` (the part of the prompt that came from the provider's cache), ``answer``: tokens. ``url``:
    the address of the provider, because providers charge differently for one model; without an address the price of the
    model's own maker counts. A model on this machine has no price: None.
    """
    if is_loopback(urlsplit(url).hostname or ""):
        return None
    usage = Usage(input_tokens=prompt, cache_read_tokens=min(cached, prompt), output_tokens=answer)
    try:
        price = calc_price(usage, model_ref=model, provider_api_url=url or None)
    except LookupError:
        return None
    return float(price.total_price)
