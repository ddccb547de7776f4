"""The line before a message that asks for nothing: for a small model, in the exact prompt, never before a question."""

from __future__ import annotations

import time

import pytest

from graph.agent import Agent
from graph.exact import exact
from graph.hint import tells
from prompt import render
from tests.graph.conftest import OpenAgent
from tests.graph.talk import prompts, say
from text.language import Language

REPLY = '{"reply": {}}'


@pytest.mark.parametrize(
    "text",
    [
        "안녕! 나는 김민수야.",
        "이번 가을에 제주로 3박 4일 여행을 가려고 해. 예산은 90만 원이야.",
        "렌터카는 하루 4만 5천 원이래.",
        "아내는 해산물을 못 먹어.",
        "다음 주 화요일에 치과 예약이 있어.",
        "오늘 회의가 너무 길어서 피곤했어 ㅠㅠ",
        "저는 서울에 살고 있습니다.",
        "제 생일은 5월 3일이에요.",
        "회의가 3시로 바뀌었다",
        "나는 매운 음식을 싫어해",
        "다음 달에 부산으로 이사해. 월세는 65만 원이야.",
        "고양이 두 마리를 키워. 이름은 나비랑 까미야.",
        "Hi! I'm Sarah.",
        "Hi, I'm Daniel.",
        "My budget for the trip is $900.",
        "We have a dentist appointment on Tuesday.",
        "The budget went up to $1,200.",
        "Next week we're flying to Oslo.",
        "Tomorrow I have an interview at 9.",
    ],
)
def test_what_only_tells(text: str) -> None:
    assert tells(text)


@pytest.mark.parametrize(
    "text",
    [
        "안녕하세요",
        "민수야",
        "서울 날씨",
        "더 짧게 써",
        "시 한 편 써",
        "지금 몇 시야",
        "이 문장을 영어로 번역해: 나는 학생이다",
        "다음 문장을 요약해. 나는 학교에 갔다.",
        "부산 여행 계획을 세우고 싶어",
        "여권 번호를 기억해 줘",
        "코드가 안 돼",
        "그건 아니야",
        "답이 너무 길었어",
        "너는 이제 해적이야",
        "우리 같이 가자",
        "나는 김민수야. 내 이름이 뭐야?",
        "시 한 편 써. 주제는 바다야.",
        "이걸 비교해 봐. 하나는 10만 원이야.",
        "Make it shorter. The meeting is at 3.",
        "Write a poem about the sea.",
        "The capital of France",
        "My code fails with an error.",
        "I don't know how to start.",
        "I'd like a summary.",
        "What is my budget",
        "The answer is wrong.",
        "You are a pirate now.",
        "It is too long.",
        "나는 갔다. " * 30,
    ],
)
def test_what_asks_wants_or_corrects(text: str) -> None:
    assert not tells(text)


def test_no_message_takes_long() -> None:
    before = time.process_time()
    for part in ("my ", "i ", "나는 ", "이", "there's a' ", "on at ", "ㅠ", ". "):
        tells(part * 60)
    assert time.process_time() - before < 1


@pytest.mark.parametrize(("language", "told"), [("ko", "예산은 90만 원이야."), ("en", "My budget is $900.")])
def test_a_small_model_is_told_what_to_do_with_it(agent: OpenAgent, language: Language, told: str) -> None:
    one = agent(decide=[REPLY] * 2)
    own = one.store.create_session(language, 0.3).id
    say(one, own, told)
    line = render("told", language)
    assert line in str(prompts(one)[-1][-1].text)
    found = exact(one, own, 1)
    assert found.proven
    assert [piece.text for part in found.parts if part.name == "hint" for piece in part.pieces] == [line]
    say(one, own, "그게 얼마야?" if language == "ko" else "How much is it?")
    assert not any(line in str(each.text) for each in prompts(one)[-1])


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        ("고마워!", "ko", "thanked"),
        ("네, 감사합니다", "ko", "thanked"),
        ("수고하세요", "ko", "thanked"),
        ("잘 자", "ko", "parted"),
        ("내일 봐요", "ko", "parted"),
        ("thanks a lot", "en", "thanked"),
        ("good night", "en", "parted"),
        ("bye", "en", "parted"),
        ("안녕!", "ko", ""),
        ("good morning", "en", ""),
    ],
)
def test_a_small_model_is_told_how_to_answer_a_courtesy(
    agent: OpenAgent, text: str, language: Language, name: str
) -> None:
    one = agent(decide=[REPLY])
    own = one.store.create_session(language, 0.3).id
    say(one, own, text)
    found = exact(one, own, 1)
    assert found.proven
    lines = [render(name, language)] if name else []
    assert [piece.text for part in found.parts if part.name == "hint" for piece in part.pieces] == lines
    assert str(prompts(one)[-1][-1].text) == "\n\n".join([*lines, text])


def test_nothing_where_the_message_answers_a_question(agent: OpenAgent) -> None:
    assert not hinted(agent(["어디로 가세요?", "네."], decide=[REPLY] * 2))


def test_nothing_for_a_model_that_needs_no_help(agent: OpenAgent) -> None:
    assert not hinted(agent(["네.", "네."]))


def hinted(one: Agent) -> bool:
    """Whether the line stands in the prompt of a second turn that only tells."""
    own = one.store.create_session("ko", 0.3).id
    say(one, own, "여행을 가고 싶어")
    say(one, own, "나는 제주로 갈 거야.")
    return render("told", "ko") in str(prompts(one)[-1][-1].text)
