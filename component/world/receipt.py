"""The line under the last answer of a story: what its request cost, and what kept more from coming from the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from component.page.catalogue import Words
from component.world.prompt_tab import broke
from store.world.record import Node
from world.receipt import NAMES


def facts(words: Words, node: Node, *, whole: bool) -> str:
    """Returns the number of a turn and, when ``whole``, what its receipt says."""
    parts = [words("world.turn", turn=node.turn) if node.turn else words("world.greeting")]
    if (node.report or {}).get("stopped"):
        parts.append(words("turn.stopped"))
    if whole and node.receipt:
        parts += _paid(words, node.receipt)
    return " · ".join(parts)


def _paid(words: Words, receipt: Mapping[str, Any]) -> list[str]:
    about = "" if receipt.get("exact", True) else "≈"
    tokens = {"prompt": receipt.get("prompt_tokens", 0), "answer": receipt.get("answer_tokens", 0)}
    parts = [about + words("turn.tokens", **tokens)]
    if cached := receipt.get("cached_tokens"):
        parts.append(words("world.play.cached", count=cached))
    if saved := receipt.get("saved_usd"):
        parts.append(words("world.play.saved" if saved > 0 else "world.play.lost", amount=abs(float(saved))))
    return parts


def hindrance(words: Words, node: Node) -> str:
    """Returns what broke the prefix that a provider caches, and whether the state was late; empty for neither.

    State and lore stand last and change with every turn, so they are no news.
    """
    receipt = node.receipt or {}
    parts = []
    if (part := str(receipt.get("broke") or "")) and part != NAMES["changing"]:
        parts.append(broke(words, part))
    if late := int(receipt.get("late") or 0):
        parts.append(words("world.play.late", count=late))
    return " ".join(parts)
