from __future__ import annotations

import json
from typing import Any

import pytest

from world.prompt.receipt import (
    Counted,
    ReceiptPart,
    build_receipt,
    build_receipt_part,
    find_break,
    read_counted_tokens,
    strip_receipt_parts,
)


def parts(turns: int, *, files: str = "f", system: str = "s", edited: int = 0, state: str = "x") -> list[ReceiptPart]:
    said = [build_receipt_part("files", files), build_receipt_part("system", system)]
    for turn in range(1, turns + 1):
        mark = "!" if turn == edited else ""
        said += [build_receipt_part("history", f"q{turn}{mark}", turn), build_receipt_part("history", f"a{turn}", turn)]
    return [*said, build_receipt_part("changing", state), build_receipt_part("question", f"q{turns + 1}")]


def broke(now: list[ReceiptPart], before: Any) -> str:
    return find_break(now, before)[0]


def kept(turns: int, **more: Any) -> Any:
    return json.loads(json.dumps(build_receipt(Counted(1, 0, 0, 1), parts(turns, **more), None, "m", "")))["parts"]


@pytest.mark.parametrize("turns", [0, 1, 5, 40, 300])
def test_a_story_that_goes_on_is_read_up_to_its_state(turns: int) -> None:
    assert broke(parts(turns + 1), kept(turns)) == ""


@pytest.mark.parametrize("turns", [1, 40, 300])
def test_the_first_part_that_differs_is_named(turns: int) -> None:
    assert broke(parts(turns + 1, files="g"), kept(turns)) == "files"
    assert broke(parts(turns + 1, system="g"), kept(turns)) == "system text"
    assert broke(parts(turns + 1, edited=turns), kept(turns)) == f"history at turn {turns} (edited)"
    assert broke(parts(turns + 1), None) == ""


def test_an_old_turn_of_a_long_story() -> None:
    assert broke(parts(301, edited=3), kept(300)) == "history before turn 257 (edited)"
    assert broke(parts(301, edited=290), kept(300)) == "history at turn 290 (edited)"


def test_a_break_costs_what_the_request_before_had_behind_it() -> None:
    def cost(**more: Any) -> int:
        before = {"parts": kept(40)}
        paid = build_receipt(Counted(10_000, 0, 0, 1), parts(41, **more), before, "m", "")
        return int(paid["broke_tokens"])

    whole, late, last = cost(files="g"), cost(edited=30), cost(edited=40)
    assert cost() == 0
    assert 9_000 < whole < 10_000, "the last turn, the state and the message are new anyway"
    assert 2_000 < late < 3_000
    assert 0 < last < 400
    paid = build_receipt(Counted(10_000, 9_900, 0, 1), parts(41, files="g"), {"parts": kept(40)}, "m", "")
    assert paid["broke_tokens"] == 100, "no more than did not come out of the cache"


def test_another_answer_to_the_same_message_breaks_nothing() -> None:
    assert broke(parts(7), kept(7)) == ""
    assert broke(parts(7, state="y"), kept(7)) == ""


def test_the_size_of_a_receipt_does_not_grow_with_the_story() -> None:
    assert len(json.dumps(kept(5000))) < 1.1 * len(json.dumps(kept(60))) < 5000


@pytest.mark.parametrize(
    ("usage", "timings", "tokens"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, {}, Counted(100, 0, 0, 7)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}},
            {},
            Counted(100, 64, 0, 7),
        ),
        (  # OpenRouter
            {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "cost": 0.25,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
            },
            {},
            Counted(100, 60, 30, 7, cost=0.25),
        ),
        (  # a gateway that passes Anthropic's names on, its prompt counted whole
            {
                "prompt_tokens": 100,
                "completion_tokens": 7,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
            },
            {},
            Counted(100, 60, 30, 7),
        ),
        (  # the same, its prompt without the cached part
            {
                "input_tokens": 10,
                "output_tokens": 7,
                "cache_read_input_tokens": 60,
                "cache_creation_input_tokens": 30,
            },
            {},
            Counted(100, 60, 30, 7),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 7}, {"cache_n": 90, "prompt_n": 10}, Counted(100, 90, 0, 7)),
    ],
)
def test_the_forms_in_which_servers_tell_their_tokens(usage: Any, timings: Any, tokens: Counted) -> None:
    assert read_counted_tokens(usage, timings) == tokens


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": 0}, {"prompt_tokens": "many"}, {"prompt_tokens": None}])
def test_no_tokens_are_made_up(usage: Any) -> None:
    assert read_counted_tokens(usage, {}) is None


def test_money_that_the_cache_saved() -> None:
    given = build_receipt(Counted(1_000_000, 900_000, 50_000, 0), parts(1), None, "claude-haiku-4-5", "")
    assert given["usd"] == pytest.approx(0.9 * 0.1 + 0.05 * 1.25 + 0.05)
    assert given["saved_usd"] == pytest.approx(1 - given["usd"])
    assert "parts" not in strip_receipt_parts(given)


def test_money_that_nobody_knows() -> None:
    given = build_receipt(Counted(1000, 900, 0, 1), parts(1), None, "own", "http://127.0.0.1:1/v1")
    assert (given["usd"], given["saved_usd"]) == (None, None)
    assert build_receipt(Counted(1, 0, 0, 1, cost=0.5), parts(1), None, "own", "")["usd"] == 0.5
