"""A host on a data folder of its own, with real servers; closed after the test."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from bench.port import free_port
from host import McpHost, Servers
from store import Store
from store.turn.question import OpenUserQuestions, UserAnswer, UserQuestion, build_call_configuration

SERVER, STATELESS = (Path(__file__).with_name(name) for name in ("server.py", "stateless.py"))


class Hosted:
    """A host with the servers of a test; ``call`` calls a tool as a turn does."""

    def __init__(self, folder: Path, call_seconds: float = 20.0) -> None:
        self.folder = folder
        self.servers = Servers(folder / "mcp.json")
        self.host = McpHost(self.servers, 20.0, call_seconds)
        self.store = Store(f"sqlite:///{folder}/gieok.db")
        self.approvals = self.store.approvals
        self.asked_model: list[str] = []

    def command(self, mode: str = "stdio", name: str = "t", script: Path = SERVER, **fields: Any) -> None:
        arguments = [str(script), mode, str(self.folder)]
        self.servers.put(name, {"command": sys.executable, "args": arguments, **fields})

    def tools(self, stop: threading.Event | None = None) -> dict[str, BaseTool]:
        made = self.host.tools(self.approvals, stop or threading.Event(), self._utility)
        return {tool.name: tool for tool in made}

    def call(
        self,
        tool: str,
        answers: Mapping[str, UserAnswer] | None = None,
        stop: threading.Event | None = None,
        **arguments: Any,
    ) -> ToolMessage:
        call = {"name": tool, "args": arguments, "id": "c", "type": "tool_call"}
        result = self.tools(stop)[tool].invoke(call, {"configurable": build_call_configuration("1.c", answers or {})})
        assert isinstance(result, ToolMessage)
        return result

    def asks(
        self, tool: str, answers: Mapping[str, UserAnswer] | None = None, **arguments: Any
    ) -> tuple[UserQuestion, ...]:
        with pytest.raises(OpenUserQuestions) as waiting:
            self.call(tool, answers, **arguments)
        return waiting.value.questions

    def close(self) -> None:
        self.host.close()
        self.store.close()

    def _utility(self, system: str, text: str, tokens: int) -> str:
        self.asked_model.append(text)
        return "a duck"


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Callable[..., Hosted]]:
    opened: list[Hosted] = []

    def open_(**fields: Any) -> Hosted:
        opened.append(Hosted(tmp_path, **fields))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


@pytest.fixture
def listening() -> Iterator[Callable[[str], str]]:
    """Starts a server on a port of this machine; gives its address."""
    started: list[subprocess.Popen[bytes]] = []

    def start(mode: str) -> str:
        port = free_port()
        started.append(subprocess.Popen([sys.executable, str(SERVER), mode, str(port)], stderr=subprocess.DEVNULL))
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            except urllib.error.HTTPError:  # it answers
                return f"http://127.0.0.1:{port}/{'sse' if mode == 'sse' else 'mcp'}"
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    yield start
    for process in started:
        process.kill()
        process.wait()
