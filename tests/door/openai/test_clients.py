"""Real clients against the service as a process of its own: openai's SDK, langchain-openai, llm, and recorded calls of
SillyTavern and Open WebUI."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from langchain_openai import ChatOpenAI
from openai.types import CreateEmbeddingResponse, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from pydantic import BaseModel

from tests.door.openai.running import Running, running
from tests.stub.reply import failed, said

RECORDED = Path(__file__).parent / "recorded"
SERVED = {"gieok"}
"""Fields of ours, beside OpenAI's."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clients")) as opened:
        yield opened


@pytest.fixture(scope="module")
def model(service: Running) -> str:
    """The name of the model that the service offers first."""
    return service.client().models.list().data[0].id


def hello(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def strictly(kind: type[BaseModel], value: Any) -> Any:
    """The value as the SDK's own type, checked: nothing is missing, nothing has another type, nothing is unknown."""
    checked = kind.model_validate_json(json.dumps(value), strict=True)
    assert list(_unknown(checked)) == []
    return checked


def _unknown(value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (f"{type(value).__name__}.{name}" for name in set(value.model_extra or {}) - SERVED)
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from _unknown(item)


def posted(service: Running, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
    return httpx2.post(f"{service.url}{path}", json=body, headers=headers, timeout=60)


def events(response: httpx2.Response) -> list[str]:
    """The data of the events of a stream; comments are left out."""
    assert response.headers["content-type"].startswith("text/event-stream")
    return [line.removeprefix("data: ") for line in response.text.split("\n") if line.startswith("data: ")]


# --- openai's SDK -------------------------------------------------------------------------------


def test_the_models_are_listed_and_found_by_name(service: Running, model: str) -> None:
    client = service.client()
    for listed in json.loads(client.models.with_raw_response.list().text)["data"]:
        strictly(Model, listed)
        assert client.models.retrieve(listed["id"]).id == listed["id"]


def test_a_completion_has_the_shape_of_openai(service: Running, model: str) -> None:
    raw = service.client().chat.completions.with_raw_response.create(model=model, messages=hello("What is a fold?"))
    body = json.loads(raw.text)
    answer = strictly(ChatCompletion, body)
    assert answer.choices[0].message.content == "Answer to: What is a fold?"
    assert answer.choices[0].finish_reason == "stop"
    assert (body["choices"][0]["logprobs"], body["choices"][0]["message"]["refusal"]) == (None, None)
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    assert answer.usage.prompt_tokens_details is not None
    assert raw.headers["x-gieok-fit"] == "new"
    assert [turn.question for turn in service.turns(raw.headers["x-gieok-session"])] == ["What is a fold?"]


def test_the_tokens_that_the_model_took_from_its_cache_are_told(service: Running, model: str) -> None:
    service.answers["Cache me"] = said("Cached.", prompt=500, cached=400)
    answer = service.client().chat.completions.create(model=model, messages=hello("Cache me"))
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert (answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens) == (500, 400)


def test_every_chunk_of_a_stream_has_the_shape_of_openai(service: Running, model: str) -> None:
    body = {"model": model, "messages": hello("Stream me"), "stream": True, "stream_options": {"include_usage": True}}
    *chunks, end = events(posted(service, "/chat/completions", body))
    assert end == "[DONE]"
    checked = [strictly(ChatCompletionChunk, json.loads(chunk)) for chunk in chunks]
    assert len({chunk.id for chunk in checked}) == 1
    pieces = [choice.delta for chunk in checked for choice in chunk.choices]
    assert pieces[0].role == "assistant"
    assert "".join(piece.content or "" for piece in pieces) == "Answer to: Stream me"
    assert [choice.finish_reason for chunk in checked for choice in chunk.choices][-1] == "stop"
    assert [chunk.usage is not None for chunk in checked] == [False] * (len(checked) - 1) + [True]


def test_without_asking_a_stream_tells_no_usage(service: Running, model: str) -> None:
    body = {"model": model, "messages": hello("Stream me quietly"), "stream": True}
    *chunks, _ = events(posted(service, "/chat/completions", body))
    assert [chunk for chunk in chunks if json.loads(chunk).get("usage")] == []
    assert all(json.loads(chunk)["choices"] for chunk in chunks)


def test_the_streaming_helper_of_the_sdk_gives_the_final_completion(service: Running, model: str) -> None:
    with service.client().chat.completions.stream(model=model, messages=hello("안녕, 흘려 보내 줘")) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Answer to: 안녕, 흘려 보내 줘"
    assert "content.delta" in kinds


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"tool_choice": "always", "tools": [{"type": "function", "function": {"name": "look"}}]}, "tool_choice"),
        ({"temperature": 3}, "temperature"),
        ({"messages": []}, "messages"),
    ],
)
def test_what_is_not_taken_is_a_bad_request_that_names_the_field(
    service: Running, model: str, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        service.client().chat.completions.create(**{"model": model, "messages": hello("Refuse me"), **fields})
    assert caught.value.param == field
    assert caught.value.type == "invalid_request_error"
    assert caught.value.code


def test_an_unknown_model_is_not_found(service: Running) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        service.client().models.retrieve("no-such-model")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failed(429, "rate_limit_exceeded", x_should_retry="false"), openai.RateLimitError),
        (failed(500, "server_error", kind="server_error", x_should_retry="false"), openai.InternalServerError),
        (failed(401, "invalid_api_key"), openai.InternalServerError),
    ],
)
def test_an_error_of_the_model_is_an_error_class_of_the_sdk(
    service: Running, model: str, reply: Any, kind: type[openai.APIStatusError]
) -> None:
    asked = f"Fail as {reply.status}"
    service.answers[asked] = reply
    with pytest.raises(kind):
        service.client().chat.completions.create(model=model, messages=hello(asked))


