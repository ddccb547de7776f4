"""Side questions on the page: where they are asked, what stays as it is, and what becomes of the answer."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from PIL import Image
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from component.chat.side_question import NAME, _leave_side_window, read_side_command
from component.page.palette import KEY
from component.page.window import OPENED
from component.work import resource
from component.work.side_call import SideCall, SideCalls
from errors import ModelUnreachable
from model.choice import resolve
from model.scripted import build_scripted_models
from tests.component.listing import act, send_event
from tests.conftest import Serve
from tests.test_app import filled, page, say, session_of, store, texts, unfollowed
from tests.wait import until

pytestmark = pytest.mark.usefixtures("fresh")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("/btw 무슨 뜻이야?", "무슨 뜻이야?"),
        ("/BTW two\nlines ", "two\nlines"),
        ("/btw", ""),
        ("/btw  ", ""),
        ("/btwo", None),
        ("and /btw", None),
    ],
)
def test_the_command_is_read(text: str, question: str | None) -> None:
    assert read_side_command(text) == question


def answering(messages: list[BaseMessage]) -> str:
    return f"{str(messages[-1].text).rsplit(chr(10), 1)[-1]} 에 대한 답"


def side_call(session: str) -> SideCall | None:
    return resource.side_calls().of((NAME, session))


def settled(at: AppTest, session: str) -> AppTest:
    """The page once the side answer has ended."""
    until(lambda: (call := side_call(session)) is not None and call.done)
    at.run()
    assert not at.exception
    return at


def way(at: AppTest, name: str) -> Button:
    """The button below a whole answer: ``keep`` or ``close``."""
    (button,) = (each for each in at.button if str(each.key).startswith(f"side-{name}-"))
    return button


def keys(at: AppTest) -> set[str]:
    return {str(each.key) for each in at.button}


def asked(at: AppTest, text: str = "/btw 단어 뜻?") -> tuple[AppTest, str]:
    say(at, "첫 질문")
    session = session_of(at)
    say(at, text)
    return settled(at, session), session


def test_it_is_answered_in_a_window_and_the_conversation_stays_as_it_is(serve: Serve) -> None:
    serve(answering)
    at, session = asked(page())
    assert at.session_state[OPENED][0] == NAME
    assert "단어 뜻? 에 대한 답" in texts(at)
    assert "창을 닫으면 답변을 버립니다" in texts(at)
    assert store().session(session).turn_count == 1
    assert store().outbox.of(session) == []
    way(at, "close").click().run()
    assert OPENED not in at.session_state
    assert side_call(session) is None
    assert "단어 뜻?" not in texts(say(at, "다음 질문"))
    assert [turn.question for turn in store().turns(session, limit=9)] == ["첫 질문", "다음 질문"]


def test_going_on_from_it_makes_it_a_turn(serve: Serve) -> None:
    serve(answering)
    at, session = asked(page())
    way(at, "keep").click().run()
    at.run()
    assert OPENED not in at.session_state
    assert [turn.question for turn in store().turns(session, limit=9)] == ["첫 질문", "단어 뜻?"]
    assert "단어 뜻? 에 대한 답" in texts(at)
    assert "side-line" not in texts(at)


def test_a_reload_finds_it_again_and_it_can_be_dropped(serve: Serve) -> None:
    serve(answering)
    _, session = asked(page())
    again = page(s=session)
    assert OPENED not in again.session_state
    assert "따로 물은 질문이 있습니다" in texts(again)
    again.button(key="side-show").click().run()
    assert "단어 뜻? 에 대한 답" in texts(again)
    another = page(s=session)
    another.button(key="side-drop").click().run()
    assert side_call(session) is None
    assert "side-show" not in keys(another)


def test_a_tab_acts_on_the_answer_that_it_shows(serve: Serve) -> None:
    serve(answering)
    one, session = asked(page())
    other = page(s=session)
    other.button(key="side-show").click().run()
    way(other, "close").click().run()
    say(other, "/btw 다른 물음?")
    settled(other, session)
    way(one, "keep").click().run()
    assert store().session(session).turn_count == 1
    assert "다른 물음? 에 대한 답" in texts(one.run())
    resource.side_calls().dismiss((NAME, session), SideCall())
    assert side_call(session) is not None
    way(other, "keep").click().run()
    assert [turn.question for turn in store().turns(session, limit=9)] == ["첫 질문", "다른 물음?"]


def test_an_answer_still_to_be_read_comes_before_the_next_question(serve: Serve) -> None:
    serve(answering)
    _, session = asked(page())
    again = say(page(s=session), "/btw 다음 물음?")
    assert "단어 뜻? 에 대한 답" in texts(again)
    assert "앞서 물은 질문의 답변입니다" in "".join(each.value for each in again.info)
    assert again.chat_input(key="ask").value == "/btw 다음 물음?"
    way(again, "close").click().run()
    say(again, "/btw 다음 물음?")
    assert "다음 물음? 에 대한 답" in texts(settled(again, session))
    assert not again.info


def test_closing_an_empty_window_drops_no_answer_of_another_tab(serve: Serve) -> None:
    serve(answering)
    one = say(page(), "첫 질문")
    session = session_of(one)
    say(one, "/btw")
    other = say(page(s=session), "/btw 다른 물음?")
    settled(other, session)
    _leave_side_window(session, None)  # as the first tab's window does it, which showed no answer
    assert side_call(session) is not None
    assert "다른 물음? 에 대한 답" in texts(one.run()), "the first tab shows it, too"


@pytest.mark.parametrize("erased", [False, True])
def test_deleting_the_chat_drops_its_side_answer(serve: Serve, erased: bool) -> None:
    serve(answering)
    at, session = asked(page())
    way(at, "close").click().run()
    resource.side_calls().start((NAME, session), lambda call: call.stop.wait(60))
    running = side_call(session)
    assert running is not None
    if erased:
        resource.find_user_agent().put_away(session)
        at = act(page(), "trash")
        at.button(key=f"erase-{session}").click().run()
        at.button(key="erase-yes").click().run()
    else:
        act(at, "delete", ids=[session])
    until(lambda: running.done)
    assert side_call(session) is None


def test_only_the_calls_of_one_chat_are_dropped_with_it() -> None:
    calls = SideCalls()
    for key in ((NAME, "one"), ("remake", "one", 4), (NAME, "two"), "plain"):
        calls.start(key, lambda call: call.stop.wait(60))
    calls.dismiss_session("one")
    assert [calls.of(key) is None for key in ((NAME, "one"), ("remake", "one", 4), (NAME, "two"), "plain")] == [
        True,
        True,
        False,
        False,
    ]
    calls.dismiss_all()


def test_what_arrived_of_an_answer_that_breaks_off_is_shown_with_the_error(serve: Serve) -> None:
    serve(answering)
    at, session = asked(page())
    way(at, "close").click().run()

    def break_off(call: SideCall) -> None:
        call.text = "절반까지 온 답"
        raise ModelUnreachable(url="http://127.0.0.1:1")

    resource.side_calls().start((NAME, session), break_off, "단어 뜻?")
    at = page(s=session)
    at.button(key="side-show").click().run()
    assert "절반까지 온 답" in texts(at)
    assert at.error
    assert at.text_area(key="side-text").value == "단어 뜻?"


def test_without_a_question_the_window_asks_for_one(serve: Serve) -> None:
    serve(answering)
    at = say(page(), "첫 질문")
    say(at, "/btw")
    at.button(key="side-go").click().run()  # nothing typed, nothing asked
    assert side_call(session_of(at)) is None
    at.text_area(key="side-text").set_value("나중에 쓴 질문")
    at.button(key="side-go").click().run()
    assert "나중에 쓴 질문 에 대한 답" in texts(settled(at, session_of(at)))


def test_where_it_cannot_be_asked_it_goes_back_into_the_input(serve: Serve) -> None:
    serve(answering)
    at = say(page(), "/btw 첫마디")
    assert "아직 대화가 없어서" in texts(at)
    assert at.chat_input(key="ask").value == "/btw 첫마디"
    assert store().sessions() == []
    say(at, "첫 질문")
    say(at, f"/btw {'가' * 200_001}")
    assert side_call(session_of(at)) is None
    assert len(str(at.chat_input(key="ask").value)) == 200_001 + len("/btw ")
    assert at.error


def test_a_story_takes_none(serve: Serve) -> None:
    serve(answering)
    page()
    story = store().worlds.create("세계", "ko").id
    at = say(page(s=story), "/btw 이 사람은 누구야?")
    assert "이야기에서는 따로 물을 수 없습니다" in texts(at)
    assert (store().session(story).turn_count, side_call(story)) == (0, None)


def test_files_beside_it_wait_for_the_next_message(serve: Serve) -> None:
    serve(answering)
    image = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(image, "PNG")
    at = say(page(), "첫 질문")
    session = session_of(at)
    at.chat_input(key="ask").set_value("/btw 단어 뜻?").upload("a.png", image.getvalue()).run()
    assert "단어 뜻? 에 대한 답" in texts(settled(at, session))
    assert store().session(session).turn_count == 1
    assert [file.name for file in store().attachments.of(session)] == ["a.png"], texts(at)


def test_a_failure_is_told_and_the_question_can_be_asked_again(serve: Serve) -> None:
    answers: list[Any] = ["첫 답", ModelUnreachable(url="http://127.0.0.1:1"), "이제 온 답"]
    serve(answers)
    at, session = asked(page())
    assert at.error
    assert at.text_area(key="side-text").value == "단어 뜻?"
    at.button(key="side-go").click().run()
    assert "이제 온 답" in texts(settled(at, session))
    assert store().session(session).turn_count == 1


def test_it_waits_for_the_model_and_can_be_stopped_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def models(*_: Any, **__: Any) -> Any:
        gate.wait(60)
        return build_scripted_models(lambda _: "나중에 온 답")

    monkeypatch.setattr(resolve, "resolve_models", models)
    unfollowed(monkeypatch)
    try:
        page()
        at = page(s=(session := filled(2)))
        say(at, "/btw 단어 뜻?")
        assert "모델이 준비되기를 기다리는 중" in texts(at)
        at.button(key="side-stop").click().run()
        assert "답변이 나오기 전에 중지했습니다" in texts(settled(at, session))
        at.button(key="side-go").click().run()
        gate.set()
        assert "나중에 온 답" in texts(settled(at, session))
    finally:
        gate.set()


def test_the_palette_offers_it_with_what_was_typed(serve: Serve) -> None:
    serve(answering)
    at = say(page(), "첫 질문")
    send_event(at, KEY, "chosen", {"id": NAME, "text": "단어 뜻?", "at": 1})
    assert "단어 뜻? 에 대한 답" in texts(settled(at, session_of(at)))


def test_a_private_chat_takes_its_side_answers_with_it(serve: Serve) -> None:
    serve(answering)
    at = page()
    at.button(key="private-begin").click().run()
    say(at, "첫 질문")
    say(at, "/btw 단어 뜻?")
    until(lambda: "단어 뜻? 에 대한 답" in texts(at.run()))
    assert "s" not in at.query_params
    assert store().sessions() == []
    way(at, "keep").click().run()
    at.run()
    assert "단어 뜻? 에 대한 답" in texts(at)
    assert store().sessions() == []


def test_a_private_chat_that_ends_stops_its_side_calls() -> None:
    calls, going = SideCalls(), threading.Event()

    def hold(call: SideCall) -> None:
        going.set()
        call.stop.wait(60)

    calls.start("a", hold, "subject")
    assert going.wait(60)
    call = calls.of("a")
    assert call is not None
    assert call.at == "subject"
    calls.dismiss_all()
    assert calls.of("a") is None
    until(lambda: call.done)
