from __future__ import annotations

import pytest

from model.price import compute_call_price, find_price_rate


def test_a_known_model_has_a_price() -> None:
    assert compute_call_price("gpt-5-mini", 1_000_000, 0, 0) == pytest.approx(0.25)
    assert compute_call_price("gpt-5-mini", 0, 0, 1_000_000) == pytest.approx(2.0)


def test_cached_tokens_are_a_cheaper_part_of_the_prompt() -> None:
    whole, cached = (
        compute_call_price("gpt-5-mini", 1_000_000, 0, 0),
        compute_call_price("gpt-5-mini", 1_000_000, 1_000_000, 0),
    )
    assert whole is not None
    assert cached is not None
    assert 0 < cached < whole


@pytest.mark.parametrize(
    "model", ["qwen2.5-coder-1.5b-instruct-q4_k_m", "weights/own.gguf", "llama3.1:8b", "", "gpt-99"]
)
def test_an_unknown_model_has_none(model: str) -> None:
    assert compute_call_price(model, 1000, 0, 100) is None


def test_the_provider_decides() -> None:
    assert compute_call_price("gpt-5-mini", 1000, 0, 100, url="https://api.openai.com/v1") is not None
    assert compute_call_price("gpt-5-mini", 1000, 0, 100, url="https://unknown.example/v1") is None


def test_a_model_on_this_machine_has_no_price() -> None:
    assert compute_call_price("gpt-5-mini", 1000, 0, 100, url="http://127.0.0.1:11434/v1") is None


def test_no_more_than_the_prompt_can_come_from_the_cache() -> None:
    assert compute_call_price("gpt-5-mini", 1000, 2000, 0) == compute_call_price("gpt-5-mini", 1000, 1000, 0)


def test_writing_to_a_cache_costs_more_than_reading_the_prompt() -> None:
    plain, written = (
        compute_call_price("claude-haiku-4-5", 1_000_000, 0, 0),
        compute_call_price("claude-haiku-4-5", 1_000_000, 0, 0, written=400_000),
    )
    assert plain == pytest.approx(1.0)
    assert written == pytest.approx(0.6 + 0.4 * 1.25)


def test_cached_and_written_tokens_are_parts_of_one_prompt() -> None:
    price = compute_call_price("claude-haiku-4-5", 1_000_000, 500_000, 0, written=900_000)
    assert price == pytest.approx(0.5 * 0.1 + 0.5 * 1.25)


def test_an_unknown_price_of_writing_is_not_guessed() -> None:
    assert compute_call_price("gpt-5-mini", 1000, 0, 100, written=500) is None


def test_a_rate_is_the_price_of_a_million_tokens() -> None:
    found = find_price_rate("gpt-5-mini", "https://api.openai.com/v1")
    assert found is not None
    assert found.prompt == pytest.approx(0.25)
    assert found.answer == pytest.approx(2.0)
    assert found.context == 400_000


def test_what_runs_here_or_is_unknown_has_no_rate() -> None:
    assert find_price_rate("gpt-5-mini", "http://127.0.0.1:11434/v1") is None
    assert find_price_rate("gpt-99") is None
