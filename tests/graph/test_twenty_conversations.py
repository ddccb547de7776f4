"""Twenty conversations of one user, played turn by turn: what was told in passing is there in the next one, for a
strong model and for a small one, in Korean and English; what does not concern a message stays out of its prompt; and
another user has nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.public.dataset import own
from bench.public.dataset.dataset import Conversation
from bench.public.share import share_words
from bench.public.stored import small_models, strong_models
from bench.public.twenty import FOLDER
from evaluation.scenario import RecordedTurn
from graph.context.preview import build_upcoming_prompt
from graph.turn.agent import Agent
from model.modelset import ModelSet
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, ready
from tests.graph.talk import done, say, settled
from text.language import Language

FOUND = {"strong": 17, "small": 12}
"""Of 30 questions. 19 and more are found for a strong model, 14 and more in the 250 tokens of a small one; far fewer
are a defect. ``python -m bench evidence --twenty`` measures it with all turns of these conversations."""
UNRELATED = 10


def load_conversations(language: Language) -> Conversation:
    (data,) = (each for each in own.load_own_sets(FOLDER) if each.name == language)
    return data.conversations[0]


def pick_turns(told: Conversation) -> Iterator[list[RecordedTurn]]:
    """Yields of each conversation the turns that a question is about, after one that is about nothing."""
    gold = {text for question in told.questions for text in question.gold}
    for turns in told.sessions:
        wanted = [turn for turn in turns if turn.user in gold or turn.answer in gold]
        yield [*[turn for turn in turns if turn not in wanted][:1], *wanted]


def play(bot: Agent, told: Conversation, answers: list[str]) -> None:
    for turns in pick_turns(told):
        session = bot.store.create_session(told.language, 0.3).id
        for turn in turns:
            answers.append(turn.answer)
            done(say(bot, session, turn.user))
        settled(bot)


def read_prompt(bot: Agent, models: ModelSet, session: str, text: str) -> str:
    messages = build_upcoming_prompt(bot.using(models), session, text)[0].messages
    return "\n".join(str(message.text) for message in messages)


def count_told(told: Conversation, prompt: str) -> int:
    """The turns whose question stands in a prompt."""
    return sum(turn.user in prompt for turn in told.turns)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_what_twenty_conversations_told_is_there_for_this_user_alone(agent: OpenAgent, language: Language) -> None:
    told, answers = load_conversations(language), list[str]()
    assert (len(told.sessions), len(told.questions)) == (20, 30)
    bot = ready(agent(lambda _: answers[-1], folding, memory=True))
    play(bot, told, answers)
    new = bot.store.create_session(told.language, 0.3).id
    elsewhere = (FOLDER / language / told.name / "elsewhere.txt").read_text("utf-8").splitlines()[:UNRELATED]
    for models in (strong_models(), small_models()):
        texts = [read_prompt(bot, models, new, each.text) for each in told.questions]
        shares = [share_words(each.answers, text) for each, text in zip(told.questions, texts, strict=True)]
        assert sum(share == 1.0 for share in shares) >= FOUND[models.profile.name]
        noise = sum(count_told(told, read_prompt(bot, models, new, text)) for text in elsewhere)
        assert noise <= UNRELATED // 2, "at most half a line in a message about something else"
    stranger = bot.of("somebody else")
    own_session = stranger.store.create_session(told.language, 0.3).id
    asked = told.questions[:UNRELATED]
    assert not any(count_told(told, read_prompt(stranger, strong_models(), own_session, each.text)) for each in asked)
