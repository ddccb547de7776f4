"""Work on the library, apart from the page that shows it."""

from __future__ import annotations

import threading

import pytest

from component.documents.adding import distinguish_uploads
from component.work.intake import Intake, Intakes, WaitingQuestion
from errors import LibraryBusy, SessionUnknown
from retrieval import Added, AddingProgress
from tests.wait import until

SECONDS = 60


def added(intake: Intake) -> Added:
    return Added(added=intake.names)


def states(intakes: Intakes) -> list[str]:
    return [each.state for each in intakes.all()]


class Held:
    """Work that goes on until it is told to end, or stopped."""

    def __init__(self) -> None:
        self.began, self.end = threading.Event(), threading.Event()

    def __call__(self, intake: Intake) -> Added:
        self.began.set()
        while not self.end.wait(0.005):
            if intake.stop.is_set():
                return Added(cancelled=True)
        return added(intake)


def test_one_piece_runs_and_the_others_wait_their_turn() -> None:
    intakes, held = Intakes(), Held()
    intakes.start("add", ["a.md"], held)
    intakes.start("add", ["b.md"], added)
    assert held.began.wait(SECONDS)
    assert states(intakes) == ["running", "waiting"]
    held.end.set()
    until(lambda: states(intakes) == ["done", "done"])
    assert [each.result and each.result.added for each in intakes.all()] == [("a.md",), ("b.md",)]


def test_what_runs_stops_and_keeps_what_is_done_and_what_waits_never_begins() -> None:
    intakes, held = Intakes(), Held()
    first, second = intakes.start("add", ["a.md"], held), intakes.start("add", ["b.md"], added)
    assert held.began.wait(SECONDS)
    intakes.cancel(second)
    intakes.cancel(first)
    until(lambda: states(intakes) == ["done", "done"])
    assert first.result == second.result == Added(cancelled=True)


def test_our_errors_and_others_are_told_and_the_next_goes_on() -> None:
    def busy(intake: Intake) -> Added:
        raise LibraryBusy

    def broken(intake: Intake) -> Added:
        raise ValueError("no")

    intakes = Intakes()
    for work in (busy, broken, added):
        intakes.start("add", ["a.md"], work)
    until(lambda: states(intakes) == ["done"] * 3)
    assert [each.error and each.error.code for each in intakes.all()] == ["library_busy", "unexpected", None]


def test_work_that_was_not_needed_is_not_told() -> None:
    intakes = Intakes()
    intakes.start("own", (), lambda intake: None)
    until(lambda: not intakes.all())


def test_what_ended_is_told_until_it_is_dismissed_and_only_the_last_few_are() -> None:
    intakes = Intakes()
    for number in range(9):
        intakes.start("add", [f"{number}.md"], added)
        until(lambda: set(states(intakes)) == {"done"})
    assert [each.names for each in intakes.all()] == [(f"{number}.md",) for number in range(4, 9)]
    intakes.dismiss(intakes.all()[0])
    assert len(intakes.all()) == 4


def test_the_share_rises_from_file_to_file_and_inside_a_file() -> None:
    intakes, held = Intakes(), Held()
    intake, shares = intakes.start("add", ["a", "b"], held), []
    for at in (
        AddingProgress("a", 1, 2),
        AddingProgress("a", 1, 2, 5, 10),
        AddingProgress("b", 2, 2),
        AddingProgress("b", 2, 2, 9, 9),
    ):
        seen = intakes.version
        intakes.report(intake, at)
        assert intakes.wait(seen, SECONDS) > seen
        shares.append(intake.share)
    held.end.set()
    assert shares == [0, 0.25, 0.5, 1]


@pytest.mark.parametrize("end", ["done", "cancel", "now", "error"])
def test_a_question_is_asked_once_when_the_files_are_in_or_will_not_be(end: str) -> None:
    asked: list[str] = []
    intakes, held = Intakes(), Held()

    def work(intake: Intake) -> Added:
        done = held(intake)
        if end == "error":
            raise LibraryBusy
        return done

    intake = intakes.start("add", ["a.md"], work, WaitingQuestion("s", "when?", lambda: asked.append("when?")))
    assert held.began.wait(SECONDS)
    assert asked == []
    if end == "cancel":
        intakes.cancel(intake)
    elif end == "now":
        intakes.ask(intake)
        assert asked == ["when?"]
    held.end.set()
    until(lambda: intake.state == "done")
    assert asked == ["when?"]


def test_a_question_that_was_taken_back_is_not_asked() -> None:
    asked: list[str] = []
    intakes, held = Intakes(), Held()
    intake = intakes.start("add", ["a.md"], held, WaitingQuestion("s", "when?", lambda: asked.append("when?")))
    assert held.began.wait(SECONDS)
    taken = intakes.take_back(intake)
    assert taken is not None
    assert taken.text == "when?"
    held.end.set()
    until(lambda: intake.state == "done")
    assert asked == []


def test_a_question_that_cannot_be_sent_says_why() -> None:
    def send() -> None:
        raise SessionUnknown(session="s")

    intakes = Intakes()
    intake = intakes.start("add", ["a.md"], added, WaitingQuestion("s", "when?", send))
    until(lambda: intake.state == "done")
    assert intake.error is not None
    assert intake.error.code == "session_unknown"


def test_files_of_one_name_become_documents_of_their_own() -> None:
    uploads = [("x/README.md", b"1"), ("y/README.md", b"2"), ("README.md", b"3"), ("../etc/passwd", b"4"), ("", b"5")]
    assert distinguish_uploads(uploads) == [
        ("README.md", b"1"),
        ("README (2).md", b"2"),
        ("README (3).md", b"3"),
        ("passwd", b"4"),
        ("document", b"5"),
    ]
    assert distinguish_uploads([("a", b"1"), ("a", b"2")]) == [("a", b"1"), ("a (2)", b"2")]
    assert distinguish_uploads([("a.md", b"1"), ("a.md", b"1")]) == [("a.md", b"1")], "the same file dropped twice"
