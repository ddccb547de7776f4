"""ChatGPT's export: which of its messages become turns, which trees become branches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.turn.agent import Agent, open_agent
from model import scripted
from settings import load_settings
from store import Store
from store.export import portable
from store.export.program.chat import MOST_BRANCHES
from tests.graph.talk import answer as reply
from tests.graph.talk import answering, done, prompts, raw, say, summarising, topic
from tests.graph.talk import question as ask

LIMIT = 10_000_000


class Tree:
    """Builds a conversation as their export has it."""

    def __init__(self, title: str | None = "제목", moment: float = 1.7e9) -> None:
        self.nodes: dict[str, dict[str, Any]] = {
            "root": {"id": "root", "message": None, "parent": None, "children": []}
        }
        self.title, self.moment, self.last = title, moment, "root"

    def add(self, role: str, *parts: Any, to: str | None = None, kind: str = "text", **more: Any) -> str:
        """A message below the last one, or below ``to``; returns its id."""
        name, parent = f"node-{len(self.nodes)}", to or self.last
        message = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": self.moment + len(self.nodes),
            "content": {"content_type": kind, "parts": list(parts)},
            "status": "finished_successfully",
            "recipient": "all",
            "metadata": {},
            **more,
        }
        self.nodes[name] = {"id": name, "message": message, "parent": parent, "children": []}
        self.nodes[parent]["children"].append(name)
        self.last = name
        return name

    def plain(self, **changed: Any) -> dict[str, Any]:
        whole = {"title": self.title, "create_time": self.moment, "update_time": self.moment + 99, "id": "x"}
        return {**whole, "mapping": self.nodes, "current_node": self.last, **changed}


def brought(store: Store, *chats: dict[str, Any]) -> portable.ImportedSessions:
    return portable.import_conversations(store, json.dumps(list(chats)).encode(), LIMIT, len)


def turns(store: Store, session: str) -> list[tuple[str, str | None]]:
    return [(turn.question, turn.answer) for turn in store.turns(session)]


def test_questions_and_answers_become_turns(store: Store) -> None:
    tree = Tree("부산 여행")
    for number in (1, 2):
        tree.add("user", f"질문 {number}")
        tree.add("assistant", f"답 {number}")
    (own,) = brought(store, tree.plain()).sessions
    assert turns(store, own) == [("질문 1", "답 1"), ("질문 2", "답 2")]
    session = store.session(own)
    assert (session.title, session.titled, session.language) == ("부산 여행", "user", "ko")
    assert (session.created, session.updated) == (1.7e9, 1.7e9 + 99)
    assert session.history_tokens == 2 * 2, "two turns of two messages"


def test_several_conversations_become_several_sessions_newest_first(store: Store) -> None:
    chats = []
    for number in range(3):
        tree = Tree(f"{number}", 1.7e9 + number * 1000)
        tree.add("user", "q")
        tree.add("assistant", "a")
        chats.append(tree.plain())
    made = brought(store, *chats, Tree("비어 있음").plain())
    assert [store.session(own).title for own in made.sessions] == ["0", "1", "2"]
    assert [session.title for session in store.sessions()] == ["2", "1", "0"]
    assert made.empty == ("비어 있음",)
    assert [hit.title for hit in store.search("q")] == ["2", "1", "0"]


def test_conversations_of_one_time_stand_in_the_order_of_their_file(store: Store) -> None:
    chats = []
    for number in range(12):
        tree = Tree(f"{number}")
        tree.add("user", "q")
        tree.add("assistant", "a")
        chats.append(tree.plain())
    brought(store, *chats)
    assert [session.title for session in store.sessions()] == [str(number) for number in range(12)]


def test_one_conversation_alone_is_taken_too(store: Store) -> None:
    tree = Tree()
    tree.add("user", "q")
    tree.add("assistant", "a")
    data = json.dumps(tree.plain()).encode()
    assert len(portable.import_conversations(store, data, LIMIT, len).sessions) == 1


def test_what_nobody_saw_is_skipped(store: Store) -> None:
    tree = Tree()
    tree.add("system", "system text")
    tree.add("user", "about me", kind="user_editable_context")
    tree.add("user", "hidden", metadata={"is_visually_hidden_from_conversation": True})
    tree.add("assistant", "before any question")
    tree.add("user", "Draw a cat", {"content_type": "image_asset_pointer", "asset_pointer": "file://x"})
    tree.add("assistant", "thinking", kind="thoughts")
    tree.add("assistant", "search('cat')", recipient="web")
    tree.add("tool", "results")
    tree.add("assistant", "print(1)", kind="code")
    tree.add("assistant", "First I looked.")
    tree.add("tool", "more")
    tree.add("assistant", "Here it is.", "", kind="multimodal_text")
    (own,) = brought(store, tree.plain()).sessions
    assert turns(store, own) == [("Draw a cat", "First I looked.\n\nHere it is.")]


def test_a_question_without_an_answer_can_be_retried(store: Store) -> None:
    tree = Tree()
    tree.add("user", "one")
    tree.add("user", "two")
    tree.add("assistant", "answer to two")
    (own,) = brought(store, tree.plain()).sessions
    first, second = store.turns(own)
    assert (first.status, first.answer, (first.error or {})["code"]) == ("failed", None, "interrupted")
    assert (second.status, second.answer) == ("done", "answer to two")


def test_edited_questions_and_other_answers_become_branches(store: Store) -> None:
    tree = Tree()
    first = tree.add("user", "q1")
    answer = tree.add("assistant", "a1")
    tree.add("user", "q2 old")
    tree.add("assistant", "a2 old")
    tree.add("assistant", "a1 other", to=first)
    tree.add("user", "q2 new", to=answer)
    tree.add("assistant", "a2 new")
    (own,) = brought(store, tree.plain()).sessions
    assert turns(store, own) == [("q1", "a1"), ("q2 new", "a2 new")]
    found = store.tree.alternatives(own, [1, 2])
    assert (found[1].branches, found[1].current) == ((0, 1), 0)
    assert (found[2].branches, found[2].current) == ((0, 2), 0)
    store.tree.switch(own, 2, 2)
    assert turns(store, own) == [("q1", "a1"), ("q2 old", "a2 old")]
    store.tree.switch(own, 1, 1)
    assert turns(store, own) == [("q1", "a1 other")]


def test_of_a_bush_the_open_path_and_the_newest_ones_are_taken(store: Store) -> None:
    tree = Tree()
    first = tree.add("user", "q1")
    for number in range(MOST_BRANCHES + 1):
        tree.add("assistant", f"a{number}", to=first)
    (own,) = brought(store, tree.plain()).sessions
    assert turns(store, own) == [("q1", f"a{MOST_BRANCHES}")]
    assert len(store.tree.alternatives(own, [1])[1].branches) == MOST_BRANCHES


@pytest.mark.parametrize("changed", [{"current_node": None}, {"current_node": "gone"}])
def test_without_an_open_path_the_newest_is_taken(store: Store, changed: dict[str, Any]) -> None:
    tree = Tree()
    first = tree.add("user", "q1")
    tree.add("assistant", "older", to=first)
    tree.add("assistant", "newer", to=first)
    (own,) = brought(store, tree.plain(**changed)).sessions
    assert turns(store, own) == [("q1", "newer")]


def test_a_circle_in_the_tree_ends(store: Store) -> None:
    tree = Tree()
    first = tree.add("user", "q1")
    tree.add("assistant", "a1")
    tree.nodes[first]["parent"] = tree.last
    (own,) = brought(store, tree.plain()).sessions
    assert turns(store, own) == [("q1", "a1")]


def test_a_conversation_without_title_or_times_is_taken(store: Store) -> None:
    tree = Tree(None)
    tree.add("user", "How do I\nbraise tofu?", create_time=None)
    tree.add("assistant", "Slowly.", create_time=None)
    (own,) = brought(store, tree.plain(create_time=None, update_time=None)).sessions
    session = store.session(own)
    assert (session.title, session.titled, session.language) == ("How do I braise tofu?", "auto", "en")
    assert session.created > 1.7e9


def test_a_conversation_of_thousands_of_turns_is_taken(store: Store) -> None:
    tree = Tree()
    for number in range(3000):
        tree.add("user", f"q{number}")
        tree.add("assistant", f"a{number}")
    (own,) = brought(store, tree.plain()).sessions
    assert store.session(own).turn_count == 3000


def test_an_impossible_time_counts_as_none(store: Store) -> None:
    tree = Tree()
    tree.add("user", "q", create_time=1e300)
    tree.add("assistant", "a")
    (own,) = brought(store, tree.plain()).sessions
    assert [turn.started for turn in store.turns(own)] == [1.7e9], "the conversation's"


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Agent]:
    models = scripted.build_scripted_models(answering, summarising)
    opened = open_agent(load_settings(data_dir=tmp_path / "data", titles=False), lambda: models)
    yield opened
    opened.close()


def test_the_conversation_goes_on_here(bot: Agent) -> None:
    tree = Tree()
    for number in range(1, 6):
        tree.add("user", ask(number))
        tree.add("assistant", reply(number))
    (own,) = bot.import_sessions(json.dumps([tree.plain()]).encode()).sessions
    done(say(bot, own, ask(6)))
    assert raw(prompts(bot)[-1]) == [topic(number) for number in range(4, 7)], "the first chunk is summarised already"
    assert bot.background.idle(30)
    done(say(bot, own, ask(7)))
    assert raw(prompts(bot)[-1]) == [topic(7)]
    assert next(each.turns for each in bot.store.ledger.summaries(own)) == [1, 2, 3]
    done(list(bot.again(own, 2)))
    assert bot.store.session(own).turn_count == 2
