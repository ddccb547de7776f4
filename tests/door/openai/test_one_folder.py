"""Two workers as processes on one data folder, with SQLite: sessions hop between them under load."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.load import Person
from store import Store, TurnRow
from tests.door.openai.running import CALM, question, served
from tests.stub.reply import said
from tests.stub.upstream import Upstream

PEOPLE, TURNS = 6, 5


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[str], Path]]:
    """The addresses of two workers, which start at the same time on an empty folder, and that folder."""
    folder = tmp_path_factory.mktemp("shared")
    with Upstream(always=lambda body: said(f"Answer to {question(body).rsplit(chr(10), 1)[-1]}")) as upstream:
        starting = [served(folder, upstream.url, **CALM) for _ in range(2)]
        with ExitStack() as stack, ThreadPoolExecutor() as pool:
            yield [worker.url for worker in pool.map(stack.enter_context, starting)], folder


def record(folder: Path) -> list[TurnRow]:
    """All turns that the shown paths of all sessions have."""
    store = Store(f"sqlite:///{folder / 'data' / 'gieok.db'}")
    every = store.everyone
    turns = [turn for session in every.sessions(limit=1000) for turn in every.turns(session.id, limit=1000)]
    store.close()
    return turns


def test_sessions_hop_between_two_workers_and_no_turn_is_lost_or_doubled(workers: tuple[list[str], Path]) -> None:
    urls, folder = workers
    people = [
        Person(f"hop{at}", urls, lambda mark, turn: f"{mark} part {turn}", turns=50, named=at % 2 == 0)
        for at in range(PEOPLE)
    ]

    async def talk(person: Person) -> None:
        for _ in range(TURNS):
            assert (await person.ask()).fine, person.answers[-1]
        await person.close()

    async def all_at_once() -> None:
        await asyncio.gather(*map(talk, people))

    asyncio.run(all_at_once())
    for person in people:
        assert len({answer.session for answer in person.answers}) == 1
        assert [answer.turn for answer in person.answers] == list(range(1, TURNS + 1))
    turns = record(folder)
    told = {(answer.session, answer.question, answer.text) for person in people for answer in person.answers}
    assert {(turn.session_id, turn.question, turn.answer) for turn in turns} == told
    assert max(Counter(turn.question for turn in turns).values()) == 1
    assert {turn.status for turn in turns} == {"done"}
