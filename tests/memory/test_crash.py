"""kill -9 at each step of a fold, and several processes at once: nothing is lost, nothing comes twice."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from memory import Memory
from tests.memory import process
from tests.memory.conftest import Opened
from tests.memory.models import good
from tests.memory.test_carry import two
from tests.memory.test_memory import of_user, talk

STEPS = ["locked", "asked", "made", "swapped", "carrying", "carried"]


def whole(memory: Memory, turns: int) -> None:
    """Every turn is in the memory or waits for it, once; the user's memory says the same."""
    view = memory.context("acme", "s1", "en", count=lambda text: 0)
    folded = [turn.number for version in memory.versions("acme", "s1") for turn in version.turns]
    assert sorted([*folded, *view.waiting]) == list(range(1, turns + 1))
    for number in folded:
        assert view.whole.count(f"item {number} costs ${number}00.") == 1
    assert of_user(memory) == view.whole


def kill(step: str, url: str, folder: Path, session: str, *how: object) -> None:
    """A process that is killed at this step of a fold."""
    killed = process.start(process.fold_until, step, url, folder / "data", session, *how)
    killed.join(30)
    assert killed.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("step", STEPS)
def test_a_fold_that_was_killed_is_completed_once(step: str, opened: Opened, tcp: str, tmp_path: Path) -> None:
    memory = opened()
    talk(memory, *range(1, 7))
    kill(step, tcp, tmp_path, "s1")
    for due in memory.due("acme", "s1"):  # the next start or turn finds it
        report = memory.fold("acme", due.session, models=good(), language="en")
        assert report.status in ("folded", "nothing")
    assert memory.context("acme", "s1").version == 1
    assert memory.due("acme", "s1") == []
    whole(memory, 6)


BAD = ("The user talks.", "The user talks again.")


@pytest.mark.parametrize(
    ("step", "answers", "code"),
    [("asked", BAD, False), ("repaired", BAD, False), ("rejected", BAD, False), ("made", (), True)],
)
def test_a_fold_that_was_killed_before_it_was_written_loses_nothing(
    step: str, answers: tuple[str, ...], code: bool, opened: Opened, tcp: str, tmp_path: Path
) -> None:
    """Also after replies that cannot be read, and where code folds."""
    memory = opened()
    talk(memory, *range(1, 7))
    kill(step, tcp, tmp_path, "s1", False, answers, code)
    assert memory.context("acme", "s1").waiting == (1, 2, 3, 4, 5, 6)
    talk(memory, 7)
    while due := memory.due("acme", "s1"):
        assert memory.fold("acme", due[0].session, models=good(), language="en").status == "folded"
    whole(memory, 7)


@pytest.mark.parametrize("step", ["locked", "swapped", "carrying", "asked", "merged", "carried"])
def test_a_start_finds_what_a_killed_rest_fold_left_out_of_the_user_s_memory(
    step: str, opened: Opened, tcp: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.memory.REST_SECONDS", -1.0)
    memory = opened()
    two(memory)
    talk(memory, *range(7, 12))
    kill(step, tcp, tmp_path, "s1", True)
    assert memory.settle(10)
    again = opened()
    assert again.wait(10)
    assert again.settle(10)
    for due in again.due_all("acme"):
        again.fold("acme", due.session, models=good(), language="en", rest=due.rest)
    assert again.settle(10)
    assert again.due_all("acme") == []
    told = again.context("acme", "s3", "en", count=lambda text: 0)
    assert all(f"item {number} costs ${number}00." in told.whole for number in range(1, 17))


def test_processes_on_one_session_lose_no_turn_and_double_none(opened: Opened, tcp: str, tmp_path: Path) -> None:
    memory = opened()
    work = [list(range(1, 24, 2)), list(range(2, 25, 2)), list(range(1, 25, 3))]
    running = [process.start(process.note, tcp, tmp_path / "data", "s1", numbers) for numbers in work]
    for each in running:
        each.join(60)
        assert each.exitcode == 0
    while due := memory.due("acme", "s1"):
        memory.fold("acme", due[0].session, models=good(), language="en")
    assert memory.settle(10)
    whole(memory, 24)


def test_a_process_that_folds_keeps_others_from_it(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    seen = []

    def step(name: str) -> None:
        if name == "asked":
            seen.append(memory.fold("acme", "s1", models=good(), language="en").status)

    assert memory.fold("acme", "s1", models=good(), language="en", step=step).status == "folded"
    assert seen == ["busy"]
    assert [each.number for each in memory.versions("acme", "s1")] == [1]


def test_an_edit_during_a_fold_wins_and_the_turns_wait_for_the_next(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    memory.edit("acme", "s1", "At first.")

    def step(name: str) -> None:
        if name == "made" and memory.context("acme", "s1").whole == "At first.":
            memory.edit("acme", "s1", "Meanwhile.")

    report = memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert report.status == "folded"
    assert memory.context("acme", "s1", "en").whole.startswith("Meanwhile.\n")


def test_what_is_remembered_during_a_fold_stands(memory: Memory) -> None:
    talk(memory, *range(1, 7))

    def step(name: str) -> None:
        if name == "made":
            memory.remember("acme", "s1", "item 5", "$555", turn=6)

    memory.fold("acme", "s1", models=good(), language="en", step=step)
    assert memory.context("acme", "s1", "en").entity_text.endswith("item 5: $555")
