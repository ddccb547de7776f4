"""The copy in Redis: of the specified form, current or ignored, and never missed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from memory import Patience
from memory.key import Scope
from memory.redis.link import Link
from memory.redis.working_memory import WorkingMemory
from memory.state import MemoryState, MemoryTurn
from tests.memory.conftest import Asked, OpenMemory
from tests.memory.conversation import Conversations
from tests.memory.models import small


@pytest.fixture
def client(tcp: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(tcp) as made:
        yield made


def test_it_has_the_specified_keys_form_and_time_to_live(talks: Conversations, client: redis.Redis) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.view()
    keys = Scope("acme", talks.session()).keys
    assert keys == [f"chat:{{acme:{talks.session()}}}:{part}" for part in ("short", "memory", "entities")]
    short, memory, entities = (json.loads(client.get(key) or b"") for key in keys)
    assert [turn["turn"] for turn in short] == [2, 3, 4, 5, 6]
    assert memory["memory"][0]["text"] == "User said: My item 1 costs $100."
    assert {"key": "item 1", "value": "$100", "turn": 1}.items() <= entities[0].items()
    assert all(86_000_000 < client.pttl(key) <= 86_400_000 for key in keys)
    client.pexpire(keys[0], 1000)
    talks.view()
    assert client.pttl(keys[0]) > 86_000_000, "every use renews it"
    assert 86_000 < (talks.memory.reader.read_ttl("acme", talks.session()) or 0) <= 86_400


def test_reading_is_one_command_and_what_is_read_comes_from_the_copy(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    before = talks.view()
    asked = Asked(talks.memory._link, monkeypatch)
    monkeypatch.setattr("memory.reader.read_memory", pytest.fail)
    assert talks.view() == before
    assert len(asked.patience) == 1


def test_a_changed_memory_takes_one_command_more_that_writes_the_copy(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.view()
    talks.tell([7])
    asked = Asked(talks.memory._link, monkeypatch)
    talks.view()
    assert len(asked.patience) == 2
    talks.view()
    assert len(asked.patience) == 3


@pytest.mark.parametrize("change", ["say", "fold", "edit", "forget", "pin", "branch", "switch", "other process"])
def test_whatever_changes_the_next_look_sees_it(talks: Conversations, opened: OpenMemory, change: str) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    left = talks.edit(6, "My item 6 costs $666.")
    talks.view()
    if change == "say":
        talks.tell([7])
    elif change == "fold":
        talks.tell(range(7, 12))
        talks.view()
        talks.fold(small())
    elif change == "edit":
        talks.memory.writer.edit("acme", talks.session(), "Changed.")
    elif change == "forget":
        talks.forget("User said: My item 2 costs $200.")
    elif change == "pin":
        talks.pin("A pin.")
    elif change == "branch":
        talks.edit(3, "Another.")
    elif change == "switch":
        talks.switch(6, left)
    else:
        second = opened()
        second._names.update(talks._names)
        second.memory.writer.edit("acme", talks.session(), "Changed elsewhere.")
    seen = talks.view()
    talks.memory._link.run(lambda client: client.flushall())
    assert talks.view() == seen


@pytest.mark.parametrize("broken", [b"} no JSON", b"[]", b"{}", b'{"stamp": 1}', "hash"])
def test_a_copy_that_cannot_be_read_is_made_again(talks: Conversations, client: redis.Redis, broken: Any) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    before = talks.view()
    for key in Scope("acme", talks.session()).keys:
        client.delete(key)
        client.hset(key, "a", "b") if broken == "hash" else client.set(key, broken)
        assert talks.view() == before


def test_without_redis_everything_works(opened: OpenMemory) -> None:
    talks = opened(redis_url="redis://127.0.0.1:1", wait=False)
    talks.tell(range(1, 7))
    talks.pin("I am allergic to nuts.")
    talks.fold()
    assert "item 1 costs" in talks.view().whole
    assert talks.profile("s2") == ["I am allergic to nuts."]
    talks.forget("User said: My item 1 costs $100.")
    assert "item 1 costs" not in talks.view().whole
    assert talks.memory.away


def undo(talks: Conversations) -> None:
    if talks.view().version:
        talks.memory.writer.undo("acme", talks.session())


STEPS: dict[str, Callable[[Conversations, int], object]] = {
    "say": lambda talks, at: talks.tell([at]),
    "fold": lambda talks, at: talks.fold(small()),
    "edit": lambda talks, at: talks.memory.writer.edit("acme", talks.session(), f"Edit {at}."),
    "pin": lambda talks, at: talks.pin(f"Pin {at}."),
    "remember": lambda talks, at: talks.remember("rent", f"${at}"),
    "forget": lambda talks, at: talks.forget(f"My item {at // 2} costs ${at // 2}00."),
    "undo": lambda talks, at: undo(talks),
}


@effort(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from([*STEPS]), st.booleans()), max_size=12))
def test_redis_may_be_emptied_between_any_two_steps(talks: Conversations, steps: list[tuple[str, bool]]) -> None:
    talks._names.clear()
    name = f"s{len(talks.store.of('me').sessions(limit=10_000))}-{id(steps)}"
    talks._names["s1"] = talks.store.of("me").create_session("en", 0.3).id
    talks.tell(range(1, 7))
    for at, (step, flushed) in enumerate(steps, 7):
        STEPS[step](talks, at)
        seen = talks.view()
        if flushed:
            talks.memory._link.run(lambda client: client.flushall())
            assert talks.view() == seen, name


def test_a_copy_that_never_expires(link: Link) -> None:
    working, scope = WorkingMemory(0), Scope("acme", "s")
    state = MemoryState(short=(MemoryTurn(1, "q", "a"),))
    link.quick(lambda client: working.write(client, scope, state, "1"), Patience())
    assert link.run(lambda client: working.read(client, scope, "1")) == state
    assert link.run(lambda client: working.read(client, scope, "2")) is None
    assert link.run(lambda client: working.read_ttl(client, scope)) is None
    link.run(lambda client: working.remove(client, scope.tag))
    assert link.run(lambda client: working.read(client, scope, "1")) is None
