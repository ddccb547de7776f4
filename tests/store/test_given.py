"""Turns that a client tells: a branch of finished turns without a model call."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from errors import SessionUnknown, TurnUnknown
from store import Finished, GivenTurn, Store
from store.database import schema
from store.export import portable

AT = 1_700_000_000.0

TOKENS = re.compile(r'"tokens": (\d+),')


@pytest.fixture
def store(database: str | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    opened = Store(database or f"sqlite:///{tmp_path_factory.mktemp('own') / 'gieok.db'}")
    yield opened
    opened.close()


@pytest.fixture
def own(store: Store) -> str:
    return store.create_session("ko", 0.3).id


def given(*numbers: int) -> list[GivenTurn]:
    return [GivenTurn(f"질문 {number}", f"답 {number}", 10 + number) for number in numbers]


def asked(store: Store, own: str, *numbers: int) -> None:
    for number in numbers:
        store.finish_turn(
            own, store.begin_turn(own, f"물음 {number}").number, Finished("done", f"대답 {number}", tokens=5)
        )


def questions(store: Store, own: str) -> list[str]:
    return [turn.question for turn in store.turns(own)]


def marks(store: Store, own: str) -> list[tuple[int, int]]:
    of = schema.history_mark.c
    with store.transaction() as connection:
        query = select(of.number, of.mark).where(of.home == own).order_by(of.number, of.mark)
        return [(row.number, row.mark) for row in connection.execute(query)]


def test_they_are_finished_turns_of_their_time_and_marked_given(store: Store, own: str) -> None:
    before = store.session(own)
    assert store.tree.give(own, 1, given(1, 2), AT) == 2
    session, turns = store.session(own), store.turns(own)
    assert (session.turn_count, session.history_tokens, session.title) == (2, 23, "질문 1")
    assert (session.revision, session.updated) == (before.revision + 1, AT)
    assert [(turn.number, turn.question, turn.answer) for turn in turns] == [
        (1, "질문 1", "답 1"),
        (2, "질문 2", "답 2"),
    ]
    assert {(turn.status, turn.given, turn.started, turn.finished) for turn in turns} == {("done", True, AT, AT)}
    assert [message["type"] for message in turns[0].messages or []] == ["human", "ai"]
    assert store.begin_turn(own, "다음").number == 3
    latest = store.turn(own, 3)
    assert latest is not None
    assert not latest.given


def test_after_the_last_turn_they_go_on_along_its_branch(store: Store, own: str) -> None:
    asked(store, own, 1, 2)
    assert store.tree.give(own, 3, given(3), AT) == 3
    assert questions(store, own) == ["물음 1", "물음 2", "질문 3"]
    assert store.session(own).path == [(0, 1)]
    assert store.session(own).title == "물음 1"


def test_before_the_last_turn_they_begin_a_branch(store: Store, own: str) -> None:
    asked(store, own, 1, 2, 3)
    assert store.tree.give(own, 2, given(2, 3, 4), AT) == 4
    assert questions(store, own) == ["물음 1", "질문 2", "질문 3", "질문 4"]
    assert store.session(own).path == [(0, 1), (1, 2)]
    assert store.tree.alternatives(own, [2])[2].branches == (0, 1)
    store.tree.switch(own, 2, 0)
    assert questions(store, own) == ["물음 1", "물음 2", "물음 3"]


def test_without_turns_nothing_changes(store: Store, own: str) -> None:
    asked(store, own, 1)
    before = store.session(own)
    assert store.tree.give(own, 2, [], AT) == 1
    assert store.tree.give(own, 1, [], AT) == 0
    assert store.session(own) == before


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_a_gap_is_refused_and_nothing_is_written(store: Store, own: str, number: int) -> None:
    asked(store, own, 1)
    with pytest.raises(TurnUnknown):
        store.tree.give(own, number, given(1), AT)
    assert questions(store, own) == ["물음 1"]
    with pytest.raises(SessionUnknown):
        store.tree.give("gone", 1, given(1), AT)


def test_all_are_written_or_none(store: Store, own: str) -> None:
    asked(store, own, 1, 2)
    broken = [*given(1), GivenTurn("질문", "답", None)]  # type: ignore[arg-type]
    before = store.session(own)
    with pytest.raises(Exception, match=r"NOT NULL|null value"):
        store.tree.give(own, 1, broken, AT)
    assert (store.session(own), questions(store, own)) == (before, ["물음 1", "물음 2"])
    assert store.tree.alternatives(own, [1]) == {}


def test_odd_text_comes_back_as_told(store: Store, own: str) -> None:
    odd = GivenTurn("질문\x00\ud83d  끝 ", "\ud83d\x00답", 1)
    store.tree.give(own, 1, [odd], AT)
    (turn,) = store.turns(own)
    assert (turn.question, turn.answer) == (odd.question, odd.answer)
    (lead,) = store.histories.find([(odd.question, odd.answer)])
    assert set(lead.weights) == {(0, 1)}


def test_a_copy_takes_marks_and_given_along(store: Store, own: str) -> None:
    store.tree.give(own, 1, given(1, 2), AT)
    asked(store, own, 3)
    copy = store.tree.copy(own, 3)
    assert [turn.given for turn in store.turns(copy)] == [True, True, False]
    assert marks(store, copy) == marks(store, own)
    assert {number for number, _ in marks(store, copy)} == {1, 2, 3}


def test_an_export_carries_them_as_plain_turns(store: Store, own: str) -> None:
    store.tree.give(own, 1, given(1, 2), AT)
    store.set_client_system(own, "역할: 등대지기")
    exported = portable.render_session_json(store, own)
    (made,) = portable.import_conversations(store, exported.encode(), portable.LIMIT, len).sessions
    assert "given" not in exported
    assert [(turn.question, turn.answer, turn.given) for turn in store.turns(made)] == [
        ("질문 1", "답 1", False),
        ("질문 2", "답 2", False),
    ]
    assert marks(store, made) == marks(store, own)
    assert store.session(made).client_system == "역할: 등대지기"
    again = portable.render_session_json(store, made).replace(made, own)
    # tokens are counted anew, for no model of this installation has answered
    assert TOKENS.sub("", again) == TOKENS.sub("", exported)
    assert [int(count) for count in TOKENS.findall(again)] == [2, 2], "two messages each"
