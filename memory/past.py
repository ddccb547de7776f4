"""What a search in past turns may read: this conversation, the user's others where memory is carried over, and of both
nothing that the user has had forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from memory.change.drop import is_gone
from memory.line import says_again
from memory.state import State
from text import sentence

MOST_OTHERS = 1000
"""The most other sessions of a user that are searched."""


@dataclass(frozen=True)
class Past:
    """The past of one session. ``others``: the user's other sessions, the last used ``MOST_OTHERS``; empty when memory
    is not carried over.

    ``user``: the memory that the user's sessions share; ``state``: returns the memory of one session.
    """

    session: str
    others: tuple[str, ...]
    owner: str
    user: State
    state: Callable[[str], State]
    _states: dict[str, State] = field(default_factory=dict, compare=False)

    def hides(self, session: str, number: int, texts: Iterable[str]) -> bool:
        """Tells whether turn ``number`` of a session must not be found: its session keeps apart or is another user's,
        or one of its sentences says what the user has had forgotten.

        In another session a forgotten statement hides every turn that says it, because numbers of turns cannot be
        compared across sessions.
        """
        memory = self._memory(session)
        elsewhere = session != self.session
        if elsewhere and (memory.apart or memory.user != self.owner):
            return True
        forgotten = [*self.user.forgotten, *self._memory(self.session).forgotten] if elsewhere else []
        return bool(forgotten or memory.forgotten) and any(
            is_gone(line, number, memory) or any(says_again(what, line) for what, _ in forgotten)
            for text in texts
            for line in sentence.split(text)
        )

    def _memory(self, session: str) -> State:
        if session not in self._states:
            self._states[session] = self.state(session)
        return self._states[session]
