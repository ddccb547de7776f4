"""All doors for hours while what the service stands on fails in turn: turns lost, doubled or hung, and what grew.

Two workers share a database, a Valkey and a scripted model server. Clients of chat completions (half of them name
their conversation, half are recognised by their history), of stories in one world, in SillyTavern's form, of the
responses API, of MCP and of A2A, and the page's own agent ask short, middle and long questions in a closed loop, in
conversations of ten turns. Meanwhile one fault after the other is
injected for ``--fault`` seconds: Valkey killed; the database locked, and away (PostgreSQL only); the second worker
killed; the model server silent until the time-out, breaking off in mid-answer, refusing, killed. After each, every
client must be answered again before the next. However short the run, each fault is injected once. A client of chat
completions or of a story sends a message that was not answered again, where its conversation has a name or a history;
the others ask their next question. Of every ten requests one is left by its client before the answer is whole.

``lost``: messages that a client was answered in full and whose turn the record lacks, or has with another answer.
``doubled``: questions that the shown paths of all conversations have more than once. ``wrong``: which these are.
``untrue``: stories whose state is not what their turns lead to: each whole answer takes one hit point.
``hung``: requests without an end after ``--patience`` seconds. ``mixed``: answers to another question.
``unrecovered``: faults after which a client was not answered again in that time. ``failed_calm``: requests that failed
while no fault was injected, nor its effect still there. ``running``: turns that the first worker counts
as under way at the end, when nobody asks. ``tracebacks``: in the workers' logs; ``errors``: their last lines.
``memory_ratio``, ``threads_more``, ``files_more``: of the first worker, which is never killed, idle at the end against
idle after the warm-up: a tenth of the time without a fault, then each fault once. Threads of a pool begin when many
requests pile up, which the faults bring about, and stay.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import math
import re
import sys
import tempfile
import time
import urllib.request
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.caller import Caller
from bench.caller import Turn as Reply
from bench.fault import Fault, Installation, open_installation
from bench.load import Person, share
from bench.proxy import UNLIMITED
from bench.server import ROOT, environment
from bench.upstream import MODEL, mark, pace
from store import Store, TurnRow
from text.user_name import ME
from world.story.state import FULL_HP
from world.story.story import Stories

TURNS = 10
"""Turns of a conversation."""
TRIES = 20
"""How often a message is sent again."""
PAUSE_SECONDS = 0.5
"""How long a client waits after a failure."""
LEAVE_EVERY, LEAVE_SECONDS = 10, 0.7
"""One of so many requests is left by its client after so many seconds."""
SHOWN, ERROR_CHARS = 10, 200
"""The most lost and doubled messages and errors that are named, and the characters of an error."""
IDLE_SECONDS = 8.0
"""How long nobody asks before the workers are looked at: side work ends, and connections that time out are closed."""
CALM_SECONDS = 20.0
"""The most seconds between two faults."""
WORLD = "Harbour"
"""The world of the stories."""
CARD = (
    "Write Robin's next reply in a fictional chat between Robin and Alex.\n\nRobin keeps the boats of a small harbour.",
    "[Start a new Chat]",
)
"""The system messages with which SillyTavern begins a request."""
LOSS = "hp_change: -1"
"""What each whole answer of a story changes (``bench.upstream``)."""
MOST_TURNS = 1_000
SETTINGS = {**UNLIMITED, "GIEOK_MODEL_TIMEOUT": "5"}
_PACES = ((1, 0.0), (5, 0.5), (20, 2.0))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--hours", type=float, default=1.0, help="hours of load, the warm-up included")
    parser.add_argument("--callers", type=int, default=2, help="clients of each door; the page has one")
    parser.add_argument("--fault", type=float, default=6.0, help="seconds that a fault lasts")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds after which a request hangs")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    with (
        tempfile.TemporaryDirectory(prefix="gieok-bench-", ignore_cleanup_errors=True) as folder,
        open_installation(Path(folder), args.database, SETTINGS) as installation,
    ):
        soak = Soak(installation, args)
        return asyncio.run(soak.run())


class Client(Protocol):
    """Somebody who asks through one door."""

    async def ask(self) -> _Told: ...

    async def close(self) -> None: ...


class _Told(Protocol):
    @property
    def fine(self) -> bool: ...
    @property
    def question(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass
class ChatClient:
    """A client of chat completions, which sends a message that was not answered again."""

    person: Person
    tries: int = 0

    async def ask(self) -> _Told:
        """Asks the next question, or the last one again."""
        person = self.person
        is_waiting = person.messages[-1:] != [] and person.messages[-1]["role"] == "user"
        # without a name and a history nothing tells that a message is the same one
        if is_waiting and (self.tries >= TRIES or (len(person.messages) == 1 and not person.named)):
            person.begin()
            is_waiting = False
        answer = await (person.send() if is_waiting else person.ask())
        self.tries = 0 if answer.fine else self.tries + 1
        return answer

    async def close(self) -> None:
        """Closes the connections."""
        await self.person.close()


@dataclass
class PageClient:
    """The page's own agent in a process of its own (``bench.page``)."""

    environment: dict[str, str]
    process: Process | None = None

    def __post_init__(self) -> None:
        self._numbers, self._session = itertools.count(), ""

    async def ask(self) -> _Told:
        """Asks the next question; starts the process where there is none."""
        process = self.process or await self._start()
        number = next(self._numbers)
        if number % TURNS == 0:
            self._session = ""
        question = _question(f"#page-{number}")
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"session": self._session, "text": question}).encode() + b"\n")
        said = json.loads(await process.stdout.readline() or "{}")
        self._session = said.get("session", self._session)
        return Reply(0, "answer" in said, question, said.get("answer", ""))

    async def _start(self) -> Process:
        command = (sys.executable, "-m", "bench.page")
        self.process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=self.environment, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
        assert self.process.stdout
        await self.process.stdout.readline()  # it is ready
        return self.process

    async def close(self) -> None:
        """Ends the process."""
        process, self.process = self.process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _question(mark: str, _turn: int = 0) -> str:
    """Returns a question whose mark is its own; the number at its end chooses how long the answer takes."""
    return f"{mark} {pace(*_PACES[int(mark.rsplit('-', 1)[1]) % len(_PACES)])} Please go on with the story."


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its end; the times are those of the monotonic clock. ``has_hung``: its client gave it up;
    ``has_left``: its client had never meant to wait."""

    door: str
    question: str
    text: str
    is_fine: bool
    began: float
    ended: float
    has_hung: bool = False
    has_left: bool = False


@dataclass
class Strike:
    """A fault that was injected. ``recovered``: when every client had been answered again; 0 where one was not."""

    name: str
    began: float
    ended: float = 0.0
    recovered: float = 0.0

    def touches(self, request: Request) -> bool:
        """Returns whether the fault, or its effect, was there while the request ran."""
        return request.ended >= self.began and (not self.recovered or request.began <= self.recovered)


@dataclass
class Soak:
    """One run: the clients, what they were told, and the faults."""

    installation: Installation
    args: argparse.Namespace
    requests: list[Request] = field(default_factory=list)
    strikes: list[Strike] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._open, self._is_over, self._under_way = asyncio.Event(), False, 0
        self._answered: dict[int, float] = {}

    async def run(self) -> dict[str, object]:
        """Warms up, injects the faults, and compares what the clients were told with the record."""
        clients = self._clients(_create_world(self.installation.database))
        self._answered = dict.fromkeys(range(len(clients)), 0.0)
        seconds, first = self.args.hours * 3600, self.installation.workers[0]
        end = time.monotonic() + seconds
        tasks = [asyncio.create_task(self._talk(at, *named)) for at, named in enumerate(clients)]
        self._open.set()
        await asyncio.sleep(seconds / 10)
        await self._strike_all(until=math.inf)
        await self._wait_until_idle()
        start = first.state()
        self._open.set()
        while time.monotonic() < end:
            await self._strike_all(until=end)
        await self._wait_until_idle()
        states = {"warm": start, "end": first.state()}
        running = await self._count_running_turns()
        self._is_over = True
        self._open.set()
        await asyncio.gather(*tasks)
        errors = self.installation.list_errors()
        more = {"running": running, "tracebacks": len(errors), **_grown(states)}
        rows = [{"error": error[:ERROR_CHARS], "times": times} for error, times in Counter(errors).most_common(SHOWN)]
        return {**self._compare(), **more, **self._tables(states), "errors": rows}

    async def _count_running_turns(self) -> float:
        """Returns how many turns the first worker counts as running although no request is under way. A turn that its
        client has left may take a moment to end on a busy machine."""
        address = f"{self.installation.workers[0].url.removesuffix('/v1')}/metrics"
        until = time.monotonic() + self.args.patience
        while (running := _read_gauge(address, "gieok_running_turns")) and time.monotonic() < until:
            await asyncio.sleep(0.1)
        return running

    def _clients(self, world: str) -> list[tuple[str, Client]]:
        """Returns the clients with the names of their doors. ``world``: the short name of the stories' world."""
        card = [{"role": "system", "content": text} for text in CARD]
        made: list[tuple[str, Client]] = []
        urls = [worker.url for worker in self.installation.workers]
        for at in range(self.args.callers):
            person = Person(f"chat{at}", urls, _question, TURNS, named=at % 2 == 0)
            made.append(("chat", ChatClient(person)))
            player = Person(f"world{at}", urls, _question, TURNS, f"world/{MODEL}/{world}", head=card)
            made.append(("world", ChatClient(player)))
            root = urls[at % 2].removesuffix("/v1")
            made += [
                (door, Caller(door, root, f"{door}{at}", _question, TURNS)) for door in ("responses", "mcp", "a2a")
            ]
        folder = self.installation.folder / "page"
        own = environment(folder, self.installation.model.url, **self.installation.settings)
        return [*made, ("page", PageClient(own))]

    async def _talk(self, at: int, door: str, client: Client) -> None:
        """Lets one client ask until the end."""
        for number in itertools.count(at + 1):
            if not await self._open.wait() or self._is_over:
                break
            self._under_way += 1
            # the page's agent is no client that could leave
            request = await self._ask(door, client, leaves=number % LEAVE_EVERY == 0 and door != "page")
            self._under_way -= 1
            self.requests.append(request)
            if request.is_fine:
                self._answered[at] = request.began
            elif not request.has_left:
                await asyncio.sleep(PAUSE_SECONDS)
        await client.close()

    async def _ask(self, door: str, client: Client, *, leaves: bool) -> Request:
        """Sends one request. A client that leaves, or has no patience any more, closes its connection."""
        began, told = time.monotonic(), None
        try:
            async with asyncio.timeout(LEAVE_SECONDS if leaves else self.args.patience):
                told = await client.ask()
        except TimeoutError:
            await client.close()
        ended = time.monotonic()
        if told is None:
            return Request(door, "", "", False, began, ended, has_hung=not leaves, has_left=leaves)
        return Request(door, told.question, told.text, told.fine, began, ended)

    async def _wait_until_idle(self) -> None:
        self._open.clear()
        while self._under_way:
            await asyncio.sleep(0.1)
        await asyncio.sleep(IDLE_SECONDS)

    async def _strike_all(self, until: float) -> None:
        """Injects one fault after the other, each with its end and its recovery; none after that moment."""
        faults = self.installation.list_faults()
        calm = min(CALM_SECONDS, max(1.0, self.args.hours * 3600 / len(faults) / 4))
        for name, fault in faults.items():
            await asyncio.sleep(calm)
            if time.monotonic() >= until:
                return
            strike = Strike(name, time.monotonic())
            self.strikes.append(strike)
            await asyncio.to_thread(_inject, fault, self.args.fault)
            strike.ended = time.monotonic()
            while time.monotonic() < strike.ended + self.args.patience and not strike.recovered:
                await asyncio.sleep(0.1)
                if min(self._answered.values()) > strike.ended:
                    strike.recovered = time.monotonic()

    def _compare(self) -> dict[str, object]:
        """Compares what the clients were told with what the record holds."""
        told = {request.question: request.text for request in self.requests if request.is_fine}
        record = _read_record(self.installation.database)
        lost = [question for question, text in told.items() if text not in _list_answers(record.get(question, []))]
        doubled = [question for question, turns in record.items() if len(turns) > 1]
        untrue = _list_untrue_stories(self.installation.database)
        failed = [request for request in self.requests if not request.is_fine and not request.has_left]
        return {
            "lost": len(lost),
            "doubled": len(doubled),
            "untrue": len(untrue),
            "hung": sum(request.has_hung for request in failed),
            "mixed": sum(mark(text) != mark(question) for question, text in told.items()),
            "unrecovered": sum(not strike.recovered for strike in self.strikes),
            "failed_calm": sum(not any(strike.touches(request) for strike in self.strikes) for request in failed),
            "told": len(told),
            "failed": len(failed),
            "left": sum(request.has_left for request in self.requests),
            "wrong": [
                {"what": what, "question": question, "turns": list(map(_show_turn, record.get(question, [])))}
                for what, questions in (("lost", lost), ("doubled", doubled))
                for question in questions[:SHOWN]
            ]
            + [{"what": "untrue", "question": story, "turns": []} for story in untrue[:SHOWN]],
        }

    def _tables(self, states: dict[str, dict[str, float]]) -> dict[str, object]:
        names = dict.fromkeys(strike.name for strike in self.strikes)
        doors = dict.fromkeys(request.door for request in self.requests)
        return {
            "states": [{"when": when, **state} for when, state in states.items()],
            "faults": [_fault_row(name, self.strikes, self.requests) for name in names],
            "doors": [_door_row(door, [each for each in self.requests if each.door == door]) for door in doors],
        }


