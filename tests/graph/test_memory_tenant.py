"""Two installations, each with a database of its own, on one Redis: with a tenant each they share nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph.turn.agent import Agent
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, fact, folding, noting, ready, remembered, settled, tell
from tests.graph.talk import calling, done, prompts, say
from tests.graph.test_memory_path import new
from tests.memory.conftest import free_port, valkey


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    with valkey(tmp_path, port):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture
def first(agent: OpenAgent, redis_url: str, tmp_path: Path) -> tuple[Agent, str]:
    """The installation «one», with a conversation that is folded, and that conversation."""
    bot = ready(agent(noting, folding, memory=True, redis_url=redis_url, tenant="one", data_dir=tmp_path / "one"))
    own = new(bot)
    tell(bot, own, range(1, 7))
    assert "item 5: $500" in remembered(bot, own)
    assert bot.memory is not None
    return bot, own


def second(agent: OpenAgent, redis_url: str, folder: Path, chat: object = noting) -> Agent:
    return ready(agent(chat, folding, memory=True, redis_url=redis_url, tenant="two", data_dir=folder / "two"))


def test_what_one_has_been_told_reaches_no_context_tool_export_or_archive_of_the_other(
    agent: OpenAgent, redis_url: str, tmp_path: Path, first: tuple[Agent, str]
) -> None:
    bot = second(agent, redis_url, tmp_path, [calling("recall", query="item 5"), "I do not know.", *["Noted."] * 8])
    memory = bot.memory
    assert memory is not None
    own = new(bot)
    done(say(bot, own, "What do you know about item 5?"))
    done(say(bot, own, "My item 9 costs $9."))
    settled(bot)
    assert "$500" not in "".join(text for prompt in prompts(bot) for text in asked(prompt))
    (step,) = bot.store.turn(own, 1).steps  # type: ignore[union-attr]
    assert step["result"] == "Nothing about «item 5» was found in what was said before."
    assert memory.folds.list_due(bot.tenant) == []
    tell(bot, own, range(10, 16))
    (exported,) = memory.export_user(bot.tenant)["memories"]
    assert exported["session"] == own
    assert "$500" not in json.dumps(exported)


def test_cleaning_up_and_erasing_in_one_leaves_the_other_as_it_was(
    agent: OpenAgent, redis_url: str, tmp_path: Path, first: tuple[Agent, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.eraser.ORPHAN_SECONDS", -1.0)
    theirs, told = first
    bot = second(agent, redis_url, tmp_path)
    assert bot.memory is not None
    assert theirs.memory is not None
    before = remembered(theirs, told), theirs.memory.reader.read_ttl("one", told)
    assert bot.memory.eraser.clean_up(bot.tenant) == {"orphans": 0, "leftovers": 0}
    assert bot.memory.eraser.erase_user(bot.tenant) == 0
    bot.memory.eraser.erase_session(bot.tenant, told)
    assert remembered(theirs, told) == before[0]
    done(say(theirs, told, fact(7)))
    assert "item 5: $500" in "".join(asked(prompts(theirs)[-1]))


def test_a_time_to_live_of_one_is_not_put_on_the_keys_of_the_other(
    agent: OpenAgent, redis_url: str, tmp_path: Path
) -> None:
    forever = ready(
        agent(noting, folding, memory=True, redis_url=redis_url, tenant="one", data_dir=tmp_path / "one", memory_ttl=0)
    )
    own = new(forever)
    tell(forever, own, [1])
    bot = second(agent, redis_url, tmp_path)
    assert bot.memory is not None
    bot.memory.eraser.clean_up(bot.tenant)
    assert forever.memory is not None
    assert forever.memory.reader.read_ttl("one", own) is None
