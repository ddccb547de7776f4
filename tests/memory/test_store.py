"""One suite over the embedded server and one of its own on TCP: what is read is what was written, once."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import pytest

from memory.key import Scope
from memory.redis.link import Link
from memory.redis.redis_store import KEPT_VERSIONS, RedisStore, Stale
from memory.state import Entity, MemoryTurn, State, Version, added, put, trimmed

SCOPE = Scope("acme", "s1")
DAY = 86_400_000
STORE = RedisStore(DAY)


def turn(number: int) -> MemoryTurn:
    return MemoryTurn(number, f"question {number}", f"answer {number}")


def append(link: Link, *numbers: int, scope: Scope = SCOPE, store: RedisStore = STORE) -> State:
    for number in numbers:
        state = link.run(lambda client, number=number: store.append_turn(client, scope, turn(number)))  # type: ignore[misc]
    return state


def read(link: Link, scope: Scope = SCOPE) -> State:
    return link.run(lambda client: STORE.read(client, scope))


def fold(state: State, text: str) -> State:
    folded = added(state.folded, (each.number for each in state.batch))
    return trimmed(replace(state, text=text, folded=folded))


def version(number: int, text: str) -> Version:
    return Version(number, text, "fold", time.time(), turns=(turn(number),))


def test_nothing_is_there_at_first(link: Link) -> None:
    assert read(link) == State()


def test_what_is_written_is_read_back_whole(link: Link) -> None:
    append(link, *range(1, 8))
    written = link.run(
        lambda client: STORE.change(
            client,
            SCOPE,
            lambda state: replace(
                fold(state, "M1"),
                entities=(Entity("budget", "$10,000", 5),),
                pins=("my name is Kim",),
                forgotten=(("salary", 3),),
                carried=(("acme:s0", 2),),
                start="a1b2",
                taken=4,
            ),
            lambda before, after: version(1, "M1"),
        )
    )
    assert read(link) == written
    _, versions = link.run(lambda client: STORE.read_all(client, SCOPE))
    assert [(each.number, each.text, each.turns) for each in versions] == [(1, "M1", (turn(1),))]


def test_the_keys_hold_the_specified_json(link: Link) -> None:
    append(link, 1)
    known = put((Entity("provider", "aws", 3),), Entity("budget", "$10,000", 5))
    link.run(
        lambda client: STORE.change(
            client, SCOPE, lambda state: replace(state, text="M", entities=known), lambda *_: version(1, "M")
        )
    )
    raw = link.run(lambda client: [client.lrange(SCOPE.key("short"), 0, -1), client.get(SCOPE.key("entities"))])
    assert json.loads(raw[0][0]) == {"turn": 1, "question": "question 1", "answer": "answer 1"}
    assert json.loads(raw[1]) == [
        {"key": "provider", "value": "aws", "turn": 3},
        {"key": "budget", "value": "$10,000", "turn": 5},
    ]
    memory = link.run(lambda client: json.loads(client.get(SCOPE.key("memory"))))
    assert memory["memory"] == "M"
    assert memory["version"] == 1


def test_every_use_renews_the_time_to_live_of_all_keys(link: Link) -> None:
    short = RedisStore(60_000)
    append(link, 1, store=short)
    link.run(lambda client: [client.pexpire(key, 5_000) for key in SCOPE.keys])
    link.run(lambda client: short.read(client, SCOPE))
    lefts = link.run(lambda client: [client.pttl(key) for key in SCOPE.keys if client.exists(key)])
    assert len(lefts) == 2
    assert min(lefts) > 50_000


def test_looking_is_not_a_use(link: Link) -> None:
    append(link, 1)
    link.run(lambda client: [client.pexpire(key, 5_000) for key in SCOPE.keys])
    link.run(lambda client: STORE.look(client, SCOPE))
    assert link.run(lambda client: client.pttl(SCOPE.key("meta"))) <= 5_000


def test_an_unused_memory_goes_after_its_time(link: Link) -> None:
    append(link, 1, store=RedisStore(50))
    time.sleep(0.1)
    assert link.run(lambda client: [key for key in SCOPE.keys if client.exists(key)]) == []


def test_zero_means_never(link: Link) -> None:
    append(link, 1, store=RedisStore(0))
    assert link.run(lambda client: client.pttl(SCOPE.key("short"))) == -1
    assert link.run(lambda client: STORE.ttl(client, Scope("acme", "none"))) is None


def test_two_writers_at_once_lose_nothing_and_double_nothing(link: Link) -> None:
    def write(numbers: range) -> None:
        append(link, *numbers)

    threads = [threading.Thread(target=write, args=(range(first, 41, 4),)) for first in range(1, 5)]
    threads += [threading.Thread(target=write, args=(range(1, 41, 3),))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.number for each in read(link).short] == list(range(1, 41))


def test_a_fold_with_an_older_token_is_refused(link: Link) -> None:
    append(link, *range(1, 7))
    link.run(lambda client: client.hset(SCOPE.key("meta"), "token", "7"))
    before = read(link)
    with pytest.raises(Stale):
        link.run(lambda client: STORE.swap(client, SCOPE, version(1, "old"), lambda state: fold(state, "old"), 6))
    assert read(link) == before
    link.run(lambda client: STORE.swap(client, SCOPE, version(1, "new"), lambda state: fold(state, "new"), 7))
    assert read(link).text == "new"


def test_a_swap_keeps_a_turn_that_came_meanwhile(link: Link) -> None:
    append(link, *range(1, 7))
    link.run(lambda client: client.hset(SCOPE.key("meta"), "token", "1"))
    calls: list[State] = []

    def new(state: State) -> State:
        if not calls:
            append(link, 7)
        calls.append(state)
        return fold(state, "M1")

    link.run(lambda client: STORE.swap(client, SCOPE, version(1, "M1"), new, 1))
    assert len(calls) == 2
    assert [each.number for each in read(link).waiting] == [6, 7]


def test_an_erased_memory_is_not_brought_back_by_a_slow_writer(link: Link) -> None:
    append(link, *range(1, 7))

    def slow(state: State) -> State:
        if state.revision:
            link.run(lambda client: STORE.erase(client, SCOPE))
        return replace(state, text="back again") if state.revision else state

    link.run(lambda client: STORE.change(client, SCOPE, slow))
    assert read(link) == State()
    assert link.run(lambda client: client.keys("chat:*")) == []


def test_redis_keeps_the_newest_versions(link: Link) -> None:
    append(link, 1)
    for number in range(1, KEPT_VERSIONS + 4):
        link.run(
            lambda client, number=number: STORE.change(  # type: ignore[misc]
                client, SCOPE, lambda state: replace(state, text=f"M{number}"), lambda *_: version(number, f"M{number}")
            )
        )
    _, versions = link.run(lambda client: STORE.read_all(client, SCOPE))
    assert [each.number for each in versions] == list(range(4, KEPT_VERSIONS + 4))


def test_tenants_and_hostile_names_stay_apart(link: Link) -> None:
    names = [
        ("a", "b:c"),
        ("a:b", "c"),
        ("{a}", "b"),
        ("a}", "{b"),
        ("a", "b\nc"),
        ("a", "@u"),
        ("*", "*"),
        ("A", "b:c"),
    ]
    for index, (tenant, session) in enumerate(names, 1):
        append(link, index, scope=Scope(tenant, session))
    for index, (tenant, session) in enumerate(names, 1):
        assert [each.number for each in read(link, Scope(tenant, session)).short] == [index]
    for tenant in {tenant for tenant, _ in names}:
        found = link.run(lambda client, tenant=tenant: STORE.scopes(client, tenant))  # type: ignore[misc]
        assert {(each.tenant, each.session) for each in found} == {each for each in names if each[0] == tenant}


def test_hostile_text_comes_back_as_it_was(link: Link) -> None:
    text = "}{:\r\n\t\"'\\ \u2028 \U0001f600 \x1b[31m 가나다 {chat:x}" + "😀" * 50_000
    link.run(lambda client: STORE.append_turn(client, SCOPE, MemoryTurn(1, text, text[::-1])))
    assert read(link).short == (MemoryTurn(1, text, text[::-1]),)
