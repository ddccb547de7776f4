"""Turns run apart from the page: one per session, further messages wait, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

from component.work.job import Job, Jobs, Means
from component.work.readiness import Readiness
from errors import (
    ContextTooLong,
    EmbeddedFailed,
    Empty,
    GieokError,
    ModelPaused,
    ModelUnreachable,
    SessionDeleted,
    TooLong,
    WeightsCancelled,
    WeightsMissing,
)
from graph.turn.event import (
    Done,
    Event,
    Failed,
    SummaryMade,
    SummaryStarted,
    Token,
    ToolFinished,
    ToolStarted,
    TurnUsage,
)
from graph.turn.request import Request
from model.embedded.weights import FetchProgress as Fetched
from model.modelset import ModelSet
from model.scripted import build_scripted_models
from store import Store
from tests.wait import until


class Agent:
    """Says each text back word by word; ``gate`` holds it after the first word; counts its turns.

    ``store``: what it takes turns into, with the sessions s, a, b and c.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.gate = threading.Event()
        self.gate.set()
        self.said: list[str] = []
        self.means: list[tuple[str, dict[str, int]]] = []
        self.raises: Exception | None = None
        self.fails = False

    def using(self, models: ModelSet | None, budgets: Mapping[str, int] | None = None) -> Self:
        self.means.append((models.name if models else "", dict(budgets or {})))
        return self

    def in_zone(self, zone: tzinfo | None) -> Self:
        return self

    def turn(self, request: Request, stop: threading.Event, emit: Callable[[Event], None]) -> Done | Failed:
        if request.kind == "retry":
            emit(Token("again"))
            return Done(len(self.said), "again")
        if request.kind != "new":
            return Done(request.number, request.text if request.kind == "edited" else "once more")
        return self.answer(request, stop, emit)

    def answer(self, request: Request, stop: threading.Event, emit: Callable[[Event], None]) -> Done | Failed:
        if self.raises:
            raise self.raises
        number = self.store.begin_turn(request.session, request.text).number
        self.said.append(request.text)
        if self.fails:
            return Failed(number, "model_broken", "broken", True)
        words: list[str] = []
        for word in request.text.split():
            words.append(word)
            emit(Token(f"{word} "))
            self.gate.wait(60)
            if stop.is_set():
                break
        return Done(number, " ".join(words), stopped=stop.is_set())


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    store = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    for name in "sabc":
        store.create_session("ko", 0.3, name)
    yield Agent(store)
    store.close()


def ready() -> Readiness:
    readiness = Readiness(lambda progress: build_scripted_models())
    readiness.start()
    readiness.models()
    return readiness


def jobs_of(agent: Agent, readiness: Readiness | None = None) -> Jobs:
    return Jobs(agent, readiness or ready(), agent.store)


def waiting(jobs: Jobs, session: str = "s") -> list[str]:
    return [each.text for each in jobs.list_queued(session)]


def refusing(agent: Agent, text: str) -> Jobs:
    """The agent does not take this message."""
    agent.raises = TooLong(what="message", size=9, limit=5)
    jobs = jobs_of(agent)
    jobs.send("s", text)
    until(lambda: jobs.find_refused("s") and jobs.of("s") is None)
    return jobs


def ended(job: Job | None) -> Job:
    assert job is not None
    until(lambda: job.progress.ended)
    return job


def test_a_turn_runs_to_its_end_without_a_page(agent: Agent) -> None:
    jobs = jobs_of(agent)
    agent.gate.clear()
    jobs.send("s", "one two")
    job = jobs.of("s")
    agent.gate.set()
    assert ended(job).progress.text == "one two "
    assert jobs.of("s") is None


def test_waiting_returns_as_soon_as_there_is_something_new(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "one two")
    job = jobs.of("s")
    assert job is not None
    until(lambda: job.progress.text)
    seen = job.progress.version
    assert job.wait(seen, 0.01).version == seen
    agent.gate.set()
    assert job.wait(seen, 5).version > seen


def test_a_second_message_waits_for_the_first(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "first")
    jobs.send("s", "second")
    assert waiting(jobs) == ["second"]
    agent.gate.set()
    until(lambda: agent.said == ["first", "second"] and jobs.of("s") is None)
    assert waiting(jobs) == []


