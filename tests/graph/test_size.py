"""The state holds what the next turn needs, the record everything; and no blob runs code (design 3.1)."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.tools import tool

from graph.context.prompt import over_budget
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt, SummaryMade
from graph.turn.runtime import TurnContext
from model.call.token import estimate_tokens
from model.scripted import build_scripted_models, count_scripted_tokens
from settings import Settings
from store.database.checkpoint import open_checkpoints
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answer, answering, calling, only, prompts, question, raw, say, summarised, talk, topic
from tests.graph.test_conversation import NewSession
from tests.graph.test_turns import record


def rows(bot: Agent, table: str) -> int:
    connection = sqlite3.connect(bot.settings.data_dir / "checkpoint.db")
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


def test_after_sixty_turns_the_state_is_small_and_the_record_complete(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(budget_summaries=200)
    own, other = session(bot), session(bot)
    talk(bot, other, [1])
    for turn in range(1, 61):
        events = say(bot, own, question(turn))
        bot.background.idle(5)
    assert rows(bot, "checkpoints") == 2
    state = bot.state(own)
    assert raw(state["messages"]) == [topic(57), topic(58), topic(59), topic(60)], "one more, for short-term memory"
    assert len(state["messages"]) == 8
    kept = state["summary_history"]
    assert 1 < len(kept) < 19
    assert sum(count_scripted_tokens(each["summary"]) for each in kept) <= 200
    assert [each["turns"][0] for each in kept] == list(range(kept[0]["turns"][0], 56, 3))
    turns = bot.store.turns_between(own, 1, 60)
    assert [(turn.question, turn.answer) for turn in turns] == [(question(n), answer(n)) for n in range(1, 61)]
    assert all(len(turn.messages or []) == 2 for turn in turns)
    _check_retired(bot, own, kept[0]["turns"][0])
    report = only(events, ContextBuilt)[-1].report
    forgotten, replaced = report.left_out
    assert (forgotten.what, forgotten.reason) == (f"1-{kept[0]['turns'][0] - 1}", "over_budget")
    assert (replaced.what, replaced.reason) == (f"{kept[0]['turns'][0]}-57", "summarised")
    assert summarised(prompts(bot)[-1]) == [(each["turns"][0], each["turns"][-1]) for each in kept]


def _check_retired(bot: Agent, session: str, first_kept: int) -> None:
    ledger = bot.store.ledger.summaries(session)
    assert (ledger.pop().status, len(ledger)) == ("ready", 19)
    assert {row.status for row in ledger if row.turns[0] < first_kept} == {"retired"}
    assert {row.status for row in ledger if row.turns[0] >= first_kept} == {"active"}
    assert all(row.record is not None for row in ledger)


def test_checkpoints_are_written_only_between_two_nodes(agent: OpenAgent, session: NewSession) -> None:
    """None of the input, which the record has, and no writes beside them, which nodes side by side would need."""
    found: list[tuple[int, int]] = []

    @tool
    def peek() -> str:
        """Looks."""
        found.append((rows(bot, "checkpoints"), rows(bot, "writes")))
        return "seen"

    bot = replace(agent([calling("peek"), answering] * 2), tools=[peek])
    own = session(bot)
    talk(bot, own, [1, 2])
    assert found == [(2, 0), (3, 0)]  # after the start and the call; turn 2 has the last one of turn 1 beside them
    assert (rows(bot, "checkpoints"), rows(bot, "writes")) == (1, 0)


def test_the_last_checkpoint_does_not_grow(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(budget_summaries=100, ahead=False)
    own = session(bot)
    sizes: list[int] = []
    connection = sqlite3.connect(bot.settings.data_dir / "checkpoint.db")
    for turn in range(1, 31):
        talk(bot, own, [turn])
        sizes.append(connection.execute("SELECT sum(length(checkpoint)) FROM checkpoints").fetchone()[0])
        assert rows(bot, "checkpoints") == 1
    connection.close()
    assert max(sizes[20:]) < 1.3 * max(sizes[8:20])


@pytest.mark.parametrize(
    ("records", "budget", "leaving"),
    [
        *((0, 10, 0), (1, 1, 0), (3, 1000, 0), (10, 50, 5), (10, 1, 9)),
        *((24, 1000, 0), (25, 1000, 5), (29, 1000, 5), (30, 1000, 10)),
    ],
)
def test_the_oldest_summaries_leave_down_to_half_the_budget(records: int, budget: int, leaving: int) -> None:
    """Each counts one token and four for its place; where the budget holds more, the newest twenty stay."""
    every = [record(3 * n + 1, 3 * n + 3) for n in range(records)]
    if (records, budget) == (10, 50):
        assert over_budget(every, 50, count_scripted_tokens) == []
        assert over_budget(every, 49, count_scripted_tokens) == every[:6]
        return
    assert over_budget(every, budget, count_scripted_tokens) == every[:leaving]


def test_the_specified_table_fits_the_default_budget() -> None:
    """Sixteen summaries of three turns of 500 Korean characters at the highest rate (specification 4.1)."""
    every = [record(3 * n + 1, 3 * n + 3) for n in range(16)]
    for each in every:
        each["summary"] = "요" * 750
    assert over_budget(every, Settings.model_fields["budget_summaries"].default, estimate_tokens) == []


def test_summaries_leave_a_small_model_before_they_crowd_out_the_turns() -> None:
    small, large = (
        TurnContext(build_scripted_models(context_size=size), Settings()).limits() for size in (4000, 100_000)
    )
    assert (small.summaries, large.summaries) == (small.prompt // 2, Settings().budget_summaries)


@pytest.mark.parametrize(
    ("turn", "statuses"), [(8, ["active", "active"]), (9, ["active", "active"]), (10, ["retired", "retired", "active"])]
)
def test_a_budget_that_became_smaller_counts_when_the_next_summary_is_due(
    agent: OpenAgent, session: NewSession, turn: int, statuses: list[str]
) -> None:
    """The ledger never says otherwise than the prompt."""
    own = session(first := agent(ahead=False))
    talk(first, own, range(1, turn))
    first.close()
    bot = agent(ahead=False, budget_summaries=1)
    talk(bot, own, [turn])
    rows = bot.store.ledger.summaries(own)
    assert [row.status for row in rows] == statuses
    active = [row.turns for row in rows if row.status == "active"]
    assert [each["turns"] for each in bot.state(own)["summary_history"]] == active
    assert summarised(prompts(bot)[-1]) == [(turns[0], turns[-1]) for turns in active]


def test_a_turn_that_retires_summaries_says_which_it_made(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(budget_summaries=1, ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 7))
    assert [made.turns for made in only(say(bot, own, question(7)), SummaryMade)] == [(4, 5, 6)]
    assert [each["turns"] for each in bot.state(own)["summary_history"]] == [[4, 5, 6]]
    assert [row.status for row in bot.store.ledger.summaries(own)] == ["retired", "active"]


# --- what is in a checkpoint is data ------------------------------------------------------------


def crafted(path: Path) -> bytes:
    """A blob that has LangGraph's permissive serializer call ``os.system``."""
    call = ormsgpack.packb(("posix", "system", f"touch {path}"))
    return ormsgpack.packb(ormsgpack.Ext(0, call))


def test_a_crafted_blob_runs_nothing(tmp_path: Path) -> None:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    harm = tmp_path / "harm"
    blob = ("msgpack", crafted(harm))
    checkpoints = open_checkpoints(None, tmp_path)
    checkpoints.saver.serde.loads_typed(blob)
    checkpoints.close()
    assert not harm.exists()
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(blob)
    assert harm.exists(), "the blob must be harmful where it may be, else this test proves nothing"


@pytest.mark.parametrize("first", ["graph.turn.agent", "graph.state"])
def test_strict_msgpack_is_asked_for_before_langgraph_is_imported(first: str) -> None:
    program = f"import {first}; from langgraph.checkpoint.serde import _msgpack; print(_msgpack.STRICT_MSGPACK_ENABLED)"
    environment = {name: value for name, value in os.environ.items() if name != "LANGGRAPH_STRICT_MSGPACK"}
    run: list[Any] = [sys.executable, "-c", program]
    said = subprocess.run(run, capture_output=True, text=True, timeout=240, check=True, env=environment)
    assert said.stdout.strip() == "True"
