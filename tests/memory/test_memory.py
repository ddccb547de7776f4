"""The door to memory: what a session, a user and an operator can do with it, with Redis there and away."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import redis

import settings
from errors import BadImport, BadSetting, MemoryAway, NothingToUndo, PinsFull, TooLong
from graph.turn.long_term import near
from memory import Memory, MemoryTurn
from memory.key import Scope
from memory.redis.link import LATE_IN_A_ROW, USER_SECONDS, Link
from memory.state import MOST_PINS
from store import Store
from tests.memory.conftest import Asked, Opened, free_port, valkey
from tests.memory.models import good, saying


def talk(memory: Memory, *numbers: int, tenant: str = "acme", session: str = "s1", user: str = "me") -> None:
    for number in numbers:
        memory.note_turn(tenant, session, number, f"My item {number} costs ${number}00.", "Noted.", user=user)


def fold(memory: Memory, session: str = "s1", tenant: str = "acme") -> None:
    report = memory.fold(tenant, session, models=good(), language="en")
    assert report.status == "folded", report


def forget(memory: Memory, what: str, turn: int, session: str = "s1") -> list[str] | None:
    """Drops all lines that have these words, as somebody who was given the lines would choose them."""
    chosen = [line.text for line in memory.lines("acme", session) if what.casefold() in line.text.casefold()]
    return memory.drop("acme", session, chosen, turn=turn)


def of_user(memory: Memory) -> str:
    """What the user's own memory says; a new session is told what waits, too."""
    return memory._link.run(lambda client: memory._redis.read(client, Scope("acme", "", "me"))).text


def test_a_session_is_remembered_after_its_sixth_turn(memory: Memory) -> None:
    talk(memory, *range(1, 6))
    assert memory.due("acme", "s1") == []
    talk(memory, 6)
    assert [(each.session, each.rest) for each in memory.due("acme", "s1")] == [("s1", False)]
    fold(memory)
    view = memory.context("acme", "s1", "en")
    assert view.version == 1
    assert "$500" in view.text
    assert "$600" not in view.text
    assert view.entity_text == "item 1: $100, item 2: $200, item 3: $300, item 4: $400, item 5: $500"
    assert memory.due("acme", "s1") == []


