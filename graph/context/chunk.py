"""One chunk of three turns: its messages, and the fields that the ledger stores for its summary."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage

from errors import GieokError
from graph.context.turns import split
from graph.summary import Made, is_hopeless
from graph.turn.finish import plain_error


def chunk_messages(messages: list[AnyMessage], last_turn: int, chunk: list[int]) -> list[AnyMessage]:
    """Returns the raw messages of the turns in ``chunk``."""
    turns = [turn for turn in split(messages, last_turn) if turn.number in chunk]
    return [message for turn in turns for message in turn.messages]


def ledger_fields(made: Made) -> dict[str, Any]:
    """Returns what the ledger stores for a summary beside turns, rate and status (design 3.7)."""
    return {
        "record": made.record,
        "model": made.model,
        "origin": made.origin,
        "prompt_tokens": made.prompt_tokens,
        "answer_tokens": made.answer_tokens,
        "seconds": made.seconds,
        "kept": list(made.kept),
        "lost": list(made.lost),
    }


def ledger_error(error: GieokError, before: bool) -> dict[str, Any]:
    """Returns what the ledger stores for a failed attempt. ``before``: whether an earlier attempt was hopeless; then
    the chunk stays marked as hopeless."""
    return {**plain_error(error), "hopeless": before or is_hopeless(error)}
