"""A client changes what was said: the story keeps what came after it, and what only the client knows is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from store import Finished
from store.world.record import Changes, Character, Edit, NewNode, PlayerItem, StoryNode
from tests.world.tale import Tale, block, fields
from world.extraction.extract import MOST_TOLD

PLACES = ("Mill", "Ford", "Tower", "Chapel", "Gate", "Bridge")


def read(messages: list[BaseMessage]) -> str:
    """The light call: where the last answer leads, and what it gives."""
    found = re.findall(r"You come to the (\w+) and take the (\w+ \w+)", str(messages[-1].text))
    return fields(location=found[-1][0], location_moved=True, items_gained=[found[-1][1]]) if found else fields()


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Tale]:
    opened = Tale(tmp_path, read)
    yield opened
    opened.close()


def answer(place: str, number: int) -> str:
    return f"You come to the {place} and take the key {number}a, because nobody else wants to have it in this weather."


def play(told: Tale) -> list[StoryNode]:
    nodes = list[StoryNode]()
    for number, place in enumerate(PLACES, 1):
        thing = f"key {number}a"
        nodes.append(
            told.say(nodes[-1] if nodes else None, answer(place, number), location=place, items_gained=[thing])
        )
    return nodes


def items(told: Tale, node: StoryNode) -> set[str]:
    return set(told.state(node).items)


def sent(nodes: list[StoryNode]) -> list[tuple[str, str]]:
    return [(node.question, node.answer) for node in nodes]


def test_an_edited_answer_is_read_and_what_came_after_it_stays(told: Tale) -> None:
    nodes = play(told)
    history = sent(nodes)
    history[2] = (history[2][0], answer("Tower", 3).replace("key 3a", "map 3b"))
    known = told.rows.find_known_history(None, history)
    assert (known.node.id, known.count) == (nodes[-1].id, 6)
    assert known.edits == (Edit(3, *history[2]),)
    end = told.rows.rebase(known.node, known.edits)
    told.extractor.submit(end)
    told.idle()
    assert [one.status for one in told.rows.path(end)] == ["done"] * 6
    assert items(told, end) == {"key 1a", "key 2a", "map 3b", "key 4a", "key 5a", "key 6a"}
    assert told.state(end).me.location == "Bridge"
    assert items(told, nodes[-1]) == {f"key {number}a" for number in range(1, 7)}, "the line of before is as it was"
    assert len(told.light_calls) == 1, "what was read in the other turns is not asked for again"
    again = told.rows.find_known_history(None, history)
    assert (again.node.id, again.edits) == (end.id, ())
    assert told.rows.rebase(known.node, known.edits).id == end.id


def remove(told: Tale, node: StoryNode, number: int) -> StoryNode:
    """Takes a turn out of the story; returns the last one of what is left, worked off."""
    told.store.tree.remove(node.session, number)
    end = told.rows.last_before(node.session, told.store.session(node.session).turn_count + 1)
    told.extractor.submit(end)
    told.idle()
    return told.now(end)


@pytest.mark.parametrize("number", [1, 3])
def test_a_story_is_what_the_turns_that_are_left_add_up_to(told: Tale, number: int) -> None:
    nodes = play(told)
    end = remove(told, nodes[-1], number)
    left = told.rows.path(end)
    assert [one.turn for one in left] == [1, 2, 3, 4, 5]
    assert sent(left) == [pair for at, pair in enumerate(sent(nodes), 1) if at != number]
    assert [one.status for one in left] == ["done"] * 5
    assert items(told, end) == {f"key {each}a" for each in range(1, 7) if each != number}
    assert told.state(end).me.location == "Bridge"
    assert items(told, nodes[-1]) == {f"key {each}a" for each in range(1, 7)}, "the line of before is as it was"
    assert told.light_calls == [], "what the turns say of themselves is read by code"
    assert told.store.session(end.session).turn_count == 5
    told.store.tree.switch(end.session, number, nodes[number - 1].branch)
    assert told.store.session(end.session).turn_count == 6


def test_a_turn_that_is_brought_back_and_removed_again_brings_nothing_of_the_other_line(told: Tale) -> None:
    nodes = play(told)
    first = remove(told, nodes[-1], 2)
    told.say(first, answer("Quay", 7), location="Quay", items_gained=["key 7a"])
    told.store.tree.switch(first.session, 2, nodes[1].branch)
    again = remove(told, nodes[-1], 2)
    assert (told.store.session(first.session).turn_count, again.turn) == (5, 5)
    assert items(told, again) == {f"key {each}a" for each in (1, 3, 4, 5, 6)}


@pytest.mark.parametrize("number", [2, 3])
def test_of_two_turns_that_are_the_same_one_is_removed(told: Tale, number: int) -> None:
    first = told.say(None, answer("Mill", 1), location="Mill", items_gained=["key 1a"])
    node = first
    for _ in range(2):
        node = told.say(node, answer("Ford", 2), "Continue.", location="Ford", items_gained=["coin"])
    end = remove(told, node, number)
    assert sent(told.rows.path(end)) == sent([first, node])
    assert told.store.session(node.session).turn_count == 2
    assert items(told, end) == {"key 1a", "coin"}


def fail(told: Tale, node: StoryNode, question: str) -> None:
    """A turn that fails before its first word."""
    last = told.store.find_place(node.session, node.turn)
    place = told.store.begin_turn(node.session, question, 0.0, last)
    told.store.finish_turn(node.session, place.number, Finished("failed", ""), 1.0, place)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_turns_that_were_never_answered_are_removed_and_stay_like_others(told: Tale, number: int) -> None:
    first = told.say(None, answer("Mill", 1), location="Mill", items_gained=["key 1a"])
    second = told.say(first, answer("Ford", 2), location="Ford", items_gained=["key 2a"])
    fail(told, second, "And then?")
    text = answer("Tower", 4) + block(location="Tower", items_gained=["key 4a"])
    place = told.store.begin_turn(second.session, "What now, 4?", 2.0, told.store.find_place(second.session, 3))
    new = NewNode("What now, 4?", (answer("Tower", 4),), text, "raw")
    fourth = told.rows.add(told.world.id, second, new, place)
    told.extractor.work(fourth)
    fail(told, fourth, "The end?")
    before = [turn.question for turn in told.store.turns(first.session, limit=10)]
    end = remove(told, fourth, number)
    assert [turn.question for turn in told.store.turns(first.session, limit=10)] == [
        question for at, question in enumerate(before, 1) if at != number
    ]
    assert told.store.session(first.session).turn_count == 4
    assert [turn.status for turn in told.store.turns(first.session, limit=10)].count("failed") == 2 - (number in (3, 5))
    assert items(told, end) == {f"key {each}a" for each in (1, 2, 4) if each != number}


def test_what_was_corrected_and_what_was_read_of_told_turns_stays_when_a_turn_is_removed(told: Tale) -> None:
    nodes = play(told)
    new = NewNode("And before?", (answer("Quay", 7),), answer("Quay", 7), "given")
    given = told.rows.add(told.world.id, nodes[-1], new)
    told.extractor.read_told([given])
    told.idle()
    eighth = told.say(told.now(given), answer("Hall", 8), location="Hall", items_gained=["key 8a"])
    told.rows.amend(nodes[4], Changes(characters=(Character("Krug", "Gate", 7),)))
    told.rows.correct_turn(eighth, Changes(items=(PlayerItem("lamp", count=3), PlayerItem("key 8a", count=9))))
    told.extractor.take_in_edit(eighth)
    end = remove(told, eighth, 3)
    assert told.state(end).characters["Krug"].hp == 7
    assert (told.state(end).items["lamp"].count, told.state(end).items["key 8a"].count) == (3, 9)
    assert items(told, end) == {"lamp", *(f"key {each}a" for each in (1, 2, 4, 5, 6, 7, 8))}
    assert "Turn 6 |" in told.state(end).recent[-2].line
    twice = remove(told, end, 1)
    assert items(told, twice) == {"lamp", *(f"key {each}a" for each in (2, 4, 5, 6, 7, 8))}
    assert told.state(twice).items["key 8a"].count == 9


def test_what_was_corrected_after_an_answer_stays_when_its_client_edits_that(told: Tale) -> None:
    nodes = play(told)
    told.rows.correct_turn(nodes[-1], Changes(items=(PlayerItem("lamp", count=3),)))
    history = sent(nodes)
    end = told.rows.rebase(told.now(nodes[-1]), (Edit(3, history[2][0], answer("Tower", 3).replace("3a", "3b")),))
    told.extractor.submit(end)
    told.idle()
    assert items(told, end) == {"lamp", "key 1a", "key 2a", "key 3b", "key 4a", "key 5a", "key 6a"}


def test_an_edited_question_changes_nothing_of_the_state(told: Tale) -> None:
    nodes = play(told)
    history = sent(nodes)
    history[2] = ("I would rather sleep.", history[2][1])
    known = told.rows.find_known_history(None, history)
    assert (known.node.id, known.edits) == (nodes[-1].id, ())


def test_turns_in_the_words_of_a_script_are_the_same_and_learned(told: Tale) -> None:
    nodes = play(told)
    history = [(question, text.replace("wants", "wanted")) for question, text in sent(nodes)]
    known = told.rows.find_known_history(None, history)
    assert (known.node.id, known.edits, len(known.wordings)) == (nodes[-1].id, (), 6)
    assert known.node is not None
    told.rows.learn(known.node, known.wordings)
    assert told.rows.find_known_history(None, history).wordings == ()


def test_a_contradiction_that_an_edit_makes_is_found(told: Tale) -> None:
    first = told.say(None, "A goblin stands at the gate and waits for you there.", npc_met=["Krug"])
    second = told.say(first, "Krug laughs and tells you of the road to the north.", npc_met=["Krug"])
    assert told.rows.findings(second) == []
    told.models.utility.answers = lambda _: fields(npc_died=["Krug"])  # type: ignore[attr-defined]
    end = told.rows.rebase(second, (Edit(1, first.question, "You kill Krug, the goblin at the gate, with one blow."),))
    told.extractor.submit(end)
    told.idle()
    assert [(one.kind, one.subject) for one in told.rows.findings(end)] == [("dead_talks", "Krug")]


def test_turns_from_before_are_read_behind_the_answer_the_newest_first_and_not_all(told: Tale) -> None:
    nodes = list[StoryNode]()
    for number in range(1, MOST_TOLD + 6):
        text = answer(PLACES[number % 6], number)
        new = NewNode(f"({number}) What now?", (text,), text, "given")
        nodes.append(told.rows.add(told.world.id, nodes[-1] if nodes else None, new))
    last = told.say(nodes[-1], answer("Quay", 99), location="Quay", items_gained=["key 99a"])
    assert items(told, last) == {"key 99a"}
    told.extractor.read_told(nodes)
    told.idle()
    assert items(told, last) == {"key 99a", *(f"key {number}a" for number in range(6, MOST_TOLD + 6))}
    assert told.state(last).me.location == "Quay"
    asked = [int(re.findall(r"take the key (\d+)a", text)[-1]) for text in told.light_calls]
    assert asked == list(range(MOST_TOLD + 5, 5, -1))
    told.extractor.read_told([told.now(node) for node in nodes[-MOST_TOLD:]])
    told.idle()
    assert len(told.light_calls) == MOST_TOLD, "each once"