def test_the_message_that_follows_interrupts_the_answer_and_no_other_does(agent: Agent) -> None:
    jobs = jobs_of(agent)
    agent.gate.clear()
    left = agent.store.outbox.add("s", "left by an earlier process")
    jobs.send("s", "one two")
    first = jobs.of("s")
    assert first is not None
    jobs.send("s", "three")
    until(lambda: first.progress.text)
    old, new = jobs.list_queued("s")
    assert (old.id, jobs.can_interrupt(old), jobs.can_interrupt(new)) == (left, False, True)
    jobs.interrupt(old)
    assert not first.stop.is_set()
    jobs.interrupt(new)
    assert first.stop.is_set()
    agent.gate.set()
    until(lambda: agent.said == ["one two", "three"])
    second = jobs.of("s")
    jobs.interrupt(new)  # a second click
    assert second is None or not second.stop.is_set()
    until(lambda: jobs.of("s") is None)
    assert [each.text for each in jobs.list_queued("s")] == ["left by an earlier process"]


def test_a_message_whose_turn_waits_for_a_model_is_not_interrupted(agent: Agent) -> None:
    hold = threading.Event()
    jobs = jobs_of(agent, Readiness(lambda progress: (hold.wait(60), build_scripted_models())[1]))
    jobs.send("s", "one")
    jobs.send("s", "two")
    (message,) = jobs.list_queued("s")
    assert not jobs.can_interrupt(message)
    hold.set()
    until(lambda: agent.said == ["one", "two"])


def test_a_queued_message_can_be_taken_back(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "first")
    jobs.send("s", "second")
    message = jobs.list_queued("s")[0]
    assert jobs.withdraw(message.id)
    assert not jobs.withdraw(message.id)
    job = jobs.of("s")
    agent.gate.set()
    ended(job)
    assert agent.said == ["first"]


