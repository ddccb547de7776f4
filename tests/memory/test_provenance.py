"""Any order of telling, replacing, forgetting, deleting, undoing and folding: what remains is what a replay gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import HealthCheck, example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from errors import NothingToUndo
from tests.memory.conversation import Conversations
from tests.memory.models import small

NAMES = ("a", "b")
Step = tuple[str, int, int]
"""What happens, in which conversation, and with which of some facts."""


@dataclass
class Expected:
    """What the profile must be: a list of all that was told, replayed."""

    told: list[tuple[str, int, str, int]] = field(default_factory=list)
    forgotten: list[tuple[str, int]] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    clock: int = 0

    def profile(self) -> set[str]:
        """Of every key the newest value that is there: not forgotten since, not told in a deleted conversation."""
        now = dict[int, str]()
        for name, key, value, at in self.told:
            gone = any(text == f"key {key}: {value}" and when > at for text, when in self.forgotten)
            if name not in self.deleted and not gone:
                now[key] = value
        return {f"key {key}: {value}" for key, value in now.items()}


def remember(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    key, value = what % 3, f"value {what}"
    seen = talks.profile(name)
    if f"key {key}: {value}" not in seen:
        expected.told.append((name, key, value, expected.clock))
    talks.remember(f"key {key}", value, name=name)


def forget(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    """Forgets what a key says now, and with it what it said before: nobody wants the older value back."""
    now = [text for text in talks.profile(name) if text.startswith(f"key {what % 3}:")]
    for text in now:
        rows = [line for line in talks.view(name, count=lambda text: 0).profile if line.row.label == text]
        expected.forgotten.append((text, expected.clock))
        expected.forgotten += [(line.replaced.label, expected.clock) for line in rows if line.replaced]
    talks.forget(*now, name=name) if now else None


def delete(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    expected.deleted.add(name)
    talks.delete(name)


def restore(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    expected.deleted.discard(name)
    talks.delete(name, None)


def tell(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    talks.tell([what], name=name)


def fold(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    talks.fold(small(), name=name)


def undo(talks: Conversations, expected: Expected, name: str, what: int) -> None:
    versions = talks.memory.reader.read_versions("acme", talks.session(name))
    if versions and versions[-1].origin != "forget":
        with suppress(NothingToUndo):
            talks.memory.writer.undo("acme", talks.session(name))


ACTS: dict[str, Callable[[Conversations, Expected, str, int], None]] = {
    act.__name__: act for act in (remember, forget, delete, restore, tell, fold, undo)
}


@effort(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from([*ACTS]), st.integers(0, 1), st.integers(0, 8)), max_size=16))
@example(steps=[("remember", 0, 0), ("remember", 1, 3), ("delete", 1, 0), ("restore", 1, 0)])
@example(steps=[("remember", 0, 0), ("forget", 0, 0), ("remember", 0, 0)])
def test_what_remains_is_what_a_replay_gives(talks: Conversations, steps: list[Step]) -> None:
    talks._names.clear()
    talks.memory.eraser.erase_user("acme")
    for name in (*NAMES, "look"):
        talks._names[name] = talks.store.of("me").create_session("en", 0.3).id
    expected = Expected()
    for act, where, what in steps:
        expected.clock += 1
        ACTS[act](talks, expected, NAMES[where], what)
    assert set(talks.profile("look")) == expected.profile()
    for name in NAMES:
        view = talks.view(name, count=lambda text: 0)
        versions = talks.memory.reader.read_versions("acme", talks.session(name))
        assert view.whole == (versions[-1].text if versions else "")
        for row in talks.rows(name):
            turn = talks.store.of("me").turn(talks.session(name), row.turn)
            assert turn is not None
            assert row.text.rstrip(".") in turn.question
