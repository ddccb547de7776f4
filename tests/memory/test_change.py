"""A changed value leaves only the new one as current."""

from __future__ import annotations

import pytest

from memory import change
from memory.change import Change


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("예산은 1억 원이다.", "예산이 1억 5천만 원으로 올랐어.", "예산은 1억 5천만 원이다."),
        ("차 값은 5,240만 원이야.", "차 값이 5,080만 원으로 내려갔어.", "차 값은 5,080만 원이야."),
        ("차 값: 5,240만 원", "차 값이 5,080만 원으로 내려갔어.", "차 값: 5,080만 원"),
        ("The budget is $10,000.", "Actually, the budget rose to $15,000.", "The budget is $15,000."),
        ("The budget is 100 million won.", "The budget rose to 150 million won.", "The budget is 150 million won."),
        ("마감은 3월 5일이다.", "마감이 3월 20일로 미뤄졌어.", "마감은 3월 20일이다."),
        ("The launch is on March 14.", "We moved the launch to April 2.", "The launch is on April 2."),
        ("회의는 화요일 10시에 한다.", "회의 시간이 14시로 바뀌었어.", "회의는 화요일 14시에 한다."),
        ("예산은 1억 원이다.", "예산이 1억 원에서 2억 원으로 늘었어.", "예산은 2억 원이다."),
        ("담당자는 김민수이다.", "담당자가 김민수에서 이지은으로 바뀌었어.", "담당자는 이지은이다."),
        # the old value is named, in any order
        (
            "The meeting is on May 3.",
            "We moved the meeting, it is on May 9 instead of May 3.",
            "The meeting is on May 9.",
        ),
        ("The budget is $100.", "The budget is now $150, up from $100.", "The budget is $150."),
        ("The budget is $100.", "The budget is now $150, not $100.", "The budget is $150."),
        ("예산은 120만 원이야.", "예산이 150만 원이 됐어, 원래 120만 원이었는데 올랐어.", "예산은 150만 원이야."),
        ("예산은 120만 원이야.", "예산은 이제 150만 원이야, 120만 원 아니고.", "예산은 150만 원이야."),
        # the new one is a part of the old one
        ("The budget is $500.", "The budget dropped to $50.", "The budget is $50."),
        ("예산은 15만 원이야.", "예산이 15만 원에서 5만 원으로 줄었어.", "예산은 5만 원이야."),
        ("출발은 13일이야.", "출발이 3일로 바뀌었어.", "출발은 3일이야."),
        # the same subject, in fewer or other words
        ("여행 예산은 120만 원이야.", "예산이 150만 원으로 늘었어.", "여행 예산은 150만 원이야."),
        ("혈압약은 아모디핀 5mg을 먹고 있어.", "혈압약 용량이 10mg으로 올랐어.", "혈압약은 아모디핀 10mg을 먹고 있어."),
        ("The car costs $52,400.", "The price of the car dropped to $50,800.", "The car costs $50,800."),
        ("예산은 1억이야.", "예산은 1억 5천이야.", "예산은 1억 5천이야."),
        ("담당자는 김민수야.", "담당자가 이지은으로 바뀌었어.", "담당자는 이지은이야."),
        ("담당자는 이지은이야.", "담당자가 김민수로 바뀌었어.", "담당자는 김민수야."),
        ("The project manager is Sarah Kim.", "The project manager is now Tom Lee.", "The project manager is Tom Lee."),
        ("manager: Sarah Kim", "The project manager is now Tom Lee.", "manager: Tom Lee"),
        ("phone: 010-1234-5678", "My phone number changed to 010-9999-0000.", "phone: 010-9999-0000"),
        ("출발: 4월 12일", "출발일을 4월 19일로 미뤘어.", "출발: 4월 19일"),
        ("숙소: 파라다이스호텔", "숙소는 그랜드호텔로 바꿨어.", "숙소: 그랜드호텔"),
        # of an earlier topic in one line only the part that is meant
        (
            "Hotel deposit is $200 ⁄ hotel parking is $200",
            "The hotel parking went up to $250.",
            "Hotel deposit is $200 ⁄ hotel parking is $250",
        ),
    ],
)
def test_the_new_value_takes_the_place_of_the_old_one(before: str, said: str, after: str) -> None:
    assert change.apply(before, change.said([before], [said])) == after


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("예산은 1억 원이다.", "직원이 8명으로 늘었어."),  # another kind of number
        ("The rent is $900.", "The budget rose to $15,000."),  # another thing
        ("마감은 3월 5일이다.", "출장이 3월 20일로 미뤄졌어."),
        ("The budget is $10,000.", "The budget is fine."),
        ("Tom set the budget.", "Sarah raised the budget."),
        ("The hotel costs $300 a night.", "The flight now costs $500."),
        ("부산 호텔은 15만 원이야.", "부산 가는 KTX 요금이 6만 원으로 올랐어."),
        ("My son is 5 years old.", "My daughter is now 8 years old."),
        ("My budget is $500.", "My brother's budget rose to $900."),
        ("My brother's budget is $500.", "My budget rose to $900."),
        ("내 월세는 70만 원이야.", "친구 월세는 80만 원으로 올랐대."),
        ("The rent is $900.", "I now pay $60 for the internet besides rent."),
        ("회의는 5월 3일이야.", "회의 자료는 5월 1일까지로 확정했어."),
        ("호텔 주차비는 2만 원이야.", "호텔 요금이 20만 원으로 올랐어."),
        ("departure: Seoul", "The flight from Seoul to Paris now costs $900."),
        ("KTX는 서울에서 출발해.", "서울에서 부산으로 가는 KTX 시간이 바뀌었어."),
        ("회의는 3시야.", "오른쪽 회의실에서 5시에 회의가 하나 더 있어."),
        ("The shop is open at 10:00.", "The shop is open from 9:00 to 18:00."),
        # nothing has changed yet
        ("예산은 1억 원이야.", "예산을 2억 원으로 바꾸지 않기로 했어, 그대로 1억 원이야."),
        ("The budget is $100.", "The budget has not changed to $150."),
        ("The budget is $100.", "I am thinking about changing the budget to $150."),
        ("예산은 1억 원이야.", "예산을 2억 원으로 늘리면 좋겠지만 아직 안 정했어."),
        ("The budget is $100.", "The budget would have risen to $150."),
    ],
)
def test_other_things_keep_their_values(before: str, said: str) -> None:
    assert change.apply(before, change.said([before], [said])) == before


