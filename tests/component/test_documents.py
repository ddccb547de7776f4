"""The page of the documents, the files dropped into the chat, the sources and the trace: the real script."""

from __future__ import annotations

import io
import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import streamlit as st
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from PIL import Image
from streamlit.testing.v1 import AppTest

import settings
from component.documents.document_list import filter_documents, format_file_size
from component.work import resource
from errors import DiskFull
from graph.answer.documents import look_ups
from model.choice import resolve
from model.scripted import ScriptedModel
from retrieval import Document, Library, library
from store.turn.image import Images
from tests.conftest import Serve
from tests.journey.library import REFUND, judgement
from tests.retrieval import file
from tests.retrieval.conftest import Words
from tests.retrieval.pages import Reply, serving
from tests.test_app import page, say, session_of, store, texts
from tests.wait import until

pytestmark = pytest.mark.usefixtures("fresh")
QUESTION = "환불은 며칠 안에 신청하나요?"
FILES = [
    ("환불.md", REFUND.encode(), "text/markdown"),
    ("locked.pdf", file.pdf("secret", password="x"), "application/pdf"),
    ("../../faq-../bill\x00ing.txt", "결제 문의는 고객센터로 하세요.".encode(), "text/plain"),
    ("‮fdp.exe", b"MZ", "application/octet-stream"),
    ("empty.md", b"", "text/markdown"),
    ("really-a.md", file.pdf("hidden"), "text/markdown"),
    ("긴" * 300 + ".md", "# 긴 이름\n\n내용이 있습니다.".encode(), "text/markdown"),
    ("huge.txt", b"x" * 3000, "text/plain"),
]


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    """Documents are on, with a quick embedder, and the product's own are left out."""
    monkeypatch.setenv("GIEOK_RETRIEVAL", "true")
    monkeypatch.setenv("GIEOK_DOCUMENT_LIMIT", "2000")
    settings.load_current_settings.cache_clear()
    monkeypatch.setattr(resource, "first_run", lambda *_, **__: None)
    made = Words()
    monkeypatch.setattr(library, "choose_embedder", lambda _: made)
    return made


def documents(language: str = "ko-KR") -> AppTest:
    return page(language, view="documents")


def shelf() -> Library:
    opened = resource.find_user_agent().library
    assert opened is not None
    return opened


def add(*uploads: tuple[str, str]) -> None:
    """Adds documents without the page."""
    shelf().add([(name, text.encode()) for name, text in uploads])


def id_of(name: str) -> int:
    return next(each.id for each in shelf().documents() if each.name == name)


