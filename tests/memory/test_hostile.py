"""Characters that UTF-8 cannot hold, wherever somebody writes into a memory by hand, and in names."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from errors import BadImport, CallerError
from memory import Memory
from store.export.portable import dumped
from text.clean import clean

ANY = st.text(st.characters(exclude_categories=()), max_size=20)
brief = effort(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@brief
@given(text=ANY)
@example("\ud800")
@example("I am \udfffKim.")
def test_what_is_written_by_hand_is_kept_clean_or_refused(memory: Memory, text: str) -> None:
    writes = (
        lambda: memory.edit("acme", "s1", text),
        lambda: memory.pin("acme", "s1", text),
        lambda: memory.remember("acme", "s1", text, text, turn=1),
        lambda: memory.note_turn("acme", "s1", 1, text, text, tools=text),
    )
    for write in writes:
        with suppress(CallerError):
            write()
    seen = memory.context("acme", "s1")
    assert not seen.away
    for said in (seen.whole, *seen.pins, seen.entity_text):
        assert said == clean(said)
    memory.recall("acme", "s1", text)
    for pin in seen.pins:
        memory.unpin("acme", "s1", pin)
    for each in seen.entities:
        memory.remove_entity("acme", "s1", each.key)
    seen = memory.context("acme", "s1")
    assert (seen.pins, seen.entities) == ((), ())
    memory.drop("acme", "s1", [text], turn=1)


@brief
@given(name=ANY.filter(bool))
@example("\ud800")
def test_a_name_may_have_any_character(memory: Memory, name: str) -> None:
    assert memory.remember(name, name, "color", "blue", turn=1, user=name)
    assert memory.note_turn(name, name, 1, "Hello.", "Hi.", user=name)
    assert memory.context(name, name, user=name).entity_text == "color: blue"
    assert memory.settle(10)
    exported = memory.export(name, name)
    assert json.loads(dumped(exported).encode())["memories"] == exported["memories"]
    assert memory.erase_user(name, name) >= 1
    assert memory.context(name, name, user=name).entities == ()


@pytest.mark.parametrize("key", ["\ud800", "a\udfff"])
def test_the_error_of_an_import_can_be_shown(memory: Memory, key: str) -> None:
    memory.remember("acme", "s1", "color", "blue", turn=1)
    assert memory.settle(10)
    exported = memory.export("acme")
    exported["memories"][0]["state"]["entities"][0][key] = "x"
    with pytest.raises(BadImport) as caught:
        memory.import_("other", exported)
    assert str(caught.value).encode()
    assert memory.export("other")["memories"] == []
