"""``python -m bench``: benches are found by their files, and a result is one JSON object or tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench import __main__ as command
from errors import WeightsMissing

RESULT: dict[str, object] = {"share": 0.51234, "turns": 1200, "by": {"ko": 1}, "rows": [{"이름": "가나다", "ms": 1.5}]}


def _failing(args: argparse.Namespace) -> dict[str, object]:
    raise WeightsMissing(name="tiny", tried="nothing")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    bench = SimpleNamespace(
        add_arguments=lambda parser: parser.add_argument("--turns", type=int, default=3), run=lambda args: RESULT
    )
    monkeypatch.setattr(command, "benches", lambda: {"planted": "A planted bench."})
    monkeypatch.setattr(command, "load", lambda name: bench)
    return bench


def test_a_file_with_both_functions_is_a_bench_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "speed.py").write_text('"""How fast.\n\nMore."""\ndef add_arguments(parser): ...\ndef run(args): ...\n')
    (tmp_path / "dialogue.py").write_text('"""Only data."""\ndef run(args): ...\n')
    assert command.benches(tmp_path) == {"speed": "How fast."}


def test_json_is_one_object_with_the_machine(planted: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["planted", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["share"] == 0.51234
    assert printed["machine"]["physical_cores"] >= 1
    assert printed["machine"]["memory_gib"] > 0


def test_the_options_of_a_bench_reach_it(planted: SimpleNamespace) -> None:
    assert command.parse(["planted", "--turns", "7"])[1].turns == 7


def test_without_json_rows_become_a_table_of_their_own(planted: SimpleNamespace) -> None:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(*command.tables("planted", RESULT), sep="\n")
    text = capture.get()
    assert "by.ko" in text
    assert "1,200" in text
    assert "0.512" in text
    assert "가나다" in text


def test_a_bench_that_cannot_run_says_why(planted: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    planted.run = _failing
    assert command.main(["planted"]) == 1
    assert "weights of tiny" in capsys.readouterr().err


def test_an_unknown_bench_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["nonsense"])
    assert "nonsense" in capsys.readouterr().err
