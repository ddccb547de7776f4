"""A client of the endpoint that plays a story: it sends the whole history, as role-play programs do."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from store.world.record import StoryNode, World
from tests.door.openai.inside import Inside, content
from tests.stub import reply
from tests.stub.reply import Reply

Json = dict[str, Any]
MODEL = "world/stub-model"


def block(**fields: Any) -> str:
    """A state block as a model writes it."""
    lines = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return f"```state\n{lines}\n```"


def told(text: str, size: int = 0, **fields: Any) -> Reply:
    """An answer with its state block, in pieces of so many characters; 0 for words."""
    whole = f"{text}\n\n{block(**fields)}" if fields else text
    if not size:
        return reply.said(whole, prompt=1000, cached=600)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    frames = (reply.delta({"content": piece}) for piece in pieces)
    first = reply.delta({"role": "assistant", "content": ""})
    return Reply((first, *frames, reply.delta({}, finish="stop"), reply.usage(1000, 600, len(pieces))))


@dataclass
class Client:
    """``messages``: the history as the client shows it; ``sent``: the last response."""

    service: Inside
    model: str = MODEL
    messages: list[Json] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    sent: httpx2.Response | None = None

    def send(self, messages: Sequence[Json], **fields: Any) -> httpx2.Response:
        body = {"model": self.model, "messages": list(messages), **fields}
        self.sent = self.service.post("/v1/chat/completions", body, **self.headers)
        return self.sent

    def say(self, text: str, **fields: Any) -> str:
        """Says something and takes the answer into the history."""
        self.messages.append({"role": "user", "content": text})
        answer = self.answer(**fields)
        self.messages.append({"role": "assistant", "content": answer})
        return answer

    def answer(self, **fields: Any) -> str:
        """Asks for an answer to the history as it is."""
        response = self.send(self.messages, **{"stream": True, **fields})
        assert response.status_code == 200, response.text
        if fields.get("stream", True):
            return content(response.text)
        return str(response.json()["choices"][0]["message"]["content"])

    def swipe(self) -> str:
        """Asks for another answer to the last message."""
        self.messages.pop()
        answer = self.answer()
        self.messages.append({"role": "assistant", "content": answer})
        return answer

    @property
    def fit(self) -> str:
        assert self.sent is not None
        return self.sent.headers["x-gieok-fit"]

    @property
    def turn(self) -> int:
        assert self.sent is not None
        return int(self.sent.headers["x-gieok-turn"])

    @property
    def world(self) -> str:
        assert self.sent is not None
        return self.sent.headers["x-gieok-world"]


def given(service: Inside, at: int = -1) -> Json:
    """What the model was sent."""
    return service.upstream.requests[at].body


def changing(service: Inside, at: int = -1) -> str:
    """The block that changes, as the model was sent it. The last request of a story need not be the last one: told
    turns are read behind the answer."""
    places = range(len(service.upstream.requests) - 1, -1, -1) if at == -1 else [at]
    for place in places:
        messages = given(service, place)["messages"]
        texts = [message["content"] for message in messages if isinstance(message["content"], str)]
        if found := [text for text in texts if re.search(r"\[(최신 변경|Latest changes)\]", text)]:
            assert len(found) == 1
            return str(found[0])
    raise AssertionError("no request has a block that changes")


def theirs(service: Inside, at: int = -1) -> list[Json]:
    """The messages of the client, as the model was sent them."""
    messages = given(service, at)["messages"]
    return [
        message
        for message in messages
        if not (isinstance(message["content"], str) and re.search("SAGA|최신 변경|Latest changes", message["content"]))
    ]


def worlds(service: Inside, user: str | None = None) -> list[World]:
    store = service.agent.store.of(user) if user else service.agent.store
    return store.worlds.all()


def nodes(service: Inside) -> list[StoryNode]:
    """All turns of the user's worlds, in the order in which they came."""
    store = service.agent.store.worlds
    found: dict[int, StoryNode] = {}
    for world in store.all():
        for leaf in store.leaves(world.id, 1000):
            found |= {node.id: node for node in store.path(leaf, 1000)}
    return [found[id] for id in sorted(found)]


def events(text: str) -> list[Json]:
    """The events of a stream."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