def test_a_fold_that_nothing_waits_for_does_nothing(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    assert memory.fold("acme", "s1", models=saying(), language="en").status == "nothing"


def test_tenants_never_see_each_other(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.pin("acme", "s1", "the secret is 4711")
    memory.remember("acme", "s1", "secret", "4711", turn=6)
    memory.settle(10)
    for tenant, session in (("other", "s1"), ("acme:s1", ""), ("", "acme:s1"), ("acme}", "s1"), ("ACME", "s1")):
        view = memory.context(tenant, session, "en")
        assert (view.text, view.entities, view.pins) == ("", (), ())
        assert memory.recall(tenant, session, "secret 4711 item costs") == []
        assert memory.versions(tenant, session) == []
        assert memory.export(tenant)["memories"] == []
        memory.erase(tenant, session)
    assert "4711" in memory.context("acme", "s1", "en").text


def test_a_new_session_starts_from_what_earlier_ones_left(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    view = memory.context("acme", "s2", "en")
    assert view.from_user
    assert "$500" in view.text
    assert {each.turn for each in view.entities} == {0}
    assert memory.context("acme", "s2", "en", user="somebody else").text == ""


def test_a_second_session_goes_on_from_the_first_and_a_third_from_both(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    talk(memory, *range(11, 17), session="s2")
    fold(memory, "s2")
    text = memory.context("acme", "s3", "en").text
    assert "$500" in text
    assert "$1500" in text


def test_sessions_side_by_side_both_reach_the_user(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    talk(memory, *range(11, 17), session="s2")
    fold(memory)
    fold(memory, "s2")
    talk(memory, *range(7, 12))
    fold(memory)
    text = memory.context("acme", "s3", "en").text
    assert all(value in text for value in ("$100", "$1100", "$1000"))


def test_the_switch_keeps_sessions_apart(opened: Opened) -> None:
    memory = opened(user_memory=False)
    talk(memory, *range(1, 7))
    fold(memory)
    assert memory.context("acme", "s2", "en").text == ""


def test_a_session_that_was_left_is_folded_to_its_last_turn(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.memory.REST_SECONDS", -1.0)
    talk(memory, 1, 2)
    memory.settle(10)
    talk(memory, 1, session="s2")
    [due] = memory.due("acme", "s2")
    assert (due.session, due.rest) == ("s1", True)
    memory.fold("acme", due.session, models=good(), language="en", rest=due.rest)
    memory.settle(10)
    assert memory.due("acme", "s2") == []
    assert "$200" in memory.context("acme", "s2", "en").text


def test_remember_overwrites_and_forget_drops_for_good(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    memory.remember("acme", "s1", "Favourite colour", "blue", turn=6)
    memory.remember("acme", "s1", "favourite_colour", "green", turn=6)
    assert memory.context("acme", "s1").entity_text == "favourite_colour: green"
    assert forget(memory, "favourite_colour", 6) == ["favourite_colour: green"]
    assert forget(memory, "My item 2 costs $200", 6) == ["My item 2 costs $200."]
    fold(memory)
    view = memory.context("acme", "s1", "en")
    assert "favourite" not in view.entity_text
    assert "item 3" in view.entity_text
    assert "$200" not in view.text
    assert "$300" in view.text


@pytest.mark.parametrize("overtaken", [False, True], ids=["alone", "overtaken"])
def test_a_value_that_is_set_replaces_the_entity_here_and_for_the_user(memory: Memory, overtaken: bool) -> None:
    """The text is nobody's to edit: the prompt says that the later word holds."""
    talk(memory, *range(1, 7))
    fold(memory)
    if overtaken:
        talk(memory, *range(11, 17), session="s2")
        fold(memory, "s2")
    memory.remember("acme", "s1", "item 3", "$350", turn=6)
    assert "item 3: $350" in memory.context("acme", "s1", "en").entity_text
    talk(memory, *range(7, 12))
    fold(memory)
    for session in ("s1", "new"):
        values = {each.key: each.value for each in memory.context("acme", session, "en").entities}
        assert values["item 3"] == "$350"
        assert values["item 2"] == "$200"


def test_what_is_forgotten_stays_so_when_later_turns_are_folded_with_it(memory: Memory) -> None:
    """Also for the user, and so for the next session."""
    talk(memory, *range(1, 7))
    fold(memory)
    memory.note_turn("acme", "s1", 7, "Forget my item 6.", "Forgotten.")
    forget(memory, "item 6", 7)
    talk(memory, *range(8, 12))
    fold(memory)
    for session in ("s1", "new"):
        view = memory.context("acme", session, "en")
        assert "item 6" not in view.text + view.entity_text
        assert "$600" not in view.text + view.entity_text
        assert "item 8: $800" in view.entity_text


def test_what_is_forgotten_comes_back_when_it_is_said_again(memory: Memory) -> None:
    talk(memory, *range(1, 4))
    forget(memory, "item 2", 3)
    talk(memory, 4, 5)
    memory.note_turn("acme", "s1", 6, "My item 2 costs $250 today.", "Noted.")
    talk(memory, *range(7, 11))
    fold(memory)
    assert "$200" not in memory.context("acme", "s1", "en").text
    memory.fold("acme", "s1", models=good(), language="en", rest=True)
    view = memory.context("acme", "s1", "en")
    assert "$250" in view.text
    assert "item 2: $250" in view.entity_text


def test_what_is_forgotten_while_its_turns_are_folded_stays_forgotten(memory: Memory) -> None:
    def step(name: str) -> None:
        if name == "made":
            forget(memory, "item 2", 6)

    talk(memory, *range(1, 7))
    memory.fold("acme", "s1", models=good(), language="en", step=step)
    view = memory.context("acme", "s1", "en")
    assert "$300" in view.text
    assert "$200" not in view.text + view.entity_text


def test_recall_finds_what_has_left_the_memory(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.edit("acme", "s1", "The user lists prices.")
    memory.settle(10)
    found = memory.recall("acme", "s1", "item 3")
    assert any("$300" in each and "turn 3" in each for each in found)


@pytest.mark.parametrize(
    ("told", "query", "wanted"),
    [
        (("나는 부산 영도에 살아.", "고양이는 세 살이야.", "사료가 비싸."), "내 집이 어디지?", "나는 부산 영도에 살아"),
        (
            ("I live in Leeds.", "The cat is three.", "Food is expensive."),
            "Where's my home town?",
            "I live in Leeds",
        ),
    ],
)
def test_a_recall_by_meaning_finds_other_words_in_the_order_they_were_said(
    memory: Memory, told: tuple[str, ...], query: str, wanted: str
) -> None:
    for number, text in enumerate(told, 1):
        memory.note_turn("acme", "s1", number, text, "…")
    assert memory.recall("acme", "s1", query, limit=2, answers=False) == []
    found = memory.recall("acme", "s1", query, limit=3, answers=False, near=near)
    assert [line.rpartition(" (turn ")[2] for line in found] == ["1)", "2)", "3)"]
    (best,) = memory.recall("acme", "s1", query, limit=1, answers=False, near=near)
    assert best.startswith(wanted)


def test_an_edit_is_a_version_and_undo_goes_back_one(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    made = memory.context("acme", "s1", "en").whole
    edited = memory.edit("acme", "s1", "Edited by hand. Twice.")
    assert edited.text == "Edited by hand.\nTwice."
    assert [(each.number, each.origin) for each in memory.versions("acme", "s1")] == [(1, "fold"), (2, "edit")]
    changed = memory.diff("acme", "s1", 1, 2)
    assert [line for mark, line in changed if mark == "new"] == ["Edited by hand.", "Twice."]
    assert [line for mark, line in changed if mark == "gone"] == made.splitlines()
    assert {mark for mark, _ in memory.diff("acme", "s1", 0, 1)} == {"new"}
    assert memory.undo("acme", "s1").whole == made
    back = memory.undo("acme", "s1")
    assert (back.version, back.text, back.waiting) == (0, "", (1, 2, 3, 4, 5, 6))
    with pytest.raises(NothingToUndo):
        memory.undo("acme", "s1")


def test_an_undone_fold_is_made_again_and_the_archive_knows_both(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.settle(10)
    memory.undo("acme", "s1")
    memory.settle(10)
    assert memory.due("acme", "s1")
    fold(memory)
    memory.settle(10)
    assert [each.number for each in memory.versions("acme", "s1")] == [1]
    assert [each.number for each in memory.versions("acme", "s1")[0].turns] == [1, 2, 3, 4, 5]


def test_an_undone_fold_leaves_the_user_too(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.undo("acme", "s1")
    assert of_user(memory) == ""


def test_a_pinned_statement_is_in_the_context_until_it_is_unpinned(memory: Memory) -> None:
    memory.pin("acme", "s1", "I am allergic to peanuts.")
    assert memory.context("acme", "s1").text == "I am allergic to peanuts."
    assert memory.unpin("acme", "s1", "I am allergic to peanuts.").text == ""


def test_a_pin_too_many_is_refused_and_takes_none_off(memory: Memory) -> None:
    for number in range(MOST_PINS):
        memory.pin("acme", "s1", f"My item {number} costs ${number}00.")
    for session in ("s1", "s2"):  # the user has no more of them
        with pytest.raises(PinsFull, match="20 facts are pinned"):
            memory.pin("acme", session, "One more.")
        assert memory.context("acme", session, "en").pins == tuple(
            f"My item {n} costs ${n}00." for n in range(MOST_PINS)
        )
    memory.pin("acme", "s1", "My item 3 costs $300.")  # once more is no more
    memory.set_carries("acme", False)
    with pytest.raises(PinsFull):
        memory.pin("acme", "s1", "One more.")
    memory.set_carries("acme", True)
    memory.unpin("acme", "s1", "My item 0 costs $000.")
    assert memory.pin("acme", "s1", "One more.").pins[-1] == "One more."


def test_what_is_too_large_is_an_error_and_nothing_is_lost(memory: Memory) -> None:
    memory.remember("acme", "s1", "colour", "blue", turn=1)
    huge = "x" * 1_000_000
    for refused in (
        lambda: memory.remember("acme", "s1", "colour", huge, turn=1),
        lambda: memory.remember("acme", "s1", huge, "blue", turn=1),
        lambda: memory.pin("acme", "s1", huge),
        lambda: memory.edit("acme", "s1", huge),
        lambda: memory.drop("acme", "s1", [huge], turn=1),
    ):
        with pytest.raises(TooLong):
            refused()
    assert memory.note_turn("acme", "s1", 1, "start " + huge, huge + " end")
    view = memory.context("acme", "s1")
    assert view.entity_text == "colour: blue"
    assert view.short[0].question.startswith("start ")
    assert view.short[0].answer.endswith(" end")


def test_an_unused_memory_comes_back_from_the_archive(opened: Opened) -> None:
    memory = opened(memory_ttl=1.5 / 3600)
    talk(memory, *range(1, 7))
    fold(memory)
    memory.remember("acme", "s1", "colour", "blue", turn=6)
    before = memory.context("acme", "s1", "en")
    assert memory.settle(10)
    time.sleep(1.7)
    assert memory.expires("acme", "s1") is None
    after = memory.context("acme", "s1", "en")
    assert (after.text, after.entities, after.short, after.version) == (
        before.text,
        before.entities,
        before.short,
        before.version,
    )
    assert [each.number for each in memory.versions("acme", "s1")] == [1]


def test_a_turn_after_expiry_goes_on_where_the_session_stopped(opened: Opened) -> None:
    memory = opened(memory_ttl=1.5 / 3600)
    talk(memory, 1, 2, 3)
    memory.settle(10)
    time.sleep(1.7)
    talk(memory, 4)
    assert [each.number for each in memory.context("acme", "s1").short] == [1, 2, 3, 4]


def test_erasing_a_session_leaves_no_trace_of_it_anywhere(memory: Memory, tmp_path: Path, tcp: str) -> None:
    talk(memory, *range(1, 7))
    talk(memory, *range(21, 27), session="s2")
    fold(memory)
    fold(memory, "s2")
    memory.settle(10)
    memory.erase("acme", "s1")
    memory.settle(10)
    assert memory.context("acme", "s1", user="nobody").short == ()
    assert memory.recall("acme", "s1", "item 3", user="nobody") == []
    assert "$2200" in memory.context("acme", "s2", "en").text
    assert "$300" not in json.dumps(memory.export("acme"))
    client = redis.Redis.from_url(tcp)
    assert not [key for key in client.scan_iter() if b":s1}" in key]
    client.close()


@pytest.mark.usefixtures("impatient")
def test_what_is_erased_while_redis_is_away_leaves_the_users_memory_too(opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    with valkey(tmp_path, port) as process:
        memory = opened(redis_url=f"redis://127.0.0.1:{port}")
        talk(memory, *range(1, 7))
        fold(memory)
        memory.settle(10)
        os.kill(process.pid, signal.SIGSTOP)
        memory.erase("acme", "s1")
        os.kill(process.pid, signal.SIGCONT)
        assert memory.wait(10)
        assert memory.context("acme", "s2", "en").text == ""
        memory.settle(10)
        assert "$300" not in json.dumps(memory.export("acme"))


def test_all_of_a_user_can_be_taken_along_and_brought_in_elsewhere(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.remember("acme", "s1", "colour", "blue", turn=6)
    memory.pin("acme", "s1", "I am Kim.")
    before = memory.context("acme", "s1", "en")
    taken = json.loads(json.dumps(memory.export("acme")))
    assert memory.erase_user("acme") == 2
    assert memory.context("acme", "s1").text == ""
    assert memory.import_("else", taken, "you") == 2
    after = memory.context("else", "s1", "en", user="you")
    assert (after.text, after.entities, after.pins, after.short) == (
        before.text,
        before.entities,
        before.pins,
        before.short,
    )
    assert [each.number for each in memory.versions("else", "s1")] == [1]
    assert memory.import_("else", taken, "you") == 0


@pytest.mark.parametrize(
    "data", [{}, {"format": "gieok-memory", "version": 9}, {"format": "gieok-memory", "version": 1, "memories": [{}]}]
)
def test_a_file_that_is_no_export_changes_nothing(memory: Memory, data: dict[str, object]) -> None:
    with pytest.raises(BadImport):
        memory.import_("acme", data)
    assert memory.export("acme")["memories"] == []


def test_cleaning_up_erases_memories_of_sessions_that_are_gone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.portable.ORPHAN_SECONDS", -1.0)
    talk(memory, 1)
    talk(memory, 2, session="s2")
    memory.settle(10)
    assert memory.cleanup("acme", lambda session: session == "s2")["orphans"] == 1
    assert memory.context("acme", "s1").short == ()
    assert len(memory.context("acme", "s2").short) == 1


# --- Redis away -----------------------------------------------------------------------------------


def test_with_redis_away_from_the_start_nothing_waits_and_nothing_is_lost(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    memory = opened(wait=False, redis_url=f"redis://127.0.0.1:{port}")
    asked = Asked(memory._link, monkeypatch)
    assert memory.context("acme", "s1").away
    assert asked.seconds == []
    talk(memory, *range(1, 7))
    assert not memory.remember("acme", "s1", "colour", "blue", turn=6)
    assert memory.recall("acme", "s1", "item") == []
    assert memory.due("acme", "s1") == []
    assert memory.fold("acme", "s1", models=saying()).status == "away"
    with pytest.raises(MemoryAway):
        memory.edit("acme", "s1", "no")
    with valkey(tmp_path, port):
        assert memory.wait(10)
        view = memory.context("acme", "s1")
        assert [each.number for each in view.short] == [1, 2, 3, 4, 5, 6]
        assert view.entity_text == "colour: blue"
        fold(memory)
        assert "$500" in memory.context("acme", "s1", "en").text


@pytest.mark.usefixtures("impatient")
def test_a_server_that_hangs_costs_few_short_waits_and_then_none(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    with valkey(tmp_path, port) as process:
        memory = opened(redis_url=f"redis://127.0.0.1:{port}")
        talk(memory, 1)
        os.kill(process.pid, signal.SIGSTOP)
        asked = Asked(memory._link, monkeypatch)
        for _ in range(21):
            assert memory.context("acme", "s1").away
        assert not memory.note_turn("acme", "s1", 2, "q", "a")
        assert asked.seconds == [USER_SECONDS] * LATE_IN_A_ROW
        os.kill(process.pid, signal.SIGCONT)
        assert memory.wait(10)
        assert [each.number for each in memory.context("acme", "s1").short] == [1, 2]


@pytest.mark.usefixtures("impatient")
def test_what_is_erased_while_redis_is_away_never_comes_back(opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    with valkey(tmp_path, port) as process:
        memory = opened(redis_url=f"redis://127.0.0.1:{port}")
        talk(memory, 1, 2)
        memory.settle(10)
        os.kill(process.pid, signal.SIGSTOP)
        memory.erase("acme", "s1")
        os.kill(process.pid, signal.SIGCONT)
        assert memory.wait(10)
        assert memory.context("acme", "s1").short == ()
        memory.settle(10)
        assert memory.export("acme")["memories"] == []


def test_a_lost_redis_is_filled_from_the_archive(opened: Opened, tmp_path: Path) -> None:
    port = free_port()
    memory = opened(wait=False, redis_url=f"redis://127.0.0.1:{port}")
    (tmp_path / "one").mkdir()
    with valkey(tmp_path / "one", port):
        assert memory.wait(10)
        talk(memory, *range(1, 7))
        fold(memory)
        before = memory.context("acme", "s1", "en")
        memory.settle(10)
    assert memory.context("acme", "s1").away
    with valkey(tmp_path, port):
        assert memory.wait(10)
        assert memory.context("acme", "s1", "en").text == before.text


@pytest.mark.parametrize("url", ["http://x", "redis+sentinel://h:1", "redis+cluster://h:port", "nonsense"])
def test_an_address_that_cannot_be_read_is_a_clear_error(url: str, tmp_path: Path) -> None:
    chosen = settings.load(_env_file=None, data_dir=tmp_path, redis_url=url)
    store = Store(chosen.database)
    with pytest.raises(BadSetting, match="REDIS_URL"):
        Memory.open(chosen, store)
    store.close()


def test_the_embedded_server_needs_no_setting(opened: Opened) -> None:
    memory = opened(redis_url=None)
    talk(memory, 1)
    assert [each.number for each in memory.context("acme", "s1").short] == [1]


@pytest.mark.parametrize("whose", ["session", "user"])
def test_what_was_erased_does_not_come_back_with_the_next_turn(memory: Memory, whose: str) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    memory.settle(10)
    if whose == "session":
        memory.erase("acme", "s1", last=6)
    else:
        assert memory.erase_user("acme") == 2
    path = [MemoryTurn(number, f"My item {number} costs ${number}00.", "Noted.") for number in range(1, 9)]
    assert memory.follow("acme", "s1", lambda first: path[first - 1 : 7], 7)
    talk(memory, 8)
    assert [turn.number for turn in memory.context("acme", "s1", "en").short] == [7, 8]
    assert memory.due("acme", "s1") == []


def test_what_was_erased_comes_back_from_an_export(memory: Memory) -> None:
    talk(memory, *range(1, 7))
    fold(memory)
    exported = memory.export("acme")
    memory.erase_user("acme")
    assert memory.export("acme")["memories"] == []
    assert memory.import_("acme", exported) == 2
    assert "$500" in memory.context("acme", "s1", "en").text
    assert memory.import_("acme", exported) == 0


def test_what_was_erased_while_redis_is_away_does_not_come_back_with_the_next_turn(
    opened: Opened, tmp_path: Path
) -> None:
    port = free_port()
    with valkey(tmp_path, port):
        memory = opened(redis_url=f"redis://127.0.0.1:{port}/0")
        talk(memory, *range(1, 7))
        memory.settle(10)
    memory.erase("acme", "s1", last=6)
    with valkey(tmp_path, port):
        assert memory.wait(10)
        talk(memory, 6, 7)
        assert [turn.number for turn in memory.context("acme", "s1", "en").short] == [7]


@pytest.mark.parametrize("whose", ["session", "user"])
def test_what_only_waits_for_redis_is_exported_and_erased_too(whose: str, opened: Opened, tmp_path: Path) -> None:
    """Redis is away from the first turn on."""
    port = free_port()
    memory = opened(wait=False, redis_url=f"redis://127.0.0.1:{port}/0")
    talk(memory, 1, 2)
    memory.remember("acme", "s1", "colour", "blue", turn=2)
    [exported] = memory.export("acme")["memories"]
    assert [each["question"] for each in exported["state"]["short"]] == [
        "My item 1 costs $100.",
        "My item 2 costs $200.",
    ]
    assert exported["state"]["entities"] == [{"key": "colour", "value": "blue", "turn": 2}]
    if whose == "session":
        memory.erase("acme", "s1", last=2)
    else:
        assert memory.erase_user("acme") == 1
    assert memory.export("acme")["memories"] == []
    with valkey(tmp_path, port):
        assert memory.wait(10)
        talk(memory, 1, 2, 3)  # the conversation goes on, and brings its path along
        view = memory.context("acme", "s1", "en")
        assert [turn.number for turn in view.short] == [3]
        assert view.entities == ()


def test_what_only_waits_for_a_session_that_is_gone_is_cleared_up(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.portable.ORPHAN_SECONDS", -1.0)
    memory = opened(wait=False, redis_url=f"redis://127.0.0.1:{free_port()}/0")
    talk(memory, 1)
    talk(memory, 1, session="s2")
    assert memory.cleanup("acme", lambda session: session == "s2")["orphans"] == 1
    assert [each["session"] for each in memory.export("acme")["memories"]] == ["s2"]


@pytest.mark.usefixtures("impatient")
def test_a_second_erasure_while_redis_is_away_does_not_undo_the_first(opened: Opened, tmp_path: Path) -> None:
    """A session's memory is erased, then the session deleted: what it left with the user goes all the same."""
    port = free_port()
    with valkey(tmp_path, port, "--appendonly", "yes") as process:
        memory = opened(redis_url=f"redis://127.0.0.1:{port}/0")
        talk(memory, *range(1, 7))
        fold(memory)
        assert memory.settle(10)
        os.kill(process.pid, signal.SIGSTOP)
        memory.erase("acme", "s1", last=6)
        memory.erase("acme", "s1")
        os.kill(process.pid, signal.SIGCONT)
        assert memory.wait(10)
        assert "$500" not in memory.context("acme", "new", "en").text


# --- changes by hand over what earlier sessions left ----------------------------------------------


def inherited(memory: Memory) -> None:
    """A session «s2» that shows what «s1» left."""
    talk(memory, *range(1, 7))
    fold(memory)
    assert memory.context("acme", "s2", "en").from_user


def test_an_edit_of_an_inherited_memory_keeps_the_rest_of_it_and_reaches_the_user(memory: Memory) -> None:
    inherited(memory)
    memory.edit("acme", "s2", "The user buys items.")
    view = memory.context("acme", "s2", "en")
    assert (view.text, view.version, view.from_user) == ("The user buys items.", 1, False)
    assert view.entity_text.startswith("item 1: $100")
    assert "$500" in memory.context("acme", "s1", "en").text
    assert [due.session for due in memory.due("acme", "s2")] == ["s2"]
    memory.fold("acme", "s2", models=saying(), language="en")
    assert of_user(memory) == "The user buys items."


def test_an_inherited_entity_can_be_removed_and_the_change_undone(memory: Memory) -> None:
    inherited(memory)
    assert "item 2" not in memory.remove_entity("acme", "s2", "item 2").entity_text
    assert "item 2" in memory.undo("acme", "s2").entity_text
    assert memory.context("acme", "s2", "en").from_user


def test_an_inherited_pin_can_be_taken_off(memory: Memory) -> None:
    memory.pin("acme", "s1", "My item 2 costs $200.")
    inherited(memory)
    assert memory.context("acme", "s2", "en").pins == ("My item 2 costs $200.",)
    assert memory.unpin("acme", "s2", "My item 2 costs $200.").pins == ()
    assert memory.context("acme", "s1", "en").pins == ("My item 2 costs $200.",)


def test_what_is_forgotten_leaves_an_inherited_memory_at_once(memory: Memory) -> None:
    inherited(memory)
    forget(memory, "item 3", 1, "s2")
    view = memory.context("acme", "s2", "en")
    assert "$300" not in view.text + view.entity_text
    assert "$200" in view.text


def test_a_user_who_does_not_carry_starts_afresh_and_leaves_nothing(memory: Memory) -> None:
    inherited(memory)
    memory.set_carries("acme", False)
    assert not memory.carries("acme")
    assert memory.carries("other")
    assert memory.context("acme", "s2", "en").text == ""
    talk(memory, *range(11, 17), session="s2")
    fold(memory, "s2")
    assert "$100" not in memory.context("acme", "s2", "en").text
    assert memory.due("acme", "s2") == []
    memory.set_carries("acme", True)
    left = memory.context("acme", "s3", "en").text
    assert "$500" in left
    assert "$1100" not in left


def test_erasing_everything_leaves_the_switch_as_it_was(memory: Memory) -> None:
    inherited(memory)
    memory.set_carries("acme", False)
    memory.erase_user("acme")
    assert not memory.carries("acme")
    memory.set_carries("acme", True)
    assert memory.context("acme", "s2", "en").text == ""


# --- the path of the conversation -----------------------------------------------------------------


def path(last: int, changed: int) -> list[MemoryTurn]:
    """A conversation up to this turn; from turn ``changed`` on it has other words."""
    prices = {number: number * (100 if number < changed else 1000) for number in range(1, last + 1)}
    return [MemoryTurn(number, f"My item {number} costs ${price}.", "Noted.") for number, price in prices.items()]


def commands(memory: Memory, session: str, turns: list[MemoryTurn], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often Redis is asked while the memory comes in line with these turns."""
    asked: list[object] = []
    within = Link.within

    def counted(self: Link, *args: Any, **named: Any) -> Any:
        asked.append(args)
        return within(self, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Link, "within", counted)
        assert memory.follow("acme", session, lambda first: turns[first - 1 :], len(turns))
    return len(asked)


def test_going_back_over_many_versions_takes_no_longer_than_over_one(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(memory, *range(1, 127))
    fold(memory)
    assert memory.settle(10)
    assert len(memory.versions("acme", "s1")) == 25  # more than Redis keeps
    few = commands(memory, "s1", path(122, changed=122), monkeypatch)
    assert memory.context("acme", "s1").version == 24
    assert commands(memory, "s1", path(7, changed=7), monkeypatch) <= few < 12
    view = memory.context("acme", "s1", "en", count=lambda text: 0)
    assert (view.version, [turn.number for turn in view.short][-2:]) == (1, [6, 7])
    assert "$500" in view.whole
    assert "$600" not in view.whole + view.entity_text
    assert view.short[-1].question == "My item 7 costs $7000."
    memory.settle(10)
    assert [each.number for each in memory.versions("acme", "s1")] == [1]


def test_going_back_over_several_versions_takes_all_of_them_out_of_the_users_memory(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for last in (6, 11, 16):
        talk(memory, *range(last - 5 if last == 6 else last - 4, last + 1))
        fold(memory)
    assert "$1500" in memory.context("acme", "new", "en").text
    assert memory.follow("acme", "s1", lambda first: path(7, changed=7)[first - 1 :], 7)
    view = memory.context("acme", "new", "en", count=lambda text: 0)
    assert "$500" in of_user(memory)
    assert "$600" not in of_user(memory) + view.entity_text
    assert "$1500" not in view.whole + view.entity_text
    memory.settle(10)
    assert memory.follow("acme", "s1", lambda first: path(2, changed=2)[first - 1 :], 2)
    assert of_user(memory) == ""
    assert memory.context("acme", "new", "en").text == "earlier: My item 1 costs $100 · My item 2 costs $2000"
