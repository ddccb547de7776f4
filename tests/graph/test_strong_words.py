"""What a strong model writes reaches the answer, the summary and the memory as it was written: no code edits it."""

from __future__ import annotations

from typing import cast

from langchain_core.messages import BaseMessage

from graph.turn.agent import Agent
from tests.graph.recalling import settled
from tests.graph.strong import OpenStrong, new, strong
from tests.graph.talk import done, say
from tests.stub.strong import Writer

__all__ = ["strong"]

TOLD = (
    "My rent costs 1,800 dollars.",
    "My sister is Hannah.",
    "My locker is B-17.",
    "My train is the 7:40 one.",
    "My rent costs 1,950 dollars.",
    "My dentist is Dr Vane.",
)
ANSWER = (
    "Well -- noted, I'd say: «as you wish».\n\n* Do I know more about it? No; and you needn't tell me.\n"
    "* It changed, it was put off, it was cancelled: all that only I say, and nobody said so.  (Two spaces, a — dash …)"
)


def saying(_: list[BaseMessage]) -> str:
    return ANSWER


def told(agent: Agent, count: int) -> tuple[str, Writer]:
    """A session in which the user told this much."""
    own = new(agent)
    for text in TOLD[:count]:
        assert done(say(agent, own, text)).answer == ANSWER
        settled(agent)
    return own, cast(Writer, agent.models().utility)


def test_the_answer_is_kept_as_it_was_said(strong: OpenStrong) -> None:
    agent = strong(saying, memory=False, wait=False)
    own, _ = told(agent, 1)
    turn = agent.store.turn(own, 1)
    assert turn is not None
    assert turn.answer == ANSWER


def test_a_summary_is_the_models_to_the_letter(strong: OpenStrong) -> None:
    agent = strong(saying, memory=False, wait=False, ahead=True)
    own, writer = told(agent, 4)
    (summary,) = agent.store.ledger.summaries(own)
    assert summary.record is not None
    assert writer.written == [summary.record["summary"]]
    assert "-- My rent costs 1,800 dollars.;" in summary.record["summary"]


def test_a_memory_is_the_models_to_the_letter_and_a_later_value_is_the_models_choice(strong: OpenStrong) -> None:
    agent = strong(saying)
    own, writer = told(agent, 6)
    assert agent.memory is not None
    memory = agent.memory.reader.read_view(agent.tenant, own, user=agent.user)
    folded = [line for line in writer.written if line.startswith("As the user put it")]
    assert memory.whole.splitlines() == folded
    assert folded == [f"As the user put it: “{text}”" for text in TOLD[:5]]
    kept = {each.key: each.value for each in memory.entities}
    assert kept == {"sister": "Hannah", "locker": "B-17", "train": "the 7:40 one", "rent": "1,950 dollars"}
    assert [bound for bound in writer.bound_arguments if "response_format" in bound]
