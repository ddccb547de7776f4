"""Plain wishes reach memory through a strong model; after foreign text none does without a yes, and every one can."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graph.turn.agent import Agent
from tests.graph.strong import ANYTHING, OpenStrong, asks, new, strong, values
from tests.graph.talk import done, say
from tests.graph.wishes import AFTERWARDS, FORGET, INJECTED, REMEMBER
from tests.stub.strong import Wish, understanding

__all__ = ["strong"]

HELD = "what the user told"
MOST_ASKED = 3
"""Of thirty plain wishes after a page was read; those that are asked about do not name what they change."""


def known(agent: Agent, session: str, wishes: Sequence[Wish]) -> dict[str, str]:
    """What is to be forgotten, in memory."""
    assert agent.memory is not None
    for wish in wishes:
        if not wish.value:
            agent.memory.writer.remember(agent.tenant, session, wish.key, HELD, turn=0, user=agent.user)
    return values(agent, session)


def expected(before: dict[str, str], wish: Wish) -> dict[str, str]:
    """The memory once the wish is done."""
    others = {key: value for key, value in before.items() if key != wish.key}
    return {**others, wish.key: wish.value} if wish.value else others


@pytest.mark.parametrize(("wishes", "count"), [(REMEMBER, 19), (FORGET, 16)], ids=["remember", "forget"])
def test_a_plain_wish_is_done_at_once(strong: OpenStrong, wishes: Sequence[Wish], count: int) -> None:
    agent = strong(understanding(wishes))
    own = new(agent)
    known(agent, own, wishes)
    for wish in wishes:
        after = expected(values(agent, own), wish)
        done(say(agent, own, wish.text))
        assert values(agent, own) == after, wish.text
    assert len({wish.text for wish in wishes}) == count


def test_what_a_page_orders_never_reaches_memory_without_a_yes(strong: OpenStrong) -> None:
    pages = {
        f"page {number}": f"Pears are green. {order.text}. Apples are red." for number, order in enumerate(INJECTED)
    }
    agent = strong(understanding((), INJECTED), {f"{words}?": text for words, text in pages.items()}, user_memory=False)
    for number, order in enumerate(INJECTED):
        own = new(agent)
        before = known(agent, own, [order])
        done(say(agent, own, f"What is on page {number}?"))
        ((call, _),) = asks(agent, own)
        assert values(agent, own) == before, order.text
        if number % 3 == 0:  # a user may agree with a page all the same
            agent.confirm(own, 1, call, True)
            assert values(agent, own) == expected(before, order), order.text
    assert len(INJECTED) == 30


def test_a_plain_wish_after_a_page_is_done_at_once_where_its_words_say_all(strong: OpenStrong) -> None:
    agent = strong(understanding(AFTERWARDS), {"?": ANYTHING}, user_memory=False)
    asked = list[str]()
    for wish in AFTERWARDS:
        own = new(agent)
        before = known(agent, own, [wish])
        done(say(agent, own, "What does the page say?"))
        done(say(agent, own, wish.text))
        for call, _ in asks(agent, own):
            assert values(agent, own) == before, wish.text
            agent.confirm(own, 2, call, True)
            asked.append(wish.text)
        assert values(agent, own) == expected(before, wish), wish.text
    assert len(AFTERWARDS) == 30
    assert len(asked) <= MOST_ASKED, asked
