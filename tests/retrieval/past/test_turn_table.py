"""The table of a user's turns: however it came about, it finds what a new one finds."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from retrieval.past.row import VALUE, pack_turn, unpack_words
from retrieval.past.turn_table import NOWHERE, TurnTable
from store.search.turn_index import ChangedSession, IndexChanges, IndexedTurn, PastTurn, Revision, TurnKey

WORDS = ["boat", "oven", "garden", "piano", "roof", "river", "lamp", "tram", "강아지", "회의", "예산"]


def row(session: str, number: int, text: str, branch: int = 0, vector: Iterable[float] = ()) -> IndexedTurn:
    turn = PastTurn(TurnKey(session, branch, number), 1000.0 + number, text, "OK.")
    _, words = pack_turn(turn)
    return IndexedTurn(session, branch, number, np.array([*vector], VALUE).tobytes(), words)


def changes(*sessions: ChangedSession, remaining: Iterable[str] | None = None, number: int = 1) -> IndexChanges:
    return IndexChanges(Revision(number), [*sessions], None if remaining is None else frozenset(remaining))


def whole(session: str, *rows: IndexedTurn, pieces: dict[int, range] | None = None) -> ChangedSession:
    return ChangedSession(session, pieces or {0: range(1, 100)}, True, [*rows])


def said(table: TurnTable, word: str, sessions: Iterable[str] = ("a", "b"), before: int = 10**6) -> list[TurnKey]:
    """The turns that say a word, among those that a search from «a» may find."""
    searched = table.choose_searched([*sessions], "a", before)
    (term,) = _terms(word)
    return sorted(
        (table.key(int(at)) for at in table.postings.find(term).rows if searched[at]),
        key=lambda key: (key.session_id, key.branch, key.number),
    )


def _terms(text: str) -> set[int]:
    """The words of a question, without those of the answer."""
    every, answer = (unpack_words(row("x", 1, each).words).terms for each in (text, ""))
    return {int(term) for term in every} - {int(term) for term in answer}


def test_a_turn_is_found_where_its_session_is_searched_and_only_before_the_asked_turn() -> None:
    table = TurnTable()
    table.apply(changes(whole("a", row("a", 1, "boat"), row("a", 2, "boat")), whole("b", row("b", 1, "boat"))))
    assert [key.number for key in said(table, "boat", ["a"])] == [1, 2]
    assert said(table, "boat", ["a"], before=2) == [TurnKey("a", 0, 1)]
    assert said(table, "boat", ["b"]) == [TurnKey("b", 0, 1)]
    assert said(table, "boat", []) == []


def test_only_turns_on_the_path_count_and_neighbours_lie_on_it() -> None:
    table = TurnTable()
    rows = [row("a", 1, "boat"), row("a", 2, "oven"), row("a", 2, "boat", branch=1), row("a", 3, "lamp", branch=1)]
    table.apply(changes(whole("a", *rows, pieces={0: range(1, 2), 1: range(2, 10)})))
    assert [(key.branch, key.number) for key in said(table, "boat", ["a"])] == [(0, 1), (1, 2)]
    assert said(table, "oven", ["a"]) == []
    at = {(table.key(place).branch, table.key(place).number): place for place in range(len(table))}
    assert table.places["after"][at[0, 1]] == at[1, 2]
    assert table.places["before"][at[1, 3]] == at[1, 2]
    assert table.places["before"][at[0, 2]] == NOWHERE


def test_a_session_that_is_put_away_or_gone_is_not_found() -> None:
    table = TurnTable()
    table.apply(changes(whole("a", row("a", 1, "boat")), whole("b", row("b", 1, "boat"))))
    table.apply(changes(ChangedSession("b", {}, False, []), number=2))
    assert said(table, "boat") == [TurnKey("a", 0, 1)]
    table.apply(changes(ChangedSession("b", {0: range(1, 9)}, False, []), number=3))
    assert len(said(table, "boat")) == 2
    table.apply(changes(remaining=["a"], number=4))
    assert said(table, "boat") == [TurnKey("a", 0, 1)]


def test_a_vector_that_comes_later_and_a_text_that_changes_take_the_place_of_the_old_row() -> None:
    table = TurnTable()
    table.apply(changes(whole("a", row("a", 1, "boat"))))
    assert not table.places["has_vector"][0]
    later = ChangedSession("a", {0: range(1, 9)}, False, [row("a", 1, "boat", vector=[0.6, 0.8])])
    table.apply(changes(later, number=2))
    assert len(table) == 1
    assert np.allclose(table.vectors[0], [0.6, 0.8], atol=1e-3)
    assert np.allclose(table.mean_vector, [0.6, 0.8], atol=1e-3)
    table.apply(changes(whole("a", row("a", 1, "oven")), number=3))
    assert said(table, "boat") == []
    assert said(table, "oven") == [TurnKey("a", 0, 1)]


def test_any_order_of_changes_leaves_what_a_new_table_has() -> None:
    choose = random.Random(7)
    for _ in range(40):
        table, now = TurnTable(), dict[str, dict[int, tuple[str, tuple[float, ...]]]]()
        for number in range(1, 30):
            session = choose.choice("abc")
            turns = now.setdefault(session, {})
            if choose.random() < 0.2 and len(now) > 1:
                del now[session]
                table.apply(changes(remaining=now, number=number))
                continue
            if choose.random() < 0.3 and turns:
                turns.pop(choose.choice([*turns]))
            text = choose.choice(WORDS)
            turns[choose.randrange(1, 6)] = (text, [(), (0.6, 0.8), (1.0, 0.0)][len(text) % 3])
            rows = [row(session, at, text, vector=vector) for at, (text, vector) in turns.items()]
            table.apply(changes(whole(session, *rows), number=number))
        fresh = TurnTable()
        fresh.apply(
            changes(
                *(
                    whole(name, *(row(name, at, text, vector=vector) for at, (text, vector) in turns.items()))
                    for name, turns in now.items()
                )
            )
        )
        for word in WORDS[:8]:
            assert said(table, word, "abc") == said(fresh, word, "abc")
        if fresh.vectors.shape[1]:
            assert np.allclose(table.mean_vector, fresh.mean_vector, atol=1e-3)


def test_the_table_is_packed_when_half_of_it_is_gone() -> None:
    table = TurnTable()
    for number in range(300):
        table.apply(changes(whole("a", row("a", 1, f"boat {number}")), number=number))
    assert len(table) <= 110
    assert said(table, "boat") == [TurnKey("a", 0, 1)]
