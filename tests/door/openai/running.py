"""The service as a process of its own, in front of a stub model, for the tests of its clients."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from openai import OpenAI

from bench.port import free_port
from bench.server import Server, environment, wait
from store import Store, TurnRow
from tests.product import launch
from tests.stub.reply import Reply, said
from tests.stub.upstream import Upstream

CALM = {"GIEOK_MEMORY": "false", "GIEOK_RETRIEVAL": "false", "GIEOK_TITLES": "false", "GIEOK_AHEAD": "false"}
"""Settings without long-term memory, documents and model calls beside the answers."""


@dataclass
class Running:
    """A running service. ``answers``: what the stub says, by the last line of the question; else «Answer to» it.
    ``next``: what it says next instead."""

    server: Server
    upstream: Upstream
    database: str
    answers: dict[str, Reply] = field(default_factory=dict)
    next: Reply | None = None
    _record: Store | None = None

    def answer(self, body: dict[str, Any]) -> Reply:
        """The reply of the stub: side calls of Gieok get a summary."""
        if "<dialogue>" in str(body["messages"][1:2]):
            return said("The user and the AI talked.")
        line = question(body).rsplit("\n", 1)[-1]
        reply, self.next = self.next, None
        return reply or self.answers.get(line) or said(f"Answer to: {line[:80]}")

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def root(self) -> str:
        """The address without ``/v1``."""
        return self.url.removesuffix("/v1")

    def client(self, **options: Any) -> OpenAI:
        return OpenAI(**{"base_url": self.url, "api_key": "none", "max_retries": 0, "timeout": 60.0, **options})

    def turns(self, session: str) -> list[TurnRow]:
        """The turns that the record shows of a session."""
        return self.store.turns(session, limit=1000)

    def sessions(self) -> list[str]:
        return [session.id for session in self.store.sessions(limit=1000)]

    @property
    def store(self) -> Store:
        """The service's record, read from here; opened once, for a test may look at it again and again."""
        if self._record is None:
            self._record = Store(self.database)
        return self._record.everyone

    def close(self) -> None:
        """Closes the record."""
        if self._record is not None:
            self._record.close()


@contextmanager
def served(folder: Path, model: str, leave: float | None = None, /, **variables: str) -> Iterator[Server]:
    """The service as ``bench.server.service`` starts it, but forked; one worker. ``leave``: as ``launch`` takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    port, log = free_port(), folder / "server.log"
    log.touch()
    arguments = ["cli.py", "serve", "--host", "127.0.0.1", "--port", str(port)]
    process = launch(arguments, environment(folder, model, **variables), log, leave)
    server = Server(f"http://127.0.0.1:{port}/v1", cast("subprocess.Popen[bytes]", process), log)
    try:
        wait(f"http://127.0.0.1:{port}/healthz", server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


@contextmanager
def running(folder: Path, **variables: str) -> Iterator[Running]:
    """Starts the service with its data in ``folder``; ends it with the block."""
    database = variables.get("DATABASE_URL") or f"sqlite:///{folder / 'data' / 'gieok.db'}"
    with Upstream() as upstream, served(folder, upstream.url, **{**CALM, **variables}) as server:
        opened = Running(server, upstream, database)
        upstream.always = opened.answer
        try:
            yield opened
        finally:
            opened.close()


def question(body: dict[str, Any]) -> str:
    """The text of the last message of a request to the model."""
    content = body["messages"][-1].get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
