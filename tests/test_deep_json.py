"""What is nested too deeply for Python's reader of JSON counts as damaged, in every file and text that may be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evaluation import record
from graph.answer.text_call import _read_parameter
from memory.key import Scope
from memory.redis.working_memory import WorkingMemory
from model.choice.kept import _parse_secret
from model.embedded.llama_server import _find_running_server, _Plan
from model.embedded.serve import _read_earlier_address
from model.embedded.weights import _Place
from retrieval.product_docs import OFFERED, _find_docs_root, _load_offered_docs
from text.clean import parse_json
from world.file.card_file import CARD, CardFiles

DEEP = "[" * 100_000
_NONE = cast("Any", None)


def write(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(DEEP)
    return file


def find_server(folder: Path) -> object:
    plan = _Plan(folder, folder / "log", folder / "weights", "name", 1, 1, folder)
    write(plan.state)
    return _find_running_server(plan)


def check_weights(folder: Path) -> object:
    place = _Place(folder / "weights", _NONE, _NONE, threading.Event())
    write(place.beside(".verified"))
    return place.is_unchanged()


def find_docs(folder: Path) -> object:
    write(folder / OFFERED)
    return _load_offered_docs(cast("Any", SimpleNamespace(folder=folder)))[0] == _find_docs_root()


def read_copy(folder: Path) -> object:
    client = cast("Any", SimpleNamespace(eval=lambda *_: (DEEP.encode(),) * 3))
    return WorkingMemory(1).read(client, Scope("t", "s"), "")


READERS: dict[str, tuple[Callable[[Path], object], object]] = {
    "parameter of a call": (lambda _: _read_parameter(DEEP), DEEP),
    "key in the keyring": (lambda _: _parse_secret(DEEP), None),
    "address of a server that died": (lambda folder: _read_earlier_address(write(folder / "state.json"))[0], 0),
    "state of a server": (find_server, None),
    "verification of weights": (check_weights, False),
    "card of a world": (lambda folder: CardFiles(write(folder / "w" / CARD).parents[1]).read("w"), None),
    "plan of an evaluation": (lambda folder: record._digest_of(write(folder / record.PLAN).parent), ""),
    "line of an evaluation": (lambda _: record._parse_record_line(DEEP.encode()), None),
    "documents of the product": (find_docs, True),
    "copy of a memory": (read_copy, None),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_nested_without_end_is_damaged(tmp_path: Path, reader: str) -> None:
    read, damaged = READERS[reader]
    assert read(tmp_path) == damaged


def test_the_reader_of_json_says_that_it_is_none() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(DEEP)
    assert parse_json('{"a": [1]}') == {"a": [1]}
