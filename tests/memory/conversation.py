"""Conversations in a real record, beside a memory: what the product writes around memory, without a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict

from memory import FoldReport, Memory, MemoryView
from memory.key import Scope
from memory.row.rows import read_head, read_memory
from memory.state import MemoryLine
from model.modelset import ModelSet
from store import Store
from store.record import Finished, GivenTurn
from tests.memory.models import good

TENANT = "acme"


@dataclass
class Conversations:
    """The conversations of one user."""

    memory: Memory
    store: Store
    user: str = "me"
    tenant: str = TENANT
    language: str = "en"
    _names: dict[str, str] = field(default_factory=dict)

    def session(self, name: str = "s1") -> str:
        """The id of a conversation; it begins with its first use."""
        if name not in self._names:
            mine = self.store.of(self.user)
            known = mine.find_session(name)
            self._names[name] = (known or mine.create_session("en", 0.3, session_id=name)).id
        return self._names[name]

    def say(
        self,
        *statements: str,
        name: str = "s1",
        answer: str = "Noted.",
        at: float | None = None,
        foreign: bool = False,
    ) -> None:
        """Say these, a turn each. ``foreign``: the prompts held text of others."""
        session, mine = self.session(name), self.store.of(self.user)
        for statement in statements:
            moment = time.time() if at is None else at
            number = mine.begin_turn(session, statement, moment).number
            messages = messages_to_dict([HumanMessage(statement), AIMessage(answer)])
            end = Finished("done", answer, messages, tokens=20, has_foreign=foreign)
            mine.finish_turn(session, number, end, moment)
            self.memory.writer.open_session(self.tenant, session, user=self.user)

    def tell(self, numbers: Sequence[int] | range, name: str = "s1") -> None:
        """Tell the price of an item in each turn."""
        self.say(*(f"My item {number} costs ${number}00." for number in numbers), name=name)

    def edit(self, number: int, statement: str, name: str = "s1") -> int:
        """Say something else in a turn, on a new branch; returns the branch left."""
        session, mine = self.session(name), self.store.of(self.user)
        before = mine.turn(session, number)
        assert before is not None
        mine.tree.give(session, number, [GivenTurn(statement, "Noted.", 20)], time.time())
        return before.branch

    def switch(self, number: int, branch: int, name: str = "s1") -> None:
        self.store.of(self.user).tree.switch(self.session(name), number, branch)

    def fold(self, models: ModelSet | None = None, name: str = "s1", **how: object) -> FoldReport:
        return self.memory.folds.run(
            self.tenant,
            self.session(name),
            models=models or good(),
            language=self.language,
            **how,  # type: ignore[arg-type]
        )

    def view(self, name: str = "s1", count: object = None) -> MemoryView:
        return self.memory.reader.read_view(
            self.tenant,
            self.session(name),
            self.language,
            user=self.user,
            **({"count": count} if count else {}),  # type: ignore[arg-type]
        )

    def rows(self, name: str = "s1") -> list[MemoryLine]:
        """The lines of a conversation's memory as they are stored: sentences, then entities."""
        with self.store.everyone.transaction() as connection:
            state = read_memory(connection, read_head(connection, Scope(self.tenant, self.session(name))))
        return [*state.lines, *state.entities]

    def profile(self, name: str = "s1") -> list[str]:
        """The lines of the profile that a conversation sees."""
        view = self.view(name)
        return [line.row.label for line in (*view.covered_profile, *view.profile, *view.cut_profile)]

    def pin(self, statement: str, name: str = "s1") -> None:
        self.memory.writer.pin(self.tenant, self.session(name), statement, user=self.user)

    def remember(self, key: str, value: str, name: str = "s1", turn: int = 1) -> None:
        self.memory.writer.remember(self.tenant, self.session(name), key, value, turn=turn, user=self.user)

    def forget(self, *texts: str, name: str = "s1") -> list[str]:
        session = self.session(name)
        turn = self.store.of(self.user).session(session).turn_count
        return self.memory.eraser.forget_lines(self.tenant, session, texts, turn=turn, user=self.user)

    def delete(self, name: str, forget: bool | None = True) -> None:
        """Put a conversation away, or bring it back (None)."""
        session = self.session(name)
        beside = self.memory.writer.note_deletion(self.tenant, session, forget, user=self.user)
        self.store.of(self.user).put_away(session, forget is not None, beside)

    def other(self, user: str) -> Conversations:
        """The conversations of somebody else."""
        return Conversations(self.memory, self.store, user, self.tenant)
