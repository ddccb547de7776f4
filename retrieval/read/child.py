"""The process that reads documents for ``retrieval.read.reader``: ``python -m retrieval.read.child SECONDS MEMORY``.

A request is the document's name and its limits in JSON, then the file; or a query, then the tables. The process reports
that it has begun, then answers in JSON. It ends as soon as its parent ends.
"""

from __future__ import annotations

import gc
import json
import math
import os
import queue
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from errors import DocumentError, DocumentTooHeavy, TableQueryFailed
from retrieval.calculation.query import run_query
from retrieval.read.content import read_content
from retrieval.read.format.loaded import Sheet
from retrieval.read.frame import receive_message, send_messages

if sys.platform != "win32":
    import resource

GARBAGE = 20_000
"""How many new objects trigger Python's garbage collector. A document's tree is no garbage, and collecting would take
half the time."""


def answer_requests(seconds: float, memory: int) -> None:
    """Answers requests. ``seconds``: processor time for one document; ``memory``: bytes beyond those of an idle
    process. Windows has neither limit, macOS has no limit for memory."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    requests = queue.SimpleQueue[tuple[bytes, bytes]]()
    threading.Thread(target=_queue_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    gc.set_threshold(GARBAGE)
    start = _read_mapped_bytes()
    _limit_memory(start + memory if start else 0)
    while True:
        request, data = requests.get()
        send_messages(answers, b"begun")
        _limit_processor_time(seconds)
        answer = _answer_request(json.loads(request), data, memory)
        send_messages(answers, b"!" if _read_mapped_bytes() - start > memory // 2 else b"", answer)


def _answer_request(request: dict[str, Any], data: bytes, memory: int) -> bytes:
    name = request["name"]
    try:
        if "sql" in request:
            sheets = [Sheet.of(*sheet) for sheet in json.loads(data)]
            return json.dumps({"result": asdict(run_query(sheets, request["sql"]))}).encode()
        document = read_content(name, data, request["limit"], request["passages"])
        return json.dumps({"content": document.plain()}).encode()
    except (DocumentError, TableQueryFailed) as error:
        return json.dumps({"error": error.code, "values": error.values}).encode()
    except MemoryError:
        heavy = DocumentTooHeavy(name=name, limit=memory)
        return json.dumps({"error": heavy.code, "values": heavy.values}).encode()


def _queue_requests(requests: IO[bytes], queued: queue.SimpleQueue[tuple[bytes, bytes]]) -> None:
    """Queues requests, also while a document is read, so that this process ends as soon as its parent does."""
    try:
        while True:
            queued.put((receive_message(requests), receive_message(requests)))
    finally:
        os._exit(1)


def _read_mapped_bytes() -> int:
    """Returns the bytes of memory that this process has mapped; 0: not known."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _limit_memory(size: int) -> None:
    """Limits memory to ``size`` bytes, unless ``size`` is 0, and forbids core files."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if size:
            _limit(resource.RLIMIT_AS, size)


def _limit_processor_time(seconds: float) -> None:
    """Limits processor time to this many seconds from now on."""
    if sys.platform != "win32":
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))


if sys.platform != "win32":

    def _limit(kind: int, value: int) -> None:
        """Sets the soft limit, which can be raised again, within the hard limit."""
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    answer_requests(float(sys.argv[1]), int(sys.argv[2]))
