"""A door that cannot be opened now is opened by a later request, and nobody goes through before it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from door.doors import Doors


class Endpoint:
    """An endpoint that begins when it is let, with a failure if it has one, and may fail at its end."""

    def __init__(self, failure: Exception | None = None, at_end: Exception | None = None) -> None:
        self.let, self.is_running = asyncio.Event(), False
        self.failure, self.at_end = failure, at_end

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await self.let.wait()
        if self.failure:
            raise self.failure
        self.is_running = True
        yield
        if self.at_end:
            raise self.at_end


def doors_to(endpoints: list[Endpoint]) -> Any:
    """Doors whose door for MCP is the next of these endpoints."""
    return Doors(lambda: endpoints.pop(0), lambda: None, lambda: False)  # type: ignore[arg-type, return-value]


def test_a_door_that_failed_to_open_is_made_anew() -> None:
    async def open_twice() -> None:
        broken, sound = Endpoint(OSError("no")), Endpoint()
        doors = doors_to([broken, sound])
        broken.let.set()
        sound.let.set()
        with pytest.raises(OSError, match="no"):
            await doors._open_mcp()
        assert await doors._open_mcp() is sound
        await doors.close()

    asyncio.run(open_twice())


def test_a_request_that_is_cancelled_lets_nobody_through_before_the_door_is_open() -> None:
    async def open_with_a_cancelled_request() -> None:
        endpoint = Endpoint()
        doors = doors_to([endpoint])
        first = asyncio.create_task(doors._open_mcp())
        while doors._serving is None:
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        second = asyncio.create_task(doors._open_mcp())
        endpoint.let.set()
        await second
        assert endpoint.is_running
        await doors.close()

    asyncio.run(open_with_a_cancelled_request())


def test_a_door_that_fails_at_its_end_lets_the_others_end() -> None:
    async def close_a_failing_door() -> None:
        endpoint = Endpoint(at_end=OSError("late"))
        doors = doors_to([endpoint])
        endpoint.let.set()
        await doors._open_mcp()
        await doors.close()

    asyncio.run(close_a_failing_door())
