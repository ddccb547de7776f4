"""Plays a recorded conversation through the product; one play serves every form of memory.

The answers are the recorded ones, so no chat call is spent. Summaries and folds are written as the profile of the
models says: by the utility model, or by code.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool, StructuredTool

from errors import EvaluationFailed
from evaluation.form import Form, FormContext
from evaluation.observation import build_observations
from evaluation.scenario import OtherConversation, RecordedTurn, Scenario
from graph.context.clock import read_local_time
from graph.context.preview import build_upcoming_prompt
from graph.context.prompt import BuiltPrompt
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done, Failed
from memory import USER, MemoryView
from memory.state import SHORT_TURNS
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from prompt import render_prompt
from settings import load_settings
from store import TurnRow
from text.language import Language

IDLE_SECONDS = 1800.0
"""The longest that the side work of one turn may take."""
READY_SECONDS = 30.0
"""How long the memory's server may take to start."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """Calls, tokens and seconds of one kind of work."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0


@dataclass
class Play:
    """A conversation that was played, while its agent is open.

    ``models``: those of the evaluation, whose profile shapes the next prompt. ``seconds``: that the play took.
    """

    agent: Agent
    session: str
    language: Language
    models: ModelSet
    turns: int
    seconds: float = 0.0

    def context(self, form: Form, query: str = "") -> FormContext:
        """Returns what a form gives the model at the end of the conversation; *all* depends on the query. Raises
        ``ContextTooLong`` for *all*."""
        told = told_lines(self.prompt_for(query), self.language, query) if form == "all" else _FORMS[form](self)
        lines = tuple(told)
        return FormContext(lines, self.models.count("\n".join(lines)) if lines else 0)

    @cached_property
    def rows(self) -> list[TurnRow]:
        """The turns of the record."""
        return self.agent.store.turns_between(self.session, 1, self.turns)

    @cached_property
    def view(self) -> MemoryView:
        """The long-term memory and the entities, within their budgets."""
        agent = self.agent
        assert agent.memory is not None
        count = self.models.count
        return agent.memory.reader.read_view(agent.tenant, self.session, self.language, user=agent.user, count=count)

    def prompt_for(self, query: str = "") -> BuiltPrompt:
        """Returns the prompt that the product would send for a query."""
        return build_upcoming_prompt(self.agent.using(self.models), self.session, query)[0]

    def summaries(self) -> list[str]:
        """Returns the chunk summaries, oldest first: those in use, and the newest that waits for the next turn."""
        newest = self.agent.store.ledger.summaries(self.session, limit=self.turns)
        return [str(item.record.get("summary", "")) for item in newest if item.record]

    def costs(self) -> dict[str, CallCost]:
        """Returns what the summaries and the folds of the play cost."""
        assert self.agent.memory is not None
        made = self.agent.store.ledger.summaries(self.session, superseded=True)
        folds = [version.cost for version in self.agent.memory.reader.read_versions(self.agent.tenant, self.session)]
        return {
            "summaries": CallCost(
                len(made),
                sum(item.prompt_tokens for item in made),
                sum(item.answer_tokens for item in made),
                sum(item.seconds or 0.0 for item in made),
            ),
            "folds": CallCost(
                sum(item.get("calls", 0) for item in folds),
                sum(item.get("prompt_tokens", 0) for item in folds),
                sum(item.get("answer_tokens", 0) for item in folds),
                sum(item.get("seconds", 0.0) for item in folds),
            ),
        }


def told_lines(prompt: BuiltPrompt, language: Language, query: str = "") -> Iterator[str]:
    """Yields the lines of a prompt that tell of the conversation, in its own order: all from the title of the summaries
    or of the memory on, without the instructions before it and the query at its end."""
    titles = [render_prompt(name, language, **{name: ""}).splitlines()[0] for name in ("summaries", "memory")]
    chunk = render_prompt("chunk", language, turns="", text="").splitlines()[0].rstrip("]")
    *before, last = (str(message.text) for message in prompt.messages)
    system, *rest = (text.splitlines() for text in (*before, last.removesuffix(query)))
    first = next((at for at, line in enumerate(system) if line in titles or line.startswith(chunk)), len(system))
    yield from system[first:]
    for lines in rest:
        yield from lines


def _list_no_lines(_play: Play) -> list[str]:
    return []


def _last_turns(play: Play) -> list[str]:
    return [line for row in play.rows[-SHORT_TURNS:] for line in (row.question, row.answer or "")]


def _list_recursive_lines(play: Play) -> list[str]:
    return [*play.view.text.splitlines(), *(entity.line for entity in play.view.entities)]


def _list_full_lines(play: Play) -> list[str]:
    return [line for row in play.rows for line in (row.question, *_list_tool_results(row), row.answer or "")]


def _list_tool_results(row: TurnRow) -> list[str]:
    return [f"{step['name']}: {step['result']}" for step in row.steps if step.get("ok")]


def _list_observation_lines(play: Play) -> list[str]:
    limits = play.agent.prompting
    return build_observations(
        play.rows, play.language, limits.budget_memory + limits.budget_entities, play.models.count
    )


_FORMS: dict[Form, Callable[[Play], Sequence[str]]] = {
    "none": _list_no_lines,
    "turns": _last_turns,
    "chunks": Play.summaries,
    "recursive": _list_recursive_lines,
    "observations": _list_observation_lines,
    "full": _list_full_lines,
}


