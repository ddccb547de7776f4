"""Model calls beside the conversation."""

from __future__ import annotations

import threading
from typing import Any

from component.work.side_call import SideCall, SideCalls
from errors import Empty
from model.call.stream import Stopped
from tests.wait import until


def finished(side_call: SideCall | None) -> SideCall:
    assert side_call is not None
    until(lambda: side_call.done)
    return side_call


def test_the_result_waits_until_it_is_dismissed() -> None:
    side_calls = SideCalls()
    side_calls.start("one", lambda side_call: 42)
    assert finished(side_calls.of("one")).result == 42
    side_calls.dismiss("one")
    assert side_calls.of("one") is None


def test_our_errors_and_others_are_kept_as_ours() -> None:
    def fails(error: Exception) -> Any:
        def work(side_call: SideCall) -> None:
            raise error

        return work

    side_calls = SideCalls()
    side_calls.start("own", fails(Empty(what="message")))
    side_calls.start("other", fails(ValueError("no")))
    codes = [each.error.code for name in ("own", "other") if (each := finished(side_calls.of(name))).error]
    assert codes == ["empty", "unexpected"]


def test_the_same_errand_runs_once_and_a_dismissed_one_is_stopped() -> None:
    side_calls, calls = SideCalls(), []

    def work(side_call: SideCall) -> None:
        calls.append(side_call)
        side_call.stop.wait(60)

    side_calls.start("slow", work)
    side_calls.start("slow", work)
    running = side_calls.of("slow")
    side_calls.dismiss("slow")
    assert finished(running).stop.is_set()
    assert len(calls) == 1
    until(lambda: not any(thread.name == "side_call" for thread in threading.enumerate()))


def test_a_stopped_call_ends_without_a_result_and_without_an_error() -> None:
    def work(side_call: SideCall) -> None:
        side_call.stop.wait(60)
        raise Stopped

    side_calls = SideCalls()
    side_calls.start("one", work)
    side_call = side_calls.of("one")
    side_calls.dismiss("one")
    ended = finished(side_call)
    assert (ended.result, ended.error) == (None, None)
