"""What a text is about: words are compared, not letters."""

from __future__ import annotations

import pytest

from memory import recollect
from memory.line import about, repeats
from memory.state import Entity, State

OTHER_THINGS = [
    ("car", "Carol is vegetarian."),
    ("car", "We are planning a scarf."),
    ("Ann", "We are planning a trip."),
    ("나이", "나이아가라 폭포에 갔어."),
    ("통화", "통화스와프가 뭐야."),
    ("item 2", "My item 20 costs $50."),
    ("$200", "The rent is $2000."),
    ("20만 원", "예산은 120만 원이야."),
    ("My item 2 costs $200", "My item 3 costs $300."),
    ("apartment number", "The department number is 5."),
    ("my birthday", "My wife's birthday is June 1."),
    ("내 생일", "친구 생일은 6월 1일이야."),
    ("My sister lives in Seoul", "My brother lives in Seoul."),
    ("Room A booking", "Room B booking is 4 pm."),
    ("it", "I like it when it rains."),
    ("그거", "다음 주에 그거 사야 해."),
    ("내 여권 번호", "엄마 여권 번호는 M765야."),
    ("my passport number", "My wife's passport number is M99."),
    ("회의 날짜", "회의는 301호에서 해."),
    ("the meeting date", "The meeting is in room 301."),
    ("내 나이", "우리 딸은 7살이야."),
    ("my age", "My son is 5 years old."),
    ("부산에 사는 거", "나는 부산에서 가방을 샀어."),
    ("커피 좋아하는 거", "나는 커피를 안 좋아해."),
    ("where I live", "I like Denver."),
    ("the party", "My part of the rent is $5."),
]
THE_SAME = [
    ("car", "My car's colour is red."),
    ("car", "내 car는 빨강이야."),
    ("나이", "내 나이는 서른이야."),
    ("이름", "제 이름이 김민수예요."),
    ("주소", "우리 집 주소인 서울로 와."),
    ("예산", "여행 예산이었는데 바뀌었어."),
    ("여권번호", "여권 번호는 M123이야."),
    ("와이파이 비밀번호", "와이파이 비밀번호인데요."),
    ("passport number", "passport_number: M123"),
    ("My item 2 costs $200.", "User said: My item 2 costs $200"),
    ("나는 땅콩 알레르기가 있어", "사용자는 땅콩 알레르기가 있다."),
    ("내 전화번호", "전화번호는 010-1234-5678이야."),
    ("my birthday", "My birthday is May 3."),
    ("the password of my wifi", "The wifi password is abcd1234."),
    ("예산은 100만 원이야", "사용자의 예산은 100만 원입니다."),
    ("予算", "私の予算は百万円です。"),
    ("회의 날짜", "회의는 5월 3일이야."),
    ("회의 시간", "회의는 5월 3일 오후 3시야."),
    ("이사 날짜", "이사는 3월 9일에 해."),
    ("회사 이름", "우리 회사는 한빛테크야."),
    ("the meeting date", "The meeting is on May 3."),
    ("내 나이", "나는 35살이야."),
    ("my age", "I am 35 years old."),
    ("부산에 사는 거", "나는 부산에 살아."),
    ("내가 부산에 산다는 거", "사용자는 부산에 살고 있다."),
    ("커피 좋아하는 거", "나는 커피를 좋아해."),
    ("예산 얘기", "여행 예산은 100만 원이야."),
    ("예산에 대한 것", "여행 예산은 100만 원이야."),
    ("where I live", "I live in Denver."),
    ("what I said about Tom", "Tom owes me $50."),
    ("my peanut allergy", "I'm allergic to peanuts."),
    ("my dogs", "My dog is Rex."),
]


@pytest.mark.parametrize(("what", "text"), OTHER_THINGS)
def test_letters_in_another_word_are_about_another_thing(what: str, text: str) -> None:
    assert not about(what, text)


@pytest.mark.parametrize(("what", "text"), THE_SAME)
def test_the_same_words_are_about_the_same_thing_whatever_is_written_around_them(what: str, text: str) -> None:
    assert about(what, text)


def test_forgetting_a_word_leaves_what_only_has_its_letters() -> None:
    entities = (Entity("car", "red", 1), Entity("carrier", "KT", 2))
    state = State(text="My car is red.\nCarol is vegetarian.", entities=entities, pins=("I like scarves.",))
    left = recollect.without(state, "car", 3)
    assert (left.text, left.entities, left.pins) == ("Carol is vegetarian.", entities[1:], ("I like scarves.",))


def test_of_an_earlier_topic_only_the_sentence_that_is_meant_is_forgotten() -> None:
    state = State(text="Hotel deposit is $200 ⁄ hotel parking is $200\nThe dog is Max.")
    assert recollect.without(state, "parking", 1).text == "Hotel deposit is $200\nThe dog is Max."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("나는 매운 음식을 정말 좋아해.", "나는 매운 음식을 정말 싫어해."),
        ("My sister is allergic to peanuts.", "My brother is allergic to peanuts."),
        ("I like spicy food very much.", "I do not like spicy food very much."),
        ("저는 커피를 안 마셔요.", "저는 커피를 마셔요."),
    ],
)
def test_sentences_that_differ_in_the_word_that_matters_repeat_nothing(one: str, other: str) -> None:
    assert not repeats(one, other)
    assert not repeats(other, one)
