"""Everything that is known of a user in one list, what a turn changed, and the ways back."""

from __future__ import annotations

import pytest

from errors import Empty
from memory.view.known import KnownMemory, TurnChange
from tests.memory.conversation import Conversations
from tests.memory.models import reply, saying


def known(talks: Conversations) -> KnownMemory:
    return talks.memory.reader.read_known(talks.tenant, talks.user)


def labels(talks: Conversations) -> list[str]:
    return [line.row.label for line in known(talks).profile]


def changes(talks: Conversations, name: str = "s1", last: int = 20) -> list[TurnChange]:
    session = talks.session(name)
    return talks.memory.reader.read_turn_changes(talks.tenant, session, range(last), user=talks.user)


def take_back(talks: Conversations, change: TurnChange, name: str = "s1") -> bool:
    return talks.memory.writer.take_back(talks.tenant, talks.session(name), change.line, user=talks.user)


def restore(talks: Conversations, change: TurnChange, name: str = "s1") -> bool:
    return talks.memory.writer.restore_forgotten(talks.tenant, talks.session(name), change.at, user=talks.user)


def test_all_conversations_are_in_the_list_also_those_kept_apart(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.remember("city", "Leeds", turn=2)
    talks.say("Hello there.", name="s2")
    talks.memory.writer.keep_apart(talks.tenant, talks.session("s2"), user=talks.user)
    talks.remember("secret", "blue", name="s2")
    talks.say("Something of mine.", name="s3")
    talks.pin("I am allergic to nuts.", name="s3")
    found = known(talks)
    assert sorted(labels(talks)) == ["I am allergic to nuts.", "city: Leeds", "secret: blue"]
    assert "User said: My item 2 costs $200." in [row.text for row in found.lines]
    assert "item 2: $200" in [row.label for row in found.lines]
    assert {row.session for row in found.lines} == {talks.session("s1")}
    assert known(talks.other("ann")) == KnownMemory((), (), ())


def test_a_turns_change_is_told_and_taken_back_with_the_value_before(talks: Conversations) -> None:
    talks.tell(range(1, 4))
    talks.remember("budget", "70M", turn=1)
    talks.remember("budget", "75M", turn=3)
    [change] = changes(talks)
    assert (change.turn, change.kind, change.texts) == (3, "remembered", ("budget: 75M",))
    assert take_back(talks, change)
    assert talks.profile() == ["budget: 70M"]
    assert [each.texts for each in changes(talks)] == [("budget: 70M",)]
    assert not take_back(talks, change), "it is gone"


def test_a_fact_that_was_taken_back_does_not_come_again_with_the_fold_of_its_turn(talks: Conversations) -> None:
    talks.say("My city is Leeds.")
    talks.tell(range(2, 7))
    talks.remember("city", "Leeds", turn=1)
    [change] = [each for each in changes(talks) if each.texts == ("city: Leeds",)]
    take_back(talks, change)
    told = [
        "User said: My city is Leeds.",
        *(f"User said: My item {number} costs ${number}00." for number in range(2, 6)),
    ]
    values = {"city": "Leeds", "owner of item 2": "$200"}
    talks.fold(saying(*[reply(*told, entities=values, lasting=list(values))] * 4))
    assert talks.profile() == ["owner of item 2: $200"], "the fold wrote what was not taken back"


def test_a_forgetting_is_told_and_brought_back_also_after_a_later_fold(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.remember("city", "Leeds", turn=2)
    talks.forget("User said: My item 2 costs $200.", "city: Leeds")
    [change] = [each for each in changes(talks) if each.kind == "forgotten"]
    assert change.turn == 6
    assert set(change.texts) == {"User said: My item 2 costs $200.", "city: Leeds"}
    talks.tell(range(7, 13))
    talks.fold()
    assert "$200" not in talks.view().whole
    assert restore(talks, change)
    assert "User said: My item 2 costs $200." in talks.view().whole
    assert "$700" in talks.view().whole, "what was told since stays"
    assert talks.profile() == ["city: Leeds"]
    assert [each for each in changes(talks) if each.kind == "forgotten"] == []
    assert not restore(talks, change)


def test_a_forgetting_comes_back_in_other_conversations_too(talks: Conversations) -> None:
    talks.tell(range(1, 7), name="s1")
    talks.fold(name="s1")
    talks.say("What else?", name="s2")
    talks.forget("User said: My item 3 costs $300.", name="s2")
    assert "$300" not in talks.view("s1").whole
    [change] = changes(talks, "s2")
    restore(talks, change, "s2")
    assert "$300" in talks.view("s1").whole


def test_a_value_that_comes_back_after_a_newer_one_does_not_count_beside_it(talks: Conversations) -> None:
    talks.tell(range(1, 4))
    talks.remember("budget", "70M", turn=1)
    talks.forget("budget: 70M")
    [change] = changes(talks)
    talks.remember("budget", "80M", turn=3)
    assert restore(talks, change)
    assert talks.profile() == ["budget: 80M"]
    [line] = known(talks).profile
    assert line.replaced is not None
    assert line.replaced.text == "70M"


def test_a_late_undo_or_change_of_a_replaced_value_leaves_the_newer_one_alone(talks: Conversations) -> None:
    talks.tell(range(1, 4))
    talks.remember("budget", "60M", turn=1)
    talks.remember("budget", "70M", turn=2)
    [change] = changes(talks)
    talks.remember("budget", "80M", turn=3)
    talks.memory.writer.reword(talks.tenant, talks.session(), change.line, "75M", user=talks.user)
    assert talks.profile() == ["budget: 80M"]
    assert take_back(talks, change)
    assert talks.profile() == ["budget: 80M"]


def test_a_conversation_in_the_trash_is_not_in_the_list_until_it_is_back(talks: Conversations) -> None:
    for name in ("s1", "s2"):
        talks.tell(range(1, 7), name=name)
        talks.fold(name=name)
    both = {talks.session("s1"), talks.session("s2")}
    assert {row.session for row in known(talks).lines} == both
    talks.delete("s2")
    assert {row.session for row in known(talks).lines} == {talks.session("s1")}
    talks.delete("s2", None)
    assert {row.session for row in known(talks).lines} == both


def test_one_line_is_reworded_and_keeps_its_place(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.remember("city", "Leeds", turn=2)
    talks.pin("I am allergic to nuts.")
    rows = {line.row.label: line.row for line in known(talks).profile} | {row.label: row for row in known(talks).lines}
    for label, text in (
        ("city: Leeds", "York"),
        ("I am allergic to nuts.", "I am allergic to nuts and milk."),
        ("User said: My item 2 costs $200.", "Item 2 costs $250."),
        ("item 2: $200", "$250"),
    ):
        row = rows[label]
        talks.memory.writer.reword(talks.tenant, row.session, row.id, text, user=talks.user)
    assert set(labels(talks)) == {"city: York", "I am allergic to nuts and milk."}
    [city] = [line for line in known(talks).profile if line.row.key]
    assert (city.row.turn, city.row.origin) == (2, "user")
    assert city.replaced is not None
    assert city.replaced.text == "Leeds"
    assert "Item 2 costs $250." in talks.view().whole
    assert "$200" not in talks.view().whole
    assert "item 2: $250" in [entity.line for entity in talks.view().entities]
    talks.memory.writer.undo(talks.tenant, talks.session(), user=talks.user)
    assert "item 2: $200" in [entity.line for entity in talks.view().entities]
    with pytest.raises(Empty):
        talks.memory.writer.reword(talks.tenant, talks.session(), city.row.id, "  ", user=talks.user)
