"""Every way a turn can end, through every door, streamed or whole, with a client that stays or leaves at any moment:
the reply ends, and everything that it took is given back."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.door.a2a.test_auth import MESSAGE, V1
from tests.door.openai.inside import Inside, inside
from tests.stub.reply import called, failed, said
from tests.stub.upstream import Upstream
from tests.wait import until

SLOTS = 2
ROUNDS = 25
Sent = tuple[str, dict[str, Any], dict[str, str]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder: Path = tmp_path_factory.mktemp("ends")
    (folder / "mcp.json").write_text('{"mcpServers": {}}')  # with a host, a model may ask the user
    with Upstream(always=said("Fine.")) as upstream, inside(folder, upstream, api_concurrency=SLOTS) as opened:
        yield opened


ENDS = {
    "done": said("All is well today"),
    "empty": said(""),
    "failed": failed(400, "invalid_prompt"),
    "broken": said("It begins and then").but(end="close"),
    "asked": called("ask_user", {"question": "Which one?", "choices": ["a", "b"]}),
    "slow": said("one two three four five").but(pause=0.05),
}


def request_chat(service: Inside, stream: bool) -> Sent:
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": "Tell me"}], "stream": stream}, {}


def request_response(service: Inside, stream: bool) -> Sent:
    return "/v1/responses", {"input": "Tell me", "stream": stream}, {}


def request_next_response(service: Inside, stream: bool) -> Sent:
    """A message that follows a response: its request was made in a place of its own once, which forgot something."""
    service.upstream.always = said("The first.")
    first = service.post("/v1/responses", {"input": "Begin"}).json()["id"]
    return "/v1/responses", {"input": "Tell me", "stream": stream, "previous_response_id": first}, {}


def request_task(service: Inside, stream: bool) -> Sent:
    method = "SendStreamingMessage" if stream else "SendMessage"
    message = {**MESSAGE, "messageId": f"m{random.random()}"}
    return "/a2a", {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}, V1


def request_tool(service: Inside, stream: bool) -> Sent:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "ends", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    if stream:
        meta["progressToken"] = "p"
    params = {"name": "chat", "arguments": {"text": "Tell me"}, "_meta": meta}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "chat",
    }
    return "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


DOORS = {each.__name__: each for each in (request_chat, request_response, request_next_response, request_task)}
DOORS[request_tool.__name__] = request_tool


def send(service: Inside, sent: Sent, leaves_after: float | None) -> None:
    """Sends a request, and reads its answer to the end; or leaves after so many seconds."""
    path, body, headers = sent
    patience = httpx2.Timeout(60.0, read=60.0 if leaves_after is None else leaves_after)
    try:
        with httpx2.stream("POST", service.root + path, json=body, headers=headers, timeout=patience) as answer:
            for _ in answer.iter_raw():
                if leaves_after is not None:
                    return
    except httpx2.HTTPError:
        assert leaves_after is not None, "the reply never ended"


@pytest.mark.parametrize("door", sorted(DOORS))
def test_each_door_answers(service: Inside, door: str) -> None:
    path, body, headers = DOORS[door](service, False)
    service.upstream.always = said("All is well today")
    assert "All is well today" in service.post(path, body, **headers).text


def count_taken(service: Inside) -> dict[str, int]:
    """Returns what the requests of the service hold."""
    inner: Any = service.service
    return {
        "places": service.places,
        "running": len(inner._requests._running),
        "gauge": int(inner.metrics.running._value.get()),
        "tasks": len(inner.doors.agents._turns.open),
    }


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(ENDS)),
    st.sampled_from(sorted(DOORS)),
    st.booleans(),
    st.none() | st.floats(0.001, 0.4),
    st.booleans(),
)
def test_every_reply_ends_and_gives_back_what_it_took(
    service: Inside, end: str, door: str, stream: bool, leaves_after: float | None, is_stopped: bool
) -> None:
    sent = DOORS[door](service, stream)
    service.upstream.always = ENDS[end]
    stopper = threading.Timer(0.1, stop_all, [service])
    if is_stopped:
        stopper.start()
    send(service, sent, leaves_after)
    stopper.cancel()
    until(lambda: not any(count_taken(service).values()))


def stop_all(service: Inside) -> None:
    for session in service.agent.store.everyone.sessions(limit=10):
        service.agent.stop(session.id)


def test_threads_and_places_do_not_grow(service: Inside) -> None:
    """As many requests at once as the settings allow, again and again: less than a thread for each time is left. Pools
    of the libraries take a few more until each is as large as it may be; a thread that a request keeps counts more."""
    service.upstream.always = said("Fine.")
    before = threading.active_count()
    for _ in range(ROUNDS):
        answers = [threading.Thread(target=service.ask, args=["Hello"]) for _ in range(SLOTS)]
        for each in answers:
            each.start()
        for each in answers:
            each.join(60)
    assert service.ask("Hello again").status_code == 200
    until(lambda: threading.active_count() < before + ROUNDS)
