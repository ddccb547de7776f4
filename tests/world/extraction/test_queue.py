"""The worker behind answers: order, repeats, interruptions, its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from model.call.stream import Stopped
from world.extraction.queue import MOST_FAILURES, MOST_INTERRUPTED, Queue

SECONDS = 60.0


class Worker:
    """Notes the keys that it works for. ``script``: what it does for a key, one entry for each time."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.script: dict[str, list[Any]] = {}
        self.begun, self.free = threading.Event(), threading.Event()

    def __call__(self, key: str, stop: threading.Event) -> float | None:
        self.keys.append(key)
        step = self.script[key].pop(0) if self.script.get(key) else None
        if step == "hold":
            self.begun.set()
            while not self.free.wait(0.005):
                if stop.is_set():
                    raise Stopped
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, float) else None


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def queue(worker: Worker) -> Iterator[Queue]:
    queue = Queue("test", worker, pause=0.01)
    yield queue
    worker.free.set()
    queue.close()


def test_a_key_waits_once_and_comes_again_when_it_is_put_during_its_work(queue: Queue, worker: Worker) -> None:
    worker.script["a"] = ["hold"]
    queue.put("a")
    assert worker.begun.wait(SECONDS)
    for key in ("b", "a", "b", "a"):
        queue.put(key)
    worker.free.set()
    assert queue.idle(SECONDS)
    assert worker.keys == ["a", "b", "a"]


def test_others_go_on_while_a_key_waits(queue: Queue, worker: Worker) -> None:
    worker.script["a"] = [0.05]
    worker.script["b"] = ["hold"]
    queue.put("a")
    queue.put("b")
    assert worker.begun.wait(SECONDS)
    assert worker.keys == ["a", "b"]
    worker.free.set()
    assert queue.idle(SECONDS)
    assert worker.keys == ["a", "b", "a"]


def test_a_key_that_is_put_comes_sooner_than_its_pause(queue: Queue, worker: Worker) -> None:
    queue.put("a", 3600)
    assert not queue.idle(0)
    queue.put("a")
    assert queue.idle(SECONDS)
    assert worker.keys == ["a"]


def test_interrupted_work_comes_again_and_not_for_ever(queue: Queue, worker: Worker) -> None:
    worker.script["a"] = ["hold"] * 9
    queue.put("a")
    for _ in range(MOST_INTERRUPTED):
        assert worker.begun.wait(SECONDS)
        worker.begun.clear()
        queue.interrupt()
    assert worker.begun.wait(SECONDS)
    queue.interrupt()
    worker.free.set()
    assert queue.idle(SECONDS)
    assert worker.keys == ["a"] * (MOST_INTERRUPTED + 1)


def test_an_error_does_not_end_the_worker(queue: Queue, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    queue._again_after = lambda failures: 0.0  # type: ignore[method-assign]
    worker.script["a"] = [RuntimeError("broken")] * MOST_FAILURES
    queue.put("a")
    queue.put("b")
    assert queue.idle(SECONDS)
    assert worker.keys.count("a") == MOST_FAILURES
    queue.put("a")
    assert queue.idle(SECONDS)
    assert worker.keys.count("a") == MOST_FAILURES + 1


def test_closing_ends_work_at_once(queue: Queue, worker: Worker) -> None:
    worker.script["a"] = ["hold"]
    queue.put("a")
    queue.put("b", 3600)
    assert worker.begun.wait(SECONDS)
    queue.close()
    assert queue.idle(0)
    queue.put("c")
    assert worker.keys == ["a"]
