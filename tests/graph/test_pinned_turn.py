"""A pinned turn stands word for word in every prompt, also once a summary covers it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from errors import SessionBusy, TurnUnknown
from graph.context import exact_prompt
from graph.context.preview import preview_next_prompt
from graph.turn.agent import Agent
from graph.turn.session.rebuild import rebuild_session_state
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answer,
    done,
    prompts,
    question,
    raw,
    say,
    settled,
    summarised,
    talk,
    topic,
)

NewSession = Callable[[Agent], str]


def part(agent: Agent, session: str, number: int, name: str) -> dict[str, object]:
    turn = agent.store.turn(session, number)
    assert turn is not None
    return next((each for each in (turn.report or {})["parts"] if each["name"] == name), {})


@pytest.mark.parametrize("pinned_at", [1, 6], ids=["while it is raw", "once it is summarised"])
def test_it_stays_word_for_word_while_its_chunk_is_summarised(
    agent: OpenAgent, session: NewSession, pinned_at: int
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, pinned_at + 1))
    one.pin_turn(own, 1, True)
    talk(one, own, range(pinned_at + 1, 12))
    sent = prompts(one)[-1]
    assert summarised(sent) == [(1, 3), (4, 6), (7, 9)]
    assert raw(sent) == [topic(1), topic(10), topic(11)]
    assert str(sent[1].text).endswith(question(1))
    assert str(sent[2].text) == answer(1)
    assert part(one, own, 11, "pinned")["items"] == ("1",) or part(one, own, 11, "pinned")["items"] == ["1"]
    assert int(str(part(one, own, 11, "pinned")["tokens"])) > 0
    assert exact_prompt.rebuild_exact_prompt(one, own, 11).proven


def test_unpinned_it_leaves_the_next_prompt(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 5))
    one.pin_turn(own, 2, True)
    assert [each.name for each in preview_next_prompt(one, own).report.parts if each.tokens].count("pinned") == 1
    done(say(one, own, question(5)))
    assert raw(prompts(one)[-1])[0] == topic(2)
    settled(one)
    one.pin_turn(own, 2, False)
    done(say(one, own, question(6)))
    assert topic(2) not in raw(prompts(one)[-1])
    assert exact_prompt.rebuild_exact_prompt(one, own, 5).proven, "the prompt of then still shows it"


def test_a_state_that_was_lost_holds_it_again_and_a_copy_keeps_it(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 8))
    one.pin_turn(own, 3, True)
    rebuild_session_state(one, one.store.session(own), 7)
    done(say(one, own, question(8)))
    assert raw(prompts(one)[-1])[0] == topic(3)
    settled(one)
    copy = one.fork(own, 7)
    done(say(one, copy, question(9)))
    assert raw(prompts(one)[-1])[0] == topic(3)
    (taken,) = one.import_sessions(one.export_session(own).encode()).sessions
    assert [turn.number for turn in one.store.pinned_turns(taken)] == [3]


def test_a_small_models_prompt_holds_it_in_order(agent: OpenAgent, session: NewSession) -> None:
    one = agent(profile=SMALL)
    own = session(one)
    talk(one, own, range(1, 5))
    one.pin_turn(own, 1, True)
    talk(one, own, range(5, 8))
    assert raw(prompts(one)[-1]) == [topic(number) for number in range(1, 8)]
    assert part(one, own, 7, "pinned")["items"] in (["1"], ("1",))


def test_another_version_of_the_turn_is_not_pinned_and_a_busy_chat_says_so(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 3))
    one.pin_turn(own, 2, True)
    done(list(one.again(own, 2)))
    settled(one)
    assert one.store.pinned_turns(own) == []
    one.switch(own, 2, 0)
    assert [turn.number for turn in one.store.pinned_turns(own)] == [2]
    with pytest.raises(TurnUnknown):
        one.pin_turn(own, 9, True)
    with one.lock.hold(own), pytest.raises(SessionBusy):
        one.pin_turn(own, 2, False)
