"""The clients of the benches of the service, against the scripted model server as a process of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from bench.load import Answer, Connection, Person, share, together
from bench.server import Server, upstream
from bench.upstream import answer, mark, pace


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with upstream(tmp_path_factory.mktemp("upstream")) as started:
        yield started


def person(server: Server, turns: int = 3) -> Person:
    return Person("kim", [server.url], lambda mark, turn: f"{mark} {pace(3, 0.03)} part {turn}", turns=turns)


def test_a_person_sends_the_growing_history_and_begins_anew_after_its_turns(server: Server) -> None:
    kim = person(server)

    async def ask(times: int) -> list[Answer]:
        answers = [await kim.ask() for _ in range(times)]
        await kim.close()
        return answers

    answers = asyncio.run(ask(4))
    assert [mark(given.question) for given in answers] == ["#kim-1-1", "#kim-1-2", "#kim-1-3", "#kim-2-1"]
    assert all(given.fine and mark(given.text) == mark(given.question) for given in answers)
    assert [message["role"] for message in kim.messages] == ["user", "assistant"]


def test_the_upstream_paces_its_pieces_as_the_question_asks(server: Server) -> None:
    kim = person(server)
    asyncio.run(together([kim], 0, 0, 1))
    [given] = kim.answers
    assert given.whole >= 30  # however busy this machine is
    assert given.first < given.whole
    assert given.text.count(" and then some more of it") == 2


@pytest.mark.parametrize(("fault", "status", "text"), [("refused", 503, ""), ("broken", 200, "Answer to #kim-2-1:")])
def test_the_upstream_fails_while_it_is_told_to(server: Server, fault: str, status: int, text: str) -> None:
    kim = person(server)

    async def ask() -> Answer:
        kim.begin()
        answer = await kim.ask()
        await kim.close()
        return answer

    tell(server, fault)
    given = [asyncio.run(ask())]
    tell(server, "none")
    given.append(asyncio.run(ask()))
    assert [(answer.status, answer.fine) for answer in given] == [(status, False), (200, True)]
    assert given[0].text.startswith(text)
    assert len(given[0].text) < len(given[1].text)


def test_a_silent_upstream_keeps_its_clients_waiting(server: Server) -> None:
    kim = person(server)

    async def ask() -> None:
        try:
            async with asyncio.timeout(1):
                await kim.ask()
        finally:
            await kim.close()

    tell(server, "silent")
    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    tell(server, "none")


def tell(server: Server, fault: str) -> None:
    address = f"{server.url.removesuffix('/v1')}/fault/{fault}"
    urllib.request.urlopen(urllib.request.Request(address, method="POST"), timeout=60).close()


def test_everybody_asks_until_there_are_so_many_answers(server: Server) -> None:
    people = [Person(f"p{at}", [server.url], lambda mark, turn: mark) for at in range(4)]
    asyncio.run(together(people, 0, 0, 40))
    answers = [given for one in people for given in one.answers]
    assert len(answers) == 40
    assert all(given.fine for given in answers)


def test_a_connection_that_breaks_is_an_answer_that_is_not_fine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def cut() -> None:
            taken, _ = listening.accept()
            taken.recv(65536)
            taken.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata")
            taken.close()

        thread = threading.Thread(target=cut)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        given = asyncio.run(Connection(url).ask([{"role": "user", "content": "Hello"}]))
        thread.join()
    assert (given.status, given.complete, given.fine) == (200, False, False)


def test_nobody_there_is_status_0() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    given = asyncio.run(Connection(f"http://127.0.0.1:{port}/v1").ask([{"role": "user", "content": "Hello"}]))
    assert (given.status, given.fine) == (0, False)


def test_side_calls_are_answered_at_once_with_what_they_ask_for() -> None:
    dialogue = "[User] #kim-1-1 [50 pieces in 2 s] go on"
    summary = [{"role": "system", "content": "You summarise a dialogue. …"}, {"role": "user", "content": dialogue}]
    assert answer(summary) == (["The user asked for more, and the assistant told some of it."], 0.0)
    assert answer(summary[1:])[1] == 2.0


def test_a_share_lies_between_the_values() -> None:
    assert share([1.0, 2.0, 3.0], 0.5) == pytest.approx(2.0, abs=0.01)
    assert share([float(value) for value in range(101)], 0.95) == pytest.approx(95.0, abs=0.2)
    assert share([], 0.5) == 0.0
