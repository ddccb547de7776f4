"""The format of an exported session, version 1: the fields that an import requires, and the form of times.

Times are ISO 8601 in UTC, to the microsecond; durations are seconds. All other values are those of the record
(``store.record``), so texts come back character by character. An import does not reuse the id of the exported session;
it creates a session with a new id. The file leaves out the ``thread_id`` of summaries, which is the session's id.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_from_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from store.export.world_part import WorldForm
from store.path import Path, branch_at
from store.record import SummaryStatus, Titled, TurnStatus
from store.session.options import ANSWER_TOKENS, PROMPT_CHARS, SYSTEM_CHARS, TEMPERATURES
from text.clean import clean_text
from text.language import Language

FORMAT: Literal["gieok"] = "gieok"
VERSION: Literal[1] = 1
TIMES = frozenset({"created", "updated", "used", "started", "finished"})
_STATE = JsonPlusSerializer(allowed_msgpack_modules=None)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _parse_iso_seconds(value: object) -> object:
    """Returns Unix seconds for a text in ISO 8601; reads a time without an offset as UTC."""
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def format_iso(moment: float) -> str:
    """Returns ISO 8601 in UTC for Unix seconds."""
    return datetime.fromtimestamp(moment, UTC).isoformat()


def _build_shape_validator(shape: type[BaseModel]) -> AfterValidator:
    """Returns a validator that checks plain data against the shape and keeps the data as they are."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        shape.model_validate(value)
        return value

    return AfterValidator(check)


def _check_base64(text: str) -> str:
    """Raises ``ValueError`` for a text that holds no bytes."""
    base64.b64decode(text, validate=True)
    return text


class StrictForm(BaseModel):
    """A model that refuses unknown fields: an import must not silently lose data that a newer version added."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Open(BaseModel):
    """Plain data with some required fields, which may have other fields too."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class StepForm(Open):
    call: str
    name: str
    arguments: dict[str, Any]
    result: str
    ok: bool
    seconds: float


class ProblemForm(Open):
    code: str
    message: str
    values: dict[str, Any]
    retryable: bool


class Feedback(Open):
    thumb: Literal["up", "down"] | None = None
    note: str = ""


class Used(Open):
    prompt_tokens: int
    answer_tokens: int
    usd: float | None = None


class Share(Open):
    name: str
    tokens: int


class ReasoningForm(Open):
    text: str
    seconds: float = 0.0


class ReportForm(Open):
    turn: int
    total_tokens: int
    full_tokens: int
    parts: list[Share]
    left_out: list[dict[str, Any]]


