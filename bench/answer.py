"""Use of the context: the share of questions answered right from a summary or a recent turn."""

from __future__ import annotations

import argparse
import json
import statistics
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from bench.models import add_arguments as add_model_arguments
from bench.models import models
from graph.choice import choose_prompt_layout
from graph.context.clock import now_text, read_local_time
from graph.context.prompt import Changing, Limits, PromptMaterial, build_turn_prompt
from graph.context.system_prompt import system_prompt
from graph.context.turns import CHUNK, make_question_message
from graph.state import SummaryRecord
from graph.tool import TOOLS
from model.call.stream import complete_answer, read_token_usage
from model.modelset import ModelSet
from text.language import detect_language

QUESTIONS = Path(__file__).parent / "data" / "answer.jsonl"
ANSWER_TOKENS = 160
SETS = ("main", "held_out", "absent", "tool")


@dataclass(frozen=True)
class AnswerOutcome:
    """One answered question. ``same_language``: the answer is in the language of the question; ``prompt``, ``cached``:
    tokens of the prompt, and those of them from the model's cache."""

    kind: str
    language: str
    question: str
    answer: str
    right: bool
    same_language: bool
    seconds: float
    prompt: int
    cached: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with conversations and questions")
    parser.add_argument("--only", choices=SETS, help="only the questions of this set")
    parser.add_argument("--answers", action="store_true", help="list every answer")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Asks every question and returns the figures. ``right_share``: of the main questions, the share answered right;
    ``held_out_share``: the same of the questions that no prompt was tuned with; ``absent_share``: of the questions
    whose answer is not in the conversation, the share whose answer says so; ``tool_share``: of the questions that a
    tool result answers, the share answered right.
    """
    chosen = models(args)
    conversations = [json.loads(line) for line in args.data.read_text("utf-8").splitlines() if line.strip()]
    selected = [candidate for candidate in conversations if args.only in (None, candidate["set"])]
    outcomes = [outcome for conversation in selected for outcome in _ask(chosen, conversation)]
    return {
        "model": chosen.name,
        "profile": chosen.profile.name,
        **_figures(outcomes),
        **_answers(outcomes, args.answers),
    }


def _ask(chosen: ModelSet, conversation: dict[str, Any]) -> Iterator[AnswerOutcome]:
    for row in conversation["questions"]:
        started = time.monotonic()
        message = complete_answer(chosen.chat, prompt(chosen, conversation, row), max_tokens=ANSWER_TOKENS)
        seconds, (tokens, cached, _, _) = time.monotonic() - started, read_token_usage(message)
        language, answer = conversation["language"], str(message.text)
        same = detect_language(answer, language) == language
        yield AnswerOutcome(
            conversation["set"],
            language,
            row["question"],
            answer,
            right(row, answer),
            same,
            seconds,
            tokens,
            cached,
        )


def prompt(chosen: ModelSet, conversation: dict[str, Any], asked: dict[str, Any]) -> list[AnyMessage]:
    """Returns the messages of a turn that asks this question, after the question's tool call if there is one; the
    product's own code builds them."""
    records = [_record(index, text) for index, text in enumerate(conversation["summaries"])]
    turn = len(records) * CHUNK + 1
    messages: list[AnyMessage] = []
    for user, answer in conversation["recent"]:
        messages += [make_question_message(user, turn, "bench"), AIMessage(answer)]
        turn += 1
    language = conversation["language"]
    now = Changing("time", now_text(language, read_local_time()))
    built = build_turn_prompt(
        [*messages, make_question_message(asked["question"], turn, "bench"), *_called(asked)],
        records,
        turn,
        PromptMaterial(
            language=language,
            system=system_prompt(chosen.profile, language, TOOLS),
            count=chosen.count,
            exact=chosen.exact,
            changing=() if chosen.profile.prompt == "bare" else (now,),
            layout=choose_prompt_layout(chosen.profile),
        ),
        Limits(chosen.context_size - ANSWER_TOKENS),
    )
    return built.messages


def _called(asked: dict[str, Any]) -> list[AnyMessage]:
    if "call" not in asked:
        return []
    call = ToolCall(name=asked["call"]["name"], args=asked["call"]["arguments"], id="call", type="tool_call")
    result = ToolMessage(asked["call"]["result"], tool_call_id="call", name=call["name"])
    return [AIMessage("", tool_calls=[call]), result]


def right(asked: dict[str, Any], answer: str) -> bool:
    """Returns whether the answer contains an accepted form and no rejected form. Case, spaces and all signs other than
    ``'``, ``:`` and ``/`` do not count."""
    plain_answer = _plain(answer)
    accepted = any(_plain(form) in plain_answer for form in asked["accept"])
    return accepted and not any(_plain(form) in plain_answer for form in asked.get("reject", ()))


def _plain(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return "".join(sign for sign in normal if sign.isalnum() or sign in "':/")


def _record(index: int, text: str) -> SummaryRecord:
    first = index * CHUNK + 1
    return SummaryRecord(
        thread_id="bench",
        turns=list(range(first, first + CHUNK)),
        turn_length=CHUNK,
        original_chars=len(text) * 3,
        summary_chars=len(text),
        compression_rate=0.3,
        summary=text,
    )


def _figures(outcomes: list[AnswerOutcome]) -> dict[str, object]:
    main = [outcome for outcome in outcomes if outcome.kind == "main"]
    return {
        "questions": len(outcomes),
        "right_share": _share(main),
        "ko_share": _share([outcome for outcome in main if outcome.language == "ko"]),
        "en_share": _share([outcome for outcome in main if outcome.language == "en"]),
        "held_out_share": _share([outcome for outcome in outcomes if outcome.kind == "held_out"]),
        "absent_share": _share([outcome for outcome in outcomes if outcome.kind == "absent"]),
        "tool_share": _share([outcome for outcome in outcomes if outcome.kind == "tool"]),
        "same_language_share": sum(outcome.same_language for outcome in outcomes) / max(1, len(outcomes)),
        "seconds_p50": statistics.median(outcome.seconds for outcome in outcomes),
        "prompt_tokens_p50": statistics.median(outcome.prompt for outcome in outcomes),
        "cached_share": sum(outcome.cached for outcome in outcomes)
        / max(1, sum(outcome.prompt for outcome in outcomes)),
    }


def _share(outcomes: list[AnswerOutcome]) -> float | None:
    """Returns the share of right answers; None when no question was asked."""
    return sum(outcome.right for outcome in outcomes) / len(outcomes) if outcomes else None


def _answers(outcomes: list[AnswerOutcome], wanted: bool) -> dict[str, object]:
    if not wanted:
        return {}
    return {
        "answers": [
            {"right": outcome.right, "question": outcome.question, "answer": outcome.answer} for outcome in outcomes
        ]
    }
