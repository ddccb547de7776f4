from __future__ import annotations

import socket
import threading
from contextvars import copy_context

import httpx2
import pytest

from errors import BadSetting
from model.call import abort, transport
from tests.table import table


@pytest.fixture
def _proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")


@pytest.mark.usefixtures("_proxies")
@table(
    ("url", "proxy"),
    [
        ("https://api.openai.com/v1", "http://proxy.example:3128"),
        ("https://inside.example/v1", None),
        ("http://api.openai.com/v1", None),
        ("https://localhost:8080/v1", None),
        ("https://127.0.0.1:8080/v1", None),
        ("https://[::1]:8080/v1", None),
        ("https://llama.localhost:8080/v1", None),
        ("https://127.elsewhere.example/v1", "http://proxy.example:3128"),
    ],
)
def test_the_systems_proxy_is_used_beyond_this_machine_only(url: str, proxy: str | None) -> None:
    assert transport._find_proxy(url) == proxy


@pytest.mark.usefixtures("_proxies")
def test_a_proxy_without_a_scheme_is_an_http_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    assert transport._find_proxy("https://api.openai.com/v1") == "http://proxy.example:3128"


@pytest.mark.usefixtures("_proxies")
def test_a_proxy_may_speak_socks_and_one_that_cannot_be_a_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(httpx2.ConnectError):
        transport.Transport("https://models.example/v1", 1).handle_request(
            httpx2.Request("GET", "https://models.example/v1")
        )
    for wrong in ("gopher://127.0.0.1:9", "http://[::1"):
        monkeypatch.setenv("https_proxy", wrong)
        with pytest.raises(BadSetting, match="HTTPS_PROXY"):
            transport.Transport("https://models.example/v1", 1)


def test_a_cut_shuts_down_only_what_the_call_waits_on() -> None:
    call, (ours, theirs) = abort.CuttableCall(), socket.socketpair()
    with ours, theirs:
        with call.holding(ours):
            pass
        call.cut()
        theirs.send(b"x")
        assert ours.recv(1) == b"x", "the connection may serve another call by now"
        with pytest.raises(abort.CallCut), call.holding(ours):
            pass


def test_a_cut_wakes_the_thread_that_waits() -> None:
    call, (ours, theirs) = abort.CuttableCall(), socket.socketpair()
    with ours, theirs, call.holding(ours):
        threading.Timer(0.05, call.cut).start()
        assert ours.recv(1) == b""
        assert theirs.recv(1) == b""


def test_a_wait_ends_with_the_cut() -> None:
    call = abort.CuttableCall()
    call.cut()
    with pytest.raises(abort.CallCut):
        call.wait(60)


def test_work_that_nothing_can_cut_is_left_behind() -> None:
    call, end = abort.CuttableCall(), threading.Event()
    threading.Timer(0.05, call.cut).start()
    context = copy_context()
    context.run(abort.current.set, call)
    with pytest.raises(abort.CallCut):
        context.run(abort.run_beside_call, end.wait)
    end.set()


def test_work_beside_gives_its_result_its_error_or_nothing_in_time() -> None:
    assert abort.run_beside_call(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        abort.run_beside_call(lambda: 1 // 0)
    end = threading.Event()
    with pytest.raises(TimeoutError):
        abort.run_beside_call(end.wait, 0.01)
    end.set()
