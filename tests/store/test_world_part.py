"""Stories as files: their texts, branches and worlds come back; a file with anything else is refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from errors import BadConversation, DiskFull
from store import Store
from store.export import portable
from store.export.portable import LIMIT, dump_json, import_conversations, render_session_json
from store.export.transcript import render_transcript
from store.world.record import Changes, Character, Episode, LoreEntry, LoreMark, NewNode, StoryNode, StoryTime, UsedItem
from world.story.story import Stories

GREETING = "어서 오게."


@pytest.fixture
def opened(database: str | None, tmp_path: Path) -> Iterator[Store]:
    store = Store(database or f"sqlite:///{tmp_path / 'gieok.db'}")
    yield store
    store.close()


def tell(store: Store) -> str:
    """A story of four turns with a greeting, a swipe at turn 2 and a lorebook; returns its conversation."""
    world = store.worlds.create("안개 나루", "ko", "나루지기")
    (entry,) = store.worlds.put_lore(world.id, [LoreEntry(0, "등불 탑", "돌탑", keys=("탑",))])
    store.worlds.set_begin_state(world.id, Changes((Character("도윤", "나루터", 60),)))
    greeting = store.worlds.add(world.id, None, NewNode("", (GREETING,), GREETING, "given", tokens=9))
    first = turn(store, greeting, "하나", "첫 답", entry.id)
    turn(store, first, "둘", "다른 답", entry.id)
    second = turn(store, first, "둘", "둘째 답", entry.id)
    turn(store, turn(store, second, "셋", "셋째 답", entry.id), "넷", "넷째 답", entry.id)
    return greeting.session


def turn(store: Store, parent: StoryNode, question: str, answer: str, lore: int) -> StoryNode:
    node = store.worlds.add(parent.world, parent, NewNode(question, (answer,), f"{answer}\n…", "raw", tokens=9))
    changes = Changes(
        (Character("나루지기", f"곳 {answer}", 90),),
        lore=(LoreMark(lore, f"{answer}의 탑", None, node.turn),),
        used=(UsedItem("등불"),),
        times=(StoryTime(f"{node.turn}일째", answer),),
        mood=answer,
        episode=Episode(node.turn, f"곳 {answer}", "이동", importance=0.5),
    )
    assert store.worlds.settle(node.id, changes, origin="block", block={"mood": "x"}, refusals=["아니다"])
    return store.worlds.node(node.id)


def last_of(store: Store, session_id: str) -> StoryNode:
    node = store.worlds.last_before(session_id, 99)
    assert node is not None
    return node


def read_in(store: Store, data: str) -> str:
    (made,) = import_conversations(store, data.encode(), LIMIT, lambda _: 9).sessions
    return made


@pytest.mark.parametrize("branches", [True, False])
def test_a_story_comes_back_with_its_world(opened: Store, branches: bool) -> None:
    told = tell(opened)
    made = read_in(opened, render_session_json(opened, told, branches))
    old, new = last_of(opened, told), last_of(opened, made)
    assert opened.session(made).turn_count == 4
    assert (new.world == old.world, opened.worlds.world(new.world).name) == (False, "안개 나루")
    assert [(one.number, one.answer) for one in opened.turns(made)] == [
        (one.number, one.answer) for one in opened.turns(told)
    ]
    states = Stories(opened.worlds)
    mine, theirs = (states.state(one, opened.worlds.world(one.world)) for one in (old, new))
    assert (theirs.characters, theirs.mood, theirs.turn) == (mine.characters, mine.mood, 4)
    assert theirs.time == mine.time == StoryTime("4일째", "넷째 답")
    assert [one.line for one in theirs.recent] == [one.line for one in mine.recent]
    (entry,) = opened.worlds.lore(new.world)
    assert theirs.lore[entry.id].content == "넷째 답의 탑"
    assert (new.raw, new.origin, new.block, new.refusals) == (old.raw, "block", {"mood": "x"}, ("아니다",))
    versions = opened.tree.alternatives(made, range(5))
    assert {number: len(one.branches) for number, one in versions.items()} == ({2: 2} if branches else {})
    following = opened.worlds.add(new.world, new, NewNode("다섯", ("그래.",), "그래.", "raw"))
    assert (following.session, following.turn) == (made, 5)


def test_an_imported_story_exported_again_is_the_same_file(opened: Store) -> None:
    first = json.loads(render_session_json(opened, tell(opened)))
    again = json.loads(render_session_json(opened, read_in(opened, json.dumps(first))))
    for data in (first, again):
        data["session"].pop("id")
        for entry in data["world"]["lore"]:
            entry["id"] = 1
        for one in data["world"]["turns"]:
            for mark in one["changes"].get("lore", ()):
                mark["lore"] = 1
            one["changes"].get("episode", {}).pop("node", None)
    assert again == first


def test_a_story_as_markdown_begins_with_its_greeting(opened: Store) -> None:
    text = render_transcript(opened, tell(opened), "ko", None)
    assert GREETING in text
    assert text.index(GREETING) < text.index("첫 답")


def _strange(data: dict[str, Any]) -> None:
    data["world"]["turns"][0]["changes"] = {"characters": [{"name": 7}]}


def _long(data: dict[str, Any]) -> None:
    data["world"]["turns"][0]["changes"] = {"characters": [{"name": "x" * 201}]}


def _nowhere(data: dict[str, Any]) -> None:
    data["world"]["turns"][0]["number"] = 77


def _worldless(data: dict[str, Any]) -> None:
    del data["world"]


@pytest.mark.parametrize("spoil", [_strange, _long, _nowhere, _worldless])
def test_a_file_that_is_no_story_is_refused_and_leaves_nothing(
    opened: Store, spoil: Callable[[dict[str, Any]], None]
) -> None:
    data = json.loads(render_session_json(opened, tell(opened)))
    spoil(data)
    with pytest.raises(BadConversation):
        read_in(opened, dump_json(data))
    assert len(opened.sessions()) == len(opened.worlds.all()) == 1


def test_an_import_that_fails_halfway_leaves_no_world(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    data = render_session_json(opened, tell(opened), True)
    worlds, write, written = opened.worlds.all(), portable._write_session, list[str]()

    def write_one_and_fail(connection: Any, form: Any, session_id: str, check: Any) -> None:
        if written:
            raise DiskFull(path="x", needed="more", free="none")
        write(connection, form, session_id, check)
        written.append(session_id)

    monkeypatch.setattr(portable, "_write_session", write_one_and_fail)
    checked = portable.read_conversations(data.encode(), LIMIT, lambda _: 9).conversations
    with pytest.raises(DiskFull):
        portable.create_imported_sessions(opened, [*checked, *checked])
    assert len(written) == 1
    assert opened.worlds.all() == worlds
