"""What a bare prompt keeps as it was said, and what it says of summaries and memory beside that."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from graph.context.prompt import (
    Changing,
    Limits,
    PromptMaterial,
    build_turn_prompt,
    drop_redundant_summaries,
    extract_summary_essence,
    short_term,
)
from graph.context.turns import make_question_message, split_into_turns
from graph.state import SummaryRecord
from graph.turn.session.rebuild import build_session_state
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, say
from tests.graph.test_conversation import NewSession


def count(text: str) -> int:
    return len(text) // 4


def talk(turns: int, chars: int = 40) -> list[AnyMessage]:
    """So many finished turns, each with a fact of its own."""
    said: list[AnyMessage] = []
    for number in range(1, turns + 1):
        said += [make_question_message(f"Box {number} holds {number}0 pens.", number, "s"), AIMessage("x" * chars)]
    return said


def record(first: int, summary: str) -> SummaryRecord:
    return SummaryRecord(
        thread_id="s",
        turns=[first, first + 1, first + 2],
        turn_length=3,
        original_chars=300,
        summary_chars=len(summary),
        compression_rate=0.3,
        summary=summary,
    )


RECORDS = [record(1, "User: Box 1 holds 10 pens. AI: Box 2 is full."), record(4, "User: Box 4 holds 40 pens.")]
MEMORY = Changing(
    "memory",
    "Title\nI was written by hand.\nturn 1: Box 1 holds 10 pens\nturn 2: Box 2 is red\nturn 5: Box 5 is blue",
    lasting=True,
)


def prompt(messages: list[AnyMessage], records: list[SummaryRecord]) -> tuple[str, list[str], list[str]]:
    """The first message, the questions behind it, and the ranges that the report calls summarised."""
    made = build_turn_prompt(
        [*messages, make_question_message("And now?", 7, "s")],
        records,
        7,
        PromptMaterial(language="en", system="System.", count=count, exact=False, changing=[MEMORY], layout="bare"),
        Limits(prompt=10_000),
    )
    first, *rest = made.messages
    asked = [str(message.text) for message in rest if isinstance(message, HumanMessage)]
    return str(first.text), asked, [each.what for each in made.report.left_out if each.reason == "summarised"]


def test_a_chunk_that_stands_as_it_was_said_is_not_summarised_too() -> None:
    first, asked, gone = prompt(talk(6), RECORDS)
    assert len(asked) == 7
    assert "Box" not in first
    assert "I was written by hand." in first, "what is of no turn stays"
    assert gone == []


def test_a_chunk_that_left_is_told_by_its_summary_and_what_else_the_user_said_in_it() -> None:
    first, asked, gone = prompt(talk(6)[6:], RECORDS)
    assert asked == ["Box 4 holds 40 pens.", "Box 5 holds 50 pens.", "Box 6 holds 60 pens.", "And now?"]
    assert first.count("Box 1 holds 10 pens") == 1
    assert "Box 2 is red" in first
    assert "Box 5 is blue" not in first
    assert gone == ["1-3"]


def test_a_chunk_of_which_a_part_stands_is_told_by_its_summary() -> None:
    first, asked, gone = prompt(talk(6)[10:], RECORDS)
    assert asked == ["Box 6 holds 60 pens.", "And now?"]
    assert "Box 4 holds 40 pens." in first
    assert "Box 5 is blue" in first
    assert gone == ["1-6"]


@pytest.mark.parametrize(
    ("budget", "first"),
    [(10_000, 1), (500, 1), (400, 7), (160, 9), (1, 9)],
)
def test_turns_stay_within_the_budget_and_leave_by_chunks_down_to_half_of_it(budget: int, first: int) -> None:
    turns = split_into_turns(talk(10, chars=120), 10)  # about 45 tokens a turn
    assert short_term(turns, 9, budget, count) == first


def test_what_no_summary_covers_never_leaves() -> None:
    assert short_term(split_into_turns(talk(3, chars=4000), 3), 0, 10, count) == 1


def test_a_state_made_anew_for_a_small_model_holds_turns_as_they_were_said(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent(profile=SMALL)
    own = session(bot)
    said = [f"{number}번 상자에는 연필이 {number}0자루 있어." for number in range(1, 9)]
    for each in said:
        done(say(bot, own, each))
    anew = build_session_state(bot, bot.store.session(own), 8)
    assert [message.text for message in anew["messages"] if message.type == "human"] == said
    assert [message.text for message in bot.state(own)["messages"] if message.type == "human"] == said


def test_untold_are_the_summaries_of_turns_that_do_not_all_stand() -> None:
    assert drop_redundant_summaries(RECORDS, {1, 2, 3, 4, 6}) == RECORDS[1:]


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        ("User: I like tea. AI: How nice of you! It costs 3 dollars.", "I like tea. It costs 3 dollars."),
        ("사용자: 차를 좋아해요. AI: 좋네요! 값은 3천원입니다.", "차를 좋아해요. 값은 3천원입니다."),
        ("A model wrote this without a fact.", "A model wrote this without a fact."),
        ("", ""),
    ],
)
def test_the_essence_of_a_summary(summary: str, kept: str) -> None:
    assert extract_summary_essence(summary) == kept