def test_an_error_after_the_first_pieces_is_an_error_in_the_stream(service: Running, model: str) -> None:
    whole = said("It begins and goes on")
    service.answers["Break off"] = whole.but(chunks=whole.chunks[:4], end="close")
    with pytest.raises(openai.APIError):
        list(service.client().chat.completions.create(model=model, messages=hello("Break off"), stream=True))


def test_a_response_and_the_one_that_follows_it_are_one_session(service: Running, model: str) -> None:
    client = service.client()
    raw = client.responses.with_raw_response.create(model=model, input="My dog is called Bori.")
    first = strictly(Response, json.loads(raw.text))
    assert first.output_text == "Answer to: My dog is called Bori."
    then = client.responses.create(model=model, input="What is my dog called?", previous_response_id=first.id)
    assert then.output_text == "Answer to: What is my dog called?"
    session = raw.headers["x-gieok-session"]
    questions = ["My dog is called Bori.", "What is my dog called?"]
    assert [turn.question for turn in service.turns(session)] == questions


def test_a_response_streams_the_events_of_the_sdk(service: Running, model: str) -> None:
    with service.client().responses.stream(model=model, input="Stream a response") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert final.output_text == "Answer to: Stream a response"
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert "response.output_text.delta" in kinds


def test_texts_are_embedded(service: Running, model: str) -> None:
    body = {"model": model, "input": ["a dog", "강아지"], "encoding_format": "float"}
    embedded = strictly(CreateEmbeddingResponse, posted(service, "/embeddings", body).json())
    assert [item.index for item in embedded.data] == [0, 1]
    packed = service.client().embeddings.create(model=model, input=["a dog", "강아지"])  # base64, as the SDK asks
    assert [len(item.embedding) for item in packed.data] == [len(item.embedding) for item in embedded.data]
    assert packed.data[0].embedding == pytest.approx(embedded.data[0].embedding, abs=1e-6)


# --- langchain-openai ---------------------------------------------------------------------------


@pytest.fixture
def chain(service: Running, model: str) -> ChatOpenAI:
    return ChatOpenAI(base_url=service.url, api_key="none", model=model, stream_usage=True)


def test_langchain_invokes_it(chain: ChatOpenAI) -> None:
    answer = chain.invoke([("system", "You are brief."), ("human", "Invoke me")])
    assert answer.text == "Answer to: Invoke me"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] > 0


def test_langchain_streams_it(chain: ChatOpenAI) -> None:
    chunks = list(chain.stream("Stream me through a chain"))
    assert "".join(chunk.text for chunk in chunks) == "Answer to: Stream me through a chain"
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] > 0


# --- llm ----------------------------------------------------------------------------------------


