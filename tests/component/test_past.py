"""Past turns behind an answer: chips, links, and the window with scores."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from component.answer.citation import with_links
from component.answer.past import cited_marks, given_turns
from component.page.catalogue import Words
from store import Finished, TurnRow
from tests.component.test_memory import html
from tests.component.test_offer import run
from tests.conftest import Serve
from tests.table import table
from tests.test_app import APP, page, store, texts
from text.language import Language

pytestmark = pytest.mark.usefixtures("fresh")


def talked(answer: str, language: Language = "en") -> tuple[str, str]:
    """A conversation about a wifi code, and another one whose first answer was given that turn and one of its own."""
    other, own = (store().create_session(language, 0.3).id for _ in range(2))
    store().finish_turn(other, store().begin_turn(other, "My wifi code is hunter2.").number, Finished("done", "Noted."))
    store().rename_session(other, "Router")
    store().finish_turn(
        own, store().begin_turn(own, "The router stands in the hall.").number, Finished("done", "Good.")
    )
    items = [f"{other}/0/1/0.97", "/0/1/0.41"]
    parts = [{"name": "turns", "tokens": 40, "budget": 1500, "items": items}]
    missed = [{"what": "1", "reason": "below_floor", "tokens": 0, "items": ["/0/1/0.03"]}]
    report = {"turn": 2, "parts": parts, "left_out": missed, "total_tokens": 100, "full_tokens": 100, "exact": True}
    store().begin_turn(own, "What is my wifi code?")
    store().finish_turn(own, 2, Finished("done", answer, report=report))
    return other, own


def turn_of(session: str) -> TurnRow:
    turn = store().turn(session, 2)
    assert turn is not None
    return turn


@table(
    ("answer", "marks"),
    [
        ("It is hunter2 [T1].", {1}),
        ("Both [T1, T2] say so.", {1, 2}),
        ("hunter2입니다[T2][T1].", {1, 2}),
        ("See [1] and T3.", set()),
    ],
)
def test_marks_name_past_turns_and_numbers_name_documents(answer: str, marks: set[int]) -> None:
    assert cited_marks(answer) == marks


def test_a_mark_leads_to_its_chip_and_an_invented_one_goes(serve: Serve) -> None:
    serve()
    _, own = talked("It is hunter2 [T1], or not [T7].")
    assert with_links(turn_of(own)) == r"It is hunter2 [\[T1\]](#past-2-1), or not ."
    assert [(key.session_id == own, score) for key, score in given_turns(turn_of(own))] == [(False, 0.97), (True, 0.41)]


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click()
    return run(at)


def test_a_cited_turn_has_a_chip_that_opens_it_with_its_score_and_never_use_this(serve: Serve) -> None:
    serve()
    other, own = talked("It is hunter2 [T1].")
    at = page("en-US", s=own)
    chip = at.button(key="past-2-1")
    assert "Router" in chip.label
    at = press(at, "past-2-1")
    assert "fits 0\\.97" in texts(at)
    assert "My wifi code is hunter2." in html(at)
    at = press(at, "past-never-1")
    key = given_turns(turn_of(own))[0][0]
    past = store().turn_index.text(key)
    assert past is not None
    assert past.unused
    at = press(at, "past-never-1")
    past = store().turn_index.text(key)
    assert past is not None
    assert not past.unused
    at = press(at, "past-open-1")
    assert at.query_params["s"] in (other, [other])


def test_an_answer_that_cites_nothing_tells_how_many_were_given_and_shows_all(serve: Serve) -> None:
    serve()
    _, own = talked("It is hunter2.", "ko")
    at = press(page("ko-KR", s=own), "past-2-0")
    assert "0\\.97" in texts(at)
    assert "0\\.41" in texts(at)


def test_a_turn_that_is_gone_is_said_to_be_gone(serve: Serve) -> None:
    serve()
    other, own = talked("It is hunter2 [T1].")
    assert "My wifi code is hunter2." in html(press(page("en-US", s=own), "past-2-1"))
    store().delete_session(other)
    at = press(page("en-US", s=own), "past-2-1")
    assert "My wifi code is hunter2." not in html(at)
    assert Words("en")("past.gone") in texts(at)


def open_context_tab(session: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": "en-US"}
    at.query_params["s"] = session
    at.session_state["tabs-en"] = Words("en")("panel.tab.context")
    return run(at)


def test_the_context_tab_lists_what_was_given_and_what_came_near_and_opens_the_window(serve: Serve) -> None:
    serve()
    other, own = talked("It is hunter2.")
    at = open_context_tab(own)
    listed = html(at)
    assert listed.index("Router") < listed.index("0.97") < listed.index("0.41")
    assert listed.index(Words("en")("context.reason.below_floor")) < listed.index("0.03")
    at = press(at, "past-look-2")
    at = press(at, "past-never-1")
    past = store().turn_index.text(given_turns(turn_of(own))[0][0])
    assert past is not None
    assert past.unused
    store().delete_session(other)
    assert Words("en")("past.gone") in html(open_context_tab(own))
