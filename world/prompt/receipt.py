"""The receipt of a request: what was paid for, what came from the provider's cache, and what kept more from coming."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from model.price import compute_call_price

Label = Literal["tools", "files", "system", "history", "lore", "changing", "question"]
NAMES: dict[Label, str] = {
    "tools": "tools",
    "files": "files",
    "system": "system text",
    "history": "history",
    "lore": "lore of earlier turns",
    "changing": "state and lore",
    "question": "message",
}
"""The parts of a prompt as the receipt names them."""
LAST = 64
"""Messages of the history whose digests a receipt keeps one by one, so that its size does not grow with the story."""
_ROUND = 32
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReceiptPart:
    """A message of a prompt. ``turn``: its number for a message of the history, else 0; ``chars``: its size."""

    label: Label
    digest: str
    turn: int = 0
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of a call. ``cached``, ``written``: parts of the prompt that came from the provider's cache, and that
    were put into it. ``exact``: whether the provider counted. ``cost``: US dollars, where the provider told them."""

    prompt: int
    cached: int
    written: int
    answer: int
    exact: bool = True
    cost: float | None = None


def build_receipt_part(label: Label, message: Any, turn: int = 0) -> ReceiptPart:
    """Returns a message, or the request's tools, as a part."""
    text = json.dumps(message, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return ReceiptPart(label, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8], turn, len(text))


