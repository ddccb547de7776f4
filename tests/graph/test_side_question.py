"""A question beside the conversation: given what the next message is given, stored nowhere unless kept."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from errors import (
    Empty,
    EmptyAnswer,
    ModelUnreachable,
    SessionBusy,
    SessionDeleted,
    StorySideQuestion,
    TooLong,
    TurnUnknown,
)
from graph.turn.agent import Agent
from graph.turn.finish import build_waiting_row
from graph.turn.runtime import Notes
from graph.turn.session.side_question import SideAnswer, stream_side_answer
from store.turn.question import UserQuestion
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready, remembered, settled, tell
from tests.graph.talk import answer, done, question, say, scripted, talk, topic, topics

NewSession = Callable[[Agent], str]


def ask_aside(agent: Agent, session: str, text: str) -> SideAnswer:
    *pieces, end = stream_side_answer(agent, session, text)
    assert isinstance(end, SideAnswer)
    assert end.text == "".join(str(piece) for piece in pieces).strip()
    return end


def last_prompt(agent: Agent) -> list[str]:
    return [str(each.text) for each in scripted(agent.models().chat).calls[-1]]


def list_questions(agent: Agent, session: str) -> list[str]:
    return [turn.question for turn in agent.store.turns(session, limit=100)]


def read_all(agent: Agent, session: str) -> Any:
    one = agent.store
    return one.session(session), agent.state(session), one.turns(session, limit=100), one.ledger.summaries(session)


def test_it_is_given_what_the_next_message_is_given_and_stores_nothing(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 9))
    before = read_all(one, talked)
    assert ask_aside(one, talked, question(50)).text == answer(50)
    assert read_all(one, talked) == before
    aside = last_prompt(one)
    done(say(one, talked, question(50)))
    assert last_prompt(one) == aside
    done(say(one, talked, question(60)))
    assert "".join(last_prompt(one)).count(question(50)) == 1  # the message, not the side question before it


def test_what_it_took_stands_in_the_usage(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    ask_aside(one, talked, question(50))
    stop = threading.Event()
    pieces = stream_side_answer(one, talked, question(60), stop)
    next(pieces)
    stop.set()
    list(pieces)
    used = [row for row in one.store.usages.read_since(0) if row.work == "aside"]
    assert [(row.session_id, row.prompt_tokens > 20, row.answer_tokens > 0) for row in used] == [
        (talked, True, True)
    ] * 2


def test_memory_and_titles_stand_in_the_usage_once(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True, titles=True))
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 9))
    settled(one)
    copied = one.fork(own, 8)
    used = Counter((row.work, row.session_id) for row in one.store.usages.read_since(0) if row.prompt_tokens)
    assert one.memory is not None
    folds = [each for each in one.memory.reader.read_versions(one.tenant, own) if each.origin == "fold"]
    assert used["memory", own] == len(folds) > 0
    assert used["title", own] > 0
    assert copied not in {session for _, session in used}, "what was copied was paid for once"


def test_nothing_of_it_is_remembered_until_it_is_kept(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 9))
    settled(one)
    before = remembered(one, own)
    ask_aside(one, own, "The price of item 77 is $7700. What does price mean?")
    settled(one)
    assert remembered(one, own) == before
    assert "7700" not in before


def test_a_kept_one_is_the_next_turn_of_our_model(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1, 2))
    one.keep_side_answer(talked, ask_aside(one, talked, question(50)))
    turn = one.store.turns(talked, limit=1)[0]
    assert (turn.number, turn.question, turn.answer) == (3, question(50), answer(50))
    assert (turn.status, turn.given, turn.tokens > 0, turn.has_foreign) == ("done", False, True, True)
    done(say(one, talked, question(4)))
    assert topics("".join(last_prompt(one)))[-3:] == [topic(50), topic(50), topic(4)]


def test_a_conversation_that_went_on_keeps_it_as_another_version(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1, 2))
    aside = ask_aside(one, talked, question(50))
    talk(one, talked, (3, 4))
    one.keep_side_answer(talked, aside)
    assert list_questions(one, talked) == [question(1), question(2), question(50)]
    assert len(one.store.tree.alternatives(talked, [3])[3].branches) == 2
    one.switch(talked, 3, 0)
    assert list_questions(one, talked) == [question(number) for number in (1, 2, 3, 4)]


def test_it_is_not_kept_where_what_came_before_has_gone(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1, 2))
    aside = ask_aside(one, talked, question(50))
    one.take_back(talked, 2)
    with pytest.raises(TurnUnknown):
        one.keep_side_answer(talked, aside)
    one.switch(talked, 2, 0)
    with one.hold(talked), pytest.raises(SessionBusy):
        one.keep_side_answer(talked, aside)
    done(list(one.again(talked, 2, question(20))))
    with pytest.raises(TurnUnknown):
        one.keep_side_answer(talked, aside)
    with pytest.raises(Empty):
        one.keep_side_answer(talked, SideAnswer("?", " ", 2, aside.path))
    assert list_questions(one, talked) == [question(1), question(20)]


def test_files_that_wait_for_the_next_message_go_on_waiting(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    one.attach(talked, [("a.txt", b"x")])
    one.keep_side_answer(talked, ask_aside(one, talked, question(50)))
    assert [file.name for file in one.store.attachments.of(talked)] == ["a.txt"]
    assert not one.store.turns(talked, limit=1)[0].files


@pytest.mark.parametrize(("text", "error"), [(" \n\x00", Empty), ("가" * 200_001, TooLong)])
def test_an_empty_or_too_long_one_is_refused(agent: OpenAgent, session: NewSession, text: str, error: Any) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    calls = len(scripted(one.models().chat).calls)
    with pytest.raises(error):
        ask_aside(one, talked, text)
    assert len(scripted(one.models().chat).calls) == calls


def test_while_the_conversation_answers_and_in_a_story_it_is_refused(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    one.store.begin_turn(talked, question(2))
    with one.hold(talked), pytest.raises(SessionBusy):
        ask_aside(one, talked, question(50))
    story = one.store.worlds.create("세계", "ko").id
    for call in (
        lambda: ask_aside(one, story, question(50)),
        lambda: one.keep_side_answer(story, SideAnswer("?", "!", 0, one.store.session(story).path)),
    ):
        with pytest.raises(StorySideQuestion):
            call()


def test_after_a_process_died_in_mid_answer_it_can_be_asked(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    one.store.begin_turn(talked, question(2))
    assert ask_aside(one, talked, question(50)).text == answer(50)


def test_it_does_not_answer_what_a_turn_waits_for(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    aside = ask_aside(one, talked, question(50))
    number = one.store.begin_turn(talked, question(2)).number
    asks = [UserQuestion("q1", "approve", "c1", "open_door")]
    one.store.finish_turn(talked, number, build_waiting_row(asks, Notes(), 0.1, ""))
    with pytest.raises(SessionBusy):
        one.keep_side_answer(talked, aside)
    assert one.store.turns(talked, limit=1)[0].status == "waiting"
    assert list_questions(one, talked) == [question(1), question(2)]


def test_in_a_deleted_conversation_it_is_refused(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    aside = ask_aside(one, talked, question(50))
    one.put_away(talked)
    with pytest.raises(SessionDeleted):
        one.keep_side_answer(talked, aside)
    with pytest.raises(SessionDeleted):
        ask_aside(one, talked, question(50))
    assert list_questions(one, talked) == [question(1)]


def test_a_failure_of_the_model_is_told_and_an_empty_answer_is_one(agent: OpenAgent, session: NewSession) -> None:
    script: list[Any] = [answer(1), ModelUnreachable(url="http://x"), ""]
    one = agent(script)
    talked = session(one)
    talk(one, talked, (1,))
    for error in (ModelUnreachable, EmptyAnswer):
        with pytest.raises(error):
            ask_aside(one, talked, question(50))
    assert list_questions(one, talked) == [question(1)]


def test_a_stopped_one_ends_with_what_came(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    stop = threading.Event()
    pieces = stream_side_answer(one, talked, question(50), stop)
    first = next(pieces)
    stop.set()
    *_, end = pieces
    assert isinstance(end, SideAnswer)
    assert end.text == str(first).strip()
