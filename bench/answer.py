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
from graph.choice import layout
from graph.clock import now_text
from graph.context import Changing, Limits, build
from graph.state import SummaryRecord
from graph.system import system_prompt
from graph.tool import TOOLS
from graph.turns import CHUNK, question
from model.modelset import ModelSet
from model.stream import complete, usage
from text.language import detect

QUESTIONS = Path(__file__).parent / "data" / "answer.jsonl"
ANSWER_TOKENS = 160
SETS = ("main", "held_out", "absent", "tool")


@dataclass(frozen=True)
class Outcome:
    """One answered question. ``same_language``: answered in the language of the question."""

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
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with conversations and questions")
    parser.add_argument("--only", choices=SETS, help="only the questions of this set")
    parser.add_argument("--answers", action="store_true", help="list every answer")


def run(args: argparse.Namespace) -> dict[str, object]:
    """``right_share``: of the main questions; ``held_out_share``: of those that no prompt was tuned with;
    ``absent_share``: of those whose answer is not in the conversation, the share that says so; ``tool_share``: of those
    that a tool result answers.
    """
    chosen = models(args)
    conversations = [json.loads(line) for line in args.data.read_text("utf-8").splitlines() if line.strip()]
    wanted = [each for each in conversations if args.only in (None, each["set"])]
    outcomes = [outcome for conversation in wanted for outcome in _ask(chosen, conversation)]
    return {
        "model": chosen.name,
        "profile": chosen.profile.name,
        **_figures(outcomes),
        **_answers(outcomes, args.answers),
    }


def _ask(chosen: ModelSet, conversation: dict[str, Any]) -> Iterator[Outcome]:
    for asked in conversation["questions"]:
        started = time.monotonic()
        message = complete(chosen.chat, prompt(chosen, conversation, asked), max_tokens=ANSWER_TOKENS)
        seconds, (tokens, cached, _, _) = time.monotonic() - started, usage(message)
        language, answer = conversation["language"], str(message.text)
        same = detect(answer, language) == language
        yield Outcome(
            conversation["set"],
            language,
            asked["question"],
            answer,
            right(asked, answer),
            same,
            seconds,
            tokens,
            cached,
        )


def prompt(chosen: ModelSet, conversation: dict[str, Any], asked: dict[str, Any]) -> list[AnyMessage]:
    """The messages of a turn that asks this, after its tool call if it has one, built as every turn's are."""
    records = [_record(index, text) for index, text in enumerate(conversation["summaries"])]
    turn = len(records) * CHUNK + 1
    messages: list[AnyMessage] = []
    for said, answer in conversation["recent"]:
        messages += [question(said, turn, "bench"), AIMessage(answer)]
        turn += 1
    language = conversation["language"]
    built = build(
        [*messages, question(asked["question"], turn, "bench"), *_called(asked)],
        records,
        turn,
        language=language,
        system=system_prompt(chosen.profile, language, TOOLS),
        count=chosen.count,
        exact=chosen.exact,
        limits=Limits(chosen.context_size - ANSWER_TOKENS),
        changing=() if chosen.profile.prompt == "bare" else (Changing("time", now_text(language)),),
        layout=layout(chosen.profile),
    )
    return built.messages


def _called(asked: dict[str, Any]) -> list[AnyMessage]:
    if "call" not in asked:
        return []
    call = ToolCall(name=asked["call"]["name"], args=asked["call"]["arguments"], id="call", type="tool_call")
    result = ToolMessage(asked["call"]["result"], tool_call_id="call", name=call["name"])
    return [AIMessage("", tool_calls=[call]), result]


def right(asked: dict[str, Any], answer: str) -> bool:
    """Whether the answer holds an accepted form and no rejected one; signs, spaces and case do not count."""
    said = _plain(answer)
    accepted = any(_plain(form) in said for form in asked["accept"])
    return accepted and not any(_plain(form) in said for form in asked.get("reject", ()))


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


def _figures(outcomes: list[Outcome]) -> dict[str, object]:
    main = [each for each in outcomes if each.kind == "main"]
    return {
        "questions": len(outcomes),
        "right_share": _share(main),
        "ko_share": _share([each for each in main if each.language == "ko"]),
        "en_share": _share([each for each in main if each.language == "en"]),
        "held_out_share": _share([each for each in outcomes if each.kind == "held_out"]),
        "absent_share": _share([each for each in outcomes if each.kind == "absent"]),
        "tool_share": _share([each for each in outcomes if each.kind == "tool"]),
        "same_language_share": sum(each.same_language for each in outcomes) / max(1, len(outcomes)),
        "seconds_p50": statistics.median(each.seconds for each in outcomes),
        "prompt_tokens_p50": statistics.median(each.prompt for each in outcomes),
        "cached_share": sum(each.cached for each in outcomes) / max(1, sum(each.prompt for each in outcomes)),
    }


def _share(outcomes: list[Outcome]) -> float | None:
    """None where nothing was asked."""
    return sum(each.right for each in outcomes) / len(outcomes) if outcomes else None


def _answers(outcomes: list[Outcome], wanted: bool) -> dict[str, object]:
    if not wanted:
        return {}
    return {"answers": [{"right": each.right, "question": each.question, "answer": each.answer} for each in outcomes]}
