"""A provider's prompt cache by Anthropic's rules, without a provider: which part of a request it has read before.

A breakpoint keeps the prompt up to its content block for five minutes, renewed by every use. From each breakpoint the
provider looks back over twenty blocks, that one included, for a prompt that it kept; the longest one counts. A prompt
below the model's minimum is not kept. Reading costs a tenth of the price of the prompt, writing a quarter more than it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.cache import LOOK_BACK, MOST
from world.prompt.placement import list_message_texts

SECONDS = 300.0
READ, WRITE = 0.1, 1.25
OUTPUT = 5.0
"""The price of a token of the answer by that of the prompt (Claude Haiku 4.5, which the specification measured)."""


@dataclass(frozen=True, slots=True)
class Block:
    """A content block. ``text``: all that must stay the same; ``marked``: whether it has a breakpoint."""

    text: str
    tokens: int
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """The tokens of one request: ``prompt`` in all, ``cached`` and ``written`` of them, and the answer's."""

    prompt: int
    cached: int
    written: int
    answer: int

    @property
    def price(self) -> float:
        """Returns the cost in prices of a token of the prompt."""
        rest = self.prompt - self.cached - self.written
        return rest + READ * self.cached + WRITE * self.written + OUTPUT * self.answer

    @property
    def full_price(self) -> float:
        """Returns what the same request costs without a cache."""
        return self.prompt + OUTPUT * self.answer


@dataclass
class ProviderCache:
    """The kept prompts, by their digest, with the moment until which each is kept. ``minimum``: tokens of the shortest
    one that is kept."""

    minimum: int
    _until: dict[str, float] = field(default_factory=dict)

    def ask(self, blocks: Sequence[Block], answer: int, now: float) -> Cost:
        """Reads a request at a moment in seconds and returns its tokens. Raises ``ValueError`` for more breakpoints
        than a request may have."""
        marks = [at for at, block in enumerate(blocks) if block.marked]
        if len(marks) > MOST:
            raise ValueError(f"{len(marks)} breakpoints; a request may have {MOST}")
        digests, reached = _prefixes(blocks)
        found = max((hit for mark in marks if (hit := self._found(digests, mark, now)) is not None), default=None)
        if found is not None:
            self._until[digests[found]] = now + SECONDS
        cached = reached[found] if found is not None else 0
        kept = [mark for mark in marks if reached[mark] >= self.minimum]
        for mark in kept:
            self._until[digests[mark]] = now + SECONDS
        written = max((reached[mark] for mark in kept), default=0) - cached
        return Cost(reached[-1] if reached else 0, cached, max(0, written), answer)

    def _found(self, digests: Sequence[str], mark: int, now: float) -> int | None:
        """Returns the last block in reach of a breakpoint whose prompt is kept."""
        reach = range(mark, max(-1, mark - LOOK_BACK), -1)
        return next((at for at in reach if self._until.get(digests[at], 0.0) > now), None)


def blocks(messages: Sequence[Mapping[str, Any]], count: Any, *, last: bool = False) -> list[Block]:
    """Returns the content blocks of a request in the order in which Anthropic reads them: system messages first.
    ``last``: a single breakpoint on the last block instead of the request's own, as automatic caching sets it."""
    ordered = sorted(messages, key=lambda message: message["role"] != "system")
    made = [block for message in ordered for block in _of(message, count)]
    if not last:
        return made
    return [Block(one.text, one.tokens, at == len(made) - 1) for at, one in enumerate(made)]


def _of(message: Mapping[str, Any], count: Any) -> list[Block]:
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    made = []
    for part in parts:
        plain = {name: value for name, value in part.items() if name != "cache_control"}
        text = "".join(list_message_texts({"content": [part]}))
        same = json.dumps([message["role"], plain], ensure_ascii=False, sort_keys=True)
        made.append(Block(same, count(text), bool(part.get("cache_control"))))
    return made


def _prefixes(blocks: Sequence[Block]) -> tuple[list[str], list[int]]:
    """Returns the digest and the tokens of the prompt up to and with every block."""
    whole, total = hashlib.sha256(), 0
    digests, reached = list[str](), list[int]()
    for block in blocks:
        whole.update(f"{block.text}\0".encode())
        total += block.tokens
        digests.append(whole.copy().hexdigest())
        reached.append(total)
    return digests, reached


def shares(costs: Sequence[Cost], first: int = 5) -> dict[str, float]:
    """Returns ``hit_share``, the mean over the turns from ``first`` on of the cached part of the prompt,
    ``saved_share``, the part of the whole cost that the cache saves, and ``price``, the whole cost in tokens of a
    prompt without a cache: the shares alone grow with whatever stands in a prompt."""
    hits = [cost.cached / cost.prompt for cost in costs[first - 1 :]]
    paid, full = sum(cost.price for cost in costs), sum(cost.full_price for cost in costs)
    return {
        "hit_share": round(sum(hits) / len(hits), 4),
        "saved_share": round(1 - paid / full, 4),
        "price": round(paid),
    }
