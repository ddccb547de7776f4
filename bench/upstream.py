"""A scripted model server as a process of its own: ``python -m bench.upstream PORT``.

The question sets the pace: «[50 pieces in 2 s]» streams fifty pieces within two seconds, and without such words the
answer is one piece at once. The first piece begins with the question's mark, «#MARK», so that an answer can be told
from others. Side calls (summaries, memories, titles) are answered at once. The server costs little: it shares the
machine with what is measured.

``POST /fault/NAME`` makes every later call of the model fail: ``refused`` with status 503, ``broken`` by a connection
that closes after half of the answer, ``silent`` by no byte at all. ``POST /fault/none`` ends that.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MODEL = "stub-model"
_PACE = re.compile(r"\[(\d+) pieces in ([\d.]+) s\]")
_MARK = re.compile(r"#[\w-]+")
_SIDE = ("You summarise a dialogue", "You keep the long-term memory", "You give conversations a title")
"""How the system prompts of side calls begin (prompt/en/summary.md, memory_fold.md, title.md)."""
SILENT_SECONDS = 600.0
"""How long a silent server keeps a connection; whoever calls it gives up before."""
_FAULT = re.compile(r"POST /fault/(\w+) ")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_WORD = " and then some more of it"
_BLOCK = "\n\n```state\nlocation: Forest\nhp_change: -1\nnpc_met: [Ergen]\nmood: tense\n```"
"""The end of an answer to a prompt of a story world."""
_TRACKING = "SAGA State Tracking"


class _Fault:
    """The fault that is injected now."""

    name = "none"


def pace(pieces: int, seconds: float) -> str:
    """Returns the words of a question that ask for so many pieces within so many seconds."""
    return f"[{pieces} pieces in {seconds:g} s]"


def mark(text: str) -> str:
    """Returns the last mark of a text; empty when it has none."""
    marks = _MARK.findall(text)
    return marks[-1] if marks else ""


def answer(messages: Sequence[Mapping[str, Any]]) -> tuple[list[str], float]:
    """Returns the pieces of the answer and the seconds within which they are sent."""
    opening, question = _text(messages[0]), _text(messages[-1])
    if opening.startswith(_SIDE):
        return [_side(opening, messages)], 0.0
    paces = _PACE.findall(question)
    count, seconds = (int(paces[-1][0]), float(paces[-1][1])) if paces else (1, 0.0)
    block = [_BLOCK] if _TRACKING in opening else []
    return [f"Answer to {mark(question)}:", *[_WORD] * (count - 1 - len(block)), *block], seconds


def _side(opening: str, messages: Sequence[Mapping[str, Any]]) -> str:
    if opening.startswith(_SIDE[0]):
        return "The user asked for more, and the assistant told some of it."
    if opening.startswith(_SIDE[2]):
        return "More of the same"
    known = re.search(r"<memory>\n(.*?)\n</memory>", _text(messages[1]), re.DOTALL)
    lines = [line for line in (known[1] if known else "").splitlines() if len(line) > 1]
    memory = lines or ["The user asks for more, and the assistant tells some of it."]
    return json.dumps({"memory": memory, "entities": [], "gone": []})


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


async def serve(port: int) -> None:
    """Answers on loopback until the process is ended."""
    server = await asyncio.start_server(_connection, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers the requests of one connection, one after the other, until its client leaves."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"^content-length:\s*(\d+)", head, re.IGNORECASE | re.MULTILINE)
            body = await reader.readexactly(int(length[1]) if length else 0)
            if fault := _FAULT.match(head):
                _Fault.name = fault[1]
                _whole(writer, {"fault": _Fault.name})
            elif head.startswith("POST"):
                await _chat(json.loads(body), writer)
            else:
                model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "bench"}
                _whole(writer, {"object": "list", "data": [model]})
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _chat(body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    if _Fault.name == "silent":
        await asyncio.sleep(SILENT_SECONDS)
        raise ConnectionResetError
    if _Fault.name == "refused":
        return _whole(writer, {"error": {"message": "Overloaded", "type": "server_error"}}, "503 Service Unavailable")
    pieces, seconds = answer(body["messages"])
    begun = time.monotonic()
    if not body.get("stream"):
        await asyncio.sleep(seconds)
        return _whole(writer, _completion("".join(pieces)))
    writer.write(_HEAD)
    for at, event in enumerate(_events(pieces)):
        due = begun + min(at, len(pieces)) * seconds / len(pieces)
        if (left := due - time.monotonic()) > 0:
            await asyncio.sleep(left)
        if writer.is_closing() or (_Fault.name == "broken" and at > len(pieces) // 2):
            raise ConnectionResetError
        data = b"data: %s\n\n" % event
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
    writer.write(b"0\r\n\r\n")


def _events(pieces: Sequence[str]) -> Iterator[bytes]:
    """Yields the data of the stream's events: each piece, the end, the usage and ``[DONE]``."""
    for at, piece in enumerate(pieces):
        delta = {"content": piece} if at else {"role": "assistant", "content": piece}
        yield _chunk([{"index": 0, "delta": delta, "finish_reason": None}])
    yield _chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    yield _chunk([], usage=_usage(len(pieces)))
    yield b"[DONE]"


def _chunk(choices: list[dict[str, Any]], **more: object) -> bytes:
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": choices}
    return json.dumps(frame | more).encode()


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": MODEL}
    return {**head, "choices": [choice], "usage": _usage(1)}


def _usage(pieces: int) -> dict[str, int]:
    return {"prompt_tokens": 20, "completion_tokens": pieces, "total_tokens": 20 + pieces}


def _whole(writer: asyncio.StreamWriter, value: object, status: str = "200 OK") -> None:
    data = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
