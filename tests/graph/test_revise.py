"""Summaries changed by hand: another rate, other words, undo; the next prompt holds the change."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from langchain_core.messages import BaseMessage

from errors import Empty, OutOfRange, SummaryUnknown
from graph.turn.agent import Agent
from model.call.stream import Stopped
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, question, say, scripted, summarising, talk

NewSession = Callable[[Agent], str]


def system_text(agent: Agent) -> str:
    return str(scripted(agent.models().chat).calls[-1][0].text)


def test_an_edited_summary_is_in_the_next_prompt(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 8))
    made = one.edit_summary(talked, 1, "사용자가 고친 요약입니다")
    assert (made.origin, made.version, made.status) == ("edited", 2, "active")
    assert made.record is not None
    assert made.record["summary_chars"] == len("사용자가 고친 요약입니다")
    done(say(one, talked, question(8)))
    assert "[1-3턴] 사용자가 고친 요약입니다" in system_text(one)
    assert [record["turns"] for record in one.state(talked)["summary_history"]] == [[1, 2, 3], [4, 5, 6]]


def test_undo_brings_the_old_wording_back(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 5))
    before = one.store.ledger.summaries(talked)[0].record
    one.edit_summary(talked, 1, "다른 말")
    one.choose_summary(talked, 1, 1)
    assert one.store.ledger.summaries(talked)[0].record == before
    done(say(one, talked, question(5)))
    assert "다른 말" not in system_text(one)


def test_a_summary_is_made_again_at_another_rate(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 5))
    old = one.store.ledger.summaries(talked)[0].record
    made = one.remake_summary(talked, 1, 0.5)
    assert old is not None
    assert made.record is not None
    assert made.record["compression_rate"] == 0.5
    assert made.record["summary_chars"] > old["summary_chars"]
    assert [each.origin for each in one.summary_versions(talked, 1)] == ["auto", "regenerated"]


def test_a_summary_that_was_stopped_while_it_was_made_replaces_nothing(agent: OpenAgent, session: NewSession) -> None:
    stop = threading.Event()

    def summary(messages: list[BaseMessage]) -> str:
        if remaking:
            stop.set()
        return summarising(messages)

    remaking: list[bool] = []
    one = agent(utility=summary)
    talked = session(one)
    talk(one, talked, range(1, 5))
    remaking.append(True)
    with pytest.raises(Stopped):
        one.remake_summary(talked, 1, 0.5, stop=stop)
    assert [each.origin for each in one.summary_versions(talked, 1)] == ["auto"]


def test_what_an_edit_loses_is_noted(agent: OpenAgent, session: NewSession) -> None:
    one = agent(chat=lambda _: "예산은 3,500,000원으로 정했습니다. 회의는 12월 4일입니다.")
    talked = session(one)
    for number in (1, 2, 3):
        done(say(one, talked, question(number)))
    one.background.idle(10)
    done(say(one, talked, question(4)))
    assert "3,500,000원" in one.edit_summary(talked, 1, "예산을 정했다").lost
    assert "3,500,000원" not in one.edit_summary(talked, 1, "예산은 3,500,000원").lost


def test_bad_changes_are_refused(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 5))
    with pytest.raises(Empty):
        one.edit_summary(talked, 1, "  ")
    with pytest.raises(OutOfRange):
        one.remake_summary(talked, 1, 0.9)
    with pytest.raises(SummaryUnknown):
        one.edit_summary(talked, 4, "없는 요약")
    with pytest.raises(SummaryUnknown):
        one.choose_summary(talked, 1, 7)
