"""The way of a message from Enter to the model's client: how many calls and threads it takes (docs/architecture.md)."""

from __future__ import annotations

import json
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from graph.turn.agent import open_agent
from graph.turn.event import Done
from graph.turn.request import Request
from settings import load_settings
from tests.conftest import Serve
from tests.retrieval.test_embedding import embedded
from tests.stub.reply import Reply, called, said
from tests.stub.upstream import Upstream

ROOT = Path(__file__).parent.parent
CALLS = 15
THREADS = 1
"""It runs the turn beside the page, and reads the model."""
pytestmark = pytest.mark.usefixtures("fresh")
ENOUGH = json.dumps({"enough": True, "supporting": [1]})


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
    calls = [call for call in calls if "streamlit_order" not in call]  # in front, where another test has begun the page
    assert calls[0].endswith("_submit_chat_message")
    assert threads <= THREADS
    assert len(calls) <= CALLS, "\n".join(calls)


def searching(body: dict[str, Any]) -> Reply:
    """The chat model calls the search once and then answers; the judge of the search is content."""
    if not body.get("tools"):
        return said(ENOUGH)
    if body["messages"][-1]["role"] == "tool":
        return said("In September [1].")
    asked = str(body["messages"][-1]["content"]).rsplit("\n", 1)[-1]
    return called("search_documents", {"query": asked})


def test_a_turn_that_searches_takes_no_thread_for_its_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chat, tool, judge and a hosted embedding, all over HTTP; a turn before has opened the connections."""
    started, start, here = list[str](), threading.Thread.start, threading.current_thread()

    def noting(thread: threading.Thread) -> None:
        if threading.current_thread() is here:
            started.append(thread.name)
        start(thread)

    with Upstream(always=searching) as upstream:
        upstream.embeds = embedded
        hosted = {
            "openai_base_url": upstream.url,
            "openai_api_key": "none",
            "chat_model": "stub-model",
            "embedding_model": "stub-embedding",
        }
        plain = {"memory": False, "titles": False, "ahead": False, "retrieval": True}
        agent = open_agent(load_settings(data_dir=tmp_path, local_servers=(), **hosted, **plain))
        assert agent.library is not None
        agent.library.add([("fruit.md", b"# Fruit\n\nPears ripen in September.\n")])
        session = agent.store.create_session("en", 0.3).id
        for number, text in enumerate(("When do pears ripen?", "In which month are pears ripe?"), 1):
            before = len(upstream.others)
            if number == 2:
                while any(thread.name == "stop-watch" for thread in threading.enumerate()):
                    time.sleep(0.01)  # the watch of the turn before may live on for a moment
                monkeypatch.setattr(threading.Thread, "start", noting)
            end = agent.turn(Request(session, "new", text), threading.Event(), lambda _: None)
            assert isinstance(end, Done)
            assert end.answer == "In September [1]."
            assert len(upstream.others) > before, "the question was embedded"
        agent.close()
    ours = [name for name in started if "ThreadPoolExecutor" not in name]
    assert len(started) - len(ours) <= 1, "LangGraph's, for the checkpoints"
    assert ours == ["stop-watch"], "the process's own, which ends with its last running turn"
