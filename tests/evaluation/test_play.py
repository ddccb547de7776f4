"""One play of a recorded conversation serves every form of memory."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from errors import EvaluationFailed
from evaluation.form import FORMS
from evaluation.play import RecordedConversation, live_messages, play_turns
from evaluation.scenario import OtherConversation, RecordedCall, RecordedTurn
from model import scripted
from model.call.stream import Stopped
from model.profile import SMALL

NOON = datetime(2024, 2, 29, 12, 0)


def told(user: str, answer: str = "알겠습니다.", **fields: Any) -> RecordedTurn:
    return RecordedTurn(user=user, answer=answer, **fields)


CAFE = [
    told("카페 이름은 «달빛»으로 정했어."),
    told("월세는 320만 원이야."),
    told("직원은 미나와 준호 두 명이야."),
    told("개업일은 5월 3일이야."),
    told("커피 기계는 2,400만 원에 샀어."),
    told("개업일이 5월 10일로 바뀌었어."),
    told("간판 업체 전화는 02-555-1234야."),
]


def small() -> Any:
    return scripted.build_scripted_models(profile=SMALL)


def test_every_form_is_taken_from_one_play_without_a_model_call() -> None:
    models = small()
    with play_turns(models, RecordedConversation(CAFE, "ko")) as play:
        contexts = {form: play.context(form) for form in FORMS}
        assert contexts["none"].lines == ()
        assert contexts["none"].tokens == 0
        assert "달빛" not in contexts["turns"].text
        assert "02-555-1234" in contexts["turns"].text
        assert "320만" in contexts["chunks"].text
        assert "02-555-1234" not in contexts["chunks"].text
        assert all(turn.user in contexts["full"].text for turn in CAFE)
        assert all(word in contexts["all"].text for word in ("달빛", "02-555-1234", "5월 10일"))
        assert contexts["full"].tokens == models.count(contexts["full"].text)
    assert models.chat.calls == []
    assert models.utility.calls == []


def test_recorded_tool_calls_run_and_their_results_stand_in_the_record() -> None:
    call = RecordedCall(name="find_order", arguments={"id": "A-17"}, result="주문 A-17: 배송 중")
    with play_turns(
        small(), RecordedConversation([told("내 주문 A-17 어디 있어?", "배송 중입니다.", tools=(call,))], "ko")
    ) as play:
        (row,) = play.rows
        assert [(step["name"], step["result"]) for step in row.steps] == [("find_order", "주문 A-17: 배송 중")]
        assert row.answer == "배송 중입니다."
        assert "주문 A-17: 배송 중" in play.context("full").text


def test_dates_of_the_recording_reach_the_rows_the_prompt_and_the_tool() -> None:
    call = RecordedCall(name="current_time", arguments={"zone": "local"}, result="-")
    turns = [told("오늘은 비가 와.", at=NOON), told("몇 시야?", at=NOON, tools=(call,))]
    strong = scripted.build_scripted_models(utility=lambda messages: "요약")
    with play_turns(strong, RecordedConversation(turns, "ko", NOON)) as play:
        assert [datetime.fromtimestamp(row.started) for row in play.rows] == [NOON, NOON]
        assert "2024-02-29" in "\n".join(str(message.text) for message in play.prompt_for().messages)


def test_what_another_user_told_reaches_nobody_else() -> None:
    other = OtherConversation(user="mina", turns=tuple(told(f"내 비밀번호는 KX-90{n}이야.") for n in range(6)))
    with play_turns(small(), RecordedConversation(CAFE, "ko", others=[other])) as play:
        for form in FORMS:
            assert "KX-90" not in play.context(form).text, form


def test_a_conversation_without_others_begins_with_an_empty_memory() -> None:
    with play_turns(small(), RecordedConversation(CAFE[:1], "en")) as play:
        assert play.context("chunks").lines == ()


def test_the_live_question_gets_what_the_form_gives() -> None:
    with play_turns(small(), RecordedConversation(CAFE, "ko")) as play:
        system, question = live_messages(play, "chunks", "카페 이름이 뭐였지?")
        assert "320만" in str(system.text)
        assert question.text == "카페 이름이 뭐였지?"
        assert str(live_messages(play, "all", "카페 이름이 뭐였지?")[-1].text).endswith("카페 이름이 뭐였지?")


def test_a_play_stops_between_two_turns() -> None:
    heard: list[int] = []
    with (
        pytest.raises(Stopped),
        play_turns(small(), RecordedConversation(CAFE, "ko"), stop=lambda: len(heard) == 2, heard=heard.append),
    ):
        pass
    assert heard == [1, 2]


def test_a_turn_that_fails_ends_the_play_with_its_number() -> None:
    turns = [told("월세는 320만 원이야."), told("개업일은 5월 3일이야.", " ")]
    with (
        pytest.raises(EvaluationFailed, match=r"Turn 2 .* empty_answer"),
        play_turns(small(), RecordedConversation(turns, "ko")),
    ):
        pass
