"""``/mcp`` of the service: keys and users, limits, cancelling, and its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.door.mcp.opened import ERAS, Era, talked
from tests.door.openai.inside import Inside, inside
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream
from tests.wait import until

LONG = said("one two three four five six seven eight nine ten").but(pause=0.2)
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said("Noted.")) as running:
        yield running


@pytest.fixture
def service(tmp_path: Path, upstream: Upstream) -> Iterator[Inside]:
    upstream.always = said("Noted.")
    with inside(tmp_path, upstream) as running:
        yield running


def client(service: Inside, era: Era = "auto", key: str = "", **options: Any) -> Client:
    """A client with this key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    return Client(Closing(http, f"{service.root}/mcp"), mode=era, **options)


class Closing(AbstractAsyncContextManager[Any]):
    """The transport of an HTTP client, which it closes at its end."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http, self._transport = http, streamable_http_client(url, http_client=http)

    async def __aenter__(self) -> Any:
        return await self._transport.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self._transport.__aexit__(*error)
        finally:
            await self._http.aclose()


def ask(service: Inside, text: str, session: str = "", era: Era = "auto", key: str = "") -> Any:
    arguments = {"text": text, "session": session}
    return talked(client(service, era, key), lambda made: made.call_tool("chat", arguments))


def message(method: str, params: dict[str, Any] | None = None, number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def post(service: Inside, body: Any, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{service.root}/mcp", json=body, headers={**HEADERS, **headers}, timeout=60)


# --- keys and users -----------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_one_session_goes_on_from_here_and_from_the_endpoint(service: Inside, era: Era) -> None:
    first = ask(service, "My dog is called Bori.", "our chat", era).structured_content
    body = {"messages": [{"role": "user", "content": "And mine Nabi."}], "metadata": {"gieok_session": "our chat"}}
    second = service.post("/v1/chat/completions", body)
    assert second.headers["x-gieok-session"] == first["session"]
    third = ask(service, "Which ones?", "our chat", era).structured_content
    assert (third["session"], third["turn"]) == (first["session"], 3)
    prompt = json.dumps(service.upstream.requests[-1].body["messages"])
    assert "Bori" in prompt
    assert "Nabi" in prompt


@pytest.mark.parametrize("key", ["", "gk-0000000000-wrong", "revoked"])
def test_without_a_good_key_nothing_is_told(service: Inside, key: str) -> None:
    keys = service.agent.store.api_keys
    secret = keys.add("laptop", "mina")
    if key == "revoked":
        keys.revoke(secret.split("-")[1])
        key = secret
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    for body in (message("initialize"), message("tools/list"), "nonsense"):
        answer = post(service, body, **headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["error"]["data"]["code"] == "invalid_api_key"
    for method in ("GET", "DELETE"):
        assert httpx2.request(method, f"{service.root}/mcp", headers={**HEADERS, **headers}).status_code == 401


@pytest.mark.parametrize("era", ERAS)
def test_each_key_sees_only_the_sessions_of_its_user(service: Inside, era: Era) -> None:
    keys = service.agent.store.api_keys
    mina, jun = keys.add("laptop", "mina"), keys.add("phone", "jun")
    told = ask(service, "I live in Gdansk.", "home", era, mina).structured_content
    assert ask(service, "Hello", "home", era, jun).structured_content["session"] != told["session"]
    uri = f"gieok://session/{told['session']}/transcript"

    async def read(made: Client) -> Any:
        return await made.read_resource(uri)

    assert "Gdansk" in talked(client(service, era, mina), read).contents[0].text
    with pytest.raises(MCPError):
        talked(client(service, era, jun), read)
    listed = talked(client(service, era, jun), lambda made: made.list_resources())
    assert told["session"] not in str(listed)
    guessed = talked(client(service, era, jun), lambda made: made.call_tool("summaries", {"session": told["session"]}))
    assert guessed.is_error


def test_a_session_of_the_handshake_belongs_to_its_key(service: Inside) -> None:
    keys = service.agent.store.api_keys
    mina, jun = ({"Authorization": f"Bearer {keys.add(name, name)}"} for name in ("mina", "jun"))
    begin = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    session = {"Mcp-Session-Id": post(service, message("initialize", begin), **mina).headers["mcp-session-id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(service, ready, **mina, **session).status_code == 202
    assert post(service, message("tools/list", number=2), **mina, **session).status_code == 200
    assert post(service, message("tools/list", number=3), **jun, **session).status_code == 404


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("what", "tools"), [("documents", {"search_documents"}), ("memory", {"recall_memory", "remember", "forget"})]
)
def test_a_key_may_be_barred(tmp_path: Path, upstream: Upstream, era: Era, what: str, tools: set[str]) -> None:
    with inside(tmp_path, upstream, retrieval=True, memory=True) as service:
        keys = service.agent.store.api_keys
        names = {}
        for open_to in (True, False):
            key = keys.add("laptop", "mina", **{what: open_to})
            listed = talked(client(service, era, key), lambda made: made.list_tools())
            names[open_to] = {tool.name for tool in listed.tools}
        assert names[True] - names[False] == tools
        for tool in tools:
            with pytest.raises(MCPError):
                talked(client(service, era, key), partial(_call, tool))


async def _call(tool: str, made: Client) -> Any:
    return await made.call_tool(tool, {"query": "x"})


PARTS = ("transcript", "summaries", "memory")


@pytest.mark.parametrize("era", ERAS)
def test_a_key_without_memory_reads_and_changes_its_own_conversations_alone(
    tmp_path: Path, upstream: Upstream, era: Era
) -> None:
    with inside(tmp_path, upstream, memory=True) as service:
        keys = service.agent.store.api_keys
        whole, barred = keys.add("laptop", "mina"), keys.add("program", "mina", memory=False)
        told = ask(service, "I live in Gdansk.", "home", era, whole).structured_content["session"]
        own = ask(service, "What is the weather?", "robot", era, barred).structured_content["session"]

        async def look(made: Client) -> dict[str, list[str]]:
            """What each door of the protocol gives of both conversations."""
            uris = [f"gieok://session/{session}/{part}" for session in (told, own) for part in PARTS]
            calls: dict[str, Callable[[], Awaitable[Any]]] = {
                **{uri: partial(made.read_resource, uri) for uri in uris},
                **{
                    f"recap {name}": partial(made.get_prompt, "recap_conversation", {"session": name})
                    for name in (told, own)
                },
                **{
                    f"summaries {name}": partial(made.call_tool, "summaries", {"session": name}) for name in (told, own)
                },
                "search": partial(made.call_tool, "evaluate_memory", {"session": told, "judge": "no"}),
            }
            found = {"list": [str(each.uri) for each in (await made.list_resources()).resources]}
            for name, call in calls.items():
                try:
                    result: Any = await call()
                    found[name] = ["error"] if getattr(result, "is_error", False) else [str(result)]
                except MCPError:
                    found[name] = ["error"]
            return found

        seen = talked(client(service, era, barred), look)
        assert {uri.split("/")[3] for uri in seen["list"]} == {own}
        refused = {name for name, found in seen.items() if found == ["error"]}
        assert refused == {name for name in seen if told in name} | {"search"}
        assert "Gdansk" not in str(seen)
        assert talked(client(service, era, whole), look)[f"recap {own}"] != ["error"], "its user reads all"
        for name in (told, "home"):  # a name of the user's is a name of its own there
            again = ask(service, "Where do I live?", name, era, barred).structured_content
            assert again["session"] not in (told, own)
            prompts = [text for request in upstream.requests if "Where do I live" in (text := json.dumps(request.body))]
            assert "Gdansk" not in prompts[-1]


def test_a_foreign_name_in_host_is_refused(service: Inside) -> None:
    assert post(service, message("ping"), Host="evil.example").status_code == 403
    assert post(service, message("ping"), Origin="http://evil.example").status_code == 403


def test_too_many_calls_are_refused_as_a_result(tmp_path: Path, upstream: Upstream) -> None:
    with inside(tmp_path, upstream, api_rate=2) as service:
        assert not ask(service, "one").is_error
        assert not ask(service, "two").is_error
        refused = ask(service, "three")
    assert refused.is_error
    assert refused.meta["gieok/error"]["code"] == "rate_limit_exceeded"
    assert refused.meta["gieok/error"]["retry_after"] > 0


def test_a_large_body_is_refused(tmp_path: Path, upstream: Upstream) -> None:
    with inside(tmp_path, upstream, api_body_limit=1000) as service:
        assert post(service, message("ping", {"x": "y" * 2000})).status_code == 413


@pytest.mark.parametrize("body", ["nonsense", [], [message("ping")], {"jsonrpc": "2.0", "id": 1}, 7])
@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_what_is_no_message_is_an_error_of_the_protocol(service: Inside, body: Any, version: str) -> None:
    answer = post(service, body, **{"MCP-Protocol-Version": version})
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["code"] in (-32700, -32600, -32602)


# --- cancelling ---------------------------------------------------------------------------------


async def cancelled(made: Client, started: Callable[[], Awaitable[None]]) -> None:
    """Begins a long answer, hears its first pieces, and cancels it."""
    heard = asyncio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    arguments = {"text": "Slowly", "session": "slow"}
    task = asyncio.create_task(made.call_tool("chat", arguments, progress_callback=progress))
    await asyncio.wait_for(heard.wait(), 30)
    await started()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("sessions", [True, False])
def test_a_cancelled_call_stops_its_turn_and_keeps_what_was_said(
    tmp_path: Path, upstream: Upstream, era: Era, sessions: bool
) -> None:
    upstream.always = LONG
    with inside(tmp_path, upstream, mcp_sessions=sessions) as service:

        async def nothing() -> None: ...

        talked(client(service, era), lambda made: cancelled(made, nothing))
        store = service.agent.store
        session = store.find_session("slow")
        assert session is not None
        until(lambda: (row := store.turn(session.id, 1)) is not None and row.status != "running")
        turn = store.turn(session.id, 1)
        assert turn is not None
        assert turn.status == "stopped"
        assert turn.answer
        assert turn.answer.startswith("one")
        assert "ten" not in turn.answer
        assert service.upstream.requests[-1].gone.wait(60)


def begin_session(service: Inside, **capabilities: Any) -> dict[str, str]:
    """Returns the headers of a new session of the handshake."""
    about = {"protocolVersion": HANDSHAKE, "capabilities": capabilities, "clientInfo": {"name": "x", "version": "1"}}
    begun = post(service, message("initialize", about))
    headers = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
    assert post(service, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers).status_code == 202
    return headers


def ask_and_leave(service: Inside, headers: dict[str, str], number: int) -> None:
    """Sends a message whose turn asks its user something, and closes the connection when the question comes."""
    call = message("tools/call", {"name": "chat", "arguments": {"text": "Choose"}}, number)
    whole = {**HEADERS, **headers}
    with httpx2.stream("POST", f"{service.root}/mcp", json=call, headers=whole, timeout=60) as answer:
        assert any("elicitation/create" in line for line in answer.iter_lines())


def test_a_client_that_leaves_while_it_is_asked_keeps_no_place(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')  # with a host, a model may ask the user
    upstream.always = called("ask_user", {"question": "Which one?", "choices": ["a", "b"]})
    with inside(tmp_path, upstream, api_concurrency=2) as service:
        headers = begin_session(service, elicitation={})
        for number in (2, 3):
            ask_and_leave(service, headers, number)
        until(lambda: not service.places)
        upstream.always = said("Noted.")
        assert service.ask("Hello").status_code == 200
        again = post(service, message("tools/list", number=4), **headers)
        assert again.status_code == 200, "the session goes on"


def test_the_counters_and_the_health_are_those_of_the_endpoint(service: Inside) -> None:
    ask(service, "Hello")
    page = httpx2.get(f"{service.root}/metrics").text
    assert 'gieok_requests_total{route="/mcp",status="200"}' in page
    assert "gieok_answer_seconds_count 1.0" in page


@pytest.mark.parametrize("version", [MODERN, HANDSHAKE])
def test_the_log_holds_nothing_of_a_message(
    tmp_path: Path, upstream: Upstream, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with inside(tmp_path, upstream, mcp_sessions=False) as service:
        assert any(post_all(service, version, "tangerine"))
    assert "/mcp" in caplog.text
    assert "tangerine" not in caplog.text


def post_all(service: Inside, version: str, secret: str) -> list[bool]:
    """Sends messages of all kinds that hold a secret; returns which ones were answered."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    calls: tuple[dict[str, Any], ...] = (
        {"name": "chat", "arguments": {"text": secret, "session": secret}},
        {"name": "chat", "arguments": {"txt": secret}},
        {"name": secret, "arguments": {}},
        {"name": "chat", "arguments": secret},
        {"name": "chat", "arguments": {"text": "x"}, "requestState": secret},
        {"name": "summaries", "arguments": {"session": secret}},
    )
    answered = []
    for number, call in enumerate(calls):
        named = {"Mcp-Method": "tools/call", "Mcp-Name": call["name"]} if version == MODERN else {}
        body = message("tools/call", {**call, "_meta": meta}, number)
        answer = post(service, body, **{"MCP-Protocol-Version": version}, **named)
        answered.append("Noted." in answer.text)
    broken: tuple[Any, ...] = (secret, [secret], {"jsonrpc": "2.0", "id": 1, "method": secret}, {"jsonrpc": secret})
    for sent in broken:
        post(service, sent, **{"MCP-Protocol-Version": version})
    return answered
