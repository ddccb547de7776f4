"""«Without the user's memory», as an option of a request and as a setting of a key: nothing of the user's comes in, and
nothing that is told there comes into the user's other conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.door.openai.inside import Inside, history, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream

USER = "ann"
TOLD = "My sailing boat is called Windlass and lies in Gdansk."
ASKED = "Where does my sailing boat Windlass lie?"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream, memory=True) as opened:
        yield opened


class Person:
    """A user with two keys. ``shut``: the key that shares no memory."""

    def __init__(self, service: Inside) -> None:
        self.service, keys = service, service.agent.store.api_keys
        self.key, self.shut = keys.add("laptop", USER), keys.add("program", USER, memory=False)
        self.agent = service.agent.of(USER)

    def ask(self, text: str, key: str = "", path: str = "/v1/chat/completions", **fields: Any) -> httpx2.Response:
        body = {"input": text} if path.endswith("responses") else history(text)
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return self.service.post(path, {**body, **fields}, **headers)

    def prompt(self, *args: Any, **fields: Any) -> str:
        """What the model is given for a question."""
        assert self.ask(*args, **fields).status_code == 200
        return json.dumps(self.service.upstream.requests[-1].body["messages"])

    def is_apart(self, answer: httpx2.Response) -> bool:
        memory = self.agent.memory
        assert memory is not None
        return memory.reader.is_apart(self.agent.tenant, answer.headers["x-gieok-session"])


@pytest.fixture
def ann(service: Inside) -> Person:
    return Person(service)


OPTIONS: list[dict[str, Any]] = [
    {"metadata": {"gieok_memory": "false"}},
    {"metadata": {"gieok_memory": False}},
    {"gieok_memory": False},
]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("fields", [*OPTIONS, {}], ids=["text", "bool", "field", "key"])
def test_nothing_of_the_user_comes_in(ann: Person, path: str, fields: dict[str, Any]) -> None:
    first = ann.ask(TOLD)
    assert ann.agent.memory is not None
    session = first.headers["x-gieok-session"]
    ann.agent.memory.writer.remember(ann.agent.tenant, session, "harbour", "Sopot", turn=1, user=USER)
    with_memory = ann.prompt(ASKED, path=path)
    assert "Gdansk" in with_memory
    assert "Sopot" in with_memory
    without = ann.prompt(ASKED, "" if fields else ann.shut, path, **fields)
    assert "Gdansk" not in without
    assert "Sopot" not in without


@pytest.mark.parametrize("fields", [OPTIONS[0], {}], ids=["option", "key"])
def test_what_is_told_there_stays_there(ann: Person, fields: dict[str, Any]) -> None:
    told = ann.ask(TOLD, "" if fields else ann.shut, **fields)
    assert ann.is_apart(told)
    assert "Gdansk" not in ann.prompt(ASKED)
    name = {"metadata": {"gieok_session": told.headers["x-gieok-session"]}}
    assert "Gdansk" in ann.prompt(ASKED, **name), "the conversation itself keeps what it was told"


def test_a_conversation_stays_apart_from_then_on_and_others_are_left_alone(ann: Person) -> None:
    named: dict[str, Any] = {"metadata": {"gieok_session": "work", "gieok_memory": "false"}}
    assert ann.is_apart(ann.ask("Hello there, Gieok.", **named))
    assert ann.is_apart(ann.ask(TOLD, metadata={"gieok_session": "work"}))
    assert "Gdansk" not in ann.prompt(ASKED)
    assert not ann.is_apart(ann.ask("Hello", metadata={"gieok_memory": "true"}))


def test_a_key_opens_what_was_made_with_it_and_nothing_else_of_its_user(ann: Person) -> None:
    told = ann.ask(TOLD, metadata={"gieok_session": "boat"})
    session = told.headers["x-gieok-session"]
    response = ann.ask(TOLD, path="/v1/responses").json()["id"]
    named: list[dict[str, Any]] = [{"metadata": {"gieok_session": name}} for name in (session, "boat")]
    known: dict[str, Any] = {"messages": [*history(TOLD, "Fine.")["messages"], {"role": "user", "content": ASKED}]}
    for fields in (*named, {}, known):
        answer = ann.ask(ASKED, ann.shut, **fields)
        assert answer.headers["x-gieok-session"] != session, fields
        assert fields is known or "Gdansk" not in json.dumps(ann.service.upstream.requests[-1].body["messages"])
    refused = ann.ask(ASKED, ann.shut, "/v1/responses", previous_response_id=response)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "previous_response_not_found")
    assert not ann.is_apart(told), "and sets nothing of the user's apart"
    (turn,) = ann.agent.store.turns(session)
    assert turn.question == TOLD
    own = ann.ask("Hello there, Gieok.", ann.shut, metadata={"gieok_session": "boat"})
    again = ann.ask("And now?", ann.shut, metadata={"gieok_session": "boat"})
    assert again.headers["x-gieok-session"] == own.headers["x-gieok-session"], "its own it goes on with"


def test_a_story_of_the_user_is_none_of_such_a_key_s(ann: Person) -> None:
    world = ann.agent.store.worlds.create("Windlass", "en")
    story: dict[str, Any] = {"model": "world/stub-model", "metadata": {"gieok_world": world.slug}}
    assert ann.ask("Go on.", ann.shut, **story).status_code == 404
    assert ann.ask("Go on.", **story).headers["x-gieok-world"] == world.slug
    listed = ann.service.root + "/v1/models"
    for key, is_listed in ((ann.shut, False), (ann.key, True)):
        found = httpx2.get(listed, headers={"Authorization": f"Bearer {key}"}).text
        assert (f"/{world.slug}" in found) == is_listed


@pytest.mark.parametrize("fields", [OPTIONS[0], {}], ids=["option", "key"])
def test_what_was_told_while_memory_was_off_stays_apart_when_it_is_on(tmp_path: Path, fields: dict[str, Any]) -> None:
    with Upstream(always=said("Fine.")) as upstream:
        with inside(tmp_path, upstream, memory=False) as service:
            before = Person(service)
            told = before.ask(TOLD, "" if fields else before.shut, **fields)
            copy = before.agent.fork(told.headers["x-gieok-session"], 1)
        with inside(tmp_path, upstream, memory=True) as service:
            after = Person(service)
            assert after.is_apart(told)
            assert after.agent.memory is not None
            assert after.agent.memory.reader.is_apart(after.agent.tenant, copy)
            assert "Gdansk" not in after.prompt(ASKED)
