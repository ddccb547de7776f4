"""The page after an import: what was summarised, the offer of the model's own summaries, and the line of side work."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bench.imported import exported
from component.page.catalogue import Words
from component.panel import panel
from component.panel import work_line as line_of_work
from component.panel.rewrite_offer import describe_offer
from component.panel.work_line import describe_work
from component.work import resource
from errors import ModelUnreachable
from graph.summary.rewrite import RewriteOffer
from graph.turn.process.side_work import SideWork
from model import scripted
from model.choice import resolve
from model.profile import SMALL
from tests.component.listing import go
from tests.graph.talk import summarising
from tests.test_app import page, say, store, texts

pytestmark = pytest.mark.usefixtures("fresh")
OFFER = "요약 3개는 원문 문장을 골라 만들었습니다"


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def brought(turns: int = 9) -> str:
    page()
    (own,) = resource.find_user_agent().import_sessions(exported("ko", turns)).sessions
    return own


def work_line(at: AppTest) -> str:
    """What the line of the panel says."""
    (line,) = (each.proto.body for each in at.get("html") if 'class="gieok-work"' in each.proto.body)
    return str(line).split(">")[1].split("<")[0]


def press(at: AppTest, name: str) -> AppTest:
    at.button(key=f"rewrite-{name}").click().run()
    assert not at.exception
    return at


def idle() -> None:
    assert resource.find_user_agent().background.idle(20)


def origins(session: str) -> set[str]:
    return {row.origin for row in store().ledger.summaries(session)}


def test_an_import_shows_its_summaries_and_offers_the_models(serve: Any) -> None:
    serve()
    at = page(s=brought())
    assert "아직 요약이 없습니다" not in texts(at)
    assert "총 요약: 3개 (9턴 압축)" in texts(at)
    assert OFFER in texts(at)
    assert work_line(at) == "", "its place is there"


def test_later_asks_again_when_the_chat_is_opened_again(serve: Any) -> None:
    serve()
    own, other = brought(), brought()
    at = press(page(s=own), "later")
    assert OFFER not in texts(at)
    assert OFFER not in texts(at.run())
    assert OFFER in texts(go(at, other))
    assert OFFER in texts(go(at, own))


def test_never_is_kept_for_the_chat(serve: Any) -> None:
    serve()
    own = brought()
    assert OFFER not in texts(press(page(s=own), "never"))
    assert OFFER not in texts(page(s=own))
    assert OFFER in texts(page(s=brought()))


def test_now_has_the_model_write_them_and_says_what_is_left(serve: Any, gate: threading.Event) -> None:
    def write(messages: Any) -> str:
        gate.wait(60)
        return summarising(messages)

    serve(utility=write)
    own = brought()
    at = press(page(s=own), "now")
    assert "모델이 요약을 쓰고 있습니다: 3개 남음." in texts(at)
    assert work_line(at.run()).startswith("작업 중: 모델의 요약 (3) ")
    at.button(key="work-open").click().run()
    assert "모델의 요약 (3) · " in texts(at).replace("\\", "")
    at.session_state["window"] = ("", None, None)
    gate.set()
    idle()
    assert OFFER not in texts(at.run())
    assert work_line(at) == ""
    assert origins(own) == {"regenerated"}


def test_it_can_be_stopped(serve: Any, gate: threading.Event) -> None:
    def write(messages: Any) -> str:
        gate.wait(60)
        return summarising(messages)

    serve(utility=write)
    own = brought()
    at = press(press(page(s=own), "now"), "stop")
    gate.set()
    idle()
    assert store().session(own).rewriting == ""
    assert "rewrite-now" in [button.key for button in at.run().button]
    assert "extracted" in origins(own)


def test_after_a_restart_it_goes_on_when_the_chat_is_opened(serve: Any) -> None:
    serve(utility=summarising)
    own = brought()
    store().set_rewriting(own, "now")
    page(s=own)
    idle()
    assert origins(own) == {"regenerated"}


def test_a_model_that_is_away_leaves_a_button_to_go_on(serve: Any) -> None:
    bad = [True]

    def write(messages: Any) -> Any:
        return ModelUnreachable(url="http://model") if bad[0] else summarising(messages)

    serve(utility=write)
    own = brought(3)
    at = press(page(s=own), "now")
    for _ in range(3):  # the page takes it up once by itself
        idle()
        at.run()
    assert "모델이 요약 쓰기를 멈췄습니다: 1개 남음." in texts(at)
    assert origins(own) == {"extracted"}
    bad[0] = False
    press(at, "resume")
    idle()
    assert origins(own) == {"regenerated"}


def test_where_code_writes_summaries_nothing_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    models = scripted.build_scripted_models(lambda _: "네.", summarising, side=SMALL)
    monkeypatch.setattr(resolve, "resolve_models", lambda *_args, **_more: models)
    own = brought()
    assert "rewrite-now" not in [button.key for button in page(s=own).button]


def test_work_for_all_chats_of_the_user_is_shown_in_every_chat_and_no_other_users(
    serve: Any, gate: threading.Event
) -> None:
    serve()
    own, other = brought(), brought()
    worker, begun = resource.find_user_agent().background, threading.Semaphore(0)

    def work(stop: threading.Event) -> None:
        begun.release()
        gate.wait(60)

    worker.submit(("turns", "", "somebody"), work, "theirs", user="somebody")
    assert begun.acquire(timeout=60)
    assert work_line(page(s=own)) == ""
    worker.submit(("turns", "", resource.find_user_agent().user), work, "mine", user=resource.find_user_agent().user)
    assert begun.acquire(timeout=60)
    worker.submit(("imported", own), work, "mine", user=resource.find_user_agent().user)
    for at in (page(s=own), page(s=other), page()):
        assert re.fullmatch(r"작업 중: 지난 대화 색인 \d+초 · 대기: 가져온 대화의 요약", work_line(at))
    gate.set()
    idle()
    assert work_line(page(s=other)) == ""


def test_work_that_ends_while_the_page_is_drawn_has_the_page_drawn_again(
    serve: Any, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat is drawn before the panel: what the work changed there would stay unseen."""
    serve()
    own, looks, draw = brought(), list[tuple[bool, float | None]](), panel.draw_panel

    def draw_panel(*parts: Any) -> Any:
        gate.set()
        idle()
        return draw(*parts)

    def redraw_when(look: Callable[[], bool], beat: float | None) -> None:
        looks.append((look(), beat))

    def work(stop: threading.Event) -> None:
        gate.wait(60)

    resource.find_user_agent().background.submit(("imported", own), work, own)
    with monkeypatch.context() as patch:
        patch.setattr(panel, "draw_panel", draw_panel)
        patch.setattr(line_of_work, "redraw_when", redraw_when)
        at = page(s=own)
    assert looks == [(True, line_of_work.BEAT)]
    assert work_line(at) == ""


