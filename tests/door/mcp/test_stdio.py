"""``python cli.py serve mcp``: a process whose standard output carries the protocol alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.server import ROOT, environment
from store import Store
from tests.door.mcp.opened import ERAS, Era, Talk, talked
from tests.door.openai.running import CALM
from tests.stub.reply import said
from tests.stub.upstream import Upstream

COMMAND = [sys.executable, "cli.py", "serve", "mcp"]
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said("알겠어요. Noted.")) as running:
        yield running


def variables(folder: Path, upstream: Upstream, **more: str) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return environment(folder, upstream.url, **{**CALM, **more})


def talk_to(folder: Path, upstream: Upstream, talk: Talk, era: Era = "auto", **more: str) -> Any:
    """What comes of talking to a server that the client starts as its child."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=COMMAND[1:], env=variables(folder, upstream, **more), cwd=str(ROOT)
    )
    with (folder / "client.log").open("w") as log:
        return talked(Client(stdio_client(parameters, errlog=log), mode=era), talk)


@contextmanager
def process(folder: Path, upstream: Upstream, **more: str) -> Iterator[subprocess.Popen[str]]:
    """The server without a client of the SDK: its lines as they are."""
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(
            COMMAND, cwd=ROOT, env=variables(folder, upstream, **more), stdin=-1, stdout=-1, stderr=log, text=True
        )
        yield running
        running.kill()
        running.wait(60)
        for pipe in (running.stdin, running.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


def send(running: subprocess.Popen[str], method: str, number: int | None, params: Any = None) -> None:
    body = {"jsonrpc": "2.0", "method": method, "params": params or {}} | ({} if number is None else {"id": number})
    assert running.stdin is not None
    print(json.dumps(body, ensure_ascii=False), file=running.stdin, flush=True)


def heard(running: subprocess.Popen[str], number: int) -> dict[str, Any]:
    """The answer to a request; every line before it must be a message of the protocol, too."""
    assert running.stdout is not None
    while True:
        line = running.stdout.readline()
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if message.get("id") == number:
            return message


@pytest.mark.parametrize("era", ERAS)
def test_a_conversation_over_standard_input(tmp_path: Path, upstream: Upstream, era: Era) -> None:
    async def talk(made: Client) -> Any:
        names = {tool.name for tool in (await made.list_tools()).tools}
        told = await made.call_tool("chat", {"text": "제 개는 보리예요.", "session": "개"})
        return names, told

    names, told = talk_to(tmp_path, upstream, talk, era)
    assert {"chat", "world_state"} <= names
    assert told.structured_content["answer"] == "알겠어요. Noted."
    store = Store(f"sqlite:///{tmp_path / 'data' / 'gieok.db'}")
    session = store.find_session("개")  # of the user of this machine
    store.close()
    assert session is not None
    assert session.owner == "me"


def test_standard_output_carries_only_the_protocol_with_the_embedded_servers_underneath(
    tmp_path: Path, upstream: Upstream
) -> None:
    """Memory's server is a child, and documents are indexed meanwhile: nothing of both is written there."""
    more = {"GIEOK_MEMORY": "true", "GIEOK_RETRIEVAL": "true"}
    with process(tmp_path, upstream, **more) as running:
        send(running, "initialize", 1, BEGIN)
        assert heard(running, 1)["result"]["protocolVersion"] == "2025-11-25"
        send(running, "notifications/initialized", None)
        send(running, "tools/call", 2, {"name": "chat", "arguments": {"text": "Hello", "session": "s"}})
        assert heard(running, 2)["result"]["structuredContent"]["status"] == "done"
        children = psutil.Process(running.pid).children(recursive=True)
        assert children
        assert running.stdin is not None
        assert running.stdout is not None
        wire = f"pipe:[{os.fstat(running.stdout.fileno()).st_ino}]"
        for child in children:
            assert wire not in {str(file.readlink()) for file in Path(f"/proc/{child.pid}/fd").iterdir()}
        running.stdin.close()
        rest = running.stdout.read()  # ends only when no child holds it
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
        assert running.wait(60) == 0


def test_standard_output_carries_only_the_protocol_with_the_embedded_model(
    tmp_path: Path, upstream: Upstream, small_model: Path
) -> None:
    own = {"GIEOK_PROVIDER": "embedded", "GIEOK_EMBEDDED_PATH": str(small_model), "GIEOK_EMBEDDED_CONTEXT": "2048"}
    none = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "CHAT_MODEL": "", "GIEOK_EMBEDDED_THREADS": "1"}
    with process(tmp_path, upstream, **own, **none) as running:
        send(running, "initialize", 1, BEGIN)
        heard(running, 1)
        send(running, "notifications/initialized", None)
        send(running, "tools/call", 2, {"name": "chat", "arguments": {"text": "Tell me of the sea", "session": "s"}})
        told = heard(running, 2)["result"]["structuredContent"]
        assert (told["status"], bool(told["answer"])) == ("done", True)
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.close()
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in running.stdout.read().splitlines())
        assert running.wait(60) == 0


