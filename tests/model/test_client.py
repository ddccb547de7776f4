from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

import errors
from model.call import stream
from model.call.abort import CuttableCall
from tests.model.conftest import Connect
from tests.stub import reply
from tests.stub.upstream import Upstream

SECRET = "my diary entry"
QUESTION = [HumanMessage(SECRET)]


def test_an_answer_arrives_whole_with_its_usage(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("Hello there, Kim.", prompt=31, cached=24))
    answer = stream.complete_answer(connect(), QUESTION)
    assert answer.text == "Hello there, Kim."
    assert type(answer) is AIMessage
    assert stream.read_token_usage(answer) == (31, 24, 3, True)


def test_a_running_total_in_every_chunk_is_counted_once(upstream: Upstream, connect: Connect) -> None:
    *words, last, counted = reply.said("one two three", prompt=1000).chunks
    assert isinstance(counted, dict)
    running = (each | {"usage": counted["usage"]} for each in words if isinstance(each, dict))
    upstream.add(reply.Reply((*running, last, counted)))
    assert stream.read_token_usage(stream.complete_answer(connect(), QUESTION)) == (1000, 0, 3, True)


def test_counts_of_nothing_are_no_counts(upstream: Upstream, connect: Connect) -> None:
    *words, counted = reply.said("one two three").chunks
    assert isinstance(counted, dict)
    nothing = counted | {"usage": dict.fromkeys(counted["usage"])}
    upstream.add(reply.Reply((*words, nothing)))
    assert stream.read_token_usage(stream.complete_answer(connect(), QUESTION)) == (0, 0, 0, False)


def test_an_answer_that_used_up_its_tokens_says_so(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("It ends in mid-wo", finish="length"), reply.said("It ends."))
    assert [stream.cut_off(stream.complete_answer(connect(), QUESTION)) for _ in range(2)] == [True, False]


def test_the_request_is_a_streamed_chat_completion_with_the_key(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("ok"))
    stream.complete_answer(connect(extra_body={"id_slot": 1}, max_tokens=50, temperature=0.2), QUESTION)
    (request,) = upstream.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-secret-1"
    assert request.body["messages"] == [{"role": "user", "content": SECRET}]
    assert request.body["stream_options"] == {"include_usage": True}
    assert {name: request.body[name] for name in ("model", "stream", "id_slot", "max_tokens", "temperature")} == {
        "model": "stub-model",
        "stream": True,
        "id_slot": 1,
        "max_tokens": 50,
        "temperature": 0.2,
    }
    assert "max_completion_tokens" not in request.body


def test_nothing_is_sent_that_was_not_asked_for(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("ok"))
    stream.complete_answer(connect(), QUESTION)
    assert set(upstream.requests[0].body) == {"model", "messages", "stream", "stream_options"}


def test_invoke_streams_too(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("Hello there"))
    assert connect().invoke(QUESTION).text == "Hello there"
    assert upstream.requests[0].body["stream"] is True


def test_an_answer_format_goes_along_and_the_answer_comes_once(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said('{"a": 1}'))
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    answer = stream.complete_answer(connect(extra_body={"id_slot": 1}), QUESTION, response_format=shape)
    assert answer.text == '{"a": 1}'
    assert upstream.requests[0].body["response_format"] == shape
    assert upstream.requests[0].body["id_slot"] == 1


def test_tool_calls_split_over_chunks_are_put_together(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.called("calculate", {"expression": "15 * 24", "note": "한글"}))
    tool = {"type": "function", "function": {"name": "calculate", "parameters": {"type": "object"}}}
    answer = stream.complete_answer(connect().bind_tools([tool]), QUESTION)
    (call,) = answer.tool_calls
    assert (call["name"], call["args"], call["id"]) == (
        "calculate",
        {"expression": "15 * 24", "note": "한글"},
        "call_1",
    )
    assert upstream.requests[0].body["tools"] == [tool]


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
def test_what_servers_send_beside_the_standard_is_taken(upstream: Upstream, connect: Connect) -> None:
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    deltas = ({"tool_calls": [head]}, {"tool_calls": [{"index": 0, "function": None}]}, None)
    *begun, last = (reply.delta(each) for each in deltas)  # type: ignore[arg-type]
    last["choices"][0]["finish_reason"] = "tool_calls"
    upstream.add(reply.Reply((*begun, last)))
    (call,) = stream.complete_answer(connect(), QUESTION).tool_calls
    assert (call["name"], call["args"]) == ("add", {"a": 1})


