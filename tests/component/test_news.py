"""What an idle page notices, and that it stands still otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from component.page.news import read_page_snapshot
from component.work import resource
from errors import StoreUnavailable
from store import Finished, Store
from tests.test_app import filled, page, store

pytestmark = pytest.mark.usefixtures("fresh")


def view(session: str) -> Any:
    class Here:
        store = resource.find_user_agent().store
        jobs = resource.find_user_jobs()
        session_id = session

    return Here()


def answered(session: str, other: str) -> None:
    store().finish_turn(session, store().begin_turn(session, "다른 탭의 질문").number, Finished("done", answer="답"))


@pytest.mark.parametrize(
    "happens",
    [
        answered,
        lambda session, other: answered(other, session),
        lambda session, other: store().begin_turn(session, "다른 프로그램의 질문"),
        lambda session, other: store().rename_session(other, "새 이름"),
        lambda session, other: store().pin_session(other, True),
        lambda session, other: store().set_rate(session, 0.5),
        lambda session, other: store().outbox.add(session, "기다리는 말"),
        lambda session, other: store().put_away(session),
        lambda session, other: store().delete_session(session),
    ],
)
def test_it_is_noticed(serve: Any, happens: Callable[[str, str], object]) -> None:
    serve()
    page()
    session, other = filled(2), filled(1)
    before = read_page_snapshot(view(session))
    assert read_page_snapshot(view(session)) == before
    happens(session, other)
    assert read_page_snapshot(view(session)) not in (before, ())


def test_a_store_that_cannot_be_read_is_no_news(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    page()
    session = filled(1)

    def away(*_: object) -> None:
        raise StoreUnavailable(where="x", reason="y")

    monkeypatch.setattr(Store, "sessions", away)
    assert read_page_snapshot(view(session)) == ()
