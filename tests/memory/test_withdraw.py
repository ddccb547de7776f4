"""A deleted conversation is forgotten: exactly what only it told, and all of that comes back with it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import redis

from memory import Memory
from memory.key import Scope
from tests.memory import process
from tests.memory.conftest import Opened
from tests.memory.models import good, reply, saying, small
from tests.memory.test_carry import told, two
from tests.memory.test_memory import fold, forget, of_user, talk

MINE, THEIRS = "item 3 costs $300", "item 13 costs $1300"


def delete(memory: Memory, session: str = "s1", forget: bool | None = True) -> bool:
    """As ``Agent.put_away`` and, with None, ``Agent.restore`` do."""
    with memory._store.transaction() as connection:
        memory.deleting("acme", session, forget)(connection)
    return memory.settle_deleted("acme", session)


def state(memory: Memory, session: str = "") -> Any:
    return memory._link.run(lambda client: memory._redis.look(client, Scope("acme", session, "" if session else "me")))


def kept(memory: Memory, text: str) -> list[str]:
    """The memories, but the deleted one's, whose text or versions hold this, in Redis or in the archive."""
    assert memory.settle(10)
    sessions = ("", "s2", "s3")
    found = [session for session in sessions if text in str(state(memory, session))]
    archive = memory._archive
    scopes = {session: Scope("acme", session, "" if session else "me") for session in sessions}
    return found + [
        f"archived {session}"
        for session, scope in scopes.items()
        if text in str([archive.load(scope), archive.versions(scope, undone=True)])
    ]


def test_what_only_the_deleted_session_told_is_nowhere_and_comes_back_exactly(memory: Memory) -> None:
    two(memory)  # the second one started from the first
    talk(memory, *range(21, 27), session="s3")
    fold(memory, "s3")
    assert memory.settle(10)
    before = [state(memory, session)[0] for session in ("", "s2", "s3")]
    versions = [memory.versions("acme", session) for session in ("s2", "s3")]
    assert delete(memory)
    for number in range(1, 7):
        assert kept(memory, f"item {number} costs ${number}00.") == []
        assert kept(memory, f"'item {number}'") == []
    assert all(f"item {number} costs ${number}00." in told(memory) for number in (*range(11, 17), *range(21, 26)))
    assert MINE not in str(memory.recall("acme", "s2", MINE))
    assert delete(memory, forget=None)
    after = [state(memory, session)[0] for session in ("", "s2", "s3")]
    assert [each.text for each in after] == [each.text for each in before]
    assert [sorted(each.line for each in one.entities) for one in after] == [
        sorted(each.line for each in one.entities) for one in before
    ]
    assert [memory.versions("acme", session) for session in ("s2", "s3")] == versions
    assert memory._archive.withheld("acme", "me") == []


def test_what_another_conversation_told_too_stays(memory: Memory) -> None:
    two(memory)
    memory.note_turn("acme", "s2", 17, f"My {MINE}.", "Noted.")
    assert delete(memory)
    assert MINE in told(memory)
    assert "item 4 costs $400" not in told(memory)
    assert delete(memory, "s2")
    assert MINE not in told(memory), "the other one that told it is deleted, too"
    assert delete(memory, forget=None)
    assert MINE in told(memory), "this one told it"
    assert THEIRS not in told(memory)


def test_an_answer_that_repeats_what_memory_gave_does_not_tell_it(memory: Memory) -> None:
    two(memory)
    memory.note_turn("acme", "s2", 17, "What does the third item cost?", f"Your {MINE}.")
    assert delete(memory)
    assert MINE not in of_user(memory)


def test_a_session_that_took_over_what_others_told_takes_nothing_of_theirs_along(memory: Memory) -> None:
    """Neither their lines, nor their values, nor their pins."""
    memory.pin("acme", "s1", "The user is called Ann.")
    two(memory)
    memory.pin("acme", "s2", "The user has a dog.")
    assert delete(memory, "s2")
    view = memory.context("acme", "new", "en")
    assert view.pins == ("The user is called Ann.",)
    assert MINE in told(memory)
    assert "item 3: $300" in told(memory)
    assert THEIRS not in told(memory)
    assert delete(memory, "s2", None)
    assert set(memory.context("acme", "new", "en").pins) == {"The user is called Ann.", "The user has a dog."}


