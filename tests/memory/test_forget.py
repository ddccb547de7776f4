"""What the user has forgotten is gone from memory and from every search, and said again it is back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from memory.key import Scope
from model.modelset import ModelSet
from tests.memory.conftest import OpenMemory
from tests.memory.conversation import Conversations
from tests.memory.models import good, small


def test_all_that_memory_holds_is_listed_with_numbers(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    talks.pin("I am allergic to nuts.")
    talks.say("When?", answer="On May 5.")
    lines = talks.memory.reader.read_lines("acme", talks.session())
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0].text == "I am allergic to nuts."
    kinds = {line.text: (line.kind, line.turn) for line in lines}
    assert kinds["User said: My item 2 costs $200."] == ("memory", 2)
    assert kinds["item 2: $200"] == ("entity", 2)
    assert kinds["My item 6 costs $600."] == ("turn", 6)
    assert kinds["On May 5."] == ("turn", 7)


@pytest.mark.parametrize("models", [good, small])
def test_what_was_chosen_goes_and_nothing_beside_it(talks: Conversations, models: Callable[[], ModelSet]) -> None:
    talks.tell(range(1, 7))
    talks.fold(models())
    [wanted] = [
        line.text
        for line in talks.memory.reader.read_lines("acme", talks.session())
        if "item 2 costs" in line.text and line.kind == "memory"
    ]
    assert talks.forget(wanted) == [wanted]
    whole = talks.view().whole
    assert "$200" not in whole
    assert "$100" in whole
    assert "$300" in whole
    assert [item.origin for item in talks.memory.reader.read_versions("acme", talks.session())] == ["fold", "forget"]
    assert talks.forget(wanted) == []


def test_undoing_the_forgetting_brings_it_back_and_undoing_the_fold_does_not(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.fold()
    whole = talks.view().whole
    talks.forget("User said: My item 2 costs $200.", "item 2: $200")
    assert "item 2" not in talks.view().whole + talks.view().entity_text
    talks.memory.writer.undo("acme", talks.session())
    assert talks.view().whole == whole
    talks.forget("User said: My item 2 costs $200.", "item 2: $200")
    for _ in range(2):
        if talks.view().version > 1:
            talks.memory.writer.edit("acme", talks.session(), "Something else.")
    talks.memory.writer.undo("acme", talks.session())
    assert "$200" not in talks.view().whole


def test_turns_that_wait_do_not_bring_it_back_and_saying_it_again_does(talks: Conversations) -> None:
    talks.tell(range(1, 7))
    talks.forget("My item 2 costs $200.")
    talks.fold()
    assert "item 2" not in talks.view().whole
    assert "item 2" not in talks.view().entity_text
    talks.say("My item 2 costs $200.")
    talks.tell(range(8, 12))
    talks.fold()
    assert "My item 2 costs $200" in talks.view().whole


def test_a_text_forgotten_in_one_conversation_is_found_in_none_until_it_is_said_again(talks: Conversations) -> None:
    talks.tell([2], name="s2")
    talks.remember("item 2", "$200", name="s2")
    assert talks.forget("item 2: $200", "My item 2 costs $200.", name="s1") == ["item 2: $200"]
    assert talks.profile("s3") == []
    past = talks.memory.reader.read_past("acme", talks.session("s3"))
    now = time.time()
    assert past.hides(now - 60, ["So my item 2 costs $200."])
    assert not past.hides(now + 3600, ["My item 2 costs $200."])
    assert not past.hides(now - 60, ["My item 3 costs $300."])
    talks.say(*(f"My thing {number} costs ${number}." for number in range(10, 15)), name="s2")
    talks.fold(name="s2")
    assert "$200" not in talks.view("s2").whole
    assert not talks.other("kim").memory.reader.read_past("acme", "k", user="kim").hides(0.0, ["My item 2 costs $200."])


def test_what_is_forgotten_in_an_apart_conversation_stays_there(talks: Conversations) -> None:
    talks.memory.writer.keep_apart("acme", talks.session())
    talks.tell([2])
    talks.forget("My item 2 costs $200.")
    assert talks.memory.reader.read_past("acme", talks.session()).hides(0.0, ["My item 2 costs $200."])
    assert not talks.memory.reader.read_past("acme", talks.session("s2")).hides(0.0, ["My item 2 costs $200."])


def test_going_back_in_the_conversation_does_not_bring_it_back(talks: Conversations) -> None:
    talks.tell(range(1, 12))
    talks.fold()
    talks.forget("User said: My item 2 costs $200.", "item 2: $200")
    talks.edit(9, "Never mind.")
    assert talks.view().version == 1
    assert "item 2 costs" not in talks.view().whole


def test_lines_are_found_by_their_words_and_by_meaning(talks: Conversations) -> None:
    talks.tell(range(1, 32))
    talks.fold()
    reader, session = talks.memory.reader, talks.session()
    assert "item 2 costs" not in talks.view(count=lambda text: 0).whole
    assert "User said: My item 2 costs $200. (turn 2)" in reader.find_lines("acme", session, "item 2 costs $200")
    talks.forget("My item 2 costs $200.")
    assert not any("item 2 costs" in line for line in reader.find_lines("acme", session, "item 2 costs $200"))
    near = reader.find_lines(
        "acme", session, "price", near=lambda query, lines: [float("item 30 " in x) for x in lines]
    )
    assert any("item 30" in line for line in near)


def trace(folder: Path, word: str) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


@pytest.mark.parametrize("whose", ["session", "user"])
def test_an_erasure_leaves_nothing_of_memory_in_any_file_or_in_redis(
    opened: OpenMemory, tcp: str, tmp_path: Path, whose: str
) -> None:
    talks = opened()
    talks.tell(range(1, 7))
    talks.fold()
    talks.pin("The codeword is Xanadu77.")
    talks.memory.writer.save_given("acme", talks.session(), {"mark": "The codeword is Xanadu77."}, time.time())
    session = talks.session()
    talks.view()
    eraser = talks.memory.eraser
    if whose == "session":
        eraser.erase_session("acme", session, goes_on=True)
    else:
        assert eraser.erase_user("acme") == 1
    view = talks.view()
    assert (view.whole, view.entities, view.waiting, talks.profile()) == ("", (), (), [])
    assert talks.memory.reader.read_given("acme", session) == {}
    assert trace(tmp_path / "data", "Xanadu77") == []
    with redis.Redis.from_url(tcp) as client:
        assert all(b"costs" not in (client.get(key) or b"") for key in Scope("acme", session).keys)
    talks.tell(range(7, 13))
    talks.fold()
    assert "item 7 costs" in talks.view().whole
    assert "item 6 costs" not in talks.view().whole


def test_a_forgotten_line_leaves_the_copies_of_other_conversations_too(opened: OpenMemory, tcp: str) -> None:
    talks = opened()
    for name in ("s1", "s2"):
        talks.tell(range(1, 10), name=name)
        talks.fold(name=name)
        talks.view(name)
    with redis.Redis.from_url(tcp) as client:
        own, other = (Scope("acme", talks.session(name)).keys[1] for name in ("s1", "s2"))
        assert b"item 2 costs" in (client.get(other) or b"")
        talks.forget("User said: My item 2 costs $200.", name="s1")
        assert not client.exists(own, other)


def test_what_was_erased_while_redis_was_away_leaves_it_when_it_is_back(opened: OpenMemory, tcp: str) -> None:
    talks = opened()
    talks.tell(range(1, 7))
    talks.fold()
    talks.view()
    key = Scope("acme", talks.session()).keys[0]
    away = opened(redis_url="redis://127.0.0.1:1", wait=False)
    away._names.update(talks._names)
    away.memory.eraser.erase_session("acme", talks.session(), goes_on=True)
    with redis.Redis.from_url(tcp) as client:
        assert client.exists(key)
        again = opened()
        assert again.memory.wait(60)
        assert not client.exists(key)


def test_nothing_is_saved_of_a_prompt_that_read_before_an_erasure(talks: Conversations) -> None:
    writer, reader = talks.memory.writer, talks.memory.reader
    talks.tell([1])
    since = time.time()
    writer.save_given("acme", talks.session(), {"a": "one"}, since)
    assert reader.read_given("acme", talks.session()) == {"a": "one"}
    assert reader.read_given("acme", talks.session(), ["a", "b"]) == {"a": "one"}
    assert reader.read_given("acme", talks.session(), ["b"]) == {}
    talks.forget("My item 1 costs $100.")
    writer.save_given("acme", talks.session(), {"b": "two"}, since)
    assert reader.read_given("acme", talks.session()) == {}
    writer.save_given("acme", talks.session(), {"c": "three"}, time.time())
    assert reader.read_given("acme", talks.session()) == {"c": "three"}


def test_cleaning_up_erases_memories_of_sessions_that_are_gone(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks.remember("name", "Seojin")
    talks.remember("town", "Busan", name="s2")
    gone = talks.session("s2")
    talks.store.of("me").delete_session(gone)
    assert talks.memory.eraser.clean_up("acme")["orphans"] == 0
    monkeypatch.setattr("memory.eraser.ORPHAN_SECONDS", -1.0)
    assert talks.memory.eraser.clean_up("acme")["orphans"] == 1
    assert talks.profile("s3") == ["name: Seojin"]
