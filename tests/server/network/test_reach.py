"""Who reaches the page: on a real server, with a login of a proxy and without any."""

from __future__ import annotations

import asyncio
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets import Subprotocol
from websockets.asyncio.client import connect

import settings
from bench.port import free_port
from component.page.catalogue import Words
from door.terminal.doctor import CHECKS, CheckInput, run_all_checks
from errors import BadLogin, BadSetting, NeedsLogin
from server.network import reach
from server.network.reach import ReachGuard, page_name
from tests.journey.application import ROOT, App, started
from tests.product import launch
from tests.server.network.test_host import SOCKET
from tests.table import table
from text.ip_address import is_loopback_address

HEADER = "X-Forwarded-User"
PROXY, OTHER = "127.0.0.1", "127.0.0.2"
"""Two addresses of this machine: of the trusted proxy, and of somebody who only says to be it."""
WAYS = ("/", "/?s=abc", "/_stcore/host-config", "/media/file.txt", "/_stcore/agent/openapi.json")


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    own = {"GIEOK_USER_HEADER": HEADER, "GIEOK_TRUSTED_PROXIES": PROXY, "GIEOK_LANGUAGE": "en"}
    with started(tmp_path_factory.mktemp("behind"), **own) as running:
        yield running


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with started(tmp_path_factory.mktemp("alone"), GIEOK_LANGUAGE="en", GIEOK_HOSTS="gieok.example.com") as running:
        yield running


def ask(app: App, path: str, *headers: tuple[str, str], source: str = PROXY) -> tuple[int, str]:
    """Status and text of the answer to a request from this address; a websocket's handshake ends with 101."""
    host, port = app.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60, source_address=(source, 0))
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value.encode())
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def shake(app: App, *headers: tuple[str, str], source: str = PROXY) -> tuple[int, str]:
    return ask(app, "/_stcore/stream", *headers, *SOCKET.items(), source=source)


@pytest.mark.parametrize("path", WAYS)
def test_behind_a_proxy_a_request_without_a_user_is_refused_everywhere(behind: App, path: str) -> None:
    status, text = ask(behind, path)
    assert status == 403
    assert HEADER in text
    assert "GIEOK_TRUSTED_PROXIES" in text
    assert ask(behind, path, (HEADER, "alice"))[0] != 403


@table(
    "values",
    [[""], ["  "], ["alice", "bob"], ["alice", ""], ["a" * 201], ["ali\u200bce"], ["ali\u00a0ce"]],
)
def test_a_header_that_names_nobody_opens_nothing(behind: App, values: list[str]) -> None:
    headers = [(HEADER, value) for value in values]
    assert ask(behind, "/", *headers)[0] == 403
    assert shake(behind, *headers)[0] == 403


def test_the_header_of_an_address_that_is_no_proxy_is_ignored(behind: App) -> None:
    assert shake(behind, (HEADER, "alice"), source=PROXY)[0] == 101
    assert shake(behind, (HEADER, "alice"), source=OTHER)[0] == 403
    assert ask(behind, "/", (HEADER, "alice"), source=OTHER)[0] == 403
    assert ask(behind, "/", (HEADER, "alice"), ("X-Forwarded-For", PROXY), source=OTHER)[0] == 403


def test_a_proxy_that_says_where_a_request_came_from_is_believed_all_the_same(behind: App) -> None:
    came_from = ("X-Forwarded-For", "203.0.113.9")
    assert shake(behind, (HEADER, "alice"), came_from)[0] == 101
    assert shake(behind, came_from)[0] == 403


def test_a_balancer_may_ask_whether_the_page_runs(behind: App) -> None:
    assert ask(behind, reach.HEALTH) == (200, "ok")


