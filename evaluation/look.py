"""What the memory of a conversation holds: a judge's ratings for a query and, without a model, the user's own facts.

Nothing here calls Streamlit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from errors import GieokError
from evaluation.judge.judge import Rating, judge_memory
from evaluation.play import told_lines
from evaluation.run import is_judge_trusted
from graph.context.preview import build_upcoming_prompt
from graph.turn.agent import Agent
from memory import MemoryView
from store import Session, Store
from text.fact import fact

Place = Literal["memory", "summaries", "prompt"]
LOST_SHOWN = 10
"""How many of the lost facts are named, oldest first."""


@dataclass(frozen=True, slots=True)
class HeldFacts:
    """How many facts of the user's messages stand in a place. ``lost``: the first of the others, as the user wrote
    them."""

    place: Place
    kept: int
    told: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemoryInspection:
    """What the memory holds after turn ``turn``.

    ``facts``: by place. ``judge_memory``: the name of the model that judged, empty where none was asked;
    ``is_judge_trusted``: whether it may be a judge at all. ``memory``, ``prompt``: the judge's ratings of the long-term
    memory and of what the next prompt holds in all; None where the judge was not asked or there is nothing to judge.
    ``waiting``: turns that the memory has not taken in yet. ``state``: of the long-term memory. ``failed``: why there
    is no next prompt.
    """

    query: str
    turn: int
    facts: tuple[HeldFacts, ...]
    judge: str = ""
    trusted: bool = True
    memory: Rating | None = None
    prompt: Rating | None = None
    waiting: tuple[int, ...] = ()
    state: Literal["there", "off"] = "there"
    failed: GieokError | None = None


def load_last_question(store: Store, session: Session) -> str:
    """Returns the question of the conversation's last turn, which memory is looked at for; '' before the first."""
    row = store.turn(session.id, session.turn_count)
    return row.question if row else ""


def inspect_memory(
    agent: Agent,
    session: Session,
    query: str,
    remembered: Callable[[], MemoryView] | None,
    *,
    judged: bool,
    stop: threading.Event | None = None,
) -> MemoryInspection:
    """Returns what the memory holds. ``remembered``: reads the long-term memory; None where the settings turn it off.
    ``judged``: the utility model is asked, too. Raises ``Stopped`` and the errors of resolving the models."""
    failed, told = None, ""
    try:  # brings the memory in line with the conversation's path, so it comes first
        told = "\n".join(told_lines(build_upcoming_prompt(agent, session.id, query)[0], session.language, query))
    except GieokError as error:
        failed = error
    seen = remembered() if remembered is not None else MemoryView()
    texts: dict[Place, str] = {"summaries": "\n".join(_list_current_summaries(agent, session.id))}
    texts |= {"memory": "\n".join((seen.text, seen.entity_text))} if remembered is not None else {}
    texts |= {"prompt": told} if failed is None else {}

    def rate_text(memory: str, entities: str = "") -> Rating:
        return judge_memory(agent.models(), query, memory, entities, language=session.language, stop=stop)

    return MemoryInspection(
        query=query,
        turn=session.turn_count,
        facts=held_facts(_list_session_questions(agent, session), texts),
        judge=agent.models().side_name if judged else "",
        trusted=is_judge_trusted(agent.models()),
        memory=rate_text(seen.text, seen.entity_text) if judged and remembered is not None else None,
        prompt=rate_text(told) if judged and failed is None else None,
        waiting=seen.waiting,
        state="off" if remembered is None else "there",
        failed=failed,
    )


def held_facts(questions: Sequence[str], texts: dict[Place, str]) -> tuple[HeldFacts, ...]:
    """Returns for every text how many facts of the user's messages it holds (``text.fact.fact``). Calls no model."""
    facts = fact.find_facts("\n".join(questions))
    places: tuple[Place, ...] = ("memory", "summaries", "prompt")
    return tuple(_check_held_facts(place, facts, texts[place]) for place in places if place in texts)


def _check_held_facts(place: Place, facts: Sequence[fact.Fact], text: str) -> HeldFacts:
    lost = [told.text for told in facts if not fact.has_fact_value(text, told)]
    return HeldFacts(place, len(facts) - len(lost), len(facts), tuple(lost[:LOST_SHOWN]))


def _list_session_questions(agent: Agent, session: Session) -> list[str]:
    return [turn.question for turn in agent.store.turns_between(session.id, 1, session.turn_count)]


def _list_current_summaries(agent: Agent, session_id: str) -> list[str]:
    """Returns the summaries that stand for their turns now or with the next turn."""
    rows = agent.store.ledger.summaries(session_id)
    return [str(row.record["summary"]) for row in rows if row.record and row.status in ("ready", "active")]
