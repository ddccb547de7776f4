"""Trying a model: one tiny call, its time, and clear failures."""

from __future__ import annotations

import threading

import pytest

from errors import EmptyAnswer, KeyRejected, ModelOverloaded, ModelUnreachable
from model.call.stream import Stopped
from model.choice import model_check
from settings import Settings, load_settings
from tests.clock import set_clock
from tests.stub.reply import failed, said
from tests.stub.upstream import Upstream


def asking(upstream: Upstream, key: str = "sk-secret-1") -> Settings:
    return load_settings(openai_base_url=upstream.url, openai_api_key=key, provider="hosted", model_retries=3)


def test_a_model_that_answers_is_named_with_its_time(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, "model.choice.model_check", step=1.5)
    upstream.replies.append(said("OK"))
    found = model_check.run_model_trial(asking(upstream))
    assert (found.name, found.kind, found.url) == ("stub-model", "hosted", upstream.url)
    assert found.seconds == 1.5
    assert len(upstream.requests) == 1


def test_the_call_ends_with_the_first_word(upstream: Upstream) -> None:
    upstream.replies.append(said("OK and so on " * 500).but(pause=0.05))
    model_check.run_model_trial(asking(upstream))
    assert upstream.requests[0].gone.wait(60), "the answer is complete: it was read to its end"


def test_the_first_word_of_a_model_that_thinks_first_is_a_thought(upstream: Upstream) -> None:
    upstream.replies.append(said(f"<think>Hm {'and so on ' * 500}").but(pause=0.05))
    model_check.run_model_trial(asking(upstream))
    assert upstream.requests[0].gone.wait(60), "the thought is complete: it was read to its end"


@pytest.mark.parametrize(
    ("reply", "error"),
    [(failed(401, "invalid_api_key"), KeyRejected), (failed(429, "rate"), ModelOverloaded), (said(""), EmptyAnswer)],
)
def test_a_failure_is_told_at_once_and_nothing_is_repeated(
    upstream: Upstream, reply: object, error: type[Exception]
) -> None:
    upstream.replies.append(reply)  # type: ignore[arg-type]
    with pytest.raises(error):
        model_check.run_model_trial(asking(upstream))
    assert len(upstream.requests) == 1


def test_a_server_that_is_not_there_is_unreachable() -> None:
    nowhere = load_settings(
        openai_base_url="http://127.0.0.1:9/v1", openai_api_key="x", chat_model="m", provider="hosted"
    )
    with pytest.raises(ModelUnreachable):
        model_check.run_model_trial(nowhere)


def test_it_can_be_stopped(upstream: Upstream) -> None:
    stop = threading.Event()
    upstream.replies.append(said("OK").but(silence=5.0))
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Stopped):
        model_check.run_model_trial(asking(upstream), stop)
