"""Addresses, and what a link knows about Redis."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from errors import BadSetting, MemoryAway
from memory import Memory, Patience
from memory.redis import address
from memory.redis.address import Client
from memory.redis.link import USER_SECONDS, Link
from tests.memory.conftest import Asked
from tests.table import table

pytestmark = pytest.mark.usefixtures("impatient")
LATE = 1.5
"""Seconds after which Redis answers too late for a user, and early enough for the sockets."""


def test_a_sentinel_address_names_hosts_service_and_database() -> None:
    found = address.parse("rediss+sentinel://kim:p%40ss@one:26380,[::1]/mymaster/2")
    assert (found.kind, found.hosts, found.service, found.database) == (
        "sentinel",
        (("one", 26380), ("::1", 26379)),
        "mymaster",
        2,
    )
    assert dict(found.options) == {"ssl": True, "username": "kim", "password": "p@ss"}


def test_a_cluster_address_names_its_nodes() -> None:
    assert address.parse("redis+cluster://one:7000,two").hosts == (("one", 7000), ("two", 6379))


@pytest.mark.parametrize(
    "url",
    [
        "redis://:secret@h/0",
        "redis+cluster://u:secret@h:1",
        "redis://h?password=secret",
        "redis://u:secret@secret@h:1",
        "redis+sentinel://h:1/ours?sentinel_password=se@secret",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    assert "secret" not in address.parse(url).shown


@table(
    "url",
    [
        "redis+sentinel://u:secret@h:1",
        "redis+sentinel://u:secret/secret@h:1/ours",
        "redis://:secret/secret@h:1",
        "redis://:secret#secret@h:1",
        "redis://:secret?secret@h:1",
        "redis://:1/secret@h:1",
        "kim:secret@h:1",
    ],
)
def test_a_bad_address_does_not_show_its_password(url: str) -> None:
    with pytest.raises(BadSetting) as caught:
        address.parse(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.values)


@table(
    "url",
    [
        "redis://h:port",
        "redis://h/abc",
        "redis://h?unknown=1",
        "redis://h?ssl_ca_certs=/own.pem",
        "rediss://h?ssl_cert_reqs=banana",
        "redis+sentinel://h:1/ours/abc",
        "redis+sentinel://h:1/ours?unknown=1",
        "redis+cluster://h:1?unknown=1",
    ],
)
def test_what_redis_would_refuse_later_is_a_bad_setting_from_the_start(url: str) -> None:
    with pytest.raises(BadSetting, match="REDIS_URL"):
        address.parse(url)


def test_blanks_around_an_address_do_not_matter() -> None:
    assert address.parse(" redis://h:1/2 ").url == "redis://h:1/2"
    assert address.parse("rediss://h?ssl_ca_certs=/own.pem&max_connections=5").kind == "plain"
    assert address.parse("rediss+cluster://kim:pass@h?ssl_ca_certs=/own.pem&read_from_replicas=true").kind == "cluster"


def test_a_user_waits_for_redis_at_most_0_3_seconds() -> None:
    assert USER_SECONDS < 0.3


def test_nothing_is_waited_for_where_nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = Link("redis://127.0.0.1:1", tmp_path)
    asked = Asked(link, monkeypatch)
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.ping())
    assert asked.seconds == []
    link.close()


def slowly(client: Client, times: int = 1, seconds: float = LATE) -> None:
    """Answers that each come late, but do come."""
    for _ in range(times):
        client.blpop("nothing", seconds)


def give_up(link: Link, work: Callable[[Client], object]) -> None:
    """Has a user told that memory is away: what Redis answers later is not waited for."""
    assert link.wait(10), link.away
    with pytest.raises(MemoryAway, match="no answer within"):
        link.quick(work)


def test_a_slow_answer_is_given_up_for_a_user(link: Link) -> None:
    give_up(link, slowly)
    assert link.wait(10)
    assert link.quick(lambda client: client.ping())


def test_answers_that_are_each_quick_enough_are_not_so_together(link: Link) -> None:
    give_up(link, lambda client: slowly(client, 12, 0.06))


def test_calls_of_a_turn_share_its_patience(link: Link) -> None:
    patience = Patience(10.0)
    link.quick(lambda client: slowly(client, 2, USER_SECONDS), patience)
    assert patience.left < 10.0 - 2 * USER_SECONDS
    spent = Patience(0.0)
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.ping(), spent)
    assert link.away is None, "nobody asked Redis, so nobody knows"


def test_what_the_database_takes_does_not_make_redis_away(link: Link) -> None:
    def work(client: Client) -> bool:
        client.ping()
        time.sleep(USER_SECONDS + 0.05)
        return bool(client.ping())

    assert link.quick(work)
    assert link.away is None


def test_a_server_that_stops_costs_a_user_one_short_wait(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the default path as on any other."""
    number = link.run(lambda client: client.info("server")["process_id"])
    assert link.quick(lambda client: client.ping())
    asked = Asked(link, monkeypatch)
    os.kill(number, signal.SIGSTOP)
    try:
        for _ in range(10):
            with pytest.raises(MemoryAway):
                link.quick(lambda client: client.ping())
    finally:
        os.kill(number, signal.SIGCONT)
    assert asked.seconds == [USER_SECONDS]
    assert link.wait(10), link.away


