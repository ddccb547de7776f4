"""Any client: one that chats, swipes, edits, deletes, branches and drops turns, as hypothesis likes. After every answer
the conversation in the store is what the client shows. The reference is the client itself, which keeps whole histories.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.turn.agent import Agent
from tests.door.openai.asking import Asked, Turn, ask, opened, path

GREETING: Turn = ("", "Good morning. I am Haru.")
users = itertools.count(1)


@dataclass
class Chat:
    """What the client shows. ``versions``: the answers to the last question that it keeps; ``first``: the first turn
    with a question.
    """

    turns: list[Turn]
    versions: list[Turn] = field(default_factory=list)

    @property
    def first(self) -> int:
        return 1 if self.turns[:1] == [GREETING] else 0

    @property
    def said(self) -> int:
        return len(self.turns) - self.first


@dataclass
class Client:
    """A client of one user. ``unique``: its questions and the answers to them are all different."""

    agent: Agent
    unique: bool
    chats: list[Chat] = field(default_factory=list)
    asked: int = 0

    def act(self, name: str, which: int, where: int) -> None:
        """Does one thing in chat ``which``, at turn ``where``; both are taken modulo what there is."""
        chat = self.chats[which % len(self.chats)] if self.chats else self.begin(where)
        if name == "begin" or not chat.said:
            return self.say(chat if not chat.said else self.begin(where))
        at = chat.first + where % chat.said
        return getattr(self, name)(chat, at)  # type: ignore[no-any-return]

    def begin(self, where: int) -> Chat:
        self.chats.append(Chat([GREETING] if where % 2 else []))
        return self.chats[-1]

    def say(self, chat: Chat, at: int = 0) -> None:
        self.asked += 1
        self.send(chat, f"Question {self.asked if self.unique else self.asked % 3}, please?")

    def swipe(self, chat: Chat, at: int) -> None:
        """Another answer to the last question."""
        self.again(chat, len(chat.turns) - 1)

    def again(self, chat: Chat, at: int) -> None:
        """Another answer to a question, without what followed."""
        question = chat.turns[at][0]
        chat.turns, versions = chat.turns[:at], [*chat.versions, *chat.turns[at:]]
        self.send(chat, question)
        chat.versions = [version for version in (*versions, *chat.versions) if version[0] == question]

    def back(self, chat: Chat, at: int) -> None:
        """An older answer to the last question, and on from there."""
        if chat.versions:
            chat.turns[-1] = chat.versions[at % len(chat.versions)]
        self.say(chat)

    def question(self, chat: Chat, at: int) -> None:
        chat.turns = chat.turns[:at]
        self.say(chat)

    def answer(self, chat: Chat, at: int) -> None:
        """An answer in the client's own words, and on from there."""
        self.asked += 1
        chat.turns[at] = (chat.turns[at][0], f"Let me say it myself, for the time {self.asked}.")
        self.say(chat)

    def delete(self, chat: Chat, at: int) -> None:
        """A turn in the middle, or the last ones. Without its first turn a history is that of a full context."""
        chat.turns = chat.turns[:at] + (chat.turns[at + 1 :] if at > chat.first else [])
        self.say(chat)

    def branch(self, chat: Chat, at: int) -> None:
        self.chats.append(Chat(chat.turns[: at + 1]))
        self.say(self.chats[-1])

    def full(self, chat: Chat, at: int) -> None:
        """A message with the last turns alone."""
        self.asked += 1
        self.send(chat, f"With {self.asked} of them left, what now?", chat.turns[at:])

    def half(self, chat: Chat, at: int) -> None:
        """A message with the last turns, the first of which lost its question."""
        self.asked += 1
        if len(chat.turns) - at > 1:
            cut = [("", chat.turns[at][1]), *chat.turns[at + 1 :]]
            known = [chat.turns[at]] if self.unique else []  # which answer it was is clear only if it is the only one
            self.send(chat, f"With {self.asked} and a half left, what now?", cut, [*known, *cut[1:]])

    def send(self, chat: Chat, question: str, sent: list[Turn] | None = None, shown: list[Turn] | None = None) -> Asked:
        """Sends a message with ``sent`` turns (all, unless told) and holds the store against what is ``shown``."""
        asked = ask(self.agent, chat.turns if sent is None else sent, question)
        turn = (question, asked.answer)
        whole = [*(shown or sent or chat.turns), turn]
        stored = path(self.agent, asked.session)
        if sent is None and self.unique:
            assert stored == whole
        else:
            assert stored[-len(whole) :] == whole
        if sent is not None and self.unique:
            assert asked.plan.request.given == ()
        chat.turns = [*chat.turns, turn]
        chat.versions = [turn]
        return asked


NAMES = ["begin", "say", "swipe", "again", "back", "question", "answer", "delete", "branch", "full", "half"]
actions = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3), st.integers(0, 7)), min_size=1, max_size=14)
several = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, Agent]]:
    """One whose answers are all different, and one with three answers."""
    folders = (tmp_path_factory.mktemp(name) for name in ("different", "three"))
    pair = opened(next(folders)), opened(next(folders), lambda number: f"Here is reply number {number % 3}.")
    yield pair
    for agent in pair:
        agent.close()


def play(agent: Agent, steps: list[tuple[str, int, int]], unique: bool) -> None:
    client = Client(agent.of(f"user {next(users)}"), unique)
    for name, which, where in [("say", 0, 0)] * 3 + steps:
        client.act(name, which, where)


@several
@given(steps=actions)
def test_the_conversation_is_what_the_client_shows(
    agents: tuple[Agent, Agent], steps: list[tuple[str, int, int]]
) -> None:
    play(agents[0], steps, unique=True)


@several
@given(steps=actions)
def test_the_conversation_ends_as_the_client_shows_when_everybody_says_the_same(
    agents: tuple[Agent, Agent], steps: list[tuple[str, int, int]]
) -> None:
    play(agents[1], steps, unique=False)
