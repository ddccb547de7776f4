"""One turn through every door of the service (OpenAI's protocol, MCP, A2A): added milliseconds, memory, threads, files.

The service is a process of its own, its model a scripted server that streams 50 pieces in 2 s, and the same questions
go to that server directly, in the same run. Callers work in a closed loop, each in a conversation of its own: through
OpenAI's protocol it sends its whole history, through MCP it names its session, through A2A its context. Long-term
memory and documents are on. Load, model server and service share one machine.

``added_p50_ms``, ``added_p95_ms``: the whole duration of a turn minus the bare server's median at as many callers.
``openai_ms``, ``mcp_ms``, ``a2a_ms``: ``added_p95_ms`` at 16 callers. ``failed``: turns without a whole answer.
``memory_ratio``: resident memory after all short requests, a third through each door, by that after the first tenth of
them. ``threads_more``, ``files_more``: at the end, idle, against the start, after the warm-up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.caller import Caller, Turn
from bench.load import Person, share
from bench.proxy import IDLE_SECONDS, PIECES, SECONDS, UNLIMITED
from bench.server import Server, service, upstream
from bench.upstream import pace

DOORS = ("openai", "mcp", "a2a")
AT = 16
"""The number of callers whose figures stand at the top."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--callers", type=int, nargs="+", default=[1, AT, 64], help="callers at once")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds for each door at each number of callers")
    parser.add_argument("--rounds", type=int, default=2, help="how often the doors take their turn at each number")
    parser.add_argument("--requests", type=int, default=10_000, help="short requests whose memory is compared")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder, _servers(Path(folder), args.workers) as servers:
        bare, gieok = servers
        cold = gieok.state()
        for door in DOORS:
            asyncio.run(_load(door, gieok, max(args.callers), SECONDS, f"warm{door}"))
        time.sleep(IDLE_SECONDS)
        start = gieok.state()
        rows = [row for callers in args.callers for row in _level(bare, gieok, callers, args)]
        kept = _memory(gieok, args.requests)
        time.sleep(IDLE_SECONDS)
        end = gieok.state()
    at = {str(row["door"]): row for row in rows if row["callers"] == min(args.callers, key=lambda n: abs(n - AT))}
    return {
        **{f"{door}_ms": at[door]["added_p95_ms"] for door in DOORS},
        "failed": sum(int(str(row["failed"])) for row in rows),
        **kept,
        **{f"{name}_more": end[name] - start[name] for name in ("threads", "files")},
        "states": [{"when": when, **state} for when, state in (("cold", cold), ("warm", start), ("end", end))],
        "rows": rows,
    }


@contextlib.contextmanager
def _servers(folder: Path, workers: int) -> Iterator[tuple[Server, Server]]:
    with (
        upstream(folder / "upstream") as bare,
        service(folder / "gieok", bare.url, workers, **UNLIMITED) as gieok,
    ):
        yield bare, gieok


def _question(mark: str) -> str:
    return f"{mark} {pace(PIECES, SECONDS)} Please go on with the story, and tell it at some length."


def _short(mark: str) -> str:
    return f"{mark} Tell me."


async def _load(
    door: str,
    server: Server,
    callers: int,
    seconds: float,
    name: str,
    words: Callable[[str], str] = _question,
    requests: int = 0,
) -> list[Turn]:
    """Returns the turns of so many callers within the seconds, or so many turns in all."""
    begun, counted = time.perf_counter(), itertools.count(callers)

    def going_on() -> bool:
        return next(counted) < requests if requests else time.perf_counter() - begun < seconds

    async def one(at: int) -> list[Turn]:
        if not requests:
            await asyncio.sleep(SECONDS * at / callers)
        if door in ("openai", "bare"):
            person = Person(f"{name}{at}", [server.url], lambda mark, _: words(mark))
            await person.loop(going_on)
            await person.close()
            return [Turn(answer.whole, answer.fine) for answer in person.answers]
        caller = Caller(door, server.url.removesuffix("/v1"), f"{name}{at}", words)
        await caller.loop(going_on)
        return caller.turns

    return [turn for turns in await asyncio.gather(*map(one, range(callers))) for turn in turns]


def _level(bare: Server, gieok: Server, callers: int, args: argparse.Namespace) -> list[dict[str, object]]:
    """Measures all doors in turn, so that other load of the machine falls on all of them alike."""
    turns: dict[str, list[Turn]] = {name: [] for name in ("bare", *DOORS)}
    spent = dict.fromkeys(turns, 0.0)
    cpu = dict.fromkeys(turns, 0.0)
    for number in range(args.rounds):
        for name in turns:
            server = bare if name == "bare" else gieok
            before, begun = server.state()["cpu_seconds"], time.perf_counter()
            mark = f"{name}{callers}x{number}x"
            turns[name] += asyncio.run(_load(name, server, callers, args.seconds / args.rounds, mark))
            spent[name] += time.perf_counter() - begun
            cpu[name] += server.state()["cpu_seconds"] - before
    base = share([turn.whole for turn in turns["bare"] if turn.fine], 0.5)
    return [_row(name, callers, turns[name], spent[name], cpu[name], base) for name in turns]


def _row(door: str, callers: int, turns: list[Turn], seconds: float, cpu: float, base: float) -> dict[str, object]:
    added = [turn.whole - base for turn in turns if turn.fine]
    return {
        "door": door,
        "callers": callers,
        "added_p50_ms": round(share(added, 0.5), 2),
        "added_p95_ms": round(share(added, 0.95), 2),
        "turns": len(turns),
        "turns_per_second": round(len(turns) / seconds, 2),
        "failed": sum(not turn.fine for turn in turns),
        "cpu_ms_per_turn": round(cpu * 1000 / max(1, len(turns)), 1),
    }


def _memory(server: Server, requests: int) -> dict[str, object]:
    """Sends short requests through all doors; returns memory after all by memory after the first tenth."""
    memory, failed = list[float](), 0
    for part, count in (("tenth", requests // 10), ("rest", requests - requests // 10)):
        for door in DOORS:
            turns = asyncio.run(_load(door, server, AT, 0, f"{part}{door}", _short, max(AT, count // len(DOORS))))
            failed += sum(not turn.fine for turn in turns)
        time.sleep(IDLE_SECONDS)
        memory.append(server.state()["memory_mib"])
    ratio = round(memory[1] / memory[0], 3)
    return {"memory_ratio": ratio, "memory_mib": memory[1], "short_requests": requests, "short_failed": failed}
