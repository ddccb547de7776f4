"""The paths of conversations that say something of a client's history: found by short marks of single messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select, text

from errors import SessionUnknown
from history.align import choose_pairs
from history.form import mark_message
from store import Finished, GivenTurn, Store
from store.database import schema
from store.session.history import EACH, LEADING, MOST_HOMES, Lead, PathTurn, put_marks

AT = 1_700_000_000.0


def told(*names: object) -> list[GivenTurn]:
    return [GivenTurn(f"question {name}", f"answer {name}", 1) for name in names]


def pairs(*names: object) -> list[tuple[str, str]]:
    return [(turn.question, turn.answer) for turn in told(*names)]


def talked(store: Store, *names: object) -> str:
    own = store.create_session("en", 0.3).id
    store.tree.give(own, 1, told(*names), AT)
    return own


def chains(leads: Iterable[Lead]) -> list[tuple[str, list[int], int]]:
    """The conversations with the numbers of the turns of their best chains, and where these begin in the history."""
    found = [(lead.home, choose_pairs(lead.weights)[0]) for lead in leads]
    return [(home, [number for _, number in chain], chain[0][0]) for home, chain in found]


def find(store: Store, *names: object, within: str | None = None) -> list[tuple[str, list[int], int]]:
    return chains(store.histories.find(pairs(*names), within))


def test_the_same_history_is_the_whole_conversation(store: Store) -> None:
    own = talked(store, *"abcd")
    talked(store, *"wxyz")
    assert find(store, *"abcd") == [(own, [1, 2, 3, 4], 0)]


def test_only_finished_turns_with_an_answer_are_found(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for status, name in (("done", "a"), ("stopped", "b"), ("failed", "c")):
        number = store.begin_turn(own, f"question {name}").number
        store.finish_turn(own, number, Finished(status, f"answer {name}"))  # type: ignore[arg-type]
    store.begin_turn(own, "question d")
    assert find(store, *"abcd") == [(own, [1, 2], 0)]


def test_a_turn_that_is_answered_again_is_known_by_its_new_answer(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    store.finish_turn(own, store.begin_turn(own, "question a").number, Finished("stopped", "half"))
    store.restart_turn(own, 1)
    assert store.histories.find([("question a", "half")]) == []
    store.finish_turn(own, 1, Finished("done", "answer a"))
    assert find(store, "a") == [(own, [1], 0)]
    store.finish_turn(own, 1, Finished("failed"))
    assert find(store, "a") == []


def test_a_message_is_found_in_another_dress_and_with_something_put_around_it(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    question, answer = (
        "What lies behind the old mill in the evening?",
        "*She smiles.* A boat, and two men who wait there.",
    )
    store.tree.give(own, 1, [GivenTurn(question, answer, 1)], AT)
    for sent in (
        (question.upper(), answer.replace("*", "")),
        (f"[A note.]\n\n{question}", "another answer"),
        ("another question", f"{answer} And then"),
        ("another question", f"Mina: {answer}"),
    ):
        assert [lead.home for lead in store.histories.find([sent])] == [own], sent


def test_a_client_that_drops_or_adds_turns(store: Store) -> None:
    own = talked(store, *"abcdefgh")
    assert find(store, *"efgh") == [(own, [5, 6, 7, 8], 0)]
    assert find(store, "new first", *"fgh") == [(own, [6, 7, 8], 1)]
    assert find(store, *"abcd", *"gh") == [(own, [1, 2, 3, 4, 7, 8], 0)]
    assert find(store, *"abcdefgh", "new last") == [(own, list(range(1, 9)), 0)]


def test_the_conversation_with_most_of_the_history_comes_first(store: Store) -> None:
    short, long = talked(store, *"xcd"), talked(store, *"abcd")
    assert find(store, *"abcd") == [(long, [1, 2, 3, 4], 0), (short, [2, 3], 2)]


def test_of_the_paths_of_a_conversation_the_best_is_taken_and_the_one_in_use_if_they_are_alike(store: Store) -> None:
    own = talked(store, *"abcd")
    store.tree.give(own, 3, told(*"yz"), AT + 1)
    assert store.histories.find(pairs(*"abcd"))[0].path == [(0, 1)]
    assert store.histories.find(pairs(*"abyz"))[0].path == [(0, 1), (1, 3)]
    assert store.histories.find(pairs(*"ab"))[0].path == [(0, 1), (1, 3)]
    store.tree.switch(own, 3, 0)
    assert store.histories.find(pairs(*"ab"))[0].path == [(0, 1)]


def test_many_versions_of_one_conversation_do_not_hide_another(store: Store) -> None:
    own = talked(store, *"ab")
    for number in range(60):
        store.tree.give(own, 2, told(f"b{number}"), AT + number)
    other = talked(store, *"ax")
    assert {lead.home for lead in store.histories.find(pairs("a"))} == {own, other}


def test_what_is_said_again_and_again_is_told_apart_by_what_stands_around(store: Store) -> None:
    own = talked(store, "a", "ok", "ok", "ok", "b", "ok", "ok")
    assert find(store, "b", "ok", "ok") == [(own, [5, 6, 7], 0)]
    assert find(store, "ok", "ok", "ok", "b")[0] == (own, [2, 3, 4, 5], 0)


def test_a_rare_turn_leads_to_its_conversation_among_many_that_end_alike(store: Store) -> None:
    own = talked(store, "rare", "thanks")
    mark_alike(store, 2 * EACH, "thanks")
    assert find(store, "rare", "thanks")[0] == (own, [1, 2], 0)


def mark_alike(store: Store, count: int, *names: object) -> None:
    """Marks of so many conversations that are not there any more."""
    said = [(number, turn.question, [turn.answer]) for number, turn in enumerate(told(*names), 1)]
    with store.transaction() as connection:
        for index in range(count):
            put_marks(connection, "me", f"!{index}", 0, said)


def test_of_many_that_say_the_same_those_used_last_are_looked_at(store: Store) -> None:
    talks = [store.create_session("en", 0.3).id for _ in range(3 * MOST_HOMES)]
    for moment, own in enumerate(talks):
        store.tree.give(own, 1, told("hi"), AT + moment)
    mark_alike(store, 2 * MOST_HOMES, "hi")
    store.put_away(talks.pop())
    assert [home for home, _, _ in find(store, "hi")] == talks[: -MOST_HOMES - 1 : -1]


def test_a_conversation_found_among_too_many_says_so(store: Store) -> None:
    own = talked(store, "hi", "rare")
    mark_alike(store, EACH - 2, "hi")
    assert [lead.is_cut for lead in store.histories.find(pairs("hi"))] == [False]
    talked(store, "hi")
    assert [lead.is_cut for lead in store.histories.find(pairs("hi"))] == [True, True]
    assert next((lead.home, lead.is_cut) for lead in store.histories.find(pairs("hi", "rare"))) == (own, False)


def test_a_conversation_that_shares_only_what_is_long_past_is_not_looked_at(store: Store) -> None:
    talked(store, "shared")
    assert find(store, "shared", *range(LEADING)) == []
    assert len(find(store, "shared", *range(LEADING - 1))) == 1


def test_a_long_history_counts_from_its_own_beginning(store: Store) -> None:
    own = talked(store, *range(1200))
    ((home, numbers, start),) = find(store, *range(1200))
    assert (home, numbers[-1]) == (own, 1200)
    assert start == numbers[0] - 1


def test_put_away_or_another_users_or_nothing(store: Store) -> None:
    own = talked(store, *"ab")
    assert find(store.of("you"), *"ab") == []
    assert find(store.everyone, *"ab") == []
    assert store.histories.find([]) == []
    assert store.histories.find([("", ""), ("x", "")]) == []
    store.put_away(own)
    assert find(store, *"ab") == []


def test_two_users_who_say_the_same_have_their_own(store: Store) -> None:
    mine, yours = talked(store, *"ab"), talked(store.of("you"), *"ab")
    assert [home for home, _, _ in find(store, *"ab")] == [mine]
    assert [home for home, _, _ in find(store.of("you"), *"ab")] == [yours]


def test_one_conversation_alone_is_looked_at(store: Store) -> None:
    one, two = talked(store, *"abcd"), talked(store, *"abcd")
    assert [home for home, _, _ in find(store, *"abcd", within=two)] == [two]
    assert [home for home, _, _ in find(store, *"abcd", within=one)] == [one]
    many = ("a", *range(LEADING + 5))
    assert find(store, *many) == []
    assert find(store, *many, within=one) == [(one, [1], 0)]
    assert find(store.of("you"), *"abcd", within=one) == []


def test_a_turn_is_found_by_other_words_that_were_learned(store: Store) -> None:
    own = talked(store, *"ab")
    store.histories.learn(own, [(0, 1)], 2, "", "what the client saw of it, all at once")
    assert find(store, "b") == [(own, [2], 0)]
    assert chains(store.histories.find([("", "what the client saw of it, all at once")])) == [(own, [2], 0)]
    with pytest.raises(SessionUnknown):
        store.of("you").histories.learn(own, [(0, 1)], 2, "", "x")


def test_a_turn_of_a_path_that_is_not_in_use_is_read(store: Store) -> None:
    own = talked(store, *"ab")
    store.tree.begin(own, 2, "question c")
    assert store.histories.find_path_turn(own, [(0, 1)], 2) == PathTurn("question b", "answer b", "done", True)
    assert store.histories.find_path_turn(own, [(0, 1), (1, 2)], 2) == PathTurn("question c", "", "running", False)
    assert store.histories.find_path_turn(own, [(0, 1)], 3) is None
    assert not store.histories.is_answered(own, [(0, 1)], [1, 2])
    with pytest.raises(SessionUnknown):
        store.of("you").histories.find_path_turn(own, [(0, 1)], 1)


def test_a_deleted_conversation_leaves_no_marks_and_a_copy_has_its_own(store: Store) -> None:
    own = talked(store, *"abc")
    copy = store.tree.copy(own, 2)
    store.delete_session(own)
    assert find(store, *"abc") == [(copy, [1, 2], 0)]
    store.delete_session(copy)
    with store.transaction() as connection:
        assert connection.execute(select(func.count()).select_from(schema.history_mark)).scalar() == 0


def test_what_is_said_hundreds_of_times_is_held_against_few_turns(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    turns = [GivenTurn("Continue.", f"answer {number}", 1) for number in range(200)]
    store.tree.give(own, 1, turns, AT)
    history = [(turn.question, turn.answer) for turn in turns]
    for changed in (history, [(q, a if at % 9 else f"other {at}") for at, (q, a) in enumerate(history)]):
        (lead,) = store.histories.find(changed)
        assert len(lead.weights) < 10 * len(turns)
        assert [number for _, number in choose_pairs(lead.weights)[0]] == list(range(1, 201))
    (lead,) = store.histories.find(history[50:])
    assert [number for _, number in choose_pairs(lead.weights)[0]] == list(range(51, 201))
    assert store.histories.find([("Continue.", f"another {number}") for number in range(200)]) == []


@pytest.mark.parametrize("sent", [slice(100), slice(98), slice(70), slice(20, 100)])
def test_a_conversation_of_one_question_and_one_answer_is_known(store: Store, sent: slice) -> None:
    own = store.create_session("en", 0.3).id
    history = [("Next.", "Done.")] * 100
    store.tree.give(own, 1, [GivenTurn(*turn, 1) for turn in history], AT)
    (lead,) = store.histories.find(history[sent])
    assert len(choose_pairs(lead.weights)[0]) == len(history[sent])


# --- cost: counted, not timed -------------------------------------------------------------------


def fill(store: Store, sessions: int, alike: bool) -> None:
    """Sessions of twenty turns; ``alike``: all say the same."""
    session: dict[str, Any] = {"language": "ko", "compression_rate": 0.3, "path": [[0, 1]], "turn_count": 20}
    with store.transaction() as connection:
        for index in range(sessions):
            row = session | {"id": f"s{index}", "title": "x", "created": AT, "updated": AT}
            connection.execute(insert(schema.session), row)
            put_marks(connection, "me", f"s{index}", 0, _said(index, alike))


def _said(index: int, alike: bool) -> list[tuple[int, str, Sequence[str]]]:
    name = "same" if alike else str(index)
    return [(number, f"question {number} of {name}", [f"answer {number} of {name}"]) for number in range(1, 21)]


def steps(store: Store, history: list[tuple[str, str]]) -> tuple[int, int]:
    """How much SQLite does for one look at a history, in steps of its virtual machine, and how many paths it finds."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    @event.listens_for(store.engine, "before_cursor_execute")
    def prepare(connection: Any, _k: object, _s: object, _p: object, _x: object, _m: object) -> None:
        connection.connection.driver_connection.set_progress_handler(tick, 1)

    found = len(store.histories.find(history))
    with store.transaction() as connection:
        driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(None, 0)
    event.remove(store.engine, "before_cursor_execute", prepare)
    return count, found


