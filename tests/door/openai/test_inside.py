"""The service with a look inside: silence, tools before an answer, its end, faults, the log, counters, spans."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.server import service as served
from door.endpoint import before_ending
from door.openai import reply
from errors import SessionBusy
from graph.turn.agent import open_agent
from graph.turn.event import Done, Token, ToolStarted
from server.access import Access
from server.refusal import Refusal
from server.request import running
from server.request.running import Emit, Items, Requests
from settings import load_settings
from store.user.api_key import ApiKey
from tests.door.openai.inside import Inside, content, history, inside
from tests.door.openai.running import CALM
from tests.stub.reply import Reply, called, delta, failed, said
from tests.stub.upstream import Upstream
from tests.wait import until


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said("Fine.")) as opened:
        yield opened


@pytest.fixture
def service(tmp_path: Path, upstream: Upstream) -> Iterator[Inside]:
    with inside(tmp_path, upstream) as opened:
        yield opened


def events(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]


# --- streams ------------------------------------------------------------------------------------


def test_a_stream_is_never_silent_for_long(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply, "SILENCE", 0.2)
    service.upstream.always = said("At last.").but(silence=1.5)
    answer = service.ask("Take your time", stream=True).text
    assert answer.count(": still at work\n\n") >= 2
    assert content(answer) == "At last."
    assert answer.endswith("data: [DONE]\n\n")


def test_a_session_that_answers_is_busy_after_a_while(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "BUSY_SECONDS", 1.0)
    header = {"X-Gieok-Session": "busy"}
    service.upstream.always = said("one two three").but(pause=3.0)
    body = {**history("Slowly now"), "stream": True}
    with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, headers=header, timeout=60) as answer:
        pieces = answer.iter_text()  # kept: an iterator that is collected ends the request
        next(pieces)
        response = service.post("/v1/chat/completions", history("Meanwhile"), **header)
    assert (response.status_code, response.json()["error"]["code"]) == (409, "session_busy")
    assert int(response.headers["retry-after"]) > 0


def test_a_client_that_leaves_before_its_turn_begins_changes_nothing(service: Inside) -> None:
    """Its message may be answered elsewhere by then: it was sent again, and another worker was quicker."""
    first = service.ask("What is a fjord?")
    session = first.headers["x-gieok-session"]
    answer = first.json()["choices"][0]["message"]["content"]
    for stream in (True, False):
        asked = len(service.upstream.requests)
        body = {**history("What is a fjord?", answer, "And a loch?"), "stream": stream}
        with service.agent.hold(session):
            with pytest.raises(httpx2.ReadTimeout):
                httpx2.post(f"{service.root}/v1/chat/completions", json=body, timeout=1.0)
            until(lambda: service.places == 0)
        assert len(service.upstream.requests) == asked
        assert service.agent.store.session(session).turn_count == 1


def before_a_tool(text: str) -> Reply:
    """A reply that says something before it calls a tool."""
    call = called("calculate", {"expression": "6*7"})
    return replace(call, chunks=(delta({"role": "assistant", "content": text}), *call.chunks))


def test_a_conversation_is_found_by_what_its_stream_showed_before_a_tool_call(service: Inside) -> None:
    service.upstream.replies.extend([before_a_tool("Let me reckon."), said("It is 42.")])
    shown = service.ask("What is 6*7?", stream=True)
    assert content(shown.text) == "Let me reckon.\n\nIt is 42."
    after = service.ask("What is 6*7?", content(shown.text), "And again?")
    assert after.headers["x-gieok-fit"] == "goes_on"
    assert after.headers["x-gieok-session"] == shown.headers["x-gieok-session"]
    kept = service.agent.store.turns(shown.headers["x-gieok-session"], limit=10)
    assert [turn.answer for turn in kept] == ["It is 42.", "Fine."]


def test_a_side_call_streams_and_is_cut_when_its_client_leaves(service: Inside) -> None:
    service.upstream.always = said("one two three four five six seven eight").but(pause=0.3)
    task = (
        "### Task:\nGenerate a concise, 3-5 word title.\n### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>"
    )
    body = {**history(task), "stream": True}
    with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as answer:
        assert "x-gieok-session" not in answer.headers
        pieces = answer.iter_lines()
        while "two" not in next(pieces):
            pass
    assert service.upstream.requests[-1].gone.wait(60)
    assert service.agent.store.sessions(limit=10) == []


def test_a_response_that_is_cut_at_its_limit_is_incomplete(service: Inside) -> None:
    service.upstream.always = said("It goes on", finish="length")
    whole = service.post("/v1/responses", {"input": "Tell me", "max_output_tokens": 16}).json()
    assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    stream = events(service.post("/v1/responses", {"input": "Tell me", "stream": True}).text)
    assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
    assert stream[-1]["type"] == "response.incomplete"
    assert stream[-1]["response"]["output"][0]["status"] == stream[-2]["item"]["status"] == "incomplete"


def test_an_older_response_can_be_followed_once_more(service: Inside) -> None:
    first = service.post("/v1/responses", {"input": "First"})
    link = {"previous_response_id": first.json()["id"]}
    assert service.post("/v1/responses", {"input": "Second", **link}).headers["x-gieok-fit"] == "goes_on"
    other = service.post("/v1/responses", {"input": "Another second", **link})
    assert (other.headers["x-gieok-fit"], other.headers["x-gieok-turn"]) == ("edited", "2")
    kept = service.agent.store.turns(first.headers["x-gieok-session"], limit=10)
    assert [turn.question for turn in kept] == ["First", "Another second"]


def test_a_message_after_a_response_that_failed_and_is_sent_once_more_is_the_same_turn(service: Inside) -> None:
    first = service.post("/v1/responses", {"input": "First"})
    again = {"input": "Second", "previous_response_id": first.json()["id"]}
    service.upstream.add(failed(400))
    assert service.post("/v1/responses", again).status_code >= 400
    answered = service.post("/v1/responses", again)
    assert answered.status_code == 200
    assert (answered.headers["x-gieok-fit"], answered.headers["x-gieok-turn"]) == ("again", "2")
    session = first.headers["x-gieok-session"]
    assert service.agent.store.tree.alternatives(session, [2]) == {}
    assert [turn.status for turn in service.agent.store.turns(session)] == ["done", "done"]


# --- what a client may send ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (rb'{"messages": [{"role": "user", "content": "half \ud83d and nothing \u0000."}]}', (200, None)),
        (rb'{"messages": [{"role": "user", "content": "x"}], "model": "\ud800"}', (404, "model_not_found")),
        (b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}', (400, "invalid_json")),
        (b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1e999}', (400, "invalid_json")),
        (b'{"messages": [{"role": "user", "content": "x"}], "metadata": {"x": 1e999}}', (400, "invalid_json")),
        (b'{"messages": [{"role": "user", "content": "x"}], "temperature": 9}', (400, "out_of_range")),
        (b'{"messages": [{"role": "user", "content": "\xff"}]}', (400, "invalid_json")),
        (b"[" * 100_000, (400, "invalid_json")),
        (b'{"messages": [{"role": "user", "content": "x"}], "function_call": {"name": "f"}}', (400, "invalid_value")),
        (b'{"messages": [{"role": "user", "content": "x"}], "top_logprobs": 2}', (400, "invalid_value")),
        (b'{"messages": "x"}', (400, "invalid_value")),
        (b"", (400, "invalid_json")),
    ],
    ids=lambda value: None if isinstance(value, bytes) else str(value),
)
def test_no_body_is_a_fault_of_ours(service: Inside, body: bytes, expected: tuple[int, str | None]) -> None:
    answer = httpx2.post(f"{service.root}/v1/chat/completions", content=body, timeout=60)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == expected


def test_the_field_user_names_a_person_and_no_session(service: Inside) -> None:
    one, other = (service.ask(f"Hello {at}", user="the same person") for at in (1, 2))
    assert one.status_code == other.status_code == 200
    assert one.headers["x-gieok-session"] != other.headers["x-gieok-session"]


def test_korean_goes_through_unchanged_also_as_the_name_of_a_session(service: Inside) -> None:
    service.upstream.always = said("네, 기억할게요. 🐕")
    path, name = f"{service.root}/v1/chat/completions", "나의 일기"
    headers = {"X-Gieok-Session": name.encode()}
    body = {**history("강아지 이름은 보리야."), "stream": True}
    stream = httpx2.post(path, json=body, headers=headers, timeout=60)  # type: ignore[arg-type]
    assert content(stream.text) == "네, 기억할게요. 🐕"
    again = service.ask("이름이 뭐라고?", metadata={"gieok_session": name})
    assert (again.headers["x-gieok-turn"], again.json()["choices"][0]["message"]["content"]) == (
        "2",
        "네, 기억할게요. 🐕",
    )
    assert "강아지 이름은 보리야." in json.dumps(service.upstream.requests[-1].body, ensure_ascii=False)


def test_embeddings_refuse_a_size_that_the_model_does_not_have(service: Inside) -> None:
    fields = {"encoding_format": "hex"}, {"input": ""}, {"input": [[1, 2]]}, {"input": ["x"] * 3000}
    for field in fields:
        answer = service.post("/v1/embeddings", {"input": "x", **field})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, next(iter(field)))


# --- who may ------------------------------------------------------------------------------------


def test_a_request_from_elsewhere_needs_a_key_also_through_a_proxy_on_this_machine(service: Inside) -> None:
    assert service.ask("From here").status_code == 200
    for header in ({"X-Forwarded-For": "203.0.113.5"}, {"Forwarded": "for=203.0.113.5"}):
        assert service.post("/v1/chat/completions", history("From elsewhere"), **header).status_code == 401


def test_a_key_that_is_barred_from_documents_gets_an_agent_without_them(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, memory=False, retrieval=True)
    agent = open_agent(settings)
    access = Access(agent, settings)
    key = ApiKey("1", "laptop", "ann", True, True, 0.0, None)
    assert access.agent(key).library is not None
    barred = access.agent(replace(key, documents=False))
    assert (barred.library, barred.user) == (None, "ann")
    agent.close()


def test_a_foreign_host_is_told_so_in_the_form_of_an_error(service: Inside) -> None:
    answer = httpx2.get(f"{service.root}/v1/models", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_host")


# --- faults -------------------------------------------------------------------------------------


def test_a_fault_that_nobody_expected_is_an_error_without_content(
    service: Inside, caplog: pytest.LogCaptureFixture
) -> None:
    words = "the user's " + "secret"  # in one piece it would be in a line of code, which the log names

    async def broken() -> None:
        raise ValueError(words)

    service.app.add_api_route("/broken", broken)
    answer = httpx2.get(f"{service.root}/broken")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "unexpected")
    assert "secret" not in answer.text + caplog.text
    assert "failed unexpectedly" in caplog.text


def test_health_says_which_part_is_away(service: Inside, tmp_path: Path) -> None:
    assert httpx2.get(f"{service.root}/healthz").status_code == 200
    with Upstream() as other:
        pass  # its port is closed again
    with inside(tmp_path / "other", other) as away:
        answer = httpx2.get(f"{away.root}/healthz")
        assert answer.status_code == 503
        assert (answer.json()["store"], answer.json()["model"]) == ("ok", "model_unreachable")


# --- its end ------------------------------------------------------------------------------------


def test_a_service_that_ends_takes_nothing_new_and_stops_its_answers_with_what_was_said(service: Inside) -> None:
    service.upstream.always = said("one two three " * 50).but(pause=0.2)
    body = {**history("Go on and on"), "stream": True}
    with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as answer:
        pieces, text = answer.iter_text(), ""
        while "two" not in text:
            text += next(pieces)
        service.service.leave(0.0)
        text += "".join(pieces)
    assert text.endswith("data: [DONE]\n\n")
    (turn,) = service.agent.store.turns(answer.headers["x-gieok-session"], limit=10)
    assert (turn.status, turn.answer) == ("stopped", content(text))
    refused = service.ask("Something new")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
    assert int(refused.headers["retry-after"]) > 0
    assert httpx2.get(f"{service.root}/healthz").status_code == 503


def test_requests_that_are_stopped_at_the_end_are_waited_for() -> None:
    ended = threading.Event()

    def work(stop: threading.Event, emit: object) -> Done:
        assert stop.wait(60)
        ended.set()
        return Done(1, "so far", stopped=True)

    async def run() -> Done:
        counts = list[int]()
        requests = Requests(2, counts.append)
        running = requests.start(work)
        await asyncio.to_thread(requests.close, 0.0)
        assert ended.is_set()
        assert counts == [1, 0]
        end = await running.items.get()
        assert isinstance(end, Done)
        return end

    assert asyncio.run(run()).answer == "so far"


def test_pieces_that_wait_become_one_and_keep_their_place() -> None:
    tool = ToolStarted("1", "clock", {})

    async def run() -> list[object]:
        items = Items(asyncio.get_running_loop())
        items.put(Token("at once"))
        first = await items.get()
        for item in (Token("a"), Token("b"), tool, Token("c"), Token("d"), Done(1, "abcd")):
            items.put(item)
        return [first, *[await items.get() for _ in range(4)]]

    assert asyncio.run(run()) == [Token("at once"), Token("ab"), tool, Token("cd"), Done(1, "abcd")]


def test_a_burst_from_a_thread_arrives_in_order_and_whole() -> None:
    pieces = [f"{number} " for number in range(5000)]

    def burst(stop: threading.Event, emit: Emit) -> Done:
        for piece in pieces:
            emit(Token(piece))
        return Done(1, "all")

    async def run() -> str:
        requests, text = Requests(1), ""
        running = requests.start(burst)
        while isinstance(item := await running.items.get(), Token):
            text += item.text
        assert item == Done(1, "all")
        await asyncio.to_thread(requests.close)
        return text

    assert asyncio.run(run()) == "".join(pieces)


def test_a_wait_that_timed_out_loses_no_item() -> None:
    async def run() -> object:
        items = Items(asyncio.get_running_loop())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await items.get()
        await asyncio.to_thread(items.put, Token("late"))
        return await items.get()

    assert asyncio.run(run()) == Token("late")


def test_a_signal_to_end_is_told_to_the_service_before_its_server() -> None:
    heard, before = list[str](), {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGTERM, lambda *_: heard.append("server"))
        before_ending(lambda: heard.append("service"))
        signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert heard == ["service", "server"]


def test_a_request_of_a_busy_session_waits_without_a_thread() -> None:
    free, tried = threading.Event(), threading.Event()

    def waiting(stop: threading.Event, emit: object) -> Done:
        tried.set()
        if not free.is_set():
            raise SessionBusy(session="one")
        return Done(1, "after")

    def quick(stop: threading.Event, emit: object) -> Done:
        assert tried.wait(60)
        free.set()
        return Done(2, "meanwhile")

    async def run() -> list[object]:
        requests = Requests(1)
        running = [requests.start(waiting), requests.start(quick)]
        ends = [await request.items.get() for request in reversed(running)]
        await asyncio.to_thread(requests.close)
        return list(ends)

    assert asyncio.run(run()) == [Done(2, "meanwhile"), Done(1, "after")]


def test_a_request_that_is_stopped_while_it_waits_never_begins() -> None:
    """Its client left, and what it asked may have been answered elsewhere since."""
    free, begun = threading.Event(), list[str]()

    def slow(stop: threading.Event, emit: object) -> Done:
        assert free.wait(60)
        return Done(1, "slow")

    def late(stop: threading.Event, emit: object) -> Done:
        begun.append("late")
        return Done(2, "late")

    async def run() -> str:
        requests = Requests(1)
        first, second = requests.start(slow), requests.start(late)
        second.stop.set()
        free.set()
        assert await first.items.get() == Done(1, "slow")
        refusal = await second.items.get()
        assert isinstance(refusal, Refusal)
        await asyncio.to_thread(requests.close)
        return refusal.code

    assert asyncio.run(run()) == "stopped"
    assert begun == []


# --- what is kept of requests -------------------------------------------------------------------


def test_the_log_has_ids_and_never_content(service: Inside, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gieok.endpoint")
    answer = service.ask("A very private matter")
    refused = service.ask("Another private matter", n=2)
    wanted = {answer.headers["x-request-id"], refused.headers["x-request-id"]}
    lines = list[str]()
    while len({one for one in wanted for line in lines if one in line}) < len(
        wanted
    ):  # written after the answer is sent
        lines = [record.getMessage() for record in caplog.records if record.name == "gieok.endpoint"]
        time.sleep(0.01)
    first = next(line for line in lines if answer.headers["x-request-id"] in line)
    assert f"/v1/chat/completions 200 session {answer.headers['x-gieok-session']} turn 1" in first
    assert any(refused.headers["x-request-id"] in line and "400" in line and "invalid_value" in line for line in lines)
    assert "private" not in caplog.text


def metrics(root: str) -> dict[str, float]:
    lines = httpx2.get(f"{root}/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[:1] not in ("#", ""))}


def test_counters_tell_routes_statuses_tokens_and_clients_that_left(service: Inside) -> None:
    service.ask("Count me")
    service.ask("Count me not", n=2)
    service.upstream.always = said("one two three four five").but(pause=0.3)
    body = {**history("And leave"), "stream": True}
    with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as answer:
        next(answer.iter_text())
    assert service.upstream.requests[-1].gone.wait(60)
    left = 'gieok_requests_total{route="/v1/chat/completions",status="499"}'
    while left not in (counted := metrics(service.root)):  # the test's own time limit ends this
        pass
    assert counted['gieok_requests_total{route="/v1/chat/completions",status="200"}'] == 1
    assert counted['gieok_requests_total{route="/v1/chat/completions",status="400"}'] == 1
    assert counted['gieok_errors_total{code="invalid_value"}'] == 1
    assert counted['gieok_tokens_total{kind="prompt"}'] >= 20
    assert counted["gieok_answer_seconds_count"] == 1
    assert 'gieok_tokens_total{kind="saved"}' in counted


def test_any_worker_tells_the_sum_of_all(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream.url, 2, **CALM) as server:
        root = server.url.removesuffix("/v1")
        for number in range(8):  # a connection of its own each: the workers take turns
            httpx2.post(f"{server.url}/chat/completions", json=history(f"Question {number}"), timeout=60)
        name = 'gieok_requests_total{route="/v1/chat/completions",status="200"}'
        until(lambda: metrics(root)[name] == 8.0)  # a client may have its answer before the request is counted
        assert {metrics(root)[name] for _ in range(8)} == {8.0}
        assert metrics(root)["gieok_running_turns"] == 0


# --- spans --------------------------------------------------------------------------------------


@contextmanager
def collector() -> Iterator[tuple[str, list[Span], threading.Event]]:
    """A collector of OpenTelemetry on this machine: its address, the spans that it got, whether it got any."""
    spans, arrived = list[Span](), threading.Event()

    class Collect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
            spans.extend(
                span for resource in sent.resource_spans for scope in resource.scope_spans for span in scope.spans
            )
            arrived.set()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collect)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", spans, arrived
    server.shutdown()
    server.server_close()


def test_spans_go_to_the_address_that_is_set_and_hold_no_content(tmp_path: Path, upstream: Upstream) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    with collector() as (address, spans, arrived):
        with inside(tmp_path, upstream, otlp_endpoint=address) as service:
            parent = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
            answer = service.post("/v1/chat/completions", history("A private matter"), **parent)
        assert arrived.wait(60)
    (span,) = (span for span in spans if span.name == "POST /v1/chat/completions")
    attributes = {entry.key: entry.value for entry in span.attributes}
    assert span.trace_id.hex() == trace
    assert attributes["gieok.session.id"].string_value == answer.headers["x-gieok-session"]
    assert attributes["http.response.status_code"].int_value == 200
    assert attributes["gen_ai.usage.input_tokens"].int_value > 0
    assert "private" not in str(span)


def test_without_an_address_nothing_of_opentelemetry_runs(service: Inside) -> None:
    assert service.service.tracing is None
