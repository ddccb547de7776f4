"""Addresses, and what a link knows about Redis."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from redis.exceptions import ResponseError

from bench.port import free_port
from errors import BadSetting, MemoryAway
from memory import Patience
from memory.key import Scope
from memory.redis import address
from memory.redis.address import Client
from memory.redis.link import LATE_IN_A_ROW, USER_SECONDS, Link
from tests.clock import set_clock
from tests.memory.conftest import Asked, valkey
from tests.memory.conversation import Conversations
from tests.table import table
from tests.wait import until

pytestmark = pytest.mark.usefixtures("impatient")
LATE = 1.5
"""Seconds after which Redis answers too late for a user, and early enough for the sockets."""
TURNS = 64


def test_a_sentinel_address_names_hosts_service_and_database() -> None:
    found = address.parse_redis_url("rediss+sentinel://kim:p%40ss@one:26380,[::1]/mymaster/2")
    assert (found.kind, found.hosts, found.service, found.database) == (
        "sentinel",
        (("one", 26380), ("::1", 26379)),
        "mymaster",
        2,
    )
    assert dict(found.options) == {"ssl": True, "username": "kim", "password": "p@ss"}


def test_a_cluster_address_names_its_nodes() -> None:
    assert address.parse_redis_url("redis+cluster://one:7000,two").hosts == (("one", 7000), ("two", 6379))


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
    assert "secret" not in address.parse_redis_url(url).url_without_login


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
        address.parse_redis_url(url)
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
        address.parse_redis_url(url)


def test_blanks_around_an_address_do_not_matter() -> None:
    assert address.parse_redis_url(" redis://h:1/2 ").url == "redis://h:1/2"
    assert address.parse_redis_url("rediss://h?ssl_ca_certs=/own.pem&max_connections=5").kind == "plain"
    assert (
        address.parse_redis_url("rediss+cluster://kim:pass@h?ssl_ca_certs=/own.pem&read_from_replicas=true").kind
        == "cluster"
    )


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
    assert link.wait(60), link.away
    with pytest.raises(MemoryAway, match="no answer within"):
        link.quick(work)


@contextmanager
def stalled(link: Link) -> Iterator[None]:
    """Redis takes connections and commands, and answers none before the end of the block."""
    number = link.run(lambda client: client.info("server")["process_id"])
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


def test_a_slow_answer_costs_its_own_turn_the_memory_and_no_other_turn(link: Link) -> None:
    patience = Patience()
    with pytest.raises(MemoryAway, match="no answer within"):
        link.quick(slowly, patience)
    assert link.away is None
    assert link.quick(lambda client: client.ping()), "the answer to the other command is still to come"
    with pytest.raises(MemoryAway, match="no answer within"):
        link.quick(lambda client: client.ping(), patience)


def test_one_slow_moment_costs_every_turn_in_it_the_memory_once(link: Link) -> None:
    def ask(at: threading.Barrier) -> str:
        at.wait(60)
        try:
            return str(link.quick(lambda client: client.ping()))
        except MemoryAway as error:
            return str(error.values["reason_code"])

    def ask_all() -> set[str]:
        at = threading.Barrier(TURNS)
        with ThreadPoolExecutor(TURNS) as pool:
            return {heard.result(60) for heard in [pool.submit(ask, at) for _ in range(TURNS)]}

    with stalled(link):
        assert ask_all() == {"slow"}
        assert link.away is None
    assert link.quick(lambda client: client.ping(), Patience(10.0))
    assert ask_all() == {"True"}
    assert link.away is None


def test_an_answer_that_came_too_late_is_nobody_elses(link: Link) -> None:
    link.run(lambda client: client.set("mine", "my own"))
    for number in range(LATE_IN_A_ROW * 2):
        give_up(link, lambda client: client.blpop(f"queue {number}", LATE))  # noqa: B023
        link.run(lambda client: client.rpush(f"queue {number}", "another's"))  # noqa: B023
        assert [link.quick(lambda client: client.get("mine")) for _ in range(3)] == [b"my own"] * 3
    assert link.away is None, "there was an answer between every two waits in vain"


def test_answers_that_are_each_quick_enough_are_not_so_together(link: Link) -> None:
    give_up(link, lambda client: slowly(client, 12, 0.06))


def test_calls_of_a_turn_share_its_patience(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, patience = set_clock(monkeypatch, "memory.redis.link"), Patience(10.0)

    def last_four_seconds() -> None:
        clock.now += 4.0

    monkeypatch.setattr(link._prompt or link._client, "ping", last_four_seconds)
    for left in (6.0, 2.0):
        link.quick(lambda client: client.ping(), patience)
        assert patience.left == left
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


def test_a_server_that_never_answers_costs_three_turns_a_short_wait_and_no_further_one(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the default path as on any other."""
    assert link.quick(lambda client: client.ping())
    asked = Asked(link, monkeypatch)
    with stalled(link):
        for _ in range(10):
            with pytest.raises(MemoryAway):
                link.quick(lambda client: client.ping())
        assert link.away
    assert asked.seconds == [USER_SECONDS] * LATE_IN_A_ROW
    assert link.wait(60), link.away


