"""Messages that wait, and answers that have not ended: rows until their turn begins or ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from errors import SessionUnknown
from store import Finished, Store


@pytest.fixture
def store(database: str | None, tmp_path: Path) -> Iterator[Store]:
    opened = Store(database or f"sqlite:///{tmp_path / 'gieok.db'}")
    yield opened
    opened.close()


@pytest.fixture
def own(store: Store) -> str:
    return store.create_session("ko", 0.3).id


def test_a_message_waits_until_its_turn_begins(store: Store, own: str) -> None:
    for text in ("하나", "둘", "하나"):
        store.outbox.add(own, text)
    store.begin_turn(own, "하나")
    assert [each.text for each in store.outbox.of(own)] == ["둘", "하나"]
    store.begin_turn(own, "다른 말")
    assert [each.text for each in store.outbox.of(own)] == ["둘", "하나"]


def test_an_edited_text_waits_until_it_takes_its_turns_place(store: Store, own: str) -> None:
    store.begin_turn(own, "처음")
    store.finish_turn(own, 1, Finished("done", answer="답"))
    store.outbox.add(own, "고친 말", 1)
    store.begin_turn(own, "고친 말")
    assert len(store.outbox.of(own)) == 1
    store.tree.begin(own, 1, "고친 말")
    assert store.outbox.of(own) == []


def test_a_turn_that_cannot_be_taken_leaves_the_message(store: Store) -> None:
    own = store.create_session("ko", 0.3).id
    store.outbox.add(own, "질문")
    with pytest.raises(SessionUnknown):
        store.begin_turn("gone", "질문")
    assert len(store.outbox.of(own)) == 1


def test_no_message_gets_the_id_of_an_earlier_one(store: Store, own: str) -> None:
    first = store.outbox.add(own, "하나")
    assert store.outbox.remove(first)
    assert not store.outbox.remove(first)
    assert store.outbox.add(own, "둘") > first


def test_every_character_comes_back(store: Store, own: str) -> None:
    text = "null \x00 surrogate \ud800 끝"
    store.outbox.add(own, text)
    assert store.outbox.of(own)[0].text == text
    store.begin_turn(own, text)
    assert store.outbox.of(own) == []


def test_a_session_whose_first_message_waits_is_listed_by_it(store: Store, own: str) -> None:
    used = store.create_session("ko", 0.3).id
    store.begin_turn(used, "먼저 한 말")
    store.create_session("ko", 0.3)
    assert [each.id for each in store.sessions()] == [used]
    message = store.outbox.add(own, "  기다리는 첫 말\n둘째 줄")
    assert {each.id: each.title for each in store.sessions()} == {own: "기다리는 첫 말 둘째 줄", used: "먼저 한 말"}
    assert len(store.sessions(limit=1)) == 1
    assert [each.id for each in (*store.sessions(1), *store.sessions(1, 1))] == [each.id for each in store.sessions()]
    store.put_away(own)
    assert [each.id for each in store.sessions()] == [used]
    store.put_away(own, away=False)
    store.outbox.remove(message)
    assert [each.id for each in store.sessions()] == [used]


def test_what_had_arrived_of_an_answer_goes_into_its_turn(store: Store, own: str) -> None:
    store.begin_turn(own, "질문")
    store.partials.keep(own, 1, "여기")
    store.partials.keep(own, 1, "여기까지")
    store.partials.settle(own, 1)
    turn = store.turn(own, 1)
    assert turn is not None
    assert (turn.status, turn.answer) == ("running", "여기까지")
    store.restart_turn(own, 1)
    turn = store.turn(own, 1)
    assert turn is not None
    assert turn.answer is None


def test_what_had_arrived_is_forgotten_when_the_turn_ends_or_another_begins(store: Store, own: str) -> None:
    store.begin_turn(own, "질문")
    store.partials.keep(own, 1, "반쯤")
    store.finish_turn(own, 1, Finished("done", answer="다 왔다"))
    store.tree.begin(own, 1, "다시")
    store.partials.settle(own, 1)
    turn = store.turn(own, 1)
    assert turn is not None
    assert turn.answer is None
    store.partials.keep(own, 1, "둘째 판의 반")
    store.tree.begin(own, 1, "또 다시")
    store.partials.settle(own, 1)
    assert [each.answer for each in store.turns(own)] == [None]


def test_a_session_that_is_deleted_takes_both_along(store: Store, own: str) -> None:
    store.begin_turn(own, "질문")
    store.partials.keep(own, 1, "반쯤")
    store.outbox.add(own, "기다리는 말")
    store.delete_session(own)
    with store.transaction() as connection:
        for table in ("partial", "outbox"):
            assert connection.execute(sql(f"SELECT count(*) FROM {table}")).scalar() == 0


def test_a_copy_of_a_session_has_a_title_of_its_own(store: Store, own: str) -> None:
    store.begin_turn(own, "여행 계획 100%")
    titles = [store.session(store.tree.copy(own, 1)).title for _ in range(2)]
    assert titles == ["여행 계획 100% (2)", "여행 계획 100% (3)"]
    copied = store.tree.copy(store.sessions(limit=10)[0].id, 1)
    assert store.session(copied).title == "여행 계획 100% (4)"


def test_deleted_sessions_are_listed_the_last_one_first(store: Store) -> None:
    names = [store.create_session("ko", 0.3).id for _ in range(3)]
    for name in names[:2]:
        store.put_away(name)
    assert [each.id for each in store.put_away_sessions()] == [names[1], names[0]]
    assert [each.id for each in store.put_away_sessions(1)] == [names[1]]
