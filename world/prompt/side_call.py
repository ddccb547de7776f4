"""What calls beside the answers took: those of a story's tracker and curator, side questions, titles."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from langchain_core.messages import AIMessage

from errors import GieokError
from model.call.stream import read_token_usage
from model.modelset import ModelSet
from model.price import price_model_call
from store.user.usage import SideUsage, SideWork
from store.world.record import StoryNode

log = logging.getLogger("gieok.world")


def sum_side_calls(work: SideWork, calls: Iterable[AIMessage], name: str, models: ModelSet) -> SideUsage | None:
    """Returns what calls of the model ``name`` took together; None where the server counted no tokens."""
    counted = [(prompt, cached, answer) for prompt, cached, answer, exact in map(read_token_usage, calls) if exact]
    if not counted:
        return None
    # one by one: some providers charge more for long prompts
    prices = [price_model_call(models, name, *tokens) for tokens in counted]
    prompt, cached, answer = (sum(column) for column in zip(*counted, strict=True))
    known = [price for price, _ in prices if price is not None]
    if len(known) < len(prices):
        return SideUsage(work, name, prompt, cached, answer, None)
    return SideUsage(work, name, prompt, cached, answer, sum(known), sum(saved for _, saved in prices))


def note_side_calls(note: Callable[[StoryNode, SideUsage], None], node: StoryNode, used: SideUsage | None) -> None:
    """Stores what calls took for a turn, if they took anything. A failure is logged alone: counting never keeps a story
    from going on."""
    if used is None:
        return
    try:
        note(node, used)
    except GieokError as error:
        log.warning("what the %s of turn %d took could not be stored: %s", used.work, node.turn, error.code)
