"""What is told of the request of a story's last answer: what kept more of it from coming from the cache."""

from __future__ import annotations

from component.page.catalogue import Words
from component.world.tab.prompt import explain_cache_break
from store.world.record import StoryNode
from world.prompt.receipt import NAMES


def describe_cache_hindrance(words: Words, node: StoryNode) -> str:
    """Returns what broke the prefix that a provider caches, and whether the state was late; empty for neither.

    State and lore stand last and change with every turn, so they are no news.
    """
    receipt = node.receipt or {}
    parts = []
    if (part := str(receipt.get("broke") or "")) and part != NAMES["changing"]:
        parts.append(explain_cache_break(words, part))
    if late := int(receipt.get("late") or 0):
        parts.append(words("world.play.late", count=late))
    return " ".join(parts)
