"""What a user notices of long-term memory: changed values, and questions that lean on what was said long before."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import BaseMessage

from graph.turn.agent import Agent
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, folding, noting, ready, settled
from tests.graph.talk import done, prompts, say

ANALYSIS = "11월 AWS 총 비용은 $12,500이고 EC2가 65%로 가장 큽니다."
SMALL_TALK = (
    "요즘 읽을 만한 책이 있을까?",
    "저녁에는 뭘 먹는 게 좋을까?",
    "주말에 걷기 좋은 길을 알려줘.",
    "집에서 할 만한 운동이 있을까?",
    "잠이 안 올 때는 어떻게 하지?",
)


def new(agent: Agent, language: str = "ko") -> str:
    return agent.store.create_session(language, 0.3).id  # type: ignore[arg-type]


def analysing(messages: list[BaseMessage]) -> str:
    question = asked(messages)[-1]
    return ANALYSIS if question.endswith("11월 분석해줘") else "네, 그렇게 해 보시지요."


def taking_notes(messages: list[BaseMessage]) -> str:
    """Folds what the assistant reported too, as a good model does; its chunk summaries say nothing."""
    if "<memory>" not in str(messages[1].content):
        return folding(messages)
    material = str(messages[1].content)
    known = material.split("<memory>")[1].split("</memory>")[0].strip("\n –")
    report = f"사용자가 11월 분석을 부탁했고 {ANALYSIS}" if ANALYSIS in material else ""
    lines = [*filter(None, [known, report]), "사용자와 일상 이야기를 했다."]
    entity = {"key": "11월 총 비용", "value": "$12,500", "replaces": None}
    return json.dumps({"memory": lines, "entities": [entity], "gone": []}, ensure_ascii=False)


def test_a_question_that_leans_on_one_long_before_finds_it_in_its_context(agent: OpenAgent) -> None:
    """specification 6.8: «11월 분석해줘» … «1월은?»"""
    bot = ready(agent(analysing, taking_notes, memory=True))
    own = new(bot)
    for text in ("11월 분석해줘", *SMALL_TALK, "고양이는 왜 상자를 좋아할까?"):
        done(say(bot, own, text))
        settled(bot)
    done(say(bot, own, "1월은?"))
    given = asked(prompts(bot)[-1])[-1]
    assert given.endswith("1월은?")
    whole = "\n".join(asked(prompts(bot)[-1]))
    assert whole.count("11월 AWS 총 비용은 $12,500") == 1, "in the memory alone: its turn was summarised away"
    assert "11월 총 비용: $12,500" in whole


TALKATIVE = (
    "네, 그렇게 해 보시지요. 하루에 20분쯤 걷고, 물을 1.5리터 마시면 좋습니다. 처음 2주는 가볍게 시작하세요. "
    "그다음에는 조금씩 늘려 가면 됩니다. 더 궁금한 것이 있으면 말씀해 주세요."
)


def test_on_a_small_model_the_figures_that_the_assistant_gave_are_in_the_summary_that_january_is_asked_with(
    agent: OpenAgent,
) -> None:
    """Specification 6.8, as it stands there: the assistant says the figures, and its turn is no longer raw."""

    def chat(messages: list[BaseMessage]) -> str:
        return ANALYSIS if asked(messages)[-1].endswith("11월 비용을 분석해 줘") else TALKATIVE

    bot = ready(agent(chat, [], profile=SMALL, memory=True, budget_recent=80))
    own = new(bot)
    for text in ("11월 비용을 분석해 줘", *SMALL_TALK, "고양이는 왜 상자를 좋아할까?"):
        done(say(bot, own, text))
        settled(bot)
    done(say(bot, own, "1월은?"))
    prompt = prompts(bot)[-1]
    assert ANALYSIS not in [message.text for message in prompt], "its turn is in a summary"
    given = "\n".join(str(message.text) for message in prompt)
    for value in ("11월", "$12,500", "EC2", "65%"):
        assert value in given
    assert bot.store.ledger.summaries(own)[0].lost == []


@pytest.mark.parametrize("language", ["ko", "en"])
def test_each_conversation_is_remembered_in_its_own_language(agent: OpenAgent, language: str) -> None:
    heard: list[str] = []

    def listening(messages: list[BaseMessage]) -> str:
        heard.append(str(messages[0].content))
        return folding(messages)

    bot = ready(agent(noting, listening, memory=True, ahead=False))
    own = new(bot, language)
    for number in range(1, 7):
        done(
            say(
                bot,
                own,
                f"상자 {number}번 값은 {number}00원이야."
                if language == "ko"
                else f"My item {number} costs ${number}00.",
            )
        )
    settled(bot)
    folds = [each for each in heard if ("기억" in each or "memory" in each.lower())]
    assert folds
    assert any("가" <= letter <= "힣" for letter in folds[-1]) == (language == "ko")
