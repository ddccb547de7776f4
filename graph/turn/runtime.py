"""What the nodes of one turn may use beside the state: LangGraph's runtime context, which is never checkpointed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from graph.context.clock import Clock, read_local_time
from graph.context.past import FoundPast
from graph.context.prompt import Changing, Limits
from graph.context.report import ContextReport
from graph.tool import TOOLS
from graph.tool.client_tool import NO_TOOLS, ClientTools
from graph.tool.question import guard
from graph.turn.channel import Channel
from graph.turn.event import Event, ToolFinished, ToolStarted, TurnUsage
from graph.turn.request import NO_LIMITS, AnswerLimits
from model.call.stream import read_token_usage
from model.choice import kept
from model.modelset import ModelSet
from model.price import price_model_call
from settings import Settings, load_current_settings
from store.record import TurnRow
from store.session.options import DEFAULT, AnswerOptions
from store.turn.ledger import Ledger

if TYPE_CHECKING:  # both import the engine, which imports the graph, which imports this module
    from graph.answer.documents import Search
    from graph.summary.ahead import Ahead


@dataclass
class Notes:
    """The sums of one turn: calls, tokens and cost, tool steps, the last report with its system prompt, the time of the
    first token. ``usd`` is None when a price is unknown. ``has_foreign``: a prompt of this run held text
    of others.
    ``thought``, ``thought_seconds``: what the model thought before its answer and its tool calls, and how long.
    ``images_refused``: the model's server did not take the turn's images, so that its prompts go without them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    exact: bool = True
    usd: float | None = 0.0
    cut_at: int = 0
    last_prompt_tokens: int = 0
    model: str = ""
    cache_usd: float = 0.0
    steps: list[tuple[ToolStarted, ToolFinished]] = field(default_factory=list)
    report: ContextReport | None = None
    system: str = ""
    first_token: float | None = None
    has_foreign: bool = False
    thought: str = ""
    thought_seconds: float = 0.0
    images_refused: bool = False

    def add(self, message: AIMessage, models: ModelSet) -> None:
        """Adds one model call."""
        prompt, cached, answer, exact = read_token_usage(message)
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
        """Adds the tokens of one or more calls. ``side``: the calls went to the model for side work."""
        self.prompt_tokens += prompt
        self.cached_tokens += cached
        self.answer_tokens += answer
        self.calls += calls
        self.exact = self.exact and exact
        self.last_prompt_tokens = self.last_prompt_tokens if side else prompt
        name = models.side_name if side else models.name
        price, saved = price_model_call(models, name, prompt, cached, answer)
        self.usd = None if price is None or self.usd is None else self.usd + price
        self.model = self.model if side else name
        self.cache_usd += saved

    def usage(self) -> TurnUsage:
        counted = (self.prompt_tokens, self.cached_tokens, self.answer_tokens, self.calls, self.exact, self.usd)
        return TurnUsage(*counted, self.cut_at, self.last_prompt_tokens, self.model, self.cache_usd)

    def reasoning(self) -> dict[str, Any] | None:
        """Returns what the model thought, as the record keeps it; None where it thought nothing."""
        return {"text": self.thought.strip(), "seconds": self.thought_seconds} if self.thought.strip() else None


def restore_notes(waited: TurnRow | None) -> Notes:
    """Returns the notes that a turn begins with: those of its run before it waited for the user, else none."""
    notes = Notes()
    if waited is None:
        return notes
    for name, value in (waited.usage or {}).items():
        setattr(notes, name, value)
    earlier = waited.reasoning or {}
    notes.thought, notes.thought_seconds = str(earlier.get("text") or ""), float(earlier.get("seconds") or 0.0)
    for step in waited.steps:
        started = ToolStarted(str(step["call"]), str(step["name"]), dict(step.get("arguments") or {}))
        done = {field: step[field] for field in ToolFinished.__slots__ if field in step}
        notes.steps.append((started, ToolFinished(**done)))
    return notes


@dataclass(frozen=True)
class Inputs:
    """The sources of one turn's prompts, beside the state.

    ``tools``: the tools that the model may call. ``changing``: parts that differ from turn to turn, such as memory and
    time. ``options``: the conversation's own system prompt, temperature and longest answer. ``budgets``: the page's own
    token budgets, by the names of the settings that they replace. ``history_tokens``: the tokens of the whole history.
    ``past_turns``: what a search in past turns found for the question; None where there was no search.
    ``foreign_memory``: some of what memory gives is text of others, or made from it. ``is_imported``: the question
    comes out of a file. ``client_system``: the client's system text. ``client_tools``: those tools of the client that
    are among ``tools``. ``asks``: whether the user can be asked (``graph.node.ask``).
    ``limits``, ``images``, ``earlier_images``, ``ending``: of this turn alone (``graph.turn.request``).
    """

    tools: Sequence[BaseTool] = TOOLS
    changing: Sequence[Changing] = ()
    options: AnswerOptions = DEFAULT
    budgets: Mapping[str, int] = field(default_factory=dict)
    history_tokens: int = 0
    past_turns: FoundPast | None = None
    foreign_memory: bool = False
    is_imported: bool = False
    client_system: str = ""
    client_tools: ClientTools = NO_TOOLS
    asks: bool = True
    limits: AnswerLimits = NO_LIMITS
    images: Sequence[dict[str, Any]] = ()
    earlier_images: Sequence[dict[str, Any]] = ()
    ending: str = ""

    @property
    def own_role(self) -> bool:
        """Whether the conversation or its client gives the assistant a role that takes the place of ours."""
        return bool(self.options.system_prompt or self.client_system)


