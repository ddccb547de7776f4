"""The service with its door for other agents, on a real port; and how other agents speak to it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
import uvicorn
from a2a.client import Client, ClientConfig, create_client
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse
from fastapi import FastAPI
from langchain_core.tools import BaseTool
from pydantic import Field

from door.endpoint import Service, create_app
from graph.turn.agent import Agent, open_agent
from settings import load_settings
from store.turn.question import Action, UserQuestion
from tests.stub.reply import Reply, said
from tests.stub.upstream import Upstream

Json = dict[str, Any]
_T = TypeVar("_T")
CALM = {"memory": False, "retrieval": False, "titles": False, "ahead": False, "provider": "hosted"}


class Door(BaseTool):
    """Opens a door, if the user allows it."""

    name: str = "open_door"
    description: str = "Opens a door."
    opened: list[str] = Field(default_factory=list)

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        return UserQuestion(key, "approve", key, self.name, server="house", arguments=dict(arguments))

    def allow(self, action: Action) -> None:
        """Keeps nothing."""

    def _run(self, which: str) -> str:
        self.opened.append(which)
        return f"{which} is open"


@dataclass
class Place:
    """A service in this process; ``root``: its address."""

    root: str
    app: FastAPI
    agent: Agent
    upstream: Upstream
    key: str = ""

    @property
    def service(self) -> Service:
        opened: Service = self.app.state.service
        return opened

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def as_user(self, key: str) -> Place:
        return replace(self, key=key)

    def post(self, body: Any, path: str = "/a2a", **headers: str) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json", **self.headers, **headers}
        return httpx2.post(self.root + path, content=content, headers=sent, timeout=60)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return httpx2.get(self.root + path, headers={**self.headers, **headers}, timeout=60)

    def rpc(self, method: str, params: Json, **headers: str) -> Json:
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **headers)
        assert answer.status_code == 200, answer.text
        body: Json = json.loads(answer.text.removeprefix("data:"))  # a stream may have only its error
        assert (body["jsonrpc"], body["id"]) == ("2.0", 1)
        return body

    def early(self, method: str, **params: Any) -> Json:
        """A call of the first version that succeeds."""
        body = self.rpc(method, params)
        assert "result" in body, body
        result: Json = body["result"]
        return result

    def code(self, method: str, params: Json, **headers: str) -> int:
        """The code of a call that fails."""
        number: int = self.rpc(method, params, **headers)["error"]["code"]
        return number

    def stream(self, method: str, params: Json, **headers: str) -> Iterator[Json]:
        """The events of a stream."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        sent = {**self.headers, **headers}
        with httpx2.stream("POST", self.root + "/a2a", json=body, headers=sent, timeout=60) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])

    @asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Client]:
        """The official client of version 1.0."""
        async with httpx.AsyncClient(timeout=60, headers=self.headers) as http:
            client = await create_client(self.root, client_config=ClientConfig(httpx_client=http, **options))
            yield client

    def talk(self, work: Callable[[Client], Coroutine[Any, Any, _T]], **options: Any) -> _T:
        """Runs something with the official client."""

        async def run() -> _T:
            async with self.client(**options) as client:
                return await work(client)

        return asyncio.run(run())


@contextmanager
def place(folder: Path, upstream: Upstream, *tools: BaseTool, **settings: Any) -> Iterator[Place]:
    """Starts the service on a stub model; ends it with the block."""
    model = {"openai_base_url": upstream.url, "openai_api_key": "none", "chat_model": "stub-model"}
    chosen = load_settings(data_dir=folder, **{**CALM, **model, **settings})
    agent = open_agent(chosen)
    agent = replace(agent, tools=[*agent.tools, *tools])
    app = create_app(agent, chosen)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Place(f"http://127.0.0.1:{listening.getsockname()[1]}", app, agent, upstream)
        finally:
            server.should_exit = True
            thread.join(60)


def slow(words: int = 40) -> Reply:
    """An answer that takes a while: a word each 50 ms, until ``Upstream.hurry``."""
    return said(" ".join(f"word{number}" for number in range(words))).but(pause=0.05)


def request(text: str, context: str = "", task: str = "", *parts: Part, **fields: Any) -> SendMessageRequest:
    """A message of another agent."""
    message = Message(
        message_id=f"m-{text[:20]}",
        role=Role.ROLE_USER,
        context_id=context,
        task_id=task,
        parts=[Part(text=text), *parts],
    )
    return SendMessageRequest(message=message, **fields)


async def send(client: Client, sent: SendMessageRequest) -> list[StreamResponse]:
    return [event async for event in client.send_message(sent)]


def words(text: str) -> Json:
    """A message of the first version."""
    return {"role": "user", "parts": [{"type": "text", "text": text}]}


def message03(text: str, **fields: Any) -> Json:
    """A message of version 0.3."""
    return {"kind": "message", "messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": text}], **fields}


def answer_in(task: Json) -> str:
    """The answer of a task, in the form of any version."""
    texts = [part["text"] for artifact in task["artifacts"] for part in artifact["parts"] if "text" in part]
    return "".join(texts)
