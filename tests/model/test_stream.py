from __future__ import annotations

import threading
from collections.abc import Iterator

import psutil
import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

import errors
from model.call import stream
from model.call.abort import current
from model.scripted import ScriptedModel
from tests.model.conftest import Connect
from tests.stub import reply
from tests.stub.upstream import Upstream
from tests.wait import until

QUESTION = [HumanMessage("hello")]
SECONDS = 60.0
"""How long something that comes about is waited for; what a stop does not end lasts longer."""


@pytest.fixture(autouse=True)
def _starts_no_thread_but_the_watch() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    ours = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("model-")]
    assert len(ours) <= 1, ours


def _stop_soon(seconds: float = 0.2) -> threading.Event:
    stop = threading.Event()
    threading.Timer(seconds, stop.set).start()
    return stop


def test_a_stop_before_the_first_byte_disconnects(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.silent())
    stop, seen = threading.Event(), list[AIMessageChunk]()
    reader = threading.Thread(target=lambda: seen.extend(stream.stream_answer(connect(), QUESTION, stop=stop)))
    reader.start()
    until(lambda: upstream.requests)
    stop.set()
    assert upstream.requests[0].gone.wait(SECONDS)
    reader.join(SECONDS)
    assert not reader.is_alive()
    assert seen == []


def test_a_stop_in_mid_answer_keeps_what_came_and_disconnects(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said(" ".join(["word"] * 500)).but(pause=0.02))
    stop, seen = threading.Event(), []
    for chunk in stream.stream_answer(connect(), QUESTION, stop=stop):
        seen.append(chunk.text)
        if "word" in chunk.text:
            stop.set()
    assert "".join(seen) == "word"
    assert upstream.requests[0].gone.wait(SECONDS)


def test_a_stop_in_the_pause_before_a_retry_ends_at_once_and_nothing_more_is_sent(
    upstream: Upstream, connect: Connect
) -> None:
    upstream.add(reply.failed(429, retry_after="100"), reply.said("too late"))
    assert list(stream.stream_answer(connect(), QUESTION, stop=_stop_soon())) == []
    assert len(upstream.requests) == 1


def test_a_reader_that_goes_away_aborts_the_request(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said(" ".join(["word"] * 500)).but(pause=0.02))
    chunks = stream.stream_answer(connect(), QUESTION)
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert upstream.requests[0].gone.wait(SECONDS)


def test_a_stop_that_is_already_set_gives_nothing(upstream: Upstream, connect: Connect) -> None:
    stop = threading.Event()
    stop.set()
    upstream.always = reply.said("unwanted")
    assert list(stream.stream_answer(connect(), QUESTION, stop=stop)) == []
    assert upstream.requests == []


def test_chunks_arrive_one_by_one(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("one two three").but(end="hang"))
    chunks = stream.stream_answer(connect(), QUESTION)
    texts = (chunk.text for chunk in chunks if chunk.text)
    assert [next(texts), next(texts)] == ["one", " two"], "before the answer has ended"
    chunks.close()  # type: ignore[attr-defined]


def test_two_answers_at_once_do_not_stop_each_other(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.silent(), reply.said("second"))
    model, stop = connect(), threading.Event()
    first = threading.Thread(target=lambda: list(stream.stream_answer(model, QUESTION, stop=stop)))
    first.start()
    until(lambda: upstream.requests)
    assert stream.complete_answer(model, QUESTION).text == "second"
    assert not upstream.requests[0].gone.is_set()
    stop.set()
    first.join(SECONDS)
    assert upstream.requests[0].gone.wait(SECONDS)


def test_complete_says_that_it_was_stopped() -> None:
    with pytest.raises(stream.Stopped):
        stream.complete_answer(ScriptedModel(["never finished"], gate=threading.Event()), QUESTION, stop=_stop_soon())


def test_a_stop_after_the_end_changes_nothing(upstream: Upstream, connect: Connect) -> None:
    stop = threading.Event()
    upstream.add(reply.said("done"))
    assert stream.complete_answer(connect(), QUESTION, stop=stop).text == "done"
    stop.set()


def test_a_model_that_cannot_stream_works_too() -> None:
    model = FakeMessagesListChatModel(responses=[AIMessage("all at once")])
    assert stream.complete_answer(model, QUESTION).text == "all at once"


def test_what_a_model_raises_reaches_the_caller() -> None:
    with pytest.raises(errors.ModelOverloaded):
        stream.complete_answer(ScriptedModel([errors.ModelOverloaded(url="x")]), QUESTION)


def test_an_answer_without_counts_has_no_usage() -> None:
    assert stream.read_token_usage(AIMessage("hello")) == (0, 0, 0, False)


def test_the_callers_thread_reads_and_is_not_marked_between_two_chunks() -> None:
    readers = list[tuple[str, bool]]()

    def answer(_: object) -> str:
        readers.append((threading.current_thread().name, current.get() is not None))
        return "a b"

    chunks = stream.stream_answer(ScriptedModel(answer), QUESTION, stop=threading.Event())
    assert next(chunks).text == "a"
    assert current.get() is None
    assert [chunk.text for chunk in chunks if chunk.text] == [" b"]
    assert readers == [(threading.current_thread().name, True)]


def test_a_stop_after_the_caller_has_gone_on_to_another_answer_leaves_that_one_alone(
    upstream: Upstream, connect: Connect
) -> None:
    upstream.add(reply.said("first"), reply.said("second").but(silence=0.3))
    model, stop = connect(), threading.Event()
    assert stream.complete_answer(model, QUESTION, stop=stop).text == "first"
    stop.set()
    assert stream.complete_answer(model, QUESTION).text == "second"
    assert len({request.peer for request in upstream.requests}) == 1, "on the same connection"


def test_a_call_that_nobody_waits_for_leaves_no_socket_open(upstream: Upstream, connect: Connect) -> None:
    model = connect()
    upstream.always = reply.said("ok")
    stream.complete_answer(model, QUESTION)
    before = psutil.Process().num_fds()
    for _ in range(10):
        stream.complete_answer(model, QUESTION)
    assert psutil.Process().num_fds() <= before + 2
