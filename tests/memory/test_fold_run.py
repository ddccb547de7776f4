"""Folds that are rejected, refused, killed or overtaken: nothing is lost, nothing comes twice."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from langchain_core.messages import BaseMessage
from sqlalchemy import update

from component.page.catalogue import Words
from errors import AnswerRefused, GieokError, ModelServerError, RequestRejected
from memory.state import PATIENCE, Rejection
from model import scripted
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.pause import MOST_TURNS
from store.database import schema
from tests.memory import process
from tests.memory.conftest import OpenMemory, free_port, valkey
from tests.memory.conversation import Conversations
from tests.memory.models import faithful, good, saying
from tests.table import table
from text.language import Language

BAD = ("The user talks.", "The user talks again.")
REFUSED = RequestRejected(url="x", status=400, reason="content_filter")
FAILED = ModelServerError(url="x", status=503, reason="busy")


def is_due(talks: Conversations, name: str = "s1") -> bool:
    return talks.memory.reader.fill_copy("acme", talks.session(name)).due


def rejection(talks: Conversations, name: str = "s1") -> Rejection:
    found = talks.view(name).rejection
    assert found is not None
    return found


def fail(talks: Conversations, name: str = "s1") -> None:
    with pytest.raises(ModelServerError):
        talks.fold(saying(FAILED, FAILED), name=name)


def check_whole(talks: Conversations, turns: int) -> None:
    """Every turn is in the memory or waits for it, once."""
    versions = talks.memory.reader.read_versions("acme", talks.session())
    folded = [number for version in versions if version.first for number in range(version.first, version.last + 1)]
    view = talks.view(count=lambda text: 0)
    assert sorted([*folded, *view.waiting]) == list(range(1, turns + 1))
    assert all(view.whole.count(f"item {number} costs ${number}00.") == 1 for number in folded)


# --- rejected and refused -----------------------------------------------------------------------


def test_after_a_rejection_the_memory_stays_the_turns_wait_and_the_next_turn_takes_them_in(
    talks: Conversations,
) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    before = talks.view()
    talks.tell(range(7, 12))
    report = talks.fold(saying(*BAD))
    assert report.status == "rejected"
    assert "could not be read" in report.reason
    after = talks.view()
    assert (after.whole, after.entities, after.version) == (before.whole, before.entities, 1)
    assert after.waiting == (6, 7, 8, 9, 10, 11)
    assert (rejection(talks).first, rejection(talks).last, rejection(talks).times) == (6, 10, 1)
    assert not is_due(talks), "not again before something is said"
    talks.tell([12])
    assert is_due(talks)
    talks.fold()
    assert talks.view().rejection is None
    assert "item 6 costs $600" in talks.view().whole
    cost = talks.memory.reader.read_versions("acme", talks.session())[1].cost
    assert cost["calls"] == 3, "the try that was rejected is counted"


@table("error", [REFUSED, AnswerRefused(), None])
def test_what_is_rejected_or_refused_three_times_code_folds(talks: Conversations, error: GieokError | None) -> None:
    name = error.code if error else "unreadable"
    answers = [error, error] if error else [*BAD]
    talks.tell(range(1, 7), name=name)
    for number in range(PATIENCE):
        assert talks.fold(saying(*answers), name=name).status == "rejected"
        assert rejection(talks, name).times == number + 1
        assert not is_due(talks, name)
        talks.tell([7 + number], name=name)
    assert talks.fold(saying(*answers, *answers), name=name).status == "folded"
    assert "My item 1 costs $100" in talks.view(name).whole
    assert talks.view(name).rejection is None


def test_after_each_failure_the_next_try_waits_twice_as_many_turns(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    tried = []
    for number in range(7, 60):
        if is_due(talks):
            tried.append(number - 1)
            fail(talks)
        talks.tell([number])
    assert tried == [6, 7, 9, 13, 21, 37, 53]
    assert rejection(talks).pause == MOST_TURNS
    assert rejection(talks).times == 0, "no failure leads to a fold by code"
    talks.tell(range(60, 70))
    talks.fold()
    assert talks.view().rejection is None


def test_failures_and_refusals_are_counted_apart(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold(saying(REFUSED, REFUSED))
    talks.tell([7])
    fail(talks)
    assert (rejection(talks).times, rejection(talks).failures) == (1, 1)
    talks.tell([8])
    talks.fold(saying(REFUSED, REFUSED))
    assert (rejection(talks).times, rejection(talks).failures) == (2, 0)


@table("language", ["ko", "en"])
def test_the_panel_says_what_happened_and_when_it_is_tried_again(talks: Conversations, language: Language) -> None:
    talks.tell(range(1, 7), name=language)
    fail(talks, language)
    why = {"first": 1, "last": 5, "reason": "", **rejection(talks, language).why}
    message, _ = Words(language).error("fold_rejected", "", why)
    assert "HTTP 503" in message
    assert "7" in message


def test_a_rejection_is_forgotten_with_the_turns_it_was_about(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold(saying(*BAD))
    talks.edit(3, "Something else.")
    assert talks.view().rejection is None


# --- killed and overtaken -----------------------------------------------------------------------


@pytest.mark.parametrize("step", ["locked", "asked", "made", "written"])
def test_a_fold_that_was_killed_is_completed_once(step: str, opened: OpenMemory, tcp: str, tmp_path: Path) -> None:
    talks = opened()
    talks.tell(range(1, 7))
    killed = process.start(process.fold_until, step, tcp, tmp_path / "data")
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    for session in talks.memory.folds.list_due("acme"):  # the next start finds it
        assert session == talks.session()
        assert talks.fold().status == "folded"
    assert talks.view().version == 1
    assert talks.memory.folds.list_due("acme") == []
    check_whole(talks, 6)


@pytest.mark.parametrize(("step", "answers", "code"), [("repaired", BAD, False), ("made", (), True)])
def test_a_fold_that_was_killed_before_it_was_written_loses_nothing(
    step: str, answers: tuple[str, ...], code: bool, opened: OpenMemory, tcp: str, tmp_path: Path
) -> None:
    talks = opened()
    talks.tell(range(1, 7))
    killed = process.start(process.fold_until, step, tcp, tmp_path / "data", answers, code)
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert talks.view().waiting == (1, 2, 3, 4, 5, 6)
    talks.fold()
    check_whole(talks, 6)


def test_redis_may_be_restarted_while_a_fold_is_under_way(opened: OpenMemory, tmp_path: Path) -> None:
    port = free_port()
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with ExitStack() as servers:
        server = servers.enter_context(valkey(first, port))
        talks = opened(redis_url=f"redis://127.0.0.1:{port}")
        talks.tell(range(1, 7))

        def answer(messages: list[BaseMessage]) -> str:
            server.kill()
            server.wait()
            servers.enter_context(valkey(second, port))
            return faithful(messages)

        assert talks.fold(scripted.build_scripted_models(utility=answer)).status == "folded"
        assert talks.memory.wait(60), talks.memory.away
        check_whole(talks, 6)
        talks.say("My cat is Tom.")
        assert talks.view().version == 1
        talks.memory.close()


def test_a_redis_that_is_full_takes_nothing_from_memory(opened: OpenMemory, tmp_path: Path) -> None:
    port = free_port()
    with valkey(tmp_path, port, "--maxmemory", "1", "--maxmemory-policy", "noeviction"):
        talks = opened(redis_url=f"redis://127.0.0.1:{port}", wait=False)
        client = redis.Redis(port=port, protocol=2)
        with pytest.raises(redis.ResponseError, match="maxmemory"):
            client.set("a", "b")
        client.close()
        talks.tell(range(1, 7))
        assert talks.fold().status == "folded"
        check_whole(talks, 6)
        talks.memory.close()


def test_processes_on_one_session_double_no_turn(opened: OpenMemory, tcp: str, tmp_path: Path) -> None:
    talks = opened()
    talks.tell(range(1, 19))
    running = [process.start(process.fold_always, tcp, tmp_path / "data", 10) for _ in range(3)]
    for each in running:
        each.join(120)
        assert each.exitcode == 0
    talks.fold()
    check_whole(talks, 18)
    assert talks.view().version == 3


def test_one_folds_at_a_time(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    seen = []

    def step(name: str) -> None:
        if name == "asked":
            seen.append(talks.fold().status)

    assert talks.fold(step=step).status == "folded"
    assert seen == ["busy"]
    assert talks.view().version == 1


@pytest.mark.parametrize("how", ["edit", "forget", "branch", "undo"])
def test_what_changes_during_a_fold_stands_and_the_fold_begins_again(talks: Conversations, how: str) -> None:
    talks.tell(range(1, 7))
    talks.memory.writer.edit("acme", talks.session(), "At first.")
    changed: list[str] = []

    def step(name: str) -> None:
        if name != "made" or changed:
            return
        changed.append(how)
        if how == "edit":
            talks.memory.writer.edit("acme", talks.session(), "Meanwhile.")
        elif how == "forget":
            talks.forget("My item 2 costs $200.")
        elif how == "branch":
            talks.edit(6, "My item 6 costs $666.")
        else:
            talks.memory.writer.undo("acme", talks.session())

    assert talks.fold(step=step).status == "folded"
    lines = talks.view().whole.splitlines()
    expected = {
        "edit": "Meanwhile.",
        "forget": "At first.",
        "branch": "At first.",
        "undo": "User said: My item 1 costs $100.",
    }
    assert lines[0] == expected[how]
    assert ("$200" in talks.view().whole) == (how != "forget")


def test_a_session_that_is_erased_during_a_fold_stays_erased(talks: Conversations) -> None:
    talks.tell(range(1, 7))

    def step(name: str) -> None:
        if name == "made":
            talks.memory.eraser.erase_session("acme", talks.session(), goes_on=True)

    talks.fold(step=step)
    assert (talks.view().version, talks.view().whole) == (0, "")


def test_a_fold_that_is_stopped_leaves_the_turns_for_the_next(talks: Conversations) -> None:
    import threading

    stop = threading.Event()
    stop.set()
    talks.tell(range(1, 7))
    with pytest.raises(Stopped):
        talks.fold(stop=stop)
    assert talks.fold().status == "folded"


def calls(models: ModelSet) -> int:
    return len(models.utility.calls)  # type: ignore[attr-defined]


def test_a_fold_that_is_not_due_asks_nobody(talks: Conversations) -> None:
    models = good()
    talks.tell(range(1, 6))
    talks.fold(models)
    assert calls(models) == 0


def test_a_start_folds_what_a_crash_left_and_no_imported_conversation(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.tell(range(1, 7), name="imported")
    talks.tell(range(1, 6), name="short")
    with talks.store.transaction() as connection:
        turn = schema.turn.c
        old = update(schema.turn).where(turn.session_id == talks.session("imported"))
        connection.execute(old.values(id=-turn.id))  # as an import numbers its turns
    talks.tell(range(7, 9), name="taken")
    talks.tell(range(1, 7), name="taken")
    with talks.store.transaction() as connection:
        taken = update(schema.turn).where(turn.session_id == talks.session("taken"))
        connection.execute(taken.values(id=-turn.id))
    talks.store.tree.remove(talks.session("taken"), 1)  # the others are copies then, and nobody has gone on
    assert talks.memory.folds.list_due("acme") == [talks.session()]
    talks.store.set_model(talks.session(), {"kind": "local", "url": "http://127.0.0.1:9/v1", "name": "own"})
    assert talks.memory.folds.list_due("acme") == [], "the turns of a conversation with a model go to no other one"
    talks.store.set_model(talks.session(), None)
    talks.say("And on it goes.", name="imported")
    assert set(talks.memory.folds.list_due("acme")) == {talks.session(), talks.session("imported")}
    talks.delete("s1")
    talks.fold(name="imported")
    assert talks.memory.folds.list_due("acme") == []