def lose(link: Link) -> None:
    """Has the link reach Redis anew: a user had no time for the answer."""
    assert link.wait(10), link.away
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.blpop("nobody", 0.05), Patience(0.001))


def test_a_command_under_way_goes_on_when_redis_is_reached_anew(link: Link) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(link.run, lambda client: client.blpop("later", 1.9))
        time.sleep(0.1)
        lose(link)
        assert link.wait(10)
        link.run(lambda client: client.rpush("later", "here"))
        assert waiting.result(5) == (b"later", b"here")


def test_other_threads_only_hear_that_memory_is_away(link: Link) -> None:
    done, heard = threading.Event(), set[str]()

    def work() -> None:
        while not done.is_set():
            try:
                link.run(lambda client: [client.ping() for _ in range(20)])
                link.quick(lambda client: client.ping())
            except Exception as error:
                heard.add(type(error).__name__)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for _ in range(20):
        lose(link)
    done.set()
    for each in threads:
        each.join(10)
    assert heard <= {"MemoryAway"}


def test_what_is_remembered_while_connections_break_is_kept(memory: Memory, tcp: str) -> None:
    def remember(worker: int) -> None:
        for number in range(5):
            memory.remember("acme", "s1", f"key {worker} {number}", "here", turn=1)
            time.sleep(0.01)

    operator = redis.Redis.from_url(tcp)
    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(remember, worker) for worker in range(4)]
        while not all(each.done() for each in workers):
            operator.client_kill_filter(_type="normal", skipme=True)
            time.sleep(0.005)
    assert [each.result() for each in workers] == [None] * 4
    until = time.monotonic() + 30
    while len(memory.context("acme", "s1").entities) < 20 and time.monotonic() < until:
        operator.client_kill_filter(_type="normal", skipme=True)  # what was queued last goes with the next return
        memory.wait(1)
    operator.close()
    assert len(memory.context("acme", "s1").entities) == 20


def test_a_late_failure_of_a_former_connection_does_not_make_redis_away(link: Link) -> None:
    def work(client: Client) -> None:
        lose(link)
        assert link.wait(10)
        raise redis.ConnectionError("too late")

    with pytest.raises(MemoryAway, match="too late"):
        link.run(work)
    assert link.away is None


def test_an_error_that_redis_answers_does_not_make_it_away(tcp: str) -> None:
    link = Link(tcp, Path("unused"))
    assert link.wait(10)

    def wrong(client: redis.Redis) -> None:
        raise ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")

    with pytest.raises(MemoryAway):
        link.quick(wrong)
    assert link.away is None
    link.close()
    with pytest.raises(MemoryAway, match="closed"):
        link.quick(lambda client: client.ping())
