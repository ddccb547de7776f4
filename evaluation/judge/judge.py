"""A model judges whether a memory helps with a query (specification, memory evaluation).

The overall score is computed here. The model's own figure is kept beside it. A reply that cannot be read is asked for
once more; then it gives no score: it is counted apart and never stands for zero.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from errors import GieokError
from evaluation.judge.criterion import CRITERIA, EMPTY, TOP, Criterion, compute_overall_score
from model.call import json_reply
from model.call.json_reply import complete_shaped, find_json_objects
from model.call.lenient import make_number_reader
from model.call.stream import read_token_usage
from model.modelset import ModelSet
from model.price import compute_call_price
from prompt import render_prompt
from text.clean import clean_text
from text.fence import fence_text

PROMPT = "memory_judge"
AGAIN = "memory_judge_again"
TAGS = ("query", "memory", "entities", "질문", "기억", "엔티티")
"""The tags of both prompts, which no text between them may close or open."""
REPLY_TOKENS = 2000
"""The longest reply, in tokens, of a model that may think first."""
DIFFERENCE = 1.0
"""A model's own overall score that differs from ours by more than this is shown."""

Status = Literal["scored", "empty", "unscored"]
Score = Annotated[float, BeforeValidator(make_number_reader(TOP)), Field(strict=True, ge=0, le=TOP)]


