"""SillyTavern and Open WebUI as processes of their own, and people who use them through the programs' own addresses."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from bench.port import free_port
from bench.server import started
from store import TurnRow
from tests.door.openai.running import Running
from tests.installed import find_node
from tests.wait import until

START_SECONDS = 900.0
"""SillyTavern compiles its page at the first start, Open WebUI imports a machine-learning library."""
SECONDS = 120.0


def told(turns: list[TurnRow]) -> list[tuple[str, str | None]]:
    """Questions and answers that the service gave itself."""
    return [(turn.question, turn.answer) for turn in turns if not turn.given]


def versions(service: Running, session: str, number: int) -> int:
    """How many versions a turn has, over all branches."""
    found = service.store.tree.alternatives(session, [number])
    return len(found[number].branches) if number in found else 1


# --- SillyTavern --------------------------------------------------------------------------------


@dataclass(frozen=True)
class SillyTavern:
    """The program behind its page: it forwards what the page sends to the endpoint at ``endpoint``."""

    url: str
    data: Path
    endpoint: str

    def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        response = httpx2.post(f"{self.url}{path}", json=body, timeout=SECONDS)
        assert response.status_code < 400, response.text
        return response

    def models(self) -> list[str]:
        """The models that the program finds when it connects."""
        source = {"chat_completion_source": "custom", "custom_url": self.endpoint}
        found = self.post("/api/backends/chat-completions/status", source).json()
        return [model["id"] for model in found["data"]]

    def generate(self, body: dict[str, Any]) -> str:
        """Sends a request of the page; returns the text of the answer."""
        source = {
            "chat_completion_source": "custom",
            "custom_url": self.endpoint,
            "user_name": "User",
            "char_name": "Haru",
        }
        response = self.post("/api/backends/chat-completions/generate", {**body, **source})
        if not body["stream"]:
            return str(response.json()["choices"][0]["message"]["content"])
        return "".join(_pieces(response.text))


@contextmanager
def sillytavern(program: Path, folder: Path, endpoint: str) -> Iterator[SillyTavern]:
    """Starts SillyTavern on an endpoint; ends it with the block."""
    port, data = free_port(), folder / "data"
    options = ["--port", str(port), "--disableCsrf", "--browserLaunchEnabled", "false", "--dataRoot", str(data)]
    command = [find_node(), str(program / "server.js"), *options, "--configPath", str(folder / "config.yaml")]
    with started(command, port, folder, "/", START_SECONDS) as server:
        opened = SillyTavern(server.url.removesuffix("/v1"), data, endpoint)
        opened.post("/api/secrets/write", {"key": "api_key_custom", "value": "sk-test", "label": "test"})
        yield opened


# --- Open WebUI ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenWebUI:
    """The program, and somebody who is logged in."""

    url: str
    token: str

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        response = httpx2.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=SECONDS)
        assert response.status_code < 400, response.text
        return response.json()

    def models(self) -> list[str]:
        return [model["id"] for model in self.call("GET", "/api/models")["data"]]


@dataclass
class Chat:
    """A chat of Open WebUI, driven as its page does: the program itself keeps the messages, calls the model, and has it
    write title, tags and suggestions. ``path``: the ids of the messages that the page shows."""

    program: OpenWebUI
    model: str
    id: str = ""
    path: list[str] = field(default_factory=list)

    def ask(self, text: str) -> str:
        """A new message at the end."""
        asked: dict[str, Any] = {"id": str(uuid.uuid4()), "role": "user", "content": text, "models": [self.model]}
        asked |= {"parentId": self.path[-1] if self.path else None, "childrenIds": [], "timestamp": int(time.time())}
        return self._answered(asked)

    def regenerate(self) -> str:
        """Another answer to the last message."""
        asked = self.messages()[self.path[-2]]
        self.path = self.path[:-2]
        return self._answered(asked)

    def edit(self, number: int, text: str) -> str:
        """Another message in place of message ``number``; the later ones are on another branch then."""
        self.path = self.path[: 2 * number - 2]
        return self.ask(text)

    def messages(self) -> dict[str, Any]:
        """All messages that the program has of this chat, by their ids."""
        return dict(self.program.call("GET", f"/api/v1/chats/{self.id}")["chat"]["history"]["messages"])

    def title(self) -> str:
        return str(self.program.call("GET", f"/api/v1/chats/{self.id}")["title"])

    def delete(self) -> None:
        self.program.call("DELETE", f"/api/v1/chats/{self.id}")

    def _answered(self, asked: dict[str, Any]) -> str:
        answer = str(uuid.uuid4())
        first = not self.id
        body = {
            "stream": True,
            "model": self.model,
            "messages": [{"role": "user", "content": asked["content"]}],
            "id": answer,
            "parent_id": asked["parentId"],
            "user_message": asked,
            "session_id": "page",
            "background_tasks": {"title_generation": first, "tags_generation": first, "follow_up_generation": True},
            **({} if first else {"chat_id": self.id}),
        }
        told = self.program.call("POST", "/api/chat/completions", body)
        self.id = self.id or told["chat_id"]
        self.path += [asked["id"], answer]
        return str(until(lambda: (made := self.messages().get(answer, {})).get("done") and made["content"]))


@contextmanager
def open_webui(program: Path, folder: Path, endpoint: str) -> Iterator[OpenWebUI]:
    """Starts Open WebUI on an endpoint, for one person without a password; ends it with the block."""
    port = free_port()
    calm = {"WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "test", "OFFLINE_MODE": "True", "HF_HUB_OFFLINE": "1"}
    calm |= {"ENABLE_OLLAMA_API": "False", "BYPASS_EMBEDDING_AND_RETRIEVAL": "True", "RAG_EMBEDDING_ENGINE": "openai"}
    given = {"DATA_DIR": str(folder / "data"), "OPENAI_API_BASE_URLS": endpoint, "OPENAI_API_KEYS": "sk-test"}
    command = [str(program), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with started(command, port, folder, "/health", START_SECONDS, **calm, **given) as server:
        url = server.url.removesuffix("/v1")
        signed = httpx2.post(f"{url}/api/v1/auths/signin", json={"email": "", "password": ""}, timeout=SECONDS)
        yield OpenWebUI(url, signed.json()["token"])


def _pieces(stream: str) -> Iterator[str]:
    """The pieces of text of a stream of chunks."""
    for line in stream.splitlines():
        data = line.removeprefix("data: ")
        if data != line and data != "[DONE]":
            yield from (choice["delta"].get("content") or "" for choice in json.loads(data).get("choices") or ())
