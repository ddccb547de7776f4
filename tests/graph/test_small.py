"""A small profile makes one model call a turn and none beside it, and nobody ever waits (design 9.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool

from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt, Event, SummaryLater, SummaryMade, SummaryStarted
from model.profile import SMALL
from retrieval import Library
from tests.graph.conftest import OpenAgent, Route
from tests.graph.recalling import ready
from tests.graph.talk import done, only, prompts, say, settled, summary_calls
from tests.graph.test_conversation import NewSession, expected
from tests.graph.test_hostile import HOSTILE
from tests.retrieval.conftest import Words
from text.clean import clean_text

TOLD = st.sampled_from(
    [
        "안녕하세요!",
        "고마워",
        "네",
        "ok",
        "우리 가게 임대료는 월 120만 원이고 3월 5일에 계약해.",
        "My sister Emma arrives on May 3 at 4 pm with 2 dogs.",
        "둘째는 뭐였지?",
        "12 곱하기 12는?",
        "만조는 언제야?",
        "How do I change the compression rate?",
    ]
)
HARD = st.sampled_from([text for name, text in HOSTILE.items() if name != "long"])
FREE = st.text(min_size=1, max_size=80).filter(lambda text: bool(clean_text(text).strip()))
MESSAGES = st.lists(st.one_of(TOLD, TOLD, HARD, FREE), min_size=1, max_size=9)
ANSWERS = st.sampled_from(
    ["네.", "왜요?", "잘 알겠습니다. 3월 5일이라고 하셨지요? 그 밖에는요?", "산 " * 30, "Yes, of course. " * 9]
)


@tool
def look_up_tide(harbour: str) -> str:
    """Tides."""
    return f"{harbour}: 06:40"


@dataclass
class Reply:
    """What the chat model says to everything."""

    text: str = "네."
    asked: list[BaseMessage] = field(default_factory=list)

    def __call__(self, messages: list[BaseMessage]) -> str:
        return self.text


def check(turns: Sequence[Sequence[Event]]) -> None:
    """Nobody waited, every answer came, and every prompt held what the table of specification 4.1 says."""
    for number, events in enumerate(turns, 1):
        assert done(events).turn == number
        assert not [*only(events, SummaryStarted), *only(events, SummaryLater)]
        assert len(only(events, SummaryMade)) == (number > 1 and number % 3 == 1)
        if done(events).usage.calls == 0:  # code worded the answer: no model was given anything
            assert not only(events, ContextBuilt)
            continue
        report = only(events, ContextBuilt)[-1].report
        summaries, recent = report.part("summaries"), report.part("recent")
        assert summaries is not None
        assert recent is not None
        ranges, raw = expected(number)
        assert summaries.items == tuple(f"{first}-{last}" for first, last in ranges)
        assert [*map(int, recent.items), number] == raw


@pytest.fixture
def routes(route: Route) -> None:
    route("곱하기", "calculate", expression="12*12")
    route("만조", "look_up_tide", harbour="목포")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_conversation_takes_one_call_a_turn_and_none_beside_it(
    speaking: tuple[Agent, Reply], session: NewSession, data: st.DataObject
) -> None:
    bot, reply = speaking
    messages, reply.text = data.draw(MESSAGES), data.draw(ANSWERS)
    own, before = session(bot), len(prompts(bot))
    turns = []
    for text in messages:
        calls = len(prompts(bot))
        turns.append(say(bot, own, text))
        assert len(prompts(bot)) - calls == done(turns[-1]).usage.calls <= 1
    check(turns)
    settled(bot)
    assert len(prompts(bot)) - before <= len(messages)
    assert summary_calls(bot) == 0


@pytest.fixture
def speaking(agent: OpenAgent, routes: None) -> tuple[Agent, Reply]:
    """One agent for all examples, with the settings of a first start, and what its model says."""
    reply = Reply()
    bot = agent(reply, (), profile=SMALL, titles=None)
    return replace(bot, tools=[*bot.tools, look_up_tide]), reply


@pytest.fixture
def whole(agent: OpenAgent, route: Route, routes: None) -> Iterator[Agent]:
    """An agent with everything switched on: memory, documents, titles."""
    route("pears", "search_documents", query="When do pears ripen?")
    route("기억해 줘", "remember", message="내 생일은 5월 3일이야. 기억해 줘.")
    bot = ready(agent(lambda _: "네.", (), profile=SMALL, titles=None, retrieval=True, memory=True))
    library = Library(bot.settings, bot.store, Words())
    library.add([("fruit.md", b"# Fruit\n\n## Pears\n\nPears are green and ripen in September.\n")])
    yield replace(bot, library=library, tools=[*bot.tools, look_up_tide])
    library.close()


def test_with_memory_documents_and_titles_it_is_one_call_at_most_too(whole: Agent, session: NewSession) -> None:
    own = session(whole)
    said = ["안녕!", "내 생일은 5월 3일이야. 기억해 줘.", "When do pears ripen?", "만조는 언제야?", "12 곱하기 12는?"]
    said += [f"{number}번 물건 값은 {number}00원이야." for number in range(6, 15)]
    turns = []
    for text in said:
        calls = len(prompts(whole))
        turns.append(say(whole, own, text))
        assert len(prompts(whole)) - calls <= 1
    check(turns)
    settled(whole)
    assert summary_calls(whole) == 0
    assert whole.memory is not None
    assert "5월 3일" in whole.memory.reader.read_view(whole.tenant, own, "ko", user=whole.user).text, (
        "it folded all the same"
    )
    assert "September" in done(turns[2]).answer


def test_a_sum_in_words_is_one_call_and_a_refused_expression_costs_one_more(
    agent: OpenAgent, session: NewSession
) -> None:
    written = ["300*12000", "300*99999", "그건 잘 모르겠어요."]
    bot = agent(written, (), profile=SMALL, titles=None)
    own = session(bot)
    question = "책 300권을 권당 12,000원에 사면 모두 얼마야?"
    first, second = done(say(bot, own, question)), done(say(bot, own, question))
    assert (first.answer, first.usage.calls) == ("300 × 12,000 = **3,600,000**", 1)
    assert (second.answer, second.usage.calls) == ("그건 잘 모르겠어요.", 2)
    asked = prompts(bot)[1]
    assert [message.text for message in asked][-3:] == [
        "책 300권을 권당 12000원에 사면 모두 얼마야?",
        "300*12000",
        "책 300권을 권당 12000원에 사면 모두 얼마야?",
    ]
