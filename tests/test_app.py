"""The page's logic: the real script on a scripted model."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from streamlit.testing.v1 import AppTest

import settings
from component.answer.live import LiveAnswerView
from component.page import follow, window
from component.page.announce import NAMES
from component.panel import comparison
from component.work import resource
from errors import GieokError, ModelUnreachable, WeightsMissing
from graph.turn import request
from model.choice import resolve
from model.modelset import ModelSet
from model.scripted import build_scripted_models as scripted
from store import Finished, Store
from tests.component.listing import act, go, listed, look, titles
from tests.conftest import Serve

APP = str(Path(__file__).parent.parent / "app.py")
Answer = str | AIMessage | BaseException
pytestmark = pytest.mark.usefixtures("fresh")


def page(language: str = "ko-KR", **query: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": language}
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    return at


def say(at: AppTest, text: str) -> AppTest:
    at.chat_input(key="ask").set_value(text).run()
    assert not at.exception
    return at


def texts(at: AppTest) -> str:
    """Everything that can be read on the page, one element a line."""
    kinds = (at.text, at.markdown, at.caption, at.code, at.error, at.info)
    return "\n".join(str(each.value) for kind in kinds for each in kind)


def unfollowed(monkeypatch: pytest.MonkeyPatch) -> list[LiveAnswerView | None]:
    """Runs of the page end as soon as they are drawn; returns where each drew the running answer."""
    seen: list[LiveAnswerView | None] = []
    monkeypatch.setattr(follow, "follow_chat_work", lambda view, live, *_: seen.append(live))
    return seen


def session_of(at: AppTest) -> str:
    value = at.query_params["s"]
    return value if isinstance(value, str) else value[0]


def store() -> Store:
    return resource.find_user_agent().store


# --- first look ---------------------------------------------------------------------------------


def test_an_empty_page_invites_with_three_questions(serve: Serve) -> None:
    serve()
    at = page()
    assert [at.button(key=f"sample-{number}").label for number in (1, 2, 3)] == [
        "지금 서울은 몇 시야?",
        "1,250,000원의 15%는 얼마야?",
        "주말에 갈 만한 서울 근교 여행지를 추천해줘",
    ]
    assert "s" not in at.query_params
    assert store().sessions() == []


def test_the_slider_is_the_specified_one(serve: Serve) -> None:
    serve()
    slider = page().slider(key="rate-new")
    assert (slider.label, slider.min, slider.max, slider.value, slider.step) == ("요약 압축률", 0.1, 0.5, 0.3, 0.05)
    assert slider.help == "낮을수록 짧게 요약, 높을수록 상세하게 요약"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:8080/v1", "대화는 이 컴퓨터를 떠나지 않습니다."),
        ("https://api.openai.com/v1", r"메시지는 api\.openai\.com(으)로 전송되고, 대화 기록은 이 컴퓨터에 저장됩니다."),
    ],
)
def test_it_says_where_the_conversation_goes(monkeypatch: pytest.MonkeyPatch, url: str, said: str) -> None:
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: replace(scripted(), url=url))
    assert said in texts(page()).splitlines()


@pytest.mark.parametrize(
    ("url", "said"), [("http://127.0.0.1:8080/v1", "로컬 서버"), ("https://api.openai.com/v1", "외부 서비스")]
)
def test_a_server_on_this_machine_is_no_external_service(monkeypatch: pytest.MonkeyPatch, url: str, said: str) -> None:
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: replace(scripted(), kind="hosted", url=url))
    at = page()
    at.button(key="model-open").click().run()
    assert [each for each in ("로컬 서버", "외부 서비스") if each in texts(at)] == [said]


def test_the_language_is_the_browsers_until_it_is_chosen(serve: Serve) -> None:
    serve()
    at = page("en-US")
    assert at.slider(key="rate-new").label == "Summary compression"
    at.session_state["options-open"] = "look"
    at.button(key="open-options-window").click().run()
    at.segmented_control(key="options-language").set_value("ko").run()
    assert at.slider(key="rate-new").label == "요약 압축률"
    assert page("en-US").slider(key="rate-new").label == "요약 압축률"
    at.segmented_control(key="options-language").set_value("auto").run()
    assert at.slider(key="rate-new").label == "Summary compression"


def test_a_session_that_does_not_exist_is_told_and_a_new_chat_begins(serve: Serve) -> None:
    serve()
    at = page(s="no-such")
    assert "찾을 수 없습니다" in at.error[0].value
    assert "s" not in at.query_params
    at.run()
    assert not at.error


# --- a turn -------------------------------------------------------------------------------------


def test_a_message_gets_its_answer_and_the_session_an_address(serve: Serve) -> None:
    serve(["**압축률(0.3)**은 30%입니다."])
    at = say(page(), "압축률이 뭐야?")
    assert at.text[0].value == "압축률이 뭐야?"
    assert "**압축률(0.3)**&#8203;은 30%입니다." in texts(at)
    turn = store().turns(session_of(at))[0]
    assert (turn.status, turn.answer) == ("done", "**압축률(0.3)**은 30%입니다.")


def test_a_sample_question_is_sent_like_any_other(serve: Serve) -> None:
    serve(["열두 시입니다."])
    at = page()
    at.button(key="sample-1").click().run()
    assert at.text[0].value == "지금 서울은 몇 시야?"
    assert "열두 시입니다." in texts(at)


def test_the_session_is_found_again_by_its_address(serve: Serve) -> None:
    serve(["안녕하세요, 민수님."])
    session = session_of(say(page(), "나는 민수야, 반가워. 오늘 일정을 정리하자."))
    at = page(s=session)
    assert "안녕하세요, 민수님." in texts(at)
    assert titles(at)[0].startswith("나는 민수야")


def test_a_tool_step_is_shown_with_what_it_was_given_and_gave(serve: Serve) -> None:
    call = {"name": "calculate", "args": {"expression": "15*24"}, "id": "c1", "type": "tool_call"}
    serve([AIMessage("", tool_calls=[call]), "360입니다."])
    at = say(page(), "15 곱하기 24는?")
    assert any(each.label.startswith(r"계산\: 15\*24") for each in at.status)
    assert any("360" in each.value for each in at.code)
    assert "360입니다." in texts(at)


def test_a_failed_turn_says_what_to_do_and_can_be_tried_again(serve: Serve) -> None:
    serve([ModelUnreachable(url="http://127.0.0.1:9/v1"), "다시 왔습니다."])
    at = say(page(), "오늘 할 일을 세 가지만 정해줘")
    assert at.error[0].value.startswith("**`http://127.0.0.1:9/v1`의 모델에 연결할 수 없습니다")
    assert "다시 시도하세요" in at.error[0].value
    assert not [each for each in at.button if each.key == "again-1"], "one way to try again"
    at.button(key="retry-1").click().run()
    assert not at.error
    assert "다시 왔습니다." in texts(at)
    assert [turn.status for turn in store().turns(session_of(at))] == ["done"]


def test_an_answer_that_used_up_its_tokens_says_so(serve: Serve) -> None:
    serve([AIMessage("먼저 물을 끓이고, 다음에 국", response_metadata={"finish_reason": "length"}), "끝입니다."])
    at = say(page(), "국수 끓이는 법을 알려줘")
    assert sum("한도에서 잘렸습니다" in each.value for each in at.caption) == 1
    assert sum("한도에서 잘렸습니다" in each.value for each in say(at, "더 알려줘").caption) == 1


def test_a_cut_off_turn_says_so_and_can_be_resumed(serve: Serve) -> None:
    serve(["이어서 답합니다."])
    page()
    session = store().create_session("ko", 0.3).id
    store().begin_turn(session, "끊긴 질문에 답해줘")
    at = page(s=session)
    assert "끊겼습니다" in at.error[0].value
    at.button(key="retry-1").click().run()
    assert not at.error
    assert "이어서 답합니다." in texts(at)


def test_an_empty_message_is_refused_and_kept(serve: Serve) -> None:
    serve([])
    at = say(page(), "   \n ")
    assert "메시지가 비어 있습니다" in at.error[0].value
    assert store().sessions() == []


def test_a_message_that_is_too_long_can_be_taken_back(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MESSAGE_LIMIT", 10)
    serve([])
    at = say(page(), "이 메시지는 열 글자보다 깁니다")
    assert "10자까지" in at.error[0].value
    at.button(key="to-draft").click().run()
    assert not at.error


def test_without_a_model_the_page_says_why_and_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[GieokError | None] = [WeightsMissing(name="qwen", tried="huggingface")]

    def models(_: settings.Settings, **__: object) -> ModelSet:
        error = tries.pop() if tries else None
        if error:
            raise error
        return scripted(["준비됐습니다."])

    monkeypatch.setattr(resolve, "resolve_models", models)
    at = page()
    assert "모델 qwen의 가중치를 어디에서도 받지 못했습니다" in texts(at)
    at.button(key="model-retry").click().run()
    assert at.button(key="model-open").label == "scripted"
    assert "scripted" not in texts(at), "it stands in the header alone"
    assert "준비됐습니다." in texts(say(at, "이제 되는지 확인해줘"))


# --- another version of a turn ------------------------------------------------------------------


def test_another_answer_becomes_a_version_that_can_be_switched(serve: Serve) -> None:
    serve(["첫 번째 답입니다.", "두 번째 답입니다."])
    at = say(page(), "같은 질문에 다시 답해줘")
    at.button(key="again-1").click().run()
    assert "두 번째 답입니다." in texts(at)
    assert "첫 번째 답입니다." not in texts(at)
    assert "2/2" in texts(at).splitlines()
    at.button(key="earlier-1").click().run()
    assert "첫 번째 답입니다." in texts(at)
    assert "1/2" in texts(at).splitlines()
    assert at.button(key="earlier-1").disabled


def test_an_edited_question_is_asked_again_from_there(serve: Serve) -> None:
    serve(lambda messages: f"답: {messages[-1].text[-40:]}")
    at = say(say(page(), "부산 맛집을 알려줘"), "더 싼 곳은 없어?")
    at.button(key="edit-question-1").click().run()
    assert "edit-question-1" not in [button.key for button in at.button]
    at.text_area[0].set_value("제주 맛집을 알려줘")
    at.button[next(i for i, each in enumerate(at.button) if each.label == "보내기")].click().run()
    assert [turn.question for turn in store().turns(session_of(at))] == ["제주 맛집을 알려줘"]
    assert "더 싼 곳은 없어?" not in texts(at)
    at.button(key="earlier-1").click().run()
    assert "더 싼 곳은 없어?" in texts(at)


def test_an_answer_is_edited_and_the_chat_goes_on_after_the_users_words(serve: Serve) -> None:
    serve(["서울에서 부산까지 두 시간입니다.", "네, 세 시간 걸립니다."])
    at = say(page(), "부산까지 얼마나 걸려?")
    at.menu_button(key="more-1").set_value("reword").run()
    assert at.text_area[0].value == "서울에서 부산까지 두 시간입니다."
    at.text_area[0].set_value(" ").run()
    at.button(key="edit-send").click().run()
    assert "비어 있습니다" in texts(at)
    at.text_area[0].set_value("서울에서 부산까지 **세 시간**입니다.").run()
    at.button(key="edit-send").click().run()
    assert "서울에서 부산까지 **세 시간**입니다." in texts(at)
    assert "이 대화의 모델이 쓰지 않은 답변" in texts(at)
    assert "2/2" in texts(at).splitlines()
    assert "네, 세 시간 걸립니다." in texts(say(at, "확실해?"))
    at.button(key="earlier-1").click().run()
    assert "두 시간입니다." in texts(at)


def test_turns_are_taken_back_and_come_back(serve: Serve) -> None:
    serve(lambda messages: f"답: {messages[-1].text[-40:]}")
    at = say(say(say(page(), "부산 맛집을 알려줘"), "더 싼 곳은 없어?"), "거기까지 얼마나 걸려?")
    session = session_of(at)
    at.menu_button(key="more-2").set_value("take_back").run()
    assert [turn.question for turn in store().turns(session)] == ["부산 맛집을 알려줘"]
    assert "뒤에 있던 2턴은 다른 버전에 그대로" in texts(at)
    at.button(key="continued-back").click().run()
    assert len(store().turns(session)) == 3
    at.menu_button(key="more-3").set_value("take_back").run()
    assert "거기까지" not in texts(say(at, "제주 맛집을 알려줘"))
    assert [turn.question for turn in store().turns(session)][2:] == ["제주 맛집을 알려줘"]
    at.button(key="earlier-3").click().run()
    assert "거기까지 얼마나 걸려?" in texts(at)


@pytest.mark.parametrize(("number", "left"), [(1, [1, 2]), (2, [0, 2])])
def test_a_single_turn_is_deleted_and_comes_back(serve: Serve, number: int, left: list[int]) -> None:
    serve(lambda messages: f"답: {messages[-1].text[-40:]}")
    asked = ["부산 맛집을 알려줘", "더 싼 곳은 없어?", "거기까지 얼마나 걸려?"]
    at = say(say(say(page(), asked[0]), asked[1]), asked[2])
    session = session_of(at)
    assert "remove" not in at.menu_button(key="more-3").options, "the last one is taken back"
    at.menu_button(key=f"more-{number}").set_value("remove").run()
    assert [turn.question for turn in store().turns(session)] == [asked[at] for at in left]
    assert f"{number}번째 턴을 지웠습니다" in texts(at)
    assert "다른 버전에 그대로" not in texts(at), "nothing that followed is hidden"
    assert f"답: {asked[number - 1]}" not in texts(at)
    at.button(key="removed-back").click().run()
    assert [turn.question for turn in store().turns(session)] == asked
    assert "지웠습니다" not in texts(at)
    at.button(key=f"later-{number}").click().run()
    assert [turn.question for turn in store().turns(session)] == [asked[at] for at in left]


def test_the_later_turns_that_a_new_answer_hides_are_told_before_and_after_and_come_back(serve: Serve) -> None:
    serve(lambda messages: f"답: {messages[-1].text[-40:]}")
    at = say(say(say(page(), "부산 맛집을 알려줘"), "더 싼 곳은 없어?"), "거기까지 얼마나 걸려?")
    session = session_of(at)
    assert "뒤의 2턴은" in at.button(key="again-1").help
    assert "뒤의" not in at.button(key="again-3").help
    at.menu_button(key="more-1").set_value("edit").run()
    assert "뒤의 2턴은 지금 버전에 남습니다" in texts(at)
    at.button(key="edit-leave").click().run()
    at.button(key="again-1").click().run()
    assert "뒤에 있던 2턴은 다른 버전에 그대로" in texts(at)
    at.button(key="again-1").click().run()  # a third version: the turns are still two versions back
    assert "뒤에 있던 2턴은 다른 버전에 그대로" in texts(page(s=session))
    at.button(key="continued-back").click().run()
    assert [turn.question for turn in store().turns(session)][1:] == ["더 싼 곳은 없어?", "거기까지 얼마나 걸려?"]
    assert "뒤에 있던" not in texts(at)
    at.button(key="again-3").click().run()
    assert "뒤에 있던" not in texts(at), "nothing followed"


def long_chat(monkeypatch: pytest.MonkeyPatch) -> tuple[AppTest, str, threading.Event, list[LiveAnswerView | None]]:
    """The page of a chat of 144 turns, its session, what the next answer waits for, and where each run drew it."""
    here = threading.Event()
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: (here.wait(60), scripted(["새로 한 답입니다."]))[1])
    seen = unfollowed(monkeypatch)
    page()
    session = filled(144)
    return page(s=session), session, here, seen


@pytest.mark.parametrize("edited", [False, True])
def test_a_turn_that_was_gone_to_shows_its_new_answer_from_the_start(
    monkeypatch: pytest.MonkeyPatch, edited: bool
) -> None:
    at, session, here, seen = long_chat(monkeypatch)
    at.number_input(key=f"leap-earlier-{session}").set_value(37).run()
    if edited:
        at.menu_button(key="more-37").set_value("edit").run()
        at.text_area[0].set_value("질문 37을 고침")
        next(each for each in at.button if each.label == "보내기").click().run()
    else:
        at.button(key="again-37").click().run()
    shown = [each.value for each in at.text if each.value.startswith("질문")]
    assert shown == [f"질문 {number}" for number in range(17, 37)] + ["질문 37을 고침" if edited else "질문 37"]
    assert seen[-1] is not None
    assert "load-later" not in [each.key for each in at.button]
    here.set()
    while resource.find_user_jobs().of(session) is not None:
        time.sleep(0.01)
    assert "새로 한 답입니다." in texts(at.run())
    assert "load-later" not in [each.key for each in at.button]


def test_a_reader_further_back_than_the_new_answer_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    at, session, here, seen = long_chat(monkeypatch)
    at.button(key="again-140").click().run()
    at.number_input(key=f"leap-earlier-{session}").set_value(37).run()
    assert next(each.value for each in at.text if each.value.startswith("질문")) == "질문 34"
    assert seen[-1] is None
    assert "load-later" in [each.key for each in at.button]
    here.set()
    while resource.find_user_jobs().of(session) is not None:
        time.sleep(0.01)


def test_a_question_that_is_being_edited_stays_so_while_another_is_answered(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = threading.Event()
    serve(lambda messages: "네, 알겠습니다." if here.wait(60) else "")
    seen = unfollowed(monkeypatch)
    page()
    at = page(s=filled(3))
    at.menu_button(key="more-2").set_value("edit").run()
    draft = at.text_area[0].id
    say(at, "그사이에 보낸 질문")
    assert seen[-1] is not None
    assert [each.id for each in at.text_area] == [draft]
    send = next(each for each in at.button if each.label == "보내기")
    assert send.disabled
    here.set()
    while resource.find_user_jobs().of(session_of(at)) is not None:
        time.sleep(0.01)
    send = next(each for each in at.run().button if each.label == "보내기")
    assert not send.disabled
    assert [each.id for each in at.text_area] == [draft]


def test_a_draft_of_an_edit_outlives_a_look_elsewhere_and_goes_with_its_cancel(serve: Serve) -> None:
    serve()
    page()
    session, other = filled(60), filled(1)
    at = page(s=session)
    at.menu_button(key="more-60").set_value("edit").run()
    at.text_area[0].set_value("반쯤 고친 질문")
    at.number_input(key=f"leap-earlier-{session}").set_value(4).run()
    assert not at.text_area
    go(at, other)
    at.menu_button(key="more-1").set_value("edit").run()
    assert at.text_area[0].value == "질문 1"
    go(at, session)
    at.button(key="newest").click().run()
    at.menu_button(key="more-60").set_value("edit").run()
    assert at.text_area[0].value == "반쯤 고친 질문"
    next(each for each in at.button if each.label == "취소").click().run()
    at.menu_button(key="more-60").set_value("edit").run()
    assert at.text_area[0].value == "질문 60"


def test_another_answer_waits_until_its_question_is_no_longer_edited(serve: Serve) -> None:
    serve(["첫 번째 답입니다."])
    at = say(page(), "같은 질문에 다시 답해줘")
    at.menu_button(key="more-1").set_value("edit").run()
    assert at.button(key="again-1").disabled
    next(each for each in at.button if each.label == "취소").click().run()
    assert not at.button(key="again-1").disabled


def test_stopping_another_try_before_it_begins_says_nothing_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    here = threading.Event()
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: (here.wait(60), scripted(["네."]))[1])
    unfollowed(monkeypatch)
    page()
    session = filled(1)
    at = page(s=session)
    at.button(key="again-1").click().run()
    at.button(key="stop").click().run()
    while resource.find_user_jobs().of(session) is not None:
        time.sleep(0.01)
    assert [each.value for each in at.run().info] == ["답변이 시작되기 전에 중지했습니다."]
    assert "to-draft" not in [each.key for each in at.button]
    here.set()


def test_a_chat_forks_from_any_turn(serve: Serve) -> None:
    serve(lambda messages: "네, 알겠습니다.")
    at = say(say(page(), "첫 질문입니다"), "둘째 질문입니다")
    first = session_of(at)
    at.menu_button(key="more-1").set_value("fork").run()
    assert session_of(at) != first
    assert [turn.question for turn in store().turns(session_of(at))] == ["첫 질문입니다"]
    assert len(store().turns(first)) == 2


def test_a_thumb_and_its_reason_are_kept(serve: Serve) -> None:
    serve(["네."])
    at = say(page(), "평가를 남겨 볼게")
    session = session_of(at)
    at.feedback(key=f"thumb-{session}-0-1").set_value(0).run()
    at.text_input(key=f"note-{session}-0-1").set_value("숫자가 *틀림*").run()
    assert store().turns(session)[0].feedback == {"thumb": "down", "note": "숫자가 *틀림*"}
    assert r"숫자가 \*틀림\*" in texts(at)
    at.feedback(key=f"thumb-{session}-0-1").set_value(None).run()
    assert store().turns(session)[0].feedback is None
    assert "숫자가" not in texts(at)


# --- sessions and settings ----------------------------------------------------------------------


def test_a_new_chat_leaves_the_old_one_in_the_list(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = say(page(), "첫 번째 대화에서 물어봅니다")
    first = session_of(at)
    at.button(key="new-chat").click().run()
    assert "s" not in at.query_params
    assert at.button(key="sample-1").label
    say(at, "두 번째 대화에서 물어봅니다")
    assert session_of(at) != first
    go(at, first)
    assert session_of(at) == first
    assert at.text[0].value == "첫 번째 대화에서 물어봅니다"


def test_the_rate_chosen_before_the_first_message_is_the_sessions(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = page()
    at.slider(key="rate-new").set_value(0.1).run()
    say(at, "요약을 짧게 해줘")
    assert store().session(session_of(at)).compression_rate == 0.1
    assert at.slider(key=f"rate-{session_of(at)}").value == 0.1


def test_moving_the_slider_changes_this_session_only_and_is_kept(serve: Serve) -> None:
    serve(lambda messages: "네.")
    one = session_of(say(page(), "첫 번째 대화입니다"))
    at = say(page(), "두 번째 대화입니다")
    at.slider(key=f"rate-{session_of(at)}").set_value(0.5).run()
    assert store().session(session_of(at)).compression_rate == 0.5
    assert store().session(one).compression_rate == 0.3
    assert page(s=session_of(at)).slider(key=f"rate-{session_of(at)}").value == 0.5
    assert "현재 압축률: 0.5" in texts(page(s=session_of(at)))


def test_a_rate_from_outside_the_slider_is_refused(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = say(page(), "압축률을 바꿔보자")
    at.slider(key=f"rate-{session_of(at)}").set_value(0.9).run()
    assert not at.exception
    assert store().session(session_of(at)).compression_rate == 0.3


def test_a_long_conversation_shows_its_last_turns_and_more_on_demand(serve: Serve) -> None:
    serve()
    page()
    session = filled(44)
    at = page(s=session)
    shown = [each.value for each in at.text if each.value.startswith("질문")]
    assert (shown[0], shown[-1], len(shown)) == ("질문 25", "질문 44", 20)
    at.button(key="load-earlier").click().run()
    shown = [each.value for each in at.text if each.value.startswith("질문")]
    assert (shown[0], len(shown)) == ("질문 5", 40)


def test_a_turn_is_gone_to_by_its_number(serve: Serve) -> None:
    serve()
    page()
    session = filled(144)
    at = page(s=session)
    at.number_input(key=f"leap-earlier-{session}").set_value(37).run()
    assert not at.exception
    shown = [each.value for each in at.text if each.value.startswith("질문")]
    assert (shown[0], len(shown)) == ("질문 34", 20)
    assert at.number_input(key=f"leap-earlier-{session}").value is None
    named = tuple(re.findall(r"st-key-([\w-]+-)\"", " ".join(NAMES)))
    assert "earlier-" in named
    assert not any(str(each.key).startswith(named) for each in at.number_input)
    at.number_input(key=f"leap-earlier-{session}").set_value(1).run()
    assert "질문 1" in [each.value for each in at.text]
    at.number_input(key=f"leap-earlier-{session}").set_value(144).run()
    assert "질문 144" in [each.value for each in at.text]
    act(at, "export", ids=[session])
    at.number_input(key=f"leap-export-{session}").set_value(50).run()
    assert "질문 50" in [each.value for each in at.text]
    assert "이 대화의 링크" not in texts(at)


def test_a_short_chat_needs_no_way_to_its_turns(serve: Serve) -> None:
    serve()
    page()
    session = filled(3)
    assert f"leap-earlier-{session}" not in [each.key for each in page(s=session).number_input]


def test_a_deleted_chat_leaves_the_list_and_comes_back(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = say(page(), "지웠다가 되돌릴 대화입니다")
    session = session_of(at)
    act(at, "delete", ids=[session])
    assert "s" not in at.query_params
    assert store().sessions() == []
    at.button(key="undo-last").click().run()
    assert session_of(at) == session
    assert [each.id for each in store().sessions()] == [session]


def test_a_pinned_chat_stands_on_top(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = say(page(), "먼저 시작한 대화입니다")
    first = session_of(at)
    act(at, "pin", ids=[first], on=True)
    second = session_of(say(page(), "나중에 시작한 대화입니다"))
    assert [each.id for each in store().sessions()] == [first, second]
    assert [group["label"] for group in listed(page())["groups"]] == ["고정됨", "오늘"]


def test_a_search_finds_the_turn_and_opens_it(serve: Serve) -> None:
    serve(lambda messages: "네.")
    page()
    session = filled(44)
    at = page()
    (hit,) = listed(look(at, '"질문 7"'))["hits"]["rows"]
    go(at, hit["id"], hit["number"], hit["branch"])
    assert session_of(at) == session
    assert "질문 7" in [each.value for each in at.text]


# --- the panel ----------------------------------------------------------------------------------


def filled(turns: int) -> str:
    """A session with that many finished turns, without running them."""
    session = store().create_session("ko", 0.3).id
    for number in range(1, turns + 1):
        store().begin_turn(session, f"질문 {number}")
        store().finish_turn(session, number, Finished("done", answer=f"답 {number}"))
    return session


def add_summary(session: str, turns: list[int], original: int, text: str, length: int, **fields: Any) -> None:
    record = {
        "thread_id": session,
        "turns": turns,
        "turn_length": 3,
        "original_chars": original,
        "summary_chars": length,
        "compression_rate": 0.3,
        "summary": text,
    }
    status = fields.pop("status", "active")
    store().ledger.add(session, turns, 0.3, status, record=record, **fields)


def test_the_panel_draws_the_specifications_example(serve: Serve) -> None:
    serve()
    page()
    session = filled(10)
    add_summary(session, [1, 2, 3], 1500, "사용자가 인사하고 파이썬 3.13…", 450)
    add_summary(session, [4, 5, 6], 100, "사용자가 현재 시간을 물어봄…", 30)
    add_summary(session, [7, 8, 9], 800, "저녁 약속에 대해 이야기했으며…", 240)
    said = texts(page(s=session))
    for line in (
        "## 📝 대화 요약 히스토리",
        "현재 압축률: 0.3 (원문의 30% 길이)",
        r"**\[1\-3턴 요약\]** :gray[원문의 30% \(목표 30%\)]",
        "1500자 → 450자",
        "사용자가 인사하고 파이썬 3.13…",
        "100자 → 30자",
        "800자 → 240자",
        "## 📊 요약 통계",
        "총 요약: 3개 (9턴 압축)",
        "원본: 2400자 → 요약: 720자",
        "전체 **70%** 줄임",
        "10-12턴의 요약은 13턴부터 사용합니다.",
    ):
        assert line in said.splitlines()


def test_the_panel_says_how_much_text_of_documents_is_no_part_of_the_original(serve: Serve) -> None:
    serve()
    page()
    session = filled(3)
    found = {"passages": [{"number": 1, "label": "환불.md", "text": "가" * 1_400}, {"number": 2, "text": "나" * 52}]}
    search = {"call": "c", "name": "search_documents", "artifact": found}
    store().begin_turn(session, "환불은?")
    store().finish_turn(session, 4, Finished("done", answer="7일입니다 [1].", steps=[search]))
    add_summary(session, [1, 2, 3], 65, "인사함", 20)
    add_summary(session, [4, 5, 6], 65, "환불 기간을 물음", 20)
    assert [line for line in texts(page(s=session)).splitlines() if "65자" in line] == [
        "65자 → 20자 · 문서에서 가져온 1,452자는 원문에서 제외",
        "65자 → 20자",
    ]


def test_the_panel_says_what_was_lost_what_failed_and_what_was_made_ahead(serve: Serve) -> None:
    serve()
    page()
    session = filled(6)
    add_summary(session, [1, 2, 3], 900, "요약 1", 300, lost=["2,400원", "3월 5일"])
    error = {"code": "summary_rejected", "message": "…", "values": {"first": 4, "last": 6, "reason": "너무 깁니다"}}
    store().ledger.fail(session, [4, 5, 6], 0.3, error)
    said = texts(page(s=session))
    assert r"요약에서 빠진 사실\: 2,400원, 3월 5일" in said
    assert r"4\-6턴의 요약을 사용하지 않았습니다\: 너무 깁니다" in said
    assert "다음 턴에 다시 시도합니다" in said
    add_summary(session, [4, 5, 6], 900, "요약 2", 300, status="ready", ahead=True)
    said = texts(page(s=session))
    assert "미리 만들어 둠" in said
    assert "사용하지 않았습니다" not in said


def test_the_last_prompt_is_shown_by_part_against_full_history(serve: Serve) -> None:
    from store import Finished

    serve()
    page()
    session = store().create_session("ko", 0.3).id
    parts = [("system", 700), ("summaries", 200), ("recent", 60), ("question", 40)]
    report = {
        "turn": 1,
        "parts": [{"name": name, "tokens": tokens, "budget": 0, "items": []} for name, tokens in parts],
        "left_out": [],
        "total_tokens": 1000,
        "full_tokens": 4000,
        "exact": False,
    }
    store().begin_turn(session, "질문")
    store().finish_turn(session, 1, Finished("done", answer="답", report=report))
    at = page(s=session)
    assert "**≈ 1,000 토큰**" in texts(at)
    assert "전체 기록을 보냈다면 4,000 토큰 · 75% 절약" in texts(at)
    bar = next(each.proto.body for each in at.get("html") if "gieok-bar" in each.proto.body)
    assert 'class="part-summaries" style="flex:200"' in bar
    assert 'class="part-rest" style="flex:3000"' in bar


def test_ten_turns_on_a_scripted_model_fill_the_panel(serve: Serve) -> None:
    serve(lambda messages: "그렇군요. 자세히 알려드리겠습니다. " * 8)
    at = page()
    for number in range(1, 11):
        say(at, f"여행 계획의 {number}번째 단계에 대해 자세히 설명해줘")
        if number == 5:
            at.slider(key=f"rate-{session_of(at)}").set_value(0.5).run()
    summaries = store().ledger.summaries(session_of(at))
    assert [each.turns for each in summaries] == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert [each.rate for each in summaries] == [0.3, 0.5, 0.5]
    said = texts(at)
    for first, last in ((1, 3), (4, 6), (7, 9)):
        assert rf"\[{first}\-{last}턴 요약\]" in said
    assert "13턴부터 사용합니다" in said


# --- hostile text -------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "# heading\n1. list\n:red[red] :smile: $x^2$ [link](javascript:alert(1))",
    "null \x00 and lone \ud800 surrogate",
    "‮right to left‬ עברית العربية",
    "👩‍👩‍👧‍👦 e\u0301 \u200b\ufeff",
    "{braces} {0} %s",
]


@pytest.mark.parametrize("text", HOSTILE, ids=["html", "markdown", "unsendable", "rtl", "emoji", "format"])
def test_hostile_text_is_shown_as_text_and_kept_as_it_was(serve: Serve, text: str) -> None:
    serve(lambda messages: text)
    page()
    session = store().create_session("ko", 0.3).id
    from store import Finished

    store().begin_turn(session, text)
    store().finish_turn(session, 1, Finished("done", answer=text, steps=[{"name": text, "result": text, "ok": True}]))
    add_summary(session, [1, 2, 3], 100, text, 10, lost=[text])
    at = page(s=session)
    shown = text.replace("\x00", "␀").replace("\ud800", "�").replace("\u202e", "").replace("\u202c", "")
    assert at.text[0].value == shown
    assert all(not each.allow_html for each in at.markdown)
    assert all(text not in each.proto.body for each in at.get("html"))
    assert store().turns(session)[0].question == text
    json.dumps(texts(at), ensure_ascii=False).encode("utf-8")


def test_a_message_of_100_kilobytes_is_folded_and_opens(serve: Serve) -> None:
    serve(lambda messages: "읽었습니다.")
    text = "가나다라 " * 20_000 + "끝"
    at = say(page(), text)
    assert len(at.text[0].value) < 5_000
    at.button(key="fold-1").click().run()
    assert at.text[0].value == text
    assert store().turns(session_of(at))[0].question == text


# --- how it waits -------------------------------------------------------------------------------


def test_a_page_opened_in_mid_answer_stays_until_it_is_complete(serve: Serve) -> None:
    serve(lambda messages: "느린 답이 천천히 왔습니다 " * 3, delay=0.05)
    page()
    session = store().create_session("ko", 0.3).id
    resource.find_user_jobs().send(session, "천천히 답해줘")
    while resource.find_user_jobs().of(session) is not None and not resource.find_user_jobs().of(session).progress.text:  # type: ignore[union-attr]
        time.sleep(0.01)
    at = page(s=session)
    assert resource.find_user_jobs().of(session) is None
    assert "느린 답이 천천히 왔습니다" in texts(at)


def test_a_setting_that_cannot_be_read_is_named_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("GIEOK_PORT", "eighty")
        settings.load_current_settings.cache_clear()
        at = page().run()
    settings.load_current_settings.cache_clear()
    assert not at.exception
    assert "eighty" in at.error[0].value


def test_a_question_of_the_chat_is_compared_where_it_was_asked_and_a_new_one_at_the_end(serve: Serve) -> None:
    serve(["하나", "둘", "셋", "", "", "", ""])
    at = page()
    for number in (1, 2, 3):
        say(at, f"{number}번째 질문")
    session = session_of(at)
    at.session_state[window.OPENED] = (comparison.NAME, None, session)
    at.run()
    assert at.number_input(key=f"compare-turn-{session}").value == 3
    at.number_input(key=f"compare-turn-{session}").set_value(2).run()
    assert at.text_area(key=f"compare-text-{session}-2").value == "2번째 질문"
    assert "2턴의 질문을, 그 앞의 대화까지만" in texts(at)
    at.button(key="compare-go").click().run()
    assert [turn for _, _, _, turn, _ in at.session_state[comparison.RUNNING]] == [2, 2]
    at.text_area(key=f"compare-text-{session}-2").set_value("새 질문")  # comes together with the press
    at.button(key="compare-go").click().run()
    assert "마지막 턴 뒤에" in texts(at)
    assert [(text, turn) for _, _, text, turn, _ in at.session_state[comparison.RUNNING]] == [("새 질문", None)] * 2
    assert not at.exception


@pytest.mark.parametrize(("language", "label"), [("en-US", "Begin anew"), ("ko-KR", "새로 시작")])
def test_an_empty_database_beside_data_begins_anew_only_where_the_user_says_so(
    serve: Serve, language: str, label: str
) -> None:
    serve()
    folder = settings.load_current_settings().data_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gieok.db").touch()
    with closing(sqlite3.connect(folder / "checkpoint.db")) as beside:
        beside.execute("CREATE TABLE earlier (data)")
    at = page(language)
    assert r"checkpoint\.db" in texts(at)
    at.button(key="open-again").click().run()
    assert (folder / "gieok.db").stat().st_size == 0
    button = at.button(key="begin-anew")
    assert label in button.label
    button.click().run()
    assert not at.error
    assert at.chat_input(key="ask").placeholder
