"""The exact prompt of any answer: word for word what the model was sent, and never pretended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from langchain_core.messages import AnyMessage
from langchain_core.tools import tool

from errors import TurnUnknown
from graph.context.exact_prompt import Exact, rebuild_exact_prompt
from graph.context.prompt import hash_prompt_messages
from graph.turn.agent import Agent
from memory import Memory
from model.profile import SMALL, STRONG, TOOLLESS
from store import Finished
from tests.graph.conftest import OpenAgent, Route
from tests.graph.recalling import folding, noting, ready, settled, tell
from tests.graph.talk import calling, done, prompts, question, say, talk, topic

NewSession = Callable[[Agent], str]
ERASURES: dict[str, Callable[[Agent, Memory, str], object]] = {
    "erase": lambda agent, memory, session: memory.eraser.erase_session(agent.tenant, session),
    "erase_user": lambda agent, memory, session: memory.eraser.erase_user(agent.tenant),
    "drop": lambda agent, memory, session: memory.eraser.forget_lines(agent.tenant, session, ["item 1: $100"], turn=7),
    "remove_entity": lambda agent, memory, session: memory.writer.remove_entity(agent.tenant, session, "item 1"),
    "delete": lambda agent, memory, session: agent.delete_session(session),
}


def text(found: Exact, name: str) -> str:
    part = next(each for each in found.parts if each.name == name)
    assert part.missing is None
    return "\n".join(piece.text for piece in part.pieces)


def missing(found: Exact) -> dict[str, str]:
    return {each.name: each.missing for each in found.parts if each.missing}


def check(agent: Agent, session: str, number: int, sent: int = -1) -> Exact:
    """Every piece that is shown was sent, and together they are what was sent."""
    found = rebuild_exact_prompt(agent, session, number)
    whole = "\n".join(str(each.text) for each in prompts(agent)[sent])
    turn = agent.store.turn(session, number)
    assert turn is not None
    assert turn.report is not None
    assert turn.report["digest"] == hash_prompt_messages(cast("list[AnyMessage]", prompts(agent)[sent]))
    assert [each.name for each in found.parts] == [part["name"] for part in turn.report["parts"] if part["tokens"]]
    for part in found.parts:
        for piece in part.pieces:
            assert piece.text in whole or not piece.text or piece.speaker == "assistant"
    assert found.proven
    return found


@tool
def look_up_tide(harbour: str) -> str:
    """Tides."""
    return f"{harbour}: 06:40"


def test_a_model_that_does_not_call_tools_reads_what_they_said_before_its_question(
    agent: OpenAgent, session: NewSession, route: Route
) -> None:
    route("만조", look_up_tide.name, harbour="목포")
    one = replace(agent(profile=TOOLLESS, side=STRONG), tools=[look_up_tide])
    own = session(one)
    say(one, own, "만조는 언제야?")
    say(one, own, "그 뒤에는 뭘 할까?")
    for number in (1, 2):
        found = check(one, own, number, number - 1)
        assert [each.type for each in prompts(one)[number - 1]] == ["system", "human", "ai", "human"][: 2 * number]
        assert "look_up_tide(" not in text(found, "current" if number == 1 else "recent")
        told = str(prompts(one)[number - 1][1].text)
        assert told.index("[도구 look_up_tide의 결과]") < told.index("06:40") < told.index("만조는 언제야?")


def test_a_small_model_reads_its_user_s_own_words_and_nothing_of_ours_in_them(
    agent: OpenAgent, session: NewSession, route: Route
) -> None:
    route("만조", look_up_tide.name, harbour="목포")
    one = replace(agent(profile=SMALL), tools=[look_up_tide])
    own = session(one)
    said = ["만조는 언제야?", "그 뒤에는 뭘 할까?", "좋아, 그러자.", "다시 만조를 알려 줘."]
    for text_ in said:
        say(one, own, text_)
    for number in range(1, 5):
        check(one, own, number, number - 1)
    kinds = [[each.type for each in prompt] for prompt in prompts(one)]
    assert kinds[0] == ["system", "system", "human"]
    assert kinds[1] == ["system", "system", "human", "ai", "human"], "the answer lacks what the tool gave"
    assert kinds[3] == ["system", "system", *["human", "ai"] * 3, "system", "human"], "turns stay as they were said"
    assert [str(prompts(one)[3][at].text) for at in (1, -2)] == ["[look_up_tide] 목포: 06:40", "목포: 06:40"]
    assert [str(prompt[-1].text) for prompt in prompts(one)] == said


def test_every_answer_of_a_long_talk_shows_word_for_word_what_was_sent(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 12))
    for number in range(1, 12):
        check(one, own, number, number - 1)
    found = rebuild_exact_prompt(one, own, 11)
    assert topic(10) in text(found, "recent")
    assert topic(10) not in text(found, "summaries")
    assert "[1-3턴]" in text(found, "summaries")
    assert text(found, "question") == question(11)


def test_the_summary_that_was_sent_is_shown_whatever_became_of_it_later(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 5))
    one.edit_summary(own, 1, f"{topic(1)} 직접 고친 요약")
    talk(one, own, [5])
    one.choose_summary(own, 1, 1)
    talk(one, own, [6])
    assert ["직접 고친" in text(check(one, own, number, number - 1), "summaries") for number in (4, 5, 6)] == [
        False,
        True,
        False,
    ]


def test_tool_calls_and_results_are_shown(agent: OpenAgent, session: NewSession) -> None:
    one = agent([calling("calculate", expression="15*24"), "360입니다."])
    own = session(one)
    done(say(one, own, "15 곱하기 24를 계산해 줄래?"))
    found = check(one, own, 1)
    assert "15*24" in text(found, "current")
    assert "360" in text(found, "current")


def test_a_casual_turn_shows_its_short_prompt(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1, 2])
    done(say(one, own, "고마워!"))
    assert [each.name for each in check(one, own, 3).parts] == ["system", "question"]


def test_an_answer_on_another_branch_shows_its_own_past(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 4))
    done(list(one.again(own, 2, question(7))))
    talk(one, own, [8])
    assert topic(7) in text(check(one, own, 3), "recent")
    one.switch(own, 2, 0)
    assert topic(2) in text(check(one, own, 3, 2), "recent")


def test_a_fork_shows_the_prompts_of_its_turns(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 6))
    assert rebuild_exact_prompt(one, one.fork(own, 5), 5).proven


def test_a_system_prompt_is_shown_as_it_was_sent_though_it_is_worded_otherwise_now(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1])
    other = agent(memory=False)
    done(say(other, own, question(2)))
    first, second = rebuild_exact_prompt(other, own, 1), rebuild_exact_prompt(other, own, 2)
    assert text(first, "system") == str(prompts(one)[0][0].text)
    assert text(second, "system") == str(prompts(other)[0][0].text)


def test_memory_is_shown_as_it_was_given(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 15))
    texts = {text(check(one, own, number, number - 1), "memory") for number in range(8, 15)}
    assert len(texts) > 1
    assert all("$100" in each for each in texts)


@pytest.mark.parametrize("how", ERASURES)
def test_what_is_erased_of_the_memory_is_nowhere_in_what_is_kept_of_prompts(agent: OpenAgent, how: str) -> None:
    one = ready(agent(noting, folding, memory=True))
    assert one.memory is not None
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 8))
    assert "$100" in text(rebuild_exact_prompt(one, own, 7), "memory")
    ERASURES[how](one, one.memory, own)
    assert one.memory.reader.read_given(one.tenant, own) == {}
    if how != "delete":
        assert missing(rebuild_exact_prompt(one, own, 7)) == {"memory": "gone", "entities": "gone"}
        assert not rebuild_exact_prompt(one, own, 7).proven


def test_erasing_one_session_takes_what_it_left_out_of_the_prompts_of_others(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    assert one.memory is not None
    first, second = (one.store.create_session("en", 0.3).id for _ in range(2))
    tell(one, first, range(1, 7))
    done(say(one, second, "How much did item 1 cost me?"))
    settled(one)
    assert "$100" in text(rebuild_exact_prompt(one, second, 1), "turns")
    one.delete_session(first)
    assert one.memory.reader.read_given(one.tenant, second) == {}
    assert missing(rebuild_exact_prompt(one, second, 1))["turns"] == "gone"


def test_what_is_read_before_an_erasure_is_not_kept_after_it(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    assert one.memory is not None
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 7))
    one.memory.eraser.erase_session(one.tenant, own)
    one.memory.writer.save_given(one.tenant, own, {"mark": "what was read earlier"}, since=0.0)
    assert one.memory.reader.read_given(one.tenant, own) == {}


def test_a_text_is_kept_once_however_often_it_is_given(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    assert one.memory is not None
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 11))
    given = [each for number in range(1, 11) for each in _marks(one, own, number)]
    assert set(one.memory.reader.read_given(one.tenant, own)) == set(given)
    assert len(given) > len(set(given))


def _marks(agent: Agent, session: str, number: int) -> list[str]:
    turn = agent.store.turn(session, number)
    assert turn is not None
    assert turn.report is not None
    return [part["mark"] for part in turn.report["parts"] if part["name"] in ("memory", "entities")]


def test_an_answer_from_before_texts_were_kept_says_so(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 6))
    turn = one.store.turn(own, 5)
    assert turn is not None
    assert turn.report is not None
    old = {name: value for name, value in turn.report.items() if name != "digest"}
    old["parts"] = [{name: each[name] for name in ("name", "tokens", "budget", "items")} for each in old["parts"]]
    assert turn.answer is not None
    assert turn.messages is not None
    one.store.finish_turn(own, 5, Finished("done", turn.answer, turn.messages, report=old))
    found = rebuild_exact_prompt(one, own, 5)
    assert missing(found) == {"system": "old", "time": "old"}
    assert "[1-3턴]" in text(found, "summaries")
    assert not found.proven


def test_a_turn_without_a_prompt_is_told(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    with pytest.raises(TurnUnknown):
        rebuild_exact_prompt(one, own, 1)
