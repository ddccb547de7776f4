from __future__ import annotations

import socket

import httpx2
import pytest

from errors import BadSetting
from model.call import abort
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
    ],
)
def test_the_systems_proxy_is_used_beyond_this_machine_only(url: str, proxy: str | None) -> None:
    assert abort._proxy(url) == proxy


@pytest.mark.usefixtures("_proxies")
def test_a_proxy_without_a_scheme_is_an_http_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    assert abort._proxy("https://api.openai.com/v1") == "http://proxy.example:3128"


@pytest.mark.usefixtures("_proxies")
def test_a_proxy_may_speak_socks_and_one_that_cannot_be_a_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(httpx2.ConnectError):
        abort.Transport("https://models.example/v1", 1).handle_request(
            httpx2.Request("GET", "https://models.example/v1")
        )
    for wrong in ("gopher://127.0.0.1:9", "http://[::1"):
        monkeypatch.setenv("https_proxy", wrong)
        with pytest.raises(BadSetting, match="HTTPS_PROXY"):
            abort.Transport("https://models.example/v1", 1)


def test_a_connection_that_comes_after_the_cut_is_shut_down() -> None:
    call, (ours, theirs) = abort.Call(), socket.socketpair()
    with ours, theirs:
        call.cut()
        call.hold(ours)
        assert theirs.recv(1) == b""


def test_a_wait_ends_with_the_cut() -> None:
    call = abort.Call()
    call.cut()
    with pytest.raises(abort.Cut):
        call.wait(60)
