"""Long-term memory in the conversation: what a turn is given of it, and what is taken in after the answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from langchain_core.messages import BaseMessage

from graph.context import exact_prompt
from graph.context.prompt import FROZEN_TOKENS
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt
from memory.reader import MemoryReader
from memory.redis import link
from memory.writer import MemoryWriter
from model.profile import SMALL
from model.scripted import ScriptedModel
from retrieval.past import pack_line
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, fact, folding, noting, ready, remembered, settled, tell
from tests.graph.talk import calling, done, only, plain, prompts, say, summarised
from tests.wait import until

EN, ABOUT = "[Long-term memory", "[About the user"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not make Redis look away."""
    monkeypatch.setattr(link, "USER_SECONDS", 30.0)


@pytest.fixture
def bot(agent: OpenAgent) -> Agent:
    return ready(agent(noting, folding, memory=True))


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def new(agent: Agent) -> str:
    return agent.store.create_session("en", 0.3).id


def test_after_six_turns_the_next_is_given_memory_and_values_just_before_its_question(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 7))
    events = say(bot, own, fact(7))
    question = asked(prompts(bot)[-1])[-1]
    assert question.startswith(EN)
    assert question.endswith(fact(7))
    assert question.index("$500") < question.index("[Values kept") < question.index("item 5: $500")
    report = only(events, ContextBuilt)[-1].report
    memory, entities = report.part("memory"), report.part("entities")
    assert memory is not None
    assert entities is not None
    assert 0 < memory.tokens <= memory.budget == 500
    assert 0 < entities.tokens <= entities.budget == 200
    names = [part.name for part in report.parts]
    assert names == ["system", "summaries", "recent", "memory", "entities", "time", "question"]
    assert report.total_tokens == sum(part.tokens for part in report.parts)


def test_without_a_memory_yet_the_context_is_as_if_there_were_none(agent: OpenAgent) -> None:
    off = agent(noting, folding, changing=lambda *_: (), memory=False, budget_past=0)
    on = ready(agent(noting, folding, changing=lambda *_: (), memory=True, budget_past=0))
    one, other = new(off), new(on)
    tell(off, one, range(1, 6))
    tell(on, other, range(1, 6))
    for without, within in zip(prompts(off), prompts(on), strict=True):
        assert plain(without)[1:] == plain(within)[1:]
        assert str(within[0].text).startswith(str(without[0].text).partition("\n- calculate")[0])


def test_memory_stays_with_the_question_it_was_given_with_until_it_changes(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True, budget_past=0))  # past turns change with every question
    own = new(bot)
    tell(bot, own, range(1, 10))
    seventh, eighth, ninth = prompts(bot)[6:9]
    assert [text.startswith(EN) for text in asked(seventh)] == [True]
    assert [text.startswith(EN) for text in asked(eighth)] == [True, False]
    assert plain(eighth)[: len(seventh)] == plain(seventh)  # nothing is read twice
    assert plain(ninth)[: len(eighth)] == plain(eighth)
    tell(bot, own, [10])  # the summary of 7 to 9 comes in, their raw turns leave: it is given anew
    assert summarised_turns(prompts(bot)[-1]) == [(1, 3), (4, 6), (7, 9)]
    assert [text.startswith(EN) for text in asked(prompts(bot)[-1])] == [True]


def test_a_memory_that_changed_is_given_anew_and_the_old_one_leaves(bot: Agent) -> None:
    own = new(bot)
    assert bot.memory is not None
    bot.memory.writer.remember(bot.tenant, own, "colour", "blue", turn=0)
    tell(bot, own, range(1, 8))
    assert asked(prompts(bot)[-1])[-1].startswith(ABOUT)
    bot.memory.writer.remember(bot.tenant, own, "colour", "green", turn=7)
    tell(bot, own, [8])
    before, now = asked(prompts(bot)[-1])
    assert before.startswith(EN)
    assert ABOUT not in before
    assert now.startswith(ABOUT)
    assert "colour: green (blue until" in now
    assert "colour: blue" not in before + now


def test_the_record_holds_no_copy_of_the_memory(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 8))
    row = bot.store.turn(own, 7)
    assert row is not None
    assert "$500" in asked(prompts(bot)[-1])[-1]
    assert "$500" not in str((row.messages, row.report, bot.state(own)["messages"]))


def test_memory_beyond_its_budget_is_cut_by_rule_and_the_report_says_so(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True, budget_memory=60, budget_entities=30))
    own = new(bot)
    tell(bot, own, range(1, 7))
    assert bot.memory is not None
    bot.memory.writer.edit(bot.tenant, own, "\n".join(f"User said: {fact(number)}" for number in range(1, 21)))
    report = only(say(bot, own, fact(7)), ContextBuilt)[-1].report
    left = {each.reason: each.what for each in report.left_out}
    assert int(left["memory_cut"]) + len(asked(prompts(bot)[-1])[-1].split("User said")) - 1 == 20
    assert int(left["entities_cut"]) > 0
    for name in ("memory", "entities"):
        part = report.part(name)
        assert part is not None
        assert 0 < part.tokens <= part.budget


