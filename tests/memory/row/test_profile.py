"""The profile: what lasts, of all conversations, keyed and dated, each line with its source."""

from __future__ import annotations

import random

import pytest

from memory import Rooms
from memory.key import Scope
from memory.row import profile
from memory.row.rows import read_head
from memory.state import MemoryLine, same_key
from tests.memory.conversation import Conversations
from tests.memory.models import reply, saying

DAY = 1_780_000_000.0


def fold_with_facts(talks: Conversations, name: str, facts: dict[str, str], lasting: list[str]) -> None:
    talks.say(*(f"My {key} is {value}." for key, value in facts.items()), name=name)
    talks.say(*(f"Line {number}." for number in range(6 - len(facts))), name=name)
    said = [f"The {key} is {value}." for key, value in facts.items()]
    assert talks.fold(saying(reply(*said, entities=facts, lasting=lasting)), name=name).status == "folded"


def test_a_fold_proposes_what_lasts_and_every_conversation_begins_with_it(talks: Conversations) -> None:
    fold_with_facts(talks, "s1", {"name": "Seojin", "parking spot": "B-17"}, ["name"])
    assert talks.profile("s2") == ["name: Seojin"]
    assert talks.view("s2").whole == ""
    assert talks.other("kim").profile("k1") == []
    [line] = talks.view("s2").profile
    assert (line.row.session, line.row.turn, line.row.origin, line.row.pinned) == (
        talks.session("s1"),
        1,
        "user",
        False,
    )


def test_only_what_the_user_said_lasts(talks: Conversations) -> None:
    talks.say("Who am I?", answer="Your name is Bob.")
    talks.tell(range(2, 7))
    talks.fold(saying(reply("The name is Bob.", "$200 $300 $400 $500", entities={"name": "Bob"}, lasting=["name"])))
    assert talks.profile() == []


def test_a_newer_value_stands_in_place_of_the_older_one_which_is_named_once(talks: Conversations) -> None:
    talks.remember("Rent", "800,000")
    talks.remember("rent", "850,000", name="s2")
    view = talks.view("s3")
    assert [line.row.label for line in view.profile] == ["rent: 850,000"]
    assert view.profile_text.count("850,000") == view.profile_text.count("800,000") == 1
    assert "(800,000 until" in view.profile_text
    assert "까지 800,000)" in view.profile[0].describe("ko")
    talks.remember("rent", "850,000", name="s2")
    talks.remember("rent", "900,000", name="s2")
    assert "800,000" not in talks.view("s3").profile_text


def test_when_the_newer_value_goes_the_older_one_is_back(talks: Conversations) -> None:
    talks.remember("rent", "800,000")
    talks.remember("rent", "850,000", name="s2")
    talks.delete("s2")
    assert talks.profile("s3") == ["rent: 800,000"]
    talks.delete("s2", None)
    assert talks.profile("s3") == ["rent: 850,000"]


def test_a_pin_is_known_everywhere_word_for_word_until_it_is_unpinned(talks: Conversations) -> None:
    talks.say("나는 땅콩 알레르기가 있어.", at=DAY)
    talks.pin("나는 땅콩 알레르기가 있어.")
    view = talks.view("s2")
    assert view.pins == ("나는 땅콩 알레르기가 있어.",)
    assert view.profile[0].row.turn == 1
    talks.memory.writer.unpin("acme", talks.session("s2"), "나는 땅콩 알레르기가 있어.")
    assert talks.profile("s1") == []


def test_a_pinned_fact_of_a_key_stays_when_it_is_unpinned(talks: Conversations) -> None:
    talks.remember("name", "Seojin")
    talks.pin("name: Seojin")
    assert talks.view().pins == ("name: Seojin",)
    talks.memory.writer.unpin("acme", talks.session(), "name: Seojin")
    assert (talks.view().pins, talks.profile()) == ((), ["name: Seojin"])


def test_pins_come_first_then_the_newest_within_the_budget(talks: Conversations) -> None:
    for number in range(30):
        talks.remember(f"fact {number}", f"a value of some words, number {number}")
    talks.pin("I am allergic to nuts.", name="s2")
    view = talks.view("s3")
    assert view.profile_tokens <= 150
    assert view.profile[0].row.text == "I am allergic to nuts."
    assert view.profile[1].row.key == "fact 29"
    assert view.cut_profile[-1].row.key == "fact 0"
    rooms = Rooms(500, 200, 1)
    nothing = talks.memory.reader.read_view("acme", talks.session("s3"), "en", rooms=rooms)
    assert (nothing.profile, nothing.profile_tokens) == ((), 0)