class _JudgeReplyPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    @field_validator(
        "overall_score", "reason", "helpful_info", "missing_info", "summary", mode="wrap", check_fields=False
    )
    @classmethod
    def _beside_the_scores(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """Returns the default of a field that cannot be read: the scores count without it."""
        try:
            return handler(value)
        except ValidationError:
            return cls.model_fields[info.field_name or ""].default


class CriterionScore(_JudgeReplyPart):
    """The score of one criterion, 0 to 10, and the judge's reason."""

    score: Score
    reason: str = ""

    @model_validator(mode="before")
    @classmethod
    def _score_alone(cls, value: Any) -> Any:
        """Returns a score without its object as the object."""
        return value if isinstance(value, dict) else {"score": value}


class _Scores(_JudgeReplyPart):
    relevance: CriterionScore
    completeness: CriterionScore
    accuracy: CriterionScore
    noise: CriterionScore


class JudgeReply(_JudgeReplyPart):
    """The JSON of the specification. ``overall_score`` is the model's own figure."""

    overall_score: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = None
    scores: _Scores
    helpful_info: tuple[str, ...] = ()
    missing_info: tuple[str, ...] = ()
    summary: str = ""

    @model_validator(mode="before")
    @classmethod
    def _scores_on_top(cls, value: Any) -> Any:
        """Returns a reply that has the criteria beside the other fields as one with ``scores``."""
        return value if not isinstance(value, dict) or "scores" in value else {**value, "scores": value}


@dataclass(frozen=True, slots=True)
class Rating:
    """The result of one judgement.

    ``status``: scored, empty (an empty memory, which was not sent), or unscored. ``scores``, ``reasons``: by criterion;
    empty when unscored. ``overall``: 0 to 100 by the formula, None when unscored; ``stated``: the model's
    own figure.
    ``why``: why it is unscored, an error code or a sentence; ``failed``: the call itself failed, so that another try
    may succeed. ``usd``: None when the price is unknown.
    """

    status: Status
    scores: dict[Criterion, float] = field(default_factory=dict)
    reasons: dict[Criterion, str] = field(default_factory=dict)
    overall: float | None = None
    stated: float | None = None
    helpful: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    summary: str = ""
    why: str = ""
    failed: bool = False
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    usd: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the model's own overall score differs from ours by more than one point."""
        return self.overall is not None and self.stated is not None and abs(self.overall - self.stated) > DIFFERENCE


def judge_memory(
    models: ModelSet,
    query: str,
    memory: str,
    entities: str,
    *,
    language: str,
    stop: threading.Event | None = None,
) -> Rating:
    """Returns the rating of a memory for a query by the utility model, after two requests at most.

    Never raises for a bad reply or a failed call; raises ``Stopped`` when it was stopped.
    """
    if not memory.strip() and not entities.strip():
        return Rating("empty", scores=dict(EMPTY), overall=compute_overall_score(EMPTY))
    texts = {"query": query, "memory": memory, "entities": entities}
    data = {name: fence_text(text, *TAGS).strip() or "–" for name, text in texts.items()}
    messages: list[AnyMessage] = [HumanMessage(render_prompt(PROMPT, language, **data))]
    first, text = _request_rating(models, messages, stop)
    if first.status == "scored" or first.failed:
        return first
    messages += [AIMessage(text or "–"), HumanMessage(render_prompt(AGAIN, language, why=first.why))]
    second, _ = _request_rating(models, messages, stop)
    return replace(
        second,
        prompt_tokens=first.prompt_tokens + second.prompt_tokens,
        answer_tokens=first.answer_tokens + second.answer_tokens,
        seconds=first.seconds + second.seconds,
        usd=first.usd + (second.usd or 0.0) if first.usd is not None else second.usd,
    )


def _request_rating(models: ModelSet, messages: list[AnyMessage], stop: threading.Event | None) -> tuple[Rating, str]:
    """Returns the rating by one request, with its cost, and the reply's text."""
    began = time.monotonic()
    try:
        reply = complete_shaped(
            models.utility, list(messages), build_rating_format(), stop=stop, max_tokens=REPLY_TOKENS
        )
    except GieokError as error:
        return Rating("unscored", why=error.code, failed=True, seconds=time.monotonic() - began), ""
    prompt_tokens, cached, answer_tokens, exact = read_token_usage(reply)
    if not exact:
        prompt_tokens, cached = sum(models.count(message.text) for message in messages), 0
        answer_tokens = models.count(reply.text)
    price = compute_call_price(models.side_name, prompt_tokens, cached, answer_tokens, url=models.url)
    cost = {"prompt_tokens": prompt_tokens, "answer_tokens": answer_tokens, "usd": price}
    return _build_rating(reply.text, seconds=time.monotonic() - began, **cost), reply.text


def parse_judge_reply(text: str) -> JudgeReply | str:
    """Returns the reply that a text holds, or the reason why it holds none: no JSON, or the first field that is missing
    or wrong. A draft in the model's thoughts does not stand in for a reply that is wrong."""
    value = next((value for value in find_json_objects(text) if "scores" in value or set(CRITERIA) <= set(value)), None)
    if value is None:
        return "no JSON"
    try:
        return JudgeReply.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _build_rating(text: str, **cost: Any) -> Rating:
    reply = parse_judge_reply(text)
    if isinstance(reply, str):
        return Rating("unscored", why=reply, **cost)
    judged: dict[Criterion, CriterionScore] = {name: getattr(reply.scores, name) for name in CRITERIA}
    scores = {name: one.score for name, one in judged.items()}
    return Rating(
        "scored",
        scores=scores,
        reasons={name: clean_text(one.reason).strip() for name, one in judged.items()},
        overall=compute_overall_score(scores),
        stated=reply.overall_score,
        helpful=tuple(map(clean_text, reply.helpful_info)),
        missing=tuple(map(clean_text, reply.missing_info)),
        summary=clean_text(reply.summary).strip(),
        **cost,
    )


def build_rating_format() -> dict[str, Any]:
    """Returns the ``response_format`` of the judge's reply."""
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    one = _build_rating_schema({"score": {"type": "number", "minimum": 0, "maximum": TOP}, "reason": text})
    fields = {
        "overall_score": {"type": "number", "minimum": 0, "maximum": 100},
        "scores": _build_rating_schema(dict.fromkeys(CRITERIA, one)),
        "helpful_info": texts,
        "missing_info": texts,
        "summary": text,
    }
    return json_reply.build_response_format("memory_judgement", _build_rating_schema(fields))


def _build_rating_schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