def _inject(fault: Fault, seconds: float) -> None:
    with fault():
        time.sleep(seconds)


def _create_world(database: str) -> str:
    """Creates the world of the stories; returns its short name."""
    with contextlib.closing(Store(database)) as store:
        return store.of(ME).worlds.create(WORLD, "en", "Alex").slug


def _read_record(database: str) -> dict[str, list[TurnRow]]:
    """Returns the turns on the shown paths of all conversations and stories by their questions."""
    found = defaultdict[str, list[TurnRow]](list)
    with contextlib.closing(Store(database)) as store:
        every = store.everyone
        stories = [story for world in every.worlds.all() for story in every.worlds.stories(world.id)]
        for session in {one.id for one in (*every.sessions(limit=10_000_000), *stories)}:
            for turn in every.turns(session, limit=MOST_TURNS):
                found[turn.question].append(turn)
    return dict(found)


def _list_untrue_stories(database: str) -> list[str]:
    """Returns the stories whose player has other hit points than the answers on the shown path lead to."""
    untrue = list[str]()
    with contextlib.closing(Store(database)) as store:
        worlds = store.everyone.worlds
        states = Stories(worlds)
        for world in worlds.all():
            for story in worlds.stories(world.id):
                last = worlds.last_before(story.id, MOST_TURNS)
                if last is None:
                    continue
                told = FULL_HP - sum(LOSS in node.raw for node in worlds.path(last, MOST_TURNS))
                if (kept := states.state(last, world).me.hp) != told:
                    untrue.append(f"{story.id}: {kept} instead of {told}")
    return untrue


