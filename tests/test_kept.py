"""The page keeps what is not a turn yet, says what was deleted, and tells what an import, a failure or a limit did."""

from __future__ import annotations

import json
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from component.work import resource
from component.work.job import RefusedMessage
from errors import DiskFull, KeyRejected, SummaryRejected
from graph.turn.finish import plain_error
from store import Finished, Session, Store
from tests.component.listing import act, go, listed, look, titles
from tests.store.test_zipped import packed
from tests.test_app import filled, page, say, session_of, store, texts
from tests.test_stress import fill_disk

pytestmark = pytest.mark.usefixtures("fresh")


def restart() -> None:
    """The process ends and another begins."""
    st.cache_resource.clear()


# --- messages that are not turns yet ------------------------------------------------------------


def test_messages_that_waited_when_the_app_ended_are_found_in_the_list_and_sent(serve: Any) -> None:
    serve()
    page()
    session = store().create_session("ko", 0.3).id
    for text in ("모델을 기다리던 질문", "그 뒤의 질문"):
        store().outbox.add(session, text)
    restart()
    at = page()
    assert titles(at) == ["모델을 기다리던 질문"]
    go(at, session)
    assert "전송 대기 중 · 모델을 기다리던 질문" in texts(at)
    at.button(key="send-0").click().run()
    assert [turn.question for turn in store().turns(session)] == ["모델을 기다리던 질문"]
    at.button(key="withdraw-0").click().run()
    assert "그 뒤의 질문" not in texts(at)
    assert store().outbox.of(session) == []


def far_back(session: str) -> AppTest:
    """A page on the first turns of a long chat."""
    at = page(s=session)
    at.number_input(key=f"leap-earlier-{session}").set_value(4).run()
    assert "질문 4" in texts(at).splitlines()
    assert "질문 60" not in texts(at).splitlines()
    return at


def test_what_is_sent_from_far_back_leads_to_its_answer(serve: Any) -> None:
    serve()
    page()
    session = filled(60)
    store().outbox.add(session, "기다리던 질문")
    at = far_back(session)
    at.button(key="send-0").click().run()
    assert "질문 60" in texts(at).splitlines()
    assert "기다리던 질문" in texts(at)


def test_what_is_sent_again_from_far_back_leads_to_its_answer(serve: Any) -> None:
    serve()
    page()
    session = filled(60)
    message = store().outbox.add(session, "거절된 질문")
    resource.find_user_jobs()._refused[session] = RefusedMessage("거절된 질문", None, message=message)
    at = far_back(session)
    at.button(key="send-again").click().run()
    assert "질문 60" in texts(at).splitlines()


NO_SPACE = "디스크에 남은 공간이 없습니다"


def test_an_error_is_told_over_the_page_wherever_the_reader_is(serve: Any) -> None:
    serve()
    page()
    at = far_back(filled(60))
    fill_disk("UPDATE session SET compression_rate", [1])
    at.slider[0].set_value(0.5).run()
    assert NO_SPACE in at.toast[0].value
    assert NO_SPACE not in texts(at), "as a box, too, it would be there twice"
    at.button(key="newest").click().run()
    assert not at.toast
    assert NO_SPACE not in texts(at)
    fill_disk("UPDATE session SET compression_rate", [1])
    at.query_params["view"] = "documents"
    at.slider[0].set_value(0.2).run()
    assert NO_SPACE in at.toast[0].value
    assert not at.run().toast


def test_an_error_beside_the_last_turn_is_a_box_and_no_toast(serve: Any) -> None:
    serve()
    page()
    at = page(s=filled(3))
    fill_disk("UPDATE session SET compression_rate", [1])
    at.slider[0].set_value(0.5).run()
    (box,) = at.error
    assert NO_SPACE in box.value
    assert not at.toast


def test_an_answer_that_was_cut_off_shows_how_far_it_came(serve: Any) -> None:
    serve(["이번에는 끝까지 답합니다."])
    page()
    session = store().create_session("ko", 0.3).id
    store().begin_turn(session, "끊긴 질문에 답해줘")
    store().partials.keep(session, 1, "여기까지는 왔던 답")
    restart()
    at = page(s=session)
    assert "여기까지는 왔던 답" in texts(at)
    assert "답변이 여기에서 끊겼습니다" in texts(at)
    assert "끊겼습니다" in at.error[0].value
    at.button(key="retry-1").click().run()
    assert "여기까지는 왔던 답" not in texts(at)
    assert "이번에는 끝까지 답합니다." in texts(at)


def test_a_wrong_key_that_was_put_right_is_tried_again_in_the_same_turn(serve: Any) -> None:
    serve([KeyRejected(url="https://api.openai.com/v1", status=401)])
    at = say(page(), "키가 틀렸을 때의 질문")
    assert isinstance(resource.find_shared_readiness().status.error, KeyRejected)
    serve(["이제 됩니다."])  # a key that was rejected has the models looked for anew
    at.button(key="retry-1").click().run()
    assert "이제 됩니다." in texts(at)
    assert not [each for each in at.button if each.key == "earlier-1"]