@pytest.mark.parametrize("alike", [False, True])
def test_the_cost_is_the_same_among_2_000_conversations(tmp_path: Path, alike: bool) -> None:
    costs = []
    for sessions in (EACH if alike else 10, 4 * EACH):  # what many say alike leads to a bounded number of them
        store = Store(f"sqlite:///{tmp_path / str(sessions)}.db")
        fill(store, sessions, alike)
        history = [(question, answers[0]) for _, question, answers in _said(3, alike)]
        costs.append(steps(store, history))
        store.close()
    (small, few), (large, many) = costs
    assert few > 0
    assert large <= 1.2 * small
    assert many <= MOST_HOMES


def test_an_index_alone_tells_who_says_the_same(store: Store) -> None:
    fill(store, 50, alike=False)
    asked: list[tuple[str, Any]] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, parameters: Any, _x: object, _m: object) -> None:
        asked.append((statement, parameters))

    assert store.histories.find([(question, answers[0]) for _, question, answers in _said(3, alike=False)])
    queries = [(statement, values) for statement, values in asked if "FROM history_mark" in statement]
    assert len(queries) > 1
    for statement, values in queries:
        with store.transaction() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            how = [row.detail for row in plan if "history_mark" in row.detail]
        assert how
        assert all("SEARCH" in detail for detail in how), how


def test_a_turn_costs_the_same_statements_however_long_the_conversation_is(store: Store) -> None:
    said: list[str] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, _p: object, _x: object, _m: object) -> None:
        said.append(statement)

    own, counts = store.create_session("ko", 0.3).id, []
    for number in range(1, 61):
        said.clear()
        store.finish_turn(own, store.begin_turn(own, f"질문 {number}").number, Finished("done", "답", tokens=1))
        counts.append(len(said))
    assert len(set(counts[1:])) == 1
    assert counts[-1] <= 11, said
    with store.transaction() as connection:
        marked = connection.execute(text("SELECT count(DISTINCT number) FROM history_mark")).scalar()
    assert marked == 60


def test_marks_of_a_message_stand_for_its_words() -> None:
    marks = mark_message("What is\nit?", "question", "me")
    assert marks == mark_message(" What is it?  ", "question", "me")
    assert mark_message("\ud83d", "question", "me") != mark_message("", "question", "me")
