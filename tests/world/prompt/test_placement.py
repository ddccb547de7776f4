from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from world.prompt.placement import (
    DEEPEST,
    Deep,
    Role,
    estimate_message_tokens,
    find_deepest,
    list_receipt_parts,
    place_world_texts,
)

Json = dict[str, Any]
SIDES: tuple[Role, Role] = ("system", "user")
HISTORY: list[Json] = [
    {"role": "system", "content": "card"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "name": "Minsu", "content": [{"type": "text", "text": "Hi"}], "x_own": 1},
    {"role": "assistant", "content": "Yes?"},
    {"role": "system", "content": "note"},
    {"role": "user", "content": "Go on."},
]


def test_the_clients_messages_stay_as_they_are() -> None:
    before = copy.deepcopy(HISTORY)
    prompt = place_world_texts(HISTORY, "PREFIX", "NOW", "system")
    assert prompt.messages[0] == {"role": "system", "content": "PREFIX"}
    assert prompt.messages[6] == {"role": "system", "content": "NOW"}
    assert [message for at, message in enumerate(prompt.messages) if at not in (0, 6)] == before == HISTORY
    assert prompt.end == 6


def test_a_provider_that_moves_system_messages_gets_the_block_as_the_users() -> None:
    assert place_world_texts(HISTORY, "", "NOW", "user").messages[5] == {"role": "user", "content": "NOW"}


def test_an_answer_that_goes_on_stays_last() -> None:
    prompt = place_world_texts([*HISTORY, {"role": "assistant", "content": "and"}], "PREFIX", "NOW", "system")
    assert [message["content"] for message in prompt.messages[-3:]] == ["NOW", "Go on.", "and"]


def test_without_a_word_of_the_user() -> None:
    prompt = place_world_texts(HISTORY[:1], "PREFIX", "NOW", "system")
    assert [message["content"] for message in prompt.messages] == ["PREFIX", "card", "NOW"]


def test_nothing_to_say_adds_nothing() -> None:
    assert place_world_texts(HISTORY, "", "", "system").messages == HISTORY


def test_the_parts_of_the_prompt() -> None:
    prompt = place_world_texts(HISTORY, "PREFIX", "NOW", "system")
    told = list_receipt_parts({"tools": [1]}, prompt, (3, 4, 5))
    assert [(one.label, one.turn) for one in told] == [
        ("tools", 0),
        ("files", 0),
        ("system", 0),
        ("history", 3),
        ("history", 4),
        ("history", 4),
        ("history", 4),
        ("changing", 0),
        ("question", 0),
    ]


def test_a_text_stands_at_its_depth_and_what_is_above_it_is_steady() -> None:
    deep = [Deep(2, "system", "two"), Deep(3, "user", "three"), Deep(9, "assistant", "top")]
    prompt = place_world_texts(HISTORY, "PREFIX", "NOW", "system", deep=deep)
    contents = [message["content"] for message in prompt.messages]
    assert contents == [
        "PREFIX", "card", "top", "Hello.", "three", HISTORY[2]["content"], "two", "Yes?", "note", "NOW", "Go on.",
    ]  # fmt: skip
    assert prompt.messages[4]["role"] == "user"
    assert (prompt.end, prompt.deep, prompt.steady) == (9, (2, 4, 6), 2)
    labels = [one.label for one in list_receipt_parts({}, prompt, (3, 4, 5))]
    assert labels == [
        "files", "system", "changing", "history", "changing", "history", "changing", "history", "history", "changing",
        "question",
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["system", "user", "assistant", "tool"]), max_size=12), st.sampled_from(SIDES))
def test_every_text_with_a_depth_stands_exactly_once(roles: list[str], side: Role) -> None:
    deep = [Deep(depth, "system", f"deep {depth}") for depth in range(1, DEEPEST + 1)]
    messages = [{"role": role, "content": f"said {at}"} for at, role in enumerate(roles)]
    found = place_world_texts(messages, "PREFIX", "NOW", side, deep=deep)
    contents = [message["content"] for message in found.messages]
    assert sorted(contents) == sorted(["PREFIX", "NOW", *(f"said {at}" for at in range(len(roles))), *_texts(deep)])
    assert sorted(contents[at] for at in found.deep) == sorted(_texts(deep))
    assert contents[found.end] == "NOW"
    assert [one for one in found.messages if one in messages] == messages


def _texts(deep: list[Deep]) -> list[str]:
    return [one.text for one in deep]


def test_a_text_never_stands_between_a_call_and_its_result() -> None:
    calls: list[Json] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [1]},
        {"role": "tool", "content": "r"},
        {"role": "user", "content": "b"},
    ]
    prompt = place_world_texts(calls, "", "", "system", deep=[Deep(2, "system", "two")])
    assert prompt.messages[1]["content"] == "two"


def test_the_deepest_place_leaves_most_of_the_prompt_in_the_cache() -> None:
    def story(turns: int, size: int) -> list[Json]:
        said = [{"role": role, "content": "x" * size} for _ in range(turns) for role in ("user", "assistant")]
        return [*said, {"role": "user", "content": "Go on."}]

    assert find_deepest(story(50, 300)) == 11
    assert find_deepest(story(5, 1000)) == 2
    assert find_deepest(story(2, 2000)) == 1
    assert find_deepest(story(2, 100)) == DEEPEST
    assert find_deepest([]) == DEEPEST


def test_odd_messages_break_nothing() -> None:
    odd: list[Any] = [7, None, {}, {"role": 3}, {"role": "user"}, "text"]
    prompt = place_world_texts(odd, "P", "C", "system")
    assert prompt.messages == [
        {"role": "system", "content": "P"},
        *odd[:4],
        {"role": "system", "content": "C"},
        *odd[4:],
    ]
    assert len(list_receipt_parts({}, prompt, (1,))) == 8
    assert estimate_message_tokens(odd) == 0
