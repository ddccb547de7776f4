"""One model call that reranks and judges sufficiency (specification 7.4); its JSON is validated."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from errors import GieokError
from model.call import json_reply
from model.call.json_reply import complete_shaped, find_valid_object
from model.call.lenient import read_word, read_words
from model.call.stream import read_token_usage
from model.modelset import ModelSet
from prompt import render_prompt
from text import sentence
from text.clean import clean_text, collapse_spaces
from text.fold import fold_text

MISSING = ("steps", "conditions", "values", "definition", "other")
SHOWN = 10
"""The most passages that the model is shown."""
LETTERS = 700
"""The most letters of a passage that the model is shown."""
REPLY_TOKENS = 2000
"""The longest reply, in tokens, of a model that may think first."""
_QUESTION = {"ko": "질문", "en": "Question"}


class Judgement(BaseModel):
    """The JSON of specification 7.4. ``ranked_indices`` count from 1; ``confidence`` from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ranked_indices: tuple[int, ...]
    is_sufficient: bool
    missing: Annotated[tuple[str, ...], BeforeValidator(read_words)] = ()
    next_action: Annotated[Literal["get_section", "search_again"] | None, BeforeValidator(read_word)] = None
    refined_query: Annotated[str | None, BeforeValidator(read_word)] = None
    confidence: float = Field(ge=0, le=1)


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as the judge sees it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the call. ``judgement`` None: not judged, and ``reason`` says why (an error code or
    «unreadable»)."""

    judgement: Judgement | None
    reason: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0


def judge_passages(
    models: ModelSet,
    question: str,
    shown: Sequence[ShownPassage],
    *,
    language: str,
    stop: threading.Event | None = None,
) -> Verdict:
    """Reranks the passages and judges whether they suffice. Never raises for a bad reply or a failed call; raises
    ``Stopped`` when it was stopped."""
    messages: list[AnyMessage] = [
        SystemMessage(render_prompt("documents_judge", language)),
        HumanMessage(_build_judge_question(question, shown, language)),
    ]
    try:
        shape = build_judgement_format(len(shown))
        answer = complete_shaped(models.utility, messages, shape, stop=stop, max_tokens=REPLY_TOKENS)
    except GieokError as error:
        return Verdict(None, error.code)
    prompt_tokens, _, answer_tokens, exact = read_token_usage(answer)
    if not exact:
        prompt_tokens, answer_tokens = (
            sum(models.count(message.text) for message in messages),
            models.count(answer.text),
        )
    judgement = parse_judgement(answer.text, len(shown))
    return Verdict(judgement, "" if judgement else "unreadable", prompt_tokens, answer_tokens)


def parse_judgement(text: str, count: int) -> Judgement | None:
    """Returns the judgement in a reply, each number once and within 1…``count``; None when the reply has none."""
    judgement = find_valid_object(text, Judgement)
    if judgement is None:
        return None
    ranked = tuple(dict.fromkeys(number for number in judgement.ranked_indices if 1 <= number <= count))
    if judgement.ranked_indices and not ranked:
        return None
    query = clean_text(judgement.refined_query).strip()[:300] if judgement.refined_query else None
    return judgement.model_copy(update={"ranked_indices": ranked, "refined_query": query or None})


def cut_question_excerpt(text: str, question: str, letters: int) -> str:
    """Returns at most ``letters`` letters of a text around the sentence that shares most words with the question, on
    one line."""
    line = collapse_spaces(text)
    if len(line) <= letters:
        return line
    question_words = set(re.findall(r"\w{2,}", fold_text(question)))
    sentences = sentence.split_sentences(text)
    score = [len(question_words & set(re.findall(r"\w{2,}", fold_text(candidate)))) for candidate in sentences]
    best = max(range(len(sentences)), key=lambda index: (score[index], -index))
    first = max(0, best - 1) if score[best] else 0
    if len(sentences[first]) + len(sentences[best]) > letters:  # the best one stands in the excerpt in any case
        first = best
    cut = collapse_spaces(" ".join(sentences[first:]))
    return f"{'… ' if first else ''}{cut[:letters]}{' …' if len(cut) > letters else ''}"


def build_judgement_format(count: int) -> dict[str, Any]:
    """Returns the ``response_format`` of the judgement over ``count`` passages."""
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
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return json_reply.build_response_format("judgement", schema)


def _build_judge_question(question: str, shown: Sequence[ShownPassage], language: str) -> str:
    heading = _QUESTION[language]
    lines = [
        f"[{number}] {passage.label}: {cut_question_excerpt(passage.text, question, LETTERS)}"
        for number, passage in enumerate(shown, 1)
    ]
    return "\n".join([f"{heading}: {collapse_spaces(question)[:600]}", *lines])
