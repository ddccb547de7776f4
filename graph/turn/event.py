"""The events of one turn: a closed union of frozen dataclasses (design 2.2).

Every door runs the same turn and only translates its events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from graph.context.report import ContextReport
from graph.state import SummaryRecord
from store.turn.question import UserQuestion

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of what the model thinks before its answer or before a tool call; no part of the answer.

    ``seconds``: how long the turn has been thought about by now. ``moved``: all of the answer that was sent since the
    last tool call was thought as well, and is part of ``text``: the model's server did not say so before.
    """

    text: str
    seconds: float
    moved: bool = False


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The start of a tool call that the model asked for; ``call`` identifies the call within the turn."""

    call: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """The result of a tool as the model gets it; ``ok`` is False when the text describes a failure.

    ``artifact``: plain data beside the text, for display; a search in documents puts its trace here
    (``graph.answer.documents``). ``foreign``: the tool is not ours, or its result is foreign text.
    """

    call: str
    name: str
    result: str
    ok: bool
    seconds: float
    artifact: dict[str, Any] | None = None
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class SummaryStarted:
    """The start of a wait for the summary of these turns: without it the context would overflow (design 5.1)."""

    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryLater:
    """A notice that the summary of these turns is not ready: the turns stay raw in this turn, and the next turn takes
    the summary (design 5.1)."""

    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """A chunk summary that entered the context, or that failed: then ``error`` is set, ``record`` is None, and its
    turns stay raw. ``ahead``: it was made in the background; ``lost``: facts that it lacks."""

    turns: tuple[int, ...]
    record: SummaryRecord | None
    ahead: bool = False
    seconds: float = 0.0
    lost: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ContextBuilt:
    """The report of the prompt for the next model call, sent before the call."""

    report: ContextReport


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """The tokens and the cost of all model calls of a turn. ``exact`` is False when counts are estimates.

    ``usd`` is None when a price is unknown. ``cut_at``: the limit in tokens that cut the answer off; 0 when the answer
    is whole. ``last_prompt_tokens``: the prompt of the last call for an answer, which is how large the conversation
    has become; the sum counts what calls of tools sent again and again. ``model``: the one that answered;
    ``cache_usd``: the US dollars that the provider's cache has saved, as far as prices are known.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    exact: bool = True
    usd: float | None = None
    cut_at: int = 0
    last_prompt_tokens: int = 0
    model: str = ""
    cache_usd: float = 0.0

    def minus(self, earlier: TurnUsage) -> TurnUsage:
        """Returns what came after an earlier count of the same turn."""
        usd = None if self.usd is None or earlier.usd is None else self.usd - earlier.usd
        return TurnUsage(
            self.prompt_tokens - earlier.prompt_tokens,
            self.cached_tokens - earlier.cached_tokens,
            self.answer_tokens - earlier.answer_tokens,
            self.calls - earlier.calls,
            self.exact,
            usd,
            self.cut_at,
            self.last_prompt_tokens,
            self.model,
            self.cache_usd - earlier.cache_usd,
        )


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a turn that is complete and stored. ``stopped``: by the user; the partial answer is kept.
    ``finish_reason``: "length" when the answer was cut at its token limit, else "stop"."""

    turn: int
    answer: str
    stopped: bool = False
    usage: TurnUsage = field(default_factory=TurnUsage)
    seconds: float = 0.0
    first_token_seconds: float | None = None
    finish_reason: FinishReason = "stop"


def find_finish_reason(cut_at: int, stopped: bool) -> FinishReason:
    """Returns why an answer ended. ``cut_at``: as in ``TurnUsage``."""
    return "length" if cut_at and not stopped else "stop"


@dataclass(frozen=True, slots=True)
class Failed:
    """The end of a turn that has no answer; the user's message is kept and can be retried when ``retryable``."""

    turn: int
    code: str
    message: str
    retryable: bool
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnQuestions:
    """The end of a run whose turn waits: the user must answer ``questions`` before the turn goes on
    (``graph.turn.agent.Agent.resume``). Nothing runs meanwhile, and the session is free. ``said``: the text before the
    questions; ``usage``, ``seconds``: of the turn so far."""

    turn: int
    questions: tuple[UserQuestion, ...]
    said: str = ""
    usage: TurnUsage = field(default_factory=TurnUsage)
    seconds: float = 0.0


Step = Thought | ToolStarted | ToolFinished | SummaryStarted | SummaryLater | SummaryMade | ContextBuilt
"""What happens on the way to an answer, beside its text."""
Ended = Done | Failed | TurnQuestions
"""How the run of a turn ends: each door matches all three, which ``assert_never`` has the type checker see to."""
Event = Token | Step | Ended
Outcome = Literal["done", "stopped", "failed", "waiting"]
