"""Answers in JSON (``response_format``) through real clients: OpenAI's ``parse`` and LangChain's structured output; and
what becomes of a reply that does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from graph.context.exact_prompt import rebuild_exact_prompt
from tests.door.openai.inside import Inside, content, history, inside
from tests.stub.reply import Reply, called, failed, said
from tests.stub.upstream import Upstream
from tests.wait import SECONDS

Json = dict[str, Any]


class Dog(BaseModel):
    """A dog."""

    name: str
    age: int


BORI = {"name": "Bori", "age": 3}
WRITTEN = json.dumps(BORI)
FORM: Json = {
    "type": "json_schema",
    "json_schema": {"name": "dog", "strict": True, "schema": Dog.model_json_schema() | {"additionalProperties": False}},
}
REJECTED = failed(400, "unsupported_format", param="response_format")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said(WRITTEN)) as opened:
        yield opened


@pytest.fixture
def service(tmp_path: Path, upstream: Upstream) -> Iterator[Inside]:
    with inside(tmp_path, upstream) as opened:
        yield opened


def client(service: Inside) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.root}/v1", api_key="none", max_retries=0, timeout=60)


def langchain(service: Inside) -> ChatOpenAI:
    return ChatOpenAI(base_url=f"{service.root}/v1", api_key=SecretStr("none"), model="gieok", max_retries=0)


def ask(service: Inside, form: Json = FORM, **fields: Any) -> httpx2.Response:
    return service.ask("Which dog?", response_format=form, **fields)


def answer(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


# --- clients ------------------------------------------------------------------------------------


def test_the_sdk_parses_a_completion(service: Inside) -> None:
    made = client(service).chat.completions.parse(
        model="gieok", messages=[{"role": "user", "content": "Which dog?"}], response_format=Dog
    )
    assert made.choices[0].message.parsed == Dog(**BORI)
    sent = service.upstream.requests[-1].body["response_format"]
    assert (sent["type"], sent["json_schema"]["name"], sent["json_schema"]["strict"]) == ("json_schema", "Dog", True)
    assert set(sent["json_schema"]["schema"]["properties"]) == {"name", "age"}


def test_the_sdk_parses_a_stream(service: Inside) -> None:
    asked: Any = {"model": "gieok", "messages": [{"role": "user", "content": "Which dog?"}], "response_format": Dog}
    with client(service).chat.completions.stream(**asked) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Dog(**BORI)


def test_the_sdk_parses_a_response(service: Inside) -> None:
    made = client(service).responses.parse(model="gieok", input="Which dog?", text_format=Dog)
    assert made.output_parsed == Dog(**BORI)
    assert service.upstream.requests[-1].body["response_format"]["json_schema"]["name"] == "Dog"


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_langchain_gives_structured_output(service: Inside, method: Any) -> None:
    made = langchain(service).with_structured_output(Dog, method=method).invoke("Which dog? Answer in JSON.")
    assert made == Dog(**BORI)
    kind = "json_object" if method == "json_mode" else method
    assert service.upstream.requests[-1].body["response_format"]["type"] == kind


# --- replies that do not fit ----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "wrong", ["I like dogs.", '{"name": "Bori"}', '{"name": "Bori", "age": "three"}', "[1]", "NaN"]
)
def test_a_reply_that_does_not_fit_is_asked_for_once_more(service: Inside, wrong: str, stream: bool) -> None:
    service.upstream.add(said(wrong))
    response = ask(service, stream=stream)
    assert (content(response.text) if stream else answer(response)) == WRITTEN
    first, second = (request.body for request in service.upstream.requests)
    assert second["response_format"] == first["response_format"]
    assert "does not fit" in second["messages"][-1]["content"]
    assert second["messages"][-2]["content"] == wrong
    (turn,) = service.agent.store.turns(response.headers["x-gieok-session"], limit=9)
    assert (turn.status, turn.answer) == ("done", WRITTEN)


def test_json_in_a_fence_or_among_words_is_taken_without_another_call(service: Inside) -> None:
    service.upstream.add(said(f"Here it is:\n```json\n{WRITTEN}\n```"))
    assert json.loads(answer(ask(service))) == BORI
    assert len(service.upstream.requests) == 1


def test_a_server_that_takes_no_forms_is_asked_in_words(service: Inside) -> None:
    service.upstream.add(REJECTED)
    assert answer(ask(service)) == WRITTEN
    last = service.upstream.requests[-1].body
    assert "response_format" not in last
    assert '"age"' in last["messages"][-1]["content"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_never_fits_fails_the_turn_and_shows_nothing(service: Inside, stream: bool) -> None:
    service.upstream.always = said("I like dogs.")
    response = ask(service, stream=stream)
    assert "form_unmet" in response.text
    assert content(response.text) == ""
    assert response.status_code == (200 if stream and "event-stream" in response.headers["content-type"] else 502)
    assert len(service.upstream.requests) == 2


def test_an_answer_that_is_cut_off_says_so_as_openai_does(service: Inside) -> None:
    service.upstream.always = said('{"name": "Bo', finish="length")
    choice = ask(service, max_tokens=16).json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", '{"name": "Bo')
    assert len(service.upstream.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_said_before_a_tool_call_is_no_part_of_the_json(service: Inside, stream: bool) -> None:
    words, call = said("Let me calculate."), called("calculate", {"expression": "6*7"})
    service.upstream.add(Reply((*words.chunks[:-2], *call.chunks[1:])))
    response = ask(service, stream=stream)
    assert (content(response.text) if stream else answer(response)) == WRITTEN


@pytest.mark.parametrize("second", ["cut", "call"])
def test_a_second_try_that_is_cut_off_or_calls_a_tool_is_taken_like_a_first(service: Inside, second: str) -> None:
    cut, call = said('{"name": "Bo', finish="length"), called("calculate", {"expression": "6*7"})
    service.upstream.add(said("I like dogs."), cut if second == "cut" else call)
    choice = ask(service).json()["choices"][0]
    expected = ("length", '{"name": "Bo') if second == "cut" else ("stop", WRITTEN)
    assert (choice["finish_reason"], choice["message"]["content"]) == expected


def test_a_schema_takes_its_room_in_the_prompt(tmp_path: Path, upstream: Upstream) -> None:
    """A model reads it in its question where the server takes no forms."""
    upstream.always = failed(400, "unsupported_format", param="response_format")
    schema = {"type": "object", "properties": {f"field_{at}": {"type": "integer"} for at in range(2000)}}
    with inside(tmp_path, upstream, context_size=8000) as service:
        response = ask(service, {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    assert (response.json()["error"]["code"], upstream.requests) == ("context_length_exceeded", [])


def test_any_object_will_do_for_json_object(service: Inside) -> None:
    service.upstream.add(said("[1, 2]"))
    assert answer(ask(service, {"type": "json_object"})) == WRITTEN
    assert len(service.upstream.requests) == 2


def test_a_greeting_and_its_form_are_answered_by_the_whole_prompt(service: Inside) -> None:
    assert answer(service.ask("Hello", response_format=FORM)) == WRITTEN
    assert "response_format" in service.upstream.requests[-1].body


def test_the_conversation_goes_on_with_the_text(service: Inside) -> None:
    first = ask(service)
    second = service.ask("Which dog?", answer(first), "How old?")
    assert second.headers["x-gieok-session"] == first.headers["x-gieok-session"]
    sent = service.upstream.requests[-1].body
    assert "response_format" not in sent
    assert WRITTEN in [message["content"] for message in sent["messages"]]


# --- forms ------------------------------------------------------------------------------------------

DRAFT = "https://json-schema.org/draft/2020-12/schema"
BOMB: Json = {"$defs": {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)}}
BOMB = {"$defs": {**BOMB["$defs"], "d40": {}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    "schema",
    [
        BOMB,
        {"properties": {"name": {"$schema": DRAFT, "$ref": "#/$defs/d0"}}, "$defs": BOMB["$defs"]},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    ],
    ids=["bomb", "bomb of a draft", "away", "circle"],
)
def test_a_schema_that_cannot_be_followed_ends_at_once(service: Inside, schema: Json) -> None:
    response = ask(service, {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "form_unmet")


def test_a_number_that_cannot_be_divided_does_not_fit(service: Inside) -> None:
    service.upstream.always = said(json.dumps({"a": 10**400}))
    schema = {"type": "object", "properties": {"a": {"multipleOf": 0.5}}}
    response = ask(service, {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    assert (response.status_code, response.json()["error"]["code"]) == (502, "form_unmet")


@pytest.mark.parametrize("draft", [{}, {"$schema": "http://json-schema.org/draft-07/schema#"}])
def test_a_pattern_is_the_servers_to_keep(service: Inside, draft: Json) -> None:
    """A pattern can take hours on a short text."""
    pattern = {"pattern": "^(x+x+)+y$"} | draft
    slow = {"type": "object", "properties": {"a": pattern}, "patternProperties": {"^(x+x+)+y$": {}}}
    service.upstream.always = said(json.dumps({"a": "x" * 60}))
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": slow | {"additionalProperties": False}}}
    assert json.loads(answer(ask(service, form))) == {"a": "x" * 60}


@pytest.mark.parametrize(
    "form",
    [
        {"type": "xml"},
        "json",
        {"type": "json_schema"},
        {"type": "json_schema", "json_schema": {"name": "x"}},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "dog"}}},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"required": "name"}}},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$schema": 5}}},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$schema": ["a"]}}},
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"pattern": f"a{{{10**20}}}"}}},
    ],
)
def test_a_form_that_is_none_is_refused(service: Inside, form: Any) -> None:
    refused = service.post("/v1/chat/completions", {**history("Hello"), "response_format": form})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "response_format")
    assert service.upstream.requests == []


# --- what the page shows of it --------------------------------------------------------------------


def texts(service: Inside, response: httpx2.Response) -> dict[str, str]:
    """The parts of the prompt of an answer as the page shows them; the prompt is word for word what was sent."""
    prompt = rebuild_exact_prompt(
        service.agent, response.headers["x-gieok-session"], int(response.headers["x-gieok-turn"])
    )
    assert prompt.proven
    return {part.name: "\n".join(piece.text for piece in part.pieces) for part in prompt.parts}


def test_the_form_is_shown_as_the_field_that_went_out(service: Inside) -> None:
    found = texts(service, ask(service))
    assert json.loads(found["form"]) == service.upstream.requests[-1].body["response_format"] == FORM
    assert "unfit" not in found
    assert "form" not in texts(service, service.ask("And a cat?"))


def test_the_form_is_shown_as_the_words_that_went_out(service: Inside) -> None:
    service.upstream.add(REJECTED, said("No JSON."), said(WRITTEN))
    response = ask(service)
    found, sent = texts(service, response), service.upstream.requests[-1].body["messages"]
    assert sent[-3]["content"].endswith(f"{found['question']}\n\n{found['form']}")
    assert [message["content"] for message in sent[-2:]] == [found["unfit"], found["form_again"]]
    report = ask(service, metadata={"gieok_report": "true"}).json()["gieok"]["context"]
    assert "form" in {part["name"] for part in report["parts"]}


def refuse_later_system(body: Json) -> Reply:
    """A chat template that takes a system message at the front only."""
    if any(message["role"] == "system" for message in body["messages"][1:]):
        return failed(400, "invalid_request", message="System message must be at the beginning.")
    return said("It is a parrot.")


def test_what_a_strict_server_got_is_shown(tmp_path: Path, upstream: Upstream) -> None:
    upstream.always = refuse_later_system
    with inside(tmp_path, upstream, memory=True, model_profile="small") as service:
        service.ask("My dog Bori is a poodle and eats a bowl of rice every evening.")
        assert service.agent.background.idle(SECONDS)  # the turn is found once it is written into the index
        for name in ("a", "b"):  # the strict form is tried, then known
            named = {"metadata": {"gieok_session": name}}
            service.ask("Tell me something nice about the sea.", **named)
            response = service.ask("Suggest other food for my dog Bori than rice every evening.", **named)
            prompt = rebuild_exact_prompt(service.agent, response.headers["x-gieok-session"], 2)
            assert prompt.proven
            sent = upstream.requests[-1].body["messages"]
            assert "turns" in {part.name for part in prompt.parts}
            assert [(piece.speaker or "system", piece.text) for piece in prompt.sent] == [
                (message["role"], message["content"]) for message in sent
            ]
            assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
