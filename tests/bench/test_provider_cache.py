from __future__ import annotations

from typing import Any

import pytest

from bench.provider_cache import SECONDS, Block, Cost, ProviderCache, blocks, shares
from model.cache import LOOK_BACK, MARK

PARTS = [{"type": "text", "text": "two"}]


def said(count: int, *marks: int, tokens: int = 100) -> list[Block]:
    return [Block(f"block {at}", tokens, at in marks) for at in range(count)]


def test_what_was_kept_is_read_and_the_rest_is_written() -> None:
    cache = ProviderCache(100)
    assert cache.ask(said(3, 2), 5, 0) == Cost(300, 0, 300, 5)
    assert cache.ask(said(5, 4), 5, 10) == Cost(500, 300, 200, 5)
    assert cache.ask(said(6), 5, 20) == Cost(600, 0, 0, 5)


def test_a_difference_before_a_breakpoint_breaks_it() -> None:
    cache = ProviderCache(100)
    cache.ask(said(3, 0, 2), 5, 0)
    changed = [said(1, 0)[0], Block("other", 100), Block("block 2", 100, True)]
    assert cache.ask(changed, 5, 1) == Cost(300, 100, 200, 5)


def test_it_looks_back_over_twenty_blocks_and_no_further() -> None:
    for blocks_more, cached in ((LOOK_BACK - 1, 100), (LOOK_BACK, 0)):
        cache = ProviderCache(100)
        cache.ask(said(1, 0), 5, 0)
        assert cache.ask(said(1 + blocks_more, blocks_more), 5, 1).cached == cached


def test_a_kept_prompt_lives_five_minutes_after_its_last_use() -> None:
    cache = ProviderCache(100)
    cache.ask(said(1, 0), 5, 0)
    assert cache.ask(said(1, 0), 5, SECONDS - 1).cached == 100
    assert cache.ask(said(1, 0), 5, 2 * SECONDS - 2).cached == 100
    assert cache.ask(said(1, 0), 5, 4 * SECONDS).cached == 0


def test_a_short_prompt_is_not_kept() -> None:
    cache = ProviderCache(101)
    assert cache.ask(said(1, 0), 5, 0).written == 0
    assert cache.ask(said(1, 0), 5, 1).cached == 0


def test_a_fifth_breakpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="5 breakpoints"):
        ProviderCache(1).ask(said(5, *range(5)), 5, 0)


def test_shares() -> None:
    costs = [Cost(100, 0, 100, 0), Cost(100, 100, 0, 0)]
    assert shares(costs, first=2) == {"hit_share": 1.0, "saved_share": round(1 - 135 / 200, 4), "price": 135}


def test_system_messages_are_read_first_and_parts_are_blocks() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one"},
        {
            "role": "system",
            "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "x", "cache_control": MARK}],
        },
    ]
    made = blocks(messages, len)
    assert [(block.tokens, block.marked) for block in made] == [(3, False), (1, True), (3, False)]
    assert [block.marked for block in blocks(messages, len, last=True)] == [False, False, True]
    plain = [{"role": "system", "content": [{"type": "text", "text": "x"}]}]
    assert blocks(plain, len)[0].text == made[1].text
