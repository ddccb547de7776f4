"""One chunk of three turns: its messages, and the fields that the ledger stores for its summary."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage

from errors import GieokError
from graph.context.turns import split_into_turns
from graph.summary import Made, is_hopeless
from graph.turn.finish import plain_error
from model.pause import count_pause


def chunk_messages(messages: list[AnyMessage], last_turn: int, chunk: list[int]) -> list[AnyMessage]:
    """Returns the raw messages of the turns in ``chunk``."""
    turns = [turn for turn in split_into_turns(messages, last_turn) if turn.number in chunk]
    return [message for turn in turns for message in turn.messages]


def ledger_fields(made: Made) -> dict[str, Any]:
    """Returns what the ledger stores for a summary beside turns, rate and status (design 3.7)."""
    return {
        "record": made.record,
        "model": made.model,
        "origin": made.origin,
        "prompt_tokens": made.prompt_tokens,
        "answer_tokens": made.answer_tokens,
        "cached_tokens": made.cached_tokens,
        "usd": made.usd,
        "cache_usd": made.cache_usd,
        "seconds": made.seconds,
        "kept": list(made.kept),
        "lost": list(made.lost),
        "error": plain_error(made.rejected) if made.rejected else None,
    }


def describe_failure(error: GieokError, before: dict[str, Any] | None, turn: int) -> dict[str, Any]:
    """Returns what the ledger stores for an attempt that failed during or after turn ``turn``. ``before``: the same of
    the attempt before. ``hopeless``: this or an earlier attempt met an error that the same text will meet again;
    ``failures``: how many failed in a row; ``until``: the turn before which none tries again."""
    known = before or {}
    failures = int(known.get("failures", 0)) + 1
    hopeless = bool(known.get("hopeless")) or is_hopeless(error)
    pause = 1 if hopeless else count_pause(failures)
    return {**plain_error(error), "hopeless": hopeless, "failures": failures, "until": turn + pause}


def is_paused(failure: dict[str, Any] | None, turn: int) -> bool:
    """Returns whether the next try at a summary waits still, at turn ``turn``, because the model's server failed."""
    return failure is not None and turn < int(failure.get("until", 0))


def stands_in(failure: dict[str, Any] | None, error: GieokError) -> bool:
    """Returns whether code writes the summary that the model failed at with ``error``: at the second error that the
    same text will meet again."""
    return is_hopeless(error) and bool((failure or {}).get("hopeless"))
