"""What is stored without a play gives the prompts that a play gives."""

from __future__ import annotations

from datetime import datetime

from bench.public.dataset.dataset import Conversation
from bench.public.stored import small_models, store_talk, strong_models
from evaluation.play import RecordedConversation, play_turns
from evaluation.scenario import RecordedTurn
from graph.context.prompt import BuiltPrompt

TOPICS = ("boat", "oven", "garden", "piano", "roof")


def turn(number: int) -> RecordedTurn:
    topic = TOPICS[number % len(TOPICS)]
    said = f"My {topic} number {number} cost {number * 37} euros in March. I bought it from Noor {number}. " * 3
    return RecordedTurn(user=said, answer=f"A {topic} for {number * 37} euros sounds fair. Shall I note it down?")


NOON = datetime(2026, 3, 5, 12)
TURNS = tuple(turn(number) for number in range(1, 26))


def lines_of(prompt: BuiltPrompt) -> set[str]:
    """Its lines, without the time that stays with a question while it is raw."""
    lines = {line for message in prompt.messages for line in str(message.text).splitlines()}
    return {line for line in lines if not line.startswith("Now: ")}


def test_a_stored_conversation_has_the_prompt_of_a_played_one() -> None:
    models, query = strong_models(), "What did the piano cost?"
    with play_turns(models, RecordedConversation(TURNS, "en", NOON)) as play:
        wanted = play.prompt_for(query)
    with store_talk(Conversation("noor", "user", "assistant", TURNS, ())) as talk:
        found, small = (talk.prompt_for(query, each, NOON) for each in (models, small_models()))
    assert lines_of(found) == lines_of(wanted)
    raw = small.report.part("short")
    assert raw is not None
    assert raw.items[-1] == str(len(TURNS) - 1)
    assert 0 < raw.tokens <= raw.budget


def test_separate_conversations_are_found_from_a_new_one() -> None:
    told = Conversation("noor", "user", "assistant", TURNS[:8], (), starts=(0, 4))
    with store_talk(told) as talk:
        assert len(talk.turns) == 8
        assert [key.number for key in talk.turns] == [1, 2, 3, 4, 1, 2, 3, 4]
        prompt, lines = talk.told_lines("What did my garden cost?", strong_models(), NOON)
    assert prompt.report.turn == 1
    assert any("74 euros" in line for line in lines)
    assert not any("What did my garden cost?" in line for line in lines)
