"""The service between a client and its model: added milliseconds, requests a second, memory, threads and files.

Gieok's service, litellm's proxy and the bare model server answer the same clients in the same run. The model server is
scripted: it streams 50 pieces in 2 s. Clients work in a closed loop, each in conversations of its own whose history
grows turn by turn; they send no id, so the service recognises each conversation by its history, and long-term memory
and documents are on. Load, model server, proxy and what the proxy starts share one machine.

``added_p50_ms``, ``added_p95_ms``: the whole duration of a request minus the bare server's median at as many streams;
``first_p50_ms``, ``first_p95_ms``: the same of the time to the first piece. ``p95_ms`` is ``added_p95_ms`` at the most
streams, and ``ratio_litellm`` that figure by litellm's. ``memory_ratio``: resident memory after all short requests by
that after the first tenth of them. ``threads_more``, ``files_more``: at the end, idle, against the start, after the
warm-up. Without ``--litellm`` its rows say «not measured». With ``--world`` the service answers as ``world/…``: turns
of stories, with the model's state block at the end of each answer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.load import Answer, Person, share, together
from bench.server import Server, litellm, service, upstream
from bench.upstream import MODEL, pace

PIECES, SECONDS = 50, 2.0
IDLE_SECONDS = 3.0
"""Pause before an idle server is looked at: side work ends, and connections that time out are closed."""
UNLIMITED = {"GIEOK_API_RATE": "1000000", "GIEOK_API_CONCURRENCY": "1000"}
_WITHOUT = {"GIEOK_MEMORY": "false", "GIEOK_RETRIEVAL": "false"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 16, 64], help="streams at once")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds for each server at each number of streams")
    parser.add_argument("--rounds", type=int, default=2, help="how often the servers take their turn at each number")
    parser.add_argument("--requests", type=int, default=10_000, help="short requests whose memory is compared")
    parser.add_argument("--litellm", type=Path, help="Python of an environment with litellm[proxy]")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    parser.add_argument("--without", action="store_true", help="without long-term memory and documents")
    parser.add_argument("--world", action="store_true", help="turns of a story: the model world/… of the service")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder, _servers(args, Path(folder)) as servers:
        gieok = servers["gieok"]
        cold = gieok.state()
        for server in servers.values():
            asyncio.run(_load(server, max(args.streams), SECONDS, "warm", _model(server is gieok, args)))
        time.sleep(IDLE_SECONDS)
        start = gieok.state()
        rows = [row for streams in args.streams for row in _level(servers, streams, args)]
        kept = _memory(gieok, args.requests, _model(True, args))
        time.sleep(IDLE_SECONDS)
        end = gieok.state()
    return {
        **_top(rows),
        **kept,
        **_grown(start, end),
        "states": [_named("cold", cold), _named("warm", start), _named("end", end)],
        "rows": rows,
    }


@contextlib.contextmanager
def _servers(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Server]]:
    """Starts the servers that are compared, by name."""
    with contextlib.ExitStack() as stack:
        bare = stack.enter_context(upstream(folder / "upstream"))
        settings = {**UNLIMITED, **(_WITHOUT if args.without else {})}
        servers = {"bare": bare}
        if args.litellm:
            servers["litellm"] = stack.enter_context(litellm(args.litellm, folder / "litellm", bare.url))
        servers["gieok"] = stack.enter_context(service(folder / "gieok", bare.url, args.workers, **settings))
        yield servers


def _model(ours: bool, args: argparse.Namespace) -> str:
    """Returns the model that the clients of a server ask for."""
    return f"world/{MODEL}" if ours and args.world else MODEL


async def _load(server: Server, streams: int, seconds: float, name: str, model: str) -> tuple[list[Answer], float]:
    """Returns all answers of as many people as streams, and the seconds that they took."""
    people = [Person(f"{name}{at}", [server.url], _question, model=model) for at in range(streams)]
    took = await together(people, seconds, SECONDS)
    return [answer for person in people for answer in person.answers], took


def _question(mark: str, turn: int) -> str:
    return f"{mark} {pace(PIECES, SECONDS)} Please go on with part {turn} of the story, and tell it at some length."


def _short(mark: str, _: int) -> str:
    return f"{mark} Tell me."


def _level(servers: Mapping[str, Server], streams: int, args: argparse.Namespace) -> list[dict[str, object]]:
    """Measures all servers in turn, so that other load of the machine falls on all of them alike."""
    answers: dict[str, list[Answer]] = {name: [] for name in servers}
    spent = dict.fromkeys(servers, 0.0)
    cpu = dict.fromkeys(servers, 0.0)
    for turn in range(args.rounds):
        for name, server in servers.items():
            before = server.state()["cpu_seconds"]
            mark, model = f"{streams}x{turn}x", _model(name == "gieok", args)
            got, took = asyncio.run(_load(server, streams, args.seconds / args.rounds, mark, model))
            answers[name] += got
            spent[name] += took
            cpu[name] += server.state()["cpu_seconds"] - before
    bare = [answer for answer in answers["bare"] if answer.fine]
    base = share([answer.first for answer in bare], 0.5), share([answer.whole for answer in bare], 0.5)
    rows = [_row(name, streams, answers[name], spent[name], cpu[name], base) for name in servers]
    missing = {"server": "litellm", "streams": streams, "added_p95_ms": "not measured"}
    return rows if "litellm" in servers else [*rows, missing]


def _row(
    name: str, streams: int, answers: list[Answer], seconds: float, cpu: float, base: tuple[float, float]
) -> dict[str, object]:
    fine = [answer for answer in answers if answer.fine]
    first, whole = [answer.first - base[0] for answer in fine], [answer.whole - base[1] for answer in fine]
    return {
        "server": name,
        "streams": streams,
        "added_p50_ms": round(share(whole, 0.5), 2),
        "added_p95_ms": round(share(whole, 0.95), 2),
        "first_p50_ms": round(share(first, 0.5), 2),
        "first_p95_ms": round(share(first, 0.95), 2),
        "requests": len(answers),
        "requests_per_second": round(len(answers) / seconds, 2),
        "failed": len(answers) - len(fine),
        "cpu_ms_per_request": round(cpu * 1000 / max(1, len(answers)), 1),
    }


def _memory(server: Server, requests: int, model: str) -> dict[str, object]:
    """Sends short requests; returns memory after all of them by memory after the first tenth, and how many failed."""
    begun, failed = time.perf_counter(), 0
    memory = []
    for name, count in (("tenth", requests // 10), ("rest", requests - requests // 10)):
        people = [Person(f"{name}{at}", [server.url], _short, model=model) for at in range(16)]
        asyncio.run(together(people, 0, 0, count))
        failed += sum(not answer.fine for person in people for answer in person.answers)
        time.sleep(IDLE_SECONDS)
        memory.append(server.state()["memory_mib"])
    rate = requests / (time.perf_counter() - begun - 2 * IDLE_SECONDS)
    return {
        "memory_ratio": round(memory[1] / memory[0], 3),
        "memory_mib": memory[1],
        "short_requests": requests,
        "short_failed": failed,
        "short_per_second": round(rate, 1),
    }


def _top(rows: list[dict[str, object]]) -> dict[str, object]:
    """Returns the figures at the most streams."""
    last = {row["server"]: row for row in rows if row["streams"] == max(int(str(row["streams"])) for row in rows)}
    gieok, other = last["gieok"], last["litellm"]
    ours = float(str(gieok["added_p95_ms"]))
    measured = isinstance(other["added_p95_ms"], float)
    return {
        "p95_ms": gieok["added_p95_ms"],
        "first_p95_ms": gieok["first_p95_ms"],
        "ratio_litellm": round(ours / float(str(other["added_p95_ms"])), 3) if measured else "not measured",
        "requests_per_second": gieok["requests_per_second"],
        "failed": sum(int(str(row["failed"])) for row in rows if row["server"] == "gieok"),
    }


def _grown(start: Mapping[str, float], end: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}_more": end[name] - start[name] for name in ("threads", "files")}


def _named(when: str, state: Mapping[str, float]) -> dict[str, object]:
    return {"when": when, **state}
