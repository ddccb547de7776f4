from __future__ import annotations

import json
from typing import Any

import pytest

from tests.stub import reply
from world.turn.reply import WorldReply, read_object

BLOCK = "\n\n```state\nlocation: Forest\n```"


def sse(event: Any) -> str:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n"


def events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def passed(*given: Any, counted: bool = False) -> tuple[WorldReply, str, str]:
    answer = WorldReply(counted)
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
    assert (answer.raw, answer.visible_text) == (f"Hi{BLOCK}", "Hi")


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


DONE = "data: [DONE]\n\n"


@pytest.mark.parametrize("counted", [False, True])
def test_tokens_come_once_before_the_end_however_often_the_server_tells_them(counted: bool) -> None:
    frames = [
        {**reply.delta({"content": "Hi"}), "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        {**reply.delta({}, finish="stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        reply.usage(9, 3, 2),
        reply.usage(9, 3, 2),
    ]
    answer, now, end = passed(*frames, counted=counted)
    told = events(now + end)
    assert [event["usage"]["gieok"] for event in told if event.get("usage")] == [{"late": 0}] * counted
    assert ([] if not counted else [told[-1]["choices"]]) == [[]] * counted
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in told if event["choices"]) == "Hi"
    assert answer.usage["completion_tokens"] == 2
    assert end.endswith(DONE)


@pytest.mark.parametrize("done", [[], [DONE], [DONE, DONE]])
def test_a_stream_ends_as_openai_ends_one(done: list[str]) -> None:
    _, now, end = passed(reply.delta({"content": "Hi"}), reply.delta({}, finish="stop"), *done)
    assert (now + end).count("[DONE]") == 1
    assert end.endswith(DONE)


def test_a_stream_that_failed_gets_no_end_that_it_did_not_have() -> None:
    assert "[DONE]" not in "".join(passed({"error": {"message": "overloaded"}})[1:])


def test_a_second_answer_is_never_mixed_into_the_first() -> None:
    def piece(index: int, text: str, finish: str | None = None) -> Any:
        event = reply.delta({"content": text} if text else {}, finish=finish)
        return {**event, "choices": [{**event["choices"][0], "index": index}]}

    both = {**piece(0, " A"), "choices": [*piece(0, " A")["choices"], *piece(1, " B")["choices"]]}
    frames = [piece(0, "one"), piece(1, "two"), both, piece(1, "", "stop"), piece(0, "!"), piece(0, "", "stop")]
    answer, now, end = passed(*frames)
    assert (answer.raw, answer.visible_text, answer.reason) == ("one A!", "one A!", "stop")
    assert [choice["index"] for event in events(now + end) for choice in event["choices"]] == [0, 0, 0, 0]
    whole = WorldReply(False).whole({"choices": [{"message": {"content": text}} for text in ("one", "two")]})
    assert whole["choices"] == [{"message": {"content": "one"}}]


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
    assert WorldReply(False).whole(body) == body


def test_a_whole_answer_without_its_block() -> None:
    message = {"content": f"Hi{BLOCK}", "x": 1}
    choice = {"message": message, "logprobs": {"content": [1]}, "finish_reason": "stop", "y": 2}
    answer = WorldReply(False)
    changed = answer.whole({"choices": [choice], "usage": {"prompt_tokens": 3}, "z": 3})
    assert changed["choices"] == [{**choice, "message": {"content": "Hi", "x": 1}, "logprobs": None}]
    assert (answer.reason, answer.usage["prompt_tokens"], changed["z"]) == ("stop", 3, 3)


@pytest.mark.parametrize("data", ["[" * 100_000, '{"a":' * 100_000, "9" * 5_000, "[1]", "", "[DONE]"])
def test_what_is_no_object_passes_as_it_is(data: str) -> None:
    assert read_object(data) is None
    assert WorldReply(False).event(f"data: {data}\n\n") == f"data: {data}\n\n" or data == "[DONE]"


def test_thoughts_go_into_their_field_and_are_no_part_of_the_story() -> None:
    pieces = ("<thi", "nk>\nHm, ", "a wolf.\n</think>", "\n\nA wolf ", f"howls.{BLOCK}")
    answer, now, end = passed(*(reply.delta({"content": each}) for each in pieces), reply.delta({}, finish="stop"))
    deltas = [event["choices"][0]["delta"] for event in events(now + end)]
    assert "".join(each.get("content") or "" for each in deltas) == answer.visible_text == "A wolf howls."
    assert "".join(each.get("reasoning_content") or "" for each in deltas).strip() == "Hm, a wolf."
    assert answer.raw == f"A wolf howls.{BLOCK}"


def test_thoughts_that_begin_without_a_tag_are_no_part_of_the_story() -> None:
    answer, _, _ = passed(*(reply.delta({"content": each}) for each in ("Hm, so.\n", "</think>", "\n\nA wolf howls.")))
    assert (answer.visible_text, answer.raw) == ("A wolf howls.", "A wolf howls.")
    whole = WorldReply(False)
    message = {"role": "assistant", "content": f"<think>Hm.</think>A wolf howls.{BLOCK}"}
    told = whole.whole({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    assert told["choices"][0]["message"] == {**message, "content": "A wolf howls.", "reasoning_content": "Hm."}
    assert whole.raw == f"A wolf howls.{BLOCK}"
