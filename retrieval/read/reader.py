"""Reads documents in a separate process with limits: a document that exceeds a limit ends that process, and a new
process reads the next document.

One process reads all documents of an addition; it starts with the first document that needs it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self

from errors import DocumentError, DocumentTooHeavy, DocumentTooSlow, DocumentUnread, GieokError, TableQueryFailed
from model.call.abort import run_beside_call
from model.call.interrupt import run_interruptible
from retrieval.calculation.query import TableResult
from retrieval.read.content import Content, read_content
from retrieval.read.format.loaded import Sheet
from retrieval.read.frame import receive_message, send_messages
from settings import Settings, child_environment

SMALL = 32_000
"""The largest text, in bytes, that is read without the separate process: no text of this size takes a second."""
PASSAGES = 100_000
"""The most passages of a document."""
_TEXT = (".md", ".markdown", ".txt", ".text")
_ROOT = Path(__file__).parents[2]
_PROCESSOR = sys.platform != "win32"
WAIT = 10 if _PROCESSOR else 1
"""How many times its processor time a document may take when other work occupies the processor."""
_KNOWN: tuple[type[GieokError], ...] = (*DocumentError.__subclasses__(), TableQueryFailed)
_ERRORS = {error.code: error for error in _KNOWN}


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most that one document may take: ``size`` and ``memory`` in bytes, ``seconds`` of processor time,
    passages."""

    size: int
    seconds: float
    memory: int
    passages: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(settings.document_limit, settings.document_seconds, settings.document_memory, PASSAGES)


class Reader:
    """A reader of documents, one after another; not thread-safe. Closing it ends its process."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def read(self, name: str, data: bytes) -> Content:
        """Returns the content of the file. Raises ``DocumentError``, and ``Stopped`` when
        ``model.call.interrupt.stopping`` is set."""
        limits = self.limits
        if len(data) > limits.size or _is_small(name, data):
            return read_content(name, data, limits.size, limits.passages)
        request = {"name": name, "limit": limits.size, "passages": limits.passages}
        return Content.of(self._ask(request, data)["content"])

    def query(self, name: str, sheets: Sequence[Sheet], sql: str) -> TableResult:
        """Runs a query over tables (``retrieval.calculation.query``); ``name``: of their file, for errors. Raises as
        ``read`` does, and ``TableQueryFailed``."""
        data = json.dumps([sheet.plain() for sheet in sheets]).encode()
        found = self._ask({"name": name, "sql": sql}, data)["result"]
        used = tuple(found["used"]) if found["used"] is not None else None
        rows = tuple(map(tuple, found["rows"]))
        return TableResult(tuple(found["columns"]), rows, found["count"], used, found["used_count"])

    def _ask(self, request: dict[str, Any], data: bytes) -> dict[str, Any]:
        """Returns the process's answer. Raises the error that it answers with, and what becomes of the process."""
        limits, name = self.limits, request["name"]
        try:
            child = self._begin_reading(request, data, limits.seconds * WAIT)
            answer = run_interruptible(lambda: run_beside_call(lambda: _receive_answer(child)), limits.seconds * WAIT)
        except TimeoutError as error:
            self._end()
            raise DocumentTooSlow(name=name, limit=limits.seconds) from error
        except (EOFError, OSError) as error:
            raise self._death(name, error) from error
        except BaseException:  # stopped: nobody needs the result any more
            self._end()
            raise
        is_last, reply = answer
        if is_last:
            self._end()
        fields: dict[str, Any] = json.loads(reply)
        if "error" in fields:
            raise _ERRORS[fields["error"]](**fields["values"])
        return fields

    def _begin_reading(self, request: dict[str, Any], data: bytes, seconds: float) -> subprocess.Popen[bytes]:
        """Returns the process, which now reads the document. Replaces a process that ended before it began, once."""
        try:
            return _send_document(self._running(), request, data, seconds)
        except (EOFError, OSError):
            self._end()
            return _send_document(self._running(), request, data, seconds)

    def _death(self, name: str, error: Exception) -> DocumentError:
        """Returns the error for the reason why the process ended."""
        code = self._end(1.0)
        if _PROCESSOR and code == -signal.SIGXCPU:
            return DocumentTooSlow(name=name, limit=self.limits.seconds)
        if _PROCESSOR and code == -signal.SIGKILL:  # the system kills it when memory runs out
            return DocumentTooHeavy(name=name, limit=self.limits.memory)
        reason = str(error) if code is None else f"exit code {code}"
        return DocumentUnread(name=name, reason=reason)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._end()
        self._child = self._child or _start_child(self.limits)
        return self._child

    def _end(self, patience: float = 0.0) -> int | None:
        """Ends the process, which has ``patience`` seconds to end by itself. Returns its exit code, None when there was
        no process."""
        child, self._child = self._child, None
        if child is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            child.wait(patience)
        child.kill()
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                assert pipe
                pipe.close()
        return code


def _is_small(name: str, data: bytes) -> bool:
    """Returns whether the file is a short text. A text with a table is not: its rows can stand for many times the cells
    that are written."""
    return PurePath(name).suffix.lower() in _TEXT and len(data) <= SMALL and b"|" not in data


def _start_child(limits: ReadLimits) -> subprocess.Popen[bytes]:
    """Starts the process in its own session, so that Ctrl-C reaches only the parent, which then ends the process."""
    command = [sys.executable, "-m", "retrieval.read.child", str(limits.seconds), str(limits.memory)]
    return subprocess.Popen(
        command,
        cwd=_ROOT,
        env=child_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _send_document(
    child: subprocess.Popen[bytes], request: dict[str, Any], data: bytes, seconds: float
) -> subprocess.Popen[bytes]:
    """Hands a document over, waits until the process begins to read it, and returns the process."""

    def hand_over() -> None:
        assert child.stdin
        assert child.stdout
        send_messages(child.stdin, json.dumps(request).encode(), data)
        receive_message(child.stdout)

    run_interruptible(lambda: run_beside_call(hand_over), seconds)
    return child


def _receive_answer(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Returns a mark that is not empty when the process wants to end now, and its answer in JSON."""
    assert child.stdout
    return receive_message(child.stdout), receive_message(child.stdout)