@contextmanager
def play_scenario(
    scenario: Scenario,
    models: ModelSet,
    rate: float = 0.3,
    *,
    stop: Callable[[], bool] = lambda: False,
    heard: Callable[[int], None] = lambda number: None,
) -> Iterator[Play]:
    """Plays a scenario in a data folder of its own, never in the user's, and yields it; the folder goes afterwards.

    ``heard`` is called with the number of every turn that was played. Raises ``Stopped`` when ``stop`` says so between
    two turns, and ``EvaluationFailed`` when a turn does not end well.
    """
    recorded = RecordedConversation(
        scenario.turns, scenario.language, scenario.query.at, user=scenario.user, others=scenario.others
    )
    with play_turns(models, recorded, rate, stop=stop, heard=heard) as play:
        yield play


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """What is played: the turns of ``user``, after those of ``others``. ``asked_at``: the time of the next prompt;
    None: the machine's."""

    turns: Sequence[RecordedTurn]
    language: Language
    asked_at: datetime | None = None
    user: str = USER
    others: Sequence[OtherConversation] = ()


@contextmanager
def play_turns(
    models: ModelSet,
    recorded: RecordedConversation,
    rate: float = 0.3,
    *,
    stop: Callable[[], bool] = lambda: False,
    heard: Callable[[int], None] = lambda number: None,
) -> Iterator[Play]:
    """Plays recorded turns; as ``play_scenario``."""
    language, asked_at = recorded.language, recorded.asked_at
    settings = {"titles": False, "retrieval": False, "memory": True, "database_url": None, "redis_url": None}
    with tempfile.TemporaryDirectory(prefix="gieok-evaluation-") as folder:
        agent = open_agent(load_settings(data_dir=Path(folder), **settings), lambda: models)
        try:
            for other in recorded.others:
                session = agent.store.create_session(language, rate).id
                _run_recorded_turns(
                    replace(agent, user=other.user), session, models, other.turns, stop, lambda number: None
                )
            agent, began = replace(agent, user=recorded.user), time.monotonic()
            session = agent.store.create_session(language, rate).id
            _run_recorded_turns(agent, session, models, recorded.turns, stop, heard)
            shown = agent if asked_at is None else replace(agent, now=partial(add_zone, asked_at))
            yield Play(shown, session, language, models, len(recorded.turns), time.monotonic() - began)
        finally:
            agent.close()


def _run_recorded_turns(
    agent: Agent,
    session: str,
    models: ModelSet,
    turns: Sequence[RecordedTurn],
    stop: Callable[[], bool],
    heard: Callable[[int], None],
) -> None:
    """Runs the turns one after the other with their recorded answers; waits for the side work of every turn."""
    assert agent.memory is not None
    agent.memory.wait(READY_SECONDS)
    replies = iter([message for turn in turns for message in _build_recorded_replies(turn)])
    chat = ScriptedModel(lambda _: next(replies), piece=r"(?s).+")
    # the recorded answer stands for whatever router or code would have said
    profile = replace(models.profile, tools="native", documents="cited")
    agent = replace(
        agent, tools=recorded_tools((call.name, call.result) for turn in turns for call in turn.tools)
    ).using(replace(models, chat=chat, profile=profile))
    for number, turn in enumerate(turns, 1):
        if stop():
            raise Stopped
        timed = agent if turn.at is None else replace(agent, now=partial(add_zone, turn.at))
        *_, end = timed.run(session, turn.user, asks=False)
        if not isinstance(end, Done):
            raise EvaluationFailed(turn=number, reason=end.code if isinstance(end, Failed) else type(end).__name__)
        agent.background.idle(IDLE_SECONDS)
        heard(number)


def _build_recorded_replies(turn: RecordedTurn) -> Iterator[AIMessage]:
    """Yields the recorded replies of a turn: one with all tool calls if there are any, then the answer."""
    if turn.tools:
        calls = [
            ToolCall(name=call.name, args=call.arguments, id=f"recorded-{index}", type="tool_call")
            for index, call in enumerate(turn.tools)
        ]
        yield AIMessage("", tool_calls=calls)
    yield AIMessage(turn.answer)


def recorded_tools(calls: Iterable[tuple[str, str]]) -> list[BaseTool]:
    """Returns tools for recorded calls (name, result); each tool returns its recorded results in order."""
    results: defaultdict[str, deque[str]] = defaultdict(deque)
    for name, result in calls:
        results[name].append(result)
    return [_recorded_tool(name, recorded.popleft) for name, recorded in results.items()]


def _recorded_tool(name: str, result: Callable[[], str]) -> BaseTool:
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return StructuredTool(name=name, description=name, args_schema=schema, func=lambda **_: result())


def add_zone(moment: datetime) -> datetime:
    """Returns a recorded moment with a zone; one without a zone is taken for local time."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=read_local_time().tzinfo)


def live_messages(play: Play, form: Form, query: str) -> list[BaseMessage]:
    """Returns the messages that ask the chat model the query with what a form gives; for *all* the product's own."""
    if form == "all":
        return list(play.prompt_for(query).messages)
    system = render_prompt("evaluation_live", play.language, context=play.context(form).text)
    return [SystemMessage(system), HumanMessage(query)]
