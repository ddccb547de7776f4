from __future__ import annotations

import asyncio
import concurrent.futures

import pytest

from host.loop import Loop


class Late(concurrent.futures.Future[int]):
    """A future whose work ends just after the first wait for it was over."""

    def result(self, timeout: float | None = None) -> int:
        if not self.done():
            self.set_result(7)
            raise TimeoutError
        return super().result(timeout)


async def _nothing() -> int:
    return 0


def test_a_result_that_comes_at_the_end_of_a_wait_is_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop()

    def started(work: object, _: object) -> Late:
        _close(work)
        return Late()

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", started)
    try:
        assert loop.run(_nothing()) == 7
    finally:
        loop.close()


def test_a_timeout_of_the_work_itself_is_told() -> None:
    async def late() -> int:
        raise TimeoutError

    loop = Loop()
    try:
        with pytest.raises(TimeoutError):
            loop.run(late())
    finally:
        loop.close()


def _close(work: object) -> None:
    if asyncio.iscoroutine(work):
        work.close()
