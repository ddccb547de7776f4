"""Budgets of one page: its prompts obey and report them, what all pages share and the other pages stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graph.context.compare import Answered, Variant, estimate_variant_cost, stream_variant_answer
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.context.preview import preview_next_prompt
from graph.context.report import ContextReport
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, fact, folding, noting, ready, tell
from tests.graph.talk import only, prompts, question, say, summarised, talk

NewSession = Callable[[Agent], str]


def told(agent: Agent, session: str, text: str) -> ContextReport:
    """The last report of a turn."""
    return only(say(agent, session, text), ContextBuilt)[-1].report


def room(report: ContextReport, name: Any) -> tuple[int, bool]:
    """The budget of a part, and whether the part keeps within it."""
    part = report.part(name)
    assert part is not None
    return part.budget, 0 < part.tokens <= part.budget


def ranges(chunks: int) -> list[tuple[int, int]]:
    return [(3 * number + 1, 3 * number + 3) for number in range(chunks)]


def test_memory_and_entities_keep_within_the_budgets_of_the_page(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True))
    own, page = bot.store.create_session("en", 0.3).id, bot.using(None, {"budget_memory": 60, "budget_entities": 30})
    tell(bot, own, range(1, 7))
    assert bot.memory is not None
    bot.memory.writer.edit(bot.tenant, own, "\n".join(f"User said: {fact(number)}" for number in range(1, 21)))
    report = told(page, own, fact(7))
    assert [room(report, name) for name in ("memory", "entities")] == [(60, True), (30, True)]
    left = {each.reason: int(each.what) for each in report.left_out if each.reason.endswith("_cut")}
    assert left["memory_cut"] == 20 - asked(prompts(bot)[-1])[-1].count("User said") > 0
    assert left["entities_cut"] > 0
    assert room(preview_next_prompt(page, own).report, "memory") == (60, True)
    *_, compared = stream_variant_answer(page, own, fact(8), Variant())
    assert isinstance(compared, Answered)
    assert room(compared.report, "entities") == (30, True)
    elsewhere = told(bot, own, fact(8))
    assert [room(elsewhere, name) for name in ("memory", "entities")] == [(500, True), (200, True)]
    assert not [each for each in elsewhere.left_out if each.reason.endswith("_cut")]


def test_a_smaller_budget_of_summaries_counts_from_the_next_turn_on_and_on_its_page_alone(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent(ahead=False)
    own, page = session(bot), bot.using(None, {"budget_summaries": 1})
    talk(bot, own, range(1, 8))
    report = told(page, own, question(8))
    part = report.part("summaries")
    assert part is not None
    assert (part.budget, part.items) == (1, ("4-6",))
    assert [each.what for each in report.left_out if each.reason == "over_budget"] == ["1-3"]
    assert summarised(prompts(bot)[-1]) == [(4, 6)]
    assert rebuild_exact_prompt(bot, own, 8).proven
    talk(page, own, [9, 10])
    assert summarised(prompts(bot)[-1]) == [(7, 9)]
    assert [row.status for row in bot.store.ledger.summaries(own)] == ["active"] * 3
    talk(bot, own, [11])
    assert summarised(prompts(bot)[-1]) == ranges(3)


def test_a_larger_budget_of_summaries_brings_back_what_has_left(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False, budget_summaries=1)
    own, page = session(bot), bot.using(None, {"budget_summaries": 10_000})
    talk(bot, own, range(1, 11))
    assert summarised(prompts(bot)[-1]) == [(7, 9)]
    coming = preview_next_prompt(page, own).report.part("summaries")
    talk(page, own, [11])
    assert summarised(prompts(bot)[-1]) == ranges(3)
    assert rebuild_exact_prompt(bot, own, 11).proven
    assert coming is not None
    assert coming.items == ("1-3", "4-6", "7-9")
    assert (
        estimate_variant_cost(page, own, question(12), Variant()).prompt_tokens
        > estimate_variant_cost(bot, own, question(12), Variant()).prompt_tokens
    )
    talk(bot, own, [12])
    assert summarised(prompts(bot)[-1]) == [(7, 9)]


def test_the_oldest_summaries_leave_as_rarely_as_by_the_setting(agent: OpenAgent, session: NewSession) -> None:
    """A prompt that lost its oldest summary every time would be read anew every time."""
    bot, tight = agent(ahead=False), agent(ahead=False, budget_summaries=200)
    page = bot.using(None, {"budget_summaries": 200})
    one, other = session(bot), session(tight)
    for number in range(1, 41):
        talk(page, one, [number])
        talk(tight, other, [number])
    assert [summarised(each) for each in prompts(bot)] == [summarised(each) for each in prompts(tight)]
