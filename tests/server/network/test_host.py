"""Only this machine's own names, and those of the settings, open the page: on a real server, in every way in."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest

from errors import BadSetting
from settings import load_settings
from tests.journey.application import App, started

WAYS = (
    ("GET", "/"),
    ("GET", "/?s=abc"),
    ("GET", "/_stcore/health"),
    ("GET", "/_stcore/host-config"),
    ("PUT", "/_stcore/upload_file/session/file"),
    ("DELETE", "/_stcore/upload_file/session/file"),
    ("GET", "/media/file.txt"),
    ("GET", "/static/index.html"),
    ("GET", "/app/static/file.txt"),
    ("GET", "/component/name/index.html"),
    ("OPTIONS", "/_stcore/host-config"),
)
SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    own = {"GIEOK_HOSTS": "Chat.Example.com, [fe80::1]", "GIEOK_LANGUAGE": "en"}
    with started(tmp_path_factory.mktemp("host"), **own) as running:
        yield running


def ask(app: App, method: str, path: str, *headers: tuple[str, str]) -> tuple[int, str]:
    """Status and text of the answer to a request with exactly these headers."""
    connection = http.client.HTTPConnection(app.url.removeprefix("http://"), timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def shake(app: App, *headers: tuple[str, str]) -> tuple[int, str]:
    """The same for the handshake of the page's websocket."""
    return ask(app, "GET", "/_stcore/stream", *headers, *SOCKET.items())


def is_refused(answer: tuple[int, str]) -> bool:
    return answer[0] == 403 and "GIEOK_HOSTS" in answer[1]


@pytest.mark.parametrize(("method", "path"), WAYS)
def test_a_foreign_name_is_refused_everywhere_and_told_which_setting_lets_it_in(
    app: App, method: str, path: str
) -> None:
    assert is_refused(ask(app, method, path, ("Host", "evil.example")))
    assert is_refused(ask(app, method, path, ("Host", "localhost"), ("Origin", "http://evil.example")))
    assert not is_refused(ask(app, method, path, ("Host", "localhost"), ("Origin", "http://localhost")))


def test_a_page_of_another_site_gets_no_websocket(app: App) -> None:
    port = app.url.rpartition(":")[2]
    assert is_refused(shake(app, ("Host", "evil.example"), ("Origin", "http://evil.example")))
    assert is_refused(shake(app, ("Host", f"evil.example:{port}"), ("Origin", f"http://evil.example:{port}")))
    assert is_refused(shake(app, ("Host", f"127.0.0.1:{port}"), ("Origin", f"http://evil.example:{port}")))
    assert is_refused(shake(app, ("Host", f"127.0.0.1:{port}"), ("Origin", "null")))


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST.", "chat.example.com", "[FE80::1]"])
def test_this_machine_and_the_names_of_the_settings_are_let_in(app: App, name: str) -> None:
    port = app.url.rpartition(":")[2]
    assert shake(app, ("Host", f"{name}:{port}"), ("Origin", f"http://{name}:{port}"))[0] == 101
    assert ask(app, "GET", "/", ("Host", name))[0] == 200


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost evil.example",
        "other.chat.example.com",
        "0.0.0.0",
        "[::1].evil.example",
    ],
)
def test_what_only_resembles_a_known_name_is_refused(app: App, name: str) -> None:
    status, said = ask(app, "GET", "/", ("Host", name))
    assert (status, "GIEOK_HOSTS" in said) == (403, True) or status == 400  # the server itself takes no such header


def test_a_request_that_names_no_host_or_two_is_refused(app: App) -> None:
    assert ask(app, "GET", "/")[0] in (400, 403)
    assert ask(app, "GET", "/", ("Host", "localhost"), ("Host", "evil.example"))[0] in (400, 403)


@pytest.mark.parametrize("name", ["https://chat.example.com", "chat.example.com:8501", "*", "chat.example.com/page"])
def test_a_setting_that_is_no_name_is_told(name: str) -> None:
    with pytest.raises(BadSetting, match="GIEOK_HOSTS"):
        load_settings(hosts=name)
