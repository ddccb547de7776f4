"""Runs of turns that say what a client's history says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from errors import SessionUnknown
from store import Finished, GivenTurn, Store
from store.database import schema
from store.history import EACH, LAST, MOST_RUNS, Asked, Run, mark_of, owned

AT = 1_700_000_000.0


def told(*names: object) -> list[GivenTurn]:
    return [GivenTurn(f"question {name}", f"answer {name}", 1) for name in names]


def marks(*names: object) -> list[str]:
    return [mark_of(turn.question, turn.answer) for turn in told(*names)]


def talked(store: Store, *names: object) -> str:
    own = store.create_session("en", 0.3).id
    store.tree.give(own, 1, told(*names), AT)
    return own


def places(runs: list[Run]) -> list[tuple[str, int, int, int]]:
    return [(run.session_id, run.first, run.last, run.start) for run in runs]


def test_a_mark_stands_for_the_words_and_not_for_the_space_between_them() -> None:
    mark = mark_of("What is\nit?", "  A  cat. ")
    assert mark == mark_of(" What is it?", "A cat.\n")
    assert len(mark) == 32
    assert len({mark, mark_of("What is it? A", "cat."), mark_of("", "What is it? A cat."), mark_of("a", "b")}) == 4
    assert mark_of("\ud83d", "") != mark_of("", "\ud83d")


def test_the_same_history_is_one_run_of_the_whole_conversation(store: Store) -> None:
    own = talked(store, *"abcd")
    talked(store, *"wxyz")
    (run,) = store.histories.runs(marks(*"abcd"))
    assert run == Run(own, [(0, 1)], 1, 4, 0)
    assert run.length == 4


def test_only_finished_turns_with_an_answer_are_found(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for status, name in (("done", "a"), ("stopped", "b"), ("failed", "c")):
        number = store.accept_turn(own, f"question {name}")
        store.finish_turn(own, number, Finished(status, f"answer {name}"))  # type: ignore[arg-type]
    store.accept_turn(own, "question d")
    assert places(store.histories.runs(marks(*"abcd"))) == [(own, 1, 2, 0)]


def test_a_turn_that_is_answered_again_has_the_mark_of_its_new_answer(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    store.finish_turn(own, store.accept_turn(own, "question a"), Finished("stopped", "half"))
    store.restart_turn(own, 1)
    assert store.histories.runs([mark_of("question a", "half")]) == []
    store.finish_turn(own, 1, Finished("done", "answer a"))
    assert places(store.histories.runs(marks("a"))) == [(own, 1, 1, 0)]
    store.finish_turn(own, 1, Finished("failed"))
    assert store.histories.runs(marks("a")) == []


def test_a_history_that_goes_further_or_less_far(store: Store) -> None:
    own = talked(store, *"abcd")
    assert places(store.histories.runs(marks(*"abcdef"))) == [(own, 1, 4, 0)]
    assert places(store.histories.runs(marks(*"ab"))) == [(own, 1, 2, 0)]


def test_a_client_that_drops_its_oldest_turns(store: Store) -> None:
    own = talked(store, *"abcdefgh")
    assert places(store.histories.runs(marks(*"efgh"))) == [(own, 5, 8, 0)]
    assert places(store.histories.runs(marks("new first", *"fgh"))) == [(own, 6, 8, 1)]


def test_turns_dropped_in_the_middle_give_the_longest_run_and_the_last(store: Store) -> None:
    own = talked(store, *"abcdefgh")
    assert places(store.histories.runs(marks(*"abcd", *"gh"))) == [(own, 1, 4, 0), (own, 7, 8, 4)]


def test_the_longest_run_comes_first_and_every_conversation_has_its_own(store: Store) -> None:
    short, long = talked(store, *"xcd"), talked(store, *"abcd")
    assert places(store.histories.runs(marks(*"abcd"))) == [(long, 1, 4, 0), (short, 2, 3, 2)]
    twin = talked(store, *"abcd")
    assert {run.session_id for run in store.histories.runs(marks(*"abcd"))[:2]} == {long, twin}


def test_every_path_has_its_run_and_the_one_in_use_comes_first(store: Store) -> None:
    own = talked(store, *"abcd")
    store.tree.give(own, 3, told(*"CD"), AT + 1)
    assert places(store.histories.runs(marks(*"abcd")))[0] == (own, 1, 4, 0)
    first = store.histories.runs(marks(*"abcd"))[0]
    assert first.path == [(0, 1)]
    runs = store.histories.runs(marks(*"ab"))
    assert [run.path for run in runs] == [[(0, 1), (1, 3)], [(0, 1)]]
    store.tree.switch(own, 3, 0)
    assert [run.path for run in store.histories.runs(marks(*"ab"))] == [[(0, 1)], [(0, 1), (1, 3)]]
    changed = store.histories.runs(marks(*"abCD"))[0]
    assert (changed.path, changed.last) == ([(0, 1), (1, 3)], 4)


def test_many_versions_of_one_conversation_do_not_hide_another(store: Store) -> None:
    own = talked(store, *"ab")
    for number in range(MOST_RUNS + 10):
        store.tree.give(own, 2, told(f"b{number}"), AT + number)
    other = talked(store, *"ax")
    runs = store.histories.runs(marks("a"))
    assert len(runs) == MOST_RUNS
    assert other in {run.session_id for run in runs[:2]}


def test_what_is_said_again_and_again_is_told_apart_by_what_stands_around(store: Store) -> None:
    own = talked(store, "a", "ok", "ok", "ok", "b", "ok", "ok")
    assert places(store.histories.runs(marks("b", "ok", "ok"))) == [(own, 5, 7, 0)]
    assert places(store.histories.runs(marks("ok", "ok", "ok", "b")))[0] == (own, 2, 5, 0)


def test_a_rare_turn_leads_to_its_conversation_among_many_that_end_alike(store: Store) -> None:
    own = talked(store, "rare", "thanks")
    for number in range(2 * EACH):
        talked(store, f"other {number}", "thanks")
    assert places(store.histories.runs(marks("rare", "thanks")))[0] == (own, 1, 2, 0)


def test_a_conversation_that_shares_only_what_is_long_past_is_not_looked_at(store: Store) -> None:
    talked(store, "shared")
    assert store.histories.runs(marks("shared", *range(LAST))) == []
    assert len(store.histories.runs(marks("shared", *range(LAST - 1)))) == 1


def test_a_long_history_counts_from_its_own_beginning(store: Store) -> None:
    own = talked(store, *range(1200))
    (run,) = store.histories.runs(marks(*range(1200)))
    assert (run.session_id, run.last) == (own, 1200)
    assert run.start == run.first - 1


def test_put_away_or_another_users_or_nothing(store: Store) -> None:
    own = talked(store, *"ab")
    assert store.of("you").histories.runs(marks(*"ab")) == []
    assert store.everyone.histories.runs(marks(*"ab")) == []
    assert store.histories.runs([]) == []
    assert store.histories.runs(["", "x"]) == []
    store.put_away(own)
    assert store.histories.runs(marks(*"ab")) == []


def test_two_users_who_say_the_same_have_other_marks(store: Store) -> None:
    mine, yours = talked(store, *"ab"), talked(store.of("you"), *"ab")
    assert {run.session_id for run in store.histories.runs(marks(*"ab"))} == {mine}
    assert {run.session_id for run in store.of("you").histories.runs(marks(*"ab"))} == {yours}
    assert owned(mark_of("a", "b"), "me") != owned(mark_of("a", "b"), "you")


def by_reading(turns: dict[str, list[str]], history: list[str]) -> int:
    """The length of the longest common run, by comparing everything with everything."""
    longest = 0
    for said in turns.values():
        for at in range(len(history)):
            for number in range(len(said)):
                length = 0
                while history[at + length : at + length + 1] == said[number + length : number + length + 1] != []:
                    length += 1
                longest = max(longest, length)
    return longest


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_run_is_that_of_comparing_everything(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    turns = {}
    for _ in range(5):
        said = [chance.choice("abcd") for _ in range(chance.randint(1, 12))]
        turns[talked(store, *said)] = said
    history = [chance.choice("abcd") for _ in range(chance.randint(1, 12))]
    runs = store.histories.runs(marks(*history))
    assert (runs[0].length if runs else 0) == by_reading(turns, history)
    for run in runs:
        said = turns[run.session_id][run.first - 1 : run.last]
        assert said == history[run.start : run.start + run.length]


def test_one_conversation_alone_is_looked_at(store: Store) -> None:
    one, two = talked(store, *"abcd"), talked(store, *"abcd")
    assert [run.session_id for run in store.histories.runs(marks(*"abcd"), within=two)] == [two]
    assert [run.session_id for run in store.histories.runs(marks(*"abcd"), within=one)] == [one]
    many = marks("a", *range(LAST + 5))
    assert store.histories.runs(many) == []
    assert places(store.histories.runs(many, within=one)) == [(one, 1, 1, 0)]
    assert store.of("you").histories.runs(marks(*"abcd"), within=one) == []


def test_a_history_is_laid_over_the_turns_of_a_path(store: Store) -> None:
    own = talked(store, *"abcd")
    store.tree.give(own, 3, told(*"CD"), AT + 1)
    old, new = [(0, 1)], [(0, 1), (1, 3)]
    assert store.histories.agreeing(own, old, marks(*"axcd"), 1) == [True, False, True, True]
    assert store.histories.agreeing(own, new, marks(*"axcd"), 1) == [True, False, False, False]
    assert store.histories.agreeing(own, old, marks(*"cde"), 3) == [True, True, False]
    assert store.histories.agreeing(own, old, marks(*"cd"), 1) == [False, False]
    with pytest.raises(SessionUnknown):
        store.of("you").histories.agreeing(own, old, marks("a"), 1)


def test_a_turn_of_a_path_that_is_not_in_use_is_read(store: Store) -> None:
    own = talked(store, *"ab")
    store.tree.begin(own, 2, "question c")
    assert store.histories.asked(own, [(0, 1)], 2) == Asked("question b", "answer b", "done", True)
    assert store.histories.asked(own, [(0, 1), (1, 2)], 2) == Asked("question c", "", "running", False)
    assert store.histories.asked(own, [(0, 1)], 3) is None
    with pytest.raises(SessionUnknown):
        store.of("you").histories.asked(own, [(0, 1)], 1)


# --- cost: counted, not timed -------------------------------------------------------------------


def fill(store: Store, sessions: int, alike: bool) -> None:
    """Sessions of twenty turns; ``alike``: all say the same."""
    session: dict[str, Any] = {"language": "ko", "compression_rate": 0.3, "path": [[0, 1]], "turn_count": 20}
    said: dict[str, Any] = {"branch": 0, "status": "done", "question": "질문", "answer": "답 " * 500, "started": AT}
    rows, turns = [], []
    for index in range(sessions):
        rows.append(session | {"id": f"s{index}", "title": "x", "created": AT, "updated": AT})
        for number in range(1, 21):
            mark = owned(mark_of("same" if alike else f"{index}", str(number)), "me")
            turns.append(
                said | {"session_id": f"s{index}", "number": number, "question": "질문", "started": AT, "mark": mark}
            )
    with store.transaction() as connection:
        connection.execute(insert(schema.session), rows)
        connection.execute(insert(schema.turn), turns)


def steps(store: Store, history: list[str]) -> tuple[int, int]:
    """How much SQLite does for one look at a history, in steps of its virtual machine, and the rows that it returns."""
    count = rows = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    @event.listens_for(store.engine, "before_cursor_execute")
    def prepare(connection: Any, _k: object, _s: object, _p: object, _x: object, _m: object) -> None:
        connection.connection.driver_connection.set_progress_handler(tick, 1)

    runs = store.histories.runs(history)
    rows = len(runs)
    with store.transaction() as connection:
        driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(None, 0)
    event.remove(store.engine, "before_cursor_execute", prepare)
    return count, rows


@pytest.mark.parametrize("alike", [False, True])
def test_the_cost_is_the_same_among_2_000_conversations(tmp_path: Path, alike: bool) -> None:
    costs = []
    for sessions in (10, 2000):
        store = Store(f"sqlite:///{tmp_path / str(sessions)}.db")
        fill(store, sessions, alike)
        history = [mark_of("same" if alike else "3", str(number)) for number in range(1, 21)]
        costs.append(steps(store, history))
        store.close()
    (small, few), (large, many) = costs
    assert few > 0
    # what many say alike leads to at most ``MOST_SESSIONS`` of them
    assert large <= (4 if alike else 1.2) * small
    assert many <= MOST_RUNS


def test_indexes_alone_tell_who_says_the_same(store: Store) -> None:
    fill(store, 50, alike=False)
    asked: list[tuple[str, Any]] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, parameters: Any, _x: object, _m: object) -> None:
        asked.append((statement, parameters))

    assert store.histories.runs([mark_of("3", str(number)) for number in range(1, 21)])
    queries = [(statement, values) for statement, values in asked if "FROM turn" in statement]
    assert len(queries) > 1
    for statement, values in queries:
        with store.transaction() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            how = "\n".join(row.detail for row in plan)
        assert "USING COVERING INDEX turn_mark" in how, how


def test_a_turn_costs_the_same_statements_however_long_the_conversation_is(store: Store) -> None:
    said: list[str] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, _p: object, _x: object, _m: object) -> None:
        said.append(statement)

    own, counts = store.create_session("ko", 0.3).id, []
    for number in range(1, 61):
        said.clear()
        store.finish_turn(own, store.accept_turn(own, f"질문 {number}"), Finished("done", "답", tokens=1))
        counts.append(len(said))
    assert len(set(counts[1:])) == 1
    assert counts[-1] <= 9, said
    with store.transaction() as connection:
        assert connection.execute(text("SELECT count(*) FROM turn WHERE mark IS NULL")).scalar() == 0