def _list_answers(turns: Sequence[TurnRow]) -> list[str | None]:
    """Returns the whole answers."""
    return [turn.answer for turn in turns if turn.status == "done"]


def _show_turn(turn: TurnRow) -> str:
    return f"{turn.session_id} {turn.number} {turn.status}{' told' * turn.given}"


def _read_gauge(address: str, name: str) -> float:
    with urllib.request.urlopen(address, timeout=10) as response:
        found = re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", response.read().decode(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no {name!r} at {address}")
    return float(found[1])


def _grown(states: dict[str, dict[str, float]]) -> dict[str, object]:
    start, end = states["warm"], states["end"]
    more = {f"{name}_more": int(end[name] - start[name]) for name in ("threads", "files")}
    return {"memory_ratio": round(end["memory_mib"] / start["memory_mib"], 3), **more}


def _fault_row(name: str, strikes: Sequence[Strike], requests: Sequence[Request]) -> dict[str, object]:
    own = [strike for strike in strikes if strike.name == name]
    missing = [each for each in requests if not each.is_fine and not each.has_left]
    failed = [each for each in missing if any(strike.touches(each) for strike in own)]
    back = [strike.recovered - strike.ended for strike in own if strike.recovered]
    return {
        "fault": name,
        "times": len(own),
        "failed": len(failed),
        "hung": sum(request.has_hung for request in failed),
        "slowest_recovery_seconds": round(max(back, default=0.0), 1),
    }


def _door_row(door: str, requests: Sequence[Request]) -> dict[str, object]:
    seconds = [request.ended - request.began for request in requests if request.is_fine]
    return {
        "door": door,
        "told": len(seconds),
        "failed": sum(not request.is_fine and not request.has_left for request in requests),
        "left": sum(request.has_left for request in requests),
        "hung": sum(request.has_hung for request in requests),
        "p50_seconds": round(share(seconds, 0.5), 2),
        "p95_seconds": round(share(seconds, 0.95), 2),
    }
