"""What calls beside a story's answers took: summed, with a price as far as it is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from model.price import compute_call_price
from model.scripted import build_scripted_models
from store.user.usage import SideUsage
from world.prompt.side_call import sum_side_calls

HOSTED = replace(build_scripted_models(), kind="hosted", url="https://api.openai.com/v1")
NAME = "gpt-4o-mini"


def call(prompt: int, answer: int, cached: int = 0) -> AIMessage:
    counted = UsageMetadata(
        input_tokens=prompt,
        output_tokens=answer,
        total_tokens=prompt + answer,
        input_token_details={"cache_read": cached},
    )
    return AIMessage("x", usage_metadata=counted)


def test_calls_are_summed_with_their_price_and_what_the_cache_saved() -> None:
    used = sum_side_calls("curator", [call(3000, 10), call(5000, 20, 2000)], NAME, HOSTED)
    assert used is not None
    assert (used.prompt_tokens, used.cached_tokens, used.answer_tokens) == (8000, 2000, 30)
    price = compute_call_price(NAME, 8000, 2000, 30, url=HOSTED.url)
    assert used.usd == pytest.approx(price)
    assert used.cache_usd > 0


def test_a_price_that_is_not_known_is_none_and_a_model_here_costs_nothing() -> None:
    assert sum_side_calls("tracker", [call(1, 2)], "no-such-model", HOSTED) == SideUsage(
        "tracker", "no-such-model", 1, 0, 2, None
    )
    local = replace(HOSTED, kind="local")
    assert sum_side_calls("tracker", [call(1, 2)], NAME, local) == SideUsage("tracker", NAME, 1, 0, 2, 0.0)


def test_calls_without_counts_are_nothing() -> None:
    assert sum_side_calls("tracker", [AIMessage("x")], NAME, HOSTED) is None
