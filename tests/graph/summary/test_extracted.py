"""A summary of sentences of the original: chosen by code, at once, and of nothing else (design 5.2)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from errors import SummaryRejected
from graph.summary.original import Original
from model.profile import SMALL
from model.scripted import build_scripted_models
from tests.graph.summary.chunk import FACTS, run, scripted, turns
from tests.steps import count_lines
from tests.table import table
from text import sentence
from text.fact import note, pack

CODE = build_scripted_models(profile=SMALL)  # a model that is asked fails the test: its script is empty


def test_what_was_said_stands_in_it_word_for_word() -> None:
    made = run(FACTS, CODE)
    original = "".join(each.text for each in FACTS)
    assert all(word in original for word in made.record["summary"].replace("사용자: ", "").replace("AI: ", "").split())
    assert (made.origin, made.model, made.calls, made.lost) == ("extracted", "", 0, ())


def test_where_passages_were_found_and_what_says_the_user_back_is_no_sentence_of_a_summary() -> None:
    trace = {"language": "ko", "trace": [], "passages": [{"number": 1, "label": "faq.md › 압축률"}]}
    found = ToolMessage("압축률은 슬라이더로 바꿉니다.", tool_call_id="a", name="search_documents", artifact=trace)
    said = "다음 달에 부산으로 이사해."
    messages = [
        HumanMessage(said),
        found,
        AIMessage("네, 다음 달에 부산으로 이사하시는군요."),
        *turns(("네.", "네."), ("네.", "네.")),
    ]
    summary = run(messages, CODE, rate=0.5).record["summary"]
    assert said in summary
    assert not any(each in summary for each in ("검색", "여기에", "이사하시"))


def test_answers_that_say_the_user_back_do_not_make_short_turns_long() -> None:
    told = (
        "I'm Daniel.",
        "I'm planning a trip to Lisbon in March with a budget of $1,500.",
        "My sister Emma is coming with me. She is vegetarian.",
    )
    messages = turns(*((each, f"Got it, I'll remember that {each}") for each in told))
    assert sum(len(each.text) for each in messages) > pack.SHORT
    assert "My sister Emma is coming with me." in run(messages, CODE).record["summary"]


SUMS = turns(("12*7?", "84"), ("13*7?", "91"), ("14*7?", "98"))
SIGNS = turns(("1+1=2; 2+2=4; 3+3=6; " * 9, "4"), ("5", "6"), ("7", "8"))
PASTE = turns(("abc123" * 40, "1"), ("defg45" * 40, "2"), ("hij678" * 40, "3"))


@table("failing", [False, True], ids=["rule", "second failure of a model"])
@table(
    ("messages", "beginning"),
    [(SUMS, "12*7? 84 13*7? 91"), (SIGNS, "1+1=2; 2+2=4; 3+3=6; 1+1=2; "), (PASTE, "abc123" * 37)],
    ids=["sums", "signs", "paste"],
)
def test_where_no_sentence_fits_the_original_begins(messages: list[AnyMessage], beginning: str, failing: bool) -> None:
    chosen = scripted("", "")[0] if failing else CODE
    record = run(messages, chosen, stands_in=lambda _: True).record
    assert record["summary"].startswith(beginning)
    assert record["summary"].split()[-1] in beginning.split() or messages is PASTE, "no word is cut"
    assert record["summary_chars"] <= record["original_chars"]
    assert record["summary_chars"] <= max(60, 1.3 * int(record["original_chars"] * 0.3))


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 3000, "[" * 600 + '"한 문장을 말했습니다."' + "]" * 600])
def test_deep_brackets_are_text_like_any_other(text: str) -> None:
    assert run(turns((text, "괄호가 아주 많네요. 무엇을 도와드릴까요?"), *[("네", "그렇군요.")] * 2), CODE).record[
        "summary"
    ]


def test_a_tiny_original_is_its_own_summary() -> None:
    made = run(turns(("안녕!", "안녕하세요! 무엇을 도와드릴까요?"), ("고마워", "천만에요.")), CODE)
    assert made.record["original_chars"] < 60
    assert made.record["summary_chars"] >= 0.8 * made.record["original_chars"]
    assert "고마워" in made.record["summary"]


def test_a_very_long_original_takes_reasonable_time() -> None:
    lines = " ".join(f"{index}번 주문은 {index * 37:,}원이고 상태는 배송 중입니다." for index in range(2500))
    made = run(turns((lines, "확인했습니다")), CODE, rate=0.1)
    assert made.record["summary_chars"] <= 1.3 * int(made.record["original_chars"] * 0.1)


def test_a_summary_costs_less_than_the_square_of_its_length() -> None:
    def lines(orders: int) -> int:
        said = " ".join(f"{index}번 주문은 {index * 37:,}원이고 상태는 배송 중입니다." for index in range(orders))
        return count_lines(lambda: run(turns((said, "확인했습니다")), CODE, rate=0.1))

    lines(50)  # what is kept for later is made
    assert lines(400) < 40 * lines(50)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(alphabet="가나다 abc,.12\n", min_size=1, max_size=120), min_size=2, max_size=6),
    st.floats(0.1, 0.5),
)
def test_no_summary_is_longer_than_the_original_nor_cut_in_mid_word(said: list[str], rate: float) -> None:
    messages: list[AnyMessage] = [HumanMessage(each) for each in said]
    try:
        made = run(messages, CODE, rate=rate)
    except SummaryRejected:
        return
    summary, target = made.record["summary"], int(made.record["original_chars"] * rate)
    assert 0 < len(summary) <= made.record["original_chars"]
    assert target <= 60 or len(summary) <= 1.3 * target
    pieces = [piece for text in said for piece in (text, *sentence.split_sentences(text))]
    known = {word.strip(",.;").casefold() for piece in pieces for word in piece.split()}
    assert {word.strip(",.;").casefold() for word in summary.split()} <= known | {"사용자:", "user:", ""}
    assert len(made.kept) + len(made.lost) == len(Original(tuple(messages), (1, 2, 3), rate, "ko").told_facts)


@table(
    ("user", "answer", "label"),
    [
        ("I leave for Leeds on June 2 by train.", "Your train arrives at 14:35 on platform 9.", "AI suggested: "),
        ("I leave for Leeds on June 2 by train.", "Take an umbrella because rain is likely up north.", "AI: "),
        ("6월 2일에 기차로 부산에 가요.", "기차는 오후 2시 35분에 9번 승강장에 도착합니다.", "AI 제안: "),
    ],
)
def test_facts_that_only_the_assistant_tells_are_marked_as_its_own(user: str, answer: str, label: str) -> None:
    source = Original(tuple(turns((user, answer))), (1, 2, 3), 0.9, "en")
    assert note.join_notes(source.sentences).endswith(f"{label}{answer}")


def test_what_a_tool_gave_is_no_suggestion_of_the_assistant() -> None:
    tool = ToolMessage("The train arrives at 14:35.", tool_call_id="a", name="timetable")
    messages: list[AnyMessage] = [
        HumanMessage("When does my train arrive in Leeds?"),
        tool,
        AIMessage("It comes in at 14:35, in time."),
    ]
    notes = Original(tuple(messages), (1, 2, 3), 0.9, "en").sentences
    assert {each.speaker for each in notes} == {"User", "Tool", "AI"}


def test_the_user_s_facts_come_before_the_assistant_s() -> None:
    messages = turns(
        ("My flight to Oslo leaves on June 2 at 9:40 in the morning, and the seat cost me $310.", "Fine."),
        ("Anything else that I should think of?", "Hotel Bristol, 4 May, 17:20, $95, $120, $180, $210, room 12A."),
        ("Thanks, that is all.", "You are welcome, and have a good time there."),
    )
    made = run(messages, CODE, rate=0.35, language="en")
    assert all(each in made.kept for each in ("June 2", "9:40", "$310"))


@pytest.mark.parametrize(
    ("messages", "plain", "language"),
    [
        (
            turns(
                ("다음 주 토요일에 가족들과 부산에 갈 거야.", "좋으시겠어요! 끊임없이 즐기시는 것을 추천드립니다."),
                ("나는 땅콩 알레르기가 있어.", "포장지에 적힌 성분을 언제나 꼼꼼하게 확인하시는 것을 추천드립니다."),
                ("기차와 차 중에 뭐가 좋을까?", "기차는 편안하고 차는 자유롭게 이동할 수 있다는 장점이 있습니다."),
            ),
            "땅콩 알레르기가 있어",
            "ko",
        ),
        (
            turns(
                ("We are going to see the family.", "How wonderful, time with the family is always time well spent."),
                ("I am allergic to peanuts.", "It is always a good idea to read what the package of a snack says."),
                (
                    "Should we go by train or by car?",
                    "Trains are comfortable, and a car lets you stop wherever you like.",
                ),
            ),
            "I am allergic to peanuts",
            "en",
        ),
    ],
    ids=["ko", "en"],
)
def test_a_plain_statement_of_the_user_comes_before_what_the_assistant_fills_in(
    messages: list[AnyMessage], plain: str, language: str
) -> None:
    assert plain in run(messages, CODE, rate=0.3, language=language).record["summary"]
