"""A private conversation leaves nothing behind: every byte of the data folder and of Valkey is looked through."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from errors import SessionBusy
from graph.turn.agent import private_agent
from tests.graph import killed
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready, settled, tell
from tests.graph.talk import done, prompts, say
from tests.process import end, start

MARKER = "Zanzibar-4711-private"


def holding(folder: Path) -> list[str]:
    """Files that hold the marker: databases with their logs, the append-only files of the server, its log."""
    return [str(each) for each in folder.rglob("*") if each.is_file() and MARKER.encode() in each.read_bytes()]


def test_nothing_of_it_is_on_disk_or_in_redis_or_in_another_conversation(agent: OpenAgent, tmp_path: Path) -> None:
    shared = ready(agent(noting, folding, memory=True))
    before = shared.store.create_session("en", 0.3).id
    tell(shared, before, range(1, 7))
    private = private_agent(shared)
    own = private.store.create_session("en", 0.3).id
    for number in range(1, 9):
        done(say(private, own, f"My secret {number} is {MARKER}-{number}."))
        settled(private)
    assert "$100" not in str(prompts(private)[-1]), "nor does it know what others told"
    assert f"{MARKER}-7" in str(prompts(private)[-1])
    assert [each.turns for each in private.store.ledger.summaries(own)] == [[1, 2, 3], [4, 5, 6]]
    done(list(private.again(own, 8, f"Rather {MARKER}.")))
    assert [each.id for each in shared.store.sessions()] == [before]
    assert shared.store.search(MARKER) == []
    assert shared.memory is not None
    assert MARKER not in str(shared.memory.export_user(shared.tenant))
    assert holding(tmp_path) == []
    private.close()
    tell(shared, before, [7])
    assert MARKER not in str(prompts(shared)[-1])
    assert holding(tmp_path) == []
    done(say(shared, before, f"This is for everybody: {MARKER}."))
    settled(shared)
    assert len(holding(tmp_path)) > 1, "the search finds what is kept"


def test_one_session_takes_one_turn_at_a_time(agent: OpenAgent) -> None:
    private = private_agent(agent())
    own = private.store.create_session("en", 0.3).id
    with private.lock.hold(own), pytest.raises(SessionBusy):
        say(private, own, "Hello there, who are you?")
    done(say(private, own, "Hello there, who are you?"))
    private.close()


def test_nothing_is_left_after_a_kill_in_the_middle_of_an_answer(agent: OpenAgent, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert end(start(killed.private, str(folder), MARKER)) == -signal.SIGKILL
    again = ready(agent(noting, folding, memory=True))
    assert again.memory is not None
    assert MARKER not in str(again.memory.export_user(again.tenant))
    assert again.store.sessions() == []
    again.close()
    assert holding(tmp_path) == []
