"""Imported conversations: the specified table holds from the first question on, and no model is paid for the past."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from sqlalchemy import delete, event, update

from bench.imported import QUESTIONS, exported
from errors import ModelOverloaded
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.context.prompt import raw_tokens
from graph.context.turns import TurnMessages, split_raw
from graph.summary import backlog
from graph.turn.agent import Agent
from graph.turn.session.rebuild import messages_of
from model import scripted
from model.call.token import estimate_tokens
from model.profile import SMALL, STRONG, Profile
from store.database import schema
from store.export import portable
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answering,
    done,
    prompts,
    say,
    settled,
    settled_but_vectors,
    summarised,
    summarising,
    summary_calls,
)


def open_(agent: OpenAgent, profile: Profile = STRONG, utility: Any = summarising, **settings: Any) -> Agent:
    """An agent whose models count tokens as an import does."""
    own = scripted.build_scripted_models(answering, utility, profile=profile, context_size=200_000)
    return agent(resolve=lambda: replace(own, count=estimate_tokens, exact=False), memory=False, **settings)


def report_of(agent: Agent, session: str) -> dict[str, Any]:
    report = agent.store.turns(session, limit=1)[0].report
    assert report is not None
    return report


def tokens_by_part(report: dict[str, Any]) -> dict[str, int]:
    return {part["name"]: int(part["tokens"]) for part in report["parts"]}


@contextmanager
def statements(agent: Agent) -> Iterator[list[str]]:
    """The SQL statements that this thread runs meanwhile; side work runs in others."""
    seen: list[str] = []
    own = threading.get_ident()

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if threading.get_ident() == own:
            seen.append(statement)

    event.listen(agent.store.engine, "before_cursor_execute", note)
    yield seen
    event.remove(agent.store.engine, "before_cursor_execute", note)


def unsummarised(agent: Agent, session: str) -> None:
    """Makes the session one that an earlier version imported: without any summary."""
    with agent.store.transaction() as connection:
        connection.execute(delete(schema.summary).where(schema.summary.c.session_id == session))


@pytest.mark.parametrize("profile", [STRONG, SMALL], ids=lambda profile: profile.name)
@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_thousand_imported_turns_are_summarised_before_the_first_question(
    agent: OpenAgent, language: str, profile: Profile
) -> None:
    one = open_(agent, profile)
    (own,) = one.import_sessions(exported(language, 1000)).sessions
    rows = one.store.ledger.summaries(own, limit=1000)
    assert [row.turns for row in rows] == [[first, first + 1, first + 2] for first in range(1, 1000, 3)]
    assert {row.origin for row in rows} == {"extracted"}
    done(say(one, own, QUESTIONS[language]))
    parts, limits = tokens_by_part(report_of(one, own)), one.settings
    assert parts["summaries"] <= 1.05 * limits.budget_summaries, "which does not count the labels"
    assert parts.get("short", 0) + parts["recent"] <= limits.budget_recent
    assert sum(parts.values()) <= 1.05 * limits.budget_summaries + limits.budget_recent + 1500 + 1000
    settled_but_vectors(one)
    assert summary_calls(one) == 0, "nobody pays for the past without being asked"


def test_the_statements_of_an_import_grow_with_the_batches_alone(agent: OpenAgent) -> None:
    one = open_(agent)
    counted = {}
    for turns in (10, 150, 600):
        with statements(one) as seen:
            (own,) = one.import_sessions(exported("en", turns)).sessions
        counted[turns] = len(seen)
        with statements(one) as first:
            done(say(one, own, QUESTIONS["en"]))
        assert len(first) <= 45
    assert counted[150] == counted[10], "one batch each"
    assert counted[600] - counted[150] == counted[150] - 13, counted


@pytest.mark.parametrize("asked", [False, True], ids=["new", "asked"])
def test_an_older_import_gets_its_summaries_when_it_is_opened(agent: OpenAgent, asked: bool) -> None:
    one = open_(agent, utility=lambda _messages: ModelOverloaded(url="http://model"))
    (own,) = one.import_sessions(exported("ko", 40)).sessions
    unsummarised(one, own)
    if asked:  # its state is there, and holds forty turns raw
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backlog, "fill_gaps", lambda *_args: 0)
            done(say(one, own, QUESTIONS["ko"]))
        assert summarised(prompts(one)[-1]) == []
    assert one.reconcile(own)
    assert len(one.store.ledger.summaries(own)) == 13
    done(say(one, own, QUESTIONS["ko"]))
    assert summarised(prompts(one)[-1])[-1] == (37, 39)


def test_an_older_import_that_is_asked_without_being_opened_gets_them_too(agent: OpenAgent) -> None:
    one = open_(agent)
    (own,) = one.import_sessions(exported("ko", 40)).sessions
    unsummarised(one, own)
    done(say(one, own, QUESTIONS["ko"]))
    assert summarised(prompts(one)[-1])[-1] == (37, 39)
    assert summarised(prompts(one)[-1])[0] == (1, 3)


def test_what_a_large_file_holds_beyond_the_first_chats_is_made_beside(
    agent: OpenAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "AT_ONCE", 5)
    one = open_(agent)
    (own,) = one.import_sessions(exported("ko", 30)).sessions
    settled(one)
    assert len(one.store.ledger.summaries(own)) == 10
    done(say(one, own, QUESTIONS["ko"]))
    assert len(summarised(prompts(one)[-1])) == 10


def test_a_summary_that_is_there_stays_and_a_failed_one_gives_way(agent: OpenAgent) -> None:
    one = open_(agent)
    (own,) = one.import_sessions(exported("en", 9)).sessions
    with one.store.transaction() as connection:
        table = schema.summary
        connection.execute(update(table).where(table.c.first_turn == 1).values(origin="edited"))
        connection.execute(update(table).where(table.c.first_turn == 4).values(status="failed", record=None))
    session = one.store.session(own)
    assert list(backlog.find_gaps(one, session, 9)) == [[4, 5, 6]]
    assert backlog.fill_gaps(one, session, 9) == 1
    assert backlog.fill_gaps(one, session, 9) == 0
    rows = one.store.ledger.summaries(own, superseded=True)
    assert [(row.turns[0], row.version, row.status, row.origin) for row in rows] == [
        (1, 1, "active", "edited"),
        (4, 1, "superseded", "extracted"),
        (4, 2, "active", "extracted"),
        (7, 1, "active", "extracted"),
    ]


def test_turns_before_a_summary_that_begins_elsewhere_get_a_shorter_one(agent: OpenAgent) -> None:
    one = open_(agent)
    (own,) = one.import_sessions(exported("en", 9)).sessions
    with one.store.transaction() as connection:
        table = schema.summary
        row = table.c.first_turn == 4
        connection.execute(update(table).where(row).values(first_turn=5, turns=[5, 6]))
    session = one.store.session(own)
    assert list(backlog.find_gaps(one, session, 9)) == [[4]]
    assert backlog.fill_gaps(one, session, 9) == 1
    assert one.store.ledger.find_chunks(own) == {1: 3, 4: 4, 5: 6, 7: 9}


def test_a_summary_that_somebody_wrote_meanwhile_is_not_doubled(agent: OpenAgent) -> None:
    one = open_(agent)
    (own,) = one.import_sessions(exported("en", 6)).sessions
    (row, _) = one.store.ledger.summaries(own)
    fields = {"record": row.record, "origin": "extracted"}
    assert one.store.ledger.add_missing(own, 0.3, [([1, 2, 3], fields)]) == 0
    assert len(one.store.ledger.summaries(own, superseded=True)) == 2


def test_savings_are_what_a_recount_of_the_messages_gives(agent: OpenAgent) -> None:
    one = open_(agent)
    (own,) = one.import_sessions(exported("en", 100)).sessions
    before = one.store.session(own).history_tokens
    recounted = sum(raw_tokens(messages_of(turn), estimate_tokens) for turn in one.store.turns_between(own, 1, 100))
    assert before == recounted
    done(say(one, own, QUESTIONS["en"]))
    report = report_of(one, own)
    parts = tokens_by_part(report)
    saved = report["full_tokens"] - report["total_tokens"]
    assert saved == recounted - parts["summaries"] - parts["recent"]
    assert saved > 0
    again = portable.render_session_json(one.store, own)
    (copy,) = one.import_sessions(again.encode()).sessions
    assert one.store.session(copy).history_tokens == one.store.session(own).history_tokens


def test_raw_turns_are_bounded_while_no_summary_can_be_made(agent: OpenAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    one = open_(agent, utility=lambda _messages: ModelOverloaded(url="http://model"))
    monkeypatch.setattr(backlog, "fill_gaps", lambda *_args, **_options: 0)
    (own,) = one.import_sessions(exported("en", 1000)).sessions
    done(say(one, own, QUESTIONS["en"]))
    report = report_of(one, own)
    recent = next(part for part in report["parts"] if part["name"] == "recent")
    assert recent["tokens"] <= one.settings.budget_recent
    first = int(recent["items"][0])
    assert first % 3 == 1, "whole chunks leave"
    assert len(recent["items"]) > 5, "as many stay as have room"
    (left,) = (each for each in report["left_out"] if each["reason"] == "unsummarised")
    assert (left["what"], left["reason"]) == (f"1-{first - 1}", "unsummarised")
    assert report["full_tokens"] - report["total_tokens"] == left["tokens"]
    assert rebuild_exact_prompt(one, own, 1001).proven


def test_long_turns_of_the_chunk_that_fills_up_stay_whatever_they_take() -> None:
    turns = [TurnMessages(number, (HumanMessage("x" * 1000),)) for number in range(1, 8)]
    early, kept = split_raw(turns, 1500, lambda turn: len(turn.text))
    assert [turn.number for turn in early] == [1, 2]
    assert [turn.number for turn in kept] == [3, 4, 5, 6, 7]
    assert split_raw(turns, 7000, lambda turn: len(turn.text)) == ([], turns)
    assert split_raw([], 0, lambda turn: 1) == ([], [])
