"""The mark of turns whose prompts held text of others: inherited along the path, never taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import event, insert, update

from store import Finished, GivenTurn, Store
from store.database import schema
from store.database.engine import IN_MEMORY
from store.export import portable
from store.path import TRUNK
from store.search.turn_index import TurnKey
from store.session.options import AnswerOptions
from store.turn.foreign import inherit_mark


@pytest.fixture
def store() -> Iterator[Store]:
    opened = Store(IN_MEMORY)
    yield opened
    opened.close()


def say(store: Store, session: str, foreign: bool = False) -> int:
    number = store.begin_turn(session, "Well?").number
    store.finish_turn(session, number, Finished("done", "Well.", has_foreign=foreign))
    return number


def marks(store: Store, session: str) -> list[bool]:
    return [turn.has_foreign for turn in store.turns(session)]


def test_every_turn_after_a_marked_one_has_the_mark(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for foreign in (False, True, False, False):
        say(store, own, foreign)
    assert marks(store, own) == [False, True, True, True]
    assert [store.has_foreign(own, number) for number in (1, 2, 9)] == [False, True, False]


def test_a_turn_is_marked_before_it_ends_and_no_end_or_retry_takes_the_mark_back(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    number = store.begin_turn(own, "Well?").number
    store.mark_foreign(own, number)
    store.finish_turn(own, number, Finished("failed"))
    store.restart_turn(own, number)
    store.finish_turn(own, number, Finished("done", "Well."))
    assert marks(store, own) == [True]


def test_another_version_inherits_from_its_own_path(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for foreign in (False, True, False):
        say(store, own, foreign)
    store.tree.begin(own, 3, "Again?")
    assert marks(store, own) == [False, True, True]
    store.tree.begin(own, 2, "And this?")
    store.finish_turn(own, 2, Finished("done", "Well."))
    say(store, own)
    assert marks(store, own) == [False, False, False], "the marked version is not on the path"
    store.tree.switch(own, 2, 0)
    assert marks(store, own)[:2] == [False, True]
    assert marks(store, store.tree.copy(own, 2)) == [False, True]


def test_what_a_client_tells_is_marked_and_so_is_what_follows(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    say(store, own)
    store.tree.give(own, 2, [GivenTurn("Who?", "Me.", 1)], 1.0)
    say(store, own)
    assert marks(store, own) == [False, True, True]
    assert not any(turn.is_imported for turn in store.turns(own))


def write_as_before(store: Store, session: str, number: int, branch: int = 0) -> None:
    """Writes a turn as a version of the product does that knows no marks, beside this one or before an upgrade."""
    with store.transaction() as connection:
        row = {"session_id": session, "branch": branch, "number": number, "question": "Well?", "answer": "Well."}
        row |= {"status": "done", "tokens": 1, "started": 1.0, "finished": 2.0}
        connection.execute(insert(schema.turn), row)
        connection.execute(update(schema.session).where(schema.session.c.id == session).values(turn_count=number))


def test_a_turn_of_a_version_without_marks_does_not_break_the_chain(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for foreign in (False, True):
        say(store, own, foreign)
    write_as_before(store, own, 3)
    write_as_before(store, own, 4)
    keys = [TurnKey(own, 0, number) for number in (1, 2, 3, 4)]
    found = store.turn_index.texts(keys)
    assert [found[key].foreign for key in keys] == [False, True, True, True], "its answer may repeat what it read"
    say(store, own)
    assert marks(store, own) == [False, True, True, True, True]


def test_a_turn_of_a_version_without_marks_on_another_branch_gets_its_mark_by_the_next_one(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    for foreign in (True, False, False):
        say(store, own, foreign)
    store.tree.begin(own, 3, "Again?")
    store.finish_turn(own, 3, Finished("done", "Well."))
    with store.transaction() as connection:
        connection.execute(update(schema.turn).where(schema.turn.c.branch == 1).values(has_foreign=False))
    say(store, own)
    assert marks(store, own) == [True, True, True, True]


def test_looking_for_the_mark_reads_an_index_alone(store: Store) -> None:
    seen = list[str]()
    own = store.create_session("en", 0.3).id
    say(store, own, foreign=True)
    event.listen(store.engine, "before_cursor_execute", lambda *call: seen.append(call[2]))
    with store.transaction() as connection:
        assert inherit_mark(connection, own, 2, TRUNK)
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {seen[0]}", (own, 0, 1, 2)).all()
    assert "COVERING INDEX turn_foreign" in str(plan)


def bring(store: Store, prompt: str = "") -> str:
    """A conversation of one turn that came out of a file, which says that it has this system prompt."""
    own = store.create_session("en", 0.3, options=AnswerOptions(prompt)).id
    store.tree.give(own, 1, [GivenTurn("Well?", "Well.", 1)], 1.0)
    data = portable.render_session_json(store, own).encode()
    (copy,) = portable.import_conversations(store, data, 10**7, len).sessions
    return copy


def test_another_answer_to_a_question_of_a_file_has_the_mark_and_one_to_a_question_of_the_users_has_none(
    store: Store,
) -> None:
    own = bring(store)
    for _ in range(2):
        store.tree.begin(own, 1, "Well?")
        assert marks(store, own) == [True]
        store.finish_turn(own, 1, Finished("done", "Well."))
    store.tree.begin(own, 1, "And this?")
    assert marks(store, own) == [False]


def test_a_system_prompt_of_a_file_marks_every_turn_until_the_user_empties_it(store: Store) -> None:
    own = bring(store, "You are a pirate.")
    copy = store.tree.copy(own, 1)
    for each in (own, copy):
        store.options.change(each, store.options.of(each), AnswerOptions("You are an old pirate.", 0.5))
        store.options.set(each, AnswerOptions("You are an old pirate.", 0.7))
        store.tree.begin(each, 1, "And this?")
        assert marks(store, each) == [True]
    store.options.set(own, AnswerOptions("", 0.7))
    store.options.set(own, AnswerOptions("You are a sailor."))
    store.tree.begin(own, 1, "Once more?")
    assert marks(store, own) == [False]
