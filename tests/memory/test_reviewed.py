"""Faults that a review of the rows found: each stays mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from errors import BadImport
from memory.key import Scope
from store.database import memory_table as table
from tests.memory.conftest import OpenMemory
from tests.memory.conversation import Conversations
from tests.memory.models import good
from tests.memory.test_migration import DATA

SECRET = "My secret number is 4711."


def remove(talks: Conversations, name: str, **how: Any) -> None:
    """Delete a conversation for good, as the agent does."""
    talks.delete(name, **how)
    talks.store.of("me").delete_session(talks.session(name))
    talks.memory.eraser.erase_session("acme", talks.session(name))


def hides(talks: Conversations, name: str, statement: str = SECRET) -> bool:
    return talks.memory.reader.read_past("acme", talks.session(name)).hides(0.0, [statement])


def test_an_old_memory_of_a_conversation_with_a_branch_is_taken_over(opened: OpenMemory) -> None:
    talks = opened()
    talks.tell(range(1, 13), name="strong")
    talks.edit(3, "My item 3 costs $300.", name="strong")
    talks.tell(range(4, 13), name="strong")
    talks.memory.close()
    file = Path(talks.store.engine.url.database or "")
    talks.store.close()
    with sqlite3.connect(file) as connection:
        for each in table.TABLES:
            connection.execute(f"DROP TABLE {each.name}")
        connection.executescript((DATA / "before_rows.sql").read_text("utf-8"))
    connection.close()
    again = opened()
    again._names["strong"] = "strong"
    assert again.view("strong").version == 3
    assert again.view("strong").waiting == (11, 12)


def test_an_id_is_never_given_twice(talks: Conversations) -> None:
    talks.remember("rent", "$800", name="a")
    talks.remember("rent", "$850", name="b")
    remove(talks, "b")
    talks.remember("pet", "cat", name="c")
    assert set(talks.profile("c")) == {"rent: $800", "pet: cat"}


@pytest.mark.parametrize("how", ["deleted", "erased"])
def test_what_was_forgotten_stays_so_when_its_conversation_goes(talks: Conversations, how: str) -> None:
    for name in ("a", "b"):
        talks.say(SECRET, name=name)
    talks.forget(SECRET, name="a")
    if how == "deleted":
        remove(talks, "a")
    else:
        talks.memory.eraser.erase_session("acme", talks.session("a"), goes_on=True)
    assert hides(talks, "c")
    talks.memory.eraser.erase_user("acme")
    assert not hides(talks, "c"), "whoever erases everything leaves no trace of it"


def test_what_is_forgotten_leaves_the_memories_of_other_conversations(talks: Conversations) -> None:
    talks.say(SECRET, name="a")
    talks.tell(range(2, 7), name="a")
    talks.fold(name="a")
    talks.view("a")
    line = f"User said: {SECRET}"
    assert line in talks.view("a").whole
    talks.forget(line, SECRET, name="b")
    assert "4711" not in talks.view("a").whole
    assert not [
        found for found in talks.memory.reader.find_lines("acme", talks.session("a"), SECRET) if "4711" in found
    ]


def test_what_is_forgotten_elsewhere_during_a_fold_does_not_come_in(talks: Conversations) -> None:
    talks.say(SECRET, name="a")
    talks.tell(range(2, 7), name="a")
    talks.fold(name="a")
    talks.tell(range(7, 12), name="a")

    def step(name: str) -> None:
        if name == "made":
            talks.forget(f"User said: {SECRET}", SECRET, name="b")

    talks.fold(good(), name="a", step=step)
    assert "4711" not in talks.view("a").whole


@pytest.mark.parametrize("nothing", ["", "네.", "?"])
def test_forgetting_next_to_nothing_hides_nothing_else(talks: Conversations, nothing: str) -> None:
    talks.say("I love the old town here.", "네.")
    talks.forget(nothing)
    assert not hides(talks, "s1", "I love the old town here.")


def test_every_query_of_a_turn_finds_a_user_s_lines_by_an_index(talks: Conversations) -> None:
    talks.remember("name", "Seojin")
    where = "tenant = 'acme' AND user = 'me' AND kind = 'profile'"
    with talks.store.transaction() as connection:
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN SELECT * FROM memory_line WHERE {where}")).all()
    assert "memory_line_of_user" in str(plan)


def test_a_copy_keeps_what_was_forgotten_and_its_pins(talks: Conversations) -> None:
    talks.memory.writer.set_carries("acme", False)
    talks.say(SECRET, "I am vegetarian.")
    talks.pin("I am vegetarian.")
    talks.forget(SECRET)
    made = talks.store.of("me").tree.copy(talks.session(), 2)
    talks.memory.writer.copy_session("acme", talks.session(), made)
    talks._names["copy"] = made
    assert hides(talks, "copy")
    assert talks.profile("copy") == ["I am vegetarian."]


@pytest.mark.parametrize("how", ["remove", "forget"])
def test_a_fact_that_goes_takes_its_older_values_along(talks: Conversations, how: str) -> None:
    for value in ("800", "850", "900"):
        talks.remember("rent", value)
    if how == "remove":
        talks.memory.writer.remove_entity("acme", talks.session(), "rent")
    else:
        talks.forget("rent: 900")
    assert talks.profile() == []


def spoil(kind: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda data: data["memories"][0][kind][0].update(values)


@pytest.mark.parametrize(
    "damage",
    [
        spoil("versions", language="fr"),
        spoil("versions", origin="bogus"),
        spoil("versions", record={"kept": 5}),
        spoil("versions", created=1e300),
        spoil("lines", at=1e300),
    ],
)
def test_an_export_that_could_not_be_read_later_is_refused(
    talks: Conversations, damage: Callable[[dict[str, Any]], None]
) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    data = talks.memory.export_user("acme")
    damage(data)
    talks.memory.eraser.erase_user("acme")
    with pytest.raises(BadImport):
        talks.memory.import_user("acme", data)


def test_a_pin_by_hand_outlives_the_newest_answer_and_a_wish_goes_with_its_own_turn(talks: Conversations) -> None:
    talks.tell(range(1, 4))
    talks.pin("I am vegetarian.")
    talks.memory.writer.pin("acme", talks.session(), "My locker is B-17.", turn=3)
    talks.edit(3, "Something else.")
    assert talks.profile() == ["I am vegetarian."]


def test_what_left_the_path_does_not_come_back_with_the_end_of_its_conversation(talks: Conversations) -> None:
    talks.tell([1, 2])
    talks.remember("cat", "Tom", turn=2)
    talks.edit(2, "Never mind.")
    remove(talks, "s1", forget=False)
    assert talks.profile("s2") == []


def test_an_erasure_holds_on_every_branch(talks: Conversations) -> None:
    talks.say("Hello.", "How are you?", SECRET)
    left = talks.edit(2, "Something else.")
    talks.memory.eraser.erase_session("acme", talks.session(), goes_on=True)
    talks.switch(2, left)
    assert talks.view().waiting == ()
    talks.say("A new start.")
    assert talks.view().waiting == (4,)


def test_forgetting_twice_and_undoing_once_keeps_it_forgotten(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    line = "User said: My item 2 costs $200."
    talks.forget(line)
    talks.memory.writer.edit("acme", talks.session(), line)
    talks.forget(line)
    talks.memory.writer.undo("acme", talks.session())
    assert hides(talks, "s2", "My item 2 costs $200.")


def test_the_same_pin_of_two_old_memories_comes_in_once(opened: OpenMemory) -> None:
    import json

    talks = opened()
    talks.memory.import_user("acme", json.loads((DATA / "before_rows.json").read_text("utf-8")))
    assert talks.profile("new").count("I am allergic to nuts.") == 1


def test_the_next_turn_finds_the_copy_filled(talks: Conversations, monkeypatch: pytest.MonkeyPatch) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.memory.reader.fill_copy("acme", talks.session())
    monkeypatch.setattr("memory.reader.read_memory", pytest.fail)
    assert talks.view().version == 1
    assert talks.memory.reader.read_ttl(*(Scope("acme", talks.session()).tenant, talks.session()))
