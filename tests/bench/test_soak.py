"""The soak: a real installation on SQLite whose parts fail in turn, and what counts as lost, doubled, hung, mixed."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from bench import soak
from bench.fault import Installation
from bench.load import Answer, Person
from bench.server import Server
from bench.soak import ChatClient, Request, Soak, Strike
from store import Finished, Store
from store.record import TurnStatus
from store.world.record import Changes, Character, NewNode
from text.user_name import ME
from world.story.state import FULL_HP


def test_every_door_is_answered_again_after_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "IDLE_SECONDS", 0.5)
    faults = Installation.list_faults
    chosen = ("redis killed", "database locked", "worker killed")
    monkeypatch.setattr(Installation, "list_faults", lambda self: {name: faults(self)[name] for name in chosen})
    args = argparse.Namespace(hours=10 / 3600, callers=1, fault=0.5, patience=60.0, database="sqlite")
    result = soak.run(args)
    wrong = ("lost", "doubled", "untrue", "hung", "mixed", "unrecovered", "running")
    assert {name: result[name] for name in wrong} == dict.fromkeys(wrong, 0), result["wrong"]
    doors = {str(row["door"]): row for row in cast(list[dict[str, object]], result["doors"])}
    assert doors.keys() == {"chat", "world", "responses", "mcp", "a2a", "page"}
    assert all(cast(int, row["told"]) > 0 for row in doors.values())
    assert [row["fault"] for row in cast(list[dict[str, object]], result["faults"])] == list(chosen)
    assert {type(result[name]) for name in ("memory_ratio", "threads_more", "files_more")} == {float, int}


# --- what counts ----------------------------------------------------------------------------------


def compare(folder: Path, rows: list[tuple[TurnStatus, str, str | None]], requests: list[Request]) -> dict[str, object]:
    """What a run says whose record has these turns and whose clients sent these requests, with one fault."""
    database = f"sqlite:///{folder / 'gieok.db'}"
    store = Store(database)
    session = store.create_session("en", 0.3).id
    for status, question, answer in rows:
        store.finish_turn(session, store.begin_turn(session, question).number, Finished(status, answer))
    store.close()
    installation = cast(Installation, argparse.Namespace(database=database))
    result = Soak(installation, argparse.Namespace(), requests, [Strike("model killed", 100, 106, 108)])._compare()
    return {name: count for name, count in result.items() if count and name not in ("told", "failed", "wrong")}


def sent(name: str, at: float = 1.0, text: str | None = None, *, fine: bool = True, hung: bool = False) -> Request:
    return Request("chat", name, f"Answer to {name}" if text is None else text, fine, at, at + 1, has_hung=hung)


def test_a_message_that_stands_once_with_its_answer_is_right(tmp_path: Path) -> None:
    assert compare(tmp_path, [("done", "#a-1", "Answer to #a-1")], [sent("#a-1")]) == {}


@pytest.mark.parametrize("row", [("done", "#a-1", "Answer to #a"), ("stopped", "#a-1", "Answer to #a-1")])
def test_an_answer_that_the_record_does_not_have_is_lost(tmp_path: Path, row: tuple[TurnStatus, str, str]) -> None:
    assert compare(tmp_path, [row], [sent("#a-1")]) == {"lost": 1}


@pytest.mark.parametrize("status", ["done", "failed"])
def test_a_question_that_stands_twice_is_doubled(tmp_path: Path, status: TurnStatus) -> None:
    rows: list[tuple[TurnStatus, str, str | None]] = [(status, "#a-1", None), ("done", "#a-1", "Answer to #a-1")]
    assert compare(tmp_path, rows, [sent("#a-1")]) == {"doubled": 1}


def test_the_answer_to_another_question_is_mixed(tmp_path: Path) -> None:
    requests = [sent("#a-1", text="Answer to #b-1")]
    assert compare(tmp_path, [("done", "#a-1", "Answer to #b-1")], requests) == {"mixed": 1}


def test_a_failure_counts_as_calm_before_a_fault_and_after_its_recovery(tmp_path: Path) -> None:
    failures = [sent("#a-1", at, fine=False) for at in (50.0, 99.5, 103.0, 107.0, 109.0)]
    assert compare(tmp_path, [], failures) == {"failed_calm": 2}


@pytest.mark.parametrize(("kept", "untrue"), [(-1, {}), (-2, {"untrue": 1}), (None, {"untrue": 1})])
def test_a_story_is_true_whose_state_is_what_its_answers_lead_to(
    tmp_path: Path, kept: int | None, untrue: dict[str, object]
) -> None:
    """``kept``: by how many hit points the state has changed with the only answer."""
    database = f"sqlite:///{tmp_path / 'gieok.db'}"
    with closing(Store(database)) as store:
        worlds = store.of(ME).worlds
        world = worlds.create("Harbour", "en", "Alex")
        node = worlds.add(world.id, None, NewNode("#a-1", ("Answer to #a-1",), f"Answer to #a-1\n{soak.LOSS}", "raw"))
        player = () if kept is None else (Character("Alex", hp=FULL_HP + kept),)
        worlds.settle(node.id, Changes(player), origin="light")
    assert compare(tmp_path, [], [sent("#a-1")]) == untrue


@pytest.mark.parametrize(("leaves", "has_hung", "has_left"), [(False, True, False), (True, False, True)])
def test_a_request_without_an_end_hangs_or_was_left(
    monkeypatch: pytest.MonkeyPatch, leaves: bool, has_hung: bool, has_left: bool
) -> None:
    class Silent:
        is_closed = False

        async def ask(self) -> Answer:
            await asyncio.sleep(3600)
            raise AssertionError

        async def close(self) -> None:
            self.is_closed = True

    monkeypatch.setattr(soak, "LEAVE_SECONDS", 0.01)
    client = Silent()
    asked = Soak(cast(Installation, None), argparse.Namespace(patience=0.01))._ask("mcp", client, leaves=leaves)
    request = asyncio.run(asked)
    assert (request.is_fine, request.has_hung, request.has_left) == (False, has_hung, has_left)
    assert client.is_closed


def test_the_last_line_of_a_traceback_names_its_error(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    frame = 'Traceback (most recent call last):\n  File "a.py", line 1, in b\n    raise it\n'
    log.write_text(f"INFO a: b\n{frame}ValueError: no\n\nDuring it:\n\n{frame}KeyError: 'x'\nINFO c: d\n", "utf-8")
    server = Server("", cast(Any, None), log)
    installation = cast(Installation, argparse.Namespace(workers=[server, server]))
    assert Installation.list_errors(installation) == ["ValueError: no", "KeyError: 'x'"]


# --- who sends again ------------------------------------------------------------------------------


class Scripted(Person):
    """A client whose messages are answered or not, as the script says."""

    script: list[bool]

    async def send(self) -> Answer:
        question = self.messages[-1]["content"]
        if self.script.pop(0):
            self.messages.append({"role": "assistant", "content": "yes"})
            return Answer(question, 200, "yes", complete=True)
        return Answer(question, 0)


@pytest.mark.parametrize(
    ("named", "script", "asked"),
    [
        (True, [False, False, True, True], ["#kim-1-1", "#kim-1-1", "#kim-1-1", "#kim-1-2"]),
        (False, [False, True, False, True], ["#kim-1-1", "#kim-2-1", "#kim-2-2", "#kim-2-2"]),
    ],
)
def test_a_message_is_sent_again_where_its_conversation_is_known(
    named: bool, script: list[bool], asked: list[str]
) -> None:
    person = Scripted("kim", ["http://127.0.0.1:1/v1"], lambda mark, _: mark, named=named)
    person.script = script

    async def ask() -> list[str]:
        client = ChatClient(person)
        return [(await client.ask()).question for _ in asked]

    assert asyncio.run(ask()) == asked
