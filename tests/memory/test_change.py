"""A changed value leaves only the new one as current."""

from __future__ import annotations

import pytest

from memory import change
from memory.change import Change
from text.assertion import assertions


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
        # digits with letters or dashes, and what belongs to them
        ("My seat is 12A.", "My seat changed to 14C.", "My seat is 14C."),
        ("My seat is 12B.", "My seat changed to 14c.", "My seat is 14c."),
        ("내 좌석은 12A야.", "좌석이 14C로 바뀌었어.", "내 좌석은 14C야."),
        ("My phone number is 555-1234.", "My phone number changed to 555-9876.", "My phone number is 555-9876."),
        ("My zip code is 94110-1234.", "My zip code is 94016.", "My zip code is 94016."),
        ("차량번호는 123가4567이야.", "차량번호가 12나 3456으로 바뀌었어.", "차량번호는 12나 3456이야."),
        ("아파트는 101동 1203호야.", "아파트가 102동 304호로 바뀌었어.", "아파트는 102동 304호야."),
        ("My address is 12 Baker Street.", "My address is now 4 Elm Road.", "My address is 4 Elm Road."),
        ("My address is 4 Elm Road.", "My address is now 12 Baker Street.", "My address is 12 Baker Street."),
        ("인원은 2-3명이야.", "인원이 5명으로 늘었어.", "인원은 5명이야."),
        ("The team is 10-15 people.", "The team is now 20 people.", "The team is 20 people."),
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
        ("인도 예정일은 11월 28일이야.", "인도 예정일이 12월 12일로 밀렸어.", "인도 예정일은 12월 12일이야."),
        ("숙소: 파라다이스호텔", "숙소는 그랜드호텔로 바꿨어.", "숙소: 그랜드호텔"),
        # of an earlier topic in one line only the part that is meant
        (
            "Hotel deposit is $200 ⁄ hotel parking is $200",
            "The hotel parking went up to $250.",
            "Hotel deposit is $200 ⁄ hotel parking is $250",
        ),
        # a value in several parts is one
        ("계좌는 110-123-456789야.", "계좌는 220-456-789012로 바꿨어.", "계좌는 220-456-789012야."),
        ("여행은 2박 3일이야.", "여행은 3박 4일로 바뀌었어.", "여행은 3박 4일이야."),
        ("비행은 2시간 30분이야.", "비행은 3시간으로 바뀌었어.", "비행은 3시간이야."),
        ("예산은 100만~120만 원이야.", "예산이 150만 원으로 올랐어.", "예산은 150만 원이야."),
        ("회의는 5월 3일 오후 3시야.", "회의가 5월 9일 오후 4시로 바뀌었어.", "회의는 5월 9일 오후 4시야."),
        (
            "The meeting is on May 3 at 3 pm.",
            "The meeting moved to May 9 at 4 pm.",
            "The meeting is on May 9 at 4 pm.",
        ),
        ("The trip is May 3 to May 7.", "The trip is now May 10 to May 14.", "The trip is May 10 to May 14."),
        ("출발은 3월 5일이야.", "출발이 5일에서 7일로 바뀌었어.", "출발은 3월 7일이야."),
        # stated before a question
        ("The budget is $500.", "The budget rose to $700, can you find another hotel?", "The budget is $700."),
        ("예산은 100만 원이야.", "예산이 150만 원으로 올랐는데 호텔 다시 추천해줄래?", "예산은 150만 원이야."),
        # not A but B
        ("The meeting is on Thursday.", "The meeting isn't on Thursday, it's on Friday.", "The meeting is on Friday."),
        ("The meeting is on Thursday.", "The meeting is not on Thursday but on Friday.", "The meeting is on Friday."),
        ("My boss is Tom Lee.", "My boss isn't Tom Lee anymore, it's Anna Kim.", "My boss is Anna Kim."),
        ("여행지는 제주도야.", "여행지는 제주도가 아니라 강릉이야.", "여행지는 강릉이야."),
        ("담당자는 김민수야.", "담당자는 김민수 과장이 아니라 이지은 대리야.", "담당자는 이지은이야."),
        # plainly said again
        ("budget: $500", "My budget is $700.", "budget: $700"),
        ("월세: 65만 원", "월세는 70만 원이야.", "월세: 70만 원"),
        ("My phone number is 555-1234.", "I got a new phone number: 555-9876.", "My phone number is 555-9876."),
        ("My name is Ana Lopez.", "Sorry, typo: my name is Anna Lopez.", "My name is Anna Lopez."),
        ("와이파이 비밀번호: apple1234", "와이파이 비밀번호 banana5678로 바꿨어.", "와이파이 비밀번호: banana5678"),
        ("엄마 생신은 5월 12일이야.", "엄마 생신 5월 21일이래, 내가 잘못 알았어.", "엄마 생신은 5월 21일이야."),
        ("우리 고양이 5살이야.", "우리 고양이 6살이야.", "우리 고양이 6살이야."),
        ("강아지 이름은 초코야.", "아 강아지 이름 초코가 아니라 쿠키야.", "강아지 이름은 쿠키야."),
        ("전화번호는 010-1234-5678이야.", "전화번호 바뀌었어. 010-9999-8888이야.", "전화번호는 010-9999-8888이야."),
        ("My phone number is 555-1234.", "My phone number changed. It's 555-9876.", "My phone number is 555-9876."),
        ("My phone number is 555-1234.", "I changed my phone number. It's 555-9876.", "My phone number is 555-9876."),
        (
            "The exam is on December 12.",
            "No, the exam is not on December 12. It's on December 21.",
            "The exam is on December 21.",
        ),
        ("시험은 12월 12일이야.", "시험은 12월 12일이 아니야. 12월 21일이야.", "시험은 12월 21일이야."),
        ("The flight is at 7:30 pm.", "The flight is delayed to 9:15 pm.", "The flight is at 9:15 pm."),
        ("기차는 9시에 출발해.", "기차 9시 30분으로 지연됐어.", "기차는 9시 30분에 출발해."),
        ("우리 딸은 7살이야.", "우리 딸 생일 지나서 이제 8살이야.", "우리 딸은 8살이야."),
        ("내 몸무게는 72kg이야.", "3kg 빠져서 69kg이 됐어.", "내 몸무게는 69kg이야."),
        ("I weigh 80 kg.", "I lost 5 kg, so now I weigh 75 kg.", "I weigh 75 kg."),
        ("회의는 3시야.", "회의는 5시에 할 거야.", "회의는 5시야."),
        ("My rent is $900 a month.", "The rent is now $950 per month.", "My rent is $950 a month."),
        ("월세는 한 달에 65만 원이야.", "월세는 매달 70만 원이야.", "월세는 한 달에 70만 원이야."),
        ("My rent is $900 a month.", "The rent rose to $950.", "My rent is $950 a month."),
        ("The user's budget is $500.", "My budget is $700.", "The user's budget is $700."),
        ("The user said that the budget is $500.", "My budget is $700.", "The user said that the budget is $700."),
        ("사용자의 예산은 100만 원이다.", "예산은 150만 원이야.", "사용자의 예산은 150만 원이다."),
        # several statements in one sentence
        ("예산은 100만 원이야.", "예산은 150만 원이고 인원은 4명이야.", "예산은 150만 원이야."),
        (
            "인원은 3명이야.",
            "예산이 100만 원에서 150만 원으로, 인원은 3명에서 5명으로 늘었어.",
            "인원은 5명이야.",
        ),
        ("The rent is $900.", "The budget is now $700 and the rent is now $950.", "The rent is $950."),
        ("The meeting is on Thursday.", "I was wrong, the meeting is on Friday.", "The meeting is on Friday."),
        # without a particle, and other verbs
        ("예산은 100만 원이야.", "예산 150만 원으로 올리자.", "예산은 150만 원이야."),
        ("여행지는 부산이야.", "여행지 서울로 바꾸자.", "여행지는 서울이야."),
        ("우리 딸은 5살이야.", "우리 딸은 이제 6살이야.", "우리 딸은 6살이야."),
        ("좋아하는 색은 파란색이야.", "좋아하는 색은 이제 초록색이야.", "좋아하는 색은 초록색이야."),
        ("The meeting is on Thursday.", "We've rescheduled the meeting for Friday.", "The meeting is on Friday."),
        ("My budget is $500.", "My budget went from $500 to $700.", "My budget is $700."),
        ("월급은 300만 원이야.", "월급이 10만 원 올라서 310만 원이야.", "월급은 310만 원이야."),
    ],
)
def test_the_new_value_takes_the_place_of_the_old_one(before: str, said: str, after: str) -> None:
    assert change.apply(before, change.said([before], assertions(said))) == after


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
        # a question gives no value, with and without its mark
        ("여행지는 부산이야.", "여행지는 어디야"),
        ("담당자는 김민수야.", "담당자가 누구예요"),
        ("내 이름은 김민수야.", "내 이름이 뭐더라"),
        ("강아지 이름은 초코야.", "강아지 이름은 뭐였지"),
        ("예산은 100만 원이야.", "예산이 150만 원이었나"),
        ("예산은 100만 원이야.", "예산이 150만 원이라고 했나"),
        ("The budget is $100.", "is the budget $150"),
        ("The budget is $100.", "If the budget is $150, can you find a hotel?"),
        # one of several things of a name
        ("11월 AWS 비용은 $12,500이다.", "1월 AWS 비용은 $9,000이야."),
        ("1차 회의는 월요일이야.", "2차 회의는 화요일이야."),
        ("첫 번째 회의는 3시야.", "두 번째 회의는 5시야."),
        ("A팀 예산은 100만 원이야.", "B팀 예산은 200만 원이야."),
        ("Room A is 30 m.", "Room B is 40 m."),
        ("차 가격은 3천만 원이야.", "집 가격은 3억 원이야."),
        # whose it is, and of what
        ("내 이름은 김민수야.", "고양이 이름은 초코야."),
        ("내 이름은 김민수야.", "우리 아이 이름은 박서준이야."),
        ("여행 예산은 100만 원이야.", "제주도 여행 예산은 50만 원이야."),
        ("예산은 100만 원이야.", "광고 예산은 30만 원이야."),
        ("좋아하는 음식은 피자야.", "싫어하는 음식은 오이야."),
        ("My salary is $500.", "Her salary is $900."),
        ("budget: $10,000", "The marketing budget rose to $3,000."),
        ("월세: 70만 원", "서울 평균 월세가 80만 원으로 올랐대."),
        # where somebody is and how something is are no names
        ("My boss is Tom Lee.", "My boss is in Paris."),
        ("My manager is Tom Lee.", "My manager is from Canada."),
        ("My dog is Max.", "My dog is a Golden Retriever."),
        ("담당자는 김민수야.", "담당자는 서울에 있어."),
        ("숙소는 그랜드호텔이야.", "숙소는 인터넷으로 예약했어."),
        ("숙소는 그랜드호텔이야.", "숙소는 별로야."),
        # a step, a part, an end
        ("월급은 300만 원이야.", "월급이 10만 원 올랐어."),
        ("인원은 4명이야.", "인원이 2명 늘었어."),
        ("출발은 5일이야.", "출발이 3일 미뤄졌어."),
        ("예산은 100만 원이야.", "예산은 50만 원을 썼어."),
        ("회의는 3시야.", "회의는 5시에 끝나."),
        ("수업은 화요일이야.", "수업은 수요일도 있어."),
        ("The budget is $100.", "The budget was raised by $20."),
        ("The team is 5 people.", "The team is now 2 people short."),
        ("예산은 100만 원이야.", "예산을 150으로 올리자."),  # 150 of what
        # nothing has changed yet
        ("예산은 1억 원이야.", "예산을 2억 원으로 바꾸지 않기로 했어, 그대로 1억 원이야."),
        ("The budget is $100.", "The budget has not changed to $150."),
        ("The budget is $100.", "I am thinking about changing the budget to $150."),
        ("예산은 1억 원이야.", "예산을 2억 원으로 늘리면 좋겠지만 아직 안 정했어."),
        ("The budget is $100.", "The budget would have risen to $150."),
        ("예산은 100만 원이야.", "예산을 150만 원으로 늘리자고 했지만 거절당했어."),
        ("예산은 100만 원이야.", "예산은 최대 150만 원까지 늘릴 수 있어."),
        ("예산은 100만 원이야.", "예산은 150만 원일지도 몰라."),
        ("예산은 100만 원이야.", "예산은 아마 150만 원일 거야."),
        ("예산은 100만 원이야.", "예산을 150만 원으로 늘릴 예정이야."),
        ("예산은 100만 원이야.", "예산을 150만 원으로 올려 달라고 부탁했어."),
        ("예산은 100만 원이야.", "예산을 150만 원으로 늘려야 할 것 같아."),
        # supposed
        ("My budget is $500.", "Suppose the budget is $700."),
        ("My budget is $500.", "Let's say the budget is $700."),
        ("My budget is $500.", "Imagine my budget is $700."),
        ("My budget is $500.", "Assume the budget rose to $700."),
        ("예산은 100만 원이야.", "만약 예산이 200만 원이면 호텔을 바꿀 거야."),
        ("예산은 100만 원이야.", "예산이 200만 원이라면 호텔을 바꿀 텐데."),
        ("예산은 100만 원이야.", "예산이 200만 원이라고 가정하고 계산해줘."),
        ("환율은 1,300원이야.", "환율이 1,400원이 되면 알려줘."),
        # at another time, in another place, by another speaker
        ("My budget is $500.", "Last year the budget was $400."),
        ("My rent is $900.", "My rent was $800 when I moved in."),
        ("The meeting is on Thursday.", "Last week the meeting was on Tuesday."),
        ("The meeting is at 3 pm.", "Tomorrow the meeting is at 5 pm."),
        ("My flight is at 9 am.", "My flight is at 7 pm on the way back."),
        ("My flight is at 7 pm on the way back.", "My flight is at 9 am."),
        ("The price is $20.", "At Costco the price is $15."),
        ("My budget is $500.", "My wife thinks the budget is now $700."),
        ("My age is 30.", "My boss said the age is 35."),
        ("월세는 65만 원이야.", "옛날에 월세는 30만 원이었어."),
        ("월세는 65만 원이야.", "처음 이사 왔을 때 월세는 50만 원이었어."),
        ("회의는 3시야.", "내일 회의는 5시야."),
        ("가격은 2만 원이야.", "코스트코에서 가격은 1만 5천 원이야."),
        ("예산은 100만 원이야.", "남편은 예산이 150만 원이라고 생각해."),
        ("약은 하루 2번 먹어.", "약은 하루 3번까지 먹어도 된대."),
        # of another thing, or of nothing that is named
        ("쌀은 80kg이야.", "3kg 빠져서 69kg이 됐어."),
        ("회의는 3시야.", "회의 길어져서 이제 5시야."),
        ("우리 딸은 7살이야.", "아들 생일 지나서 이제 8살이야."),
        ("The exam is on December 12.", "The party is not on December 12. It's on December 21."),
        ("The exam is on December 12.", "My room changed. It's on the 3rd floor."),
        ("월세는 65만 원이야.", "전화번호 바뀌었어. 70만 원이야."),
        ("The exam is not on December 12.", "The exam moved from December 12 to December 21."),
        ("My rent is $900 a month.", "My rent is $11,000 a year."),
        ("월세는 한 달에 65만 원이야.", "월세는 1년에 780만 원이야."),
        # something else that is said of the thing
        ("호텔은 1박에 20만 원이야.", "호텔은 3박 예약했어."),
    ],
)
def test_other_things_keep_their_values(before: str, said: str) -> None:
    assert change.apply(before, change.said([before], assertions(said))) == before


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
