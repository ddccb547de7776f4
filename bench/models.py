"""The models that a bench measures: those of the settings, or a running OpenAI-compatible server."""

from __future__ import annotations

import argparse
from functools import cache
from urllib.parse import urlsplit

import httpx2
from langchain_core.language_models import BaseChatModel

from model import scripted
from model.call.client import ModelAddress, build_chat_model
from model.choice import resolve
from model.embedded import slot
from model.embedded.catalogue import QWEN25_CODER
from model.modelset import ModelSet
from model.profile import SMALL, choose_model_profile
from settings import Settings, load_current_settings

SEED = 7


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds ``--url`` and ``--context``, for every bench that calls a model."""
    parser.add_argument("--url", help="address of a running llama.cpp server, up to and including /v1 (else: settings)")
    parser.add_argument("--context", type=int, default=8192, help="tokens that the server at --url takes")


def models(args: argparse.Namespace) -> ModelSet:
    """Returns the model set to measure. Raises the errors of ``model.choice.resolve.resolve_models``."""
    settings = load_current_settings()
    if args.url:
        return _running(args.url, args.context, settings)
    return resolve.resolve_models(settings)


def codes() -> ModelSet:
    """Returns the small profile with models that nobody may call, for benches that measure code alone."""
    return scripted.build_scripted_models(profile=SMALL)


def _running(url: str, context: int, settings: Settings) -> ModelSet:
    """Returns models on a llama.cpp server that runs already; uses the server like the embedded one, with one slot for
    all calls."""
    root = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"

    @cache
    def count(text: str) -> int:
        response = httpx2.post(f"{root}/tokenize", json={"content": text}, timeout=settings.model_timeout)
        return len(response.raise_for_status().json()["tokens"])

    chosen = choose_model_profile(settings.model_profile, known=QWEN25_CODER.profile)
    sampling = chosen.profile.sampling

    def role(limit: int | None, temperature: float | None) -> BaseChatModel:
        body = {**slot.CALL, "seed": SEED, **(sampling.body() if sampling else {})}
        return build_chat_model(
            ModelAddress(url, "", "model"),
            settings=settings,
            extra_body=body,
            max_tokens=limit,
            temperature=temperature,
        )

    return ModelSet(
        chat=role(settings.answer_tokens, sampling.temperature if sampling else None),
        utility=role(None, 0.0),
        profile=chosen.profile,
        side=chosen.profile,
        why=chosen.why,
        side_why=chosen.why,
        count=count,
        exact=True,
        name=url,
        kind="embedded",
        url=url,
        context_size=context,
    )
