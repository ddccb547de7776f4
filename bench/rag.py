"""Answers from the product's own documents, by whole turns: right sections, refusals, tool calls and seconds."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.models import add_arguments as add_model_arguments
from bench.models import models
from graph.answer.documents import look_ups
from graph.turn.agent import Agent, open_agent
from retrieval import Library
from retrieval.answer.fallback import NOT_FOUND, NOT_READY
from retrieval.product_docs import first_run
from settings import load_current_settings

QUESTIONS = Path(__file__).parent / "data" / "rag.jsonl"
KINDS = ("answer", "again", "section", "none", "other")
"""``none``: about the product, but the documents do not say; ``other``: about the world at large, as in any chat."""
UNANSWERABLE = ("none", "other")
_CITED = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
_ADMISSION = re.compile(
    r"\b(?:could|can|did|do|does|is|are)(?:n['’]t| ?not) (?:find|say|mention|know|have|contain|include|provide|cover|"
    r"specify|state|available|mentioned|covered|found|in the (?:documents?|passages?))\b"
    r"|\b(?:not able|unable) to (?:provide|find|answer)"
    r"|\bno (?:related |specific )?(?:information|mention|documents?|answer)\b|\bnot (?:mentioned|covered|specified)\b"
    r"|찾지 못|찾을 수 없|나와 있지 않|나오지 않|적혀 있지 않|언급(?:되어 있지|되지|하지) 않|알 수 없|준비 중"
    r"|(?:정보|내용|문서|문단|답|답변|언급)(?:이|가|은|는|에|에는)? ?(?:없|포함되어 있지 않)",
    re.IGNORECASE,
)

LookedUp = Sequence[Mapping[str, Any]]
"""``LookUp.plain()`` of every look-up that was made for a question."""


@dataclass(frozen=True)
class SearchOutcome:
    """One question. ``found``: a right section is among the passages given; ``first``: it is the first of them;
    ``right``: the answer cites it (``--search``: it was found); ``refused``: the answer contains the specified sentence
    or admits that it does not know, and cites nothing (``--search``: no passage was given); ``again``: more than one
    search was made; ``apart``: no passage was given; ``section``: a section was opened; ``answer``: '' when no answer
    was made.
    """

    kind: str
    question: str
    gold: tuple[str, ...]
    given: tuple[str, ...]
    found: bool
    first: bool
    right: bool
    refused: bool
    apart: bool
    again: bool
    section: bool
    calls: int
    seconds: float
    answer: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with questions and right sections")
    parser.add_argument("--library", type=Path, help="folder for the index, to keep it (else: a temporary one)")
    parser.add_argument("--limit", type=int, default=0, help="questions of each kind at most (0: all)")
    parser.add_argument("--search", action="store_true", help="every question is looked up, and no answer is made")
    parser.add_argument("--rows", action="store_true", help="list every question")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Asks every question in a turn of its own, as in the app: the model decides whether to search (with the setting
    ``retrieval_first`` every question is looked up), and answers from the passages that it gets. Long-term memory is
    off. ``by_kind``: for each kind of question the shares of ``SearchOutcome`` and the mean number of calls. Of the
    answerable questions: ``searched_share``, the share that was looked up; ``right_share``, ``found_share``,
    ``first_share``; ``false_refusals``, the number that was refused. ``refused_share``: of the questions about the
    product that cannot be answered; ``apart_share``: of the questions about the world at large, the share that no
    document was mixed into; ``judged_share``: of all judge calls, the share whose reply could be read. ``profile``: of
    the model that answers.
    """
    rows = [json.loads(line) for line in args.data.read_text("utf-8").splitlines() if line.strip()]
    chosen = [
        row
        for kind in KINDS
        for row in [candidate for candidate in rows if candidate["kind"] == kind][: args.limit or None]
    ]
    ask = _searched if args.search else _answered
    with TemporaryDirectory() as folder, closing(_agent(args, Path(folder))) as agent:
        first_run(_library(agent))
        profile = agent.models().profile.name
        results = [_asked(ask, agent, row) for row in chosen]
    figures = {"profile": profile, **_figures([outcome for outcome, _ in results])}
    figures["judged_share"] = _judged(looked_up for _, looked_up in results)
    if args.rows:
        figures["outcomes"] = [_row(outcome) for outcome, _ in results]
    return figures


def _agent(args: argparse.Namespace, folder: Path) -> Agent:
    """Opens the app's agent over an index of its own."""
    chosen = models(args)
    overrides = {"data_dir": args.library or folder, "database_url": None, "memory": False, "titles": False}
    return open_agent(load_current_settings().model_copy(update={**overrides, "retrieval": True}), lambda: chosen)


