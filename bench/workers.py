"""One and two workers of the service on PostgreSQL and Valkey: turns a second at equal latency, lost and doubled turns.

Each worker is a process of its own, and every conversation goes from worker to worker with each turn, as behind a
balancer without sticky sessions; half of the clients name their conversation, half are recognised by their history.
The number of streams rises. Added latency is the whole duration minus the scripted model's; ``turns_per_second.N`` is
the highest rate of N workers whose 95th percentile of it stays within ``--bound`` milliseconds.

Then one of two workers is killed (SIGKILL) while answers stream. Clients whose connection broke send the same history
again to the other worker. ``lost``: turns that a client was told in full and the record lacks. ``doubled``: questions
that the shown paths of all conversations have twice. ``failed``: requests without a full answer, but for those that the
kill broke: they are ``cut``, and ``recovered`` of them were answered when they were sent again.

Load, model server, workers, PostgreSQL and Valkey share one machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.load import Answer, Person, share, together
from bench.proxy import UNLIMITED
from bench.server import Server, postgres, service, upstream, valkey
from bench.upstream import pace
from store import Store

PIECES, SECONDS = 5, 0.2
SLOW = 2.0
"""Seconds of an answer while a worker is killed."""
AGAIN_SECONDS = 30.0
"""How long a client whose answer was cut asks again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds at each number of streams")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], help="streams at once, rising")
    parser.add_argument("--bound", type=float, default=250.0, help="most added milliseconds at the 95th percentile")
    parser.add_argument("--killed", type=int, default=16, help="streams while a worker is killed")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as name, _around(Path(name)) as shared:
        folder, model, database, redis = shared
        settings = {"DATABASE_URL": database, "REDIS_URL": redis, **UNLIMITED}
        with _workers(folder, model, 2, settings) as workers:
            asyncio.run(_load([worker.url for worker in workers], 8, SECONDS, "warm"))
            rows = [row for count in (1, 2) for row in _rising(workers[:count], args, answers)]
            killed = asyncio.run(_kill(workers, args.killed, answers))
        record = _record(database, answers)
    best = {f"turns_per_second.{count}": _best(rows, count, args.bound) for count in (1, 2)}
    failed = sum(not answer.fine for answer in answers) - killed["cut"]
    return {**best, "failed": failed, **record, **killed, "bound_ms": args.bound, "rows": rows}


@contextlib.contextmanager
def _around(folder: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Starts what the workers share: the scripted model, PostgreSQL and Valkey; yields their addresses."""
    with upstream(folder / "upstream") as model, postgres() as database, valkey() as redis:
        yield folder, model.url, database, redis


@contextlib.contextmanager
def _workers(folder: Path, model: str, count: int, settings: dict[str, str]) -> Iterator[list[Server]]:
    """Starts the workers, each with a data folder of its own, as on machines of their own."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(service(folder / f"worker{number}", model, **settings))
            for number in range(1, count + 1)
        ]


def _rising(workers: Sequence[Server], args: argparse.Namespace, answers: list[Answer]) -> Iterator[dict[str, object]]:
    """Measures these workers at more and more streams."""
    for streams in args.streams:
        got, took = asyncio.run(_load([worker.url for worker in workers], streams, args.seconds, f"w{len(workers)}x"))
        answers += got
        fine = [answer.whole - SECONDS * 1000 for answer in got if answer.fine]
        added = round(share(fine, 0.95), 1)
        yield {
            "workers": len(workers),
            "streams": streams,
            "turns_per_second": round(len(fine) / took, 2),
            "added_p50_ms": round(share(fine, 0.5), 1),
            "added_p95_ms": added,
            "failed": len(got) - len(fine),
        }


async def _load(urls: Sequence[str], streams: int, seconds: float, name: str) -> tuple[list[Answer], float]:
    people = [_person(f"{name}{streams}x{at}", urls, SECONDS, named=at % 2 == 0) for at in range(streams)]
    took = await together(people, seconds, SECONDS)
    return [answer for person in people for answer in person.answers], took


def _person(name: str, urls: Sequence[str], seconds: float, named: bool) -> Person:
    def question(mark: str, turn: int) -> str:
        return f"{mark} {pace(PIECES, seconds)} Please go on with part {turn} of the story."

    return Person(name, urls, question, named=named)


async def _kill(workers: Sequence[Server], streams: int, answers: list[Answer]) -> dict[str, int]:
    """Kills the second worker in the middle of answers; everybody goes on with the first one."""
    urls = [worker.url for worker in workers]
    people = [_person(f"killed{at}", urls, SLOW, named=at % 2 == 0) for at in range(streams)]
    before = [await asyncio.gather(*(person.ask() for person in people)) for _ in range(2)]
    asking = [asyncio.create_task(person.ask()) for person in people]
    await asyncio.sleep(SLOW / 2)
    workers[1].kill()
    last = await asyncio.gather(*asking)
    cut = [person for person, answer in zip(people, last, strict=True) if not answer.fine]
    for person in people:
        await person.to(urls[:1])
    again = await asyncio.gather(*(_again(person) for person in cut))
    after = await asyncio.gather(*(person.ask() for person in people))
    for person in people:
        await person.close()
    asked = itertools.chain(*before, last, again, after)
    answers += [answer for answer in asked if answer is not None]
    return {"cut": len(cut), "recovered": sum(answer is not None for answer in again)}


async def _again(person: Person) -> Answer | None:
    """Sends the conversation again until it is answered; a server may need seconds to notice a death."""
    until = time.monotonic() + AGAIN_SECONDS
    while time.monotonic() < until:
        answer = await person.send()
        if answer.fine:
            return answer
        await asyncio.sleep(0.5)
    return None


def _record(database: str, answers: Sequence[Answer]) -> dict[str, int]:
    """Compares what clients were told with what the record holds."""
    with contextlib.closing(Store(database)) as store:
        every = store.everyone
        shown = [turn for session in every.sessions(limit=1_000_000) for turn in every.turns(session.id, limit=1000)]
    kept = {(turn.session_id, turn.number, turn.question, turn.answer) for turn in shown}
    told = [answer for answer in answers if answer.fine]
    return {
        "turns": len(told),
        "lost": sum((answer.session, answer.turn, answer.question, answer.text) not in kept for answer in told),
        "doubled": sum(count - 1 for count in Counter(turn.question for turn in shown).values()),
    }


def _best(rows: Sequence[dict[str, object]], workers: int, bound: float) -> float:
    """Returns the highest rate of so many workers within the bound."""
    within = [row for row in rows if row["workers"] == workers and float(str(row["added_p95_ms"])) <= bound]
    return max((float(str(row["turns_per_second"])) for row in within), default=0.0)
