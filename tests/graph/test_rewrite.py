"""The model writes extracted summaries when the user asks: one after another, to be stopped, and after a restart."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from bench.imported import exported
from errors import ModelOverloaded
from graph.summary import revise, rewrite
from graph.turn.agent import Agent
from model import scripted
from model.profile import SMALL, STRONG
from model.scripted import ScriptedModel
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answering, done, prompts, question, say, settled, summarised, summarising, summary_calls


def brought(agent: Agent, turns: int = 12, language: str = "ko") -> str:
    (own,) = agent.import_sessions(exported(language, turns)).sessions
    return own


def origins(agent: Agent, session: str) -> list[str]:
    return [row.origin for row in agent.store.ledger.summaries(session)]


@pytest.mark.parametrize("turns", [2, 12, 40])
def test_what_a_file_would_bring_is_what_it_brings(agent: OpenAgent, turns: int) -> None:
    one = agent(memory=False)
    seen = one.preview_import(exported("ko", turns))
    assert one.store.sessions() == []
    own = brought(one, turns)
    settled(one)
    session = one.store.session(own)
    rows = one.store.turns(own, limit=turns)
    assert (seen.chats, seen.stories, seen.turns, seen.summaries) == (1, 0, session.turn_count, turns // 3)
    assert (seen.first, seen.last) == (rows[0].started, rows[-1].finished)
    found = rewrite.make_offer(one, session)
    offer = rewrite.estimate_offer(one.models(), seen.summaries, seen.tokens, seen.written)
    assert found == (offer if seen.summaries else None)
    again = one.preview_import(one.export_session(own).encode())
    assert (again.turns, again.summaries) == (seen.turns, 0)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_all_of_them_are_written_newest_first_and_the_extracted_ones_stay_as_versions(
    agent: OpenAgent, language: str
) -> None:
    one = agent(memory=False)
    own = brought(one, 12, language)
    found = rewrite.make_offer(one, one.store.session(own))
    assert found is not None
    assert found.count == 4
    rewrite.start_rewrite(one, own)
    settled(one)
    assert summary_calls(one) >= 4
    assert origins(one, own) == ["regenerated"] * 4
    for first in (1, 4, 7, 10):
        assert [(each.origin, each.status) for each in revise.list_summary_versions(one, own, first)] == [
            ("extracted", "superseded"),
            ("regenerated", "active"),
        ]
    assert one.store.session(own).rewriting == ""
    assert rewrite.make_offer(one, one.store.session(own)) is None
    done(say(one, own, question(1)))
    records = one.state(own)["summary_history"]
    assert [record["summary"] for record in records] == [
        (row.record or {})["summary"] for row in one.store.ledger.summaries(own)
    ]
    one.choose_summary(own, 1, 1)
    assert origins(one, own)[0] == "extracted"


def test_nothing_is_written_before_somebody_asks(agent: OpenAgent) -> None:
    one = agent(memory=False)
    own = brought(one)
    done(say(one, own, question(1)))
    settled(one)
    assert summary_calls(one) == 0
    assert summarised(prompts(one)[-1]) == [(1, 3), (4, 6), (7, 9), (10, 12)]


def test_it_can_be_stopped_and_goes_on_after_a_restart(agent: OpenAgent) -> None:
    gate = threading.Event()
    one = agent(utility=ScriptedModel(summarising, gate=gate), memory=False)
    own = brought(one)
    rewrite.start_rewrite(one, own)
    assert rewrite.is_running(one, own)
    rewrite.stop_rewrite(one, own)
    gate.set()
    settled(one)
    assert not rewrite.is_running(one, own)
    assert one.store.session(own).rewriting == ""
    written = origins(one, own).count("regenerated")
    assert written <= 1
    one.store.set_rewriting(own, "now")  # as a crash leaves it
    one.close()
    two = agent(memory=False)
    assert not rewrite.is_running(two, own)
    rewrite.start_rewrite(two, own)
    settled(two)
    assert origins(two, own) == ["regenerated"] * 4


def test_a_message_meanwhile_is_answered_and_what_is_left_is_written_after_it(agent: OpenAgent) -> None:
    gate = threading.Event()
    one = agent(utility=ScriptedModel(summarising, gate=gate), memory=False)
    own = brought(one)
    rewrite.start_rewrite(one, own)
    done(say(one, own, question(1)))
    gate.set()
    settled(one)
    assert origins(one, own)[:4] == ["regenerated"] * 4


def test_a_summary_that_the_user_changed_meanwhile_stays(agent: OpenAgent) -> None:
    gate, begun = threading.Event(), threading.Event()

    def write(messages: Any) -> str:
        begun.set()
        gate.wait(60)
        return summarising(messages)

    one = agent(utility=write, memory=False)
    own = brought(one, 3)
    rewrite.start_rewrite(one, own)
    assert begun.wait(60)
    one.edit_summary(own, 1, "우리 말로 썼다")
    gate.set()
    settled(one)
    assert origins(one, own) == ["edited"]


@pytest.mark.parametrize(
    ("wrong", "expected", "left"),
    [("", ["extracted", "regenerated"], ""), (ModelOverloaded(url="http://model"), ["extracted"] * 2, "now")],
)
def test_one_that_fails_stays_and_a_server_that_is_away_ends_the_work(
    agent: OpenAgent, wrong: Any, expected: list[str], left: str
) -> None:
    def write(messages: Any) -> Any:
        text = "\n".join(str(message.text) for message in messages)
        return wrong if "1번째" in text or wrong else summarising(messages)

    one = agent(utility=write, memory=False)
    own = brought(one, 6)
    rewrite.start_rewrite(one, own)
    settled(one)
    assert origins(one, own) == expected
    assert one.store.session(own).rewriting == left


def test_where_code_writes_summaries_nothing_is_offered(agent: OpenAgent) -> None:
    one = agent(side=SMALL, memory=False)
    own = brought(one)
    assert rewrite.make_offer(one, one.store.session(own)) is None


@pytest.mark.parametrize(("name", "priced"), [("gpt-4o-mini", True), ("no-such-model", False)])
def test_the_offer_names_a_price_where_one_is_known(agent: OpenAgent, name: str, priced: bool) -> None:
    models = replace(
        scripted.build_scripted_models(answering, summarising, profile=STRONG),
        name=name,
        kind="hosted",
        url="https://api.openai.com/v1",
    )
    one = agent(resolve=lambda: models, memory=False)
    own = brought(one, 30, "en")
    found = rewrite.make_offer(one, one.store.session(own))
    assert found is not None
    assert (found.usd is not None) == priced
    history = one.store.session(own).history_tokens
    assert history < found.tokens < 2 * history + 10 * rewrite.REQUEST_TOKENS


def test_never_is_kept_and_a_copy_is_asked_anew(agent: OpenAgent) -> None:
    one = agent(memory=False)
    own = brought(one)
    rewrite.stop_rewrite(one, own, forever=True)
    assert one.store.session(own).rewriting == "never"
    assert one.store.session(one.fork(own, 9)).rewriting == ""


def rates(agent: Agent, session: str) -> list[float]:
    return [row.rate for row in agent.store.ledger.summaries(session)]


def test_the_summaries_of_another_rate_are_made_anew_at_the_rate_of_now(agent: OpenAgent) -> None:
    one = agent(memory=False)
    own = brought(one)
    one.edit_summary(own, 1, "내 말로 쓴 요약")
    assert rewrite.make_rate_offer(one, one.store.session(own)) is None
    one.store.set_rate(own, 0.5)
    offer = rewrite.make_rate_offer(one, one.store.session(own))
    assert offer is not None
    assert offer.count == 3, "the user's own words have no rate"
    assert offer.tokens > 0
    rewrite.start_remake(one, own)
    settled(one)
    assert rates(one, own) == [0.3, 0.5, 0.5, 0.5]
    assert origins(one, own)[0] == "edited"
    assert rewrite.make_rate_offer(one, one.store.session(own)) is None
    done(say(one, own, question(1)))
    assert [record["compression_rate"] for record in one.state(own)["summary_history"]] == [0.3, 0.5, 0.5, 0.5]


def test_making_them_anew_stops_for_good_when_the_user_says_so(agent: OpenAgent) -> None:
    gate = threading.Event()
    one = agent(utility=ScriptedModel(summarising, gate=gate), memory=False)
    own = brought(one)
    one.store.set_rate(own, 0.5)
    rewrite.start_remake(one, own)
    assert rewrite.is_running(one, own, rewrite.REMAKE)
    rewrite.stop_remake(one, own)
    gate.set()
    settled(one)
    assert not rewrite.is_running(one, own, rewrite.REMAKE)
    assert 0.3 in rates(one, own)
    rewrite.start_remake(one, own)
    settled(one)
    assert rates(one, own) == [0.5] * 4


def test_code_makes_them_anew_without_a_call(agent: OpenAgent) -> None:
    one = agent(profile=SMALL, memory=False)
    own = brought(one)
    one.store.set_rate(own, 0.5)
    assert rewrite.make_rate_offer(one, one.store.session(own)) == rewrite.RewriteOffer(4, 0, None)
    rewrite.start_remake(one, own)
    settled(one)
    assert (rates(one, own), summary_calls(one)) == ([0.5] * 4, 0)
    assert origins(one, own) == ["extracted"] * 4


def test_a_summary_that_only_waits_is_no_summary_that_stays(agent: OpenAgent) -> None:
    one = agent(memory=False)
    own = one.store.create_session("ko", 0.3).id
    for number in range(1, 4):
        done(say(one, own, question(number)))
        settled(one)
    assert [row.status for row in one.store.ledger.summaries(own)] == ["ready"]
    one.store.set_rate(own, 0.5)
    assert rewrite.make_rate_offer(one, one.store.session(own)) is None