def test_sessions_answer_at_once(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    for name in "abc":
        jobs.send(name, f"to {name}")
    until(lambda: len(agent.said) == 3)
    assert all(jobs.of(name) for name in "abc")
    agent.gate.set()
    until(lambda: not any(jobs.of(name) for name in "abc"))


def test_stop_keeps_the_partial_answer_and_sends_what_waits(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "one two three")
    jobs.send("s", "next")
    job = jobs.of("s")
    assert job is not None
    until(lambda: job.progress.text)
    job.stop.set()
    agent.gate.set()
    end = ended(job).progress.end
    assert isinstance(end, Done)
    assert end.stopped
    assert end.answer == "one"
    until(lambda: agent.said == ["one two three", "next"])


def test_after_a_failure_what_waits_is_not_sent_over_it(agent: Agent) -> None:
    agent.fails = True
    hold = threading.Event()
    readiness = Readiness(lambda progress: (hold.wait(60), build_scripted_models())[1])
    jobs = jobs_of(agent, readiness)
    jobs.send("s", "first")
    jobs.send("s", "second")
    job = jobs.of("s")
    hold.set()
    ended(job)
    assert waiting(jobs) == ["second"]
    assert agent.said == ["first"]
    agent.fails = False
    jobs.retry("s", "first")
    until(lambda: agent.said == ["first", "second"])


def test_a_message_that_is_not_taken_is_kept_with_the_reason(agent: Agent) -> None:
    agent.raises = TooLong(what="message", size=9, limit=5)
    jobs = jobs_of(agent)
    jobs.send("s", "123456789")
    until(lambda: jobs.find_refused("s"))
    refused = jobs.find_refused("s")
    assert refused is not None
    assert refused.text == "123456789"
    assert refused.error is agent.raises


@pytest.mark.parametrize("other", ["send", "again", "edit", "retry"])
def test_a_refused_message_waits_with_the_others_when_another_turn_begins(agent: Agent, other: str) -> None:
    jobs = refusing(agent, "first")
    agent.raises = None
    agent.store.begin_turn("s", "a turn")
    begin = {
        "send": lambda: jobs.send("s", "second"),
        "again": lambda: jobs.again("s", 1, "a turn"),
        "edit": lambda: jobs.again("s", 1, "in other words", edited=True),
        "retry": lambda: jobs.retry("s", "a turn"),
    }
    begin[other]()
    until(lambda: jobs.of("s") is None)
    assert jobs.find_refused("s") is None
    assert "first" in waiting(jobs)
    jobs.resend(next(each for each in jobs.list_queued("s") if each.text == "first"))
    until(lambda: "first" in agent.said and jobs.of("s") is None)
    assert "first" not in waiting(jobs)


def test_a_refused_message_that_is_sent_again_is_the_same_message(agent: Agent) -> None:
    jobs = refusing(agent, "first")
    refused = jobs.find_refused("s")
    assert refused is not None
    jobs.send("s", refused.text, message=refused.message)
    until(lambda: jobs.find_refused("s") is not None and jobs.of("s") is None)
    assert [each.text for each in agent.store.outbox.of("s")] == ["first"]


def test_what_refused_another_try_is_forgotten_when_the_next_one_begins(agent: Agent) -> None:
    agent.store.begin_turn("s", "a turn")
    broken, here = holding()
    jobs = jobs_of(agent)
    jobs.retry("s", "a turn", Means(broken))
    jobs.send("s", "behind it")
    job = jobs.of("s")
    assert job is not None
    job.stop.set()
    ended(job)
    here.set()
    refused = jobs.find_refused("s")
    assert refused is not None
    assert refused.again
    jobs.retry("s", "a turn")
    until(lambda: agent.said == ["behind it"] and jobs.of("s") is None)
    assert jobs.find_refused("s") is None


def test_an_edited_text_that_comes_while_a_turn_runs_waits_for_the_user(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "one two")
    jobs.again("s", 1, "in other words", edited=True)
    agent.gate.set()
    until(lambda: jobs.of("s") is None)
    assert [(each.text, each.turn) for each in jobs.list_queued("s")] == [("in other words", 1)]


@pytest.mark.parametrize("text", ["", " \n", "\x00"])
def test_an_empty_message_is_told_to_the_sender_and_kept_nowhere(agent: Agent, text: str) -> None:
    jobs = jobs_of(agent)
    with pytest.raises(Empty):
        jobs.send("s", text)
    with pytest.raises(Empty):
        jobs.again("s", 1, text, edited=True)
    assert agent.store.outbox.of("s") == []


def test_an_unforeseen_exception_is_told_as_one(agent: Agent) -> None:
    agent.raises = ZeroDivisionError("secret")
    jobs = jobs_of(agent)
    jobs.send("s", "hello")
    until(lambda: jobs.find_refused("s"))
    refused = jobs.find_refused("s")
    assert refused is not None
    assert refused.error is not None
    assert refused.error.code == "unexpected"
    assert "secret" not in refused.error.text()


def test_a_message_waits_for_the_model(agent: Agent) -> None:
    hold = threading.Event()
    jobs = jobs_of(agent, Readiness(lambda progress: (hold.wait(60), build_scripted_models())[1]))
    jobs.send("s", "hello")
    job = jobs.of("s")
    assert job is not None
    assert job.progress.waiting
    assert agent.said == []
    hold.set()
    assert not ended(job).progress.waiting
    assert agent.said == ["hello"]


def test_stopping_before_the_model_is_there_gives_the_message_back(agent: Agent) -> None:
    hold = threading.Event()
    jobs = jobs_of(agent, Readiness(lambda progress: (hold.wait(60), build_scripted_models())[1]))
    jobs.send("s", "hello")
    job = jobs.of("s")
    assert job is not None
    job.stop.set()
    ended(job)
    refused = jobs.find_refused("s")
    assert refused is not None
    assert (refused.text, refused.error) == ("hello", None)
    assert agent.said == []
    hold.set()


def test_without_a_model_the_message_is_kept_and_can_be_sent_later(agent: Agent) -> None:
    tries = [WeightsMissing(name="m", tried="a"), None]

    def resolve(progress: object) -> Any:
        error = tries.pop(0)
        if error:
            raise error
        return build_scripted_models()

    jobs = jobs_of(agent, Readiness(resolve))
    jobs.send("s", "hello")
    until(lambda: jobs.find_refused("s"))
    refused = jobs.find_refused("s")
    assert refused is not None
    assert isinstance(refused.error, WeightsMissing)
    jobs.send("s", refused.text, message=refused.message)
    until(lambda: agent.said == ["hello"])


def test_steps_are_told_as_they_happen(agent: Agent) -> None:
    class Working(Agent):
        def turn(self, request: Request, stop: threading.Event, emit: Callable[[Event], None]) -> Done | Failed:
            emit(SummaryStarted((1, 2, 3)))
            emit(SummaryMade((1, 2, 3), None, error="it was longer", seconds=2))
            emit(ToolStarted("c1", "calculate", {"expression": "1/0"}))
            emit(ToolFinished("c1", "calculate", "division by zero", False, 0.1))
            emit(ToolStarted("c2", "current_time", {}))
            return Failed(4, "model_broken", "broken", True)

    jobs = jobs_of(Working(agent.store))
    jobs.send("s", "go")
    job = jobs.of("s")
    steps = ended(job).progress.steps if job else ()
    assert [(step.name, step.result, step.ok) for step in steps] == [
        ("summary", "it was longer", False),
        ("calculate", "division by zero", False),
        ("current_time", None, True),
    ]


def test_the_model_is_looked_for_again_after_a_failure() -> None:
    answers: list[Any] = [ModelUnreachable(url="http://x"), build_scripted_models()]

    def resolve(progress: Callable[[Fetched], None]) -> Any:
        progress(Fetched("package", 5, 10))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    readiness = Readiness(resolve)
    with pytest.raises(ModelUnreachable):
        readiness.models()
    states = [readiness.status.state]
    assert readiness.models().name == "scripted"
    assert [*states, readiness.status.state] == ["failed", "ready"]


def test_a_download_is_told_until_it_is_whole() -> None:
    seen: list[tuple[str, int]] = []

    def resolve(progress: Callable[[Fetched], None]) -> Any:
        for done in (0, 5, 10):
            progress(Fetched("package", done, 10))
            fetched = readiness.status.fetched
            seen.append((readiness.status.state, fetched.done if fetched else -1))
        return build_scripted_models()

    readiness = Readiness(resolve)
    readiness.models()
    assert seen == [("fetching", 0), ("fetching", 5), ("loading", 10)]


ANSWERED = Done(2, "yes", usage=TurnUsage(calls=1))


@pytest.mark.parametrize(
    "away",
    [
        EmbeddedFailed(name="m", reason="out of memory", log="m.log"),
        ModelPaused(url="http://127.0.0.1:9/v1", seconds=30),
        ModelUnreachable(url="http://127.0.0.1:9/v1"),
        WeightsMissing(name="m", tried="hub"),
    ],
    ids=lambda away: away.code,
)
def test_a_model_that_does_not_answer_is_ready_no_more_until_it_answers(away: GieokError) -> None:
    readiness, seen = ready(), list[bool]()
    in_the_message = Failed(1, ContextTooLong.code, "too long", False)
    by_code, stopped = Done(2, "고마워요"), Done(2, "", stopped=True, usage=TurnUsage(calls=1))
    for end in (Failed(1, away.code, away.text(), True, away.values), in_the_message, by_code, stopped, ANSWERED):
        readiness.note_call(end)
        seen.append(readiness.status.is_away)
    assert seen == [True, True, True, True, False]
    assert readiness.status.state == "ready"


def test_a_call_leaves_the_time_of_the_last_look_for_the_models() -> None:
    readiness = Readiness(lambda progress: build_scripted_models())
    assert not readiness.status.looked
    readiness.models()
    looked = readiness.status.looked
    assert looked
    readiness.note_call(ANSWERED)
    assert readiness.status.last_call is not None
    assert readiness.status.looked == looked


def named(name: str) -> Readiness:
    readiness = Readiness(lambda progress: replace(build_scripted_models(), name=name))
    readiness.start()
    return readiness


def test_every_message_runs_with_the_models_and_budgets_of_the_page_that_sent_it(agent: Agent) -> None:
    jobs = jobs_of(agent)
    agent.gate.clear()
    jobs.send("s", "first", Means(named("one")))
    jobs.send("s", "second", Means(named("two"), {"budget_memory": 7}))
    jobs.send("s", "third")
    agent.gate.set()
    until(lambda: len(agent.means) == 3 and jobs.of("s") is None)
    assert agent.means == [("one", {}), ("two", {"budget_memory": 7}), ("scripted", {})]


def test_a_download_that_was_cancelled_can_be_taken_up_again() -> None:
    tries: list[threading.Event] = []

    def resolve(progress: Callable[[Fetched], None]) -> ModelSet:
        tries.append(readiness.cancelled)
        if len(tries) > 1:
            return build_scripted_models()
        progress(Fetched("huggingface", 1, 10))
        assert readiness.cancelled.wait(60)
        raise WeightsCancelled(name="qwen", done="1 B", total="10 B")

    readiness = Readiness(resolve)
    readiness.start()
    until(lambda: readiness.status.state == "fetching")
    assert readiness.is_embedded
    readiness.cancel()
    until(lambda: readiness.status.state == "failed")
    assert isinstance(readiness.status.error, WeightsCancelled)
    readiness.start()
    until(lambda: readiness.status.state == "ready")
    assert not tries[1].is_set()


# --- what outlives the process ------------------------------------------------------------------


def holding() -> tuple[Readiness, threading.Event]:
    """Models that are not there yet."""
    here = threading.Event()
    return Readiness(lambda progress: (here.wait(60), build_scripted_models())[1]), here


def test_messages_outlive_the_process_and_wait_for_the_user(agent: Agent) -> None:
    readiness, here = holding()
    jobs = jobs_of(agent, readiness)
    for text in ("waits for the model", "queued"):
        jobs.send("s", text)
    jobs.hold("s", "waits for its files")
    later = jobs_of(agent)  # as after a restart
    assert waiting(later) == ["waits for the model", "queued", "waits for its files"]
    assert agent.said == []
    later.resend(later.list_queued("s")[1])
    until(lambda: agent.said == ["queued"] and later.of("s") is None)
    assert waiting(later) == ["waits for the model", "waits for its files"]
    here.set()
    until(lambda: jobs.of("s") is None)


def test_a_refused_message_outlives_the_process(agent: Agent) -> None:
    agent.raises = TooLong(what="message", size=9, limit=5)
    jobs = jobs_of(agent)
    jobs.send("s", "123456789")
    until(lambda: jobs.find_refused("s"))
    assert waiting(jobs) == []
    assert waiting(jobs_of(agent)) == ["123456789"]
    jobs.dismiss("s")
    assert waiting(jobs_of(agent)) == []


def test_a_message_that_is_a_turn_waits_no_more(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "one two")
    until(lambda: agent.said)
    assert waiting(jobs_of(agent)) == []
    agent.gate.set()
    until(lambda: jobs.of("s") is None)


def test_a_message_for_files_is_sent_when_they_are_in_or_taken_back(agent: Agent) -> None:
    jobs = jobs_of(agent)
    sent, back = jobs.hold("s", "about the files"), jobs.hold("s", "never mind")
    assert waiting(jobs) == []
    jobs.send("s", "about the files", message=sent)
    jobs.withdraw(back)
    until(lambda: agent.said == ["about the files"] and jobs.of("s") is None)
    assert waiting(jobs_of(agent)) == []


def test_in_a_deleted_session_nothing_follows_and_nothing_is_sent(agent: Agent) -> None:
    agent.gate.clear()
    jobs = jobs_of(agent)
    jobs.send("s", "one two")
    jobs.send("s", "queued")
    job = jobs.of("s")
    assert job is not None
    until(lambda: job.progress.text)
    agent.store.put_away("s")
    job.stop.set()
    agent.gate.set()
    ended(job)
    assert jobs.of("s") is None
    jobs.send("s", "from another tab")
    refused = jobs.find_refused("s")
    assert refused is not None
    assert isinstance(refused.error, SessionDeleted)
    assert agent.said == ["one two"]
    agent.store.put_away("s", away=False)
    assert waiting(jobs) == ["queued"]
    jobs.send("s", refused.text, message=refused.message)
    until(lambda: agent.said == ["one two", "from another tab", "queued"])
    until(lambda: jobs.of("s") is None)


def test_an_edited_text_that_waits_takes_its_turns_place_later(agent: Agent) -> None:
    readiness, here = holding()
    jobs = jobs_of(agent, readiness)
    jobs.again("s", 1, "in other words", edited=True)
    later = jobs_of(agent)
    message = later.list_queued("s")[0]
    assert (message.text, message.turn) == ("in other words", 1)
    later.resend(message)
    job = later.of("s")
    assert job is None or (job.turn, job.request.kind) == (1, "edited")
    until(lambda: later.of("s") is None)
    here.set()
    until(lambda: jobs.of("s") is None)
