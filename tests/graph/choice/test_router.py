from __future__ import annotations

import pytest

from bench.train.router import hash_router_examples
from errors import EmbeddingFailed
from graph.choice.feature import HEAD, TAIL, Label, Values, extract_message_core
from graph.choice.router import MARGIN, Router, RouterWeights, load_router
from tests.table import table

CLEAR: list[tuple[str, Label]] = [
    ("지금 몇 시야?", "time"),
    ("What time is it in Madrid?", "time"),
    ("37 곱하기 12는?", "calculate"),
    ("How much is 15% of 2400?", "calculate"),
    ("취업규칙 문서에는 휴가가 며칠이라고 나와 있어?", "documents"),
    ("How do I change the compression rate?", "documents"),
    ("지난번에 내가 말한 예산이 얼마였지?", "recall"),
    ("What did I say my budget was?", "recall"),
    ("금요일에 애들 누가 봐주지", "recall"),
    ("빈에서 우리 어디서 묵지", "recall"),
    ("who is watching the kids on friday", "recall"),
    ("내 여권 번호는 M1234야, 기억해 줘", "remember"),
    ("Please remember that my passport number is M1234", "remember"),
    ("내 전화번호는 기억에서 지워 줘", "forget"),
    ("Please delete my phone number from your memory", "forget"),
    ("안녕, 반가워", "none"),
    ("I have a meeting at 3 and then lunch with two friends.", "none"),
    ("카페 이름 세 개만 추천해 줘", "none"),
    ("Explain the second one", "none"),
    ("빈에서 뭐 먹지", "none"),
    ("우리 호텔 크로네로 바꿨어", "none"),
    ("where can we eat in Vienna", "none"),
    ("we are staying at the Hotel Krone now", "none"),
]


@table(("question", "label"), CLEAR)
def test_a_plainly_clear_message_finds_its_tool_or_none(question: str, label: Label) -> None:
    assert load_router().route(question).label == label


@pytest.mark.parametrize(
    ("previous", "question", "label"),
    [
        ("서울은 지금 몇 시야?", "그럼 런던은?", "time"),
        ("What time is it in Seoul?", "And in London?", "time"),
        ("What is 15% of 2400?", "and 20% of that?", "calculate"),
        ("서울은 어떤 도시야?", "그럼 런던은?", "none"),
        ("What time is it in Seoul?", "Thanks!", "none"),
    ],
)
def test_a_short_message_may_lean_on_the_one_before_it(previous: str, question: str, label: Label) -> None:
    assert load_router().route(question, previous).label == label


def test_the_weights_belong_to_the_examples() -> None:
    assert RouterWeights.load().digest == hash_router_examples(), "python -m bench.train.router"


def test_below_the_margin_there_is_no_tool() -> None:
    own = RouterWeights.load()
    silent = Router(
        RouterWeights(own.meaning * 0, own.letters * 0, own.facts * 0, own.bias * 0, ""), lambda _: own.meaning[:, 0]
    )
    found = silent.route("지금 몇 시야?")
    assert found.label == "none"
    assert found.margin == pytest.approx(0.0)
    assert load_router().route("지금 몇 시야?").margin >= MARGIN


def test_without_an_embedding_there_is_no_tool() -> None:
    def failing(_: str) -> Values:
        raise EmbeddingFailed(model="none", reason="no wheel for this machine")

    assert Router(RouterWeights.load(), failing).route("지금 몇 시야?").label == "none"


def test_of_a_long_message_the_beginning_and_the_end_are_read() -> None:
    told = "The move went well and everybody helped. " * 40
    text = extract_message_core(f"I am back. {told}What time is it in Rome?")
    assert text.startswith("I am back.")
    assert text.endswith("What time is it in Rome?")
    assert len(text) <= HEAD + TAIL + 1


@table("question", ["", " ", "?", "ㅋ", "🙂" * 500, "9" * 5000, "\ud800"])
def test_any_text_is_routed(question: str) -> None:
    assert load_router().route(question, question).margin >= 0
