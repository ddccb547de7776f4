"""Other versions of a turn: regenerate, edit, switch, fork; and states made anew from the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from errors import Empty, SessionBusy, TooLong, TurnUnknown
from graph.turn.agent import Agent
from graph.turn.session.rebuild import build_session_state
from store.database import schema
from store.search.turn_index import TurnKey
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, question, say, scripted, talk, topic, topics

NewSession = Callable[[Agent], str]


def asked(agent: Agent, session: str) -> list[str]:
    return [topics(turn.question)[0] for turn in agent.store.turns(session, limit=1000)]


def prompt_topics(agent: Agent) -> list[str]:
    """What the last prompt of the chat model speaks of, in order, each once."""
    texts = "\n".join(str(message.text) for message in scripted(agent.models().chat).calls[-1])
    return list(dict.fromkeys(topics(texts)))


def test_a_turn_can_be_answered_again_and_both_versions_stay(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 4))
    done(list(one.again(talked, 3)))
    assert asked(one, talked) == [topic(1), topic(2), topic(3)]
    found = one.store.tree.alternatives(talked, [1, 2, 3])
    assert list(found) == [3]
    assert (found[3].branches, found[3].current) == ((0, 1), 1)


def test_editing_a_middle_turn_leaves_what_followed_on_its_own_branch(agent: OpenAgent, session: NewSession) -> None:
    one = agent(budget_past=0)
    talked = session(one)
    talk(one, talked, range(1, 9))
    done(list(one.again(talked, 5, question(50))))
    assert asked(one, talked) == [topic(number) for number in (1, 2, 3, 4, 50)]
    assert prompt_topics(one)[-2:] == [topic(4), topic(50)], "the prompt holds the new turn, not the old ones"
    assert topic(5) not in prompt_topics(one)
    one.switch(talked, 5, 0)
    assert asked(one, talked) == [topic(number) for number in range(1, 9)]
    done(say(one, talked, question(9)))
    assert topic(50) not in prompt_topics(one)
    assert prompt_topics(one)[-3:] == [topic(7), topic(8), topic(9)]


def test_own_words_in_place_of_an_answer_are_what_the_next_prompt_holds(agent: OpenAgent, session: NewSession) -> None:
    one = agent(budget_past=0)
    talked = session(one)
    talk(one, talked, range(1, 9))
    one.pin_turn(talked, 7, True)
    one.replace_answer(talked, 7, "  이 답변은 사용자가 고쳤습니다.\x00 ")
    turn = one.store.turns(talked, limit=1)[0]
    assert (turn.number, turn.question, turn.answer) == (7, question(7), "이 답변은 사용자가 고쳤습니다.")
    assert (turn.status, turn.given, turn.usage, turn.tokens > 0) == ("done", True, None, True)
    assert turn.pinned
    done(say(one, talked, question(80)))
    assert "이 답변은 사용자가 고쳤습니다." in str(scripted(one.models().chat).calls[-1])
    assert topic(8) not in prompt_topics(one)
    one.switch(talked, 7, 0)
    assert asked(one, talked) == [topic(number) for number in range(1, 9)]


def test_turns_that_were_taken_back_are_in_no_prompt_and_come_back(agent: OpenAgent, session: NewSession) -> None:
    one = agent(budget_past=0)
    talked = session(one)
    talk(one, talked, range(1, 9))
    one.take_back(talked, 5)
    assert asked(one, talked) == [topic(number) for number in range(1, 5)]
    done(say(one, talked, question(50)))
    assert prompt_topics(one)[-2:] == [topic(4), topic(50)]
    assert topic(5) not in prompt_topics(one)
    one.switch(talked, 5, 0)
    assert asked(one, talked) == [topic(number) for number in range(1, 9)]
    for number in (1, 9):
        with pytest.raises(TurnUnknown):
            one.take_back(talked, number)


@pytest.mark.parametrize("number", [1, 4])
def test_a_turn_that_is_removed_leaves_the_later_ones_as_they_were(
    agent: OpenAgent, session: NewSession, number: int
) -> None:
    one = agent(budget_past=0)
    talked = session(one)
    talk(one, talked, range(1, 9))
    one.pin_turn(talked, 5, True)
    before = one.store.turns(talked, limit=100)
    used = one.store.usages.read_since(0.0)
    branch = one.remove_turn(talked, number)
    after = one.store.turns(talked, limit=100)
    left = [turn for turn in before if turn.number != number]
    told = ("question", "answer", "status", "steps", "usage", "tokens", "started", "seconds", "pinned")
    assert [[getattr(turn, name) for name in told] for turn in after] == [
        [getattr(turn, name) for name in told] for turn in left
    ]
    assert [turn.number for turn in after] == list(range(1, 8))
    assert [turn.report for turn in after[number - 1 :]] == [None] * (8 - number), "no prompt was as it would tell"
    now = one.store.usages.read_since(0.0)
    assert [row.prompt_tokens for row in now] == [row.prompt_tokens for row in used], "every call counts once"
    done(say(one, talked, question(9)))
    assert topic(number) not in prompt_topics(one)
    assert {topic(each) for each in (5, 8, 9)} <= set(prompt_topics(one))
    assert [record["turns"] for record in one.state(talked)["summary_history"]] == [[1, 2, 3], [4, 5, 6]]
    assert topic(number).removeprefix("주제") not in str(one.state(talked)["summary_history"])
    messages = one.state(talked)["messages"]
    assert len({message.id for message in messages}) == len(messages)
    one.switch(talked, number, branch)
    assert asked(one, talked) == [topic(each) for each in range(1, 9)]


def test_past_turns_that_an_answer_cites_move_with_it(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 6))
    items = ["/0/1/0.90", "/0/2/0.80", "/0/3/0.70", "other/0/2/0.60", "/7/3/0.50"]
    step = {"call": "a", "name": "recall", "text": "", "ok": True, "seconds": 0.0, "artifact": {"turns": items}}
    report = {"turn": 5, "parts": [{"name": "turns", "tokens": 9, "budget": 9, "items": items}], "left_out": []}
    with one.store.transaction() as connection:
        fifth = update(schema.turn).where(schema.turn.c.session_id == talked, schema.turn.c.number == 5)
        connection.execute(fifth.values(report=report, steps=[step]))
    one.remove_turn(talked, 2)
    turn = one.store.turns(talked, limit=100)[-1]
    new = turn.branch
    moved = ["/0/1/0.90", "/0/0/0.80", f"/{new}/2/0.70", "other/0/2/0.60", "/7/3/0.50"]
    assert turn.report is not None
    assert turn.report["parts"][0]["items"] == moved, "a mark names a turn by its place in the list"
    assert turn.steps[0]["artifact"] == {"turns": moved}
    assert one.store.turn_index.text(TurnKey(talked, 0, 0)) is None


def test_the_only_turn_and_one_that_is_not_there_are_not_removed(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1,))
    for number, branch in ((1, None), (2, None), (1, 7)):
        with pytest.raises(TurnUnknown):
            one.remove_turn(talked, number, branch)
    talk(one, talked, (2,))
    with one.hold(talked), pytest.raises(SessionBusy):
        one.remove_turn(talked, 1)
    one.remove_turn(talked, 2)
    assert asked(one, talked) == [topic(1)]
    assert one.store.tree.alternatives(talked, [1]) == {}


def test_a_client_that_sends_what_is_left_goes_on_after_a_removed_turn(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 6))
    one.remove_turn(talked, 2)
    told = [(turn.question, turn.answer or "") for turn in one.store.turns(talked, limit=10)]
    (lead,) = [lead for lead in one.store.histories.find(told) if lead.in_use]
    assert (lead.home, lead.path) == (talked, one.store.session(talked).path)
    assert set(lead.weights) >= {(sent, sent + 1) for sent in range(4)}


def test_own_words_are_refused_where_they_replace_nothing(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1, 2))
    with pytest.raises(TurnUnknown):
        one.replace_answer(talked, 2, "고침", branch=7)  # another tab has put another version there
    with pytest.raises(TurnUnknown):
        one.take_back(talked, 2, branch=7)
    for number, text, error in ((1, " \n ", Empty), (1, "가" * 200_001, TooLong), (3, "고침", TurnUnknown)):
        with pytest.raises(error):
            one.replace_answer(talked, number, text)
    with one.hold(talked), pytest.raises(SessionBusy):
        one.replace_answer(talked, 1, "고침")
    assert one.store.tree.alternatives(talked, [1, 2]) == {}


def test_the_first_turn_after_a_summary_can_be_answered_again(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 9))
    done(list(one.again(talked, 7, question(70))))
    assert asked(one, talked) == [topic(number) for number in (1, 2, 3, 4, 5, 6, 70)]
    assert [record["turns"] for record in one.state(talked)["summary_history"]] == [[1, 2, 3], [4, 5, 6]]


def test_versions_of_versions_are_told_apart(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, (1, 2))
    for number in (21, 22):
        done(list(one.again(talked, 2, question(number))))
    done(list(one.again(talked, 1, question(11))))
    assert asked(one, talked) == [topic(11)]
    assert 2 not in one.store.tree.alternatives(talked, [1, 2])
    one.switch(talked, 1, 0)
    assert asked(one, talked) == [topic(1), topic(22)], "the version that was used last is followed"
    assert len(one.store.tree.alternatives(talked, [2])[2].branches) == 3


def test_summaries_belong_to_their_branch(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 8))
    done(list(one.again(talked, 5, question(50))))
    talk(one, talked, (60, 70))
    summaries = {tuple(each.turns): str(each.record) for each in one.store.ledger.summaries(talked) if each.record}
    assert topic(50).removeprefix("주제") in summaries[(4, 5, 6)]
    one.switch(talked, 5, 0)
    back = {tuple(each.turns): str(each.record) for each in one.store.ledger.summaries(talked) if each.record}
    assert topic(50).removeprefix("주제") not in back[(4, 5, 6)]
    assert summaries[(1, 2, 3)] == back[(1, 2, 3)]


@pytest.mark.parametrize("turns", [1, 3, 4, 6, 7, 11])
def test_a_state_made_from_the_record_is_the_state_that_was(agent: OpenAgent, session: NewSession, turns: int) -> None:
    one = agent(ahead=False)
    talked = session(one)
    talk(one, talked, range(1, turns + 1))
    was, anew = one.state(talked), build_session_state(one, one.store.session(talked), turns)
    assert anew["summary_history"] == was["summary_history"]
    assert [(each.type, each.text, each.id) for each in anew["messages"]] == [
        (each.type, each.text, each.id) for each in was["messages"]
    ]


def test_a_lost_checkpoint_file_is_made_up_from_the_record(
    agent: OpenAgent, session: NewSession, tmp_path: Path
) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 6))
    one.close()
    for path in (tmp_path / "data").glob("checkpoint.db*"):
        path.unlink()
    two = agent(budget_past=0)
    done(say(two, talked, question(6)))
    assert prompt_topics(two)[-3:] == [topic(4), topic(5), topic(6)]
    assert [record["turns"] for record in two.state(talked)["summary_history"]] == [[1, 2, 3]]


def test_a_fork_goes_on_alone(agent: OpenAgent, session: NewSession) -> None:
    one = agent(budget_past=0)
    talked = session(one)
    talk(one, talked, range(1, 9))
    forked = one.fork(talked, 5)
    done(say(one, forked, question(60)))
    assert asked(one, forked) == [topic(number) for number in (1, 2, 3, 4, 5, 60)]
    assert asked(one, talked) == [topic(number) for number in range(1, 9)]
    assert prompt_topics(one)[-3:] == [topic(4), topic(5), topic(60)]
    assert [each.turns for each in one.store.ledger.summaries(forked) if each.status == "active"] == [[1, 2, 3]]


def test_history_counts_the_path_alone(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 6))
    whole = one.store.session(talked).history_tokens
    done(list(one.again(talked, 2)))
    assert one.store.session(talked).history_tokens < whole
    one.switch(talked, 2, 0)
    assert one.store.session(talked).history_tokens == whole


def test_a_turn_that_is_not_there_is_named(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, [1])
    with pytest.raises(TurnUnknown, match="no turn 7"):
        list(one.again(talked, 7))
    with pytest.raises(TurnUnknown):
        one.switch(talked, 1, 9)
    with pytest.raises(TurnUnknown):
        one.fork(talked, 3)