def test_llm_talks_to_it_and_goes_on(service: Running, model: str, tmp_path: Path) -> None:
    if not find_spec("llm"):
        pytest.skip("llm is not installed")
    entry = {"model_id": "mine", "model_name": model, "api_base": service.url, "api_key_name": "mine"}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([entry]), "utf-8")

    def llm(*words: str) -> str:
        environment = {"LLM_USER_PATH": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "llm", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    llm("keys", "set", "mine", "--value", "none")
    assert llm("-m", "mine", "Hello from llm") == "Answer to: Hello from llm"
    assert llm("-m", "mine", "--no-stream", "-c", "And again from llm") == "Answer to: And again from llm"
    asked = [[turn.question for turn in service.turns(session)] for session in service.sessions()]
    assert ["Hello from llm", "And again from llm"] in asked


# --- recorded calls -----------------------------------------------------------------------------


def recorded(name: str) -> list[dict[str, Any]]:
    """The calls of a client in their order, as they were sent."""
    file = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    for call in file["calls"]:
        if call["body"]["stream"] and file.get("tools"):
            call["body"]["tools"] = file["tools"]
    return list(file["calls"])


def replay(service: Running, model: str, call: dict[str, Any]) -> tuple[str, httpx2.Response]:
    """Sends a recorded call; returns the answer's text and the response."""
    body = {**call["body"], "model": model}
    service.next = said(call["answer"])
    response = posted(service, "/chat/completions", body, authorization="Bearer sk-test")
    assert response.status_code == 200, response.text
    if not body["stream"]:
        return str(response.json()["choices"][0]["message"]["content"]), response
    *chunks, end = events(response)
    assert end == "[DONE]"
    pieces = [choice["delta"].get("content") or "" for chunk in chunks for choice in json.loads(chunk)["choices"]]
    return "".join(pieces), response


def test_a_chat_of_sillytavern_stays_one_conversation(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        model = service.client().models.list().data[0].id
        sessions: set[str] = set()
        for call in recorded("sillytavern"):
            text, response = replay(service, model, call)
            told = (text, response.headers.get("x-gieok-fit"))
            assert told == (call["answer"], call.get("fit")), call["what"]
            sessions |= {response.headers["x-gieok-session"]} if "x-gieok-session" in response.headers else set()
            given = json.dumps(service.upstream.requests[-1].body["messages"], ensure_ascii=False)
            assert "a keeper of maps" in given, call["what"]
        assert sessions == set(service.sessions())
        [session] = sessions
        shown = [(turn.question, turn.answer) for turn in service.turns(session) if not turn.given]
    assert shown == [
        ("Hello, my name is Minsu.", "Haru nods, reply number 1."),
        ("I live in Daegu.", "Haru nods, reply number 5."),
        ("Which city do I live in?", "Haru nods, reply number 8."),
        ("And what was my name?", "Haru nods, reply number 11."),
        ("Draw me a map of the way down.", "Haru nods, reply number 12."),
    ]


def test_the_greeting_before_the_first_message_reaches_the_model(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        model = service.client().models.list().data[0].id
        replay(service, model, recorded("sillytavern")[0])
        given = json.dumps(service.upstream.requests[-1].body["messages"])
    assert "You were far off the path." in given


def test_side_calls_of_open_webui_are_answered_without_a_trace(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        model = service.client().models.list().data[0].id
        kept: list[tuple[str, str | None]] = []
        for call in recorded("open_webui"):
            text, response = replay(service, model, call)
            assert text == call["answer"], call["what"]
            offered = "tool_01" in json.dumps(service.upstream.requests[-1].body)
            assert offered == ("tools" in call["body"] and not call.get("side")), call["what"]
            if call.get("side"):
                assert "x-gieok-session" not in response.headers, call["what"]
                assert shown(service) == kept, call["what"]
            assert response.headers.get("x-gieok-fit") == call.get("fit"), call["what"]
            kept = shown(service)
    assert kept == [
        ("내 이름은 민수고 부산에 살아.", "민수 님, 반갑습니다. 부산에 사시는군요."),
        ("고양이 이름은 나비야.", "나비라는 이름이 참 예쁩니다."),
        ("내가 어디에 산다고 했지?", "부산에 사신다고 하셨습니다."),
    ]


def shown(service: Running) -> list[tuple[str, str | None]]:
    """Questions and answers of all sessions."""
    return [(turn.question, turn.answer) for session in service.sessions() for turn in service.turns(session)]
