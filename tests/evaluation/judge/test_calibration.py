"""The calibration of a judge, and where its result is kept."""

from __future__ import annotations

import json
import stat
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from string import Template
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

import prompt
from errors import ModelUnreachable, StoreUnavailable
from evaluation.judge import calibration
from evaluation.judge.calibration import (
    FILE,
    Calibration,
    CalibrationRow,
    calibrate_judge,
    classify_judge_standing,
    load_calibration,
    load_calibration_rows,
    save_calibration,
)
from evaluation.judge.criterion import CRITERIA, Criterion
from model import scripted
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from prompt import render_prompt
from tests.evaluation.rows import reply
from tests.table import table
from text.language import Language

LANGUAGES: tuple[Language, ...] = ("ko", "en")
SPECIFIED: dict[str, list[tuple[str, str, Criterion, float]]] = {
    "ko": [
        ("AWS 비용 얼마야?", "사용자는 AWS 주력, 월 1.2억 지출", "relevance", 10),
        ("AWS 비용 얼마야?", "사용자는 클라우드 비용 관심", "relevance", 5),
        ("AWS 비용 얼마야?", "사용자가 RI 커버리지 질문함", "relevance", 2),
        ("지난번 말한 예산 초과 어떻게 됐어?", "예산 1억, 현재 1.2억 지출, 초과 우려 언급", "completeness", 10),
        ("지난번 말한 예산 초과 어떻게 됐어?", "예산 관련 논의 있었음", "completeness", 4),
        ("지난번 말한 예산 초과 어떻게 됐어?", "", "completeness", 0),
    ]
}
OWN = {
    "accuracy": ("wrong_number", "wrong_time", "wrong_subject", "wrong_state"),
    "noise": ("resolved_issues", "other_topics", "boilerplate", "stale"),
}
Answer = Callable[[CalibrationRow], str]


def exact(row: CalibrationRow) -> str:
    """The reply of a judge that gives the expected score."""
    return scored(row, row.expected)


def scored(row: CalibrationRow, score: float) -> str:
    return reply(**{row.criterion: score})


def judge_of(language: Language, answer: Answer = exact) -> ModelSet:
    """A judge that knows every row by its prompt, and answers it with ``answer``."""
    by_prompt = {asked_text(row, language): row for row in load_calibration_rows(language) if row.memory}

    def answered(messages: list[BaseMessage]) -> str:
        return answer(by_prompt[messages[0].text])

    return scripted.build_scripted_models(utility=ScriptedModel(answered))


def asked_text(row: CalibrationRow, language: Language) -> str:
    texts = {"query": row.query, "memory": row.memory, "entities": row.entities or "–"}
    return render_prompt("memory_judge", language, **texts)


def but(place: Mapping[tuple[str, float], str]) -> Answer:
    """Answers some rows, named by group and expected score, with these texts, and all others rightly."""
    return lambda row: place.get((row.group, row.expected), exact(row))


def row_of(group: str, expected: float, language: Language = "ko") -> CalibrationRow:
    return next(row for row in load_calibration_rows(language) if (row.group, row.expected) == (group, expected))


@pytest.fixture(scope="module")
def good() -> Calibration:
    return calibrate_judge(judge_of("ko"), "ko")


def test_rows_of_the_specification_are_there_word_for_word() -> None:
    first = [(row.query, row.memory, row.criterion, row.expected) for row in load_calibration_rows("ko")[:6]]
    assert first == SPECIFIED["ko"]
    assert [(row.criterion, row.expected) for row in load_calibration_rows("en")[:6]] == [
        row[2:] for row in SPECIFIED["ko"]
    ]
    assert load_calibration_rows("en")[5].memory == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_of_ours_cover_every_kind_of_error_and_of_noise(language: Language) -> None:
    own = [row for row in load_calibration_rows(language) if row.criterion in OWN]
    assert len(own) >= 12
    for criterion, kinds in OWN.items():
        counts = Counter(row.group for row in own if row.criterion == criterion)
        assert set(counts) == set(kinds)
        assert min(counts.values()) >= 2, "one row has no order"
    assert {row.criterion for row in load_calibration_rows(language)} == set(CRITERIA)


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_of_a_group_differ_only_in_memory_and_score(language: Language) -> None:
    groups: dict[str, list[CalibrationRow]] = {}
    for row in load_calibration_rows(language):
        groups.setdefault(row.group, []).append(row)
    for name, members in groups.items():
        assert len({(row.query, row.entities, row.criterion) for row in members}) == 1, name
        assert len({row.expected for row in members}) == len({row.memory for row in members}) == len(members), name


def test_both_languages_have_the_same_groups_and_scores() -> None:
    korean, english = (
        [(row.group, row.criterion, row.expected) for row in load_calibration_rows(language)] for language in LANGUAGES
    )
    assert korean == english


