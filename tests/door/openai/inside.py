"""The service on a real port, but in this process: for tests that look into it or change its times."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from door.endpoint import Service, create_app
from graph.turn.agent import Agent, open_agent
from server.network.connection import ConnectionLimits, LimitedConnection
from settings import load_settings
from tests.stub.upstream import Upstream

Json = dict[str, Any]


@dataclass
class Inside:
    """A service in this process; ``root``: its address without ``/v1``."""

    root: str
    app: FastAPI
    agent: Agent
    upstream: Upstream
    server: uvicorn.Server

    @property
    def service(self) -> Service:
        opened: Service = self.app.state.service
        return opened

    def post(self, path: str, body: Json, **headers: str) -> httpx2.Response:
        return httpx2.post(self.root + path, json=body, headers=headers, timeout=60)

    def post_text(self, path: str, text: str) -> httpx2.Response:
        headers = {"Content-Type": "application/json"}
        return httpx2.post(self.root + path, content=text.encode(), headers=headers, timeout=60)

    @property
    def connections(self) -> set[Any]:
        """The connections of clients that are open."""
        return self.server.server_state.connections

    @property
    def places(self) -> int:
        """The requests that count against the limit of a key."""
        return sum(used.running for used in self.service._access._used.values())

    def ask(self, *texts: str, **fields: Any) -> httpx2.Response:
        """Sends a history that ends with a question: user and assistant take turns."""
        return self.post("/v1/chat/completions", {**history(*texts), **fields})


def history(*texts: str) -> Json:
    roles = ("user", "assistant")
    return {"messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]}


@contextmanager
def inside(folder: Path, upstream: Upstream, **settings: Any) -> Iterator[Inside]:
    """Starts the service on a stub model, without memory and documents; ends it with the block."""
    calm = {"memory": False, "retrieval": False, "titles": False, "ahead": False, "provider": "hosted"}
    model = {"openai_base_url": upstream.url, "openai_api_key": "none", "chat_model": "stub-model"}
    chosen = load_settings(data_dir=folder, **{**calm, **model, **settings})
    agent = open_agent(chosen)
    app = create_app(agent, chosen)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        limited = type("Limited", (LimitedConnection,), {"limits": ConnectionLimits.of(chosen)})
        server = uvicorn.Server(uvicorn.Config(app, http=limited, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Inside(f"http://127.0.0.1:{listening.getsockname()[1]}", app, agent, upstream, server)
        finally:
            server.should_exit = True
            thread.join(60)


def content(stream: str) -> str:
    """The answer that a stream of chat completions shows."""
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk.get("choices", ()))
