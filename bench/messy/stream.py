"""Answers as servers of models really stream them: thoughts, calls, tokens and ends, in shapes that public reports have
recorded, sent by a loopback server and read by the real client."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage

from bench.messy import Verdict
from bench.messy.stream_case import CASES, Case
from errors import GieokError
from graph.answer.reader import AnswerReader
from graph.tool.tool_call import calls_of
from model.call.client import ModelAddress, build_chat_model
from model.call.stream import cut_off, read_token_usage, stream_answer, sum_chunks
from settings import load_settings

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("calculate", "search_documents")
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of a stream. ``error``: the code of the error, if it ended with one; the rest is then of before."""

    text: str = ""
    thought: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    tokens: tuple[int, int, int] = (0, 0, 0)
    is_cut: bool = False
    error: str = ""


def judge(args: argparse.Namespace) -> Iterator[Verdict]:
    """Yields a verdict on every recorded stream."""
    for case in CASES:
        made = read_case(case)
        yield Verdict(case.table, case.name, made == expect(case), case.unseen, repr(made))


def expect(case: Case) -> Outcome:
    """Returns what must come out of a stream."""
    return Outcome(case.text, case.thought, case.calls, case.tokens, case.is_cut, case.error)


def read_case(case: Case) -> Outcome:
    """Returns what the client makes of a stream. A case with ``again`` is asked once more, and the second answer
    counts: the first has taught something."""
    with serve_wire(case.wire) as url:
        made = read_answer(url, case)
        return read_answer(url, case) if case.again else made


def read_answer(url: str, case: Case) -> Outcome:
    """Asks the server once, as a turn of a conversation does."""
    model = build_chat_model(
        ModelAddress(url, "key", "recorded"), settings=load_settings(model_timeout=5, model_retries=0)
    )
    shown, thoughts, chunks = list[str](), list[str](), []

    def think(text: str, seconds: float, *, moved: bool) -> None:
        if moved:
            shown.clear()
        thoughts.append(text)

    names = {tool["function"]["name"] for tool in TOOLS} if case.offers_tools else set[str]()  # type: ignore[index]
    reader, error = AnswerReader(shown.append, think, case.stop, names), ""
    bound = model.bind_tools(TOOLS) if case.offers_tools else model
    try:
        for chunk in stream_answer(bound, [HumanMessage("?")]):
            chunks.append(chunk)
            if reader.hear(chunk):
                break
    except GieokError as failure:
        error = failure.code
    whole = sum_chunks(chunks)
    native = calls_of(whole) if whole is not None and case.offers_tools else []
    text = reader.end(takes_calls=not native)
    assert text == "".join(shown), "what was shown is not the answer"
    calls = tuple((call["name"], call["args"]) for call in native or reader.calls)
    counted = read_token_usage(whole)[:3] if whole is not None else (0, 0, 0)
    is_cut = whole is not None and cut_off(whole)
    return Outcome(text, "".join(thoughts).strip(), calls, counted, is_cut, error)


@contextmanager
def serve_wire(wire: tuple[bytes, ...]) -> Iterator[str]:
    """Serves every request with these pieces of a body, each in a packet of its own; gives the server's address."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def answer() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                _read_request(connection)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
                    b"connection: close\r\n\r\n"
                )
                for piece in wire:
                    connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                connection.sendall(b"0\r\n\r\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def _read_request(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)


__all__ = ["Outcome", "expect", "judge", "read_case"]
