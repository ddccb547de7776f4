"""What happens during one turn: a closed union of frozen dataclasses (design §2).

Every door runs the same turn and only translates these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from graph.report import ContextReport
from graph.state import SummaryRecord


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model asked for a tool; ``call`` identifies the call within the turn."""

    call: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool's result as the model gets it; ``ok`` is False when the text describes a failure.

    ``artifact``: plain data beside the text, for display; of a search in documents its trace (``graph.documents``).
    """

    call: str
    name: str
    result: str
    ok: bool
    seconds: float
    artifact: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SummaryStarted:
    """This turn waits for the summary of these turns, because its context would overflow without it (design §5)."""

    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryLater:
    """The summary of these turns is not ready: they stay raw in this turn, and the next one takes it (design §5)."""

    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """A chunk summary entered the context, or failed (``error`` set, ``record`` None) and its turns stay raw."""

    turns: tuple[int, ...]
    record: SummaryRecord | None
    ahead: bool = False
    seconds: float = 0.0
    lost: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ContextBuilt:
    """The prompt of the next model call stands; the report says what is in it."""

    report: ContextReport


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of a turn, all calls together. ``exact`` is False when counts are estimates.

    ``cut_at``: the limit in tokens that cut the answer off; 0 when it is whole.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    exact: bool = True
    usd: float | None = None
    cut_at: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is complete and stored. ``stopped``: the user stopped it, the partial answer is kept."""

    turn: int
    answer: str
    stopped: bool = False
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    first_token_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn has no answer; the user's message is kept and can be retried when ``retryable``."""

    turn: int
    code: str
    message: str
    retryable: bool
    values: dict[str, Any] = field(default_factory=dict)


Event = Token | ToolStarted | ToolFinished | SummaryStarted | SummaryLater | SummaryMade | ContextBuilt | Done | Failed
Outcome = Literal["done", "stopped", "failed"]
