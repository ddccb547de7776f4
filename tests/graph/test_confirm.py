"""After foreign text a write to memory waits for the user's yes: asked once, kept with its turn, never silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from errors import ModelTimeout, QuestionAnswered, QuestionUnknown, SessionBusy, SessionDeleted
from graph.context.prompt import is_search
from graph.turn.agent import Agent
from graph.turn.event import ToolFinished
from store.export import portable
from tests.graph.strong import OpenStrong, asks, last, new, strong, values
from tests.graph.talk import done, failed, only, say
from tests.stub.strong import READ, Wish, calling, understanding

__all__ = ["strong"]

ADDRESS = Wish("Jot down where I live, as the page says", "address", "45 Elm Street")
MOVED = Wish("Wipe where I live", "address")
STATED, CLEARED = (
    Wish("Remember that my garage is 7 Oak Street", "garage", "7 Oak Street"),
    Wish("Wipe the garage", "garage"),
)
AGAIN = Wish(f"{STATED.text}!", "garage", "7 Oak Street")
QUESTION = "What does the page say?"


def read(agent: Agent, *texts: str) -> str:
    """A session in which a page was read, and these texts were said after it."""
    own = new(agent)
    for text in (QUESTION, *texts):
        done(say(agent, own, text))
    return own


@pytest.fixture
def bot(strong: OpenStrong) -> Agent:
    return strong(understanding([ADDRESS, MOVED, STATED, CLEARED, AGAIN]))


def test_without_foreign_text_the_wish_is_done_at_once(bot: Agent) -> None:
    own = new(bot)
    done(say(bot, own, ADDRESS.text))
    assert (values(bot, own), asks(bot, own)) == ({"address": "45 Elm Street"}, [])
    done(say(bot, own, MOVED.text))
    assert (values(bot, own), asks(bot, own)) == ({}, [])


def test_after_foreign_text_it_becomes_a_question_and_a_yes_writes_it(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    (call, ask), number = asks(bot, own)[0], last(bot, own).number
    assert values(bot, own) == {}
    assert ask["arguments"] == {"key": "address", "value": "45 Elm Street"}
    assert "the user is asked" in last(bot, own).steps[-1]["result"]
    assert bot.confirm(own, number, call, True)["answer"] is True
    assert values(bot, own) == {"address": "45 Elm Street"}
    assert last(bot, own).steps[-1]["artifact"]["ask"]["answer"] is True


def test_another_answer_to_a_question_of_a_file_asks(bot: Agent) -> None:
    """The message of the turn says all of it, but nobody here wrote it."""
    own = new(bot)
    done(say(bot, own, STATED.text))
    assert (values(bot, own), asks(bot, own)) == ({"garage": "7 Oak Street"}, [])
    data = portable.render_session_json(bot.store, own).encode()
    done(say(bot, own, "Wipe the garage"))
    (copy,) = portable.import_conversations(bot.store, data, 10**7, len).sessions
    assert values(bot, own) == {}
    done(list(bot.again(copy, 1)))
    assert (values(bot, copy), len(asks(bot, copy))) == ({}, 1)
    done(list(bot.again(copy, 1, f"{STATED.text}!")))
    assert values(bot, copy) == {"garage": "7 Oak Street"}, "the user wrote it anew"


def test_a_no_leaves_memory_as_it_is(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    bot.confirm(own, 2, asks(bot, own)[0][0], False)
    assert (values(bot, own), asks(bot, own)) == ({}, [])
    assert last(bot, own).steps[-1]["artifact"]["ask"]["answer"] is False


def test_forget_lists_at_once_and_asks_before_it_drops(bot: Agent) -> None:
    own = new(bot)
    done(say(bot, own, ADDRESS.text))
    done(say(bot, own, QUESTION))
    done(say(bot, own, MOVED.text))
    listed, asked = last(bot, own).steps
    assert "address: 45 Elm Street" in listed["result"]
    assert asked["artifact"]["ask"]["arguments"]["lines"][0] == "address: 45 Elm Street"
    assert values(bot, own) == {"address": "45 Elm Street"}
    bot.confirm(own, 3, asked["call"], True)
    assert values(bot, own) == {}


def test_of_several_lines_only_those_that_the_user_picks_go(bot: Agent) -> None:
    own = new(bot)
    for key in ("address", "old address"):
        assert bot.memory is not None
        bot.memory.writer.remember(bot.tenant, own, key, "Elm", turn=0)
    done(say(bot, own, QUESTION))
    done(say(bot, own, MOVED.text))
    (call, ask) = asks(bot, own)[0]
    assert ask["arguments"] == {"lines": ["old address: Elm", "address: Elm"]}
    answered = bot.confirm(own, 2, call, True, lines=["address: Elm", "something else"])
    assert answered.get("chosen") == ["address: Elm"]
    assert list(values(bot, own)) == ["old address"]


def test_a_second_answer_is_refused_and_changes_nothing(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    call = asks(bot, own)[0][0]
    bot.confirm(own, 2, call, False)
    with pytest.raises(QuestionAnswered):
        bot.confirm(own, 2, call, True)
    assert values(bot, own) == {}


def test_questions_outlive_a_restart_and_an_export(strong: OpenStrong) -> None:
    first = strong(understanding([ADDRESS]))
    own = read(first, ADDRESS.text)
    (copy,) = portable.import_conversations(first.store, first.export_session(own).encode(), 10**7, len).sessions
    first.close()
    again = strong(understanding([]))
    for session in (own, copy):
        again.confirm(session, 2, asks(again, session)[0][0], True)
        assert values(again, session) == {"address": "45 Elm Street"}


def test_while_redis_is_away_a_yes_is_written_all_the_same(strong: OpenStrong) -> None:
    away = strong(understanding([ADDRESS]), wait=False, redis_url="redis://127.0.0.1:1/0")
    own = read(away, ADDRESS.text)
    answered = away.confirm(own, 2, asks(away, own)[0][0], True)
    assert last(away, own).steps[-1]["artifact"]["ask"] == answered
    assert values(away, own) == {"address": "45 Elm Street"}


def test_a_question_of_a_replaced_version_is_void(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    shown, call = last(bot, own), asks(bot, own)[0][0]
    done(list(bot.again(own, 2)))
    assert last(bot, own).branch != shown.branch
    with pytest.raises(QuestionUnknown):
        bot.confirm(own, 2, call, True, branch=shown.branch)
    assert values(bot, own) == {}
    bot.confirm(own, 2, asks(bot, own)[0][0], True, branch=last(bot, own).branch)
    assert values(bot, own) == {"address": "45 Elm Street"}


def test_a_failed_turn_asks_nothing_until_it_is_answered(strong: OpenStrong) -> None:
    script = [
        calling(READ, about="x"),
        calling("remember", key="address", value="Elm"),
        ModelTimeout(seconds=1, url="u"),
    ]
    bot = strong([*script, "You will be asked."])
    own = new(bot)
    failed(say(bot, own, QUESTION))
    call = last(bot, own).steps[-1]["call"]
    assert asks(bot, own) == []
    with pytest.raises(QuestionUnknown):
        bot.confirm(own, 1, call, True)
    done(list(bot.retry(own)))
    assert [each for each, _ in asks(bot, own)] == [call]
    bot.confirm(own, 1, call, True)
    assert values(bot, own) == {"address": "Elm"}


def test_it_waits_for_the_answer_that_runs_and_for_a_deleted_session(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    call = asks(bot, own)[0][0]
    with bot.lock.hold(own), pytest.raises(SessionBusy):
        bot.confirm(own, 2, call, True)
    bot.store.put_away(own)
    with pytest.raises(SessionDeleted):
        bot.confirm(own, 2, call, True)
    assert values(bot, own) == {}


@pytest.mark.parametrize(("number", "call"), [(2, "no such call"), (9, "remember-2"), (1, "read_page-1")])
def test_where_nothing_was_asked_nothing_can_be_answered(bot: Agent, number: int, call: str) -> None:
    own = read(bot, ADDRESS.text)
    with pytest.raises(QuestionUnknown):
        bot.confirm(own, number, call, True)


def test_two_questions_with_the_same_call_are_answered_one_after_the_other(strong: OpenStrong) -> None:
    script = [
        calling(READ, about="x"),
        calling("remember", key="a", value="1"),
        calling("remember", key="b", value="2"),
    ]
    bot = strong([*script, "Please say yes twice."])
    own = new(bot)
    done(say(bot, own, QUESTION))
    (one, _), (two, _) = asks(bot, own)
    assert one == two
    bot.confirm(own, 1, one, False)
    bot.confirm(own, 1, two, True)
    assert values(bot, own) == {"b": "2"}


def test_what_could_not_run_is_told_to_the_model_and_asked_of_nobody(strong: OpenStrong) -> None:
    script = [calling(READ, about="x"), calling("remember", key="a", value="1" * 2000), calling("forget", numbers=[7])]
    bot = strong([*script, "Sorry."])
    own = new(bot)
    events = say(bot, own, QUESTION)
    assert [each.ok for each in only(events, ToolFinished)] == [True, False, False]
    assert asks(bot, own) == []


def test_an_earlier_turn_that_is_raw_counts_after_the_state_was_made_anew(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    bot.checkpoints.saver.delete_thread(own)
    done(say(bot, own, ADDRESS.text))
    assert len(asks(bot, own)) == 1
    assert [each for each in bot.state(own)["messages"] if is_search(each)] == []


def test_with_memory_turned_off_meanwhile_there_is_nothing_to_answer(bot: Agent) -> None:
    own = read(bot, ADDRESS.text)
    off = replace(bot, memory=None)
    with pytest.raises(QuestionUnknown):
        off.confirm(own, 2, asks(bot, own)[0][0], True)
    assert off.confirm(own, 2, asks(bot, own)[0][0], False)["answer"] is False
