"""Addresses, and what a link knows about Redis."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from errors import BadSetting, MemoryAway
from memory import Patience, address
from memory.address import Client
from memory.link import USER_SECONDS, Link

LIMIT = 0.3
"""Seconds that a user may wait for Redis."""


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_nothing_is_waited_for_where_nobody_answers(tmp_path: Path) -> None:
    link = Link("redis://127.0.0.1:1", tmp_path)
    started = time.monotonic()
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.ping())
    assert time.monotonic() - started < USER_SECONDS
    link.close()


def slowly(client: Client, times: int = 1, seconds: float = 5.0) -> None:
    """Answers that each come late, but do come."""
    for _ in range(times):
        client.blpop("nothing", seconds)


def given_up(link: Link, work: Callable[[Client], object], patience: Patience | None = None) -> float:
    """Seconds until a user is told that memory is away; the least of three, since others use this machine too."""
    took = []
    for _ in range(3):
        assert link.wait(10), link.away
        started = time.monotonic()
        with pytest.raises(MemoryAway, match="no answer within"):
            link.quick(work, patience and replace(patience))
        took.append(time.monotonic() - started)
    return min(took)


def test_a_slow_answer_is_given_up_for_a_user(link: Link) -> None:
    assert USER_SECONDS * 0.9 < given_up(link, slowly) < LIMIT
    assert link.wait(10)
    assert link.quick(lambda client: client.ping())


def test_answers_that_are_each_quick_enough_are_not_so_together(link: Link) -> None:
    assert given_up(link, lambda client: slowly(client, 12, 0.06)) < LIMIT


def test_calls_of_a_turn_share_its_patience(link: Link) -> None:
    patience = Patience(10.0)
    link.quick(lambda client: slowly(client, 2, 0.05), patience)
    assert patience.left < 9.9
    assert given_up(link, slowly, Patience(0.1)) < LIMIT - 0.1
    spent = Patience(0.0)
    assert link.wait(10)
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


def test_a_server_that_stops_costs_a_user_one_short_wait(link: Link) -> None:
    """On the default path as on any other."""
    number = link.run(lambda client: client.info("server")["process_id"])
    took = []
    for _ in range(3):
        assert link.wait(10), link.away
        assert link.quick(lambda client: client.ping())
        os.kill(number, signal.SIGSTOP)
        try:
            started = time.monotonic()
            for _ in range(10):
                with pytest.raises(MemoryAway):
                    link.quick(lambda client: client.ping())
            took.append(time.monotonic() - started)
        finally:
            os.kill(number, signal.SIGCONT)
    assert min(took) < LIMIT


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
