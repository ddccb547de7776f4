"""What a sentence says of what."""

from __future__ import annotations

import time

import pytest

from memory.stated import stated, statement


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("예산은 100만 원이고 인원은 4명이야.", [("예산", "100만 원"), ("인원", "4명")]),
        ("예산은 100만 원, 날짜는 5월 3일이야.", [("예산", "100만 원"), ("날짜", "5월 3일")]),
        ("고양이 이름은 초코야.", [("고양이 이름", "초코")]),
        ("서울에 있는 숙소는 그랜드호텔이야.", [("서울에 있는 숙소", "그랜드호텔")]),
        ("내 계좌번호는 110-123-456789야.", [("계좌번호", "110-123-456789")]),
        ("카드번호는 1234-5678-9012-3456이야.", [("카드번호", "1234-5678-9012-3456")]),
        ("My phone is (555) 123-4567.", [("phone", "(555) 123-4567")]),
        ("여행은 2박 3일이야.", [("여행", "2박 3일")]),
        ("The meeting is on May 3 at 3 pm.", [("meeting", "May 3 at 3 pm")]),
        ("Oh wait the meeting is on Friday.", [("meeting", "Friday")]),
        ("Sarah said her salary is $500.", [("her salary", "$500")]),
        ("The deadline is 5/10/2026.", [("deadline", "5/10/2026")]),
        ("생일은 98년 3월 5일이야.", [("생일", "98년 3월 5일")]),
        ("The trip costs $3 trillion.", [("trip", "$3 trillion")]),
        ("My son is allergic to Ibuprofen.", []),
        ("My manager is on holiday in Paris.", []),
        ("인원이 2명 늘었어.", []),
        # a noun that ends like a particle, and one without any
        ("와이파이 비밀번호 banana5678로 바꿨어.", [("와이파이 비밀번호", "banana5678")]),
        ("하와이 여행 예산 300만 원이야.", [("하와이 여행 예산", "300만 원")]),
        ("하와이 여행 5월 3일로 잡았어.", []),
        ("올가을 여행 11월 3일이야.", []),
        ("우리 고양이 5살이야.", [("고양이", "5살")]),
        ("어린이 보험 월 3만 원이야.", [("어린이 보험", "3만 원")]),
        ("여름휴가 8월 3일부터야.", []),
        ("떡볶이 2인분 12,000원 나왔어.", []),
        ("목걸이 20만 원 줬어.", []),
        ("엄마 생신 5월 21일이래, 내가 잘못 알았어.", [("엄마 생신", "5월 21일")]),
        ("오늘 점심 9천 원이야.", []),
        ("아마 3시야.", []),
        ("약 5명이야.", []),
        ("차 팔고 소나타로 바꿨어.", []),
        ("약은 하루 2번 먹어.", [("약", "2번")]),
        # what stands before a colon
        ("I got a new phone number: 555-9876.", [("phone number", "555-9876")]),
        ("Sorry, typo: my name is Anna Lopez.", [("name", "Anna Lopez")]),
        ("전화번호 바뀌었어: 010-1234-5678", []),
        ("budget: $500", [("budget", "$500")]),
        ("One more thing: I bought a sleeve for $35 in the same order.", []),
        # in one of several clauses
        ("회의는 12월 4일 금요일 오후 2시, 본사 7층 회의실이야.", [("회의", "12월 4일")]),
        ("어른 2명, 아이 1명이고 예산은 120만 원입니다.", [("예산", "120만 원")]),
        ("배포 금지 기간이 12월 21일부터 1월 3일까지야.", [("배포 금지 기간", "12월 21일부터 1월 3일")]),
        ("친구 이름은 박지훈인데 고기를 안 먹어.", [("친구 이름", "박지훈")]),
        ("만약 예산이 150만 원인데 호텔이 없으면 취소해.", []),
        # something of the thing, not its value
        ("The meeting is in room 301.", []),
        ("The rent is paid until March 31.", []),
        ("엄마가 준 용돈 10만 원이야.", []),
        ("철수가 빌려간 돈 5만 원이야.", []),
        ("민수가 산 노트북 그램으로 바꿨어.", []),
        # not, or not now
        ("My budget isn't going up to $700.", []),
        ("We didn't raise the budget to $700.", []),
        ("예산을 150만 원으로 올릴까 고민 중이야.", []),
        ("Last year the budget was $400.", []),
        ("옛날에 월세는 30만 원이었어.", []),
    ],
)
def test_a_subject_with_its_value(said: str, told: list[tuple[str, str]]) -> None:
    assert stated([said]) == told


@pytest.mark.parametrize(
    "line",
    [
        "word " * 8_000,
        "a" * 40_000,
        "가" * 40_000,
        "말은 " * 8_000,
        "and my " * 6_000,
        "his said " * 5_000,
        "got a " * 7_000,
    ],
)
def test_a_long_line_without_marks_takes_no_time(line: str) -> None:
    begun = time.thread_time()
    statement(line)
    assert time.thread_time() - begun < 1.0
