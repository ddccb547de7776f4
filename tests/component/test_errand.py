"""Model calls beside the conversation."""

from __future__ import annotations

import threading
import time
from typing import Any

from component.errand import Errand, Errands
from errors import EmptyMessage
from model.stream import Stopped


def finished(errand: Errand | None) -> Errand:
    assert errand is not None
    until = time.monotonic() + 5
    while not errand.done and time.monotonic() < until:
        time.sleep(0.005)
    assert errand.done
    return errand


def test_the_result_waits_until_it_is_dismissed() -> None:
    errands = Errands()
    errands.start("one", lambda errand: 42)
    assert finished(errands.of("one")).result == 42
    errands.dismiss("one")
    assert errands.of("one") is None


def test_our_errors_and_others_are_kept_as_ours() -> None:
    def fails(error: Exception) -> Any:
        def work(errand: Errand) -> None:
            raise error

        return work

    errands = Errands()
    errands.start("own", fails(EmptyMessage()))
    errands.start("other", fails(ValueError("no")))
    codes = [each.error.code for name in ("own", "other") if (each := finished(errands.of(name))).error]
    assert codes == ["empty_message", "unexpected"]


def test_the_same_errand_runs_once_and_a_dismissed_one_is_stopped() -> None:
    errands, calls = Errands(), []

    def work(errand: Errand) -> None:
        calls.append(errand)
        errand.stop.wait(5)

    errands.start("slow", work)
    errands.start("slow", work)
    running = errands.of("slow")
    errands.dismiss("slow")
    assert finished(running).stop.is_set()
    assert len(calls) == 1
    assert threading.active_count() < 50


def test_a_stopped_call_ends_without_a_result_and_without_an_error() -> None:
    def work(errand: Errand) -> None:
        errand.stop.wait(5)
        raise Stopped

    errands = Errands()
    errands.start("one", work)
    errand = errands.of("one")
    errands.dismiss("one")
    ended = finished(errand)
    assert (ended.result, ended.error) == (None, None)
