"""What one turn through the endpoint costs: statements of SQL, round trips to Redis, processor time by part.

The service runs in this process, on SQLite and on Valkey, in front of the scripted model server, which is a process of
its own; long-term memory and documents are on. One client tells a conversation of N turns and asks six more: enough for
two chunks and a fold. A statement counts to the path of the user (``sql_path``) unless a thread of the side work runs
it; ``sql_all`` counts both, and ``checkpoint`` what LangGraph's saver runs beside them. Round trips to Redis are read
from the server, as the reads of its sockets. All counts are of a median turn; ``most`` has the dearest one.

Processor time is of the whole process without the client's thread, in milliseconds. The parts of it exclude each other;
``rest`` is HTTP, the threads, and what no part names. The top keys are those of turn 10 with 1 piece, and ``cpu_ms_50``
that of 50 pieces. ``--verbose`` prints the statements of the last turn with who ran them.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import redis
from sqlalchemy import event

import door.openai.work
import graph.node.llm
from bench.load import Person
from bench.port import free_port
from bench.server import ROOT, upstream, valkey
from bench.upstream import MODEL, pace
from door.endpoint import create_app
from graph.turn.agent import Agent, open_agent
from graph.turn.process.side_work import Background
from graph.turn.running import RunningTurn
from server.network.serving import make_server
from settings import load_settings
from store import Store
from text.clean import collapse_spaces

ASKED = 6
"""Turns that are measured: two chunks of summaries, and a fold."""
WARMING = 4
SIDE_THREAD = "background"
UPKEEP = ("is_any_open", "_look")
"""Functions that run by the clock, whether there are turns or not (``store.task.task``,
``graph.turn.process.stop_watch``)."""
IDLE_SECONDS = 60.0
PARTS: dict[str, tuple[Any, str]] = {
    "plan": (door.openai.work, "_plan_body_turn"),
    "prepare": (door.openai.work, "prepare_turn_request"),
    "accept": (Store, "begin_turn"),
    "read": (RunningTurn, "_context"),
    "build": (graph.node.llm, "_build_noted_prompt"),
    "model": (graph.node.llm, "stream_model_answer"),
    "graph": (RunningTurn, "_graph"),
    "finish": (RunningTurn, "_end_turn"),
}
"""The functions that do a part of a turn in its thread, by the name of the part."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--turns", type=int, nargs="+", default=[10, 100, 1000], help="turns before those measured")
    parser.add_argument("--pieces", type=int, nargs="+", default=[1, 50, 500], help="pieces of an answer")
    parser.add_argument("--verbose", action="store_true", help="print the statements of the last turn")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gieok-bench-")))
        model, address = stack.enter_context(upstream(folder / "upstream")), stack.enter_context(valkey())
        url, agent = stack.enter_context(serve_here(folder, model.url, address))
        count = stack.enter_context(measured(Count(agent, address, args.verbose)))
        asyncio.run(_ask(count, url, 1, 1))  # what a process does only once does not count
        cases = [(turn, 1) for turn in args.turns] + [(args.turns[0], some) for some in args.pieces[1:]]
        rows = [asyncio.run(_ask(count, url, turn, pieces)) for turn, pieces in cases]
        if args.verbose:
            sys.stderr.write("\n".join([*count.list_statements(), ""]))
    first = rows[0]
    fifty = next((row["cpu_ms"] for row in rows if row["pieces"] == 50), None)
    top = {"cpu_ms_1": first["cpu_ms"], "cpu_ms_50": fifty}
    return top | {name: first[name] for name in ("sql_path", "sql_all", "redis", "checkpoint")} | {"rows": rows}


@contextmanager
def serve_here(folder: Path, model: str, redis_url: str) -> Iterator[tuple[str, Agent]]:
    """Serves the endpoint from a thread of this process; yields its address and its agent."""
    named = {"openai_api_key": "none", "openai_base_url": model, "chat_model": MODEL, "local_servers": ()}
    whole = {"memory": True, "retrieval": True, "ahead": True, "titles": None, "summaries": "auto"}
    settings = load_settings(data_dir=folder / "data", redis_url=redis_url, api_rate=1_000_000, **named, **whole)
    agent, port = open_agent(settings), free_port()
    server = make_server(create_app(agent, settings), port)
    thread = threading.Thread(target=server.run, name="endpoint")
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the endpoint did not start")
            time.sleep(0.05)
        assert agent.memory is not None
        agent.memory.wait(IDLE_SECONDS)
        agent.background.idle(IDLE_SECONDS)  # the product's documents are read
        yield f"http://127.0.0.1:{port}/v1", agent
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Statement:
    """A statement that ran: its text, whether side work ran it, and the functions that asked for it."""

    text: str
    is_aside: bool
    callers: str