def _library(agent: Agent) -> Library:
    assert agent.library is not None
    return agent.library


Ask = Callable[[Agent, Mapping[str, Any]], tuple[LookedUp, str | None]]
"""Asks one question; returns its look-ups and the answer, or None instead of an answer that the bench does not make."""


def _answered(agent: Agent, row: Mapping[str, Any]) -> tuple[LookedUp, str | None]:
    """Runs a whole turn; the answer is empty when the turn failed."""
    session = agent.store.create_session(row["language"], load_current_settings().compression_rate)
    for _ in agent.run(session.id, row["question"], asks=False):
        pass
    turn = agent.store.turn(session.id, 1)
    assert turn is not None
    return look_ups(turn.steps), turn.answer or ""


def _searched(agent: Agent, row: Mapping[str, Any]) -> tuple[LookedUp, str | None]:
    return [_library(agent).look_up(row["question"], agent.models(), row["language"]).plain()], None


def _asked(ask: Ask, agent: Agent, row: Mapping[str, Any]) -> tuple[SearchOutcome, LookedUp]:
    began = time.monotonic()
    looked_up, answer = ask(agent, row)
    return outcome(row, looked_up, answer, time.monotonic() - began), looked_up


def outcome(row: Mapping[str, Any], looked_up: LookedUp, answer: str | None, seconds: float) -> SearchOutcome:
    """Returns the outcome of a question; ``answer`` is None when no answer was made."""
    passages = [passage for found in looked_up for passage in found["passages"]]
    tools = [step["tool"] for found in looked_up for step in found["trace"]]
    labels, gold = tuple(passage["label"] for passage in passages), tuple(row["gold"])
    cited = {int(number) for group in _CITED.findall(answer or "") for number in group.split(",")}
    found = any(label in gold for label in labels)
    return SearchOutcome(
        kind=row["kind"],
        question=row["question"],
        gold=gold,
        given=labels,
        found=found,
        first=bool(labels) and labels[0] in gold,
        right=found
        if answer is None
        else any(passage["number"] in cited for passage in passages if passage["label"] in gold),
        refused=not labels if answer is None else not cited and refuses(answer),
        apart=not labels,
        again=sum(tool != "get_section" for tool in tools) > 1,
        section="get_section" in tools,
        calls=len(tools),
        seconds=seconds,
        answer=answer or "",
    )


def refuses(answer: str) -> bool:
    """Returns whether an answer contains the specified sentence, or admits that it does not know."""
    specified = (*NOT_FOUND.values(), *NOT_READY.values())
    return any(sentence.rstrip(".") in answer for sentence in specified) or bool(_ADMISSION.search(answer))


def _figures(done: Sequence[SearchOutcome]) -> dict[str, object]:
    answerable = [result for result in done if result.kind not in UNANSWERABLE]
    kinds = {kind: [result for result in done if result.kind == kind] for kind in KINDS}
    return {
        "questions": len(done),
        "searched_share": _share(result.calls > 0 for result in answerable),
        "right_share": _share(result.right for result in answerable),
        "found_share": _share(result.found for result in answerable),
        "first_share": _share(result.first for result in answerable),
        "refused_share": _share(result.refused for result in kinds["none"]),
        "apart_share": _share(result.apart for result in kinds["other"]),
        "false_refusals": sum(result.refused for result in answerable),
        "by_kind": {kind: _kind(part) for kind, part in kinds.items() if part},
        "seconds_p50": round(statistics.median(result.seconds for result in done), 2),
        "seconds_max": round(max(result.seconds for result in done), 2),
    }


def _kind(done: Sequence[SearchOutcome]) -> dict[str, object]:
    """Returns the shares of ``SearchOutcome`` for one kind of question, without those of right answers where the
    documents have no answer."""
    right = ("right", "found") if done[0].kind not in UNANSWERABLE else ()
    names = (*right, "refused", "apart", "again", "section")
    shares = {f"{name}_share": _share(getattr(result, name) for result in done) for name in names}
    return {**shares, "calls_mean": round(statistics.fmean(result.calls for result in done), 2)}


def _judged(looked_up: Iterable[LookedUp]) -> float | None:
    steps = [step for searches in looked_up for search in searches for step in search["trace"]]
    unjudged = ("empty", "unrelated", "")  # no judge was asked
    return _share(bool(step["judgement"]) for step in steps if step["judgement"] or step["reason"] not in unjudged)


def _share(right: Iterable[bool]) -> float | None:
    values = list(right)
    return round(sum(values) / len(values), 3) if values else None


def _row(outcome: SearchOutcome) -> dict[str, object]:
    return {**asdict(outcome), "gold": " | ".join(outcome.gold), "given": " | ".join(outcome.given)}