@dataclass(frozen=True)
class TurnContext:
    """Everything that the nodes of one turn may use.

    ``ledger``, ``ahead`` (summaries that are made beside the conversation) and ``search`` (the search in its documents)
    are None where LangGraph's own tools run the graph. ``search`` is also None where there are no documents. ``now``:
    the clock. ``read_known``: returns what the prompts of these turns showed as the user's (``graph.summary.known``).
    ``mark_foreign``: notes in the turn's row that its prompt holds text of others; ``is_marked``: returns whether the
    row says so, also because of the turns before (``store.turn.foreign``).
    """

    models: ModelSet
    settings: Settings
    channel: Channel = field(default_factory=Channel)
    inputs: Inputs = field(default_factory=Inputs)
    notes: Notes = field(default_factory=Notes)
    ledger: Ledger | None = None
    ahead: Ahead | None = None
    search: Search | None = None
    now: Clock = read_local_time
    read_known: Callable[[Sequence[int]], str] = lambda _: ""
    mark_foreign: Callable[[], None] = lambda: None
    is_marked: Callable[[], bool] = lambda: False

    def note_foreign(self, messages: Sequence[AnyMessage]) -> None:
        """Notes whether the prompt that was just built from these messages of the state holds text of others: sent by
        the client (also as the schema of an answer), found, recalled, given by a tool, or the description of a tool.
        Earlier turns need no look: their mark is inherited."""
        given, report = self.inputs, self.notes.report
        part = report.part("turns") if report is not None else None
        shown = {*part.items} if part is not None else set()
        entries = given.past_turns.entries if given.past_turns is not None else ()
        found = (
            bool(given.client_system or given.images or given.earlier_images or given.foreign_memory)
            or (given.limits.form is not None and given.limits.form.schema is not None)
            or any(guard.is_described_by_others(tool) for tool in given.tools)
            or any(entry.foreign for entry in entries if entry.item in shown)
            or any(step.foreign for _, step in self.notes.steps)
            or guard.read_foreign(messages)
        )
        if found and not self.notes.has_foreign:
            self.notes.has_foreign = True
            self.mark_foreign()

    @property
    def answer_tokens(self) -> int:
        """Returns the tokens of the longest answer: of this answer, of the conversation, or of the settings."""
        own = self.inputs.limits.max_tokens or self.inputs.options.answer_tokens
        return own or self.settings.answer_tokens

    @property
    def prompting(self) -> Settings:
        """Returns the settings that this prompt is made with: the settings with the page's budgets and switches."""
        return self.settings.model_copy(update=self.inputs.budgets)

    def limits(self) -> Limits:
        """Returns the token budgets: the page's own where there are any, else those of the settings.

        The prompt may take the model's context less the answer's share. The summaries may take half of the prompt, so
        that the oldest leave before the summaries crowd out the raw turns.
        """
        room = self.models.context_size - min(self.answer_tokens, self.models.context_size // 4)
        setting = self.prompting
        return Limits(
            room,
            summaries=min(setting.budget_summaries, room // 2),
            recent=setting.budget_recent,
            retrieval=setting.budget_retrieval,
            unsummarised=setting.budget_recent,
        )


def build_call_arguments(options: AnswerOptions, limits: AnswerLimits = NO_LIMITS) -> dict[str, Any]:
    """Returns options and limits as arguments of a call for an answer, in LangChain's names; leaves out what is unset.
    A limit of this answer wins over an option of the conversation, and a model need not take it: clients send the same
    limits to every model. The conversation's options are the user's own choice, and a model that does not take them
    says so."""
    arguments = {
        "temperature": options.temperature if limits.temperature is None else limits.temperature,
        "max_tokens": options.answer_tokens if limits.max_tokens is None else limits.max_tokens,
        "top_p": limits.top_p,
    }
    optional = [name for name in ("temperature", "top_p", "stop") if getattr(limits, name) not in (None, ())]
    return {name: value for name, value in (*arguments.items(), ("optional", optional or None)) if value is not None}


def read_turn_context(runtime: Runtime[TurnContext]) -> TurnContext:
    """Returns the turn's context; a default one where the graph runs without Gieok's runner (LangGraph Studio)."""
    turn: TurnContext | None = runtime.context
    return turn if turn is not None else _make_default_context()


def emit_turn_event(runtime: Runtime[TurnContext], event: Event) -> None:
    """Sends an event to the runner of the turn, or into LangGraph's own stream where there is no runner."""
    turn: TurnContext | None = runtime.context
    if turn is not None and turn.channel.send is not None:
        turn.channel.emit(event)
    else:
        runtime.stream_writer(event)


@cache
def _make_default_context() -> TurnContext:
    from model.choice.resolve import resolve_models

    return TurnContext(resolve_models(kept.apply_stored_choice(load_current_settings())), load_current_settings())
