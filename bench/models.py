"""The models that a bench measures: those of the settings, or a running OpenAI-compatible server."""

from __future__ import annotations

import argparse
from functools import cache
from urllib.parse import urlsplit

import httpx2

from model import resolve
from model.client import chat
from model.modelset import ModelSet
from settings import Settings, current

SLOTS = {"chat": 0, "decide": 1, "utility": 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--url`` and ``--context`` for every bench that calls a model."""
    parser.add_argument("--url", help="address of a running llama.cpp server, up to and including /v1 (else: settings)")
    parser.add_argument("--context", type=int, default=8192, help="tokens that the server at --url takes")


def models(args: argparse.Namespace) -> ModelSet:
    """The model set to measure. Raises what ``model.resolve.models`` raises."""
    settings = current()
    if args.url:
        return _running(args.url, args.context, settings)
    return resolve.models(settings)


def _running(url: str, context: int, settings: Settings) -> ModelSet:
    """A llama.cpp server that runs already, used as the embedded one is: its own slot for each kind of call."""
    root = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"

    def role(slot: str) -> dict[str, object]:
        return {"id_slot": SLOTS[slot], "cache_prompt": True}

    @cache
    def count(text: str) -> int:
        answer = httpx2.post(f"{root}/tokenize", json={"content": text}, timeout=settings.model_timeout)
        return len(answer.raise_for_status().json()["tokens"])

    chats = {
        slot: chat(url, "", "model", settings=settings, extra_body=role(slot), max_tokens=limit, temperature=0)
        for slot, limit in (("chat", settings.answer_tokens), ("utility", settings.answer_tokens), ("decide", 128))
    }
    return ModelSet(
        **chats, count=count, exact=True, name=url, kind="embedded", url=url, context_size=context, constrained=True
    )
