"""A small model's answer to a question about what the user said is a quotation by code, and only such a question's."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from graph.answer.past_quote import MOST, choose_quotes, quote_past
from graph.context.past import FoundPast, PastEntry
from graph.turn.agent import Agent
from graph.turn.event import Done
from graph.turn.request import Request
from model.profile import SMALL
from store import TurnRow
from store.search.turn_index import TurnKey
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready
from tests.graph.talk import prompts
from tests.graph.test_past_turns import CLOSED, PUPPY, TALKS, index, told
from tests.table import table
from text.language import Language

QUOTED = {
    "en": "This is what I found in what you said.\n\n> We adopted a small brown puppy called Biscuit yesterday.",
    "ko": "하신 말씀에서 찾은 것이에요.\n\n> 어제 갈색 강아지를 데려왔고 이름은 비스킷이야.",
}


@pytest.fixture
def small(agent: OpenAgent) -> Agent:
    return agent(noting, folding, memory=True, profile=SMALL, redis_url=CLOSED)


def ask(bot: Agent, session: str, text: str, **values: object) -> TurnRow:
    """Asks in the next turn and returns its row."""
    request = replace(Request(session, "new", text), **values)  # type: ignore[arg-type]
    end = bot.turn(request, threading.Event(), lambda _: None)
    assert isinstance(end, Done)
    row = bot.store.turn(session, end.turn)
    assert row is not None
    return row


@pytest.mark.parametrize("language", ["en", "ko"])
def test_what_the_user_said_is_quoted_without_a_model_and_says_where_from(small: Agent, language: Language) -> None:
    own = told(small, *TALKS[language], language=language)
    index(small, own)
    row = ask(small, own, PUPPY[language])
    assert (row.answer, prompts(small)) == (QUOTED[language], [])
    (step,) = row.steps
    assert (step["name"], step["arguments"]) == ("recall", {"query": PUPPY[language]})
    assert step["artifact"]["turns"][0].startswith("/0/1/")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_another_conversation_is_named_by_its_day_and_marks_are_for_who_is_shown_them(
    small: Agent, language: Language
) -> None:
    told(small, *TALKS[language], language=language)
    own = small.store.create_session(language, 0.3).id
    index(small, own)
    day = datetime.now().astimezone().date().isoformat()
    where = {"en": f" ({day}, another conversation) [T1]", "ko": f" ({day}, 다른 대화) [T1]"}[language]
    assert ask(small, own, PUPPY[language], cites=True).answer == QUOTED[language] + where


def test_a_question_that_was_quoted_before_is_quoted_again(small: Agent) -> None:
    own = told(small, *TALKS["en"])
    index(small, own)
    first = ask(small, own, PUPPY["en"])
    index(small, own)
    assert ask(small, own, PUPPY["en"]).answer == first.answer == QUOTED["en"]


@table(
    "text",
    [
        "Tell me something nice about our puppy Biscuit.",
        "We gave our puppy Biscuit to my aunt.",
        "If our puppy eats 2 cans a day, how many cans is that a week for it?",
        "Good morning!",
    ],
)
def test_a_message_that_asks_for_nothing_said_is_answered_by_the_model(small: Agent, text: str) -> None:
    own = told(small, *TALKS["en"])
    index(small, own)
    row = ask(small, own, text)
    assert not any(step["name"] == "recall" for step in row.steps)
    assert QUOTED["en"] not in (row.answer or "")


def test_a_later_prompt_has_nothing_of_a_turn_that_was_quoted(small: Agent) -> None:
    own = told(small, *TALKS["en"])
    index(small, own)
    ask(small, own, PUPPY["en"])
    ask(small, own, "Tell me a joke about the sea.")
    (sent,) = prompts(small)
    text = "\n".join(str(message.text) for message in sent)
    assert (PUPPY["en"] in text, "what I found" in text) == (False, False)


def test_another_answer_is_the_models(small: Agent) -> None:
    own = told(small, *TALKS["en"])
    index(small, own)
    quoted = ask(small, own, PUPPY["en"])
    row = ask(small, own, "", kind="again", number=quoted.number)
    assert row.answer != quoted.answer
    assert len(prompts(small)) == 1


def test_a_role_of_the_conversations_own_is_never_broken_by_a_quotation(small: Agent) -> None:
    own = told(small, *TALKS["en"])
    index(small, own)
    row = ask(small, own, PUPPY["en"], system="You are Captain Flint, a pirate.")
    assert not row.steps
    assert len(prompts(small)) == 1


def test_a_strong_model_answers_itself(agent: OpenAgent) -> None:
    bot = agent(noting, folding, memory=True, redis_url=CLOSED)
    own = told(bot, *TALKS["en"])
    index(bot, own)
    ask(bot, own, PUPPY["en"])
    assert len(prompts(bot)) == 1


def entry(number: int, question: str, score: float, *, here: bool = True) -> PastEntry:
    return PastEntry(TurnKey("own" if here else "other", 0, number), here, "2026-05-03", number, question, "", score)


@table(
    "entries, quoted",
    [
        ([entry(5, "It is 80 now.", 0.9), entry(2, "The budget is 70.", 0.6)], ["The budget is 70.", "It is 80 now."]),
        ([entry(1, "The budget is 70.", 0.9), entry(2, "I like tea.", 0.05)], ["The budget is 70."]),
        ([entry(1, "What is the budget?", 0.9), entry(2, "It is 70.", 0.8)], ["It is 70."]),
        ([entry(1, "I fly to Rome. What shall I pack?", 0.9)], ["I fly to Rome."]),
        ([entry(1, "내 예산은 70이야", 0.9), entry(3, "내 예산이 얼마랬지", 0.8)], ["내 예산은 70이야"]),
        ([entry(1, "What is the budget?", 0.9)], []),
        ([entry(1, "What is the budget?", 0.9), entry(2, "Suggest a quick dinner.", 0.05)], []),
        ([entry(number, f"Part {number}.", 0.9) for number in range(1, 9)], [f"Part {n}." for n in range(1, MOST + 1)]),
        ([], []),
    ],
)
def test_what_tells_something_is_quoted_in_the_order_of_time(entries: Sequence[PastEntry], quoted: list[str]) -> None:
    assert [each.question for each in choose_quotes(entries)] == quoted


def test_each_quotation_is_a_block_of_its_own_and_nothing_is_quoted_twice() -> None:
    found = FoundPast((entry(1, "The budget is 70.", 0.9), entry(5, "It is 80 now.", 0.8, here=False)))
    quoted = quote_past(found, ["I pay in euros.", "the budget is 70"], "en", cites=True)
    assert quoted is not None
    assert quoted.text == (
        "This is what I found in what you said.\n\n> I pay in euros.\n\n> The budget is 70. [T1]\n\n"
        "> It is 80 now. (2026-05-03, another conversation) [T2]"
    )
    assert quote_past(None, [], "en", cites=True) is None


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_pinned_line_that_no_turn_says_is_quoted(agent: OpenAgent, language: Language) -> None:
    line, question = {
        "en": ("My insurance policy number is HL-55231.", "What is my insurance policy number?"),
        "ko": ("내 사물함은 B-17이야.", "내 사물함 몇 번이야?"),
    }[language]
    bot = ready(agent(noting, folding, memory=True, profile=SMALL))
    assert bot.memory is not None
    bot.memory.writer.pin(bot.tenant, bot.store.create_session(language, 0.3).id, line, user=bot.user)
    own = bot.store.create_session(language, 0.3).id
    assert f"> {line.rstrip('.')}" in (ask(bot, own, question).answer or "")
    assert prompts(bot) == []
