from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stub import reply
from world.reply import Reply

BLOCK = "\n\n```state\nlocation: Forest\n```"


def sse(event: Any) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


def events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def passed(*given: Any, counted: bool = False) -> tuple[Reply, str, str]:
    answer = Reply(counted)
    now = "".join(answer.event(one if isinstance(one, str) else sse(one)) for one in given)
    return answer, now, answer.end({"late": 0})


def test_an_event_that_nothing_is_taken_from_passes_byte_for_byte() -> None:
    odd = 'data: {"choices":[{"index":0, "delta":{"content":"Hi"} ,"x":1.50}],\t"y":"\\u00e9"}\n\n'
    assert passed(odd, ": ping\n\n", "event: own\ndata: 7\n\n", "data: {broken\n\n")[1] == (
        odd + ": ping\n\nevent: own\ndata: 7\n\ndata: {broken\n\n"
    )


def test_the_end_is_held_back_until_the_turn_is_stored() -> None:
    frames = [reply.delta({"content": "Hi"}), reply.delta({}, finish="stop"), "data: [DONE]\n\n"]
    answer, now, end = passed(*frames)
    assert now == sse(frames[0])
    assert end == sse(frames[1]) + "data: [DONE]\n\n"
    assert (answer.reason, answer.ended, answer.raw) == ("stop", True, "Hi")


def test_text_and_end_in_one_event() -> None:
    answer, now, end = passed(reply.delta({"content": f"Hi{BLOCK}"}, finish="stop"))
    (event,) = events(now + end)
    assert event["choices"][0]["delta"]["content"] == "Hi"
    assert event["choices"][0]["finish_reason"] == "stop"
    assert (answer.raw, answer.shown) == (f"Hi{BLOCK}", "Hi")


def test_what_was_withheld_and_is_no_block_comes_before_the_end() -> None:
    _, now, end = passed(reply.delta({"content": "Hi\n\n```sta"}), reply.delta({}, finish="stop"))
    texts = [event["choices"][0]["delta"].get("content", "") for event in events(now + end)]
    assert "".join(texts) == "Hi\n\n```sta"
    assert [event["choices"][0]["finish_reason"] for event in events(now + end)][-1] == "stop"


def test_the_tokens_that_only_we_asked_for_are_kept_from_the_client() -> None:
    frames = [reply.delta({"content": "Hi"}), reply.delta({}, finish="stop"), reply.usage(9, 3, 1)]
    answer, now, end = passed(*frames)
    assert "prompt_tokens" not in now + end
    assert answer.usage["prompt_tokens"] == 9
    _, now, end = passed(*frames, counted=True)
    assert events(end)[-1]["usage"]["gieok"] == {"late": 0}


def test_tokens_beside_a_choice_stay() -> None:
    frame = {**reply.delta({}, finish="stop"), "usage": {"prompt_tokens": 9}}
    _, now, end = passed(frame)
    assert events(now + end) == [frame]


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": [{"message": {"content": None, "tool_calls": [1]}, "finish_reason": "tool_calls"}]},
        {"choices": [None]},
        {"x": 1},
    ],
)
def test_a_whole_answer_without_text_stays(body: Any) -> None:
    assert Reply(False).whole(body) == body


def test_a_whole_answer_without_its_block() -> None:
    message = {"content": f"Hi{BLOCK}", "x": 1}
    choice = {"message": message, "logprobs": {"content": [1]}, "finish_reason": "stop", "y": 2}
    answer = Reply(False)
    changed = answer.whole({"choices": [choice], "usage": {"prompt_tokens": 3}, "z": 3})
    assert changed["choices"] == [{**choice, "message": {"content": "Hi", "x": 1}, "logprobs": None}]
    assert (answer.reason, answer.usage["prompt_tokens"], changed["z"]) == ("stop", 3, 3)
