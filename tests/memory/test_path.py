"""Memory follows the conversation's path by itself: a line counts as long as the path holds its turn."""

from __future__ import annotations

from tests.memory.conversation import Conversations
from tests.memory.models import small


def test_what_a_turn_said_before_it_was_edited_is_gone_and_comes_back_with_it(talks: Conversations) -> None:
    talks.tell(range(1, 12))
    talks.fold()
    whole = talks.view().whole
    left = talks.edit(8, "My item 8 costs $888.")
    view = talks.view()
    assert view.version == 1
    assert view.waiting == (6, 7, 8)
    assert "item 6" not in view.whole
    talks.tell(range(9, 12))
    talks.fold()
    assert "$888" in talks.view().whole
    assert "$800" not in talks.view().whole
    talks.switch(8, left)
    assert talks.view().whole == whole


def test_an_edit_before_everything_begins_anew(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold(small())
    talks.edit(1, "Hello.")
    assert (talks.view().version, talks.view().waiting) == (0, (1,))


def test_a_fact_goes_with_the_branch_that_said_it(talks: Conversations) -> None:
    talks.tell(range(1, 4))
    talks.remember("name", "Seojin", turn=3)
    left = talks.edit(3, "My name is a secret.")
    assert talks.profile("s2") == []
    talks.switch(3, left)
    assert talks.profile("s2") == ["name: Seojin"]


def test_a_copy_has_what_its_turns_told_and_nothing_later(talks: Conversations) -> None:
    talks.tell(range(1, 12))
    talks.fold()
    talks.remember("name", "Seojin", turn=2)
    made = talks.store.of("me").tree.copy(talks.session(), 8)
    talks.memory.writer.copy_session("acme", talks.session(), made)
    talks._names["copy"] = made
    view = talks.view("copy")
    assert (view.version, view.waiting) == (1, (6, 7, 8))
    assert view.whole == talks.memory.reader.read_versions("acme", talks.session())[0].text
    assert talks.profile("copy") == ["name: Seojin"]
    talks.tell(range(9, 12), name="copy")
    talks.fold(name="copy")
    assert "item 10" in talks.view("copy").whole


def test_a_copy_of_an_apart_conversation_is_apart_and_keeps_its_facts(talks: Conversations) -> None:
    talks.memory.writer.keep_apart("acme", talks.session())
    talks.say("My name is Seojin.")
    talks.remember("name", "Seojin")
    made = talks.store.of("me").tree.copy(talks.session(), 1)
    talks.memory.writer.copy_session("acme", talks.session(), made)
    talks._names["copy"] = made
    assert talks.memory.reader.is_apart("acme", made)
    assert talks.profile("copy") == ["name: Seojin"]
    assert talks.profile("s2") == []


def test_a_copy_shows_what_a_value_replaced_and_no_older_fact_as_one_of_now(talks: Conversations) -> None:
    talks.memory.writer.keep_apart("acme", talks.session())
    talks.tell(range(1, 7))
    talks.fold()
    talks.memory.writer.put_entity("acme", talks.session(), "item 5", "$555", turn=6)
    talks.remember("rent", "800,000", turn=2)
    talks.remember("rent", "850,000", turn=3)
    made = talks.store.of("me").tree.copy(talks.session(), 6)
    talks.memory.writer.copy_session("acme", talks.session(), made)
    talks._names["copy"] = made
    assert "item 5: $555 ($500 until turn 6)" in talks.view("copy").entity_text
    assert talks.profile("copy") == ["rent: 850,000"]
