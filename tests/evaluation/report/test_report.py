"""The report is one file that opens offline, and whatever a scenario or a model says stays text in it."""

from __future__ import annotations

import re
from functools import partial
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

from evaluation.judge.calibration import Standing
from evaluation.report.report import EvaluationReport, render_share_bar
from evaluation.report.table import build_evaluation_table, find_worst_standing
from evaluation.run import EvaluationOutcome, build_evaluation_plan, run_evaluation
from model import scripted
from server.phrase import render_phrase
from tests.evaluation.rows import a_play, cafe, having, reply

VOID = {"meta", "rect"}


class Page(HTMLParser):
    """The tags and attributes of a page; fails where one is closed that is not open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def an_outcome(judge: Any = None, **fields: Any) -> EvaluationOutcome:
    models = scripted.build_scripted_models(
        chat=lambda _: "<script>alert(5)</script> 5월 10일", utility=judge or (lambda _: reply())
    )
    plan = build_evaluation_plan(models, [cafe()], **{"judged": True, **fields})
    return run_evaluation(plan, models, having(*(a_play(rate=rate) for rate in plan.rates)))


def a_report(outcome: EvaluationOutcome, standing: Standing = "passed", language: Any = "ko") -> str:
    return EvaluationReport(
        outcome, {"ko": standing}, partial(render_phrase, language), language, "2026-01-02 03:04"
    ).html()


@pytest.mark.parametrize("language", ["ko", "en"])
def test_nothing_is_loaded_and_nothing_of_a_scenario_or_a_model_runs(language: str) -> None:
    html = a_report(an_outcome(live=True, rates=[0.1, 0.3], runs=2), language=language)
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "a", "object", "i", "b"} & set(page.tags)
    assert not {"src", "href", "srcset", "action", "style"} & set(page.attributes)
    assert not [name for name in page.attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?://", html)
    assert "default-src 'none'" in html
    for number in ('"about"', 2, 3, 4, 5):
        assert f"&lt;script&gt;alert({number})".replace('"', "&quot;") in html, number
    assert f'<html lang="{language}">' in html


def test_light_and_dark_follow_the_reader() -> None:
    assert "prefers-color-scheme: dark" in a_report(an_outcome())


def test_scores_stand_by_criterion_rate_and_form_with_what_they_cost() -> None:
    html = a_report(an_outcome(rates=[0.1, 0.5], runs=3), language="en")
    for text in ("relevance", "completeness", "accuracy", "noise", "spread", "tokens", "seconds", "cost"):
        assert f">{text}</th>" in html
    assert re.search(r">0\.5</th><th[^>]*>all together</th>.*?>87\.0<", html)
    assert html.count('<rect class="value judged"') > 20


@pytest.mark.parametrize(("standing", "mark"), [("passed", ""), ("failed", " ✗"), ("unknown", " ?")])
def test_the_calibration_stands_wherever_a_score_stands(standing: Standing, mark: str) -> None:
    outcome = an_outcome(lambda _: reply(9, 9, 9, 0), forms=["chunks", "all"])
    html = a_report(outcome, standing, "en")
    scores = re.findall(r">(91\.0|9\.0)([^<]*)<", html)
    assert len(scores) >= 4
    assert {behind for _, behind in scores} == {mark}
    console = Console(width=200)
    with console.capture() as capture:
        console.print(build_evaluation_table(outcome, {"ko": standing}, partial(render_phrase, "en")))
    assert f"91.0{mark}" in capture.get()


def test_where_judge_and_probes_disagree_is_listed() -> None:
    forms = ["none", "chunks", "all"]
    agreeing = a_report(an_outcome(forms=forms), language="en")
    assert "disagree</h2><p" in agreeing, "chunks hold one of two values, and a score of 87 is no opposite of that"
    poor = a_report(an_outcome(lambda _: reply(1, 1, 1, 9), forms=forms), "failed", "en")
    assert re.findall(r"<li>([^<]*judge[^<]*)</li>", poor) == [
        "cafe_ko · 0.3 · all together: judge 10, facts held 100% ✗"
    ]


def test_a_failed_and_an_unscored_result_say_why() -> None:
    outcome = an_outcome(lambda _: "no score", forms=["all"])
    assert "Unscored: no JSON" in a_report(outcome, language="en")
    models = scripted.build_scripted_models()
    play = a_play(contexts={}, failures={"all": "context_too_long"})
    failed = run_evaluation(build_evaluation_plan(models, [cafe()], forms=["all"]), models, having(play))
    assert "context_too_long" in a_report(failed, language="en")


def test_without_a_judge_no_score_stands_there() -> None:
    html = a_report(an_outcome(judged=False), language="en")
    assert ">relevance</th>" not in html
    assert "No judge was asked" in html
    assert "Seoul" not in html


def test_the_worst_standing_of_the_languages_counts() -> None:
    assert find_worst_standing({"ko": "passed", "en": "failed"}) == "failed"
    assert find_worst_standing({"ko": "passed", "en": "unknown"}) == "unknown"
    assert find_worst_standing({"ko": "passed", "en": "passed"}) == "passed"
    assert find_worst_standing({}) == "unknown"


@pytest.mark.parametrize(("share", "width"), [(0.5, 50.0), (-1.0, 0.0), (2.0, 100.0)])
def test_a_bar_stays_within_its_drawing(share: float, width: float) -> None:
    assert f'width="{width}"' in render_share_bar(share, judged=False)