def test_tool_results_go_back_in_the_order_of_the_conversation(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("360"))
    call = {"name": "calculate", "args": {"expression": "15 * 24"}, "id": "call_1", "type": "tool_call"}
    stream.complete_answer(
        connect(), [*QUESTION, AIMessage("", tool_calls=[call]), ToolMessage("360", tool_call_id="call_1")]
    )
    assert [message["role"] for message in upstream.requests[0].body["messages"]] == ["user", "assistant", "tool"]


def test_text_that_utf8_cannot_hold_is_sent_without_it(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("ok"))
    stream.complete_answer(connect(), [HumanMessage("a\ud800b\x00c 👍")])
    assert upstream.requests[0].body["messages"][0]["content"] == "a\ufffdbc 👍"


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    upstream: Upstream, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    upstream.add(reply.said("ok"))
    assert stream.complete_answer(connect(), QUESTION).text == "ok"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each pause before another try; none of them is waited for."""
    asked = list[float]()
    monkeypatch.setattr(CuttableCall, "wait", lambda _, seconds: asked.append(seconds))
    return asked


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_retried_after_the_time_that_the_server_names(
    upstream: Upstream, connect: Connect, pauses: list[float], status: int
) -> None:
    upstream.add(reply.failed(status, retry_after="7"), reply.said("at last"))
    assert stream.complete_answer(connect(), QUESTION).text == "at last"
    assert pauses == [7.0]
    assert len(upstream.requests) == 2


def test_pauses_grow_when_the_server_names_no_time(upstream: Upstream, connect: Connect, pauses: list[float]) -> None:
    upstream.add(reply.failed(500), reply.failed(500), reply.said("at last"))
    assert stream.complete_answer(connect(), QUESTION).text == "at last"
    assert len(upstream.requests) == 3
    first, second = pauses
    assert 0.3 < first < second


OUTCOMES = [
    (reply.failed(401, "invalid_api_key", message="Incorrect API key provided: sk-secret-1."), errors.KeyRejected),
    (reply.failed(403), errors.KeyRejected),
    (reply.failed(404, "model_not_found"), errors.ModelUnknown),
    (reply.failed(429, "rate_limit_exceeded", message=SECRET), errors.ModelOverloaded),
    (reply.failed(429, "rate_limit_exceeded", retry_after="300"), errors.ModelPaused),
    (reply.failed(402, "insufficient_balance", message=SECRET), errors.NoCredit),
    (reply.failed(429, "insufficient_quota", kind="insufficient_quota", message=SECRET), errors.NoCredit),
    (reply.failed(403, "model_not_found", message=SECRET), errors.ModelUnknown),
    (reply.failed(400, "model_not_found", message=SECRET, param="model"), errors.ModelUnknown),
    (reply.failed(403, "unsupported_country_region_territory", kind="request_forbidden"), errors.RequestRejected),
    (reply.failed(408, message=SECRET), errors.ModelServerError),
    (reply.failed(413, message=SECRET), errors.ContextOverflow),
    (reply.failed(400, "invalid_value", message=SECRET, param="temperature"), errors.RequestRejected),
    (reply.failed(422, message=SECRET), errors.RequestRejected),
    (reply.failed(400, "api_error", message=f"{SECRET} does not support tools"), errors.ToolsRejected),
    (reply.failed(500, message=SECRET, kind="server_error"), errors.ModelServerError),
    (reply.failed(503, message=SECRET, kind="unavailable_error"), errors.ModelServerError),
    (reply.failed(599, message=SECRET), errors.ModelServerError),
    (
        reply.failed(400, "context_length_exceeded", message=f"exceeds the context window {SECRET}"),
        errors.ContextTooLong,
    ),
    (reply.broken(f"{SECRET} and so on"), errors.ModelBroken),
    (reply.troubled(SECRET), errors.ModelBroken),
    (reply.said("no end", finish=None), errors.ModelBroken),
    (reply.said("no end", finish=None).but(end="quiet"), errors.ModelBroken),
    (reply.Reply(end="quiet"), errors.ModelBroken),
    (reply.Reply(chunks=("<html>not an event</html>\n\n",), end="quiet"), errors.ModelBroken),
    (reply.Reply(chunks=(f"data: {{{SECRET}\n\n",)), errors.ModelBroken),
    (reply.Reply(chunks=("data: " + "[" * 100_000 + "\n\n",)), errors.ModelBroken),
    (reply.Reply(chunks=(reply.delta({"content": {"text": SECRET}}),)), errors.ModelBroken),
    (reply.refused(SECRET), errors.AnswerRefused),
    (reply.filtered(SECRET), errors.AnswerRefused),
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
@pytest.mark.parametrize(("answer", "kind"), OUTCOMES)
def test_every_cause_has_its_error_which_tells_no_secret(
    upstream: Upstream, connect: Connect, answer: reply.Reply, kind: type[errors.GieokError]
) -> None:
    upstream.add(answer)
    with pytest.raises(kind) as caught:
        stream.complete_answer(connect(model_retries=0), QUESTION)
    assert SECRET not in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert len(upstream.requests) == 1


def test_a_rejected_request_names_the_parameter(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.failed(400, "unsupported_value", param="temperature"))
    with pytest.raises(errors.RequestRejected, match="unsupported_value, invalid_request_error, temperature"):
        stream.complete_answer(connect(), QUESTION)


LLAMA = {
    "code": 400,
    "message": "too long",
    "type": "exceed_context_size_error",
    "n_prompt_tokens": 40030,
    "n_ctx": 24576,
}
OPENAI = "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens. Shorten."


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        (reply.Reply(status=400, body={"error": LLAMA}), {"tokens": 40030, "limit": 24576}),
        (reply.Reply(chunks=({"error": LLAMA},)), {"tokens": 40030, "limit": 24576}),
        (reply.failed(400, "context_length_exceeded", message=OPENAI), {"tokens": 10000, "limit": 8192}),
        (reply.failed(400, "context_length_exceeded"), {}),
    ],
)
def test_a_prompt_that_is_too_long_says_by_how_much_when_the_server_does(
    upstream: Upstream, connect: Connect, answer: reply.Reply, numbers: dict[str, int]
) -> None:
    upstream.add(answer)
    with pytest.raises(errors.ContextTooLong) as caught:
        stream.complete_answer(connect(), QUESTION)
    assert caught.value.values == numbers


def test_a_failure_that_stays_is_given_up_after_the_retries(upstream: Upstream, connect: Connect) -> None:
    upstream.always = reply.failed(500, retry_after_ms="10")
    with pytest.raises(errors.ModelServerError):
        stream.complete_answer(connect(model_retries=2), QUESTION)
    assert len(upstream.requests) == 3


def test_an_empty_account_is_not_asked_again(upstream: Upstream, connect: Connect) -> None:
    upstream.always = reply.failed(429, "insufficient_quota", kind="insufficient_quota", retry_after_ms="10")
    with pytest.raises(errors.NoCredit):
        stream.complete_answer(connect(model_retries=2), QUESTION)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "silence", [reply.silent(), reply.said("it hangs").but(end="hang", chunks=reply.said("a").chunks[:2])]
)
def test_silence_ends_in_a_time_out_that_is_not_repeated(
    upstream: Upstream, connect: Connect, silence: reply.Reply
) -> None:
    upstream.always = silence
    with pytest.raises(errors.ModelTimeout, match=r"0\.3 s"):
        stream.complete_answer(connect(model_timeout=0.3), QUESTION)
    assert len(upstream.requests) == 1


def test_signs_of_life_hold_the_time_out_off(upstream: Upstream, connect: Connect) -> None:
    pings = (": ping\n\n",) * 6
    upstream.add(reply.Reply(chunks=(*pings, *reply.said("slow but sure").chunks), pause=0.3))
    assert stream.complete_answer(connect(model_timeout=1.5), QUESTION).text == "slow but sure"


def test_a_server_that_is_not_there_is_unreachable(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(errors.ModelUnreachable, match=str(port)):
        stream.complete_answer(connect(url=f"http://127.0.0.1:{port}/v1", model_retries=0), QUESTION)


def test_a_server_that_hangs_up_without_an_answer_is_broken(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        answers = stream.stream_answer(
            connect(url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", model_retries=0), QUESTION
        )
        threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
        with pytest.raises(errors.ModelBroken):
            list(answers)


def test_the_key_stands_in_no_representation(connect: Connect) -> None:
    assert "sk-secret" not in repr(connect())


def test_a_call_is_repeated_without_the_optional_fields_that_the_model_does_not_take(
    upstream: Upstream, connect: Connect
) -> None:
    upstream.add(
        reply.failed(400, "unsupported_value", param="temperature"),
        reply.failed(400, "unsupported_parameter", param="stop"),
        reply.said("ok"),
        reply.said("ok"),
        reply.failed(400, "unsupported_value", param="temperature"),
    )
    model = connect()
    limits: dict[str, Any] = {"temperature": 0.2, "top_p": 0.5, "optional": ["temperature", "top_p", "stop"]}
    for _ in range(2):
        assert stream.complete_answer(model.bind(stop=["x"]), QUESTION, **limits).text == "ok"
    sent = [{"temperature", "top_p", "stop", "optional"} & set(request.body) for request in upstream.requests]
    assert sent == [{"temperature", "top_p", "stop"}, {"top_p", "stop"}, {"top_p"}, {"top_p"}]
    with pytest.raises(errors.RequestRejected, match="temperature"):  # the user's own choice
        stream.complete_answer(model, QUESTION, temperature=0.2)


def test_a_field_of_the_call_wins_over_the_servers_own_fields(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("ok"), reply.said("ok"))
    model = connect(extra_body={"top_p": 0.8, "top_k": 20})
    stream.complete_answer(model, QUESTION, top_p=0.1)
    stream.complete_answer(model, QUESTION)
    assert [(request.body["top_p"], request.body["top_k"]) for request in upstream.requests] == [(0.1, 20), (0.8, 20)]


def test_images_go_as_content_parts(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("ok"))
    parts: list[str | dict[Any, Any]] = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}},
    ]
    stream.complete_answer(connect(), [HumanMessage(parts)])
    assert upstream.requests[0].body["messages"] == [{"role": "user", "content": parts}]


def test_a_grammar_gives_way_to_an_answer_format(upstream: Upstream, connect: Connect) -> None:
    """llama.cpp takes one of the two."""
    upstream.add(reply.said("{}"), reply.said("ok"))
    model = connect(extra_body={"id_slot": 1, "grammar": "root ::= [^x]"})
    stream.complete_answer(model, QUESTION, response_format={"type": "json_object"})
    stream.complete_answer(model, QUESTION)
    assert ["grammar" in request.body for request in upstream.requests] == [False, True]
    assert [request.body["id_slot"] for request in upstream.requests] == [1, 1]


def test_a_second_answer_is_never_mixed_into_the_first(upstream: Upstream, connect: Connect) -> None:
    def piece(index: int, text: str, finish: str | None = None) -> Any:
        event = reply.delta({"content": text}, finish=finish)
        return {**event, "choices": [{**event["choices"][0], "index": index}]}

    upstream.add(reply.Reply((piece(0, "one"), piece(1, "two"), piece(1, "", "stop"), piece(0, "!", "stop"))))
    assert stream.complete_answer(connect(), QUESTION).text == "one!"
