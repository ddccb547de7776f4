"""The embedded server, with a real small model: one for all processes, gone with the last, back when it died."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from langchain_core.messages import HumanMessage

import settings
from errors import EmbeddedFailed
from model.choice import resolve
from model.embedded import llama_server, serve, slot
from model.embedded.llama_server import Embedded
from model.file_lock import is_lock_held
from model.profile import QWEN
from tests.model_server import release_servers

pytestmark = pytest.mark.small_model

CLIENT = """
    import sys, settings
    from pathlib import Path
    from model.embedded import llama_server
    path, data = sys.argv[1:]
    given = settings.load_settings(embedded_path=path, data_dir=data, embedded_context=4096, embedded_threads=1)
    print(llama_server.connect_embedded_server(given, Path(path)).pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder that the tests of this file share, and so the server."""
    yield tmp_path_factory.mktemp("embedded")
    release_servers()


def given(path: Path, data: Path) -> settings.Settings:
    return settings.load_settings(
        embedded_path=path, data_dir=data, embedded_context=4096, embedded_threads=1, provider="embedded"
    )


@pytest.fixture
def server(small_model: Path, data: Path) -> Embedded:
    return llama_server.connect_embedded_server(given(small_model, data), small_model)


@contextmanager
def client(path: Path, data: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the model until its input ends."""
    code = textwrap.dedent(CLIENT)
    command = [sys.executable, "-c", code, str(path), str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def pid_of(process: subprocess.Popen[str]) -> int:
    """The server's pid, as that client sees it; waits until it is connected."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone_within(pid: int, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not lives(pid)


def kill(server: Embedded, data: Path) -> None:
    """End the server as a crash would, and wait until the system has taken back all that it held."""
    os.kill(server.pid, signal.SIGKILL)
    lock = next(data.glob("embedded/*/server.lock"))
    while is_lock_held(lock):
        time.sleep(0.01)


def state_file(data: Path) -> Path:
    return next(data.glob("embedded/*/state.json"))


def test_it_listens_on_this_machine_only(server: Embedded) -> None:
    listening = [each.laddr.ip for each in psutil.Process(server.pid).net_connections() if each.status == "LISTEN"]
    assert listening == ["127.0.0.1"]


def test_the_key_is_required(server: Embedded) -> None:
    with_key = {"Authorization": f"Bearer {server.key}"}
    assert httpx2.get(server.url + "/models").status_code == 401
    assert httpx2.post(server.url + "/chat/completions", json={"messages": []}).status_code == 401
    assert httpx2.get(server.url + "/models", headers=with_key).status_code == 200
    assert len(server.key) >= 32


def test_only_this_user_can_read_the_key(server: Embedded, data: Path) -> None:
    state = state_file(data)
    assert state.stat().st_mode & 0o777 == 0o600
    assert json.loads(state.read_text())["key"] == server.key
    assert server.key not in server.log.read_text()
    assert server.key not in " ".join(psutil.Process(server.pid).cmdline())


def test_a_second_process_uses_the_same_server(server: Embedded, small_model: Path, data: Path) -> None:
    with client(small_model, data) as other:
        assert pid_of(other) == server.pid


def ask(server: Embedded, text: str) -> tuple[int, int]:
    """Prompt tokens, and how many of them came from the cache."""
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 2, **slot.CALL}
    headers = {"Authorization": f"Bearer {server.key}"}
    answer = httpx2.post(server.url + "/chat/completions", json=body, headers=headers, timeout=60)
    usage = answer.raise_for_status().json()["usage"]
    return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


def test_a_conversation_that_goes_on_is_not_read_again(server: Embedded) -> None:
    talk = "tell me about rivers " * 20
    ask(server, talk)
    tokens, cached = ask(server, f"{talk} more")
    assert cached > 0.9 * tokens - 10


def test_no_answer_begins_with_a_letter_that_may_not_be_first(server: Embedded) -> None:
    def answer(**sampling: Any) -> str:
        asked = [{"role": "user", "content": "Say hello in two sentences."}]
        body = {"messages": asked, "max_tokens": 12, "temperature": 0, **slot.CALL, **sampling}
        headers = {"Authorization": f"Bearer {server.key}"}
        told = httpx2.post(server.url + "/chat/completions", json=body, headers=headers, timeout=60)
        return str(told.raise_for_status().json()["choices"][0]["message"]["content"])

    first = answer()[0]
    free = answer(**replace(QWEN, never_first=first).body())
    assert free
    assert free[0] != first
    assert answer(**replace(QWEN, never_first="죄").body())[0] == first


def test_its_threads_do_not_spin_for_long_unless_the_user_says_so(
    server: Embedded, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert psutil.Process(server.pid).environ()["GOMP_SPINCOUNT"] == "1000"
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    own = llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    assert psutil.Process(own.pid).environ()["GOMP_SPINCOUNT"] == "7"


def test_two_sessions_that_ask_at_once_are_both_answered(server: Embedded) -> None:
    """With prompts kept in memory beyond the slot, llama.cpp went round in circles after a few of these calls."""

    def talk(session: int) -> int:
        own = f"the tale of session {session} " * 13
        return sum(ask(server, own + f"and of day {day} " * (7 + 20 * (day % 3)))[0] > 0 for day in range(6))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(talk, range(2))) == [6, 6]


def test_models_answer_through_it_and_count_exactly(server: Embedded, small_model: Path, data: Path) -> None:
    found = resolve.resolve_models(given(small_model, data))
    assert (found.kind, found.url, found.context_size) == ("embedded", server.url, 4096)
    assert found.profile.name == found.side.name == "small"
    assert found.exact
    assert found.count("one two three") == 3
    assert found.utility.invoke([HumanMessage("Say yes.")], max_tokens=4).content


def test_a_server_that_died_is_back_at_the_next_request(server: Embedded, small_model: Path, data: Path) -> None:
    models = resolve.resolve_models(given(small_model, data))
    kill(server, data)
    assert models.utility.invoke([HumanMessage("Say yes.")], max_tokens=4).content
    again = llama_server.connect_embedded_server(given(small_model, data), small_model)
    assert again.pid != server.pid
    assert (again.url, again.key) == (server.url, server.key)


def test_a_port_that_something_else_took_is_not_used_nor_is_the_key(
    server: Embedded, small_model: Path, data: Path
) -> None:
    kill(server, data)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", urlsplit(server.url).port))
        other.listen()
        again = llama_server.connect_embedded_server(given(small_model, data), small_model)
    assert again.url != server.url
    assert again.key != server.key


def test_a_server_that_refuses_the_key_is_replaced(server: Embedded, small_model: Path, data: Path) -> None:
    state = state_file(data)
    state.write_text(json.dumps({"url": server.url, "key": "wrong", "pid": server.pid}))
    again = llama_server.connect_embedded_server(given(small_model, data), small_model)
    assert again.pid != server.pid
    assert gone_within(server.pid)


def test_it_ends_after_the_last_client_even_when_that_one_was_killed(small_model: Path, tmp_path: Path) -> None:
    with client(small_model, tmp_path) as first, client(small_model, tmp_path) as second:
        pid = pid_of(first)
        assert pid_of(second) == pid
        first.terminate()
        first.wait()
        time.sleep(serve.LINGER + 1)
        assert lives(pid)
        second.kill()
        second.wait()
        assert gone_within(pid)
    assert not list(tmp_path.glob("embedded/*/state.json"))


def test_a_broken_file_fails_at_once_with_the_reason_and_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(8) + b"nonsense" * 100)
    with pytest.raises(EmbeddedFailed, match="The embedded model broken did not start: ") as raised:
        llama_server.connect_embedded_server(given(broken, tmp_path / "data"), broken)
    assert raised.value.values.get("reason_code") != "late", "nobody waits for a server that has ended"
    assert Path(raised.value.values["log"]).read_text()
    assert "code" not in raised.value.values["reason"]