@dataclass
class Count:
    """What has run since ``begin``. ``names_callers``: notes who ran each statement, which takes longer than to run
    it."""

    agent: Agent
    redis_url: str
    names_callers: bool = False
    statements: list[Statement] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self._redis: Any = redis.Redis.from_url(self.redis_url)
        self._began = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        self.statements.clear()
        self.checkpoints.clear()
        self.parts.clear()
        self._reads, self._began = self._count_reads(), _spent()

    def end(self) -> dict[str, float]:
        """Returns the counts of the turn that ran since ``begin``."""
        spent = _spent() - self._began
        aside = sum(statement.is_aside for statement in self.statements)
        parts = {f"{name}_ms": milliseconds for name, milliseconds in self.parts.items()}
        return {
            "cpu_ms": spent,
            "sql_path": len(self.statements) - aside,
            "sql_aside": aside,
            "sql_all": len(self.statements),
            "redis": self._count_reads() - self._reads - 1,  # the question itself is one
            "checkpoint": len(self.checkpoints),
            **parts,
            "rest_ms": spent - sum(self.parts.values()),
        }

    def add(self, part: str, milliseconds: float) -> None:
        """Adds processor time of a part; any thread may."""
        with self._lock:
            self.parts[part] += milliseconds

    def note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        """Notes a statement: a listener of the engine."""
        if not _is_upkeep():
            is_aside = threading.current_thread().name == SIDE_THREAD
            self.statements.append(Statement(statement, is_aside, _callers() if self.names_callers else ""))

    def list_statements(self) -> Iterator[str]:
        """Yields a line for each statement, and below those of the path that ran more than once."""
        for one in self.statements:
            text = collapse_spaces(one.text)
            yield f"{'aside' if one.is_aside else 'path '} {text[:110]}\n      {one.callers}"
        yield from (f"checkpoints: {text[:110]}" for text in self.checkpoints)
        repeated = Counter(one.text for one in self.statements if not one.is_aside)
        yield from (f"{times} times: {text[:110]}" for text, times in repeated.most_common() if times > 1)

    def _count_reads(self) -> int:
        return int(self._redis.info("stats")["total_reads_processed"])


@contextmanager
def measured(count: Count) -> Iterator[Count]:
    """Has the engine, the checkpoints and the parts of a turn tell the count what they do; yields the count."""
    engine, saver = count.agent.store.engine, count.agent.checkpoints.saver
    event.listen(engine, "before_cursor_execute", count.note)
    saver.conn.set_trace_callback(count.checkpoints.append)  # type: ignore[attr-defined]
    clock = _Clock(count)
    originals = {part: getattr(*place) for part, place in PARTS.items()}
    for part, (owner, name) in PARTS.items():
        setattr(owner, name, clock.time(part, originals[part]))
    submit = Background.submit

    def submit_timed(self: Background, key: Any, work: Any, *more: Any, **named: Any) -> None:
        submit(self, key, clock.time("side", work), *more, **named)

    Background.submit = submit_timed  # type: ignore[method-assign]
    try:
        yield count
    finally:
        Background.submit = submit  # type: ignore[method-assign]
        for part, (owner, name) in PARTS.items():
            setattr(owner, name, originals[part])
        saver.conn.set_trace_callback(None)  # type: ignore[attr-defined]
        event.remove(engine, "before_cursor_execute", count.note)


class _Clock(threading.local):
    """The processor time of functions in this thread, each without the functions inside it."""

    def __init__(self, count: Count) -> None:
        self._count = count
        self._inside: list[float] = []

    def time(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            began = time.thread_time()
            self._inside.append(0.0)
            try:
                return function(*args, **named)
            finally:
                whole, inner = time.thread_time() - began, self._inside.pop()
                self._count.add(part, (whole - inner) * 1000)
                if self._inside:
                    self._inside[-1] += whole

        return timed


async def _ask(count: Count, url: str, turns: int, pieces: int) -> dict[str, Any]:
    """Tells a conversation of so many turns, asks the next ones, and returns what a median one of them cost."""
    person = Person(f"{turns}x{pieces}", [url], lambda mark, turn: _question(mark, turn, pieces), turns=turns + 100)
    for turn in range(1, turns - WARMING + 1):
        told = (
            ("user", _question(f"{person.mark}-{turn}", turn, 1)),
            ("assistant", f"Answer to {person.mark}-{turn}:"),
        )
        person.messages += [{"role": role, "content": text} for role, text in told]
    costs = []
    for turn in range(WARMING + ASKED):
        count.begin()
        answer = await person.ask()
        if not answer.fine:
            raise RuntimeError(f"turn {turn} failed: {answer}")
        if not count.agent.background.idle(IDLE_SECONDS):
            raise RuntimeError("the side work did not end")
        costs.append(count.end())
    await person.close()
    costs = costs[WARMING:]
    names = dict.fromkeys(name for cost in costs for name in cost)
    median = {name: round(statistics.median(cost.get(name, 0.0) for cost in costs), 2) for name in names}
    counted = ("sql_path", "sql_aside", "redis")
    most = {f"most_{name}": max(cost[name] for cost in costs) for name in counted}
    least = {f"least_{name}": min(cost[name] for cost in costs) for name in counted}
    return {"turn": turns, "pieces": pieces, **median, **most, **least}


def _question(mark: str, turn: int, pieces: int) -> str:
    paced = f" {pace(pieces, 0)}" if pieces > 1 else ""
    return f"{mark}{paced} Please go on with part {turn} of the story, and tell it at some length."


def _spent() -> float:
    """Returns the processor milliseconds of this process without this thread, which is the client's."""
    return (time.process_time() - time.thread_time()) * 1000


def _is_upkeep() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in UPKEEP:
            return True
        frame = frame.f_back
    return False


def _callers(most: int = 7) -> str:
    """Returns the functions of the product that led to this point, the innermost first."""
    frames = [frame for frame in traceback.extract_stack() if frame.filename.startswith(str(ROOT))]
    own = [frame for frame in frames if ".venv" not in frame.filename and frame.filename != __file__]
    return " < ".join(f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}" for frame in own[::-1][:most])