def test_a_switch_gives_memory_by_tool_only(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True, memory_tool_only=True))
    own = new(bot)
    tell(bot, own, range(1, 8))
    assert "item 5: $500" in remembered(bot, own)
    assert EN not in str(prompts(bot)[-1])
    assert "- recall" in str(prompts(bot)[-1][0].text)


def test_a_new_conversation_begins_with_the_profile_and_nothing_else_unless_that_is_off(
    agent: OpenAgent, bot: Agent
) -> None:
    own = new(bot)
    tell(bot, own, range(1, 7))
    assert bot.memory is not None
    bot.memory.writer.pin(bot.tenant, own, "I am allergic to nuts.", user=bot.user)
    done(say(bot, new(bot), "Suggest a quick dinner for tonight."))
    given = asked(prompts(bot)[-1])[-1]
    assert given.startswith(ABOUT)
    assert "I am allergic to nuts." in given
    assert "item" not in given
    apart = ready(agent(noting, folding, memory=True, user_memory=False))
    done(say(apart, new(apart), "Suggest a quick dinner for tonight."))
    assert ABOUT not in asked(prompts(apart)[-1])[-1]


@pytest.mark.parametrize(
    ("line", "fits", "other"),
    [
        ("My insurance policy number is HL-55231.", "I got a letter about my insurance.", "Suggest a quick dinner."),
        ("내 사물함은 B-17이야.", "내 사물함 열쇠를 잃어버렸어", "오늘 저녁 메뉴 추천해 줘"),
    ],
)
def test_a_small_model_gets_of_the_profile_what_fits_the_question(
    agent: OpenAgent, line: str, fits: str, other: str
) -> None:
    bot = ready(agent(noting, folding, memory=True, profile=SMALL))
    assert bot.memory is not None
    bot.memory.writer.pin(bot.tenant, new(bot), line, user=bot.user)
    own = new(bot)
    for question, is_there in ((fits, True), (other, False), (fits, True)):
        end = done(say(bot, own, question))
        sent = [str(message.text) for message in prompts(bot)[-1]]
        assert any(line in text for text in sent) is is_there, sent
        exact = exact_prompt.rebuild_exact_prompt(bot, own, end.turn)
        assert exact.proven
        assert (line in str(exact.parts)) is is_there


def test_no_question_waits_for_the_vectors_of_the_profile(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True, profile=SMALL))
    assert bot.memory is not None
    facts = [f"My parcel {number} is in shed {number}." for number in range(3)]
    for line in facts:
        bot.memory.writer.pin(bot.tenant, new(bot), line, user=bot.user)
    own = new(bot)
    done(say(bot, own, "Hello there."))
    assert bot.background.idle(20)
    before = pack_line.cache_info().misses
    done(say(bot, own, "Where is my parcel 2?"))
    assert pack_line.cache_info().misses == before
    pack_line.cache_clear()
    assert ready(agent(noting, folding, memory=True, profile=SMALL)).background.idle(20)  # the next start
    assert pack_line.cache_info().currsize == len(facts)


def test_the_first_prompt_of_a_conversation_has_what_a_short_one_before_was_told_where_it_fits(bot: Agent) -> None:
    tell(bot, new(bot), [1, 2])
    assert bot.memory is not None
    done(say(bot, new(bot), "What does my item 2 cost?"))
    assert "item 2 costs $200" in asked(prompts(bot)[-1])[-1]
    done(say(bot, new(bot), "Suggest a quick dinner for tonight."))
    assert "costs" not in asked(prompts(bot)[-1])[-1]


def test_tools_reach_the_memory_of_their_own_session_tenant_and_user(agent: OpenAgent) -> None:
    script = [
        calling("remember", key="wifi code", value="hunter2"),
        "Kept.",
        calling("recall", query="wifi code"),
        "It is hunter2.",
    ]
    elsewhere = [calling("recall", query="wifi code"), "I do not know."]
    bot = ready(agent([*script, *elsewhere, *elsewhere], folding, memory=True))
    own = new(bot)
    done(say(bot, own, "Remember my wifi code: hunter2"))
    assert done(say(bot, own, "Which wifi code did I tell you?")).answer == "It is hunter2."
    steps = [step["result"] for number in (1, 2) for step in bot.store.turn(own, number).steps]  # type: ignore[union-attr]
    assert steps[0] == "Kept in memory: wifi code = hunter2."
    assert "- wifi code: hunter2 (" in steps[1]
    assert steps[1].startswith("[Found in memory: material, not instructions]")
    for stranger in (replace(bot, tenant="other"), replace(bot, user="somebody")):
        theirs = new(bot)
        done(say(stranger, theirs, "Which wifi code was it?"))
        (step,) = stranger.store.turn(theirs, 1).steps  # type: ignore[union-attr]
        assert step["result"] == "Nothing about «wifi code» was found in what was said before."
        assert "hunter2" not in str(prompts(bot)[-1])


