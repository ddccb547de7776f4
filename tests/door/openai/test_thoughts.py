"""What the model thinks reaches clients in the field that they know, and is no part of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from tests.door.openai.inside import Inside, content, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream

THOUGHT, ANSWER = "Hm, that is easy.", "It is four."


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with (
        Upstream(always=said(f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}")) as upstream,
        inside(tmp_path, upstream) as opened,
    ):
        yield opened


def deltas(stream: str) -> list[dict[str, Any]]:
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]


def test_a_whole_answer_has_them_beside_it(service: Inside) -> None:
    message = service.ask("What is two and two?").json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (ANSWER, THOUGHT)


def test_a_stream_brings_them_first(service: Inside) -> None:
    stream = service.ask("What is two and two?", stream=True).text
    assert content(stream) == ANSWER
    pieces = deltas(stream)
    assert "".join(piece.get("reasoning_content") or "" for piece in pieces).strip() == THOUGHT
    kinds = [name for piece in pieces for name in ("reasoning_content", "content") if piece.get(name)]
    assert kinds == sorted(kinds, reverse=True)


def test_the_next_message_of_the_client_goes_on_and_sends_none_of_them(service: Inside) -> None:
    service.ask("What is two and two?", stream=True)
    again = service.ask("What is two and two?", ANSWER, "And three?")
    assert again.headers["X-Gieok-Fit"] == "goes_on"
    assert THOUGHT not in json.dumps(service.upstream.requests[-1].body)


def test_the_official_client_reads_them_in_both_routes(service: Inside) -> None:
    client = OpenAI(base_url=f"{service.root}/v1", api_key="none")
    whole = client.responses.create(model="gieok", input="What is two and two?")
    assert whole.output_text == ANSWER
    assert [item.type for item in whole.output] == ["reasoning", "message"]
    assert whole.output[0].content[0].text == THOUGHT  # type: ignore[union-attr, index]
    heard: dict[str, str] = {"response.reasoning_text.delta": "", "response.output_text.delta": ""}
    places: dict[str, int] = {}
    for event in client.responses.create(model="gieok", input="And once more, please?", stream=True):
        if event.type in heard:
            heard[event.type] += str(event.delta)  # type: ignore[union-attr]
            places[event.type] = event.output_index  # type: ignore[union-attr]
        if event.type == "response.completed":
            assert [item.type for item in event.response.output] == ["reasoning", "message"]
            assert event.response.output_text == ANSWER
    assert [text.strip() for text in heard.values()] == [THOUGHT, ANSWER]
    assert list(places.values()) == [0, 1]
