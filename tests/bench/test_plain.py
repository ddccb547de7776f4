from __future__ import annotations

import argparse
from collections import Counter
from contextlib import closing
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench import plain
from bench.everyday import side, when
from bench.everyday.check import Given, failed, prompt_pieces
from bench.everyday.conversation import KINDS, Conversation, EverydayTurn, conversations
from bench.everyday.figure import figures, judge, rows
from bench.everyday.item import items
from bench.everyday.side import Played
from bench.everyday.spelling import Span
from graph.turn.agent import open_agent
from graph.turn.memory.past_turns import PastQuery, recall_past
from model import scripted
from settings import load_settings
from tests.table import table

NOON = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
SPAN = Span(NOON, NOON)


def checked(turn: EverydayTurn, answer: str, language: str = "en", **more: Any) -> list[str]:
    return failed(Given(turn, turn.say, answer, language, SPAN, **more))


def asked(say: str = "What about it?", **expected: object) -> EverydayTurn:
    return EverydayTurn("ask", say, **expected)  # type: ignore[arg-type]


@table(
    ("form", "accepted", "refused"),
    [
        ("=6950000", "한 달에 총 **695만 원**입니다.", "한 달에 총 69만 5천 원입니다."),
        ("=6950000", "6,950,000원이 나갑니다.", "16,950,000원이 나갑니다."),
        ("=23000", "2만 3천원입니다.", "2만 명, 3천 원입니다."),
        ("=169.2", "That is $169.20.", "That is $169."),
        ("=14", "168 / 12 = 14 cards a day", "about 140 cards a day"),
        ("{date:03-09}", "3월 9일에 엽니다.", "13월 9일도 3월 19일도 아닙니다."),
        ("{date:03-09}", "On the 9th of March.", "On the 9th of May."),
        ("{date:+5}", "2026-03-14, March 14th", "March 4th"),
        ("{weekday:+2}", "수요일입니다.", "목요일입니다."),
        ("{weekday:+2}", "It is a Wednesday.", "It is a Thursday."),
        ("{time:Asia/Seoul}", "지금은 오후 9시 1분입니다.", "지금은 오전 9시 1분입니다."),
        ("{time:Asia/Seoul}", "It's 21:00 there.", "It's 20:00 there."),
        ("{time:Asia/Seoul}", "It is 9 p.m.", "It is 9 a.m."),
        ("docx", "A .DOCX file", "A .doc file"),
        ("솔내음", "솔내음펜션이에요", "소나무펜션이에요"),
        ("Ann", "It was Ann's idea.", "It was an annual idea."),
    ],
)
def test_a_form_is_found_however_it_is_spelled_and_in_nothing_else(form: str, accepted: str, refused: str) -> None:
    turn = asked(has=[[form]])
    assert "has" not in checked(turn, accepted, "any")
    assert "has" in checked(turn, refused, "any")


def test_a_form_of_every_group_must_be_there() -> None:
    turn = asked(has=[["서연"], ["도윤", "도윤이"]])
    assert checked(turn, "서연 씨와 도윤 씨입니다.", "ko") == []
    assert checked(turn, "서연 씨입니다.", "ko") == ["has"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("오픈은 3월 9일입니다.", []),
        ("3월 2일에서 3월 9일로 미뤄졌습니다.", []),
        ("오픈은 3월 2일입니다.", ["has", "old"]),
        ("3월 9일로 미뤄졌군요. 오픈은 3월 2일입니다.", ["old"]),
    ],
)
def test_an_old_value_stands_only_beside_the_new_one(answer: str, expected: list[str]) -> None:
    assert checked(asked(has=[["{date:03-09}"]], old=["{date:03-02}"]), answer, "ko") == expected


def test_a_text_that_was_to_be_rewritten_must_not_come_back_as_it_was() -> None:
    turn = asked(has=[["June 21"]], lacks=["It is on June 21 now."])
    assert checked(turn, "Good news: we now celebrate on June 21!") == []
    assert checked(turn, "Hi! It is on **June 21** now.") == ["lacks"]


@table(
    ("answer", "number"),
    [
        ("Here are three:\n1. **Seeds**: a packet\n   - cheap\n   - small\n2. **Candles**\n3. **Honey**: a jar", 3),
        ("Here are some:\n\n1. Seeds\n2. Candles\n\nEnjoy!", 2),
        ("- seeds\n- candles\n- honey\n\nTell me if you need more.", 3),
        ("### 1. Seeds\nCheap.\n### 2. Candles\nNice.", 2),
        ("첫째, 할인 쿠폰을 줍니다. 둘째, 시음을 합니다. 셋째, 추첨을 합니다.", 3),
        ("1) seeds 2) candles 3) honey", 3),
        ("You could see Alfama, Baixa and Chiado.", 3),
        ("라멘, 타코야키, 오코노미야키를 추천합니다.", 3),
        ("I have no idea.", 1),
    ],
)
def test_items_are_counted_however_they_are_listed(answer: str, number: int) -> None:
    assert len(items(answer)) == number


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1. Alfama: old\n2. Baixa: flat\n3. Chiado: shops", []),
        ("1. Alfama: old\n2. Alfama: steep\n3. Alfama: nice", ["items"]),
        ("1. Alfama\n2. Baixa", ["items"]),
        ("1. Alfama\n2. Baixa\n3. Chiado\n4. Belém", ["items"]),
    ],
)
def test_a_list_has_as_many_different_items_as_were_asked_for(answer: str, expected: list[str]) -> None:
    assert checked(asked("Which three?", items=3), answer) == expected