# --- deleted conversations ----------------------------------------------------------------------


def deleted(at: AppTest) -> str:
    """Deletes the conversation that is open."""
    session = session_of(at)
    act(at, "delete", ids=[session])
    return session


def test_another_tab_says_that_the_chat_was_deleted_and_keeps_what_is_sent(serve: Any) -> None:
    serve()
    first = say(page(), "두 탭에서 연 대화입니다")
    other = page(s=session_of(first))
    session = deleted(first)
    resource.find_user_jobs().send(session, "다른 탭에서 보낸 말")  # as a page does that has not noticed yet
    other.run()
    assert "삭제한 대화입니다." in other.warning[0].value
    assert other.chat_input(key="ask").disabled
    assert "다른 탭에서 보낸 말" in texts(other)
    assert "삭제한 대화라서 메시지를 보내지 않았습니다" in texts(other)
    assert len(store().turns(session)) == 1
    other.button(key="restore").click().run()
    assert not other.warning
    other.button(key="send-again").click().run()
    assert [turn.question for turn in store().turns(session)] == ["두 탭에서 연 대화입니다", "다른 탭에서 보낸 말"]


def test_the_line_after_a_deletion_goes_with_the_next_chat(serve: Any) -> None:
    serve()
    at = say(page(), "지울 대화입니다")
    deleted(at)
    assert "삭제했습니다" in texts(at)
    say(at, "새로 시작한 대화입니다")
    assert "삭제했습니다" not in texts(at)


def test_deleted_chats_are_brought_back_or_erased_from_their_list(serve: Any) -> None:
    serve()
    kept, gone = (deleted(say(page(), text)) for text in ("되돌릴 대화입니다", "완전히 지울 대화입니다"))
    at = page()
    act(at, "trash")
    assert "30일이 지나면" in texts(at)
    assert "되돌릴 대화입니다" in texts(at)
    at.button(key=f"erase-{gone}").click().run()
    at.button(key="erase-yes").click().run()
    assert "영구 삭제했습니다." in at.success[0].value
    assert [each.id for each in store().put_away_sessions()] == [kept]
    at.button(key=f"restore-{kept}").click().run()
    assert session_of(at) == kept
    assert not listed(at)["trash"]


