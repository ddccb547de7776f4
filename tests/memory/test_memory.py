"""A session's memory: folded after its sixth turn, read by itself alone, changed by hand, undone."""

from __future__ import annotations

import pytest

from errors import NothingToUndo, PinsFull, TooLong
from memory import Rooms
from memory.state import MOST_ENTITIES, MOST_PINS, MOST_WAITING
from memory.view.recollect import compare_memory_texts
from model.profile import SMALL
from model.scripted import build_scripted_models as scripted
from tests.memory.conversation import Conversations
from tests.memory.models import good, reply, saying, small


def test_a_session_is_remembered_after_its_sixth_turn(talks: Conversations) -> None:
    talks.tell(range(1, 6))
    assert talks.fold().status == "nothing"
    assert talks.view().waiting == (1, 2, 3, 4, 5)
    talks.tell([6])
    report = talks.fold()
    assert (report.status, report.versions) == ("folded", (1,))
    view = talks.view()
    assert (view.version, view.waiting) == (1, (6,))
    assert [turn.number for turn in view.short] == [2, 3, 4, 5, 6]
    assert all(f"item {number} costs ${number}00" in view.whole for number in range(1, 6))
    assert view.entity_text.startswith("item 1: $100, item 2: $200")
    assert [entity.turn for entity in view.entities] == [1, 2, 3, 4, 5]


def test_every_line_names_its_turn_and_who_said_it(talks: Conversations) -> None:
    talks.say("My budget is $900.", answer="The train leaves at 7:45.")
    talks.tell(range(2, 7))
    words = ("The budget is $900.", "The train leaves at 7:45.")
    prices = "The prices: $200 $300 $400 $500."
    values = {"departure": "7:45", "budget": "$900"}
    talks.fold(saying(*[reply(*words, prices, entities=values)] * 2))
    rows = talks.rows()
    assert [(row.text, min(row.turn, 2), row.origin, row.kind) for row in rows] == [
        (words[0], 1, "user", "sentence"),
        (words[1], 1, "model", "sentence"),
        (prices, 2, "user", "sentence"),
        ("7:45", 1, "model", "entity"),
        ("$900", 1, "user", "entity"),
    ]


