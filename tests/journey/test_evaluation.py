"""What a person does with the test of the memory, in a real browser against a stub model that judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.axe import still, violations
from tests.journey.conftest import Visit
from tests.journey.test_journey import MEASURE

if TYPE_CHECKING:
    from tests.journey.application import App, Person
    from tests.stub.reply import Reply

pytestmark = pytest.mark.browser

SAID = (
    "여행 예산은 1,500,000원이고 출발은 3월 5일이야",
    "숙소는 2박에 360,000원이고 예약 번호는 KX-4471이야",
    "렌터카는 하루 90,000원이고 보험은 30,000원이야",
)
SCORES = {"relevance": 9, "completeness": 8, "accuracy": 8, "noise": 4}


def reply(body: dict[str, Any]) -> Reply:
    """Judges, summarises in the wanted length, or answers as always."""
    from tests.journey.application import answer
    from tests.stub.reply import said

    if "memory_judgement" in json.dumps(body.get("response_format") or {}):
        scores = {name: {"score": score, "reason": f"{name}의 이유"} for name, score in SCORES.items()}
        whole = {"overall_score": 82, "scores": scores, "helpful_info": ["예산"], "missing_info": [], "summary": "좋음"}
        return said(json.dumps(whole, ensure_ascii=False))
    wanted = re.search(r"(\d+)자쯤", str(body["messages"][-1]["content"]))
    return said(" ".join(SAID)[: int(wanted[1])]) if wanted else answer(body)


@pytest.fixture
def judging(app: App) -> Iterator[None]:
    """The stub behind the shared app judges during this test."""
    from tests.journey.application import answer

    assert app.upstream is not None
    app.upstream.always = reply
    yield
    app.upstream.always = answer


def opened(person: Person, drawer: bool = False) -> Locator:
    """The panel, or the drawer, with the tab open."""
    if drawer:
        person.page.get_by_role("button", name="요약 패널").click()
    panel = person.page.get_by_role("dialog") if drawer else person.panel
    panel.get_by_role("tab", name="평가", exact=True).click()
    expect(panel).to_contain_text("이 기억이 도움이 될까요?")
    return panel


def test_a_conversation_is_judged_and_its_curve_is_drawn(visit: Visit, judging: None) -> None:
    person = visit(own=True)
    errors: list[str] = []
    person.page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    for number, text in enumerate(SAID, 1):
        person.ask(text, number)
    panel = opened(person)
    panel.get_by_label("질문 (비워 두면 마지막 질문)").fill("예산이 얼마였지?")
    panel.get_by_role("button", name="채점하기", exact=True).click()
    expect(panel).to_contain_text("질문: 예산이 얼마였지?")
    expect(panel.locator(".gieok-overall")).to_contain_text("81.5 / 100")
    meter = panel.get_by_role("meter", name="관련성")
    expect(meter).to_have_attribute("aria-valuenow", "9")
    expect(panel).to_contain_text("relevance의 이유")
    expect(panel).to_contain_text("모델 없이 센 사실")
    panel.get_by_role("button", name="곡선 그리기").click()
    expect(panel.locator(".gieok-curve > div")).to_have_count(5)
    expect(panel.get_by_role("table")).to_contain_text("50%")
    expect(panel.get_by_role("button", name="중지")).to_have_count(0)
    found = violations(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
    assert errors == []


def test_on_a_phone_it_fits_the_drawer_in_the_dark(visit: Visit, judging: None) -> None:
    person = visit(390, 844, color_scheme="dark")
    for number, text in enumerate(SAID, 1):
        person.ask(text, number)
    drawer = opened(person, drawer=True)
    drawer.get_by_role("button", name="채점하기", exact=True).click()
    expect(drawer.locator(".gieok-overall")).to_contain_text("81.5 / 100")
    drawer.get_by_role("button", name="곡선 그리기").click()
    expect(drawer.locator(".gieok-curve > div")).to_have_count(5)
    tabs = drawer.get_by_role("tablist")
    still(person.page)
    assert tabs.evaluate("list => list.scrollWidth - list.clientWidth") <= 0
    assert drawer.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    assert person.page.evaluate(MEASURE)["width"] <= 0
    found = violations(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)


def test_the_five_tabs_fit_the_panel_in_english_too(visit: Visit) -> None:
    person = visit(1101, 800, locale="en-US", ready="Model ready")
    tabs = person.panel.get_by_role("tablist")
    expect(tabs.get_by_role("tab")).to_have_count(5)
    still(person.page)
    assert tabs.evaluate("list => list.scrollWidth - list.clientWidth") <= 0
