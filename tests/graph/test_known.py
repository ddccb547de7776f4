"""What the user said in another conversation or long ago is the user's in a chunk summary, also where the assistant
says it first."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage

from graph.summary.known import read_known
from graph.turn.agent import Agent
from model.profile import SMALL, STRONG
from store import Finished
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, ready, settled
from tests.graph.talk import done, say

SAID = {
    "en": ("The booking code of my hotel in Lisbon is KE4417.", "What was the booking code of my hotel in Lisbon?"),
    "ko": ("리스본 호텔 예약 번호는 KE4417이야.", "리스본 호텔 예약 번호가 뭐였지?"),
}
MORE = {
    "en": "Fine, then I only have to pack my bags and water the plants before the taxi comes to take me away.",
    "ko": "좋아, 그럼 이제 가방을 싸고 화분에 물을 준 다음에 택시가 올 때까지 조용히 책을 읽으면서 기다리면 되겠네.",
}
RECALLED = {
    "en": "The code is KE4417, as you told me. Room 512 is free.",
    "ko": "예약 번호는 KE4417입니다. 512호가 비었어요.",
}


def answering(messages: list[BaseMessage]) -> str:
    """Recalls the code where it is asked for."""
    asked = str(messages[-1].text)
    for language, (_, question) in SAID.items():
        if question in asked:
            return RECALLED[language]
    return "Noted."


def tell_elsewhere(agent: Agent, language: str) -> str:
    session = agent.store.create_session(language, 0.5).id  # type: ignore[arg-type]
    number = agent.store.begin_turn(session, SAID[language][0]).number
    agent.store.finish_turn(session, number, Finished("done", "Noted."))
    assert agent.memory is not None
    agent.memory.writer.open_session(agent.tenant, session, user=agent.user)
    return session


@pytest.mark.parametrize("language", ["en", "ko"])
def test_what_another_conversation_told_is_the_user_s_in_a_summary(agent: OpenAgent, language: str) -> None:
    bot = ready(agent(answering, folding, profile=STRONG, side=SMALL, memory=True))
    tell_elsewhere(bot, language)
    session = bot.store.create_session(language, 0.5).id  # type: ignore[arg-type]
    for question in (SAID[language][1], MORE[language], MORE[language]):
        done(say(bot, session, question))
        settled(bot)
    rows = bot.store.turns_between(session, 1, 3)
    assert SAID[language][0] in read_known(bot, bot.store.session(session), rows)
    [record] = [each.record for each in bot.store.ledger.versions(session, 1) if each.record]
    marked = record["summary"].partition("AI 제안" if language == "ko" else "AI suggested")
    assert "KE4417" in marked[0]
    assert "KE4417" not in marked[2]


def test_what_an_earlier_chunk_told_is_known_and_what_it_marked_is_not(agent: OpenAgent) -> None:
    bot = agent(answering, folding, profile=STRONG, side=SMALL, memory=False)
    session = bot.store.create_session("en", 0.5).id
    say(bot, session, "I take the train to Leeds on June 2 at 9:40 in the morning.")
    for question in (SAID["en"][1], *[MORE["en"]] * 4):
        done(say(bot, session, question))
    rows = bot.store.turns_between(session, 4, 6)
    known = read_known(bot, bot.store.session(session), rows)
    assert "June 2" in known
    assert "512" not in known


def test_of_turns_without_a_known_prompt_nothing_is_known(agent: OpenAgent) -> None:
    bot = ready(agent(answering, folding, memory=True))
    session = tell_elsewhere(bot, "en")
    assert read_known(bot, bot.store.session(session), bot.store.turns_between(session, 1, 1)) == ""