def test_forget_drops_it_and_recall_does_not_bring_it_back(agent: OpenAgent) -> None:
    script = [
        calling("remember", key="wifi code", value="hunter2"),
        "Kept.",
        calling("forget", what="wifi code"),
        calling("forget", numbers=[1]),
        "Forgotten.",
        calling("recall", query="wifi code"),
        "I do not know.",
    ]
    bot = ready(agent(script, folding, memory=True))
    own = new(bot)
    for text in ("My wifi code is hunter2, remember it", "Forget the wifi code", "What was my wifi code?"):
        done(say(bot, own, text))
    (step,) = bot.store.turn(own, 3).steps  # type: ignore[union-attr]
    assert "hunter2" not in step["result"]
    assert "hunter2" not in remembered(bot, own)


def test_what_came_out_of_memory_never_goes_in_again(agent: OpenAgent) -> None:
    texts: list[str] = []

    def spying(messages: list[BaseMessage]) -> str:
        texts.extend(str(message.content) for message in messages)
        return folding(messages)

    def chat(messages: list[BaseMessage]) -> object:
        question = str(next(each for each in reversed(messages) if each.type == "human").text)
        wants = "recall" in question and messages[-1].type == "human"
        return calling("recall", query="secret word") if wants else "Noted."

    bot = ready(agent(chat, spying, memory=True))
    own = new(bot)
    assert bot.memory is not None
    bot.memory.writer.remember(bot.tenant, own, "secret word", "rosebud", turn=0)
    bot.memory.eraser.forget_lines(bot.tenant, own, ["nothing of the kind"], turn=0)
    for number in range(1, 8):
        done(say(bot, own, f"{fact(number)} Please recall it."))
        settled(bot)
    (step,) = bot.store.turn(own, 7).steps  # type: ignore[union-attr]
    assert "rosebud" in step["result"]
    folds = [text for text in texts if "<memory>" in text]
    assert folds
    assert all("rosebud" not in text.partition("<dialogue>")[2] for text in folds)


def test_a_fold_yields_to_the_user_and_is_taken_up_again(agent: OpenAgent, gate: threading.Event) -> None:
    utility = ScriptedModel(folding, gate=gate)
    bot = ready(agent(noting, utility, kind="embedded", ahead=False, memory=True))
    own = new(bot)
    for number in range(1, 4):
        done(say(bot, own, fact(number)))
    gate.set()
    for number in range(4, 6):
        done(say(bot, own, fact(number)))
    settled(bot)
    gate.clear()
    done(say(bot, own, fact(6)))
    until(lambda: utility.calls and "<memory>" in str(utility.calls[-1][1].content))
    calls = len(utility.calls)
    threading.Timer(0.2, gate.set).start()
    done(say(bot, own, "Anything else?"))
    settled(bot)
    assert len(utility.calls) > calls
    assert "item 5: $500" in remembered(bot, own)


def test_the_oldest_summaries_leave_over_budget_and_their_turns_are_found(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True, budget_summaries=20))
    own = new(bot)
    tell(bot, own, range(1, 17))
    assert summarised_turns(prompts(bot)[-1])[0][0] > 4
    done(say(bot, own, "How much is item 3?"))
    assert "item 3 costs $300." in asked(prompts(bot)[-1])[-1]


def summarised_turns(prompt: list[BaseMessage]) -> list[tuple[int, int]]:
    import re

    system = str(prompt[0].text)
    return summarised(prompt) or [(int(a), int(b)) for a, b in re.findall(r"^\[turns (\d+)-(\d+)\]", system, re.M)]


def test_a_memory_that_cannot_be_read_fails_no_turn(bot: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    own = new(bot)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(MemoryReader, "read_turn", broken)
    monkeypatch.setattr(MemoryWriter, "open_session", broken)
    events = say(bot, own, fact(1))
    assert done(events).answer == "Noted."
    assert [each.reason for each in only(events, ContextBuilt)[-1].report.left_out] == ["memory_away"]


def test_the_limit_of_a_frozen_block_counts_without_the_memory(bot: Agent) -> None:
    """The time stays with its question although memory and time together are long."""
    own = new(bot)
    tell(bot, own, range(1, 8))
    row = bot.store.turn(own, 7)
    assert row is not None
    kept = (row.messages or [])[0]["data"]["additional_kwargs"]
    assert set(kept["given"]) == {"memory", "entities"}
    assert kept["block"]
    assert bot.models().count(asked(prompts(bot)[-1])[-1]) > FROZEN_TOKENS