@pytest.mark.parametrize("models", [good, small])
def test_turns_that_no_fold_has_taken_are_not_told_to_a_new_session(memory: Memory, models: Any) -> None:
    talk(memory, *range(1, 4))
    assert memory.settle(10)
    assert MINE in told(memory)
    assert delete(memory)
    assert MINE not in told(memory)
    assert memory.settle(10)
    for due in [*memory.due("acme", "new"), *memory.due_all("acme")]:
        memory.fold("acme", due.session, models=models(), language="en", rest=True)
    assert of_user(memory) == ""
    assert delete(memory, forget=None)
    assert MINE in told(memory)


def test_a_line_that_a_model_made_of_two_conversations_leaves_and_the_other_one_s_words_stay(memory: Memory) -> None:
    memory.note_turn("acme", "s1", 1, "My budget is $4000.", "Noted.")
    memory.fold("acme", "s1", models=saying(reply("The user has $4000.")), language="en", rest=True)
    memory.note_turn("acme", "s2", 1, "I travel to Lisbon on 2027-05-03.", "Noted.")
    joined = reply("The user travels to Lisbon on 2027-05-03 with $4000.")
    memory.fold("acme", "s2", models=saying(joined, joined), language="en", rest=True)
    assert "Lisbon on 2027-05-03 with $4000" in of_user(memory)
    assert delete(memory)
    assert "4000" not in of_user(memory)
    assert "I travel to Lisbon on 2027-05-03." in of_user(memory)
    assert delete(memory, forget=None)
    assert "Lisbon on 2027-05-03 with $4000" in of_user(memory)


def test_what_was_forgotten_since_does_not_come_back(memory: Memory) -> None:
    two(memory)
    assert delete(memory)
    memory.drop("acme", "s2", [f"User said: My {MINE}.", "item 3: $300"], turn=16)
    assert delete(memory, forget=None)
    assert MINE not in told(memory)
    assert "item 3: $300" not in told(memory)
    assert "item 4 costs $400" in told(memory)


def test_what_was_erased_with_everything_does_not_come_back(memory: Memory) -> None:
    two(memory)
    assert memory.settle(10)
    assert delete(memory)
    memory.erase_user("acme")
    assert delete(memory, forget=None)
    assert told(memory).strip() == ""


def test_what_was_told_anew_since_is_there_once(memory: Memory) -> None:
    two(memory)
    assert delete(memory)
    memory.note_turn("acme", "s2", 17, f"My {MINE}.", "Noted.")
    memory.fold("acme", "s2", models=good(), language="en", rest=True)
    assert delete(memory, forget=None)
    assert of_user(memory).count(MINE) == 1


def test_erasing_for_good_leaves_nothing_that_could_be_put_back(memory: Memory, tmp_path: Path) -> None:
    two(memory)
    assert memory.settle(10)
    assert delete(memory)
    assert memory.forgets("acme", "s1") is True
    assert THEIRS in told(memory)
    memory.erase("acme", "s1")
    assert memory._archive.withheld("acme", "me") == []
    assert memory.forgets("acme", "s1") is None
    assert delete(memory, forget=None)
    assert MINE not in told(memory)
    assert THEIRS in told(memory)


def test_erasing_one_also_leaves_what_waits_to_come_back_with_another(memory: Memory) -> None:
    two(memory)
    assert memory.settle(10)
    assert delete(memory, "s2")
    memory.erase("acme", "s1")
    assert MINE not in str(memory._archive.withheld("acme", "me"))
    assert delete(memory, "s2", None)
    assert MINE not in told(memory)
    assert THEIRS in told(memory)


def test_whoever_wants_it_kept_keeps_it_also_when_the_conversation_goes_for_good(memory: Memory) -> None:
    two(memory)
    assert memory.settle(10)
    assert delete(memory, forget=False)
    assert MINE in told(memory)
    memory.erase("acme", "s1", forget=False)
    assert MINE in told(memory)


def test_memories_that_have_left_redis_are_reached_in_the_archive(memory: Memory, tcp: str) -> None:
    two(memory)
    assert memory.settle(10)
    client = redis.Redis.from_url(tcp)
    client.flushall()  # as the time to live does
    client.close()
    assert delete(memory)
    assert kept(memory, MINE) == []
    assert MINE not in told(memory)
    assert THEIRS in told(memory)
    memory.erase("acme", "s2")
    assert THEIRS not in told(memory)


