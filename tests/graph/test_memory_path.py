"""Long-term memory follows the conversation: answered anew, edited, switched, forked, imported, deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.turn.agent import Agent
from memory.key import Scope
from memory.row.rows import change_source
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, fact, folding, noting, ready, remembered, settled, tell
from tests.graph.talk import done, prompts, say


@pytest.fixture
def bot(agent: OpenAgent) -> Agent:
    return ready(agent(noting, folding, memory=True))


def new(agent: Agent) -> str:
    return agent.store.create_session("en", 0.3).id


def sources(agent: Agent, session: str) -> list[tuple[int, str]]:
    """Every turn that the memory has folded or that waits for it, by number, with its question."""
    assert agent.memory is not None
    view = agent.memory.reader.read_view(agent.tenant, session, "en", user=agent.user)
    reader = agent.memory.reader
    versions = reader.read_versions(agent.tenant, session)
    folded = [turn for version in versions for turn in reader.read_sources(agent.tenant, session, version)]
    waiting = [turn for turn in view.short if turn.number in view.waiting]
    return sorted((turn.number, turn.question) for turn in (*folded, *waiting))


def in_line(agent: Agent, session: str) -> None:
    """The memory has each turn of the path once, and nothing else."""
    rows = agent.store.turns(session, limit=1000)
    assert sources(agent, session) == [(row.number, row.question) for row in rows]


def test_a_turn_that_waits_is_replaced_when_it_is_answered_again(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 4))
    done(list(bot.again(own, 3, fact(33))))
    in_line(bot, own)
    assert "$300" not in str(sources(bot, own))


def test_a_folded_turn_that_is_edited_leaves_the_memory_with_all_that_followed(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    assert "item 10: $1000" in remembered(bot, own)
    done(list(bot.again(own, 8, fact(80))))
    given = "".join(asked(prompts(bot)[-1]))
    assert "item 5: $500" in given
    assert "$1000" not in given
    assert "item 8:" not in given, "the answer is made without the turns that are not on the path"
    settled(bot)
    in_line(bot, own)
    tell(bot, own, range(9, 13))
    in_line(bot, own)
    assert "item 80: $8000" in remembered(bot, own)
    assert "item 8: $800" not in remembered(bot, own)


def test_what_was_taken_back_or_reworded_leaves_the_memory(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    assert "item 10: $1000" in remembered(bot, own)
    bot.take_back(own, 9)
    bot.replace_answer(own, 8, "Noted: item 88 costs $8888.")
    tell(bot, own, range(13, 19))
    in_line(bot, own)
    assert "item 5: $500" in remembered(bot, own)
    assert "item 10: $1000" not in remembered(bot, own)
    assert "$1000" not in str(sources(bot, own))


@pytest.mark.parametrize("number", [1, 7])
def test_what_a_removed_turn_told_leaves_the_memory_and_comes_back_with_it(bot: Agent, number: int) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    assert bot.memory is not None
    for at in (number, 10):
        bot.memory.writer.remember(bot.tenant, own, f"wish {at}", f"the ({at})", turn=at, user=bot.user)
    whole = remembered(bot, own)
    branch = bot.remove_turn(own, number)
    tell(bot, own, range(13, 19))
    in_line(bot, own)
    assert f"item {number}: " not in remembered(bot, own)
    assert f"the ({number})" not in remembered(bot, own)
    assert "item 9: $900" in remembered(bot, own), "what the later turns told is there"
    assert remembered(bot, own).count("the (10)") == 1
    bot.switch(own, number, branch)
    assert remembered(bot, own) == whole


def test_a_value_that_a_later_turn_changed_stays_changed_when_one_between_is_removed(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 6))
    assert bot.memory is not None
    remember = bot.memory.writer.remember
    for turn, value in ((1, "in Seoul"), (2, "in Busan"), (4, "in Jeju")):
        remember(bot.tenant, own, "home", value, turn=turn, user=bot.user)
    branch = bot.remove_turn(own, 2)
    profile = remembered(bot, own)
    assert "home: in Jeju" in profile
    assert "Busan" not in profile
    remember(bot.tenant, own, "home", "in Daegu", turn=4, user=bot.user)
    assert "home: in Daegu" in remembered(bot, own)
    assert remembered(bot, own).count("home: in") == 1
    bot.switch(own, 2, branch)
    assert "home: in Jeju" in remembered(bot, own)
    assert remembered(bot, own).count("home: in") == 1


def test_what_was_told_is_there_when_a_turn_is_removed_while_memory_is_off(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 6))
    assert bot.memory is not None
    for at in (2, 4):
        bot.memory.writer.remember(bot.tenant, own, f"wish {at}", f"the ({at})", turn=at, user=bot.user)
    replace(bot, memory=None).remove_turn(own, 2)
    assert "the (4)" in remembered(bot, own)
    assert "the (2)" not in remembered(bot, own)


def test_what_was_never_to_be_taken_in_stays_out_of_it_whichever_turn_is_removed_and_brought_back(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, [1, 2])
    with bot.store.everyone.transaction() as connection:
        change_source(connection, Scope(bot.tenant, own), skipped=2)
    tell(bot, own, [3, 4])
    whole = sources(bot, own)
    assert whole == [(3, fact(3)), (4, fact(4))]
    branch = bot.remove_turn(own, 2)
    assert sources(bot, own) == [(2, fact(3)), (3, fact(4))]
    bot.switch(own, 2, branch)
    assert sources(bot, own) == whole


def test_a_forgetting_stands_with_the_turn_that_it_followed_also_when_one_is_removed_and_brought_back(
    bot: Agent,
) -> None:
    own = new(bot)
    tell(bot, own, range(1, 6))
    assert bot.memory is not None
    bot.memory.eraser.forget_lines(bot.tenant, own, ["item 9: $900"], turn=5, user=bot.user)
    reader = bot.memory.reader

    def forgettings() -> list[int]:
        found = reader.read_turn_changes(bot.tenant, own, range(1, 8), user=bot.user)
        return [change.turn for change in found if change.kind == "forgotten"]

    branch = bot.remove_turn(own, 2)
    assert forgettings() == [4]
    tell(bot, own, [6])
    assert forgettings() == [4]
    bot.switch(own, 2, branch)
    assert forgettings() == [5]
    bot.remove_turn(own, 5)
    assert forgettings() == [4], "of what is left it followed this one"


def test_switching_to_another_version_takes_its_turns_in_anew(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 9))
    done(list(bot.again(own, 2, fact(20))))
    settled(bot)
    tell(bot, own, range(23, 29))
    assert "item 23: $2300" in remembered(bot, own)
    bot.switch(own, 2, 0)
    tell(bot, own, [9])
    in_line(bot, own)
    given = "".join(asked(prompts(bot)[-1]))
    assert "$2300" not in given
    assert "item 2: $200" in remembered(bot, own)


def test_what_was_forgotten_or_changed_by_hand_before_stays_so(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    assert bot.memory is not None
    bot.memory.eraser.forget_lines(bot.tenant, own, ["item 2: $200", "User said: My item 2 costs $200."], turn=12)
    done(list(bot.again(own, 9, fact(90))))
    settled(bot)
    assert "$200" not in remembered(bot, own)
    in_line(bot, own)


def test_other_conversations_do_not_keep_what_left_the_path(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    done(list(bot.again(own, 7, fact(70))))
    settled(bot)
    for number, found in ((5, True), (10, False)):
        done(say(bot, new(bot), f"How much does my item {number} cost?"))
        given = asked(prompts(bot)[-1])[-1].rpartition("How much")[0]
        assert (f"item {number} costs ${number}00" in given) is found


def test_a_fork_starts_with_the_memory_of_its_turns_and_a_life_of_its_own(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 13))
    made = bot.fork(own, 8)
    in_line(bot, made)
    assert "item 5: $500" in remembered(bot, made)
    assert "$1000" not in remembered(bot, made)
    tell(bot, made, range(90, 96))
    in_line(bot, made)
    in_line(bot, own)
    assert "$9000" not in remembered(bot, own)


def test_a_fork_does_not_remember_what_was_erased_before(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 4))
    assert bot.memory is not None
    bot.memory.eraser.erase_session(bot.tenant, own, goes_on=True, user=bot.user)
    tell(bot, own, [4])
    assert sources(bot, own) == [(4, fact(4))]
    assert sources(bot, bot.fork(own, 4)) == [(4, fact(4))]


def test_an_imported_conversation_is_taken_in_when_it_goes_on(agent: OpenAgent, bot: Agent) -> None:
    before = agent(noting, folding, memory=False)
    own = new(before)
    for number in range(1, 31):
        done(say(before, own, fact(number)))
    settled(before)
    (made,) = bot.import_sessions(before.export_session(own).encode()).sessions
    tell(bot, made, [31])
    in_line(bot, made)
    assert "item 25: $2500" in remembered(bot, made)


def test_a_deleted_conversation_keeps_its_memory_until_it_is_gone_for_good(bot: Agent) -> None:
    own = new(bot)
    tell(bot, own, range(1, 8))
    bot.put_away(own)
    assert "item 5: $500" in remembered(bot, own)
    bot.restore(own)
    tell(bot, own, [8])
    assert "item 5: $500" in "".join(asked(prompts(bot)[-1]))
    bot.delete_session(own)
    assert remembered(bot, own).strip() == ""
    other = new(bot)
    tell(bot, other, [9])
    assert "$500" not in str(prompts(bot)[-1]), "nor does the user's memory hold it"


def test_a_failed_turn_is_taken_in_once_the_conversation_goes_on(agent: OpenAgent) -> None:
    script = ["Noted.", RuntimeError("broken"), "Noted."]
    bot = ready(agent(script, folding, memory=True))
    own = new(bot)
    for number in (1, 2, 3):
        say(bot, own, fact(number))
    settled(bot)
    in_line(bot, own)