@pytest.mark.parametrize("language", LANGUAGES)
def test_judge_that_gives_the_expected_scores_passes(language: Language) -> None:
    models, told = judge_of(language), list[tuple[int, int]]()
    result = calibrate_judge(models, language, progress=lambda done, steps: told.append((done, steps)))
    assert (result.has_passed, classify_judge_standing(result)) == (True, "passed")
    assert result.wrong_orders == ()
    assert [row.given for row in result.rows] == [row.expected for row in load_calibration_rows(language)]
    assert (result.model, result.language) == ("scripted", language)
    assert told == [
        (done, len(load_calibration_rows(language))) for done in range(len(load_calibration_rows(language)) + 1)
    ]
    assert len(models.utility.calls) == len(load_calibration_rows(language)) - 1, "the empty memory is not sent"  # type: ignore[attr-defined]


def test_reasons_of_the_judge_stand_beside_the_scores(good: Calibration) -> None:
    reasons = {row.criterion: row.reason for row in good.rows if row.memory}
    assert reasons == {criterion: f"<b>{criterion}</b>" for criterion in CRITERIA}


@table(
    "group, expected, given, passed",
    [
        ("aws_cost", 10, 8, True),
        ("aws_cost", 10, 7, False),
        ("aws_cost", 2, 0, True),
        ("exceeded_budget", 4, 6, True),
        ("exceeded_budget", 4, 6.1, False),
        ("wrong_number", 1, 4, False),
        ("wrong_time", 1, 3, True),
        ("stale", 0, 3, False),
        ("other_topics", 9, 7, True),
    ],
)
def test_score_that_is_off_by_more_than_two_fails(group: str, expected: float, given: float, passed: bool) -> None:
    answer = but({(group, expected): scored(row_of(group, expected), given)})
    result = calibrate_judge(judge_of("ko", answer), "ko")
    assert (result.has_passed, classify_judge_standing(result)) == (passed, "passed" if passed else "failed")
    assert max(row.off or 0 for row in result.rows) == pytest.approx(abs(given - expected))
    assert result.wrong_orders == ()


@table("low, high", [(4, 3), (4, 4)])
def test_wrong_order_within_two_points_fails(low: float, high: float) -> None:
    """5 and 2 are expected: 3 and 4 are close enough to both, in the wrong order; 4 and 4 have no order."""
    answer = but(
        {("aws_cost", 2): scored(row_of("aws_cost", 2), low), ("aws_cost", 5): scored(row_of("aws_cost", 5), high)}
    )
    result = calibrate_judge(judge_of("ko", answer), "ko")
    assert (result.has_passed, result.wrong_orders, classify_judge_standing(result)) == (False, ("aws_cost",), "failed")


def test_judge_that_takes_noise_for_good_fails() -> None:
    turned = calibrate_judge(
        judge_of("ko", lambda row: scored(row, abs(10 * (row.criterion == "noise") - row.expected))), "ko"
    )
    assert set(turned.wrong_orders) >= {"other_topics"}
    assert not turned.has_passed


@table("text", ["I like it.", reply(relevance=11), "{}"])
def test_row_without_a_score_fails(text: str) -> None:
    result = calibrate_judge(judge_of("ko", but({("aws_cost", 5): text})), "ko")
    assert (result.has_passed, result.broken_off) == (False, "")
    assert classify_judge_standing(result) == "failed"
    (row,) = (row for row in result.rows if row.given is None)
    assert (row.group, row.expected, row.off) == ("aws_cost", 5, None)
    assert row.reason


def test_server_that_fails_breaks_off_and_tells_nothing_of_the_judge(tmp_path: Path) -> None:
    models = scripted.build_scripted_models(utility=[reply(relevance=10), ModelUnreachable(url="u"), reply()])
    result = calibrate_judge(models, "ko")
    assert (result.broken_off, result.has_passed, classify_judge_standing(result)) == (
        "model_unreachable",
        False,
        "unknown",
    )
    assert len(models.utility.calls) == 2  # type: ignore[attr-defined]
    assert len(result.rows) == len(load_calibration_rows("ko"))
    assert [row.given for row in result.rows[:2]] == [10, None]
    save_calibration(tmp_path, result)
    assert load_calibration(tmp_path, models, "ko") is None


def test_calibration_can_be_stopped() -> None:
    stop = threading.Event()

    def stopping(done: int, steps: int) -> None:
        if done == 3:
            stop.set()

    models = judge_of("ko")
    with pytest.raises(Stopped):
        calibrate_judge(models, "ko", stop, stopping)
    assert len(models.utility.calls) == 3  # type: ignore[attr-defined]


def test_judge_without_a_calibration_is_unknown() -> None:
    assert classify_judge_standing(None) == "unknown"


def test_calibration_without_rows_does_not_pass(good: Calibration) -> None:
    assert not replace(good, rows=()).has_passed


