"""Addresses, and what a link knows about Redis."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from errors import BadSetting, MemoryAway
from memory import address
from memory.link import USER_SECONDS, Link


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


@pytest.mark.parametrize("url", ["redis://:secret@h/0", "redis+cluster://u:secret@h:1", "redis://h?password=secret"])
def test_a_password_is_never_shown(url: str) -> None:
    assert "secret" not in address.parse(url).shown


def test_a_bad_address_does_not_show_its_password() -> None:
    with pytest.raises(BadSetting) as caught:
        address.parse("redis+sentinel://u:secret@h:1")
    assert "secret" not in str(caught.value)


def test_nothing_is_waited_for_where_nobody_answers(tmp_path: Path) -> None:
    link = Link("redis://127.0.0.1:1", tmp_path)
    started = time.monotonic()
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.ping())
    assert time.monotonic() - started < USER_SECONDS
    link.close()


def test_slow_work_is_given_up_for_a_user_and_finished_in_the_background(tcp: str) -> None:
    link = Link(tcp, Path("unused"))
    assert link.wait(10)
    started = time.monotonic()
    with pytest.raises(MemoryAway, match="no answer within"):
        link.quick(lambda client: time.sleep(1.0))
    assert time.monotonic() - started < USER_SECONDS + 0.1
    assert link.away
    assert link.wait(10)
    link.close()


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