def test_what_the_session_s_own_memory_says_takes_no_room_twice(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.pin("My item 2 costs $200.")
    talks.fold()
    assert "My item 2 costs $200." in talks.view().whole
    assert talks.view().profile == ()
    assert talks.profile("s2") == ["My item 2 costs $200."]


@pytest.mark.parametrize("how", ["switch", "apart", "setting"])
def test_who_keeps_conversations_apart_shares_nothing(talks: Conversations, opened: object, how: str) -> None:
    if how == "setting":
        talks = opened(user_memory=False)  # type: ignore[operator]
    talks.remember("name", "Seojin")
    if how == "switch":
        talks.memory.writer.set_carries("acme", False)
    if how == "apart":
        talks.memory.writer.keep_apart("acme", talks.session("s2"))
    assert talks.profile("s2") == []
    assert talks.profile("s1") == ["name: Seojin"]
    assert talks.memory.reader.read_past("acme", talks.session("s2")).others == ()
    talks.remember("town", "Busan", name="s2")
    assert "town: Busan" not in talks.profile("s1")
    if how == "switch":
        talks.memory.writer.set_carries("acme", True)
        assert set(talks.profile("s2")) == {"name: Seojin", "town: Busan"}


def test_a_deleted_conversation_takes_its_facts_along_unless_they_are_to_stay(talks: Conversations) -> None:
    talks.remember("name", "Seojin")
    talks.remember("town", "Busan", name="s2")
    talks.delete("s1", forget=False)
    talks.delete("s2", forget=True)
    assert talks.profile("s3") == ["name: Seojin"]
    reader = talks.memory.reader
    assert [reader.forgets("acme", talks.session(name)) for name in ("s1", "s2", "s3")] == [False, True, None]
    for name in ("s1", "s2"):
        talks.store.of("me").delete_session(talks.session(name))
        talks.memory.eraser.erase_session("acme", talks.session(name))
    assert talks.profile("s3") == ["name: Seojin"]


def test_a_wish_made_twice_after_a_crash_has_the_effect_of_one(talks: Conversations) -> None:
    for _ in range(2):
        talks.remember("name", "Seojin")
        talks.pin("I am allergic to nuts.")
    assert len(talks.profile()) == 2


def test_reading_folds_each_key_once_however_many_facts_there_are(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks.say(*(f"Line {number}." for number in range(40)))
    for number in range(40):
        talks.remember(f"fact {number}", str(number), turn=number + 1)
    folded = list[str]()

    def fold(key: str) -> str:
        folded.append(key)
        return same_key(key)

    monkeypatch.setattr(profile, "same_key", fold)
    with talks.store.everyone.transaction() as connection:
        lines = profile.read_profile(connection, read_head(connection, Scope(talks.tenant, talks.session())), True)
    assert [line.row.key for line in lines] == [f"fact {number}" for number in reversed(range(40))]
    assert len(folded) == 40


def test_the_value_of_a_later_turn_is_the_first_one_that_may_stand_in_its_place(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of one key that no other one has replaced, as branches leave them."""
    chosen = random.Random(7)
    for _ in range(200):
        rows = [
            MemoryLine(
                *(number, chosen.choice("st"), "profile", 0, chosen.randint(1, 5), DAY),
                *(chosen.choice(("user", "foreign")), chosen.choice(("rent", "Rent", "town", "")), str(number)),
            )
            for number in range(12)
        ]
        monkeypatch.setattr(profile, "read_profile_rows", lambda *_, rows=rows: rows)
        with talks.store.everyone.transaction() as connection:
            lines = profile.read_profile(connection, read_head(connection, Scope("acme", talks.session())), True)
        assert [line.row for line in lines] == [row for row in rows if not any(_may_follow(row, o) for o in rows)]
        before = dict[int, MemoryLine]()
        for row in rows:
            if newer := next((other for other in rows if _may_follow(row, other)), None):
                before.setdefault(newer.id, row)
        assert [line.replaced for line in lines] == [before.get(line.row.id) for line in lines]


def _may_follow(row: MemoryLine, other: MemoryLine) -> bool:
    """Whether the profile has the other line in place of this one."""
    same = row.key and (row.session, same_key(row.key)) == (other.session, same_key(other.key))
    return bool(same) and other.turn > row.turn and (row.is_foreign or not other.is_foreign)