def test_without_a_login_this_machine_alone_is_let_in(alone: App) -> None:
    assert ask(alone, "/")[0] == 200
    assert ask(alone, "/", ("X-Forwarded-For", "127.0.0.1, ::1"))[0] == 200
    for name, value in (
        ("X-Forwarded-For", "203.0.113.9"),
        ("X-Forwarded-For", "203.0.113.9, 127.0.0.1"),
        ("X-Forwarded-For", "127.0.0.1, 203.0.113.9"),
        ("Forwarded", "for=203.0.113.9;proto=https"),
        ("Forwarded", 'for=127.0.0.1, for="[2001:db8::7]"'),
    ):
        for status, text in (ask(alone, "/", (name, value)), shake(alone, (name, value))):
            assert status == 403, (name, value)
            assert "GIEOK_USER_HEADER" in text


@pytest.mark.parametrize(("language", "sentence"), [("en", "Without a login"), ("ko", "로그인 없이는")])
def test_the_page_itself_does_not_start_at_an_open_address(tmp_path: Path, language: str, sentence: str) -> None:
    own = {"GIEOK_DATA_DIR": str(tmp_path), "GIEOK_LANGUAGE": language, "STREAMLIT_BROWSER_SERVER_ADDRESS": "here"}
    begin = start if language == "en" else forked
    code, said = begin(tmp_path, own, "--server.address", "0.0.0.0")
    assert code == 1
    assert sentence in said
    assert not (tmp_path / "gieok.db").exists()


