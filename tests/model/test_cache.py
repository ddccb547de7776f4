from __future__ import annotations

import copy
from typing import Any

import pytest

from model.cache import LOOK_BACK, MARK, MOST, STEP, find_least_tokens, mark_breakpoints, takes_breakpoints

Json = dict[str, Any]
LONG = "word " * 2000


def count(text: str) -> int:
    return len(text.split())


def history(turns: int, system: str = LONG) -> list[Json]:
    said = [{"role": "system", "content": system}]
    for turn in range(turns):
        said += [{"role": "user", "content": f"q{turn}"}, {"role": "assistant", "content": f"a{turn}"}]
    return said


def body(turns: int, **more: Any) -> Json:
    changing = [{"role": "user", "content": "state"}, {"role": "user", "content": "now"}]
    return {"model": "m", "messages": [*history(turns), *changing], **more}


def places(request: Json) -> list[int]:
    return [
        at
        for at, message in enumerate(request["messages"])
        if isinstance(message["content"], list) and any("cache_control" in part for part in message["content"])
    ]


def test_three_breakpoints_none_on_what_changes() -> None:
    given = body(20)
    before = copy.deepcopy(given)
    request = mark_breakpoints(given, 41, count=count)
    assert places(request) == [0, 32, 40]
    assert given == before
    assert request["messages"][41:] == given["messages"][41:]


def test_a_marked_text_is_the_same_text() -> None:
    request = mark_breakpoints(body(3), 7, count=count)
    assert request["messages"][6] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a2", "cache_control": MARK}],
    }


def test_images_and_fields_stay() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:x"}}
    messages = [*history(0), {"role": "user", "name": "Minsu", "content": [{"type": "text", "text": "look"}, image]}]
    request = mark_breakpoints({"messages": messages, "x": 1}, 2, count=count)
    assert request["x"] == 1
    assert request["messages"][1] == {
        "role": "user",
        "name": "Minsu",
        "content": [{"type": "text", "text": "look"}, {**image, "cache_control": MARK}],
    }


@pytest.mark.parametrize(("own", "ours"), [(0, 3), (1, 3), (2, 2), (3, 1), (4, 0), (5, 0)])
def test_four_in_one_request_with_the_clients_own(own: int, ours: int) -> None:
    tools = [{"type": "function", "cache_control": MARK} for _ in range(own)]
    request = mark_breakpoints(body(20, tools=tools), 41, count=count)
    assert len(places(request)) == ours
    assert own + ours <= max(MOST, own)


def test_where_not_all_have_room_the_last_message_comes_first() -> None:
    tools = [{"type": "function", "cache_control": MARK}] * 3
    assert places(mark_breakpoints(body(20, tools=tools), 41, count=count)) == [40]


def test_a_breakpoint_of_the_clients_own_is_not_set_twice() -> None:
    given = body(3)
    given["messages"][6] = {"role": "assistant", "content": [{"type": "text", "text": "a", "cache_control": MARK}]}
    assert mark_breakpoints(given, 7, count=count)["messages"][6] == given["messages"][6]


def test_a_short_prompt_gets_none() -> None:
    given = {"messages": history(3, "short")}
    assert mark_breakpoints(given, 7, count=count) == given
    assert places(mark_breakpoints({"messages": history(3)}, 7, count=count, minimum=2001)) == [6]


@pytest.mark.parametrize("turns", range(1, 120))
def test_from_every_breakpoint_an_earlier_one_is_in_reach(turns: int) -> None:
    """The last one reaches the middle one and that of the turn before; the middle one that of its step before."""
    now, later = places(mark_breakpoints(body(turns), 2 * turns + 1, count=count)), 2 * turns + 3
    then = places(mark_breakpoints(body(turns + 1), later, count=count))
    assert now[-1] + 2 == then[-1]
    if len(then) == 3:
        assert then[2] - then[1] < LOOK_BACK
        assert then[1] in (now[1], now[1] + STEP)


def test_the_middle_stays_for_eight_turns() -> None:
    middles = [places(mark_breakpoints(body(turns), 2 * turns + 1, count=count))[1] for turns in range(9, 49)]
    assert [middles.count(at) for at in dict.fromkeys(middles)] == [8] * 5


@pytest.mark.parametrize("content", [None, "", "  ", [], [{"type": "thinking"}], 7])
def test_what_can_hold_none_gets_none(content: Any) -> None:
    messages = [*history(2), {"role": "assistant", "content": content}]
    request = mark_breakpoints({"messages": messages}, 6, count=count)
    assert request["messages"][5] == messages[5]
    assert places({"messages": request["messages"][:5]}) == [0, 4]


@pytest.mark.parametrize(
    ("url", "wanted", "takes"),
    [
        ("https://openrouter.ai/api/v1", "auto", True),
        ("https://api.anthropic.com/v1", "auto", True),
        ("https://notopenrouter.ai/v1", "auto", False),
        ("http://127.0.0.1:8080/v1", "auto", False),
        ("http://127.0.0.1:8080/v1", "on", True),
        ("https://openrouter.ai/api/v1", "off", False),
    ],
)
def test_the_address_decides(url: str, wanted: Any, takes: bool) -> None:
    assert takes_breakpoints(url, wanted) is takes


def test_the_shortest_prompt_by_family() -> None:
    assert [
        find_least_tokens(name) for name in ("anthropic/claude-haiku-4.5", "claude-haiku-4-5", "claude-opus-4-5")
    ] == [4096] * 3
    assert find_least_tokens("claude-3-5-haiku") == 2048
    assert find_least_tokens("claude-sonnet-4-5") == 1024
