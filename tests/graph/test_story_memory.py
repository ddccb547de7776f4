"""A story that remembers itself, where its player wants that: its own summaries, memory and earlier turns, and nobody
else's."""

from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage

from graph.turn.agent import Agent
from store.world.record import NewNode, StoryNode
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import SECONDS, fact, folding, ready, remembered, settled
from tests.graph.talk import done, prompts, say

SUMMARIES, MEMORY, TURNS = "[Summary of the earlier", "[Long-term memory", "Earlier turns that may fit"


def telling(messages: list[BaseMessage]) -> str:
    """A scene that fills a small budget, with its state block."""
    return f"The rain falls on the roofs of the town. {'It does not end. ' * 20}\n\n```state\nlocation: Town\n```"


@pytest.fixture
def bot(agent: OpenAgent) -> Agent:
    return ready(agent(telling, folding, memory=True, world_budget_history=300))


def begin_story(bot: Agent) -> str:
    world = bot.store.worlds.create("Town", "en")
    return bot.store.worlds.add(world.id, None, NewNode("", ("It rains.",), "It rains.", "given")).session


def play(bot: Agent, story: str, numbers: range) -> None:
    for number in numbers:
        done(say(bot, story, fact(number)))
        settled(bot)
        assert bot.open_worlds().idle(SECONDS)


def given(bot: Agent, text: str) -> str:
    """The prompt of the turn that asks this."""
    return next(str(prompt) for prompt in reversed(prompts(bot)) if text in str(prompt[-1].content))


def last_node(bot: Agent, story: str) -> StoryNode:
    node = bot.store.worlds.last_before(story, bot.store.session(story).turn_count + 1)
    assert node is not None
    return node


def test_a_story_remembers_nothing_of_itself_unless_its_player_wants_it(bot: Agent) -> None:
    story = begin_story(bot)
    play(bot, story, range(1, 9))
    prompt = given(bot, fact(8))
    assert [text for text in (SUMMARIES, MEMORY, TURNS) if text in prompt] == []
    assert "$100" not in remembered(bot, story)
    assert bot.store.ledger.records(story) == []
    report = last_node(bot, story).report
    assert report is not None
    assert not {"summaries", "memory", "turns"} & {*report["tokens"]}


def test_a_story_that_remembers_has_what_its_prompt_holds_no_more(bot: Agent) -> None:
    story = begin_story(bot)
    bot.store.set_remembers(story, True)
    play(bot, story, range(1, 9))
    done(say(bot, story, "How much does my item 1 cost?"))
    prompt = given(bot, "How much does my item 1 cost?")
    assert "$100" not in str(bot.store.turns(story, limit=1)[0].answer)
    assert [text for text in (SUMMARIES, MEMORY, TURNS) if text in prompt] == [SUMMARIES, MEMORY, TURNS]
    assert "item 1 costs $100" in prompt
    report = last_node(bot, story).report
    assert report is not None
    tokens = report["tokens"]
    assert min(tokens["summaries"], tokens["memory"], tokens["turns"]) > 0
    assert tokens["total"] == sum(count for name, count in tokens.items() if name != "total")
    bot.store.set_remembers(story, False)
    done(say(bot, story, "And item 2?"))
    assert [text for text in (SUMMARIES, MEMORY, TURNS) if text in given(bot, "And item 2?")] == []


def test_what_a_story_remembers_stays_in_it(bot: Agent) -> None:
    talked = bot.store.create_session("en", 0.3).id
    for number in range(11, 18):
        done(say(bot, talked, fact(number)))
        settled(bot)
    story = begin_story(bot)
    bot.store.set_remembers(story, True)
    play(bot, story, range(1, 9))
    done(say(bot, story, "How much does my item 12 cost?"))
    assert "$1200" not in given(bot, "How much does my item 12 cost?")
    other = bot.store.create_session("en", 0.3).id
    done(say(bot, other, "How much does my item 3 cost?"))
    assert "$300" not in given(bot, "How much does my item 3 cost?")


def test_the_memory_of_a_story_goes_with_its_turns_and_its_copy(bot: Agent) -> None:
    story = begin_story(bot)
    bot.store.set_remembers(story, True)
    play(bot, story, range(1, 9))
    assert "item 2: $200" in remembered(bot, story)
    copy = bot.fork(story, 8)
    assert bot.store.session(copy).remembers
    branch = bot.remove_turn(story, 2)
    play(bot, story, range(9, 15))
    assert "item 2: $200" not in remembered(bot, story)
    assert "item 3: $300" in remembered(bot, story)
    assert "item 2: $200" in remembered(bot, copy)
    bot.switch(story, 2, branch)
    assert "item 2: $200" in remembered(bot, story)
    (made,) = bot.import_sessions(bot.export_session(story).encode()).sessions
    assert bot.store.session(made).remembers
    bot.delete_session(story)
    assert remembered(bot, story).strip() == ""
