"""What was used, read from the record: whose, since when, and at what cost of reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from sqlalchemy import event, null, text, update

from store import Finished, Store
from store.database import schema
from store.export import portable


@pytest.fixture
def store(database: str | None, tmp_path: Path) -> Iterator[Store]:
    """A store on each database that there is."""
    opened = Store(database or f"sqlite:///{tmp_path / 'gieok.db'}")
    yield opened
    opened.close()


def answer(store: Store, session: str, prompt: int, full: int, **more: Any) -> int:
    """A finished turn with this usage; returns its number."""
    number = store.begin_turn(session, "질문").number
    used = {"prompt_tokens": prompt, "cached_tokens": 10, "answer_tokens": 20, "usd": 0.5, "model": "one"}
    report = {"full_tokens": full, "total_tokens": prompt, "parts": [], "left_out": []}
    messages = messages_to_dict([HumanMessage("질문"), AIMessage("답")])
    store.finish_turn(session, number, Finished("done", "답", messages, usage=used | more, report=report))
    return number


def test_a_turn_is_read_with_what_its_summaries_saved(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    answer(store, session, 100, 400, cache_usd=0.25)
    answer(store, session, 100, 90)
    first, second = store.usages.read_since(0)
    assert (first.session_id, first.title, first.work, first.model) == (session, "질문", "answer", "one")
    assert (first.prompt_tokens, first.cached_tokens, first.answer_tokens, first.usd) == (100, 10, 20, 0.5)
    assert (first.saved_tokens, first.cache_usd) == (300, 0.25)
    assert second.saved_tokens == 0, "a prompt that is longer than the history saves nothing, and costs nothing either"


def test_rows_of_earlier_versions_name_no_model(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    number = store.begin_turn(session, "질문").number
    store.finish_turn(session, number, Finished("failed", usage={"prompt_tokens": 5, "answer_tokens": 0, "usd": None}))
    (row,) = store.usages.read_since(0)
    assert (row.model, row.prompt_tokens, row.usd, row.saved_tokens) == ("", 5, None, 0)


def test_only_the_users_own_turns_of_the_period_count_and_none_that_were_imported(store: Store) -> None:
    other = store.of("other")
    answer(other, other.create_session("ko", 0.3).id, 1, 1)
    session = store.create_session("ko", 0.3).id
    for prompt in (2, 3, 4):
        answer(store, session, prompt, prompt)
    turn, created = schema.turn, update(schema.session).values(created=500.0)
    mine = turn.c.session_id == session
    with store.engine.begin() as connection:
        connection.execute(created)
        connection.execute(update(turn).where(mine, turn.c.number == 1).values(started=1_000.0))
        connection.execute(update(turn).where(mine, turn.c.number == 2).values(is_imported=True, id=-1))
    assert [row.prompt_tokens for row in store.usages.read_since(2_000.0)] == [4]
    store.put_away(session)
    assert [row.prompt_tokens for row in store.usages.read_since(0)] == [2, 4], "what is in the trash was used too"
    assert [row.prompt_tokens for row in other.usages.read_since(0)] == [1]


def test_another_answer_to_a_question_of_a_file_counts(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    answer(store, session, 2, 2)
    with store.engine.begin() as connection:
        connection.execute(update(schema.session).values(created=500.0))
        connection.execute(update(schema.turn).values(is_imported=True, id=0))
    [turn] = store.turns(session)
    store.tree.begin(session, 1, turn.question)
    store.finish_turn(session, 1, Finished("done", usage={"prompt_tokens": 7, "answer_tokens": 1, "usd": None}))
    assert [row.prompt_tokens for row in store.usages.read_since(0)] == [7]


def test_a_summary_counts_when_a_model_wrote_it(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    row = {"session_id": session, "branch": 0, "status": "active", "ahead": False, "rate": 0.3, "created": 5.0}
    row |= {"seconds": 0.0, "turns": [1, 2, 3], "version": 1}
    rows = [
        row
        | {"first_turn": 1, "last_turn": 3, "origin": "auto", "model": "two", "prompt_tokens": 7, "answer_tokens": 8}
        | {"cached_tokens": 5, "usd": 0.125, "cache_usd": 0.25},
        row | {"first_turn": 4, "last_turn": 6, "origin": "extracted", "prompt_tokens": 0, "answer_tokens": 0},
    ]
    with store.engine.begin() as connection:
        for each in rows:
            connection.execute(schema.summary.insert(), each)
    (read,) = store.usages.read_since(0)
    assert (read.work, read.model, read.prompt_tokens, read.answer_tokens) == ("summary", "two", 7, 8)
    assert (read.cached_tokens, read.usd, read.cache_usd) == (5, 0.125, 0.25)


def summarise(store: Store, session: str, first: int, prompt: int, **more: Any) -> None:
    """A summary that a model wrote."""
    turns = [first, first + 1, first + 2]
    record = {"summary": "요약", "turns": turns, "original_chars": 9, "summary_chars": 2}
    record |= {"compression_rate": 0.3, "turn_length": 3}
    tokens = {"prompt_tokens": prompt, "answer_tokens": 1}
    store.ledger.add(session, turns, 0.3, "active", record=record, **tokens, **more)


def test_what_is_copied_imported_or_part_of_a_turn_counts_once(store: Store) -> None:
    session = store.create_session("ko", 0.3).id
    for prompt in range(1, 7):
        answer(store, session, prompt, prompt)
    summarise(store, session, 1, 70)
    summarise(store, session, 4, 80, is_counted=False)  # as the node of a turn does
    counted = [("answer", prompt) for prompt in range(1, 7)] + [("summary", 70)]
    assert [(row.work, row.prompt_tokens) for row in store.usages.read_since(0)] == counted
    copy = store.tree.copy(session, 6)
    with store.engine.begin() as connection:
        connection.execute(update(schema.turn).values(report=null()))  # that of ``answer`` is too short for a file
    portable.import_conversations(
        store, portable.render_session_json(store, session).encode(), portable.LIMIT, lambda messages: 1
    )
    assert len(store.sessions()) == 3
    assert [(row.work, row.prompt_tokens) for row in store.usages.read_since(0)] == counted
    answer(store, copy, 90, 90)
    summarise(store, copy, 4, 100)
    added = store.usages.read_since(0)[-2:]
    assert [(row.session_id, row.work, row.prompt_tokens) for row in added] == [
        (copy, "answer", 90),
        (copy, "summary", 100),
    ], "what the copy itself uses counts"


def test_it_reads_by_time_in_four_statements_however_long_the_record_is(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'plans.db'}")
    for _ in range(3):
        answer(store, store.create_session("ko", 0.3).id, 1, 1)
    statements: list[tuple[str, Any]] = []
    event.listen(store.engine, "before_cursor_execute", lambda *of: statements.append((of[2], of[3])))
    store.usages.read_since(0)
    asked = [(query, values) for query, values in statements if query.startswith("SELECT") and "FROM" in query]
    assert len(asked) == 4
    if store.engine.dialect.name != "sqlite":  # a plan there depends on how much the tables hold
        return
    with store.engine.connect() as connection:
        plans = [
            " ".join(str(line) for line in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values))
            for query, values in asked
        ]
        connection.execute(text("SELECT 1"))
    assert "turn_started" in plans[0]
    assert "summary_created" in plans[1]
    assert "memory_text_created" in plans[2]
    assert "side_call_at" in plans[3]
