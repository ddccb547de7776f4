"""One chunk of three turns: its messages, and what the ledger notes of its summary."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage

from errors import GieokError
from graph.finish import plain_error
from graph.summary import Made, is_hopeless
from graph.turns import split


def chunk_messages(messages: list[AnyMessage], last_turn: int, chunk: list[int]) -> list[AnyMessage]:
    """The raw messages of these turns."""
    turns = [each for each in split(messages, last_turn) if each.number in chunk]
    return [message for each in turns for message in each.messages]


def ledger_fields(made: Made) -> dict[str, Any]:
    """What the ledger notes beside turns, rate and status (design §3)."""
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
    """What the ledger notes of a failed attempt. ``before``: whether an earlier one was hopeless; that stays known."""
    return {**plain_error(error), "hopeless": before or is_hopeless(error)}