def test_a_follow_up_is_about_the_item_it_names() -> None:
    listed = "1. **스탬프 쿠폰**: 열 번에 한 잔\n2. **무료 시음회**: 원두 세 가지\n3. **인스타 이벤트**: 사진 추첨"
    second, last = asked("두 번째 거 설명해줘요", item=2), asked("마지막 거는요?", item=-1)
    assert checked(second, "시음회에서는 손님이 원두를 맛봅니다.", "ko", listed=listed) == []
    assert checked(second, "쿠폰에 도장을 찍어 드립니다.", "ko", listed=listed) == ["item"]
    assert checked(last, "인스타에 사진을 올리면 추첨합니다.", "ko", listed=listed) == []
    joined = "Easy vegetables for a child to grow are tomatoes, carrots, and cucumbers."
    assert checked(asked("and the first?", item=1), "Give tomatoes a sunny spot.", listed=joined) == []
    assert checked(asked("and the first?", item=1), "Give carrots loose soil.", listed=joined) == ["item"]
    assert checked(second, "무엇이든 좋습니다.", "ko", listed="세 가지를 알려드릴게요.") == ["item"]


@pytest.mark.parametrize(
    ("language", "accepted", "refused"),
    [
        ("ko", "`GIEOK_EMBEDDED_PATH`에 경로를 적으세요.", "Set the path of your file."),
        ("ko", "리스트는 dict.fromkeys(numbers)로 줄입니다.", "이 방법은 非常简单입니다."),
        ("en", "Your flight is TP1363.", "항공편은 TP1363입니다."),
        ("any", "Obrigado, estava delicioso.", ""),
    ],
)
def test_the_answer_is_in_the_language_that_was_asked_for(language: str, accepted: str, refused: str) -> None:
    assert checked(asked("?"), accepted, language) == []
    assert checked(asked("?"), refused, language) in (["language"], ["empty"])


def test_a_question_that_is_said_back_is_an_echo_and_a_restated_fact_is_none() -> None:
    listing = asked("오픈 이벤트 아이디어 세 가지만 짧게 알려주세요")
    assert checked(listing, "오픈 이벤트 아이디어 세 가지만 짧게 알려주세요.", "ko") == ["echo"]
    assert checked(listing, "네, 오픈 이벤트 아이디어 세 가지만 짧게 알려주세요!", "ko") == ["echo"]
    told = asked("turns out the chem exam got pushed to May 11, same room")
    assert checked(told, "Got it: your chemistry exam is now on May 11, in the same room.") == []


def test_text_of_our_prompts_is_a_leak_unless_the_user_typed_it() -> None:
    sentence = max((piece for piece in prompt_pieces() if piece.isascii()), key=len)
    assert checked(asked(), f"Sure. {sentence.capitalize()}.") == ["leak"]
    assert checked(asked(), f"Sure. {sentence.capitalize()}.", typed=f"What does «{sentence}» mean?") == []
    assert checked(asked(), "Sure, I remember that.") == []


def test_a_sentence_three_times_is_a_repetition_and_twice_is_none() -> None:
    sentence = "Sow them in early spring. "
    assert checked(asked(), sentence * 3 + "Then wait.") == ["repeat"]
    assert checked(asked(), sentence * 2 + "Then wait.") == []


def test_an_earlier_answer_again_is_wrong_where_no_value_was_asked_for() -> None:
    earlier = "When does your café open, and what will you serve there?"
    assert checked(asked("we open in March"), earlier, before=[earlier]) == ["again"]
    assert checked(asked("we open in March"), "March is a fine month to open a café.", before=[earlier]) == []
    assert checked(asked("we open in March"), "Good to know!", before=["Good to know!"]) == []
    assert (
        checked(asked("when?", has=[["March"]]), "It opens in March, as you told me.", before=["It opens in March"])
        == []
    )


@pytest.mark.parametrize(
    ("said", "language", "expected"),
    [
        ("I'm sorry, but I can't help with that.", "en", ["refusal"]),
        ("죄송합니다, 하지만 저는 사람을 추적할 수 없습니다.", "ko", ["refusal"]),
        ("I'm sorry to hear that. Try to rest.", "en", []),
        ("요즘 잠을 못 주무셔서 힘드시겠어요.", "ko", []),
    ],
)
def test_what_the_user_tells_is_not_turned_down(said: str, language: str, expected: list[str]) -> None:
    assert checked(asked("요즘 잠을 못 자네요"), said, language) == expected


