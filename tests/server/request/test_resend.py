"""A first message that is sent again: while nobody has its answer it is the same turn, afterwards another one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest

from door.openai import work
from door.openai.body import chat_body
from store import TurnRow
from tests.door.openai.inside import Inside, history, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.wait import until

ANSWER = "one two three four five"
GREETED = {"messages": [{"role": "assistant", "content": "Welcome!"}, {"role": "user", "content": "Hello"}]}
STRANGE = history("Who are you?", "A parrot.", "Hello")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said(ANSWER)) as upstream, inside(tmp_path, upstream) as opened:
        yield opened


def leave(service: Inside, body: dict[str, Any]) -> None:
    """Sends a request and leaves in the middle of its answer; returns when the turn has ended."""
    seen = len(service.upstream.requests)
    service.upstream.add(said(ANSWER).but(pause=0.3))
    if body.get("stream"):
        with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as answer:
            next(answer.iter_text())
    else:
        sending = HTTPConnection(service.root.removeprefix("http://"))
        sending.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        until(lambda: len(service.upstream.requests) > seen)
        sending.close()
    assert service.upstream.requests[seen].gone.wait(60)
    until(lambda: not service.places)


def turns(service: Inside) -> list[list[tuple[str, str, str | None]]]:
    """What the conversations hold: question, status and answer of each turn."""
    store = service.agent.store
    return [list(map(_show, store.turns(session.id))) for session in store.sessions()]


def _show(turn: TurnRow) -> tuple[str, str, str | None]:
    return turn.question, turn.status, turn.answer


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("first", [history("Hello"), GREETED, STRANGE], ids=["alone", "greeted", "told"])
def test_it_is_the_same_turn_for_a_client_that_had_left(service: Inside, first: dict[str, Any], stream: bool) -> None:
    leave(service, {**first, "stream": stream})
    again = service.post("/v1/chat/completions", first)
    assert again.json()["choices"][0]["message"]["content"] == ANSWER
    (conversation,) = turns(service)
    assert conversation[-1] == ("Hello", "done", ANSWER)
    assert len(conversation) == len(first["messages"]) // 2 + 1


def test_it_is_the_same_turn_after_a_failure(service: Inside) -> None:
    service.upstream.add(said("").but(status=400, chunks=(), body={"error": {"message": "no"}}))
    assert service.ask("Hello").status_code == 400
    assert service.ask("Hello").status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]]


def test_it_is_the_same_turn_where_the_answer_was_whole_and_nobody_heard_it(service: Inside) -> None:
    work.build_turn_work(service.agent, chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    assert service.ask("Hello").status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_whoever_has_the_answer_begins_another_conversation(service: Inside, stream: bool) -> None:
    for _ in range(5):
        assert service.ask("Hello", stream=stream).status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]] * 5


def test_two_who_say_the_same_at_the_same_time_have_a_conversation_each(service: Inside) -> None:
    service.upstream.always = said(ANSWER).but(pause=0.2)
    asking = [threading.Thread(target=service.ask, args=("Hello",)) for _ in range(2)]
    asking[0].start()
    until(lambda: service.upstream.requests)
    asking[1].start()
    for thread in asking:
        thread.join()
    assert turns(service) == [[("Hello", "done", ANSWER)]] * 2


def test_another_system_text_or_another_user_has_another_conversation(service: Inside) -> None:
    keys = service.agent.store.api_keys
    ann, ben = (keys.add("laptop", name) for name in ("ann", "ben"))
    key = {"Authorization": f"Bearer {ann}"}
    work.build_turn_work(service.agent.of("ann"), chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    system = {"messages": [{"role": "system", "content": "Be brief."}, *history("Hello")["messages"]]}
    for body, headers in ((system, key), (history("Hello"), {"Authorization": f"Bearer {ben}"})):
        assert service.post("/v1/chat/completions", body, **headers).headers["x-gieok-fit"] == "new"
    assert service.post("/v1/chat/completions", history("Hello"), **key).headers["x-gieok-fit"] == "again"


def test_a_conversation_that_has_a_name_is_found_by_it_alone(service: Inside) -> None:
    work.build_turn_work(service.agent, chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    assert service.ask("Hello", metadata={"gieok_session": "mine"}).headers["x-gieok-fit"] == "new"
    assert len(turns(service)) == 2
