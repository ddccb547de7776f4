"""Embedded servers that only conversations have chosen end when nothing uses them, and come back when one does."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from langchain_core.messages import HumanMessage

from errors import EmbeddedFailed
from model.call import token
from model.choice import resolve
from model.embedded import idle, llama_server, serve, slot
from model.embedded.idle import IdleWatch, release_idle_servers
from model.embedded.llama_server import Embedded
from model.file_lock import open_lock, try_lock
from tests.model.test_embedded import client, given, gone_within, kill, lives, pid_of
from tests.model_server import release_servers
from tests.stub.upstream import Upstream
from tests.wait import until

pytestmark = pytest.mark.small_model


@pytest.fixture
def start_foreign_program() -> Iterator[Callable[[str], str]]:
    """Starts a foreign program that gives one reply to everything; returns its address."""
    with ExitStack() as ended:

        def start(reply: str) -> str:
            class Foreign(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(reply.encode())

                def log_message(self, format: str, *args: object) -> None:
                    """Say nothing."""

            listening = ended.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Foreign))
            threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
            ended.callback(listening.shutdown)
            return f"http://127.0.0.1:{listening.server_port}/v1"

        yield start


@pytest.fixture
def server(small_model: Path, tmp_path: Path) -> Iterator[Embedded]:
    yield llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    release_servers()


def listen_instead(server: Embedded) -> Upstream:
    """A foreign program at the port of a server that has ended, whose connections may still be closing there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadingHTTPServer, "allow_reuse_port", True, raising=False)
        return Upstream(tokenizes=True, port=urlsplit(server.url).port or 0)


def write_long(server: Embedded) -> int:
    """Asks for an answer that takes a while; returns its tokens."""
    body = {"messages": [{"role": "user", "content": "Tell a long tale."}], "max_tokens": 150, **slot.CALL}
    body |= {"ignore_eos": True}
    headers = {"Authorization": f"Bearer {server.key}"}
    answer = httpx2.post(server.url + "/chat/completions", json=body, headers=headers, timeout=120)
    return int(answer.raise_for_status().json()["usage"]["completion_tokens"])


def test_a_server_that_nothing_uses_ends_and_comes_back_at_its_address(
    server: Embedded, small_model: Path, tmp_path: Path
) -> None:
    models = resolve.resolve_models(given(small_model, tmp_path))
    assert release_idle_servers(60, "") == 1, "it was used a moment ago"
    assert release_idle_servers(0, "") == 0
    assert gone_within(server.pid)
    assert models.utility.invoke([HumanMessage("Say yes.")], max_tokens=4).content, "a chat comes back"
    again = llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    assert (again.url, again.key) == (server.url, server.key), "the models know this address"
    assert again.pid != server.pid


def test_the_model_of_the_installation_is_never_released(server: Embedded, small_model: Path) -> None:
    assert release_idle_servers(0, small_model.stem) == 0
    assert [use.server for use in llama_server.list_server_uses()] == [server]


def test_a_running_answer_keeps_its_server(server: Embedded) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(write_long, server)
        until(lambda: slot.is_slot_working(server, 5))
        assert release_idle_servers(0, "") == 1
        assert answer.result() == 150
    assert release_idle_servers(0, "") == 0


def test_what_was_asked_for_after_the_look_is_not_released(server: Embedded, small_model: Path, tmp_path: Path) -> None:
    (use,) = llama_server.list_server_uses()
    llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    assert not llama_server.release_unused_server(use)


def test_another_process_keeps_the_server(server: Embedded, small_model: Path, tmp_path: Path) -> None:
    with client(small_model, tmp_path) as other:
        assert pid_of(other) == server.pid
        assert release_idle_servers(0, "") == 0
        assert not gone_within(server.pid, 4)


def test_two_pages_of_one_model_share_its_server_and_either_of_them_keeps_it(
    server: Embedded, small_model: Path, tmp_path: Path
) -> None:
    pages = [resolve.resolve_models(given(small_model, tmp_path)) for _ in range(2)]
    (use,) = llama_server.list_server_uses()
    pages[1].count("what the second page alone counts, while the first one has been left")
    assert not llama_server.release_unused_server(use)
    assert release_idle_servers(0, "") == 0
    assert gone_within(server.pid)
    with ThreadPoolExecutor(2) as pool:  # both come back in the same moment
        answers = list(pool.map(lambda page: page.utility.invoke([HumanMessage("Hi.")], max_tokens=4).content, pages))
    assert all(answers)
    (again,) = llama_server.list_server_uses()
    assert again.server is not None
    assert again.is_running
    assert again.server.pid != server.pid


