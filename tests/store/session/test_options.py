"""How a conversation is answered is kept with it, goes where it goes, and ends with it; presets are everybody's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from errors import BadConversation, Empty, GieokError, OutOfRange, PresetTaken, PresetUnknown, SessionUnknown, TooLong
from store import Finished, Store
from store.database import schema
from store.export import portable
from store.session.options import DEFAULT, PROMPT_CHARS, AnswerOptions
from store.turn.wording import build_text_mark

PIRATE = AnswerOptions("You are a pirate.", 0.7, 800)


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store("sqlite://")
    yield made
    made.close()


def asked(store: Store, options: AnswerOptions = DEFAULT) -> str:
    """A conversation with one turn."""
    session = store.create_session("en", 0.3, options=options).id
    store.begin_turn(session, "Hello there")
    messages = [
        {"type": "human", "data": {"content": "Hello there"}},
        {"type": "ai", "data": {"content": "Ahoy"}},
    ]
    store.finish_turn(session, 1, Finished("done", "Ahoy", messages))
    return session


def test_a_conversation_begins_with_the_default_or_with_its_own(store: Store) -> None:
    assert store.options.of(store.create_session("en", 0.3).id) == DEFAULT
    assert store.options.of(asked(store, PIRATE)) == PIRATE


def test_they_are_changed_and_given_back(store: Store) -> None:
    session = asked(store)
    assert store.options.set(session, AnswerOptions("  Be kind. \x00 ", temperature=0.0)).system_prompt == "Be kind."
    assert store.options.of(session) == AnswerOptions("Be kind.", 0.0)
    store.options.set(session, DEFAULT)
    assert store.options.of(session) == DEFAULT
    assert store.options.prompt(session, build_text_mark("Be kind.")) == "Be kind.", "earlier answers were made from it"
    with pytest.raises(SessionUnknown):
        store.options.set("nowhere", PIRATE)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (AnswerOptions("x" * (PROMPT_CHARS + 1)), TooLong),
        (AnswerOptions(temperature=-0.1), OutOfRange),
        (AnswerOptions(temperature=2.1), OutOfRange),
        (AnswerOptions(temperature=float("nan")), OutOfRange),
        (AnswerOptions(answer_tokens=15), OutOfRange),
        (AnswerOptions(answer_tokens=10**7), OutOfRange),
    ],
)
def test_what_cannot_be_used_is_refused_and_what_was_in_use_stays(
    store: Store, options: AnswerOptions, error: type[GieokError]
) -> None:
    session = asked(store, PIRATE)
    with pytest.raises(error):
        store.options.set(session, options)
    with pytest.raises(error):
        store.presets.save("p", options)
    assert store.options.of(session) == PIRATE


def test_what_was_not_changed_stays_as_another_tab_left_it(store: Store) -> None:
    session = asked(store, PIRATE)
    seen = store.options.of(session)
    store.options.change(session, seen, replace(seen, system_prompt="You are a judge."))
    assert store.options.change(session, seen, replace(seen, temperature=0.1)) == AnswerOptions(
        "You are a judge.", 0.1, 800
    )
    assert store.options.change(session, seen, replace(seen, answer_tokens=None)) == AnswerOptions(
        "You are a judge.", 0.1
    )
    assert store.options.of(session) == AnswerOptions("You are a judge.", 0.1)
    with pytest.raises(OutOfRange):
        store.options.change(session, seen, replace(seen, temperature=9.0))
    with pytest.raises(SessionUnknown):
        store.options.change("none", seen, seen)


def test_changes_of_many_tabs_at_once_are_all_kept(tmp_path: Path) -> None:
    one = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    session, other = asked(one), Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    wishes = [
        (one, AnswerOptions(temperature=0.5)),
        (other, AnswerOptions(answer_tokens=99)),
        (one, AnswerOptions("Be kind.")),
    ]
    with ThreadPoolExecutor(3) as threads:
        for change in [threads.submit(at.options.change, session, DEFAULT, wish) for at, wish in wishes]:
            change.result()
    assert one.options.of(session) == other.options.of(session) == AnswerOptions("Be kind.", 0.5, 99)
    one.close()
    other.close()


def test_a_copy_of_a_conversation_has_them_and_its_own_from_then_on(store: Store) -> None:
    session = asked(store, PIRATE)
    copy = store.tree.copy(session, 1)
    store.options.set(session, DEFAULT)
    assert store.options.of(copy) == PIRATE


def test_they_are_exported_and_imported_with_every_prompt_that_was_sent(store: Store) -> None:
    session = asked(store, AnswerOptions("First role."))
    store.options.set(session, PIRATE)
    exported = portable.render_session_json(store, session)
    made = portable.import_conversations(store, exported.encode(), 10**6, len).sessions[0]
    assert store.options.of(made) == PIRATE
    assert store.options.prompt(made, build_text_mark("First role.")) == "First role."
    again = json.loads(portable.render_session_json(store, made))
    assert again["session"].pop("id") == made
    before = json.loads(exported)
    before["session"].pop("id")
    # tokens are counted anew, by the count above, for no model of this installation has answered
    assert [turn.pop("tokens") for turn in again["turns"]] == [len(turn["messages"]) for turn in before["turns"]]
    for turn in before["turns"]:
        turn.pop("tokens")
    assert again == before
    assert "options" not in json.loads(portable.render_session_json(store, asked(store)))["session"]


def test_a_file_with_options_that_cannot_be_used_is_refused(store: Store) -> None:
    whole = json.loads(portable.render_session_json(store, asked(store, PIRATE)))
    whole["session"]["options"]["temperature"] = 9
    with pytest.raises(BadConversation, match="temperature"):
        portable.import_conversations(store, json.dumps(whole).encode(), 10**6, len)


def test_they_are_gone_with_the_conversation(store: Store) -> None:
    session = asked(store, PIRATE)
    store.delete_session(session)
    with store.transaction() as connection:
        for table in (schema.session_options, schema.session_prompt):
            assert not connection.execute(select(table)).all()


def test_presets_are_saved_replaced_renamed_and_deleted(store: Store) -> None:
    assert store.presets.save("  Pirate \n", PIRATE) == "Pirate"
    store.presets.save("teacher", AnswerOptions("Teach."))
    store.presets.save("Pirate", AnswerOptions("Arr."))
    assert store.presets.all() == {"Pirate": AnswerOptions("Arr."), "teacher": AnswerOptions("Teach.")}
    with pytest.raises(PresetTaken):
        store.presets.rename("Pirate", "teacher")
    store.presets.rename("Pirate", "해적")
    with pytest.raises(PresetUnknown):
        store.presets.rename("Pirate", "x")
    for unnamed in ("", " \n\x00"):
        with pytest.raises(Empty):
            store.presets.save(unnamed, PIRATE)
    store.presets.delete("teacher")
    assert list(store.presets.all()) == ["해적"]
