"""A hosted embedding model: its vectors, and that a silent server holds up neither a question nor a stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from errors import EmbeddingFailed
from model import embedding, scripted
from model.call.interrupt import stopped_by
from model.call.stream import Stopped
from model.embedding import Hosted
from model.profile import SMALL
from retrieval import Library
from settings import Settings, load_settings
from tests.retrieval.conftest import Opened
from tests.stub.reply import Reply, failed
from tests.stub.upstream import Json, Upstream


def embedded(body: Json) -> Reply:
    """A vector per text: how often it has each of four letters."""
    given = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows = [[1.0, *(float(text.lower().count(letter)) for letter in "aeio")] for text in given]
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Reply(body={"object": "list", "data": data, "model": "stub", "usage": usage})


@pytest.fixture
def server() -> Iterator[Upstream]:
    with Upstream() as upstream:
        upstream.embeds = embedded
        yield upstream


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is given up so late that nothing but a stop can end it."""
    monkeypatch.setattr(embedding, "QUERY_SECONDS", 3600.0)


def hosted(server: Upstream, **more: Any) -> Hosted:
    settings: Settings = load_settings(openai_base_url=server.url, **more)
    return Hosted(settings, "stub-embedding")


def hang(server: Upstream) -> threading.Event:
    """From now on the server is silent; set as soon as it was asked."""
    asked = threading.Event()

    def silent(body: Json) -> Reply:
        asked.set()
        return Reply(body={}, silence=3600)

    server.embeds = silent
    return asked


def test_vectors_have_length_one(server: Upstream) -> None:
    model = hosted(server)
    assert np.linalg.norm(model.passages(["pear", "olive oil"]), axis=1) == pytest.approx([1, 1])
    assert (model.query("pear").shape, model.dimension) == ((5,), 5)


def _searches(library: Library, stop: threading.Event) -> object:
    return library.look_up("When do pears ripen?", scripted.build_scripted_models([]), stop=stop)


def _quotes(library: Library, stop: threading.Event) -> object:
    return library.look_up("When do pears ripen?", scripted.build_scripted_models([], profile=SMALL), stop=stop)


@pytest.mark.parametrize("work", [_searches, _quotes])
def test_a_stop_ends_a_search_whose_embedding_hangs(
    opened: Opened, server: Upstream, work: Callable[[Library, threading.Event], object]
) -> None:
    library, stop = opened(hosted(server)), threading.Event()
    library.add([("fruit.md", b"# Fruit\n\nPears ripen in September.\n")])
    stop_when_asked(hang(server), stop)
    with pytest.raises(Stopped):
        work(library, stop)
    assert server.others[-1].gone.wait(60), "the request is aborted"


def test_a_cancel_ends_an_addition_whose_embedding_hangs(opened: Opened, server: Upstream, tmp_path: Path) -> None:
    library, stop = opened(hosted(server)), threading.Event()
    stop_when_asked(hang(server), stop)
    assert library.add([("fruit.md", b"Pears.")], stop=stop).cancelled
    assert library.documents() == []


def test_a_question_is_given_up_soon_and_not_asked_again(server: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "QUERY_SECONDS", 0.3)
    model = hosted(server)
    hang(server)
    with pytest.raises(EmbeddingFailed, match=r"0\.3 s"):
        model.query("pear")
    assert len(server.others) == 1


def test_nothing_is_asked_after_a_stop(server: Upstream) -> None:
    stop = threading.Event()
    stop.set()
    with stopped_by(stop), pytest.raises(Stopped):
        hosted(server).query("pear")
    assert server.others == []


def test_a_question_takes_no_thread_of_its_own(server: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    model, stop, started = hosted(server), threading.Event(), list[str]()
    start, here = threading.Thread.start, threading.current_thread()

    def noting(thread: threading.Thread) -> None:
        if threading.current_thread() is here:
            started.append(thread.name)
        start(thread)

    with stopped_by(stop):
        model.query("pear")  # opens the connection and starts the process's one watch over its calls
        monkeypatch.setattr(threading.Thread, "start", noting)
        model.query("olive oil")
        model.passages(["olive", "oil"])
    assert started == []


def test_a_stop_ends_the_pause_before_another_try(server: Upstream) -> None:
    stop, asked = threading.Event(), threading.Event()

    def busy(body: Json) -> Reply:
        asked.set()
        return failed(503, retry_after="50")

    server.embeds = busy
    stop_when_asked(asked, stop)
    with stopped_by(stop), pytest.raises(Stopped):
        hosted(server, model_retries=3).query("pear")
    assert len(server.others) == 1


def stop_when_asked(asked: threading.Event, stop: threading.Event) -> None:
    """Sets ``stop`` once the server was asked."""

    def wait() -> None:
        assert asked.wait(60)
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