def test_a_line_that_stays_is_the_same_row(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    before = talks.rows()
    talks.tell(range(7, 12))
    talks.fold()
    after = talks.rows()
    assert {row.id for row in before} <= {row.id for row in after}
    assert talks.view().version == 2


def test_a_small_model_s_memory_is_the_user_s_words_with_their_turns(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold(small())
    assert talks.view().whole.splitlines()[0] == "turns 1-2: My item 1 costs $100 · My item 2 costs $200"
    rows = talks.rows()
    assert [(row.kind, row.turn, row.origin) for row in rows] == [
        ("statement", number, "user") for number in range(1, 6)
    ]


def test_another_session_another_user_and_another_tenant_see_nothing_of_it(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    assert talks.view("s2").whole == ""
    reader = talks.memory.reader
    assert reader.read_view("other", talks.session(), "en").whole == ""
    assert reader.find_lines("other", talks.session(), "item 1") == []
    assert talks.other("kim").view("k1").whole == ""


def test_of_a_long_past_memory_begins_with_the_newest_turns(talks: Conversations) -> None:
    talks.tell(range(1, MOST_WAITING + 31))
    assert talks.view().waiting[0] == 31
    talks.fold(small())
    versions = talks.memory.reader.read_versions("acme", talks.session())
    assert (versions[0].first, versions[-1].last) == (31, MOST_WAITING + 25)


def test_at_most_25_entities_the_newest(talks: Conversations) -> None:
    talks.tell(range(1, 37))
    talks.fold()
    entities = talks.view(count=lambda text: 0).entities
    assert len(entities) == MOST_ENTITIES
    assert entities[-1].key == "item 35"


def test_an_edit_is_a_version_and_undo_goes_back_one(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    folded, writer = talks.view().whole, talks.memory.writer
    writer.edit("acme", talks.session(), "I changed this. And that.\nUser said: My item 2 costs $200.")
    view = talks.view()
    assert view.whole.splitlines() == ["I changed this.", "And that.", "User said: My item 2 costs $200."]
    rows = talks.rows()
    assert [(row.origin, row.turn) for row in rows[:3]] == [("user", 0), ("user", 0), ("user", 2)]
    assert [item.origin for item in talks.memory.reader.read_versions("acme", talks.session())] == ["fold", "edit"]
    writer.undo("acme", talks.session())
    assert talks.view().whole == folded
    writer.undo("acme", talks.session())
    assert (talks.view().whole, talks.view().waiting) == ("", (1, 2, 3, 4, 5, 6))
    with pytest.raises(NothingToUndo):
        writer.undo("acme", talks.session())
    talks.fold()
    assert talks.view().whole == folded


def test_saving_what_is_there_makes_no_version(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold(small())
    talks.memory.writer.edit("acme", talks.session(), talks.view().whole)
    assert talks.view().version == 1


def test_versions_show_what_changed_and_their_turns(talks: Conversations) -> None:
    talks.tell(range(1, 12))
    talks.fold()
    reader, session = talks.memory.reader, talks.session()
    first, second = reader.read_versions("acme", session)
    assert (first.first, first.last, second.first, second.last) == (1, 5, 6, 10)
    assert [turn.number for turn in reader.read_sources("acme", session, second)] == [6, 7, 8, 9, 10]
    assert [entity.key for entity in second.after if entity not in second.before] == [f"item {n}" for n in range(6, 11)]
    added = [line for kind, line in compare_memory_texts(first.text, second.text) if kind == "new"]
    assert added == [f"User said: My item {number} costs ${number}00." for number in range(6, 11)]
    assert first.cost["calls"] == 1
    assert "$500" in first.kept


def test_an_entity_is_set_and_removed_by_hand(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    writer, session = talks.memory.writer, talks.session()
    writer.put_entity("acme", session, "Item 5", "$555", turn=6)
    writer.put_entity("acme", session, "Item 5", "$555", turn=6)
    assert talks.view().entity_text.endswith("Item 5: $555 ($500 until turn 6)")
    assert talks.view().version == 2
    writer.remove_entity("acme", session, "item_5")
    assert "555" not in talks.view().entity_text
    writer.undo("acme", session)
    assert "Item 5: $555" in talks.view().entity_text


def test_a_rewrite_takes_in_all_that_waits_whatever_the_profile_says(talks: Conversations) -> None:
    talks.tell(range(1, 8))
    talks.fold(small())
    before, words = talks.view().whole, "The user listed prices: $100 $200 $300 $400 $500 $600 $700."
    names = {f"item {number}": f"${number}00" for number in range(1, 8)}
    models = scripted(utility=[reply(words, entities=names)], profile=SMALL)
    report = talks.memory.folds.run("acme", talks.session(), models=models, language="en", anew=True)
    assert (report.status, report.versions) == ("folded", (2,))
    assert (talks.view().whole, talks.view().waiting) == (words, ())
    assert [item.origin for item in talks.memory.reader.read_versions("acme", talks.session())] == ["fold", "rewritten"]
    talks.memory.writer.undo("acme", talks.session())
    assert (talks.view().whole, talks.view().waiting) == (before, (6, 7))
    report = talks.memory.folds.run("acme", talks.session(), models=saying("Hm.", "Hm."), language="en", anew=True)
    assert (report.status, talks.view().whole, talks.view().rejection) == ("rejected", before, None)
    assert talks.memory.folds.run("acme", talks.session("s2"), models=saying(), anew=True).status == "nothing"


def test_words_of_the_model_stay_first_when_code_goes_on(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.tell(range(7, 12))
    talks.fold(small())
    lines = talks.view().whole.splitlines()
    assert lines[0] == "User said: My item 1 costs $100."
    assert lines[5].startswith("turns 6-7: My item 6 costs $600")


def test_what_is_too_large_is_an_error_and_nothing_changes(talks: Conversations) -> None:
    writer, session = talks.memory.writer, talks.session()
    for write in (
        lambda: writer.edit("acme", session, "x" * 20_000),
        lambda: writer.pin("acme", session, "x" * 400),
        lambda: writer.remember("acme", session, "k" * 200, "v", turn=1),
        lambda: writer.put_entity("acme", session, "k", "v" * 2000, turn=1),
        lambda: talks.forget("x" * 20_000),
    ):
        with pytest.raises(TooLong):
            write()
    assert (talks.view().whole, talks.profile()) == ("", [])


def test_a_pin_too_many_is_refused_and_takes_none_off(talks: Conversations) -> None:
    for number in range(MOST_PINS):
        talks.pin(f"Fact number {number}.")
    talks.pin("Fact number 3.")
    with pytest.raises(PinsFull):
        talks.pin("One more.")
    assert len(talks.profile()) == MOST_PINS


def test_a_turn_of_a_megabyte_and_a_failed_one_are_folded_too(talks: Conversations) -> None:
    talks.say("My first word. " + "x" * 2_000_000 + " My last word.")
    talks.tell(range(2, 7))
    talks.fold(small())
    assert "My first word" in talks.view(count=lambda text: 0).whole
    assert max(len(turn.question) for turn in talks.view().short) < 300_000


def test_a_session_folds_on_and_each_version_costs_one_call(talks: Conversations) -> None:
    models = good()
    talks.tell(range(1, 27))
    assert talks.fold(models).versions == (1, 2, 3, 4, 5)
    assert len(models.utility.calls) == 5  # type: ignore[attr-defined]
    assert talks.view(count=lambda text: 0).whole.count("\n") == 19


def fold_budget(talks: Conversations, value: str) -> None:
    """Say the budget, in the first conversation's turn 1, 7, 12 or 17, and fold that turn with others."""
    more = 4 if talks.view().version else 5
    talks.say(f"The budget is {value}.", *(f"Line {number}." for number in range(more)))
    kept = reply(f"The budget is {value}.", entities={"budget": value}, gone=["The earlier budget."])
    assert talks.fold(saying(kept, kept)).status == "folded"


@pytest.mark.parametrize(
    ("language", "now"), [("en", "budget: 75M (70M until turn 7)"), ("ko", "budget: 75M (7턴까지 70M)")]
)
def test_a_replaced_value_is_shown_once_as_it_is_now(talks: Conversations, language: str, now: str) -> None:
    talks.language = language
    fold_budget(talks, "70M")
    assert talks.view().entity_text == "budget: 70M"
    fold_budget(talks, "75M")
    assert talks.view().entity_text == now
    assert [entity.line for entity in talks.view().entities] == ["budget: 75M"], "a fold reads the value alone"
    fold_budget(talks, "75M")
    assert talks.view().entity_text == now, "said again, nothing changed"
    fold_budget(talks, "80M")
    assert "70M" not in talks.view().entity_text
    talks.memory.writer.undo("acme", talks.session())
    assert talks.view().entity_text == now


def test_the_value_before_goes_first_where_there_is_no_room(talks: Conversations) -> None:
    fold_budget(talks, "70M")
    fold_budget(talks, "75M")
    talks.memory.writer.put_entity("acme", talks.session(), "room", "B204", turn=10)
    words = lambda text: len(text.split())  # noqa: E731
    reader, session = talks.memory.reader, talks.session()

    def show(room: int) -> str:
        return reader.read_view("acme", session, "en", count=words, rooms=Rooms(99, room, 99)).entity_text

    assert show(9) == "budget: 75M (70M until turn 7), room: B204"
    assert show(7) == "budget: 75M, room: B204"
    assert show(3) == "room: B204"


def test_a_replaced_value_that_was_forgotten_is_shown_no_more(talks: Conversations) -> None:
    fold_budget(talks, "70M")
    fold_budget(talks, "75M")
    talks.forget("budget: 70M")
    assert talks.view().entity_text == "budget: 75M"
