"""An agent of one user: another user's sessions are unknown to it, and memory is not even asked about them."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, cast

import pytest
from sqlalchemy import update

from errors import SessionUnknown
from graph.turn.agent import Agent
from graph.turn.request import Request
from graph.turn.session.side_question import SideAnswer
from graph.turn.session.trash import DAY
from memory import Memory
from store import GivenTurn
from store.database import schema
from store.path import TRUNK
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked as prompted
from tests.graph.recalling import fact, folding, noting, ready, remembered, settled, tell
from tests.graph.talk import prompts
from tests.graph.test_memory_path import sources

GUESSED = "0123456789abcdef"
WITHOUT_SESSION = {
    "aside": "lists work; the work asks the store itself",
    "open_worlds": "plays the stories of this user; each call names its session",
    "using": "other models",
    "in_zone": "another clock",
    "of": "another user's agent; who may ask for it is the doors' question",
    "state_of": "takes a session that the user's own store gave",
    "preview_import": "reads a file; stores nothing",
    "import_sessions": "makes sessions of the user's own",
    "read_attached": "reads files; ``attach`` says whose they are",
    "tidy_files": "removes files that no conversation of any user has",
    "close": "ends everything",
}
FOR_ALL_USERS = {"remove_old": "removes what any user deleted long ago"}


class Untouched:
    """A memory that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"memory was asked ({name}) before the store had said yes")


@pytest.fixture
def bot(agent: OpenAgent) -> Agent:
    return ready(agent(noting, folding, memory=True))


def public() -> list[str]:
    found = {name for name, _ in inspect.getmembers(Agent, inspect.isfunction) if not name.startswith("_")}
    return sorted(found - {field.name for field in fields(Agent)} - {*WITHOUT_SESSION, *FOR_ALL_USERS})


def call(agent: Agent, name: str, session_id: str) -> object:
    function: Callable[..., Any] = getattr(agent, name)
    values: dict[str, Any] = {
        "session_id": session_id,
        "answer": "taken",
        "side_answer": SideAnswer("taken", "taken", 0, list(TRUNK)),
        "request": Request(session_id, "new", "taken"),
        "stop": threading.Event(),
        "emit": lambda event: None,
        "text": "taken",
        "number": 1,
        "branch": 0,
        "last_turn": 1,
        "first_turn": 1,
        "rate": 0.3,
        "version": 1,
        "call": "c",
        "answers": {},
        "yes": True,
        "pinned": True,
        "drafts": [],
        "uploads": [("a.txt", b"x")],
        "name": "a.txt",
    }
    wanted = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is parameter.empty:
            assert parameter.name in values, f"{name}: a value for {parameter.name}?"
            wanted[parameter.name] = values[parameter.name]
    assert {"session_id", "request"} & set(wanted), f"{name} names no session: say so in WITHOUT_SESSION"
    if name in ("hold", "open_turn"):
        with function(**wanted):
            return None
    result = function(**wanted)
    return list(result) if isinstance(result, Iterator) else result


@pytest.mark.parametrize("name", public())
def test_another_users_session_is_unknown_and_memory_is_not_asked(bot: Agent, name: str) -> None:
    own = bot.store.create_session("en", 0.3).id
    tell(bot, own, range(1, 4))
    other = replace(bot.of("other"), memory=cast(Memory, Untouched()))
    for session_id in (own, GUESSED):
        with pytest.raises(SessionUnknown):
            call(other, name, session_id)
    assert bot.store.session(own).turn_count == 3


def test_a_busy_session_of_another_user_is_unknown_not_busy(bot: Agent) -> None:
    own = bot.store.create_session("en", 0.3).id
    with bot.lock.hold(own), pytest.raises(SessionUnknown):
        bot.of("other").delete_session(own)


def test_a_session_that_is_unknown_or_anothers_leaves_no_lock(bot: Agent) -> None:
    others = bot.of("bob").store.create_session("ko", 0.3).id
    folder = bot.settings.data_dir / "lock"
    before = {path.name for path in folder.glob("*")}
    for session_id in (GUESSED, others):
        with pytest.raises(SessionUnknown), bot.of("eve").hold(session_id):
            pass
    assert {path.name for path in folder.glob("*")} == before
    with bot.of("bob").hold(others):
        assert len([*folder.glob("*")]) == len(before) + 1


def test_two_users_talk_and_remember_side_by_side(bot: Agent) -> None:
    other = bot.of("other")
    mine, theirs = bot.store.create_session("en", 0.3).id, other.store.create_session("en", 0.3).id
    tell(bot, mine, range(1, 9))
    tell(other, theirs, range(21, 29))
    settled(bot)
    assert "item 3: $300" in remembered(bot, mine)
    assert "item 23: $2300" in remembered(other, theirs)
    next_one = other.store.create_session("en", 0.3).id
    tell(other, next_one, [40])
    given = "".join(prompted(prompts(bot)[-1]))
    assert "$300" not in given
    assert [each.owner for each in other.store.sessions()] == ["other", "other"]


def test_what_any_user_deleted_long_ago_is_gone_after_a_start(agent: OpenAgent) -> None:
    bot = agent()
    other = bot.of("other")
    own = other.store.create_session("en", 0.3).id
    kept = bot.store.create_session("en", 0.3).id
    for each, session_id in ((other, own), (bot, kept)):
        list(each.run(session_id, "hello there"))
    other.put_away(own)
    with bot.store.transaction() as connection:
        old = update(schema.session).where(schema.session.c.id == own)
        connection.execute(old.values(deleted=time.time() - 31 * DAY))
    bot.close()
    again = agent()
    assert again.background.idle(10)
    with pytest.raises(SessionUnknown):
        again.store.everyone.session(own)
    assert again.store.session(kept).turn_count == 1


# --- turns that a client tells ------------------------------------------------------------------


def told(*numbers: int) -> list[GivenTurn]:
    return [GivenTurn(fact(number), f"I noted that {number}.", 10) for number in numbers]


def test_a_turn_after_given_turns_gets_them_in_its_prompt_and_memory_follows(bot: Agent) -> None:
    own = bot.store.create_session("en", 0.3).id
    assert bot.store.tree.give(own, 1, told(1, 2), 1.0) == 2
    tell(bot, own, [3])
    given = str(prompts(bot)[-1])
    assert all(text in given for text in (fact(1), "I noted that 2.", fact(3)))
    settled(bot)
    assert sources(bot, own) == [(number, fact(number)) for number in (1, 2, 3)]


def test_given_turns_in_place_of_others_replace_them_everywhere(bot: Agent) -> None:
    own = bot.store.create_session("en", 0.3).id
    tell(bot, own, range(1, 8))
    settled(bot)
    assert bot.store.tree.give(own, 3, told(33, 34), 1.0) == 4
    tell(bot, own, [5])
    given = str(prompts(bot)[-1])
    assert fact(33) in given
    assert fact(6) not in given
    settled(bot)
    assert sources(bot, own) == [(1, fact(1)), (2, fact(2)), (3, fact(33)), (4, fact(34)), (5, fact(5))]
    assert "$700" not in remembered(bot, own)
    bot.switch(own, 3, 0)
    tell(bot, own, [8])
    assert "I noted that 33." not in str(prompts(bot)[-1])