def test_while_redis_is_away_it_waits_and_is_done_before_anybody_reads(opened: Opened) -> None:
    memory = opened()
    two(memory)
    assert memory.settle(10)
    memory.close()
    away = opened(redis_url="redis://127.0.0.1:1", wait=False)
    assert delete(away) is False
    away.close()
    back = opened()
    assert MINE not in told(back)
    back.close()
    away = opened(redis_url="redis://127.0.0.1:1", wait=False)
    assert delete(away, forget=None) is False
    assert delete(away) is False
    assert delete(away, forget=None) is False
    away.close()
    assert MINE in told(opened())


@pytest.mark.parametrize("step", ["answered", "apart", "owner"])
@pytest.mark.parametrize("back", [False, True])
def test_a_start_completes_what_a_kill_cut_off(step: str, back: bool, opened: Opened, tcp: str, tmp_path: Path) -> None:
    memory = opened()
    two(memory)
    assert memory.settle(10)
    before = of_user(memory)
    if back:
        assert delete(memory)
    killed = process.start(process.delete_until, step, tcp, tmp_path / "data", "s1", None if back else True)
    killed.join(30)
    assert killed.exitcode == -signal.SIGKILL
    again = opened()
    assert (MINE in told(again)) == back
    assert THEIRS in told(again)
    if not back:
        assert delete(again, forget=None)
    assert of_user(again) == before


def test_a_fold_under_way_does_not_bring_it_back(memory: Memory) -> None:
    two(memory)
    talk(memory, *range(21, 27), session="s3")
    assert memory.settle(10)
    gone: list[bool] = []

    def step(name: str) -> None:
        if name == "made" and not gone:  # it was made from what the user's memory held
            gone.append(delete(memory))

    assert memory.fold("acme", "s3", models=good(), language="en", step=step).status == "busy"
    fold(memory, "s3")
    assert gone == [True]
    assert kept(memory, MINE) == []
    assert "item 25 costs $2500" in told(memory)


# --- kept apart from the beginning --------------------------------------------------------------


def test_a_session_that_is_kept_apart_neither_gets_nor_gives(opened: Opened) -> None:
    memory = opened()
    memory.keep_apart("acme", "s2")
    two(memory)
    view = memory.context("acme", "s2", "en", count=lambda text: 0)
    assert view.apart
    assert THEIRS in view.whole
    assert MINE not in view.whole
    assert THEIRS not in told(memory)
    memory.pin("acme", "s2", "The user is called Ann.")
    assert memory.context("acme", "s3", "en").pins == ()
    assert MINE not in str(memory.recall("acme", "s2", MINE))
    forget(memory, "item 3", 16, "s2")
    assert MINE in told(memory), "forgetting there is no forgetting elsewhere"
    talk(memory, 17, session="s2")
    assert memory.settle(10)
    assert "item 17" not in told(memory), "nor does what waits there"
    memory.erase("acme", "s2", last=17)
    talk(memory, 18, session="s2")
    assert memory.context("acme", "s2", "en").apart
    assert "item 18" not in told(memory)
    assert memory.fork("acme", "s2", "s4")
    assert memory.context("acme", "s4", "en").apart


def test_it_is_kept_apart_though_redis_is_away_when_it_begins(opened: Opened) -> None:
    memory = opened()
    talk(memory, *range(1, 7))
    fold(memory)
    memory.close()
    away = opened(redis_url="redis://127.0.0.1:1", wait=False)
    away.keep_apart("acme", "s2")
    talk(away, *range(11, 14), session="s2")
    away.fork("acme", "s2", "s3")
    away.close()
    back = opened()
    for session in ("s2", "s3"):
        assert back.context("acme", session, "en").apart
        assert MINE not in back.context("acme", session, "en").whole
    assert THEIRS not in told(back)


def test_the_choice_is_in_the_database_at_once(opened: Opened, tcp: str) -> None:
    memory = opened()
    memory.keep_apart("acme", "s2")
    client = redis.Redis.from_url(tcp)
    client.flushall()  # the server lost its last second
    client.close()
    assert memory.context("acme", "s2", "en").apart
