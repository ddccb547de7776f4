"""The command line as a user calls it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cli
import settings
from bench.port import free_port
from door.terminal import memory
from retrieval.change import list_source_files
from retrieval.product_docs import OWN
from store import Store


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """``run`` changes the folder."""
    before = Path.cwd()
    yield
    os.chdir(before)


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli.application, list(arguments))


def test_doctor_ends_with_0_when_a_chat_can_start() -> None:
    result = called("doctor", "--lang", "en")
    assert result.exit_code == 0
    assert "A chat can start" in result.output


def test_doctor_speaks_korean() -> None:
    assert "대화를 시작할 수 있습니다" in called("doctor", "--lang", "ko").output


def test_doctor_json_is_one_object() -> None:
    printed = json.loads(called("doctor", "--json").output)
    assert printed["can_chat"] is True
    assert {finding["name"] for finding in printed["findings"]} >= {"python", "model", "store", "disk"}


def test_a_bad_setting_is_named_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_COMPRESSION_RATE", "0.9")
    settings.load_current_settings.cache_clear()
    for command in ("doctor", "run", "chat"):
        settings.load_current_settings.cache_clear()
        result = called(command, "--lang", "en")
        assert result.exit_code == 1
        assert "GIEOK_COMPRESSION_RATE" in result.output


def test_run_hands_over_to_the_page_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    monkeypatch.setattr("os.execve", lambda path, arguments, environment: handed.append(arguments))
    monkeypatch.setattr("server.network.reach.free_port", lambda wanted, host: wanted + 1)
    result = called("run", "--port", "9000", "--lang", "en")
    assert "http://127.0.0.1:9001" in result.output
    assert "Port 9000 is taken" in result.output
    assert "--server.address=127.0.0.1" in handed[0]
    assert "--server.port=9001" in handed[0]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "gieok.example.com", ""])
@pytest.mark.parametrize(("lang", "sentence"), [("en", "Without a login"), ("ko", "로그인 없이는")])
def test_run_opens_no_other_address_without_a_login_and_says_how(
    monkeypatch: pytest.MonkeyPatch, host: str, lang: str, sentence: str
) -> None:
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("the page was started"))
    result = called("run", "--host", host, "--lang", lang)
    assert result.exit_code == 1
    assert all(part in result.output for part in (sentence, host, "[auth]", "GIEOK_USER_HEADER"))


def test_run_opens_every_address_behind_a_proxy_that_names_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    monkeypatch.setattr("os.execve", lambda path, arguments, environment: handed.append((arguments, environment)))
    monkeypatch.setenv("GIEOK_USER_HEADER", "X-Forwarded-User")
    monkeypatch.setenv("GIEOK_HOSTS", "gieok.example.com")
    settings.load_current_settings.cache_clear()
    result = called("run", "--host", "0.0.0.0", "--port", str(free_port()), "--lang", "en")
    assert result.exit_code == 0
    assert "http://gieok.example.com:" in result.output
    [(arguments, environment)] = handed
    assert "--server.address=0.0.0.0" in arguments
    assert environment["FORWARDED_ALLOW_IPS"] == "", "the peer of a connection stays known"


def test_run_names_an_address_that_this_machine_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("the page was started"))
    monkeypatch.setenv("GIEOK_USER_HEADER", "X-Forwarded-User")
    settings.load_current_settings.cache_clear()
    result = called("run", "--host", "203.0.113.7", "--lang", "en")
    assert result.exit_code == 1
    assert "203.0.113.7" in result.output


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(("lang", "sentence"), [("en", "Another program listens"), ("ko", "다른 프로그램이 쓰고")])
def test_serve_says_its_address_only_when_it_has_it(workers: str, lang: str, sentence: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = called("serve", "--port", port, "--workers", workers, "--lang", lang)
    assert result.exit_code == 1
    assert sentence in result.output
    assert "/v1" not in result.output


def test_serve_names_an_address_that_is_none() -> None:
    assert called("key", "add", "k").exit_code == 0
    result = called("serve", "--host", "no-such-name.invalid", "--lang", "en")
    assert result.exit_code == 1
    assert "no-such-name.invalid" in result.output
    assert "/v1" not in result.output


@pytest.mark.parametrize("command", ["run", "serve"])
@pytest.mark.parametrize("port", ["0", "-1", "70000"])
def test_a_port_that_is_none_is_refused(command: str, port: str) -> None:
    result = called(command, "--port", port)
    assert result.exit_code == 2
    assert "--port" in result.output


def test_a_pipe_without_a_message_ends_with_1() -> None:
    assert CliRunner().invoke(cli.application, ["chat", "--lang", "en"], input="").exit_code == 1


def test_index_adds_documents_and_doctor_tells_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the built-in embedding model, over one short file and the product's own."""
    monkeypatch.setenv("GIEOK_RETRIEVAL", "true")
    monkeypatch.setattr("os.nice", lambda _: 0)
    settings.load_current_settings.cache_clear()
    (tmp_path / "pears.md").write_text("# Pears\n\nPears are green.\n")
    result = called("index", str(tmp_path / "pears.md"), "--type", "faq", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["added"] == ["pears.md"]
    findings = {each["name"]: each for each in json.loads(called("doctor", "--json").stdout)["findings"]}
    own = len(list(list_source_files(OWN, 10**7)))
    assert (findings["documents"]["mark"], findings["documents"]["data"]["documents"]) == ("ok", own + 1), "a first run"


def test_index_without_a_path_says_what_it_wants() -> None:
    result = called("index", "--lang", "en")
    assert result.exit_code == 2
    assert "Say which files" in result.output


def test_index_tells_of_a_file_that_is_not_there_and_of_a_page_that_is_not_read(tmp_path: Path) -> None:
    result = called("index", str(tmp_path / "gone.md"), "http://127.0.0.1:1/guide/", "--site", "--lang", "en")
    assert result.exit_code == 1
    assert "gone.md" in result.output
    assert "'http://127.0.0.1:1/guide/' leads to 127.0.0.1, which is not a public address" in result.output
    assert "begins with https://" in called("index", "https://", "--lang", "en").output


def remembering(folder: Path) -> str:
    """A conversation with a value in memory, in the data folder of the settings; its id."""
    with memory.open_memory_and_store(settings.load_settings(data_dir=folder)) as (kept, store):
        session = store.create_session("en", 0.3).id
        kept.writer.remember("local", session, "budget", "$900", turn=1)
    return session


def test_memory_is_exported_erased_and_imported(tmp_path: Path) -> None:
    session, file = remembering(tmp_path / "data"), tmp_path / "memory.json"
    assert "1 memories written" in called("memory", "export", str(file), "--lang", "en").output
    assert file.stat().st_mode & 0o077 == 0
    assert called("memory", "erase", "--lang", "en").exit_code == 1  # nobody said yes
    assert "1개를 모두 지웠습니다" in called("memory", "erase", "--yes", "--lang", "ko").output
    with memory.open_memory_and_store(settings.load_current_settings()) as (kept, _):
        assert kept.reader.read_view("local", session).profile == ()
    assert "1 memories taken in" in called("memory", "import", str(file), "--lang", "en").output
    with memory.open_memory_and_store(settings.load_current_settings()) as (kept, _):
        assert kept.reader.read_view("local", session).profile[0].row.label == "budget: $900"


def test_memory_cleanup_says_what_it_erased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = remembering(tmp_path / "data")
    monkeypatch.setattr("memory.eraser.ORPHAN_SECONDS", -1.0)
    assert "memories of 0 conversations" in called("memory", "cleanup", "--lang", "en").output
    store = Store(settings.load_current_settings().database)
    store.delete_session(session)
    store.close()
    assert "memories of 1 conversations" in called("memory", "cleanup", "--lang", "en").output


def test_a_file_that_is_no_memory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    for text in ("[1]", "{", '{"format": "other"}'):
        file.write_text(text)
        assert called("memory", "import", str(file)).exit_code == 1