def test_a_list_that_cannot_be_read_says_so_in_its_window(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    deleted(say(page(), "지운 대화입니다"))
    at, known = page(), Store.put_away_sessions

    def full(self: Store, limit: int = 100) -> list[Session]:
        if limit > 1:
            raise DiskFull(path="x", needed="more", free="none")
        return known(self, limit)

    monkeypatch.setattr(Store, "put_away_sessions", full)
    act(at, "trash")
    assert not at.exception
    assert "디스크에 남은 공간이 없습니다" in at.error[0].value


# --- what is told -------------------------------------------------------------------------------


def test_a_failed_summary_says_why_in_words_and_when_it_is_tried_again(serve: Any) -> None:
    serve()
    page()
    session = filled(4)
    values = {"reason_code": "too_long", "length": 812, "target": 300, "original": 1000}
    for turns, error in (
        ([1, 2, 3], SummaryRejected(first=1, last=3, reason="it has 812 characters", **values)),
        ([4, 5, 6], KeyRejected(url="http://x", status=401)),
    ):
        store().ledger.fail(session, turns, 0.3, plain_error(error))
    said = texts(page(s=session)).replace("\\", "")
    assert "1-3턴의 요약을 사용하지 않았습니다: 812자로 너무 깁니다 (목표 300자, 원문 1,000자)" in said
    again = "다음 턴에 다시 시도합니다. 그때까지 원문을 그대로 사용합니다."
    assert said.count(again) == 2
    assert "키를 확인하세요. " + again in said


def chatgpt(*titles: str, text: str = "") -> bytes:
    """An export of ChatGPT's: the conversation with ``text``, and others that have none."""
    node = {"id": "root", "message": None, "parent": None, "children": ["a"]}
    asked = {"id": "m", "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    said = {"id": "a", "message": {**asked, "create_time": 1.0}, "parent": "root", "children": ["b"]}
    reply = {"id": "n", "author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["답입니다"]}}
    last = {"id": "b", "message": {**reply, "create_time": 2.0}, "parent": "a", "children": []}
    base = {"create_time": 1.0, "update_time": 2.0}
    full = {**base, "title": "글이 있는 대화", "mapping": {"root": node, "a": said, "b": last}, "current_node": "b"}
    alone = {**node, "children": []}
    empty = [{**base, "title": name, "mapping": {"root": alone}, "current_node": "root"} for name in titles]
    return json.dumps([*([full] if text else []), *empty]).encode()


def import_window() -> None:
    """The window's content, and what is told afterwards."""
    from component.page.view import build_page_view, build_page_words
    from component.sidebar.bring_in import _render_session_import_form, render_import_result

    view = build_page_view(build_page_words())
    _render_session_import_form(view)
    render_import_result(view)


def importing(data: bytes, name: str = "conversations.json") -> AppTest:
    """A file is chosen and taken in."""
    at = AppTest.from_function(import_window, default_timeout=60)
    at.context = {"locale": "ko-KR"}
    at.run().file_uploader(key="import-file").set_value((name, data, "application/octet-stream")).run()
    if any(button.key == "import-go" for button in at.button):
        at.button(key="import-go").click().run()
    assert not at.exception
    return at


def test_an_import_says_first_what_it_would_bring(serve: Any) -> None:
    serve()
    at = AppTest.from_function(import_window, default_timeout=60)
    at.context = {"locale": "ko-KR"}
    data = chatgpt("빈 대화", text="챗GPT에서 한 질문")
    at.run().file_uploader(key="import-file").set_value(("conversations.json", data, "application/json")).run()
    said = texts(at).replace("\\", "")
    assert "대화 1개 · 1턴 · 1970-01-01" in said
    assert "폴더에는 들어가지 않습니다" in said
    assert "내용이 없어 가져오지 않은 대화 1개: 빈 대화" in said
    assert store().sessions() == []
    at.button(key="import-not").click().run()
    assert store().sessions() == []


def test_an_import_says_how_many_chats_there_are_and_which_were_empty(serve: Any) -> None:
    serve()
    at = importing(chatgpt("빈 대화", "", text="챗GPT에서 한 질문"))
    assert store().turns(session_of(at))[0].question == "챗GPT에서 한 질문"
    assert "대화 1개를 가져왔습니다. 내용이 없어 가져오지 않은 대화 2개: 빈 대화, –" in texts(at).replace("\\", "")
    at.query_params.clear()
    assert "가져왔습니다" not in texts(at.run())


def test_an_archive_is_imported_and_one_without_conversations_is_named(serve: Any) -> None:
    serve()
    at = importing(packed({"conversations.json": chatgpt(text="압축된 질문")}), "export.zip")
    assert store().turns(session_of(at))[0].question == "압축된 질문"
    said = importing(packed({"chat.html": b""}), "export.zip").error[0].value.replace("\\", "")
    assert "conversations.json 파일이 들어 있지 않습니다 (위치: 압축 파일)" in said


def test_an_import_without_any_text_says_so(serve: Any) -> None:
    serve()
    at = importing(chatgpt("빈 대화"))
    assert "내용이 없어 가져오지 않은 대화 1개: 빈 대화" in at.warning[0].value.replace("\\", "")
    assert store().sessions() == []


def test_a_file_that_is_no_export_is_refused_in_the_language_of_the_page(serve: Any) -> None:
    serve()
    said = importing(b"[1,").error[0].value.replace("\\", "")
    assert "JSON이 아닙니다 (위치: 1행 4열)" in said


def test_a_name_that_cannot_be_written_is_told_in_words(serve: Any) -> None:
    serve()
    at = say(page(), "이름을 바꿀 대화입니다")
    fill_disk("UPDATE session SET title", [1])
    act(at, "rename", ids=[session_of(at)], title="새 이름")
    assert "디스크에 남은 공간이 없습니다" in texts(at)
    assert titles(at) == ["이름을 바꿀 대화입니다"]
    act(at, "rename", ids=[session_of(at)], title="새 이름")
    assert titles(at) == ["새 이름"]


def test_the_slider_shows_what_another_tab_has_set(serve: Any) -> None:
    serve()
    first = say(page(), "두 탭에서 압축률을 바꿉니다")
    key = f"rate-{session_of(first)}"
    other = page(s=session_of(first))
    other.slider(key=key).set_value(0.5).run()
    assert first.run().slider(key=key).value == 0.5
    first.slider(key=key).set_value(0.2).run()
    assert store().session(session_of(first)).compression_rate == 0.2


def test_a_search_says_when_it_found_more_than_it_shows(serve: Any) -> None:
    serve()
    page()
    for number in range(7):
        session = store().create_session("ko", 0.3).id
        for turn in range(1, 6):
            store().begin_turn(session, f"{number}번 대화의 {turn}번째 바다 이야기")
            store().finish_turn(session, turn, Finished("done", answer="네"))
    at = page()
    hits = listed(look(at, "바다"))["hits"]
    assert hits["about"] == "검색 결과가 30개보다 많아 최근 것부터 표시합니다."
    assert len(hits["rows"]) == 30
    assert listed(look(at, '"3번 대화의"'))["hits"]["about"] == "검색 결과 6개"
