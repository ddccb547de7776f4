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
from retrieval.read.content import content
from retrieval.read.format.loaded import Sheet
from retrieval.read.frame import receive, send

if sys.platform != "win32":
    import resource

GARBAGE = 20_000
"""How many new objects trigger Python's garbage collector. A document's tree is no garbage, and collecting would take
half the time."""


def main(seconds: float, memory: int) -> None:
    """Answers requests. ``seconds``: processor time for one document; ``memory``: bytes beyond those of an idle
    process. Windows has neither limit, macOS has no limit for memory."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    requests = queue.SimpleQueue[tuple[bytes, bytes]]()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    gc.set_threshold(GARBAGE)
    start = _mapped()
    _bound(start + memory if start else 0)
    while True:
        request, data = requests.get()
        send(answers, b"begun")
        _allow(seconds)
        answer = _answer(json.loads(request), data, memory)
        send(answers, b"!" if _mapped() - start > memory // 2 else b"", answer)


def _answer(request: dict[str, Any], data: bytes, memory: int) -> bytes:
    name = request["name"]
    try:
        if "sql" in request:
            sheets = [Sheet.of(*sheet) for sheet in json.loads(data)]
            return json.dumps({"result": asdict(run_query(sheets, request["sql"]))}).encode()
        document = content(name, data, request["limit"], request["passages"])
        return json.dumps({"content": document.plain()}).encode()
    except (DocumentError, TableQueryFailed) as error:
        return json.dumps({"error": error.code, "values": error.values}).encode()
    except MemoryError:
        heavy = DocumentTooHeavy(name=name, limit=memory)
        return json.dumps({"error": heavy.code, "values": heavy.values}).encode()


def _listen(requests: IO[bytes], queued: queue.SimpleQueue[tuple[bytes, bytes]]) -> None:
    """Queues requests, also while a document is read, so that this process ends as soon as its parent does."""
    try:
        while True:
            queued.put((receive(requests), receive(requests)))
    finally:
        os._exit(1)


def _mapped() -> int:
    """Returns the bytes of memory that this process has mapped; 0: not known."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _bound(size: int) -> None:
    """Limits memory to ``size`` bytes, unless ``size`` is 0, and forbids core files."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if size:
            _limit(resource.RLIMIT_AS, size)


def _allow(seconds: float) -> None:
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
    main(float(sys.argv[1]), int(sys.argv[2]))
