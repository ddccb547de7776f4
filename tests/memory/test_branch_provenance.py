"""Any order of telling, editing, switching between branches, folding and crashes in one conversation: memory holds what
the turns of the path say, and nothing of other branches; a conversation that was only told the path holds the same."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import HealthCheck, example, given
from hypothesis import settings as effort
from hypothesis import strategies as st

from tests.memory.conversation import Conversations
from tests.memory.models import good

STEPS = ("locked", "made", "written")
MOST_TURNS = 18
"""A fold of this many statements fits the memory, so none is joined or left out."""
Act = tuple[str, int]


class Crash(Exception):
    """The process ends here."""


def crash(talks: Conversations, what: int) -> None:
    """A fold that ends at one of its steps."""

    def step(name: str) -> None:
        if name == STEPS[what % len(STEPS)]:
            raise Crash

    with suppress(Crash):
        talks.fold(good(), step=step)


def play(talks: Conversations, acts: list[Act], said: dict[tuple[int, int], str]) -> None:
    """Does these things in the conversation «s1»; ``said``: what each turn of each branch says."""
    mine, session = talks.store.of("me"), talks.session()
    for at, (act, what) in enumerate(acts):
        count = mine.session(session).turn_count
        statement = f"My item {at} costs ${at}00."
        if act == "tell" and count < MOST_TURNS:
            talks.say(statement)
        elif act == "edit" and count:
            talks.edit(what % count + 1, statement)
        elif act == "switch" and count:
            number = what % count + 1
            branches = sorted({branch for turn, branch in said if turn == number})
            talks.switch(number, branches[what % len(branches)])
        elif act == "fold":
            talks.fold(good())
        elif act == "crash":
            crash(talks, what)
        said |= {(turn.number, turn.branch): turn.question for turn in mine.turns(session)}


def find_items(text: str) -> set[str]:
    return set(re.findall(r"item \d+ costs \$\d+", text))


ACTS = st.tuples(st.sampled_from(["tell", "tell", "tell", "edit", "switch", "fold", "crash"]), st.integers(0, 20))
TOLD = [("tell", 0)] * 8


@effort(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(ACTS, max_size=14))
@example(acts=[("crash", 2), ("edit", 6), ("fold", 0), ("switch", 6), ("tell", 0), ("fold", 0)])
@example(acts=[("fold", 0), ("edit", 1), ("crash", 1), ("switch", 1)])
def test_memory_holds_what_the_turns_of_the_path_say(talks: Conversations, acts: list[Act]) -> None:
    talks._names.clear()
    talks.memory.eraser.erase_user("acme")
    for name in ("s1", "again"):
        talks._names[name] = talks.store.of("me").create_session("en", 0.3).id
    play(talks, [*TOLD, *acts], {})
    talks.fold(good())
    path = {turn.number: turn.question for turn in talks.store.of("me").turns(talks.session())}
    view = talks.view(count=lambda text: 0)
    for row in talks.rows():
        said = row.label.replace(": ", " costs ") if row.kind == "entity" else row.text.removeprefix("User said: ")
        assert said.rstrip(".") in path[row.turn], "a line names the turn that says it"
    folded = {number for number in path if number not in view.waiting}
    assert find_items(view.whole) == {item for number in folded for item in find_items(path[number])}
    talks.say(*path.values(), name="again")
    talks.fold(good(), name="again")
    again = talks.view("again", count=lambda text: 0)
    both = {number for number in path if number not in (*view.waiting, *again.waiting)}
    assert {find_turn(path, item) for item in find_items(again.whole)} >= both
    assert {each.value for each in again.entities} >= {price for number in both for price in prices(path[number])}


def find_turn(path: dict[int, str], item: str) -> int:
    return next(number for number, text in path.items() if item in text)


def prices(text: str) -> list[str]:
    return re.findall(r"\$\d+", text)
