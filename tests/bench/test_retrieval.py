from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench import retrieval
from errors import BadSetting
from tests.retrieval.conftest import Words


def written(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(map(json.dumps, rows)))


def test_questions_of_ones_own_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "BuiltIn", Words)
    monkeypatch.setattr(Words, "dimension", 4096)  # in fewer, «colour» and «plums» fall into one
    monkeypatch.setattr(retrieval, "CACHE", tmp_path / "cache")
    fruit = {"pears": "Pears are green.", "apples": "Apples are red.", "plums": "Plums are blue."}
    written(tmp_path / "sections.jsonl", [{"id": name, "text": text} for name, text in fruit.items()])
    written(tmp_path / "queries.jsonl", [{"query": f"Which colour are {name}?", "section": name} for name in fruit])
    result: dict[str, Any] = retrieval.run(argparse.Namespace(data=tmp_path, only=None, limit=0))
    assert set(result["own"]) == {*retrieval.METHODS, retrieval.BETTER}
    assert [result["own"][method]["r1"] for method in retrieval.METHODS] == [1.0, 1.0, 1.0]
    halves = [result["own"][method] for method in ("dense", "lexical")]
    better = result["own"][retrieval.BETTER]
    assert better == {figure: max(half[figure] for half in halves) for figure in better}
    assert retrieval.run(argparse.Namespace(data=tmp_path, only="other", limit=0)) == {"tokens": result["tokens"]}


def test_a_folder_without_questions_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="--data"):
        retrieval.run(argparse.Namespace(data=tmp_path, only=None, limit=0))