def test_an_answer_may_be_no_longer_than_was_asked() -> None:
    assert checked(asked(longest=20), "Please come early.") == []
    assert checked(asked(longest=20), "Please come ten minutes early.") == ["longest"]


def test_days_in_what_the_user_types_are_those_of_the_clock() -> None:
    assert when.said("{date:+5}이 무슨 요일이야?", "ko", NOON) == "3월 14일이 무슨 요일이야?"
    assert when.said("on {date:+5}, a {weekday:+5}", "en", NOON) == "on March 14, a Saturday"


def test_there_are_twelve_conversations_of_twelve_turns_half_in_each_language_and_a_third_held_out() -> None:
    known = conversations()
    assert Counter(each.language for each in known) == {"ko": 6, "en": 6}
    assert Counter(each.language for each in known if each.held_out) == {"ko": 2, "en": 2}
    assert {len(each.turns) for each in known} == {12}
    assert len({each.name for each in known}) == 12


def test_every_kind_is_there_and_every_check_is_used() -> None:
    turns = [turn for each in conversations() for turn in each.turns]
    assert {turn.kind for turn in turns} == set(KINDS)
    empty = EverydayTurn("", "")
    for name in (field.name for field in fields(EverydayTurn)):
        assert any(getattr(turn, name) != getattr(empty, name) for turn in turns), name
    for kind in ("sum", "date", "place", "product", "recall", "current"):
        assert all(turn.has for turn in turns if turn.kind == kind), kind


def test_a_question_about_an_item_comes_after_the_list() -> None:
    for conversation in conversations():
        for number, turn in enumerate(conversation.turns):
            assert not turn.item or any(earlier.items for earlier in conversation.turns[:number])


def conversation() -> Conversation:
    turns = (
        EverydayTurn("tell", "my exam is in room 214"),
        EverydayTurn("recall", "which room is it?", has=[["=214"]]),
    )
    return Conversation("exam", "en", False, turns)


def played(answer: str, seconds: float, calls: int = 1, number: int = 1) -> Played:
    began = NOON.timestamp()
    return Played(conversation().turns[number].say, "which room?", answer, began, began + seconds, seconds / 2, calls)


def test_figures_compare_both_sides() -> None:
    ours = judge([conversation()], {"exam": [played("Noted.", 2, number=0), played("Room 214.", 6, 2)]})
    theirs = judge([conversation()], {"exam": [played("Good luck!", 1, number=0), played("I do not know.", 3)]})
    found = figures(ours, theirs)
    assert (found["right_share"], found["plain_right_share"], found["gain"]) == (1.0, 0.5, 0.5)
    assert (found["seconds_ratio"], found["first_token_ratio"], found["calls_per_turn"]) == (2.0, 2.0, 1.5)
    assert found["held_out_right_share"] is None
    assert [row["plain_failed"] for row in rows(ours, theirs)] == ["", "has"]


def test_without_the_plain_side_there_is_no_gain() -> None:
    found = figures(judge([conversation()], {"exam": [played("Noted.", 2, number=0), played("214", 6)]}), [])
    assert found["plain_right_share"] is found["gain"] is found["seconds_ratio"] is None


def test_a_side_that_was_kept_is_taken_again_unless_the_words_have_changed(tmp_path: Path) -> None:
    kept = {"exam": [played("Noted.", 2, number=0), played("Room 214.", 6)]}
    plain.save(tmp_path / "side.json", kept)
    assert plain.read(tmp_path / "side.json", [conversation()]) == kept
    changed = Conversation(
        "exam", "en", False, (EverydayTurn("tell", "my exam is in the gym"), conversation().turns[1])
    )
    assert plain.read(tmp_path / "side.json", [changed]) == {}
    assert asdict(kept["exam"][0])["said"] == "my exam is in room 214"


@pytest.mark.parametrize(
    ("options", "number"),
    [([], 12), (["--tuning"], 8), (["--language", "ko"], 6), (["--only", "en-garden", "--only", "ko-cafe"], 2)],
)
def test_options_choose_conversations(options: list[str], number: int) -> None:
    parser = argparse.ArgumentParser()
    plain.add_arguments(parser)
    args = parser.parse_args(options)
    assert sum(plain.wanted(args, each) for each in conversations()) == number


def test_a_user_may_have_had_ten_conversations_before_in_the_language_of_the_bench(tmp_path: Path) -> None:
    with closing(
        open_agent(load_settings(data_dir=tmp_path, memory=True, retrieval=False), scripted.build_scripted_models)
    ) as agent:
        assert agent.memory is not None
        agent.memory.wait(60)
        side.store_earlier(agent, ["ko"])
        assert [each.language for each in agent.store.sessions()] == ["ko"] * 10
        new = agent.store.create_session("ko", 0.3)
        assert "복숭아" in recall_past(agent, new, PastQuery("내가 알레르기 있는 과일이 뭐였지?", 1)).text