def test_the_line_names_what_runs_and_what_waits_in_both_languages() -> None:
    now = time.time()
    work = [
        SideWork("rewrite", "s", True, now - 12),
        SideWork("title", "s", False, now),
        SideWork("read ahead", "s", False, now),
        SideWork("title", "s", False, now),
        SideWork("files", "", False, now),
    ]
    assert describe_work(Words("en"), work, 213) == (
        "Working: summaries by the model (213) 12 s · waiting: title (2), reading ahead"
    )
    assert describe_work(Words("ko"), work, 213) == "작업 중: 모델의 요약 (213) 12초 · 대기: 제목 (2), 미리 읽기"
    assert describe_work(Words("en"), work[1:2]) == "waiting: title"
    assert describe_work(Words("en"), []) == ""


def test_the_offer_names_a_price_where_one_is_known() -> None:
    words = Words("en")
    assert describe_offer(words, RewriteOffer(333, 80_000, 0.125)).endswith("about 333 calls, $0.12.")
    assert describe_offer(words, RewriteOffer(333, 80_000, None)).endswith("about 333 calls, about 80,000 tokens.")


def test_a_turn_beside_it_is_answered(serve: Any, gate: threading.Event) -> None:
    def write(messages: Any) -> str:
        gate.wait(60)
        return summarising(messages)

    serve(lambda _: "네.", utility=write)
    own = brought()
    at = say(press(page(s=own), "now"), "다음은?")
    assert "네." in texts(at)
    gate.set()
    idle()