def chat(messages: list[BaseMessage]) -> AIMessage:
    """Searches the documents first, then cites what it got."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage("7일 안에 신청합니다 [1].")
    call = {"name": "search_documents", "args": {"query": QUESTION}, "id": "c1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def judge(messages: list[BaseMessage]) -> str:
    return json.dumps(judgement())


def answered(serve: Serve, judged: Any = judge) -> AppTest:
    serve(chat, judged)
    page()
    add(("환불.md", REFUND))
    return say(page(), QUESTION)


def html(at: AppTest, name: str, place: int = 0) -> str:
    """HTML of a class, the first of its kind on the page or another."""
    bodies = [str(each.proto.body) for each in at.get("html")]
    return [each for each in bodies if f'class="{name}"' in each][place]


# --- the page -----------------------------------------------------------------------------------


def test_files_of_every_kind_are_added_and_each_bad_one_says_why(serve: Serve) -> None:
    serve()
    at = documents()
    at.file_uploader[0].set_value(FILES).run()
    assert not at.exception
    said = texts(at)
    assert "추가 3 · 실패 5" in said
    for reason in ("암호로 보호되어", "텍스트가 없습니다", "내용은 PDF", "3,000"):
        assert reason in said.replace("\\", ""), reason
    names = {each.name: each.state for each in shelf().documents()}
    assert names["환불.md"] == "ready"
    assert names["billing.txt"] == "ready"
    assert names["fdp.exe"] == "failed"
    assert all(len(name) <= 120 and name.isprintable() and "/" not in name for name in names)
    assert at.file_uploader[0].value == []


def test_the_type_chosen_before_is_that_of_the_files(serve: Serve) -> None:
    serve()
    at = documents()
    at.segmented_control(key="upload-type").set_value("faq").run()
    at.file_uploader[0].set_value([FILES[0]]).run()
    assert [each.doc_type for each in shelf().documents()] == ["faq"]


def test_the_type_is_changed_and_a_document_deleted_when_that_was_confirmed(serve: Serve) -> None:
    serve()
    page()
    add(("환불.md", REFUND), ("other.md", "# Other\n\nSomething else."))
    at, id_ = documents(), id_of("환불.md")
    at.menu_button(key=f"document-menu-{id_}").set_value("faq").run()
    assert shelf().document(id_).doc_type == "faq"
    at.menu_button(key=f"document-menu-{id_}").set_value("delete").run()
    assert "올린 파일은 따로 보관하지 않으므로" in texts(at)
    at.button(key="delete-no").click().run()
    assert len(shelf().documents()) == 2
    at.menu_button(key=f"document-menu-{id_}").set_value("delete").run()
    at.button(key="delete-yes").click().run()
    assert [each.name for each in shelf().documents()] == ["other.md"]
    assert "환불" not in texts(at)


def test_files_on_disk_are_read_again(serve: Serve, tmp_path: Any) -> None:
    serve()
    page()
    (tmp_path / "guide.md").write_text("# Guide\n\nOld words.")
    shelf().add([tmp_path / "guide.md"])
    (tmp_path / "guide.md").write_text("# Guide\n\nNew words.")
    at = documents()
    at.button(key="read-again").click().run()
    assert "변경 1" in texts(at)
    assert shelf().search("words")[0].passage.text == "New words."
    at.menu_button(key=f"document-menu-{id_of('guide.md')}").set_value("reindex").run()
    assert "변경 없음 1" in texts(at)


def test_a_page_of_the_web_is_added_by_its_address_cited_and_read_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIEOK_PRIVATE_PAGES", "true")
    settings.load_current_settings.cache_clear()
    serve(chat, judge)
    with serving() as site:
        site.pages = {"/환불/": Reply(REFUND, kind="text/markdown"), "/secret": "No."}
        site.pages = {quote(path): reply for path, reply in site.pages.items()}
        at = documents()
        at.text_input(key="web-address").set_value("file:///etc/passwd").run()
        at.button(key="web-add").click().run()
        assert "웹 주소가 아닙니다" in at.error[0].value
        assert at.text_input(key="web-address").value == "file:///etc/passwd"
        at.text_input(key="web-address").set_value(site.at("/none")).run()
        at.button(key="web-add").click().run()
        settled(at)
        assert "없습니다(상태 404)" in texts(at).replace("\\", "")
        at.segmented_control(key="web-scope").set_value("below").run()
        at.text_input(key="web-address").set_value(site.at("/환불/")).run()
        at.button(key="web-add").click().run()
        settled(at)
        assert at.text_input(key="web-address").value == ""
        (document,) = shelf().documents()
        assert (document.name, document.doc_type) == (site.at("/환불/"), "guide")
        at.menu_button(key=f"document-menu-{document.id}").set_value("reindex").run()
        settled(at)
        assert "변경 없음 1" in texts(at)
        at = say(page(), QUESTION)
        at.button(key="source-1-1").click().run()
        (link,) = at.get("link_button")
        assert link.proto.url == site.at("/환불/")
        at = documents()
        at.menu_button(key=f"document-menu-{document.id}").set_value("delete").run()
        assert "웹의 페이지는 그대로" in texts(at)


def test_a_title_that_only_repeats_the_name_of_the_file_is_not_shown(serve: Serve, tmp_path: Any) -> None:
    serve()
    page()
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/returns.txt").write_text("Fourteen days.")
    (tmp_path / "shop/prices.md").write_text("# What it costs\n\nNothing.")
    shelf().add([tmp_path / "shop"])
    shown = texts(documents())
    assert r"shop/returns\.txt" in shown
    assert "What it costs" in shown
    assert not re.search(r"· returns", shown)


def test_a_long_list_is_drawn_a_page_at_a_time_and_found_by_name(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    page()
    add(("first.md", "# First\n\nWords."))
    one = shelf().documents()[0]
    many = [replace(one, id=number, name=f"note-{number:04}.md") for number in range(1000)]
    monkeypatch.setattr(Library, "documents", lambda self: many)
    at = documents()
    rows = [each for each in at.menu_button if (each.key or "").startswith("document-menu-")]
    assert len(rows) == 20
    at.pagination[0].set_value(50).run()
    assert r"**note\-0999\.md**" in texts(at)
    at.text_input(key="documents-query").set_value("NOTE -042").run()
    assert "문서 1,000개 중 10개" in texts(at)
    assert r"**note\-0420\.md**" in texts(at)
    at.segmented_control(key="documents-kind").set_value("failed").run()
    assert "조건에 맞는 문서가 없습니다" in texts(at)


def test_the_products_own_documents_have_page_numbers_of_their_own(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    page()
    add(("first.md", "# First\n\nWords."))
    one = shelf().documents()[0]
    product = [replace(one, id=number, name=f"guide-{number:04}.md", collection="product") for number in range(1, 39)]
    monkeypatch.setattr(Library, "documents", lambda self: [replace(one, id=99), *product])
    at = documents()
    (folded,) = [each for each in at.expander if "(38)" in each.label]
    (numbers,) = folded.pagination
    assert len(at.pagination) == 1  # none below the user's one
    numbers.set_value(2).run()
    shown = texts(at)
    assert r"**first\.md**" in shown
    assert r"**guide\-0038\.md**" in shown
    assert r"**guide\-0001\.md**" not in shown


def test_a_damaged_index_is_told_and_rebuilt(serve: Serve, words: Words) -> None:
    serve()
    page()
    add(("환불.md", REFUND))
    damage()
    restart()
    at = documents()
    assert "색인이 손상되어" in at.error[0].value
    made = len(words.made)
    at.button(key="rebuild").click().run()
    assert not at.error
    assert "색인을 다시 만들었습니다." in texts(at).replace("\\", "")
    assert shelf().search("환불 기간")
    assert len(words.made) == made


def test_another_model_is_told_and_everything_embedded_again(serve: Serve, words: Words) -> None:
    serve()
    page()
    add(("환불.md", REFUND))
    words.name = "other"
    restart()
    at = documents()
    assert "words" in at.error[0].value
    at.button(key="rebuild").click().run()
    assert not at.error
    assert shelf().search("환불 기간")
    assert shelf().status.model == "other"


def test_without_documents_the_page_says_how_to_turn_them_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_RETRIEVAL", "false")
    settings.load_current_settings.cache_clear()
    serve()
    at = documents("en-US")
    assert "GIEOK_RETRIEVAL" in at.info[0].value
    assert not at.file_uploader


def test_the_way_to_the_page_and_back(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = say(page(), "안녕하세요, 반갑습니다")
    session = session_of(at)
    at.button(key="documents-open").click().run()
    assert "## 문서" in texts(at)
    assert not at.chat_input
    at.button(key="documents-back").click().run()
    assert session_of(at) == session
    assert "네." in texts(at)
    at.button(key="documents-open").click().run()
    at.button(key="new-chat").click().run()
    assert at.button(key="sample-1").label


def test_what_a_document_is_called_is_shown_and_never_rendered(serve: Serve) -> None:
    serve()
    page()
    add(("<img src=x>:red[a] **b**.md", "# <script>alert(1)</script>\n\nWords."))
    at = documents()
    assert r"\<img src=x\>\:red\[a\] \*\*b\*\*\.md" in texts(at)
    assert all(not each.allow_html for each in at.markdown)


def test_an_addition_that_runs_is_seen_from_another_page_and_can_be_stopped(serve: Serve, words: Words) -> None:
    go, reached = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        go.wait(60)

    serve()
    page()
    words.before = hold
    sections = "\n\n".join(f"## Part {number}\n\nWords of part {number}." for number in range(30))
    resource.open_intakes().start("add", ["long.md"], adding(f"# Long\n\n{sections}"))
    assert reached.wait(60)
    intake = resource.open_intakes().all()[-1]
    assert intake.state == "running"
    resource.open_intakes().cancel(intake)
    go.set()
    at = documents()
    assert "이미 추가한 문서는 남아 있습니다" in texts(at).replace("\\", "")
    assert shelf().documents() == []


def adding(text: str) -> Any:
    return lambda intake: shelf().add([("long.md", text.encode())], stop=intake.stop)


# --- files in the chat --------------------------------------------------------------------------


def dropped(*files: tuple[str, bytes], question: str = QUESTION, at: AppTest | None = None) -> AppTest:
    """A page after files were dropped into its input."""
    at = at or page()
    box = at.chat_input(key="ask").set_value(question) if question else at.chat_input(key="ask")
    for name, data in files:
        box = box.upload(name, data)
    box.run()
    settled(at)
    return at


def chips(at: AppTest, place: str) -> dict[str, str]:
    """The files of a message, by name, each with its icon."""
    mine = [each for each in at.button if (each.key or "").startswith(f"chip-{place}-")]
    return {each.label.replace("\\", ""): str(each.proto.icon).split("/")[-1].rstrip(":") for each in mine}


def test_files_dropped_into_the_chat_are_in_before_the_question_is_asked_and_stand_on_it(serve: Serve) -> None:
    serve(chat, judge)
    at = dropped(("환불.md", REFUND.encode()), ("empty.md", b""))
    assert "7일 안에 신청합니다 [\\[1\\]](" in texts(at)
    assert chips(at, "1") == {"환불.md": "description", "empty.md": "warning"}
    assert [turn.question for turn in store().turns(session_of(at))] == [QUESTION]
    assert shelf().documents() == [], "they are the conversation's alone"
    again = page(s=session_of(at))
    assert chips(again, "1") == chips(at, "1")
    again.button(key="chip-1-0").click().run()
    assert "구매일로부터 7일" in html(again, "gieok-source")
    again.button(key="chip-1-1").click().run()
    assert "'empty.md'에 텍스트가 없습니다." in texts(again).replace("\\", "")


def test_a_damaged_picture_is_refused_at_once_and_the_message_goes_back_into_the_input(serve: Serve) -> None:
    serve(chat, judge)
    at = page()
    at.chat_input(key="ask").set_value(QUESTION).upload("photo.png", b"\x89PNG").run()
    assert at.chat_input(key="ask").value == QUESTION
    box = at.chat_input(key="ask").set_value(QUESTION).upload("환불.md", REFUND.encode())
    box.upload("photo.png", b"\x89PNG").run()
    settled(at)
    assert "이미지 photo.png을(를) 읽을 수 없습니다." in texts(at).replace("\\", ""), "it stays until it is dealt with"
    assert chips(at, "next-0") == {"환불.md": "description"}, "the file that can be read waits for the message"
    assert store().turns(session_of(at)) == []
    say(at, QUESTION)
    assert chips(at, "1") == {"환불.md": "description"}


def test_a_model_that_sees_no_images_says_so_before_anything_is_sent(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(chat, judge)
    models = resolve.resolve_models(settings.load_current_settings())
    blind = replace(models, profile=replace(models.profile, images=False))
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: blind)
    page()
    until(lambda: resource.in_use().of_session(None).status.state == "ready")
    at = page()
    at.chat_input(key="ask").set_value(QUESTION).upload("photo.png", png()).run()
    assert at.chat_input(key="ask").value == QUESTION, "it goes back into the input"
    at.chat_input(key="ask").set_value(QUESTION).upload("photo.png", png()).upload("환불.md", REFUND.encode()).run()
    settled(at)
    said = texts(at).replace("\\", "")
    assert f"{blind.name} 모델은 이미지를 받지 않습니다." in said
    assert "이미지를 빼거나 이미지를 받는 모델을 고르세요. 보낸 것은 없습니다." in said
    assert chips(at, "next-0") == {"환불.md": "description"}, "the file that can be read waits for the message"
    assert store().turns(session_of(at)) == []
    assert isinstance(blind.chat, ScriptedModel)
    assert blind.chat.calls == []


def png() -> bytes:
    """A picture."""
    written = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(written, "PNG")
    return written.getvalue()


def test_a_message_whose_image_cannot_be_stored_goes_back_into_the_input(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(chat, judge)

    def fail(*_: object) -> None:
        raise DiskFull(path="x", needed="1 MB", free="0")

    with monkeypatch.context() as patch:
        patch.setattr(Images, "attach", fail)
        at = page()
        at.chat_input(key="ask").set_value(QUESTION).upload("photo.png", png()).run()
    assert not at.exception
    assert at.chat_input(key="ask").value == QUESTION
    assert store().outbox.of(session_of(at)) == [], "nothing waits unseen"
    at.chat_input(key="ask").set_value(QUESTION).upload("photo.png", png()).run()
    settled(at)
    assert [file["name"] for turn in store().turns(session_of(at)) for file in turn.files] == ["photo.png"]


def test_files_alone_wait_for_the_next_message_and_can_be_taken_away(serve: Serve) -> None:
    serve(chat, judge)
    at = dropped(("환불.md", REFUND.encode()), ("other.md", b"# Other\n\nWords."), question="")
    assert store().sessions() == []
    assert {**chips(at, "next-0"), **chips(at, "next-1")} == {"환불.md": "description", "other.md": "description"}
    at.button(key="drop-0").click().run()
    assert chips(at, "next-0") == {"환불.md": "description"}
    assert [each.name for each in shelf().find_attached_documents(session_of(at)).values()] == ["환불.md"]
    say(at, QUESTION)
    assert chips(at, "1") == {"환불.md": "description"}
    assert chips(at, "next-0") == {}


def test_a_pdf_opens_at_the_page_that_was_cited(serve: Serve) -> None:
    serve(chat, judge)
    data = file.pdf(
        "The first page is about nothing.", "환불은 구매일로부터 7일 안에 신청합니다: refund within 7 days."
    )
    at = dropped(("manual.pdf", data))
    turn = store().turn(session_of(at), 1)
    assert turn is not None
    cited = look_ups(turn.steps)[0]["passages"][0]["label"]
    at.button(key="chip-1-0").click().run()
    number = cited.removeprefix("manual.pdf › p. ")
    assert f"{number}쪽" in texts(at)
    assert at.pagination[0].value == int(number)
    at.pagination[0].set_value(3 - int(number)).run()
    assert f"{3 - int(number)}쪽" in texts(at)


def test_a_newer_file_of_the_same_name_takes_the_place_and_the_older_chip_says_so(serve: Serve) -> None:
    serve(chat, judge)
    at = dropped(("환불.md", REFUND.encode()))
    dropped(("환불.md", REFUND.replace("7일", "14일").encode()), at=at)
    assert (chips(at, "1"), chips(at, "2")) == ({"환불.md": "history"}, {"환불.md": "description"})
    at.button(key="chip-1-0").click().run()
    assert "이름이 같은 새 파일" in at.warning[0].value
    at.button(key="chip-2-0").click().run()
    assert "14일" in html(at, "gieok-source")


def test_a_file_whose_reading_was_stopped_says_so_on_its_chip(serve: Serve, words: Words) -> None:
    def stop() -> None:
        resource.open_intakes().cancel(resource.open_intakes().all()[-1])

    serve(lambda messages: "네.")
    words.before = stop
    long = "\n\n".join(f"## {number}장\n\n내용 {number}." for number in range(20))
    at = dropped(("긴.md", long.encode()), question="이 파일은 무엇인가요?")
    assert "네." in texts(at)
    assert chips(at, "1") == {"긴.md": "do_not_disturb_on"}
    at.button(key="chip-1-0").click().run()
    assert "다시 넣으세요" in at.warning[0].value


def test_what_a_conversation_looks_in_is_chosen_beside_its_input_and_kept(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = page()
    at.checkbox(key="reach-product-None").uncheck().run()
    say(at, "안녕하세요, 반갑습니다")
    own = session_of(at)
    assert store().session(own).collections == ["session", "mine"]
    at.checkbox(key=f"reach-product-{own}").check().run()
    assert store().session(own).collections is None
    assert [each.value for each in page().checkbox if (each.key or "").startswith("reach-")] == [True] * 3


# --- sources and trace --------------------------------------------------------------------------


def test_an_answer_is_followed_by_its_source_and_that_opens_the_passage(serve: Serve) -> None:
    at = answered(serve)
    button = at.button(key="source-1-1")
    assert button.label == r"\[1\] 환불\.md › 환불 기간"
    button.click().run()
    shown = html(at, "gieok-source")
    assert shown.startswith('<div class="gieok-source"><mark class="passage"><b>환불은</b> 구매일로부터')


def test_a_source_whose_document_changed_or_went_shows_what_the_answer_was_given(serve: Serve) -> None:
    at = answered(serve)
    add(("환불.md", REFUND.replace("7일", "14일")))
    at.button(key="source-1-1").click().run()
    assert "문서가 바뀌었습니다" in at.warning[0].value
    assert "7일" in html(at, "gieok-source")
    assert "14일" in html(at, "gieok-source", 1)
    shelf().remove(id_of("환불.md"))
    at.run()
    assert "문서가 삭제되었습니다" in at.warning[0].value
    assert "7일" in html(at, "gieok-source")


def test_the_trace_tells_queries_ranks_and_what_was_judged(serve: Serve) -> None:
    at = traced(answered(serve))
    said = texts(at).replace("\\", "")
    assert f"**{QUESTION}**" in said
    assert "답하기에 충분함" in said
    assert "확신도 90%" in said
    assert "최대 3번 중 1번 호출 · 찾은 문단 2개 중 2개로 답변" in said
    assert "찾은 문단: FAQ 0개, 가이드 2개" in said
    table = html(at, "gieok-hits")
    assert '<tr class=given><th scope="row">[1] 환불.md › 환불 기간 <small>가이드</small></th>' in table
    assert table.count("<td>") == 4 * table.count('<th scope="row">')


def test_what_was_not_judged_is_said_to_be_so(serve: Serve) -> None:
    at = traced(answered(serve, lambda messages: "I think the second one is best"))
    said = texts(at).replace("\\", "")
    assert "판정하지 않음" in said
    assert "통합 순위를 사용했습니다" in said
    assert "확신도" not in said


def test_a_fallback_is_said_with_the_links_that_were_offered(serve: Serve) -> None:
    low = {**judgement(), "is_sufficient": False, "missing": ["steps"], "confidence": 0.2}
    at = traced(answered(serve, lambda messages: json.dumps(low)))
    said = texts(at).replace("\\", "")
    assert "관련 문서를 찾지 못했다고" in said
    assert "부족한 것: 절차" in said
    assert "source-1-1" not in [each.key for each in at.button]


def refused(serve: Serve) -> AppTest:
    return answered(serve, lambda messages: json.dumps({**judgement(), "confidence": 0.2}))


def test_when_no_document_fits_the_menu_stands_under_the_answer_and_leads_on(serve: Serve) -> None:
    at = refused(serve)
    assert "문서에서 찾지 못했습니다" in texts(at)
    labels = [at.button(key=f"menu-1-{number}").label for number in range(3)]
    assert [label.replace("\\", "")[:3] for label in labels] == ["문서:", "설정:", "도움말"]
    at.button(key="menu-1-2").click().run()
    assert not at.exception
    assert "view" not in at.query_params, "a refresh does not open it again"
    assert "go-to-documents" in [each.key for each in at.button]
    at.button(key="menu-1-0").click().run()
    assert at.query_params["view"] in ("documents", ["documents"])
    assert not at.exception


def test_an_answer_with_sources_has_no_menu(serve: Serve) -> None:
    assert "menu-1-0" not in [each.key for each in answered(serve).button]


def test_a_menu_of_ones_own_leads_out_and_runs_nothing(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    menu = [{"title": {"en": "Refunds"}, "url": "https://example.com"}, {"title": {"en": "X"}, "url": "javascript:a()"}]
    (tmp_path / "menu.json").write_text(json.dumps(menu))
    monkeypatch.setenv("GIEOK_MENU", str(tmp_path / "menu.json"))
    settings.load_current_settings.cache_clear()
    at = refused(serve)
    assert [each.proto.url for each in at.get("link_button")] == ["https://example.com"]
    assert "X · javascript:a()" in texts(at).replace("\\", "")


def test_an_address_opens_its_window(serve: Serve) -> None:
    serve()
    at = page(view="settings")
    assert "view" not in at.query_params
    assert "models-kind" in [each.key for each in at.get("button_group")]


def test_a_source_that_was_shortened_is_marked_as_far_as_it_was_given(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIEOK_BUDGET_RETRIEVAL", "25")
    settings.load_current_settings.cache_clear()
    serve(chat, judge)
    page()
    add(("환불.md", "# 환불\n\n" + "환불은 구매일로부터 7일 안에 신청합니다 " * 12))
    at = say(page(), QUESTION)
    at.button(key="source-1-1").click().run()
    marked, _, rest = html(at, "gieok-source").partition("</mark>")
    assert marked.startswith('<div class="gieok-source"><mark class="passage"><b>환불은</b> 구매일로부터')
    assert "구매일로부터" in rest


def test_before_a_search_the_trace_says_what_it_is_for(serve: Serve) -> None:
    serve(lambda messages: "네.")
    at = traced(say(page(), "안녕하세요, 반갑습니다"))
    assert "아직 문서를 검색한 답변이 없습니다" in texts(at)


def traced(at: AppTest) -> AppTest:
    """The page with the trace open: a tab is opened by the browser, which AppTest has not."""
    at.session_state["tabs-ko"] = "찾은 문단"
    at.run()
    assert not at.exception
    return at


def settled(at: AppTest) -> None:
    """Until nothing is under way any more."""
    assert not at.exception

    def holds() -> bool:
        added = all(each.state == "done" for each in resource.open_intakes().all())
        return added and ("s" not in at.query_params or resource.find_user_jobs().of(session_of(at)) is None)

    until(holds)
    at.run()
    assert not at.exception


def damage() -> None:
    """Makes the index files unreadable."""
    folder = settings.load_current_settings().data_dir / "library"
    for each in folder.glob("*-*"):
        each.write_bytes(b"broken")


def restart() -> None:
    """As after a restart of the program."""
    st.cache_resource.clear()


@pytest.mark.parametrize(("count", "said"), [(0, "0 B"), (999, "999 B"), (20_400, "20 kB"), (2_500_000, "2.5 MB")])
def test_sizes_read_well(count: int, said: str) -> None:
    assert format_file_size(count) == said


def test_the_users_own_documents_stand_before_those_of_the_product() -> None:
    guide = Document(1, "guide.md", "guide.md", "guide", "", "en", "a", 1, "ready", None, 1, 1, 1.0, "product")
    own = [replace(guide, id=number, name=f"{number}.md", collection="mine") for number in (2, 3)]
    assert [document.id for document in filter_documents([guide, *own], "")] == [2, 3, 1]
    assert [document.id for document in filter_documents([guide, *own], "guide")] == [1]
