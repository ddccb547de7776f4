"""Embedded servers that only conversations have chosen end when nothing uses them, and come back when one does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from langchain_core.messages import HumanMessage

from model.choice import resolve
from model.embedded import idle, llama_server, slot
from model.embedded.idle import IdleWatch, release_idle_servers
from model.embedded.llama_server import Embedded
from tests.model.test_embedded import client, given, gone_within, lives, pid_of
from tests.wait import until

pytestmark = pytest.mark.small_model


@pytest.fixture
def server(small_model: Path, tmp_path: Path) -> Iterator[Embedded]:
    yield llama_server.connect_embedded_server(given(small_model, tmp_path), small_model)
    llama_server.release_servers()


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
    assert (again.url, again.key) == (server.url, server.key), "what counts tokens knows this address alone"
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
