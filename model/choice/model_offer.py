"""The models that a conversation can be answered by, beside the one that the installation uses: what each costs and
can, as far as it is known."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from errors import GieokError
from model.choice import default, kept, resolve
from model.choice.choice import KINDS, Choice, Kind
from model.choice.kept import Kept
from model.choice.probe import Listed, fetch_model_facts, fetch_page_facts
from model.embedded.catalogue import OFFERED, show_name
from model.price import find_price_rate
from model.sight import has_refused_images
from settings import Settings

MOST_ASKED = 8
"""So many models of a local server are asked for at once."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model that can answer. ``url``: up to and including ``/v1``, empty for an embedded one. ``prompt_usd``,
    ``answer_usd``: US dollars per million tokens; ``context``: tokens that it takes; ``memory``: bytes that it needs
    here; ``takes_images``, ``takes_tools``; ``thinks``: whether it can think before it answers. None: not known."""

    kind: Kind
    url: str
    name: str
    prompt_usd: float | None = None
    answer_usd: float | None = None
    context: int | None = None
    memory: int | None = None
    takes_images: bool | None = None
    takes_tools: bool | None = None
    thinks: bool | None = None

    @property
    def pricing(self) -> Literal["known", "unknown", "none"]:
        """Returns whether its calls cost money, and whether it is known how much."""
        if self.prompt_usd is not None and self.answer_usd is not None:
            return "known"
        return "unknown" if self.kind == "hosted" else "none"

    @property
    def title(self) -> str:
        """Returns the name for people."""
        return show_name(self.name)

    def plain(self) -> dict[str, str]:
        """Returns the model as a conversation keeps it (``store.record.Session.model``)."""
        return {"kind": self.kind, "url": self.url, "name": self.name}


def read_choice(settings: Settings, stored: Kept, model: Mapping[str, str] | None) -> Choice | None:
    """Returns the choice of a conversation; None where it has none, or where the settings forbid the choice.

    A stored key goes only to the address that it was entered for.
    """
    offer = read_offer(model) if model is not None and settings.model_choice else None
    if offer is None:
        return None
    last = stored.last("hosted")
    keyed = offer.kind == "hosted" and last.kept_key and kept.hosted_address(last, settings) == offer.url
    return Choice(offer.kind, offer.url, chat_model=offer.name, kept_key=keyed)


def read_offer(model: Mapping[str, str]) -> ModelOffer | None:
    """Returns the model of a conversation (``store.record.Session.model``), without what it costs; None for a kind that
    does not exist."""
    kind = next((kind for kind in KINDS if kind == model["kind"]), None)
    return ModelOffer(kind, model["url"], model["name"]) if kind is not None else None


def list_offers(settings: Settings, stored: Kept) -> tuple[ModelOffer, ...]:
    """Returns the models at the hosted addresses that are set up, those of local servers that answer, and the embedded
    ones that are here. May take ten seconds. An address that does not answer offers nothing."""
    offers = (*_offer_hosted(settings, stored), *_offer_local(settings, stored), *_offer_embedded(settings))
    return tuple({tuple(offer.plain().values()): offer for offer in offers}.values())


def _offer_hosted(settings: Settings, stored: Kept) -> Iterator[ModelOffer]:
    """Yields the models of the settings' own address, and of the one that was entered in the page."""
    last = stored.last("hosted")
    own = [Choice("hosted", chat_model=settings.chat_model or "")]
    addresses = own if settings.openai_api_key or settings.openai_base_url else []
    if last.kept_key or last.url:
        addresses = [*addresses, last]
    for choice in addresses:
        url = kept.hosted_address(choice, settings)
        named = [Listed(choice.chat_model, None)] if choice.chat_model else []  # a server need not list its models
        try:
            listed = resolve.list_hosted(kept.with_key(settings, choice).apply_to_settings(settings))
        except GieokError as error:
            log.info("a hosted address lists no models: %s", error.code)
            listed = ()
        models = {model.name: model for model in (*named, *resolve.find_chat_models(listed))}
        for name in sorted(models):
            yield _describe_model(settings, "hosted", url, models[name])


def _offer_local(settings: Settings, stored: Kept) -> Iterator[ModelOffer]:
    last = stored.last("local").url
    addresses = tuple(dict.fromkeys((*settings.local_servers, *([last] if last else ()))))
    for url, models in resolve.list_local(settings.model_copy(update={"local_servers": addresses})):
        with ThreadPoolExecutor(MOST_ASKED) as pool:
            for described in pool.map(partial(_ask_local_facts, url), models):
                yield _describe_model(settings, "local", url, described)


def _offer_embedded(settings: Settings) -> Iterator[ModelOffer]:
    for weights in OFFERED:
        if default.is_here(settings, weights):
            can = weights.profile
            able = {"takes_images": can.images, "takes_tools": can.tools == "native"}
            yield ModelOffer("embedded", "", weights.name, context=weights.context, memory=weights.memory, **able)


def _ask_local_facts(url: str, model: Listed) -> Listed:
    """Returns a model with what its server's own pages tell of it: Ollama, llama.cpp, LM Studio."""
    shown = fetch_model_facts(url, "", model.name, resolve.LOCAL_SECONDS)
    if shown.takes_images is None:
        shown = fetch_page_facts(url, "", model.name, resolve.LOCAL_SECONDS)
    known = {
        name: value
        for name in ("context", "takes_images", "takes_tools", "thinks")
        if getattr(model, name) is None and (value := getattr(shown, name)) is not None
    }
    return replace(model, **known)


def _describe_model(settings: Settings, kind: Kind, url: str, model: Listed) -> ModelOffer:
    """Returns a listed model with its price, and with what a refusal has taught of it."""
    price = find_price_rate(model.name, url)
    images = model.takes_images
    if images is None and has_refused_images(settings.data_dir, url, model.name):
        images = False
    return ModelOffer(
        *(kind, url, model.name, price.prompt if price else None, price.answer if price else None),
        context=model.context or (price.context if price else None),
        takes_images=images,
        takes_tools=model.takes_tools,
        thinks=model.thinks,
    )
