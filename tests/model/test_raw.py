from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import errors
from model.raw import RawClient, RawStopped, Upstream
from tests.stub import reply
from tests.stub.upstream import Upstream as Stub
from tests.wait import until

SECONDS = 60.0
BODY: dict[str, Any] = {
    "model": "other-model",
    "messages": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "user", "name": "민수", "content": "안녕", "x_own": [1, {"deep": None}]},
    ],
    "tools": [{"type": "function", "function": {"name": "roll", "parameters": {"type": "object"}}}],
    "top_k": 40,
    "unknown": {"a": [True, 1.5, "é"]},
}


def client(stub: Stub, seconds: float = SECONDS, **more: Any) -> RawClient:
    return RawClient(Upstream(stub.url, "sk-secret-1", "stub-model", seconds, **more))


def test_the_request_goes_as_it_is(upstream: Stub) -> None:
    upstream.add(reply.said("Hello there"))
    with client(upstream).ask(BODY, threading.Event()) as answer:
        got = json.loads(answer.whole())
    assert upstream.requests[0].body == BODY
    assert upstream.requests[0].headers["authorization"] == "Bearer sk-secret-1"
    assert (answer.status, got["choices"][0]["message"]["content"]) == (200, "Hello there")


def test_what_a_server_needs_beyond_it_is_added(upstream: Stub) -> None:
    upstream.add(reply.said("Hello"))
    with client(upstream, fields={"id_slot": 0}).ask(BODY, threading.Event()) as answer:
        answer.whole()
    assert upstream.requests[0].body == {**BODY, "id_slot": 0}


def test_events_come_whole_wherever_the_network_cuts_them(upstream: Stub) -> None:
    pieces = (
        'data: {"a":',
        ' "é"}\r',
        "\n\r\n: note\n",
        "\ndata: x\r\n\r\nevent: ping\ndata: {}",
        "\n\n",
        "data: [DO",
        "NE]",
    )
    upstream.add(reply.Reply(chunks=pieces, end="quiet"))
    with client(upstream).ask({**BODY, "stream": True}, threading.Event()) as answer:
        assert list(answer.events()) == [
            'data: {"a": "é"}\n\n',
            ": note\n\n",
            "data: x\n\n",
            "event: ping\ndata: {}\n\n",
            "data: [DONE]\n\n",
        ]


@pytest.mark.parametrize(("status", "headers"), [(429, {"retry_after": "7"}), (400, {}), (500, {}), (401, {})])
def test_an_error_is_an_answer_and_is_asked_for_once(upstream: Stub, status: int, headers: dict[str, str]) -> None:
    upstream.add(reply.failed(status, "a_code", message="Words of the server.", **headers))
    with client(upstream).ask(BODY, threading.Event()) as answer:
        got = json.loads(answer.whole())
    assert (answer.status, answer.headers.get("retry-after")) == (status, headers.get("retry_after"))
    assert got["error"]["message"] == "Words of the server."
    assert len(upstream.requests) == 1


def test_a_server_that_says_nothing_in_time(upstream: Stub) -> None:
    upstream.add(reply.silent())
    with pytest.raises(errors.ModelTimeout), client(upstream, 0.2).ask(BODY, threading.Event()):
        pass
    assert len(upstream.requests) == 1


def test_a_server_that_falls_silent(upstream: Stub) -> None:
    upstream.add(reply.said("One two").but(end="hang"))
    events = list[str]()
    with (
        pytest.raises(errors.ModelTimeout),
        client(upstream, 0.3).ask({**BODY, "stream": True}, threading.Event()) as answer,
    ):
        events.extend(answer.events())


def test_no_server() -> None:
    nobody = RawClient(Upstream("http://127.0.0.1:9/v1", "", "m", 5.0))
    with pytest.raises(errors.ModelUnreachable), nobody.ask(BODY, threading.Event()):
        pass


def test_a_connection_that_breaks(upstream: Stub) -> None:
    upstream.add(reply.broken("One two three"))
    with pytest.raises(errors.ModelBroken), client(upstream).ask({**BODY, "stream": True}, threading.Event()) as answer:
        list(answer.events())


def test_a_stop_before_the_first_byte_disconnects(upstream: Stub) -> None:
    upstream.add(reply.silent())
    stop = threading.Event()
    failures = list[BaseException]()

    def run() -> None:
        try:
            with client(upstream).ask(BODY, stop):
                pass
        except RawStopped as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: upstream.requests)
    stop.set()
    assert upstream.requests[0].gone.wait(SECONDS)
    thread.join(SECONDS)
    assert len(failures) == 1


def test_a_stop_in_mid_answer_ends_it_without_an_error(upstream: Stub) -> None:
    upstream.add(reply.said(" ".join(["word"] * 500)).but(pause=0.02))
    stop, seen = threading.Event(), 0
    with client(upstream).ask({**BODY, "stream": True}, stop) as answer:
        for _ in answer.events():
            seen += 1
            if seen == 3:
                stop.set()
    assert 3 <= seen < 500
    assert upstream.requests[0].gone.wait(SECONDS)


def test_leaving_the_block_ends_the_call(upstream: Stub) -> None:
    upstream.add(reply.said(" ".join(["word"] * 500)).but(pause=0.02))
    with client(upstream).ask({**BODY, "stream": True}, threading.Event()) as answer:
        next(iter(answer.events()))
    assert upstream.requests[0].gone.wait(SECONDS)


def test_connections_are_used_again(upstream: Stub) -> None:
    upstream.add(*[reply.said("Hello there")] * 3)
    one = client(upstream)
    for streams in (True, False, True):
        with one.ask({**BODY, "stream": streams}, threading.Event()) as answer:
            answer.whole() if not streams else list(answer.events())
    assert len({request.peer for request in upstream.requests}) == 1


def test_the_request_can_be_led_elsewhere(upstream: Stub) -> None:
    upstream.add(reply.said("Hello"))
    seen = list[bytes]()
    with client(upstream, before=lambda request: seen.append(request.content)).ask(BODY, threading.Event()) as answer:
        answer.whole()
    assert json.loads(seen[0]) == BODY
