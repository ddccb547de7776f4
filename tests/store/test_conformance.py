"""What holds on every database: the record, the lock, the checkpoints, a whole conversation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st
from sqlalchemy import select

from errors import OutOfRange, SessionBusy, SessionUnknown, TurnUnknown
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Token
from graph.turn.process.engine import build_graph_config
from model import scripted
from model.scripted import ScriptedModel
from settings import load_settings
from store import Finished, Store, TurnRow
from store.database import schema
from store.export import portable
from tests.graph.talk import (
    answer,
    answering,
    done,
    failed,
    prompts,
    question,
    raw,
    say,
    summarised,
    summarising,
    talk,
    topic,
)
from tests.process import SECONDS, barrier, channel, end, event, start
from tests.wait import until


@pytest.fixture
def bot(database: str | None, tmp_path: Path) -> Iterator[Agent]:
    agent = make(database, tmp_path)
    yield agent
    agent.close()


def make(database: str | None, folder: Path, chat: Any = answering) -> Agent:
    models = scripted.build_scripted_models(chat, summarising)
    return open_agent(load_settings(data_dir=folder / "data", database_url=database), lambda: models)


def test_a_conversation_of_seven_turns(bot: Agent) -> None:
    own = bot.store.create_session("ko", 0.3).id
    for number in range(1, 8):
        talk(bot, own, [number])
        assert bot.background.idle(10)
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6)]
    assert raw(prompts(bot)[-1]) == [topic(7)]
    assert [turn.answer for turn in bot.store.turns(own)] == [answer(n) for n in range(1, 8)]
    assert [row.status for row in bot.store.ledger.summaries(own)] == ["active", "active"]
    assert len(list(bot.checkpoints.saver.list({"configurable": {"thread_id": own}}))) == 1


def test_an_agent_that_is_opened_again_goes_on(bot: Agent, database: str | None, tmp_path: Path) -> None:
    own = bot.store.create_session("ko", 0.3).id
    talk(bot, own, range(1, 6))
    bot.close()
    again = make(database, tmp_path)
    talk(again, own, [6])
    assert summarised(prompts(again)[-1]) == [(1, 3)]
    assert raw(prompts(again)[-1]) == [topic(4), topic(5), topic(6)]
    again.close()


def test_a_failed_turn_is_retried(database: str | None, tmp_path: Path) -> None:
    bot = make(database, tmp_path, ["", answer(1)])
    own = bot.store.create_session("ko", 0.3).id
    assert failed(say(bot, own, question(1))).code == "empty_answer"
    assert done(list(bot.retry(own))).answer == answer(1)
    bot.close()


def test_a_session_is_held_by_one(bot: Agent) -> None:
    with bot.lock.hold("one"):
        with pytest.raises(SessionBusy), bot.lock.hold("one"):
            pass
        with bot.lock.hold("two"):
            pass
    with bot.lock.hold("one"):
        pass


def hold_for_ever(database: str | None, folder: Path, holding: Any) -> None:
    agent = make(database, folder)
    with agent.lock.hold("one"):
        holding.set()
        time.sleep(60)


def test_a_process_that_is_killed_lets_go(bot: Agent, database: str | None, tmp_path: Path) -> None:
    holding = event()
    other = start(hold_for_ever, database, tmp_path, holding)
    assert holding.wait(SECONDS)
    with pytest.raises(SessionBusy), bot.lock.hold("one"):
        pass
    other.kill()
    end(other)
    until(lambda: held(bot, "one"))


def held(bot: Agent, session: str) -> bool:
    """Whether the lock of a session can be had."""
    try:
        with bot.lock.hold(session):
            return True
    except SessionBusy:
        return False


def test_many_sessions_answer_at_once(database: str | None, tmp_path: Path) -> None:
    """More than a pool of connections has: a lock must not take what the turn itself needs."""
    gate = threading.Event()
    bot = make(database, tmp_path, ScriptedModel(answering, gate=gate))
    sessions = [bot.store.create_session("ko", 0.3).id for _ in range(24)]
    begun = threading.Barrier(25)

    def one(own: str) -> str:
        waited = False
        for each in bot.run(own, question(1)):
            if isinstance(each, Token) and not waited:
                waited = True
                begun.wait(60)
        return bot.store.turn(own, 1).status  # type: ignore[union-attr]

    with ThreadPoolExecutor(24) as pool:
        ends = [pool.submit(one, own) for own in sessions]
        begun.wait(60)
        gate.set()
        assert {each.result(60) for each in ends} == {"done"}
    bot.close()


def test_sessions_are_listed_last_used_first_and_page_by_page(bot: Agent) -> None:
    names = [bot.store.create_session("ko", 0.3).id for _ in range(7)]
    bot.store.create_session("ko", 0.3)  # never used: not listed
    for index in (0, 1, 2, 3, 4, 5, 6, 2):
        bot.store.begin_turn(names[index], question(index))
    listed = [each.id for each in bot.store.sessions()]
    assert listed == [names[index] for index in (2, 6, 5, 4, 3, 1, 0)]
    pages = [[each.id for each in bot.store.sessions(limit=3, offset=at)] for at in (0, 3, 6, 9)]
    assert [name for page in pages for name in page] == listed
    assert list(map(len, pages)) == [3, 3, 1, 0]


def test_a_session_is_renamed_and_retuned(bot: Agent) -> None:
    own = bot.store.create_session("en", 0.3).id
    bot.store.begin_turn(own, "  first\n line " + "x" * 100)
    assert bot.store.session(own).title == ("first line " + "x" * 100)[:60]
    bot.store.rename_session(own, "  새 이름\ud800\x00 ")
    bot.store.set_rate(own, 0.45)
    session = bot.store.session(own)
    assert (session.title, session.compression_rate, session.language) == ("새 이름\ufffd", 0.45, "en")
    with pytest.raises(SessionUnknown):
        bot.store.rename_session("none", "x")
    with pytest.raises(SessionUnknown):
        bot.store.set_rate("none", 0.2)
    with pytest.raises(OutOfRange):
        bot.store.set_rate(own, 0.51)


def test_a_deleted_session_is_gone_everywhere(bot: Agent) -> None:
    own, other = (bot.store.create_session("ko", 0.3).id for _ in range(2))
    for each in (own, other):
        talk(bot, each, range(1, 5))
    bot.background.idle(10)
    bot.delete_session(own)
    assert own not in [each.id for each in bot.store.sessions()]
    for table in (schema.turn, schema.summary, schema.branch):
        with bot.store.transaction() as connection:
            assert own not in connection.execute(select(table.c.session_id)).scalars().all()
    assert bot.checkpoints.saver.get(build_graph_config(own)) is None
    assert len(bot.store.turns(other)) == 4
    assert bot.state(other)["turn_count"] == 4


def test_history_tokens_grow_once_a_turn(bot: Agent) -> None:
    own = bot.store.create_session("ko", 0.3).id
    for number in (1, 2):
        bot.store.begin_turn(own, question(number))
        for _ in range(3):
            bot.store.finish_turn(own, number, Finished("done", "a", tokens=10))
    assert bot.store.session(own).history_tokens == 20


def test_steps_that_are_changed_at_once_are_all_changed(bot: Agent) -> None:
    own = bot.store.create_session("ko", 0.3).id
    number = bot.store.begin_turn(own, question(1)).number
    bot.store.finish_turn(own, number, Finished("done", "a", tokens=10))

    def mark(name: int) -> None:
        bot.store.change_steps(own, number, lambda steps: [*steps, {"call": str(name)}])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(mark, range(24)))
    turn = bot.store.turn(own, number)
    assert turn is not None
    assert {step["call"] for step in turn.steps} == {str(name) for name in range(24)}
    assert (turn.answer, turn.tokens) == ("a", 10)
    with pytest.raises(TurnUnknown):
        bot.store.change_steps(own, 2, lambda steps: steps)


def test_pages_of_turns(bot: Agent) -> None:
    own = bot.store.create_session("ko", 0.3).id
    for number in range(1, 8):
        bot.store.begin_turn(own, question(number))

    def numbers(turns: list[TurnRow]) -> list[int]:
        return [turn.number for turn in turns]

    assert numbers(bot.store.turns(own, limit=3)) == [5, 6, 7]
    assert numbers(bot.store.turns(own, before=5, limit=3)) == [2, 3, 4]
    assert numbers(bot.store.turns(own, before=1)) == []
    assert numbers(bot.store.turns_between(own, 2, 4)) == [2, 3, 4]
    assert bot.store.turn(own, 8) is None


def test_versions_and_failures_in_the_ledger(bot: Agent) -> None:
    ledger, own = bot.store.ledger, bot.store.create_session("ko", 0.3).id
    chunk = [1, 2, 3]
    for number in range(3):
        ledger.fail(own, chunk, 0.3, {"code": f"c{number}"})
    (row,) = ledger.summaries(own)
    assert (row.status, row.version, row.error) == ("failed", 1, {"code": "c2"})
    assert ledger.records(own) == [None]
    ledger.add(own, chunk, 0.3, "ready", record={"summary": "하나\x00"}, lost=["7"])
    ledger.add(own, chunk, 0.5, "active", record={"summary": "둘"})
    assert [(each.version, each.status) for each in ledger.summaries(own)] == [(3, "active")]
    assert ledger.records(own) == [{"summary": "둘"}]
    every = ledger.summaries(own, superseded=True)
    assert [(each.version, each.status) for each in every] == [(1, "superseded"), (2, "superseded"), (3, "active")]
    assert (every[1].record, every[1].lost) == ({"summary": "하나\x00"}, ["7"])
    assert ledger.ready(own, chunk, 0.3) is None
    assert ledger.ready(own, [4, 5, 6], 0.5) is None
    ledger.retire(own, 4)
    assert ledger.summaries(own)[0].status == "retired"
    with pytest.raises(SessionUnknown):
        ledger.add("nobody", chunk, 0.3, "ready")


def test_a_summary_that_is_taken_is_in_the_context(bot: Agent) -> None:
    ledger, own = bot.store.ledger, bot.store.create_session("ko", 0.3).id
    made = ledger.add(own, [1, 2, 3], 0.3, "ready", record={"summary": "하나"})
    other = ledger.add(own, [4, 5, 6], 0.3, "ready", record={"summary": "둘"})
    assert ledger.take(own, [1, 2, 3], 0.5) is None
    assert ledger.take(own, [7, 8, 9], 0.3) is None
    taken = ledger.take(own, [1, 2, 3], 0.3)
    assert taken is not None
    assert (taken.id, taken.record) == (made, {"summary": "하나"})
    assert [(each.id, each.status) for each in ledger.summaries(own)] == [(made, "active"), (other, "ready")]


@effort(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_comes_back_as_it_went_in(bot: Agent, text: str) -> None:
    own = bot.store.create_session("ko", 0.3).id
    number = bot.store.begin_turn(own, text).number
    bot.store.finish_turn(own, number, Finished("done", text, [{"a": text}], steps=[{text: [text]}]))
    row = bot.store.turn(own, number)
    assert row is not None
    assert (row.question, row.answer, row.messages, row.steps) == (text, text, [{"a": text}], [{text: [text]}])


def test_hostile_text_goes_through_a_turn(bot: Agent) -> None:
    own = bot.store.create_session("ko", 0.3).id
    text = "앞\x00\ud800 <script> \ue0f00041 끝"
    done(say(bot, own, text))
    talk(bot, own, range(2, 6))
    assert bot.store.turn(own, 1).question == text  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["\x00", "\ud800", "", "없는 이름", "x" * 1000])
def test_an_unknown_session_is_unknown_whatever_its_name(bot: Agent, name: str) -> None:
    with pytest.raises(SessionUnknown):
        say(bot, name, "안녕")


@pytest.mark.parametrize("name", ["\x00", "a\ud800", "\udfff"])
def test_a_session_that_no_database_can_name_is_not_there(bot: Agent, name: str) -> None:
    store, ledger = bot.store, bot.store.ledger
    calls: list[Callable[[], object]] = [
        lambda: store.session(name),
        lambda: store.rename_session(name, "x"),
        lambda: store.set_rate(name, 0.3),
        lambda: store.put_away(name),
        lambda: store.begin_turn(name, "x"),
        lambda: store.tree.copy(name, 1),
        lambda: ledger.add(name, [1], 0.3, "ready"),
        lambda: portable.render_session_json(store, name),
        lambda: store.delete_session(name),
        lambda: store.turns(name),
        lambda: ledger.summaries(name),
    ]
    for call in calls:
        with pytest.raises((SessionUnknown, TurnUnknown)):
            call()
    assert store.search("x", within=name) == []
    assert store.find_session(name) is None


def open_fresh(database: str | None, folder: Path, together: Any, said: Any) -> None:
    together.wait(SECONDS)
    agent = make(database, folder)
    own = agent.store.create_session("ko", 0.3).id
    said.put(type(say(agent, own, question(1))[-1]).__name__)
    agent.close()


def test_processes_may_open_a_new_database_at_once(database: str | None, tmp_path: Path) -> None:
    together, said = barrier(3), channel()
    openers = [start(open_fresh, database, tmp_path, together, said) for _ in range(3)]
    assert [end(each) for each in openers] == [0] * 3
    assert [said.get(timeout=60) for _ in openers] == ["Done"] * 3


def add_summaries(database: str | None, folder: Path, own: str, together: Any) -> None:
    """Adds a summary to each of forty chunks, puts another one in the place of some, and notes a failure of others."""
    store = Store(load_settings(data_dir=folder / "data", database_url=database).database)
    together.wait(SECONDS)
    for index in range(40):
        chunk = [index * 3 + 1, index * 3 + 2, index * 3 + 3]
        if index % 4 == 3:
            store.ledger.fail(own, chunk, 0.3, {"code": "away"})
            continue
        store.ledger.add(own, chunk, 0.3, "ready" if index % 2 else "active", record={"summary": "하나"})
        if index % 4 == 1:
            store.ledger.take(own, chunk, 0.3)
        if index % 4 == 2:
            store.ledger.replace(own, chunk, 0.3, "active", record={"summary": "둘"})
    store.close()


def test_a_chunk_has_one_summary_that_counts_whichever_process_writes(database: str | None, tmp_path: Path) -> None:
    store = Store(load_settings(data_dir=tmp_path / "data", database_url=database).database)
    own, together = store.create_session("ko", 0.3).id, barrier(2)
    writers = [start(add_summaries, database, tmp_path, own, together) for _ in range(2)]
    assert [end(each) for each in writers] == [0, 0]
    rows = store.ledger.summaries(own, limit=1000)
    expected = [(index * 3 + 1, "failed" if index % 4 == 3 else "active") for index in range(40)]
    assert [(each.turns[0], each.status) for each in rows] == expected
    assert [each.version for each in store.ledger.versions(own, 7)] == [1, 2, 3, 4]
    store.close()