def read_counted_tokens(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> Counted | None:
    """Returns the tokens that a server told, in any of the forms that are in use: OpenAI's, Anthropic's as gateways
    pass it on, and llama.cpp's ``timings``. None when it told none."""
    prompt = _read_token_number(usage, "prompt_tokens") or _read_token_number(usage, "input_tokens")
    answer = _read_token_number(usage, "completion_tokens") or _read_token_number(usage, "output_tokens")
    if not prompt and not answer:
        return None
    found = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    details = found if isinstance(found, Mapping) else {}
    read = _read_token_number(usage, "cache_read_input_tokens")
    cached = _read_token_number(details, "cached_tokens") or read or _read_token_number(timings, "cache_n")
    written = _read_token_number(usage, "cache_creation_input_tokens")
    written = (
        written
        or _read_token_number(details, "cache_write_tokens")
        or _read_token_number(details, "cache_creation_tokens")
    )
    if cached + written > prompt or (read and "prompt_tokens" not in usage):
        prompt += cached + written  # Anthropic's own count of the prompt is of the rest alone
    cost = usage.get("cost")
    told = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return Counted(prompt, cached, written, answer, cost=told)


def build_receipt(
    tokens: Counted, parts: Sequence[ReceiptPart], before: Mapping[str, Any] | None, model: str, url: str, deep: int = 0
) -> Json:
    """Returns the receipt as plain data. ``parts``: of this request's prompt; ``before``: the receipt of the request of
    the turn before, or None; ``deep``: the tokens that are read anew because entries stand at their depth.
    ``broke_tokens``: about how many tokens the first part that changed has kept from coming out of the cache.
    ``saved_usd``: dollars less than without any cache; below 0 when writing to it cost more
    than reading from it saved."""
    paid = compute_call_price(model, tokens.prompt, tokens.cached, tokens.answer, written=tokens.written, url=url)
    plain = compute_call_price(model, tokens.prompt, 0, tokens.answer, url=url)
    missed, whole = find_break(parts, before.get("parts") if before else None)
    lost = round(tokens.prompt * _share_behind(parts, whole)) if missed else 0
    return {
        "prompt_tokens": tokens.prompt,
        "cached_tokens": tokens.cached,
        "written_tokens": tokens.written,
        "answer_tokens": tokens.answer,
        "exact": tokens.exact,
        "broke": missed,
        "broke_tokens": min(lost, max(0, tokens.prompt - tokens.cached)),
        **({"depth_tokens": deep} if deep else {}),
        "usd": paid if tokens.cost is None else tokens.cost,
        "saved_usd": None if paid is None or plain is None else round(plain - paid, 9),
        "parts": _build_kept_parts(parts),
    }


def read_usage(given: Mapping[str, Any], model: str) -> Json:
    """Returns what a request took as the turns of every conversation hold it (``graph.turn.event.TurnUsage``)."""
    same = ("prompt_tokens", "cached_tokens", "answer_tokens", "exact", "usd")
    own = {"calls": 1, "cut_at": 0, "last_prompt_tokens": given["prompt_tokens"], "model": model}
    return {**{name: given[name] for name in same}, **own, "cache_usd": given["saved_usd"] or 0.0}


def strip_receipt_parts(given: Mapping[str, Any]) -> Json:
    """Returns a receipt as a client gets it."""
    return {name: value for name, value in given.items() if name != "parts"}


# --- what broke the prefix --------------------------------------------------------------------------


def find_break(parts: Sequence[ReceiptPart], kept: Mapping[str, Any] | None) -> tuple[str, int]:
    """Returns the first part of the request before that is not in this one at its place, behind which nothing can come
    from a cache, and how many parts stand before it, the changing ones not counted. An empty name where there was no
    request before, and where everything but the state and the lore came again, which change with every turn and stand
    last. ``kept``: the parts that its receipt holds."""
    if not kept:
        return "", 0
    head, history = _split_at_history([one for one in parts if one.label != "changing"])
    older, chain = kept["older"]
    then = [
        one
        for one in (*map(_read_part_row, kept["head"]), *map(_read_part_row, kept["last"]))
        if one.label != "changing"
    ]
    now = [*head, *history[older:]]
    at = next((at for at, one in enumerate(then) if at >= len(now) or now[at].digest != one.digest), len(then))
    if at < len(kept["head"]):
        return NAMES[then[at].label], at
    if older and (len(history) < older or _digest_parts(history[:older]) != chain):
        return f"history before turn {then[len(kept['head'])].turn} (edited)", len(head)
    if at == len(then):
        return "", 0
    one = then[at]
    return f"history at turn {one.turn} (edited)" if one.label == "history" else NAMES[one.label], at + older


def _share_behind(parts: Sequence[ReceiptPart], whole: int) -> float:
    """Returns which share of a prompt stands behind so many parts and was in the request before: neither what changes
    with every turn, nor the last turn and the message, which are new."""
    steady = [one for one in parts if one.label != "changing"]
    newest = max((one.turn for one in steady if one.label != "lore"), default=0)
    lost = sum(one.chars for one in steady[whole:] if one.label != "question" and (not one.turn or one.turn < newest))
    return lost / max(1, sum(one.chars for one in parts))


def _split_at_history(parts: Sequence[ReceiptPart]) -> tuple[list[ReceiptPart], list[ReceiptPart]]:
    """Returns the parts before the history, and the others."""
    at = next(
        (at for at, one in enumerate(parts) if one.label in ("history", "lore", "changing", "question")), len(parts)
    )
    return list(parts[:at]), list(parts[at:])


def _build_kept_parts(parts: Sequence[ReceiptPart]) -> Json:
    head, history = _split_at_history([one for one in parts if one.label != "changing"])
    older = max(0, (len(history) - LAST) // _ROUND * _ROUND)
    return {
        "head": [_write_part_row(one) for one in head],
        "older": [older, _digest_parts(history[:older])],
        "last": [_write_part_row(one) for one in history[older:]],
    }


def _digest_parts(parts: Sequence[ReceiptPart]) -> str:
    return hashlib.sha256("".join(one.digest for one in parts).encode()).hexdigest()[:16]


def _write_part_row(one: ReceiptPart) -> list[Any]:
    return [one.label, one.digest, one.turn]


def _read_part_row(row: Sequence[Any]) -> ReceiptPart:
    return ReceiptPart(row[0], row[1], row[2])


def _read_token_number(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


__all__ = [
    "Counted",
    "ReceiptPart",
    "build_receipt",
    "build_receipt_part",
    "find_break",
    "read_counted_tokens",
    "read_usage",
    "strip_receipt_parts",
]