def test_garbage_on_standard_input_does_not_end_the_server(tmp_path: Path, upstream: Upstream) -> None:
    with process(tmp_path, upstream) as running:
        assert running.stdin is not None
        print("this is no JSON", file=running.stdin, flush=True)
        print('{"jsonrpc": "2.0"}', file=running.stdin, flush=True)
        send(running, "initialize", 1, BEGIN)
        assert heard(running, 1)["result"]["serverInfo"]["name"] == "gieok"


def test_a_client_that_goes_stops_its_turn_and_the_server_ends(tmp_path: Path, upstream: Upstream) -> None:
    slow = said("one two three four five six seven eight nine ten " * 20).but(pause=0.1)
    with Upstream(always=slow) as slowly, process(tmp_path, slowly) as running:
        send(running, "initialize", 1, BEGIN)
        heard(running, 1)
        send(running, "notifications/initialized", None)
        call = {"name": "chat", "arguments": {"text": "Slowly", "session": "s"}, "_meta": {"progressToken": "p"}}
        send(running, "tools/call", 2, call)
        assert running.stdout is not None
        assert "notifications/progress" in running.stdout.readline()
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(60) == 0
    store = Store(f"sqlite:///{tmp_path / 'data' / 'gieok.db'}")
    session = store.find_session("s")
    assert session is not None
    turn = store.turn(session.id, 1)
    store.close()
    assert turn is not None
    assert turn.status == "stopped"
    assert (turn.answer or "").startswith("one")


def test_a_killed_server_loses_only_the_answer_under_way(tmp_path: Path, upstream: Upstream) -> None:
    slow = said("one two three four five six seven eight nine ten " * 20).but(pause=0.1)
    with Upstream(said("First."), always=slow) as slowly, process(tmp_path, slowly) as running:
        send(running, "initialize", 1, BEGIN)
        heard(running, 1)
        send(running, "notifications/initialized", None)
        send(running, "tools/call", 2, {"name": "chat", "arguments": {"text": "Hello", "session": "s"}})
        heard(running, 2)
        call = {"name": "chat", "arguments": {"text": "Slowly", "session": "s"}, "_meta": {"progressToken": "p"}}
        send(running, "tools/call", 3, call)
        assert running.stdout is not None
        assert "notifications/progress" in running.stdout.readline()
        running.kill()
        running.wait(60)
    again = {"text": "Slowly", "session": "s"}
    told = talk_to(tmp_path, upstream, lambda made: made.call_tool("chat", again)).structured_content
    assert (told["turn"], told["status"]) == (2, "done")


def test_several_calls_at_once(tmp_path: Path, upstream: Upstream) -> None:
    async def talk(made: Client) -> Any:
        calls = [made.call_tool("chat", {"text": f"Hello {number}"}) for number in range(8)]
        return await asyncio.gather(*calls)

    results = talk_to(tmp_path, upstream, talk)
    assert len({result.structured_content["session"] for result in results}) == 8
