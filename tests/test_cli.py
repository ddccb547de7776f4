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
