"""An evaluation from its plan to its results; nothing is lost on kill -9."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from errors import BadScenario, GieokError, ModelUnreachable, OutOfRange, UnknownChoice
from evaluation.form import FORMS
from evaluation.record import RESULTS, FileRecord, create_evaluation_record, find_unfinished_record
from evaluation.result import (
    EvaluationResult,
    compute_run_spread,
    sum_evaluation_cost,
    summarise_results,
    unscored_share,
)
from evaluation.run import EvaluationStep, build_evaluation_plan, is_judge_trusted, run_evaluation
from evaluation.scenario import parse_scenario
from model import scripted
from model.profile import SMALL, STRONG, ProfileChoice, written_by_model
from tests.clock import set_clock
from tests.evaluation.rows import CAFE, a_play, cafe, having, judged, killing, reply, written
from tests.process import end, start
from tests.table import table


def small(**fields: Any) -> Any:
    return scripted.build_scripted_models(profile=SMALL, **fields)


def of(results: Any, **wanted: Any) -> EvaluationResult:
    """The one result with these fields."""
    found: EvaluationResult
    (found,) = [one for one in results if all(getattr(one, name) == value for name, value in wanted.items())]
    return found


def test_a_small_profile_is_probed_without_a_model_call() -> None:
    models, steps = small(), list[EvaluationStep]()
    outcome = run_evaluation(build_evaluation_plan(models, [cafe()], forms=FORMS, runs=3), models, heard=steps.append)
    assert [result.form for result in outcome.results] == list(FORMS)
    assert (of(outcome.results, form="full").recall, of(outcome.results, form="none").recall) == (1.0, 0.0)
    assert of(outcome.results, form="all").stale == 0.0
    assert all(result.rating is None and result.usd == 0.0 and not result.lacks_figure for result in outcome.results)
    assert models.chat.calls == models.utility.calls == []
    assert steps[-1] == EvaluationStep(4 + 7, 4 + 7, "cafe_ko")
    assert [step.done for step in steps] == list(range(1, 12))


def test_every_form_is_judged_and_the_memory_with_its_entities() -> None:
    models: Any = scripted.build_scripted_models(utility=lambda _: reply())
    outcome = run_evaluation(build_evaluation_plan(models, [cafe()], judged=True), models, having(a_play()))
    prompts = {
        result.form: str(call[0].text) for result, call in zip(outcome.results[1:], models.utility.calls, strict=True)
    }
    assert "개업일: 5월 10일" in prompts["recursive"]
    assert "개업일은 5월 10일이다." in prompts["recursive"]
    assert "개업일: 5월 10일" not in prompts["all"] + prompts["chunks"]
    assert of(outcome.results, form="none").rating.status == "empty"  # type: ignore[union-attr]
    assert of(outcome.results, form="none").overall == 10.0
    assert of(outcome.results, form="all").overall == pytest.approx(87.0)


def test_runs_repeat_the_judgement_and_give_the_spread() -> None:
    scores = iter([10, 8, 6])
    models = scripted.build_scripted_models(utility=lambda _: reply(relevance=next(scores)))
    plan = build_evaluation_plan(models, [cafe()], forms=["all"], runs=3, judged=True)
    outcome = run_evaluation(plan, models, having(a_play()))
    assert [result.run for result in outcome.results] == [1, 2, 3]
    assert compute_run_spread(outcome.results) == pytest.approx(14.0)
    assert summarise_results(outcome.results).overall == pytest.approx(83.5)


def test_a_reply_that_cannot_be_read_is_unscored_and_in_no_mean() -> None:
    replies: Iterator[Any] = iter([reply(), *["I would say 7 of 10."] * 2, ModelUnreachable(url="http://x"), reply()])
    models = scripted.build_scripted_models(utility=lambda _: next(replies))
    plan = build_evaluation_plan(models, [cafe()], forms=["all"], runs=4, judged=True)
    results = run_evaluation(plan, models, having(a_play())).results
    assert [result.lacks_figure for result in results] == [False, True, True, False]
    assert [result.rating.why for result in results if result.rating] == ["", "no JSON", "model_unreachable", ""]
    assert summarise_results(results).overall == pytest.approx(87.0)
    assert summarise_results(results).unscored == 2
    assert unscored_share(results) == 0.5


def test_a_live_answer_is_probed() -> None:
    answers: Iterator[Any] = iter(
        ["월세는 320만 원이고 개업일은 5월 10일입니다.", "모르겠습니다.", ModelUnreachable(url="http://x")]
    )
    models = scripted.build_scripted_models(chat=lambda _: next(answers))
    plan = build_evaluation_plan(models, [cafe()], forms=["none", "chunks", "all"], live=True)
    results = run_evaluation(plan, models, having(a_play())).results
    assert [result.answer.right for result in results if result.answer] == [1.0, 0.0, None]
    assert [result.lacks_figure for result in results] == [False, False, True]
    assert str(models.chat.calls[0][-1].text) == "개업일이 언제지?"  # type: ignore[attr-defined]


def test_a_play_that_fails_gives_failed_rows_and_the_others_go_on() -> None:
    broken = parse_scenario(CAFE.replace('"알겠습니다."', '" "', 1), "broken.yaml")
    models = small()
    outcome = run_evaluation(build_evaluation_plan(models, [broken, cafe()]), models, having(a_play()))
    assert [result.failed for result in outcome.results] == ["evaluation_failed"] * 4 + [""] * 4
    assert unscored_share(outcome.results) == 0.5
    assert summarise_results(outcome.results).results == 8


def test_a_stop_keeps_what_is_done() -> None:
    stop = threading.Event()

    def judging(_: list[BaseMessage]) -> str:
        stop.set()
        return reply()

    models = scripted.build_scripted_models(utility=judging)
    record = having(a_play())
    outcome = run_evaluation(build_evaluation_plan(models, [cafe()], judged=True), models, record, stop=stop)
    assert outcome.stopped
    assert [result.form for result in outcome.results] == ["none"]
    assert not run_evaluation(build_evaluation_plan(models, [cafe()], judged=True), models, record).stopped
    assert len(record.results) == 4


def test_what_was_made_costs_the_forms_that_stand_on_it_and_the_whole_once(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, "evaluation.judge.judge", step=0.25)
    models = scripted.build_scripted_models(utility=lambda _: reply())
    outcome = run_evaluation(build_evaluation_plan(models, [cafe()], runs=2, judged=True), models, having(a_play()))
    made = [result.made.seconds for result in outcome.results if result.run == 1]
    assert made == [0.0, 0.5, 1.0, 1.5]
    assert of(outcome.results, form="chunks", run=1).usd is None, "nobody knows the price of a scripted model"
    judged = 2 * (len(made) - 1)  # nothing is asked about a form that holds nothing
    assert sum_evaluation_cost(outcome.plays, outcome.results)[0] == 2.0 + 0.25 * judged


@table(
    ("options", "error", "said"),
    [
        ({"rates": [0.9]}, OutOfRange, "compression rate 0.9 .* between 0.1 and 0.5"),
        ({"rates": [float("nan")]}, OutOfRange, "compression rate nan"),
        ({"rates": []}, OutOfRange, "compression rate"),
        ({"forms": ["chunks", "dreams"]}, UnknownChoice, "no form of memory 'dreams'; there are none, turns, chunks"),
        ({"forms": []}, UnknownChoice, "form of memory ''"),
        ({"runs": 0}, OutOfRange, "number of runs 0 .* between 1 and 100"),
        ({"scenarios": []}, BadScenario, "there is no scenario"),
        ({"scenarios": [cafe(), cafe()]}, BadScenario, "another scenario has the same name"),
    ],
)
def test_a_bad_plan_is_refused(options: dict[str, Any], error: type[GieokError], said: str) -> None:
    scenarios = options.pop("scenarios", [cafe()])
    with pytest.raises(error, match=said):
        build_evaluation_plan(small(), scenarios, **options)


@table(
    ("side", "judges"),
    [(SMALL, False), (STRONG, True), (written_by_model(ProfileChoice(SMALL, "setting")).profile, False)],
)
def test_a_small_model_judges_only_when_asked_to(side: Any, judges: bool) -> None:
    assert is_judge_trusted(scripted.build_scripted_models(side=side)) is judges


# --- the file -----------------------------------------------------------------------------------


def lines(record: FileRecord) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (record.folder / RESULTS).read_text("utf-8").splitlines()]


def test_kill_9_loses_only_the_running_result_and_resume_makes_each_once(tmp_path: Path) -> None:
    names = [str(written(tmp_path))]
    assert end(start(killing, str(tmp_path / "data"), names, 1)) == -signal.SIGKILL
    models = small(utility=lambda _: reply())
    plan = judged(models, names)
    record = find_unfinished_record(tmp_path / "data", plan.plain(), plan.keys)
    assert record is not None
    assert [key[2] for key in record.results] == ["none", "chunks", "recursive"]
    outcome = run_evaluation(plan, models, record)
    record.close()
    assert [result.key for result in outcome.results] == plan.keys
    assert len(models.utility.calls) == 1
    assert [line["type"] for line in lines(record)] == ["play"] + ["result"] * 4
    assert [line["form"] for line in lines(record)[1:]] == ["none", "chunks", "recursive", "all"]
    assert find_unfinished_record(tmp_path / "data", plan.plain(), plan.keys) is None, "it is complete now"


def a_record(folder: Path, **fields: Any) -> tuple[Any, Any, FileRecord]:
    """Models, a plan with a judge, and a record in a folder that has the play."""
    models = scripted.build_scripted_models(utility=lambda _: reply())
    plan = build_evaluation_plan(models, [cafe()], **{"judged": True, **fields})
    record = create_evaluation_record(folder, plan.plain())
    record.keep(a_play())
    return models, plan, record


def test_a_line_that_was_cut_off_is_dropped_and_made_again(tmp_path: Path) -> None:
    models, plan, record = a_record(tmp_path)
    outcome = run_evaluation(plan, models, record)
    record.close()
    path = record.folder / RESULTS
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b'"form"')])
    again = find_unfinished_record(tmp_path, plan.plain(), plan.keys)
    assert again is not None
    assert len(again.results) == 3
    assert run_evaluation(plan, models, again).results[:3] == outcome.results[:3]
    again.close()
    assert [line["type"] for line in lines(again)] == ["play"] + ["result"] * 4


def test_a_damaged_line_in_the_middle_is_passed_over(tmp_path: Path) -> None:
    models, plan, record = a_record(tmp_path)
    run_evaluation(plan, models, record)
    record.close()
    path = record.folder / RESULTS
    play, first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([play, b"\x00\xff\n", b"[1]\n", b'{"type": "result"}\n', first, *rest]))
    again = FileRecord(record.folder)
    assert again.results == record.results
    again.close()


def test_results_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    models, plan, record = a_record(tmp_path)
    run_evaluation(plan, models, record)
    record.close()
    again = FileRecord(record.folder)
    assert (again.plays, again.results) == (record.plays, record.results)
    again.close()


def test_only_the_same_plan_is_resumed(tmp_path: Path) -> None:
    models, plan, record = a_record(tmp_path)
    record.close()
    others: list[dict[str, Any]] = [{"runs": 2}, {"rates": [0.1]}, {"live": True}, {"forms": ["all"]}]
    for other in others:
        another = build_evaluation_plan(models, [cafe()], **{"judged": True, **other})
        assert find_unfinished_record(tmp_path, another.plain(), another.keys) is None, other
    changed = build_evaluation_plan(models, [parse_scenario(CAFE.replace("320", "330"), "cafe_ko.yaml")], judged=True)
    assert find_unfinished_record(tmp_path, changed.plain(), changed.keys) is None
    found = find_unfinished_record(tmp_path, plan.plain(), plan.keys)
    assert found is not None
    assert found.folder == record.folder
    found.close()


def test_an_evaluation_that_runs_is_not_resumed_beside_itself(tmp_path: Path) -> None:
    _, plan, record = a_record(tmp_path)
    assert find_unfinished_record(tmp_path, plan.plain(), plan.keys) is None
    with pytest.raises(BlockingIOError):
        FileRecord(record.folder)
    record.close()


def test_only_the_user_may_read_what_is_kept(tmp_path: Path) -> None:
    _, _, record = a_record(tmp_path / "data")
    record.close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in record.folder.iterdir()}
    assert modes == {"plan.json": 0o600, "results.jsonl": 0o600}
    assert record.folder.stat().st_mode & 0o777 == 0o700
