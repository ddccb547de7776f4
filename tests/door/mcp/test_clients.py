"""Clients of the SDK's previous major version, and the service with several workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from bench.server import ROOT, Server, service
from server.request.running import LEAVE_SECONDS
from tests.door.mcp.opened import ERAS, Era, talked
from tests.door.mcp.test_stdio import COMMAND, variables
from tests.door.openai.running import CALM, Running, running
from tests.installed import find_program
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream

TEXT = "식탁을 예약해 줘"


def old(*arguments: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """What a client of the previous major version saw."""
    python = find_program("mcp1", "bin/python")
    script = Path(__file__).with_name("client_v1.py")
    command = [str(python), str(script), TEXT, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment or dict(os.environ), cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said("반가워요, nice to meet you.")) as opened:
        yield opened


def check(seen: dict[str, Any]) -> None:
    assert seen["version"] == "2025-11-25"
    assert {"chat", "summaries", "world_state"} <= set(seen["tools"])
    assert seen["told"]["answer"] == "".join(seen["pieces"]) == "반가워요, nice to meet you."
    assert TEXT in seen["transcript"]


def test_the_previous_client_over_http(tmp_path: Path) -> None:
    with running(tmp_path) as opened:
        opened.answers[TEXT] = said("반가워요, nice to meet you.")
        check(old(f"{opened.root}/mcp"))


def test_the_previous_client_is_asked_in_mid_call(tmp_path: Path) -> None:
    with running(tmp_path) as opened:
        opened.answers[TEXT] = called("ask_user", {"question": "언제요?", "choices": ["오늘", "내일"]})
        opened.answers["오늘"] = said("오늘이군요.")
        seen = old(f"{opened.root}/mcp")
    assert (seen["told"]["status"], seen["told"]["answer"]) == ("done", "오늘이군요.")
    prompt = json.dumps(opened.upstream.requests[-1].body["messages"], ensure_ascii=False)
    assert "오늘" in prompt


def test_the_previous_client_over_standard_input(tmp_path: Path, upstream: Upstream) -> None:
    settings = variables(tmp_path, upstream)
    command = ["env", *(f"{name}={value}" for name, value in settings.items()), *COMMAND]
    check(old(*command))


# --- several workers ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("workers")
    with Upstream(always=said("Noted.")) as upstream, service(folder, upstream.url, 2, **CALM) as opened:
        yield opened


@pytest.mark.parametrize("era", ERAS)
def test_a_conversation_hops_between_two_workers(workers: Server, era: Era) -> None:
    """Each client of its own may meet another worker; a session of the protocol would be unknown there."""
    url = workers.url.removesuffix("/v1") + "/mcp"
    turns = []
    for number in range(6):
        call = {"text": f"Message {number}", "session": f"hop {era}"}

        async def talk(made: Client, call: dict[str, str] = call) -> Any:
            told = await made.call_tool("chat", call)
            uri = f"gieok://session/{told.structured_content['session']}/transcript"
            return told, await made.read_resource(uri)

        told, transcript = talked(Client(url, mode=era), talk)
        turns.append(told.structured_content["turn"])
        assert f"Message {number}" in transcript.contents[0].text
    assert turns == [1, 2, 3, 4, 5, 6]


# --- its end ------------------------------------------------------------------------------------


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as opened:
        opened.answers["Slowly"] = said("one two three four five six seven eight").but(pause=0.3)
        yield opened


@pytest.mark.parametrize("era", ERAS)
def test_a_service_that_ends_lets_a_running_call_come_to_its_end(slow: Running, era: Era) -> None:
    pieces: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        if not pieces:
            slow.server.process.send_signal(signal.SIGTERM)
        pieces.append(message or "")

    async def talk(made: Client) -> Any:
        await made.list_tools()  # else the client asks for them after the call, to check its result
        return await made.call_tool("chat", {"text": "Slowly", "session": "s"}, progress_callback=progress)

    told = talked(Client(f"{slow.root}/mcp", mode=era), talk)
    assert told.structured_content["answer"] == "one two three four five six seven eight"
    slow.server.process.wait(60)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_only_listens_does_not_hold_up_the_end(slow: Running, era: Era) -> None:
    async def talk(made: Client) -> Any:
        await made.call_tool("world_state", {})
        slow.server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(slow.server.process.wait, LEAVE_SECONDS - 5)
        return "it has ended"

    assert talked(Client(f"{slow.root}/mcp", mode=era), talk) == "it has ended"
