"""Exceptions that nobody took: what the log says of them, and what it never says."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import httpx2
import pytest

from errors import StoreUnavailable
from server.observe.lost_exception import report_to_log
from tests.door.openai.inside import inside
from tests.stub.upstream import Upstream

SAID = "what somebody said"


async def fail(error: Exception) -> None:
    raise error


def caused() -> Exception:
    """An error that an error of Gieok's has caused, as the A2A SDK raises it."""
    try:
        try:
            raise StoreUnavailable(where=SAID, reason=SAID)
        except StoreUnavailable as error:
            raise ValueError(SAID) from error
    except ValueError as error:
        return error


def lose(error: Exception) -> None:
    """Runs a task for whose end nobody waits."""

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(report_to_log)
        task = asyncio.create_task(fail(error))
        await asyncio.wait({task})
        del task
        gc.collect()

    asyncio.run(run())


def test_an_error_of_ours_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    lose(caused())
    assert [(record.levelname, record.getMessage(), record.exc_info) for record in caplog.records] == [
        ("WARNING", "Task exception was never retrieved: store_unavailable", None)
    ]


def test_any_other_error_is_told_by_its_kind_and_place(caplog: pytest.LogCaptureFixture) -> None:
    lose(ValueError(SAID))
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("ERROR", None)
    assert "never retrieved: ValueError" in record.getMessage()
    assert "test_lost_exception.py" in record.getMessage()
    assert SAID not in caplog.text


def test_a_callback_that_fails_is_told_without_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report_to_log)
        loop.call_soon(int, SAID)
        await asyncio.sleep(0)

    asyncio.run(run())
    (record,) = caplog.records
    assert "Exception in callback int: ValueError" in record.getMessage()
    assert SAID not in caplog.text


def test_what_has_no_exception_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    report_to_log(loop, {"message": "Task was destroyed but it is pending!"})
    loop.close()
    assert caplog.messages == ["Task was destroyed but it is pending!: no exception"]


def test_the_service_has_its_loop_tell_so(tmp_path: Path) -> None:
    with Upstream() as upstream, inside(tmp_path, upstream) as service:
        assert httpx2.get(f"{service.root}/.well-known/agent-card.json").status_code == 200, (
            "the door for agents is open"
        )
        beating = service.service.doors.agents._beating
        assert beating is not None
        assert beating.get_loop().get_exception_handler() is report_to_log
