"""A scenario, a play of it and a judge's replies, for tests of what comes after a play."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, messages_to_dict

from evaluation.form import FORMS, Form, FormContext
from evaluation.play import CallCost
from evaluation.record import Record, create_evaluation_record
from evaluation.result import PlayedScenario
from evaluation.run import EvaluationPlan, build_evaluation_plan, run_evaluation
from evaluation.scenario import Scenario, find_scenarios, parse_scenario
from model import scripted
from model.modelset import ModelSet
from model.profile import SMALL

CAFE = """\
language: ko
kind: cafe
about: 카페를 여는 사람이 개업일을 미룬다. <script>alert("about")</script>
turns:
  - {user: "월세는 320만 원이야.", answer: "알겠습니다."}
  - {user: "개업일은 5월 3일이야.", answer: "알겠습니다."}
  - {user: "직원은 두 명이야. <script>alert(1)</script>", answer: "알겠습니다."}
  - {user: "개업일이 5월 10일로 바뀌었어.", answer: "알겠습니다."}
query: {turn: 5, text: "개업일이 언제지? <script>alert(2)</script>"}
expect:
  present: ["320만 원"]
  current: [{value: "5월 10일", old: ["5월 3일"]}]
  absent: ["7월 7일"]
"""
LINES: dict[Form, tuple[str, ...]] = {
    "none": (),
    "chunks": ("월세 320만 원, 개업일 5월 3일. <script>alert(3)</script>",),
    "recursive": ("월세는 320만 원이다.", "개업일은 5월 10일이다."),
    "all": ("월세는 320만 원이다.", "개업일은 5월 3일에서 5월 10일로 바뀌었다."),
}


def written(folder: Path, name: str = "cafe_ko", text: str = CAFE) -> Path:
    """Writes the scenario to a file."""
    path = folder / f"{name}.yaml"
    path.write_text(text, "utf-8")
    return path


def cafe(name: str = "cafe_ko") -> Scenario:
    return parse_scenario(CAFE, f"{name}.yaml")


def a_play(name: str = "cafe_ko", rate: float = 0.3, **fields: Any) -> PlayedScenario:
    """A play as it may have come out."""
    question: list[BaseMessage] = [HumanMessage("개업일이 언제지?")]
    return PlayedScenario(
        **{
            "scenario": name,
            "rate": rate,
            "contexts": {form: FormContext(lines, len(" ".join(lines))) for form, lines in LINES.items()},
            "memory": "\n".join(LINES["recursive"]),
            "entities": "개업일: 5월 10일",
            "costs": {"summaries": CallCost(1, 100, 20, 0.5), "folds": CallCost(1, 200, 50, 1.0)},
            "messages": {form: messages_to_dict(question) for form in FORMS},
            "seconds": 2.0,
            **fields,
        }
    )


def having(*plays: PlayedScenario) -> Record:
    """A record that has these plays and no results."""
    record = Record()
    for play in plays:
        record.keep(play)
    return record


def reply(
    relevance: float | str = 9, completeness: float | str = 8, accuracy: float | str = 9, noise: float | str = 1
) -> str:
    """A judge's reply."""
    scores = {"relevance": relevance, "completeness": completeness, "accuracy": accuracy, "noise": noise}
    return json.dumps(
        {
            "overall_score": 50,
            "scores": {name: {"score": score, "reason": f"<b>{name}</b>"} for name, score in scores.items()},
            "helpful_info": ["월세 <i>"],
            "missing_info": ["전화번호"],
            "summary": "도움이 됨 <script>alert(4)</script>",
        },
        ensure_ascii=False,
    )


def killing(folder: str, scenarios: list[str], calls: int) -> None:
    """What a process does that evaluates and kills itself in the judge's call after ``calls`` calls."""

    def judging(messages: list[BaseMessage]) -> str:
        if len(models.utility.calls) > calls:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGKILL)
        return reply()

    models = scripted.build_scripted_models(utility=judging, profile=SMALL)
    plan = judged(models, scenarios)
    run_evaluation(plan, models, create_evaluation_record(Path(folder), plan.plain()))


def judged(models: ModelSet, scenarios: list[str], **fields: Any) -> EvaluationPlan:
    """A plan with a judge."""
    return build_evaluation_plan(models, find_scenarios(scenarios), **{"judged": True, **fields})