def test_a_server_that_never_answers_is_noticed_although_nobody_asks_again(link: Link) -> None:
    with stalled(link):
        with pytest.raises(MemoryAway):
            link.quick(lambda client: client.ping())
        assert link.away is None
        until(lambda: link.away)
    assert link.wait(60), link.away


def test_a_server_that_is_gone_is_away_at_once_and_comes_back(tmp_path: Path) -> None:
    port = free_port()
    with valkey(tmp_path, port):
        link = Link(f"redis://127.0.0.1:{port}", tmp_path)
        assert link.wait(60)
        assert link.quick(lambda client: client.ping())
    with pytest.raises(MemoryAway):
        link.quick(lambda client: client.ping())
    assert link.away
    with valkey(tmp_path, port):
        assert link.wait(60), link.away
        assert link.quick(lambda client: client.ping())
    link.close()


def test_a_slow_answer_costs_a_look_nothing_and_what_was_erased_goes_once_redis_answers(
    talks: Conversations, tcp: str
) -> None:
    talks.say("My room is B-17.")
    talks.view()
    with stalled(talks.memory._link):
        assert talks.view().waiting == (1,)
        talks.memory.eraser.erase_session("acme", talks.session(), goes_on=True)
        assert talks.view().waiting == ()
    with redis.Redis.from_url(tcp) as client:
        until(lambda: not client.exists(Scope("acme", talks.session()).keys[0]))


def lose(link: Link) -> None:
    """Has the link reach Redis anew: a connection failed."""
    assert link.wait(60), link.away

    def fail(client: Client) -> None:
        raise redis.ConnectionError("gone")

    with pytest.raises(MemoryAway):
        link.quick(fail)


def test_a_command_under_way_goes_on_when_redis_is_reached_anew(link: Link) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(link.run, lambda client: client.blpop("later", 1.9))
        time.sleep(0.1)
        lose(link)
        assert link.wait(60)
        link.run(lambda client: client.rpush("later", "here"))
        assert waiting.result(60) == (b"later", b"here")


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
        each.join(60)
    assert heard <= {"MemoryAway"}


def test_what_is_remembered_while_connections_break_is_kept(talks: Conversations, tcp: str) -> None:
    talks.session()

    def remember(worker: int) -> None:
        for number in range(5):
            talks.remember(f"key {worker} {number}", "here")
            talks.view()
            time.sleep(0.01)

    operator = redis.Redis.from_url(tcp)
    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(remember, worker) for worker in range(4)]
        while not all(each.done() for each in workers):
            operator.client_kill_filter(_type="normal", skipme=True)
            time.sleep(0.005)
    operator.close()
    assert [each.result() for each in workers] == [None] * 4
    assert len(talks.profile()) == 20


def test_a_late_failure_of_a_former_connection_does_not_make_redis_away(link: Link) -> None:
    def work(client: Client) -> None:
        lose(link)
        assert link.wait(60)
        raise redis.ConnectionError("too late")

    with pytest.raises(MemoryAway, match="too late"):
        link.run(work)
    assert link.away is None


def test_an_error_that_redis_answers_does_not_make_it_away(tcp: str) -> None:
    link = Link(tcp, Path("unused"))
    assert link.wait(60)

    def wrong(client: redis.Redis) -> None:
        raise ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")

    with pytest.raises(MemoryAway):
        link.quick(wrong)
    assert link.away is None
    link.close()
    with pytest.raises(MemoryAway, match="closed"):
        link.quick(lambda client: client.ping())