Moment = Annotated[float, BeforeValidator(_parse_iso_seconds), Field(ge=-6e10, le=2.5e11)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Place = Annotated[int, Field(ge=1, le=2**31 - 1)]
Rate = Annotated[float, Field(ge=0.1, le=0.5)]
Steps = Annotated[tuple[Count, Count], Field(strict=False)]
Way = Annotated[list[Steps], Field(min_length=1, max_length=10_000)]


class OptionsForm(StrictForm):
    """Options of a conversation's answers. ``earlier``: the system prompts of its own that the conversation has had,
    and the system texts of its client.
    """

    system_prompt: Annotated[str, AfterValidator(clean_text), Field(max_length=PROMPT_CHARS)] = ""
    temperature: Annotated[float, Field(ge=TEMPERATURES[0], le=TEMPERATURES[1])] | None = None
    answer_tokens: Annotated[int, Field(ge=ANSWER_TOKENS[0], le=ANSWER_TOKENS[1])] | None = None
    earlier: list[Annotated[str, AfterValidator(clean_text), Field(max_length=SYSTEM_CHARS)]] = []


class FileForm(StrictForm):
    """A file that came with a question. ``image``: its name among the images of the conversation; of any other file the
    export holds neither its content nor its key in the library."""

    name: str
    image: str = ""


class ImageForm(StrictForm):
    """An image. ``kind``: the MIME type of its ``data``, which is in Base64."""

    kind: Literal["image/png", "image/jpeg"]
    data: Annotated[str, AfterValidator(_check_base64), Field(max_length=20_000_000)]


class SessionForm(StrictForm):
    id: str = ""
    title: str = Field("", max_length=200)
    titled: Titled = "auto"
    language: Language
    compression_rate: Rate
    pinned: bool = False
    created: Moment
    updated: Moment
    path: Way
    collections: list[Literal["session", "mine", "product"]] | None = None
    options: OptionsForm | None = None
    client_system: str = ""
    remembers: bool = False


class BranchForm(StrictForm):
    id: Count
    path: Way
    used: Moment


class TurnForm(StrictForm):
    branch: Count
    number: Count
    question: str
    answer: str | None = None
    status: TurnStatus
    started: Moment
    finished: Moment | None = None
    seconds: float | None = None
    first_token_seconds: float | None = None
    feedback: Annotated[dict[str, Any], _build_shape_validator(Feedback)] | None = None
    steps: list[Annotated[dict[str, Any], _build_shape_validator(StepForm)]] = []
    error: Annotated[dict[str, Any], _build_shape_validator(ProblemForm)] | None = None
    usage: Annotated[dict[str, Any], _build_shape_validator(Used)] | None = None
    tokens: Count = 0
    report: Annotated[dict[str, Any], _build_shape_validator(ReportForm)] | None = None
    files: list[Annotated[dict[str, Any], _build_shape_validator(FileForm)]] | None = None
    messages: list[dict[str, Any]] | None = None
    reasoning: Annotated[dict[str, Any], _build_shape_validator(ReasoningForm)] | None = None
    pinned: bool = False

    @model_validator(mode="after")
    def _fits(self) -> TurnForm:
        """Checks that an answered turn can be sent to a model again."""
        if self.status in ("done", "stopped"):
            _check_messages(self.messages or [], self.number)
        return self


class RecordForm(StrictForm):
    turns: Annotated[list[Place], Field(min_length=1, max_length=100)]
    turn_length: Count
    original_chars: Count
    summary_chars: Count
    compression_rate: float
    summary: Annotated[str, AfterValidator(clean_text)]


class SummaryForm(StrictForm):
    branch: Count
    turns: Annotated[list[Place], Field(min_length=1, max_length=100)]
    version: Place
    status: SummaryStatus
    origin: str = Field(max_length=16)
    ahead: bool
    rate: Rate
    record: RecordForm | None = None
    kept: list[str] = []
    lost: list[str] = []
    error: Annotated[dict[str, Any], _build_shape_validator(ProblemForm)] | None = None
    model: str | None = Field(None, max_length=200)
    prompt_tokens: Count = 0
    answer_tokens: Count = 0
    seconds: float = 0.0
    created: Moment
    hint: str = Field("", max_length=1000)

    @model_validator(mode="after")
    def _whole(self) -> SummaryForm:
        if self.turns != list(range(self.turns[0], self.turns[0] + len(self.turns))):
            raise ValueError("its turns do not follow each other")
        if self.status != "failed" and (self.record is None or self.record.turns != self.turns):
            raise ValueError("it has no record of its turns")
        return self


class ConversationForm(StrictForm):
    """One session with everything that belongs to it."""

    format: Literal["gieok"] = FORMAT
    version: Literal[1] = VERSION
    session: SessionForm
    branches: list[BranchForm]
    turns: Annotated[list[TurnForm], Field(min_length=1)]
    summaries: list[SummaryForm] = []
    images: dict[str, ImageForm] = {}
    world: WorldForm | None = None

    @model_validator(mode="after")
    def _hangs_together(self) -> ConversationForm:
        """Checks that paths lead along existing branches, and that no place holds two rows."""
        _check_unique_keys("branch", (item.id for item in self.branches))
        _check_unique_keys("turn", ((item.branch, item.number) for item in self.turns))
        _check_unique_keys("summary", ((item.branch, item.turns[0], item.version) for item in self.summaries))
        known = {item.id for item in self.branches}
        used = {item.branch for item in self.turns} | {item.branch for item in self.summaries}
        if used - known:
            raise ValueError(f"there is no branch {min(used - known)}")
        firsts = {1} if self.world is None else {0, 1}  # a greeting is turn 0
        for way in (self.session.path, *(item.path for item in self.branches)):
            _check_path(way, known, firsts)
        if self.world is None and any(item.number < 1 for item in self.turns):
            raise ValueError("it has a turn 0")
        named = {file["image"] for item in self.turns for file in item.files or () if file.get("image")}
        if missing := named - self.images.keys():
            raise ValueError(f"it has no image {min(missing)}")
        if self.world is not None:
            places = {(item.branch, item.number) for item in self.turns}
            _check_unique_keys("turn of the world", ((item.branch, item.number) for item in self.world.turns))
            if any((item.branch, item.number) not in places for item in self.world.turns):
                raise ValueError("its world has a turn that is not there")
        _check_numbers(self.session.path, {(item.branch, item.number) for item in self.turns})
        return self


def _check_unique_keys(what: str, keys: Iterable[Hashable]) -> None:
    for key, times in Counter(keys).items():
        if times > 1:
            raise ValueError(f"{what} {key} is there {times} times")


def _check_path(path: Path, known: set[int], begins: set[int]) -> None:
    firsts = [first for _, first in path]
    if firsts[0] not in begins or any(later <= earlier for earlier, later in pairwise(firsts)):
        raise ValueError(f"{path} is no path: it must begin at turn 1 and go on to later turns")
    if missing := {branch for branch, _ in path} - known:
        raise ValueError(f"the path {path} leads to branch {min(missing)}, which is not there")


def _check_numbers(path: Path, places: set[tuple[int, int]]) -> None:
    """Checks that the turns of the path exist without a gap."""
    begin = path[0][1]
    count = begin - 1
    while (branch_at(path, count + 1), count + 1) in places:
        count += 1
    later = [number for branch, number in places if number > count and branch_at(path, number) == branch]
    if count < begin or later:
        raise ValueError(f"the path has no turn {count + 1}")


def _check_messages(plain: list[dict[str, Any]], number: int) -> None:
    """Checks that the messages are one question, then tool calls and results, then an answer, and that the state can
    store them.
    """
    try:
        messages = messages_from_dict(plain)
        _STATE.dumps_typed(messages)
    except Exception as error:  # the file may hold anything
        raise ValueError(f"its messages cannot be read ({type(error).__name__})") from error
    if "\\u0000" in (text := json.dumps(plain, ensure_ascii=False)) or _SURROGATE.search(text):
        raise ValueError("its messages have characters that no model takes")
    questions = [isinstance(message, HumanMessage) for message in messages]
    if questions[:1] != [True] or sum(questions) > 1 or not isinstance(messages[-1], AIMessage):
        raise ValueError("its messages must be one question, then what followed, then the answer")
    if any(not isinstance(message, AIMessage | ToolMessage) for message in messages[1:]):
        raise ValueError("its messages must be of the user, the model and its tools")
    if messages[0].additional_kwargs.get("turn", number) != number:
        raise ValueError("its messages belong to another turn")