def test_of_several_values_the_one_next_to_the_shared_word_changes() -> None:
    before = "The budget is $10,000, of which marketing takes $2,000."
    changes = change.said([before], ["Marketing rose to $3,000."])
    assert change.apply(before, changes) == "The budget is $10,000, of which marketing takes $3,000."


def test_a_sentence_that_tells_the_history_stays() -> None:
    line = "The budget rose from $10,000 to $15,000."
    assert change.apply(line, [Change("$10,000", "$15,000", frozenset({"budget"}))]) == line


def test_an_entity_s_new_value_reaches_the_sentences_about_it() -> None:
    made = change.replaced("blue", "green", ["My favourite colour is green now."])
    assert change.apply("The favourite colour is blue.", [made]) == "The favourite colour is green."


def test_a_value_is_replaced_as_a_whole() -> None:
    made = change.replaced("red", "blue", ["Make the car blue instead."])
    assert change.apply("I ordered a red car.", [made]) == "I ordered a blue car."


def test_of_several_things_that_could_be_meant_none_is_changed() -> None:
    before = ["여행 예산은 120만 원이야.", "회식 예산은 30만 원이야."]
    changes = change.said(before, ["예산이 150만 원으로 늘었어."])
    assert [change.apply(line, changes) for line in before] == before


def test_digits_inside_a_longer_number_are_not_touched() -> None:
    assert change.apply("Cost 1100.", [Change("100", "150", frozenset({"cost"}))]) == "Cost 1100."
