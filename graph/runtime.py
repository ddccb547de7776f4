"""What a turn carries beside its state: models, tools, the ledger, the stop event; and what its nodes note down.

Handed to the graph as LangGraph's runtime context, never checkpointed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from graph.context import Changing, Limits
from graph.event import Event, ToolFinished, ToolStarted, Usage
from graph.report import ContextReport
from graph.tool import TOOLS
from model.modelset import ModelSet
from model.price import usd
from model.stream import usage
from settings import Settings, current
from store.ledger import Ledger


@dataclass
class Notes:
    """What one turn adds up: calls and tokens, tool steps, the last report and its system prompt, the first token's
    time."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    exact: bool = True
    usd: float | None = 0.0
    cut_at: int = 0
    steps: list[tuple[ToolStarted, ToolFinished]] = field(default_factory=list)
    report: ContextReport | None = None
    system: str = ""
    first_token: float | None = None

    def add(self, message: AIMessage, models: ModelSet) -> None:
        """Counts one model call in."""
        prompt, cached, answer, exact = usage(message)
        self.add_tokens(prompt, cached, answer, exact, models)

    def add_tokens(
        self,
        prompt: int,
        cached: int,
        answer: int,
        exact: bool,
        models: ModelSet,
        calls: int = 1,
        side: bool = False,
    ) -> None:
        """Counts tokens of several calls in; ``side``: of the model for side work."""
        self.prompt_tokens += prompt
        self.cached_tokens += cached
        self.answer_tokens += answer
        self.calls += calls
        self.exact = self.exact and exact
        name = models.side_name if side else models.name
        price = 0.0 if models.alone else usd(name, prompt, cached, answer, url=models.url)
        self.usd = None if price is None or self.usd is None else self.usd + price

    def usage(self) -> Usage:
        counted = (self.prompt_tokens, self.cached_tokens, self.answer_tokens, self.calls, self.exact, self.usd)
        return Usage(*counted, self.cut_at)


@dataclass(frozen=True)
class TurnContext:
    """Everything that the nodes of one turn may use.

    ``budgets``: see ``Engine``. ``finish_ahead(turns, rate, stop)`` waits for a summary that is being made in the
    background, or takes it off the list. ``emit`` and ``ledger`` are None where LangGraph's own tools run the graph: no
    one reads along, and no record is kept. ``unfolded``: the first turn that is not in long-term memory yet, None when
    all are or there is no memory. ``retrieve(messages)`` gives the passages that are searched for before the answer, by
    the setting ``retrieval_first``.
    """

    models: ModelSet
    settings: Settings
    budgets: Mapping[str, int] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    emit: Callable[[Event], None] | None = None
    tools: Sequence[BaseTool] = TOOLS
    ledger: Ledger | None = None
    finish_ahead: Callable[[list[int], float, threading.Event], bool] = lambda *_: False
    changing: Sequence[Changing] = ()
    retrieve: Callable[[Sequence[AnyMessage]], Sequence[Changing]] = lambda _: ()
    history_tokens: int = 0
    unfolded: int | None = None
    notes: Notes = field(default_factory=Notes)

    def limits(self) -> Limits:
        """Budgets of the page, else from the settings; the prompt may take what the answer leaves of the model's
        context, and the summaries half of that: they leave it before they crowd out the raw turns."""
        room = self.models.context_size - min(self.settings.answer_tokens, self.models.context_size // 4)
        setting = self.settings.model_copy(update=self.budgets)
        return Limits(
            room,
            setting.budget_system,
            min(setting.budget_summaries, room // 2),
            setting.budget_recent,
            setting.budget_question,
            setting.budget_retrieval,
        )


def context(runtime: Runtime[TurnContext]) -> TurnContext:
    """The turn's context, or a default one where the graph runs without Gieok's turn runner (LangGraph Studio)."""
    given: TurnContext | None = runtime.context
    return given if given is not None else _default()


def emit(runtime: Runtime[TurnContext], event: Event) -> None:
    """Sends an event to whoever runs the turn, or into LangGraph's own stream."""
    given: TurnContext | None = runtime.context
    (given.emit if given is not None and given.emit else runtime.stream_writer)(event)


@cache
def _default() -> TurnContext:
    from model.resolve import models

    return TurnContext(models(current()), current())
