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
from graph.agent import Agent, open_agent
from graph.documents import look_ups
from retrieval import Library
from retrieval.fallback import NOT_FOUND, NOT_READY
from retrieval.own import first_run
from settings import current

QUESTIONS = Path(__file__).parent / "data" / "rag.jsonl"
KINDS = ("answer", "again", "section", "none", "other")
"""``none``: of the product, but the documents do not say; ``other``: of the world at large, as in any chat."""
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
"""``LookUp.plain()`` of every search that was made for a question."""


@dataclass(frozen=True)
class Outcome:
    """One question. ``found``: a right section is among the passages given; ``first``: as the first one; ``right``: the
    answer cites it (``--search``: found); ``refused``: the answer says the specified sentence or admits that it does
    not know, and cites nothing (``--search``: no passage was given); ``again``: searched more than once;
    ``apart``: nothing was given to answer from; ``section``: a section was opened; ``answer``: '' where none was made.
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
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with questions and right sections")
    parser.add_argument("--library", type=Path, help="folder for the index, to keep it (else: a temporary one)")
    parser.add_argument("--limit", type=int, default=0, help="questions of each kind at most (0: all)")
    parser.add_argument("--search", action="store_true", help="every question is looked up, and no answer is made")
    parser.add_argument("--rows", action="store_true", help="list every question")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Every question is a turn of its own, as in the app: the model decides whether to search (or, by the setting
    ``retrieval_first``, does not), and answers from what it is given; long-term memory is off. ``by_kind``: for each
    kind of question the shares of ``Outcome``, and its calls. ``searched_share``: of the answerable ones, those that
    were looked up; ``right_share``, ``found_share``, ``first_share``: of the same; ``false_refusals``: how many of them
    were refused; ``refused_share``: of those of the product that cannot be answered; ``apart_share``: of those of the
    world at large, those that no document was mixed into; ``judged_share``: of all judge calls, those that could be
    read. ``profile``: of the model that answers.
    """
    rows = [json.loads(line) for line in args.data.read_text("utf-8").splitlines() if line.strip()]
    chosen = [row for kind in KINDS for row in [each for each in rows if each["kind"] == kind][: args.limit or None]]
    ask = _searched if args.search else _answered
    with TemporaryDirectory() as folder, closing(_agent(args, Path(folder))) as agent:
        first_run(_library(agent))
        profile = agent.models().profile.name
        done = [_asked(ask, agent, row) for row in chosen]
    figures = {"profile": profile, **_figures([outcome for outcome, _ in done])}
    figures["judged_share"] = _judged(found for _, found in done)
    if args.rows:
        figures["outcomes"] = [_row(outcome) for outcome, _ in done]
    return figures


def _agent(args: argparse.Namespace, folder: Path) -> Agent:
    """The agent of the app over an index of its own."""
    chosen = models(args)
    own = {"data_dir": args.library or folder, "database_url": None, "memory": False, "titles": False}
    return open_agent(current().model_copy(update={**own, "retrieval": True}), lambda: chosen)


def _library(agent: Agent) -> Library:
    assert agent.library is not None
    return agent.library


Ask = Callable[[Agent, Mapping[str, Any]], tuple[LookedUp, str | None]]
"""Asks one question: what was looked up, and the answer; None where none is made."""


def _answered(agent: Agent, row: Mapping[str, Any]) -> tuple[LookedUp, str | None]:
    """A whole turn; the answer of a turn that failed is empty."""
    session = agent.store.create_session(row["language"], current().compression_rate)
    for _ in agent.run(session.id, row["question"]):
        pass
    turn = agent.store.turn(session.id, 1)
    assert turn is not None
    return look_ups(turn.steps), turn.answer or ""


def _searched(agent: Agent, row: Mapping[str, Any]) -> tuple[LookedUp, str | None]:
    return [_library(agent).look_up(row["question"], agent.models(), row["language"]).plain()], None


def _asked(ask: Ask, agent: Agent, row: Mapping[str, Any]) -> tuple[Outcome, LookedUp]:
    began = time.monotonic()
    found, answer = ask(agent, row)
    return outcome(row, found, answer, time.monotonic() - began), found


def outcome(row: Mapping[str, Any], looked_up: LookedUp, answer: str | None, seconds: float) -> Outcome:
    """What became of a question; ``answer`` None: none was made."""
    passages = [each for found in looked_up for each in found["passages"]]
    tools = [step["tool"] for found in looked_up for step in found["trace"]]
    given, gold = tuple(each["label"] for each in passages), tuple(row["gold"])
    cited = {int(number) for group in _CITED.findall(answer or "") for number in group.split(",")}
    found = any(label in gold for label in given)
    return Outcome(
        kind=row["kind"],
        question=row["question"],
        gold=gold,
        given=given,
        found=found,
        first=bool(given) and given[0] in gold,
        right=found if answer is None else any(each["number"] in cited for each in passages if each["label"] in gold),
        refused=not given if answer is None else not cited and refuses(answer),
        apart=not given,
        again=sum(tool != "get_section" for tool in tools) > 1,
        section="get_section" in tools,
        calls=len(tools),
        seconds=seconds,
        answer=answer or "",
    )


def refuses(answer: str) -> bool:
    """Whether an answer says the specified sentence, or admits that it does not know."""
    specified = (*NOT_FOUND.values(), *NOT_READY.values())
    return any(said.rstrip(".") in answer for said in specified) or bool(_ADMISSION.search(answer))


def _figures(done: Sequence[Outcome]) -> dict[str, object]:
    answerable = [each for each in done if each.kind not in UNANSWERABLE]
    kinds = {kind: [each for each in done if each.kind == kind] for kind in KINDS}
    return {
        "questions": len(done),
        "searched_share": _share(each.calls > 0 for each in answerable),
        "right_share": _share(each.right for each in answerable),
        "found_share": _share(each.found for each in answerable),
        "first_share": _share(each.first for each in answerable),
        "refused_share": _share(each.refused for each in kinds["none"]),
        "apart_share": _share(each.apart for each in kinds["other"]),
        "false_refusals": sum(each.refused for each in answerable),
        "by_kind": {kind: _kind(some) for kind, some in kinds.items() if some},
        "seconds_p50": round(statistics.median(each.seconds for each in done), 2),
        "seconds_max": round(max(each.seconds for each in done), 2),
    }


def _kind(done: Sequence[Outcome]) -> dict[str, object]:
    """The shares of ``Outcome``; what has no answer in the documents cannot be right."""
    right = ("right", "found") if done[0].kind not in UNANSWERABLE else ()
    names = (*right, "refused", "apart", "again", "section")
    shares = {f"{name}_share": _share(getattr(each, name) for each in done) for name in names}
    return {**shares, "calls_mean": round(statistics.fmean(each.calls for each in done), 2)}


def _judged(looked_up: Iterable[LookedUp]) -> float | None:
    steps = [step for found in looked_up for each in found for step in each["trace"]]
    quoted = ("empty", "unrelated", "")  # no judge was asked
    return _share(bool(step["judgement"]) for step in steps if step["judgement"] or step["reason"] not in quoted)


def _share(right: Iterable[bool]) -> float | None:
    values = list(right)
    return round(sum(values) / len(values), 3) if values else None


def _row(outcome: Outcome) -> dict[str, object]:
    return {**asdict(outcome), "gold": " | ".join(outcome.gold), "given": " | ".join(outcome.given)}
