"""The command line as a user calls it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cli
import settings


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
    settings.current.cache_clear()
    for command in ("doctor", "run", "chat"):
        settings.current.cache_clear()
        result = called(command, "--lang", "en")
        assert result.exit_code == 1
        assert "GIEOK_COMPRESSION_RATE" in result.output


def test_run_hands_over_to_the_page_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    monkeypatch.setattr("os.execv", lambda path, arguments: handed.append(arguments))
    monkeypatch.setattr("door.doctor.free_port", lambda wanted: wanted + 1)
    result = called("run", "--port", "9000", "--lang", "en")
    assert "http://127.0.0.1:9001" in result.output
    assert "Port 9000 is taken" in result.output
    assert "--server.address=127.0.0.1" in handed[0]
    assert "--server.port=9001" in handed[0]


def test_a_pipe_without_a_message_ends_with_1() -> None:
    assert CliRunner().invoke(cli.application, ["chat", "--lang", "en"], input="").exit_code == 1


def test_index_adds_documents_and_doctor_tells_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the built-in embedding model, over one short file."""
    monkeypatch.setenv("GIEOK_RETRIEVAL", "true")
    monkeypatch.setattr("os.nice", lambda _: 0)
    settings.current.cache_clear()
    (tmp_path / "pears.md").write_text("# Pears\n\nPears are green.\n")
    result = called("index", str(tmp_path / "pears.md"), "--type", "faq", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["added"] == ["pears.md"]
    findings = {each["name"]: each for each in json.loads(called("doctor", "--json").stdout)["findings"]}
    assert (findings["documents"]["mark"], findings["documents"]["data"]["passages"]) == ("ok", 1)


def test_index_without_a_path_says_what_it_wants() -> None:
    result = called("index", "--lang", "en")
    assert result.exit_code == 2
    assert "Say which files" in result.output


def test_index_tells_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = called("index", str(tmp_path / "gone.md"), "--lang", "en")
    assert result.exit_code == 1
    assert "gone.md" in result.output
