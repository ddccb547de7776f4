"""What a tool gave and the answer lacks stays in a bare prompt, in a line before its question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from graph.context.prompt import UNSAID_CHARS, reduce_messages_to_speech
from model.profile import SMALL
from tests.graph.conftest import OpenAgent, Route
from tests.graph.talk import done, prompts, say
from tests.graph.test_exact import NewSession, check
from tests.table import table

TIDES = "목포의 만조는 06:40이다. 바람은 잔잔하다. 물 높이는 312cm이다."


@tool
def look_up_tide(harbour: str) -> str:
    """Tides."""
    return TIDES


def turn(
    result: str, answer: str, name: str = "look_up_tide", status: str = "success", model: str = "m"
) -> list[AnyMessage]:
    said = ToolMessage(result, tool_call_id="c", name=name, status=status)
    return [HumanMessage("언제야?"), said, AIMessage(answer, response_metadata={"model": model})]


def line(messages: Sequence[AnyMessage]) -> str:
    """What stands before the question."""
    first = reduce_messages_to_speech(messages)[0]
    return str(first.text) if isinstance(first, SystemMessage) else ""


@table(
    ("messages", "kept"),
    [
        (turn(TIDES, "잘 모르겠어요."), "[look_up_tide] 목포의 만조는 06:40이다. 물 높이는 312cm이다."),
        (turn(TIDES, "오전 6시 40분이에요."), "[look_up_tide] 물 높이는 312cm이다."),
        (turn(TIDES, "오전 6시 40분이고 312cm예요."), ""),
        (turn("바람이 잔잔하다.", "글쎄요."), ""),
        (turn(TIDES, "잘 모르겠어요.", status="error"), ""),
        (turn(TIDES, "잘 모르겠어요.", name="search_documents"), ""),
        (turn(TIDES, "잘 모르겠어요.", name="recall_memory"), ""),
        (turn(TIDES, "잘 모르겠어요.", model=""), ""),
    ],
)
def test_only_facts_stay_that_the_answer_lacks(messages: list[AnyMessage], kept: str) -> None:
    assert line(messages) == kept
    assert [message.type for message in reduce_messages_to_speech(messages)][-2:] == ["human", "ai"]


def test_a_long_result_is_shortened() -> None:
    long = " ".join(f"{number}번 항구의 물 높이는 {number + 300}cm이다." for number in range(1, 200))
    kept = line(turn(long, "잘 모르겠어요."))
    assert kept.startswith("[look_up_tide] 1번 항구의 물 높이는 301cm이다.")
    assert len(kept) < UNSAID_CHARS + 60


def test_a_turn_without_an_answer_keeps_nothing() -> None:
    unanswered = AIMessage("", response_metadata={"unanswered": "interrupted", "turn": 1})
    assert [message.type for message in reduce_messages_to_speech([HumanMessage("언제야?"), unanswered])] == [
        "human",
        "ai",
    ]


def test_the_next_questions_have_it_and_it_is_shown(agent: OpenAgent, session: NewSession, route: Route) -> None:
    route("만조", look_up_tide.name, harbour="목포")
    one = replace(agent(profile=SMALL), tools=[look_up_tide])
    own = session(one)
    for text in ("만조는 언제야?", "그 뒤에는 뭘 할까?", "좋아, 그러자.", "다음은 뭐지?", "그다음은?"):
        done(say(one, own, text))
    for number in range(1, 6):
        check(one, own, number, number - 1)
    for prompt in prompts(one)[1:]:
        assert [str(message.text) for message in prompt[1:3]] == [
            "[look_up_tide] 목포의 만조는 06:40이다. 물 높이는 312cm이다.",
            "만조는 언제야?",
        ]


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("18 곱하기 4는 얼마야?", "calculate", {"expression": "18*4"}),
        ("지금 몇 시야?", "current_time", {}),
        ("뉴욕은 지금 몇 시야?", "current_time", {"place": "뉴욕"}),
    ],
)
def test_the_tools_of_a_small_model_change_nothing(
    agent: OpenAgent, session: NewSession, route: Route, text: str, name: str, arguments: dict[str, str]
) -> None:
    route(text, name, **arguments)
    one = agent(profile=SMALL)
    own = session(one)
    done(say(one, own, text))
    turn = one.store.turn(own, 1)
    assert turn is not None
    assert [step["name"] for step in turn.steps] == [name]
    done(say(one, own, "그럼 이제 뭘 하면 좋을까?"))
    assert [message.type for message in prompts(one)[-1]] == ["system", "human", "ai", "human"]
