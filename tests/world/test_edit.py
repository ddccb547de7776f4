"""A client changes what was said: the story keeps what came after it, and what only the client knows is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from store.world.record import Edit, NewNode, StoryNode
from tests.world.tale import Tale, fields
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


@pytest.mark.parametrize("number", [1, 3])
def test_a_story_is_what_the_turns_that_are_left_add_up_to(told: Tale, number: int) -> None:
    nodes = play(told)
    end = told.rows.leave_out(nodes[-1], number)
    told.extractor.submit(end)
    told.idle()
    left = told.rows.path(end)
    assert [one.turn for one in left] == [1, 2, 3, 4, 5]
    assert sent(left) == [pair for at, pair in enumerate(sent(nodes), 1) if at != number]
    assert [one.status for one in left] == ["done"] * 5
    assert items(told, end) == {f"key {each}a" for each in range(1, 7) if each != number}
    assert told.state(end).me.location == "Bridge"
    assert items(told, nodes[-1]) == {f"key {each}a" for each in range(1, 7)}, "the line of before is as it was"
    assert told.light_calls == [], "what the turns say of themselves is read by code"
    shown = told.store.session(end.session)
    assert shown.turn_count == 5
    told.store.tree.switch(end.session, number, nodes[number - 1].branch)
    assert told.store.session(end.session).turn_count == 6
    assert told.rows.leave_out(nodes[-1], number).id == end.id, "the same again is there already"
    assert told.store.session(end.session).path == shown.path


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