def test_a_login_that_cannot_work_ends_the_start_and_says_what_it_lacks(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[auth]\nredirect_uri = "http://127.0.0.1/oauth2callback"\nclient_id = "gieok"\n')
    own = {"GIEOK_DATA_DIR": str(tmp_path / "data"), "GIEOK_LANGUAGE": "en"}
    code, said = forked(tmp_path, own, "--secrets.files", str(secrets))
    assert code == 1
    assert "cookie_secret, client_secret, server_metadata_url" in said


RUN = ["streamlit", "run", str(ROOT / "app.py"), "--server.port"]


def start(_: Path, own: dict[str, str], *options: str) -> tuple[int, str]:
    """Starts the page as a user does and waits for its end: its exit code, and what it wrote."""
    command = [sys.executable, "-m", *RUN, str(free_port()), *options]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment(own), capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    return ended.returncode, ended.stderr + ended.stdout


def forked(folder: Path, own: dict[str, str], *options: str) -> tuple[int, str]:
    """The same without loading the product anew (``tests.product``)."""
    log = folder / "forked.log"
    code = launch([*RUN, str(free_port()), *options], environment(own), log).wait(120)
    return code, log.read_text("utf-8")


def environment(own: dict[str, str]) -> dict[str, str]:
    """The environment of a process with these settings alone."""
    names = {settings.find_variable_name(name) for name in settings.Settings.model_fields}
    return {name: value for name, value in os.environ.items() if name not in names} | own


@table(
    ("client", "forwarded", "allowed", "trusted"),
    [
        (("10.1.2.3", 5000), None, None, True),
        (("10.2.2.3", 5000), None, None, False),
        (("::ffff:10.1.2.3", 5000), None, None, True),
        (("127.0.0.1", 5000), None, None, True),
        (("203.0.113.9", 0), "203.0.113.9", None, True),  # uvicorn has put it in place of a proxy on this machine
        (("203.0.113.9", 0), "203.0.113.9", "*", False),  # uvicorn believes everybody
        (("10.1.2.3", 0), "10.1.2.3", "*", False),
        (("testclient", 5000), None, None, False),
        (None, None, None, False),
    ],
)
def test_only_the_peer_of_the_connection_is_a_proxy(
    client: tuple[str, int] | None,
    forwarded: str | None,
    allowed: str | None,
    trusted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if allowed is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", allowed)
    monkeypatch.setattr(
        reach,
        "load_current_settings",
        lambda: settings.load_settings(user_header=HEADER, trusted_proxies=["10.1.0.0/16", "127.0.0.1"]),
    )
    headers = [(b"x-forwarded-user", b"alice"), (b"x-other", b"1")]
    headers += [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope: dict[str, Any] = {"type": "websocket", "path": "/_stcore/stream", "client": client, "headers": headers}
    refusal = ReachGuard(_none)._refusal(scope)
    assert (refusal is None) is trusted
    assert ((b"x-forwarded-user", b"alice") in scope["headers"]) is trusted
    assert (b"x-other", b"1") in scope["headers"]


async def _none(*_: object) -> None:
    raise AssertionError("nothing was to be asked")


@table(
    ("address", "open_"),
    [
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("[::1]", False),
        ("localhost", False),
        ("::ffff:127.0.0.1", False),
        ("", True),
        ("0.0.0.0", True),
        ("::", True),
        ("192.168.0.7", True),
        ("127.evil.example", True),
        ("localhost.evil.example", True),
    ],
)
def test_an_address_is_open_unless_it_is_this_machines_own(address: str, open_: bool) -> None:
    assert is_loopback_address(address) is not open_
    for header, login in ((HEADER, False), ("", True)):
        reach.check_page_reach(address, settings.load_settings(user_header=header), login=login)
    if open_:
        with pytest.raises(NeedsLogin):
            reach.check_page_reach(address, settings.load_settings(), login=False)
    else:
        reach.check_page_reach(address, settings.load_settings(), login=False)


def test_the_printed_address_is_one_that_a_browser_takes() -> None:
    named = settings.load_settings(hosts="gieok.example.com")
    assert page_name("0.0.0.0", settings.load_settings()) == "127.0.0.1"
    assert page_name("::", named) == "gieok.example.com"
    assert page_name("192.168.0.7", named) == "192.168.0.7"
    assert page_name("fe80::1", named) == "[fe80::1]"


@pytest.mark.parametrize(("name", "value"), [("user_header", "X User"), ("trusted_proxies", "10.0.0.0/8, proxy")])
def test_a_setting_that_names_no_header_or_no_network_is_told(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=f"GIEOK_{name.upper()}"):
        settings.load_settings(**{name: value})


@table(
    ("own", "login", "mark", "way"),
    [
        ({}, False, "ok", "alone"),
        ({"hosts": "gieok.example.com"}, False, "warn", "alone"),
        ({"hosts": "gieok.example.com"}, True, "ok", "login"),
        ({"hosts": "gieok.example.com", "user_header": HEADER}, True, "ok", "proxy"),
    ],
)
def test_the_doctor_says_who_reaches_the_page(own: dict[str, str], login: bool, mark: str, way: str) -> None:
    finding = CHECKS["reach"](CheckInput(settings.load_settings(**own), "en", login))
    assert (finding.mark, finding.data["way"]) == (mark, way)
    assert bool(finding.do) is (mark == "warn")


def test_the_doctor_says_what_is_wrong_with_a_login(tmp_path: Path) -> None:
    def broken() -> bool:
        raise BadLogin(reason="it lacks client_id", reason_code="missing", names="client_id")

    findings = run_all_checks(settings.load_settings(data_dir=tmp_path), "ko", Words("ko").error, broken)
    [finding] = [each for each in findings if each.name == "reach" and each.mark == "problem"]
    assert "client_id" in finding.found


async def heard(app: App, user: str, session: str = "") -> str:
    """The id of the session that a browser of this user gets; ``session``: the one that it asks to go on with."""
    protocols = [Subprotocol(name) for name in ("streamlit", "none", session) if name]
    address = app.url.replace("http", "ws") + "/_stcore/stream"
    async with connect(address, subprotocols=protocols, additional_headers={HEADER: user}) as socket:
        await socket.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        async for data in socket:
            message = ForwardMsg()
            message.ParseFromString(bytes(data) if not isinstance(data, str) else data.encode())
            if message.WhichOneof("type") == "new_session":
                return str(message.new_session.initialize.session_id)
    raise AssertionError("the page began no session")


def test_nobody_goes_on_with_the_session_of_another_user(behind: App) -> None:
    """As a browser that reconnects after somebody else has logged in at the proxy."""
    alices = asyncio.run(heard(behind, "alice"))
    assert asyncio.run(heard(behind, "bob", alices)) != alices
    assert asyncio.run(heard(behind, "alice", alices)) == alices
