"""The specification's sequence and integration cases, through the whole agent (specification 3.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graph.context.prompt import Changing
from graph.state import SummaryRecord
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt, SummaryMade
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answer,
    done,
    hurry,
    only,
    plain,
    prompts,
    question,
    raw,
    say,
    settled,
    summarised,
    summary_calls,
    talk,
    topic,
)

KEYS = {"thread_id", "turns", "turn_length", "original_chars", "summary_chars", "compression_rate", "summary"}
NewSession = Callable[[Agent], str]


def expected(turn: int) -> tuple[list[tuple[int, int]], list[int]]:
    """The table of specification 4.1: summarised ranges and raw turns."""
    chunks = max(0, (turn - 1) // 3)
    return [(3 * n + 1, 3 * n + 3) for n in range(chunks)], list(range(3 * chunks + 1, turn + 1))


def test_the_table_itself() -> None:
    assert expected(1) == ([], [1])
    assert expected(3) == ([], [1, 2, 3])
    assert expected(4) == ([(1, 3)], [4])
    assert expected(8) == ([(1, 3), (4, 6)], [7, 8])
    assert len(expected(50)[0]) == 16
    assert expected(50)[1] == [49, 50]


@pytest.mark.parametrize("ahead", [True, False])
def test_fifty_turns_follow_the_table_and_keep_the_prefix(agent: OpenAgent, session: NewSession, ahead: bool) -> None:
    """A strong model: typed slowly, or with summaries that the turn makes itself."""
    minute = iter(range(10_000))
    bot = agent(ahead=ahead, budget_past=0, changing=lambda *_: (Changing("time", f"지금: {next(minute)}분"),))
    own = session(bot)
    before: list[tuple[str, str]] = []
    for turn in range(1, 51):
        events = say(bot, own, question(turn))
        assert done(events).answer == answer(turn)
        prompt = prompts(bot)[-1]
        ranges, numbers = expected(turn)
        assert summarised(prompt) == ranges
        assert raw(prompt) == [topic(n) for n in numbers]
        _check_report(only(events, ContextBuilt)[-1], ranges, numbers)
        _check_prefix(before, plain(prompt), first_of_chunk=(turn - 1) % 3 == 0)
        before = plain(prompt)
        settled(bot)
    assert len(prompts(bot)) == 50
    assert summary_calls(bot) == 16


def test_fifty_turns_of_a_small_model_follow_the_table_typed_at_once(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(profile=SMALL, budget_recent=1, budget_past=0)  # no room for more turns as they were said
    own = session(bot)
    before: list[tuple[str, str]] = []
    for turn, events in enumerate(hurry(bot, own, range(1, 51)), 1):
        prompt = prompts(bot)[turn - 1]
        ranges, numbers = expected(turn)
        assert summarised(prompt) == ranges
        short = [ranges[-1][1]] if ranges else []
        assert raw(prompt) == [topic(n) for n in (*short, *numbers)], "the last summarised turn stays as it was said"
        assert str(prompt[-1].text) == question(turn), "nothing of ours stands in the user's message"
        _check_report(only(events, ContextBuilt)[-1], ranges, numbers)
        _check_prefix(before, plain(prompt), first_of_chunk=(turn - 1) % 3 == 0, short=len(short))
        before = plain(prompt)
    settled(bot)
    assert (len(prompts(bot)), summary_calls(bot)) == (50, 0)


def _check_report(built: ContextBuilt, ranges: list[tuple[int, int]], numbers: list[int]) -> None:
    report = built.report
    summaries, recent, asked = report.part("summaries"), report.part("recent"), report.part("question")
    assert summaries is not None
    assert recent is not None
    assert asked is not None
    assert summaries.items == tuple(f"{a}-{b}" for a, b in ranges)
    assert [*recent.items, *asked.items] == [str(n) for n in numbers]
    left = [(each.what, each.reason) for each in report.left_out]
    assert left == ([(f"1-{ranges[-1][1]}", "summarised")] if ranges else [])
    assert report.total_tokens == sum(part.tokens for part in report.parts)


def _check_prefix(
    before: list[tuple[str, str]], now: list[tuple[str, str]], *, first_of_chunk: bool, short: int = 0
) -> None:
    """Within a chunk each prompt goes on where the last one ended; a new chunk only adds to the system message."""
    if not before:
        return
    if first_of_chunk:
        assert now[0][1].startswith(before[0][1])
        assert len(now) == 2 + 2 * short, "no turn is raw but those of short-term memory"
    else:
        assert now[: len(before)] == before


def test_token_use_stays_even_while_full_history_grows(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(budget_past=0, changing=lambda *_: ())
    own = session(bot)
    totals, full = [], []
    for turn in range(1, 31):
        report = only(say(bot, own, question(turn)), ContextBuilt)[-1].report
        settled(bot)
        totals.append(report.total_tokens)
        full.append(report.full_tokens)
    assert full == sorted(full)
    assert full[:3] == totals[:3]
    assert totals[29] - totals[5] < (full[29] - full[5]) / 2


def test_ten_turns_grow_the_history_at_4_7_and_10_only(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    known: list[SummaryRecord] = []
    for turn in range(1, 11):
        events = say(bot, own, question(turn))
        records = bot.state(own)["summary_history"]
        assert len(records) == len(known) + (turn in (4, 7, 10))
        assert records[: len(known)] == known
        assert [each.record for each in only(events, SummaryMade)] == records[len(known) :]
        assert bot.state(own)["turn_count"] == turn
        known = records
        settled(bot)
    for index, each in enumerate(known):
        _check_record(each, own, 3 * index + 1)
    assert bot.store.session(own).turn_count == 10
    assert [turn.answer for turn in bot.store.turns(own)] == [answer(n) for n in range(1, 11)]


def _check_record(record: SummaryRecord, session: str, first: int) -> None:
    turns = [first, first + 1, first + 2]
    original = sum(len(question(n)) + len(answer(n)) for n in turns)
    assert set(record) == KEYS
    assert record["thread_id"] == session
    assert record["turns"] == turns
    assert record["turn_length"] == 3
    assert record["original_chars"] == original
    assert record["compression_rate"] == 0.3
    assert record["summary_chars"] == len(record["summary"]) == int(original * 0.3)


def test_the_states_of_turn_four(agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of specification 4.5."""
    bot = agent(ahead=False)
    states, saver = list[dict[str, Any]](), type(bot.checkpoints.saver)
    put = saver.put

    def record(own_saver: Any, config: Any, checkpoint: Any, *more: Any) -> Any:
        states.append(checkpoint["channel_values"])
        return put(own_saver, config, checkpoint, *more)

    monkeypatch.setattr(saver, "put", record)
    own = session(bot)
    talk(bot, own, range(1, 5))
    start, after_summary, end = (state for state in states if state.get("turn_count") == 4)
    four = [topic(n) for n in (1, 2, 3, 4)]
    assert start["summary_history"] == []
    assert raw(start["messages"]) == raw(after_summary["messages"]) == four
    assert [each["turns"] for each in after_summary["summary_history"]] == [[1, 2, 3]]
    assert [message.type for message in prompts(bot)[-1]] == ["system", "human"]
    assert [each["turns"] for each in end["summary_history"]] == [[1, 2, 3]]
    assert [message.type for message in end["messages"]][-2:] == ["human", "ai"]
    assert end["messages"][-1].text == answer(4)


def test_the_system_message_reads_as_the_specification_shows_it(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, range(1, 8))
    first, second = (each["summary"] for each in bot.state(own)["summary_history"])
    system = str(prompts(bot)[-1][0].text)
    assert system.endswith(f"[이전 대화 요약]\n[1-3턴] {first}\n[4-6턴] {second}")


def test_a_summary_is_made_from_all_of_its_three_turns_and_nothing_else(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 5))
    asked = "\n".join(str(message.text) for message in bot.models().utility.calls[0])  # type: ignore[attr-defined]
    assert all(text in asked for n in (1, 2, 3) for text in (question(n), answer(n)))
    assert topic(4) not in asked