def test_a_foreign_program_at_the_port_of_a_released_server_gets_neither_text_nor_key(
    server: Embedded, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token, "LOOK_SECONDS", 1000.0)
    models = resolve.resolve_models(given(small_model, tmp_path))
    assert models.connect is not None
    exact = models.count("1 2 3 4 5 6 7 8")
    assert release_idle_servers(0, "") == 0
    assert gone_within(server.pid)
    with listen_instead(server) as foreign:
        assert models.count("four five six") == token.estimate_tokens("four five six")
        models.connect()
        assert models.count("1 2 3 4 5 6 7 9") == exact != token.estimate_tokens("1 2 3 4 5 6 7 9"), (
            "it runs at another port and counts there"
        )
        assert foreign.others == []


def test_a_foreign_program_at_the_port_of_a_server_that_died_is_not_asked_whether_it_works(
    server: Embedded, tmp_path: Path
) -> None:
    kill(server, tmp_path)
    with listen_instead(server) as foreign:
        assert release_idle_servers(0, "") == 0
        assert foreign.others == []


def test_what_counts_tokens_uses_the_server(server: Embedded, small_model: Path, tmp_path: Path) -> None:
    models = resolve.resolve_models(given(small_model, tmp_path))
    (use,) = llama_server.list_server_uses()
    models.count("a text that was not counted before")
    assert not llama_server.release_unused_server(use)


def test_a_server_that_did_not_start_is_released(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    with pytest.raises(EmbeddedFailed):
        llama_server.connect_embedded_server(given(broken, tmp_path), broken)
    assert release_idle_servers(60, "") == 1, "it was asked for a moment ago"
    assert release_idle_servers(0, "") == 0
    assert llama_server.list_server_uses() == []


def test_a_start_that_fails_leaves_the_server_to_another_thread_that_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.touch()
    plan = llama_server._build_server_plan(given(path, tmp_path), path)
    first, second = (llama_server._join_server_clients(plan) for _ in range(2))
    llama_server._note_server_use(first, None)
    assert release_idle_servers(0, "") == 1
    llama_server._note_server_use(second, None)
    assert release_idle_servers(0, "") == 0


@pytest.mark.parametrize("reply", ["", "<html>", "5", "{}", "[]", "[1]", '"slots"', "null", "[" * 100_000])
def test_a_reply_that_lists_no_slots_is_no_work(start_foreign_program: Callable[[str], str], reply: str) -> None:
    foreign = Embedded(start_foreign_program(reply), "k", 1, Path())
    assert not slot.is_slot_working(foreign, 60)
    with pytest.raises(httpx2.HTTPError):
        slot.count_slot_tokens(foreign, 60)


def test_the_watch_outlives_a_look_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def look(idle: float, spared: str) -> int:
        looks.append(idle)
        if len(looks) == 1:
            raise ValueError(spared)
        return 0

    monkeypatch.setattr(idle, "release_idle_servers", look)
    watch = IdleWatch(lambda: "", 0.01)
    watch.start()
    until(lambda: watch._thread is None)
    assert len(looks) == 2


def test_the_watch_ends_with_the_last_server_and_begins_again(
    server: Embedded, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "LOOK_SECONDS", 0.2)
    known = threading.Event()
    watch = IdleWatch(lambda: "" if known.is_set() else None, 1)
    watch.start()
    time.sleep(1.5)
    assert lives(server.pid), "nobody knows yet which model is the installation's"
    known.set()
    assert gone_within(server.pid)
    until(lambda: watch._thread is None)
    again = llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    watch.start()
    assert gone_within(again.pid)


def test_a_watch_without_a_time_never_looks() -> None:
    watch = IdleWatch(lambda: "", 0)
    watch.start()
    assert watch._thread is None


def test_a_look_at_the_lock_keeps_no_server_from_starting(tmp_path: Path) -> None:
    """Whoever looks whether a server runs shares its lock for a moment."""
    lock = tmp_path / "server.lock"
    looking = open_lock(lock)
    assert try_lock(looking, fcntl.LOCK_SH)
    threading.Timer(0.2, os.close, (looking,)).start()
    taken = serve._take_server_lock(lock)
    assert taken is not None
    assert lock.read_text() == str(os.getpid())
    assert serve._take_server_lock(lock) is None
    os.close(taken)
