"""One model call that reranks and judges sufficiency (copilot-rag.md §4.3); its JSON is validated."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from errors import GieokError
from model import reply
from model.modelset import ModelSet
from model.reply import complete_shaped, objects
from model.stream import usage
from prompt import render
from text import sentence
from text.clean import clean

MISSING = ("steps", "conditions", "values", "definition", "other")
SHOWN = 10
"""Passages that the model is shown."""
LETTERS = 700
"""Letters of each passage that it is shown."""
REPLY_TOKENS = 2000
"""Longest reply of a model that may think first."""
_QUESTION = {"ko": "질문", "en": "Question"}


def _plain_word(value: Any) -> Any:
    return None if value in ("", "null", "none") else value


def _several_words(value: Any) -> Any:
    plain = _plain_word(value)
    return () if plain is None else (plain,) if isinstance(plain, str) else plain


class Judgement(BaseModel):
    """The specified JSON. ``ranked_indices`` count from 1; ``confidence`` from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ranked_indices: tuple[int, ...]
    is_sufficient: bool
    missing: Annotated[tuple[str, ...], BeforeValidator(_several_words)] = ()
    next_action: Annotated[Literal["get_section", "search_again"] | None, BeforeValidator(_plain_word)] = None
    refined_query: Annotated[str | None, BeforeValidator(_plain_word)] = None
    confidence: float = Field(ge=0, le=1)


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the judge sees it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the call gave. ``judgement`` None: not judged, and ``reason`` says why (an error code or «unreadable»)."""

    judgement: Judgement | None
    reason: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0


def judge(
    models: ModelSet, question: str, shown: Sequence[Shown], *, language: str, stop: threading.Event | None = None
) -> Verdict:
    """Reranks and judges. Never raises for a bad reply or a failed call; ``Stopped`` when it was stopped."""
    messages: list[AnyMessage] = [
        SystemMessage(render("documents_judge", language)),
        HumanMessage(_ask(question, shown, language)),
    ]
    try:
        shape = form(len(shown))
        answer = complete_shaped(models.utility, messages, shape, stop=stop, max_tokens=REPLY_TOKENS)
    except GieokError as error:
        return Verdict(None, error.code)
    asked, _, answered, exact = usage(answer)
    if not exact:
        asked, answered = sum(models.count(each.text) for each in messages), models.count(answer.text)
    judgement = parse(answer.text, len(shown))
    return Verdict(judgement, "" if judgement else "unreadable", asked, answered)


def parse(text: str, count: int) -> Judgement | None:
    """The judgement in a reply, its numbers within 1…``count`` and each once; None when there is none."""
    read = next(filter(None, map(_read, objects(text))), None)
    if read is None:
        return None
    ranked = tuple(dict.fromkeys(each for each in read.ranked_indices if 1 <= each <= count))
    if read.ranked_indices and not ranked:
        return None
    query = clean(read.refined_query).strip()[:300] if read.refined_query else None
    return read.model_copy(update={"ranked_indices": ranked, "refined_query": query or None})


def _read(value: dict[str, Any]) -> Judgement | None:
    try:
        return Judgement.model_validate(value)
    except ValidationError:
        return None


def excerpt(text: str, question: str, letters: int) -> str:
    """The stretch of a text that shares most words with the question, on one line."""
    line = " ".join(text.split())
    if len(line) <= letters:
        return line
    asked = set(re.findall(r"\w{2,}", question.lower()))
    sentences = sentence.split(text)
    score = [len(asked & set(re.findall(r"\w{2,}", each.lower()))) for each in sentences]
    best = max(range(len(sentences)), key=lambda at: (score[at], -at))
    first = max(0, best - 1) if score[best] else 0
    cut = " ".join(" ".join(sentences[first:]).split())
    return f"{'… ' if first else ''}{cut[:letters]}{' …' if len(cut) > letters else ''}"


def form(count: int) -> dict[str, Any]:
    """``response_format`` of the judgement over ``count`` passages."""
    properties: dict[str, Any] = {
        "ranked_indices": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": count},
            "maxItems": 5,
        },
        "is_sufficient": {"type": "boolean"},
        "missing": {"type": "array", "items": {"type": "string", "enum": list(MISSING)}, "maxItems": 3},
        "next_action": {"anyOf": [{"type": "string", "enum": ["get_section", "search_again"]}, {"type": "null"}]},
        "refined_query": {"type": "string", "maxLength": 80},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    whole = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return reply.shape("judgement", whole)


def _ask(question: str, shown: Sequence[Shown], language: str) -> str:
    asked = _QUESTION[language]
    lines = [f"[{n}] {one.label}: {excerpt(one.text, question, LETTERS)}" for n, one in enumerate(shown, 1)]
    return "\n".join([f"{asked}: {' '.join(question.split())[:600]}", *lines])
