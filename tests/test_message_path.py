"""The way of a message from Enter to the model's client: how many calls and threads it takes (docs/architecture.md)."""

from __future__ import annotations

import threading
import traceback
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import Serve

ROOT = Path(__file__).parent.parent
CALLS = 15
THREADS = 1
"""It runs the turn beside the page, and reads the model."""
pytestmark = pytest.mark.usefixtures("fresh")


def own_calls() -> list[str]:
    """The functions of the product on the stack of this thread, outermost first; without the script of the page."""
    frames = traceback.extract_stack()
    inside = [(Path(frame.filename), frame.name) for frame in frames if Path(frame.filename).is_relative_to(ROOT)]
    skipped = (ROOT / "tests", ROOT / ".venv", ROOT / "app.py", ROOT / "model" / "scripted.py")
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path, name in inside
        if not any(path.is_relative_to(each) for each in skipped)
    ]


def test_a_message_reaches_the_client_by_few_calls_and_threads(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[threading.Thread, tuple[threading.Thread, list[str]]] = {}
    start, seen = threading.Thread.start, list[tuple[list[str], int]]()

    def noting(thread: threading.Thread) -> None:
        started[thread] = (threading.current_thread(), own_calls())
        start(thread)

    def reached(messages: list[Any]) -> str:
        calls, thread, threads = own_calls(), threading.current_thread(), 0
        while thread in started and started[thread][1]:  # the page's own thread is started by nobody of ours
            thread, before = started[thread]
            calls, threads = before + calls, threads + 1
        seen.append((calls, threads))
        return "네"

    serve(reached)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.run()
    monkeypatch.setattr(threading.Thread, "start", noting)
    at.chat_input(key="ask").set_value("안녕, 오늘 일정을 정리해 줘").run()
    assert not at.exception
    calls, threads = seen[0]
    assert calls[0].endswith("_submit")
    assert threads <= THREADS
    assert len(calls) <= CALLS, "\n".join(calls)
