"""What a user told, put into a store of its own as the product would hold it, without playing every turn.

A play runs each turn through the graph, about 0.2 s of processor time. But a next prompt is built from the rows of the
turns and from what the product makes of them after each answer: summaries, memory, vectors. So the turns are written as
rows, and the product's own functions that follow an answer make the rest. The prompts are those of a whole play
(``tests/bench/public/test_stored.py``), but for one thing: the raw turns of a small model's prompt are those of a
conversation that is opened anew, while a play's lie between half and all of their budget, as the last chunks left it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, messages_to_dict

from bench.public.dataset.dataset import Conversation
from errors import EvaluationFailed
from evaluation.play import IDLE_SECONDS, READY_SECONDS, add_zone
from evaluation.scenario import RecordedTurn
from graph.context.preview import build_upcoming_prompt
from graph.context.prompt import BuiltPrompt, raw_tokens
from graph.context.turns import CHUNK, make_question_message
from graph.summary import ahead
from graph.turn.agent import Agent, open_agent
from graph.turn.memory import long_term, past_turns
from graph.turn.session.rebuild import build_session_state
from model import scripted
from model.call.token import estimate_tokens
from model.modelset import ModelSet
from model.profile import SMALL, STRONG
from settings import load_settings
from store import Finished
from store.search.turn_index import TurnKey
from text.clean import clean_text

RATE = 0.3
"""The product's own compression rate."""
NOBODY = "nobody"
"""A user who never said anything: what stands in this user's prompt tells nothing of anybody."""


def strong_models() -> ModelSet:
    """Returns a strong model's profile of prompts with summaries and memory by code, and models that nobody may
    call."""
    return replace(scripted.build_scripted_models(profile=STRONG), side=SMALL, count=estimate_tokens)


def small_models() -> ModelSet:
    """Returns the small profile with models that nobody may call."""
    return replace(scripted.build_scripted_models(profile=SMALL), count=estimate_tokens)


@dataclass
class StoredTalk:
    """A user's conversations in the store, while its agent is open. ``session``: the conversation in which the
    questions are asked, either a new one or the one that was told; ``others``: the user's other conversations."""

    agent: Agent
    session: str
    others: tuple[str, ...]
    conversation: Conversation

    @cached_property
    def turns(self) -> dict[TurnKey, str]:
        """The text of every turn that was told, question and answer, in order."""
        store = self.agent.store
        rows = [
            row
            for session in (*self.others, self.session)
            for row in store.turns_between(session, 1, store.session(session).turn_count)
        ]
        return {TurnKey(row.session_id, row.branch, row.number): f"{row.question}\n{row.answer or ''}" for row in rows}

    def prompt_for(self, query: str, models: ModelSet, at: datetime | None) -> BuiltPrompt:
        """Returns the prompt that the product would send for a question of this user."""
        return build_upcoming_prompt(_set_clock(self.agent.using(models), at), self.session, query)[0]

    def agent_at(self, at: datetime | None) -> Agent:
        """Returns the agent with its clock at a moment."""
        return _set_clock(self.agent, at)

    def told_lines(self, query: str, models: ModelSet, at: datetime | None) -> tuple[BuiltPrompt, list[str]]:
        """Returns the prompt for a question and its lines that tell something: all but those that the same question of
        a user gets who never said anything."""
        prompt = self.prompt_for(query, models, at)
        blank = build_upcoming_prompt(_set_clock(self._nobody.using(models), at), self._blank_session, query)[0]
        empty = {line for message in blank.messages for line in str(message.text).splitlines()}
        lines = [line for message in prompt.messages for line in str(message.text).splitlines()]
        return prompt, [line for line in lines if line not in empty]

    @cached_property
    def _nobody(self) -> Agent:
        return self.agent.of(NOBODY)

    @cached_property
    def _blank_session(self) -> str:
        return self._nobody.store.create_session(self.conversation.language, RATE).id


@contextmanager
def store_talk(conversation: Conversation) -> Iterator[StoredTalk]:
    """Stores the conversations of one user in a data folder of its own and yields them; the folder goes afterwards."""
    off = {"titles": False, "retrieval": False, "database_url": None, "redis_url": None}
    with tempfile.TemporaryDirectory(prefix="gieok-evaluation-") as folder:
        agent = open_agent(load_settings(data_dir=Path(folder), memory=True, **off), strong_models)
        try:
            assert agent.memory is not None
            agent.memory.wait(READY_SECONDS)
            yield store_sessions(agent, conversation)
        finally:
            agent.close()


def store_sessions(agent: Agent, conversation: Conversation) -> StoredTalk:
    """Stores every conversation of a user, and begins the one in which the questions are asked if it is a new one.
    Raises ``EvaluationFailed`` when the side work does not end."""
    sessions = [agent.store.create_session(conversation.language, RATE).id for _ in conversation.sessions]
    for session, turns in zip(sessions, conversation.sessions, strict=True):
        _store_turns(agent, session, turns)
    if conversation.starts:
        sessions.append(agent.store.create_session(conversation.language, RATE).id)
    for session in sessions:
        past_turns.plan_index(agent, session)
    if not agent.background.idle(IDLE_SECONDS):
        raise EvaluationFailed(turn=len(conversation.turns), reason="side work did not end")
    return StoredTalk(agent, sessions[-1], tuple(sessions[:-1]), conversation)


def _store_turns(agent: Agent, session: str, turns: Sequence[RecordedTurn]) -> None:
    """Writes turns as rows, and after each of them runs what the product runs after an answer."""
    for turn in turns:
        timed = _set_clock(agent, turn.at)
        at = timed.now().timestamp()
        number = timed.store.begin_turn(session, turn.user, at).number
        messages: list[AnyMessage] = [
            make_question_message(clean_text(turn.user), number, session),
            AIMessage(turn.answer),
        ]
        tokens = raw_tokens(messages, timed.models().count)
        timed.store.finish_turn(
            session, number, Finished("done", turn.answer, messages_to_dict(messages), tokens=tokens), at
        )
        if number % CHUNK == 0:
            _summarise_due_chunk(timed, session, number)
        long_term.plan_memory_fold(timed, session)


def _summarise_due_chunk(agent: Agent, session: str, number: int) -> None:
    """Makes the summary that is due after a turn and takes it into the context, as the next turn would."""
    ahead.plan_next_summary(agent, session, build_session_state(agent, agent.store.session(session), number))
    agent.store.ledger.take(session, list(range(number - CHUNK + 1, number + 1)), RATE)


def _set_clock(agent: Agent, at: datetime | None) -> Agent:
    """Returns the agent with its clock at a recorded moment; None leaves it as it is."""
    return agent if at is None else replace(agent, now=partial(add_zone, at))
