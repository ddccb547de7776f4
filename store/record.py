"""Rows of the record as frozen dataclasses of plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from store.path import TRUNK, Path
from text.language import Language
from text.user_name import ME

TurnStatus = Literal["running", "waiting", "done", "stopped", "failed"]
Titled = Literal["auto", "model", "user"]
Rewriting = Literal["", "now", "never"]
"""Whether the model is to write the summaries that code extracted: nobody has decided, it is under way, or never."""
SummaryStatus = Literal["ready", "active", "retired", "superseded", "failed"]


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation. Times are Unix seconds.

    ``path``: the branches that its turns lie on now. ``turn_count`` and ``history_tokens`` (the raw messages of all
    finished turns) cover the turns of this path. ``deleted``: when the session was put away; it can be brought back.
    ``revision``: rises when the record changes but the state does not (another branch, an edited summary). ``titled``:
    the source of the title: the first question (auto), the model or the user. ``collections``: the collections of
    documents that its questions are looked up in (``retrieval.document.Collection``); None for all. ``folder``: the id
    of the folder that the session lies in, empty for none. ``owner``: the user whose session it is. ``alias``: the name
    that a client gave it, empty for none. ``client_system``: the client's own system text, empty for none.
    ``rewriting``: whether the model is to write extracted summaries (``Rewriting``). ``model``: the model that answers
    in it, by ``kind``, ``url`` and ``name`` (``model.choice.model_offer``); None: the one that the installation uses.
    ``world``: the id of the world whose story it is (``store.world``), empty for a conversation without one.
    ``remembers``: the story has a memory and summaries of its own (``graph.turn.memory.story``).
    """

    id: str
    title: str
    language: Language
    compression_rate: float
    turn_count: int
    history_tokens: int
    created: float
    updated: float
    pinned: bool = False
    deleted: float | None = None
    path: Path = field(default_factory=lambda: list(TRUNK))
    revision: int = 0
    titled: Titled = "auto"
    collections: list[str] | None = None
    folder: str = ""
    owner: str = ME
    alias: str = ""
    client_system: str = ""
    rewriting: Rewriting = ""
    model: dict[str, str] | None = None
    world: str = ""
    remembers: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A named group of sessions; folders do not nest."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of the transcript: the question as it was typed, the answer, and everything between.

    ``messages``: the turn's messages as plain data (LangChain's ``messages_to_dict``); ``steps``: tool calls for
    display; ``report``: the last ``ContextReport`` as plain data; ``error``: code, message, values, retryable;
    ``feedback``: the user's opinion of the answer (``thumb``: up or down, ``note``); ``tokens``: the tokens of its raw
    messages; ``files``: the files that came with the question, by ``name`` and, unless the turn was imported, ``key``
    (``store.turn.attachment``). ``given``: a client told this turn; no model of ours answered it.
    ``questions``: what the user must answer before a waiting turn goes on (``store.turn.question``).
    ``has_foreign``: the prompt held text of others; ``is_imported``: its question comes out of a file. ``reasoning``:
    what the model thought before its answer (``text``, ``seconds``); no prompt, summary or search ever holds it.
    ``pinned``: every prompt of the conversation holds the turn word for word.
    """

    session_id: str
    number: int
    question: str
    answer: str | None
    status: TurnStatus
    messages: list[dict[str, Any]] | None
    error: dict[str, Any] | None
    steps: list[dict[str, Any]]
    report: dict[str, Any] | None
    usage: dict[str, Any] | None
    feedback: dict[str, Any] | None
    tokens: int
    branch: int
    started: float
    finished: float | None
    seconds: float | None
    first_token_seconds: float | None
    files: list[dict[str, str]] = field(default_factory=list)
    given: bool = False
    questions: list[dict[str, Any]] = field(default_factory=list)
    has_foreign: bool = False
    is_imported: bool = False
    reasoning: dict[str, Any] | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class GivenTurn:
    """A finished turn that a client tells and that we never had. ``tokens``: the tokens of question and answer.
    ``is_own``: our model did answer it, beside the conversation."""

    question: str
    answer: str
    tokens: int
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One row of the summary ledger.

    ``status``: ready (made ahead, not yet in the context), active, retired (left the context over budget),
    superseded (another version took its place), failed (``error`` says why; its turns stay raw). ``origin``: auto,
    extracted, regenerated, edited, or asked: the user had these turns summarised at once. ``hint``: what the user
    wanted the writer to look to.
    """

    id: int
    session_id: str
    branch: int
    turns: list[int]
    rate: float
    version: int
    record: dict[str, Any] | None
    status: SummaryStatus
    origin: str
    ahead: bool
    model: str | None
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    kept: list[str]
    lost: list[str]
    error: dict[str, Any] | None
    created: float
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a turn, written to the database in one statement. ``has_foreign``: its prompt held text of others;
    False leaves what is known of that. ``given``: no model of ours answered it."""

    status: TurnStatus
    answer: str | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    report: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    seconds: float = 0.0
    first_token_seconds: float | None = None
    tokens: int = 0
    questions: list[dict[str, Any]] | None = None
    reasoning: dict[str, Any] | None = None
    has_foreign: bool = False
    given: bool = False