def test_plain_data_comes_back_as_the_same_calibration(good: Calibration) -> None:
    plain = json.loads(json.dumps(good.plain()))
    assert Calibration.from_plain(plain) == good


def test_kept_calibration_comes_back_in_a_private_file(tmp_path: Path, good: Calibration) -> None:
    models = judge_of("ko")
    assert load_calibration(tmp_path, models, "ko") is None
    save_calibration(tmp_path, good)
    assert load_calibration(tmp_path, models, "ko") == good
    assert load_calibration(tmp_path, models, "en") is None
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / FILE).parent.stat().st_mode) == 0o700
    assert [path for path in (tmp_path / FILE).parent.iterdir() if path.name.endswith(".new")] == []


def test_every_model_address_and_language_has_its_own(tmp_path: Path, good: Calibration) -> None:
    models = judge_of("ko")
    english = replace(good, language="en", digest=calibration.hash_calibration_inputs("en"))
    save_calibration(tmp_path, good)
    save_calibration(tmp_path, english)
    save_calibration(tmp_path, replace(good, model="other"))
    save_calibration(tmp_path, replace(good, url="http://elsewhere/v1"))
    assert load_calibration(tmp_path, models, "ko") == good
    assert load_calibration(tmp_path, models, "en") == english
    assert load_calibration(tmp_path, replace(models, utility_name="other"), "ko") == replace(good, model="other")
    assert load_calibration(tmp_path, replace(models, url="http://third/v1"), "ko") is None
    again = replace(good, date="2030-01-01T00:00:00+00:00")
    save_calibration(tmp_path, again)
    assert load_calibration(tmp_path, models, "ko") == again
    assert len(json.loads((tmp_path / FILE).read_text("utf-8"))) == 4


def test_password_of_an_address_is_not_kept(tmp_path: Path) -> None:
    models = replace(judge_of("ko"), url="http://me:hunter2@host/v1?key=secret")
    result = calibrate_judge(models, "ko")
    save_calibration(tmp_path, result)
    text = (tmp_path / FILE).read_text("utf-8")
    assert "hunter2" not in text
    assert "secret" not in text
    assert load_calibration(tmp_path, models, "ko") == result


def test_another_prompt_needs_another_calibration(
    tmp_path: Path, good: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_calibration(tmp_path, good)
    changed = Template(f"{prompt._load_prompt_template('memory_judge', 'ko').template}\n한 줄 더")
    models = judge_of("ko")
    assert load_calibration(tmp_path, models, "ko") == good
    monkeypatch.setattr(prompt, "_load_prompt_template", lambda name, language: changed)
    assert load_calibration(tmp_path, models, "ko") is None


def test_other_rows_need_another_calibration(
    tmp_path: Path, good: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_calibration(tmp_path, good)
    models, fewer = judge_of("ko"), load_calibration_rows("ko")[:-1]
    assert load_calibration(tmp_path, models, "ko") == good
    monkeypatch.setattr(calibration, "load_calibration_rows", lambda language: fewer)
    assert load_calibration(tmp_path, models, "ko") is None


def damaged(good: Calibration) -> dict[str, bytes]:
    """Contents of files that hold no calibrations."""
    plain: dict[str, Any] = asdict(good)
    whole = json.dumps([plain]).encode()
    return {
        "empty": b"",
        "cut off": whole[: len(whole) // 2],
        "no UTF-8": b"\xff\xfe\x00",
        "a mapping": json.dumps(plain).encode(),
        "a number": b"7",
        "null": b"null",
        "of other shape": json.dumps([{"model": "scripted"}]).encode(),
        "score as text": json.dumps([plain | {"rows": [plain["rows"][0] | {"given": "very good"}]}]).encode(),
        "nested too deeply": b"[" * 200_000,
    }


def test_damaged_file_counts_as_none_and_is_replaced(tmp_path: Path, good: Calibration, subtests: Any) -> None:
    path, models = tmp_path / FILE, judge_of("ko")
    for name, content in damaged(good).items():
        with subtests.test(name):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            assert load_calibration(tmp_path, models, "ko") is None
            save_calibration(tmp_path, good)
            assert load_calibration(tmp_path, models, "ko") == good


def test_folder_that_cannot_be_used_says_so(tmp_path: Path, good: Calibration) -> None:
    (tmp_path / FILE.parent).write_text("a file where the folder belongs")
    with pytest.raises(StoreUnavailable):
        save_calibration(tmp_path, good)


def test_two_that_keep_at_once_lose_nothing(tmp_path: Path, good: Calibration) -> None:
    named = [replace(good, model=f"model {number}") for number in range(3)]
    threads = [threading.Thread(target=save_calibration, args=(tmp_path, item)) for item in named]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = json.loads((tmp_path / FILE).read_text("utf-8"))
    assert {item["model"] for item in stored} == {item.model for item in named}
