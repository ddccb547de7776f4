"""Clients that stream chat completions over plain sockets, so that the load costs little beside what it measures."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """One streamed answer. ``first`` and ``whole``: milliseconds from the request to the first text and to the end.

    ``status``: of HTTP. ``complete``: the answer ended as OpenAI's do, with a reason and ``[DONE]``. ``session``,
    ``turn``, ``fit``: what Gieok's headers say. ``question``: the last message that was sent.
    """

    question: str
    status: int
    text: str = ""
    complete: bool = False
    first: float = 0.0
    whole: float = 0.0
    session: str = ""
    turn: int = 0
    fit: str = ""

    @property
    def fine(self) -> bool:
        """Whether the request was answered completely."""
        return self.status == 200 and self.complete and bool(self.text)


class Line:
    """The connection to one server, which is kept open over requests."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.path = parts.hostname or "127.0.0.1", parts.port or 80, parts.path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Returns the two ends; opens the connection where there is none any more."""
        if self._streams is None or self._streams[0].at_eof():
            await self.close()
            self._streams = await asyncio.open_connection(self.host, self.port, limit=2**22)
        return self._streams

    async def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with contextlib.suppress(OSError):
                await streams[1].wait_closed()


class Connection:
    """Sends chat completions to one server over one connection, which is opened anew after an error."""

    def __init__(self, url: str) -> None:
        self._line = Line(url)

    async def ask(self, messages: Sequence[dict[str, str]], headers: str = "", model: str = "stub-model") -> Answer:
        """Sends the conversation and reads the answer to its end. ``headers``: more lines, each with its line end.

        A connection that breaks gives an answer that is not complete, with what came, or with status 0.
        """
        reading = _Reading(messages[-1]["content"])
        body = json.dumps({"model": model, "stream": True, "messages": list(messages)}).encode()
        head = (
            f"POST {self._line.path}/chat/completions HTTP/1.1\r\nhost: {self._line.host}:{self._line.port}\r\n"
            f"authorization: Bearer none\r\ncontent-type: application/json\r\n{headers}"
            f"content-length: {len(body)}\r\n\r\n"
        )
        try:
            reader, writer = await self._line.open()
            writer.write(head.encode() + body)
            await reading.read(reader)
        except (OSError, asyncio.IncompleteReadError):
            await self.close()
        return reading.answer()

    async def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        await self._line.close()


@dataclass
class _Reading:
    """An answer that is being read."""

    question: str
    begun: float = field(default_factory=time.perf_counter)
    status: int = 0
    text: list[str] = field(default_factory=list)
    head: dict[str, str] = field(default_factory=dict)
    first: float = 0.0
    ended: bool = False
    done: bool = False

    async def read(self, reader: asyncio.StreamReader) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.head = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        if self.head.get("transfer-encoding") != "chunked":
            await reader.readexactly(int(self.head.get("content-length", 0)))
            return
        async for event in _events(reader):
            self._take(event)

    def _take(self, event: bytes) -> None:
        if event == b"[DONE]":
            self.done = True
            return
        for choice in json.loads(event).get("choices") or ():
            if piece := (choice.get("delta") or {}).get("content"):
                self.first = self.first or time.perf_counter()
                self.text.append(piece)
            self.ended = self.ended or choice.get("finish_reason") is not None

    def answer(self) -> Answer:
        return Answer(
            question=self.question,
            status=self.status,
            text="".join(self.text),
            complete=self.ended and self.done,
            first=max(0.0, self.first - self.begun) * 1000,
            whole=(time.perf_counter() - self.begun) * 1000,
            session=self.head.get("x-gieok-session", ""),
            turn=int(self.head.get("x-gieok-turn") or 0),
            fit=self.head.get("x-gieok-fit", ""),
        )


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yields the data of each event of a chunked stream; comments are left out."""
    rest = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        rest += (await reader.readexactly(size + 2))[:-2]
        *events, rest = rest.split(b"\n\n")
        for event in events:
            if event.startswith(b"data: "):
                yield event[6:]
    await reader.readexactly(2)


Words = Callable[[str, int], str]
"""Gives the question of a turn, by the conversation's mark and the number of the turn."""


@dataclass
class Person:
    """A client in a closed loop: sends the whole conversation so far, waits for the answer, asks the next question.

    A new conversation begins after ``turns`` turns, and after a request that failed. ``urls``: the servers that it asks
    in turn. ``named``: it sends the name of its conversation in a header; else the history alone tells which it is.
    ``head``: messages that it sends in front of the conversation.
    """

    name: str
    urls: Sequence[str]
    words: Words
    turns: int = 10
    model: str = "stub-model"
    named: bool = False
    head: Sequence[dict[str, str]] = ()
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._connections = [Connection(url) for url in self.urls]
        self._asked = itertools.count(sum(map(ord, self.name)))
        self._conversations = itertools.count(1)
        self.begin()

    def begin(self) -> None:
        """Begins another conversation."""
        self.mark, self.messages = f"#{self.name}-{next(self._conversations)}", list[dict[str, str]]()

    async def ask(self) -> Answer:
        """Asks the next question of the conversation."""
        if len(self.messages) >= 2 * self.turns:
            self.begin()
        turn = len(self.messages) // 2 + 1
        self.messages.append({"role": "user", "content": self.words(f"{self.mark}-{turn}", turn)})
        return await self.send()

    async def send(self) -> Answer:
        """Sends the conversation as it is to the next server; so a question without an answer is asked again."""
        connection = self._connections[next(self._asked) % len(self._connections)]
        header = f"x-gieok-session: {self.mark[1:]}\r\n" if self.named else ""
        answer = await connection.ask([*self.head, *self.messages], header, self.model)
        self.answers.append(answer)
        if answer.fine:
            self.messages.append({"role": "assistant", "content": answer.text})
        return answer

    async def loop(self, going_on: Callable[[], bool]) -> Self:
        """Asks until told to end; begins another conversation after a failure."""
        while going_on():
            if not (await self.ask()).fine:
                self.begin()
        return self

    async def to(self, urls: Sequence[str]) -> None:
        """Asks these servers from now on."""
        await self.close()
        self._connections = [Connection(url) for url in urls]

    async def close(self) -> None:
        """Closes the connections."""
        for connection in self._connections:
            await connection.close()


async def together(people: Sequence[Person], seconds: float, apart: float, requests: int = 0) -> float:
    """Lets all ask at once for so many seconds, or until there are so many answers; returns the seconds it took.

    ``apart``: seconds over which their first requests are spread, so that they do not stay in step.
    """
    begun = time.perf_counter()

    def going_on() -> bool:
        if requests:
            return sum(len(person.answers) for person in people) <= requests - len(people)
        return time.perf_counter() - begun < seconds

    async def one(at: int, person: Person) -> None:
        await asyncio.sleep(apart * at / len(people))
        await person.loop(going_on)
        await person.close()

    await asyncio.gather(*(one(at, person) for at, person in enumerate(people)))
    return time.perf_counter() - begun


def share(values: Sequence[float], part: float) -> float:
    """Returns the value below which this part of the values lies; 0 of none."""
    if len(values) < 2:
        return float(sum(values))
    return statistics.quantiles(values, n=1000, method="inclusive")[min(998, round(part * 1000) - 1)]
