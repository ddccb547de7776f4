"""Usage over time: sums by day and group, the CSV, and the window of the page."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from component.usage.usage_sum import COLUMNS, add_up, group_rows, label_chats, sum_days, write_csv
from store import Finished
from store.user.usage import UsageRow
from tests.component.test_offer import run
from tests.conftest import Serve
from tests.test_app import page, say, store, texts

pytestmark = pytest.mark.usefixtures("fresh")
NOON = datetime(2026, 3, 2, 20, 30, tzinfo=UTC).timestamp()
"""In Seoul it is the next morning."""


def row(model: str = "one", prompt: int = 100, usd: float | None = 0.5, title: str = "여행") -> UsageRow:
    return UsageRow(NOON, "s1", title, "answer", model, prompt, 10, 20, usd, saved_tokens=300, cache_usd=0.25)


def test_the_sum_says_what_was_saved_and_what_has_no_price() -> None:
    total = add_up([row(), row("two", 200, None)])
    assert (total.count, total.prompt_tokens, total.answer_tokens, total.usd) == (2, 300, 40, 0.5)
    assert (total.unpriced, total.saved_tokens, total.saved_percent, total.cache_usd) == (1, 600, 67, 0.5)
    assert add_up([]).saved_percent == 0
    assert (add_up([row(usd=None)]).usd, add_up([row(usd=0.0)]).usd) == (None, 0.0)


def test_work_without_a_price_has_none() -> None:
    rows = [row(), *(replace(row(usd=None), work=work) for work in ("tracker", "curator", "summary", "memory"))]
    assert add_up(rows).unpriced == 4
    priced = replace(row(), work="tracker")
    lines = list(csv.DictReader(io.StringIO(write_csv([priced, rows[1]], UTC))))
    assert [line["usd"] for line in lines] == [""], "a sum of some prices is no price"


def test_groups_stand_in_the_order_of_their_tokens() -> None:
    groups = group_rows([row("small", 1), row("large", 900), row("small", 2)], lambda each: each.model)
    assert [(name, total.count) for name, total in groups.items()] == [("large", 1), ("small", 2)]


def test_chats_of_one_title_are_told_apart() -> None:
    rows = [row(), replace(row(), session_id="s2"), replace(row(title="책"), session_id="s3"), row()]
    labels = label_chats(rows, str)
    assert labels == {"s1": "여행", "s2": "여행 · 2", "s3": "책"}
    groups = group_rows(rows, lambda each: labels[each.session_id])
    assert {name: total.count for name, total in groups.items()} == {"여행": 2, "여행 · 2": 1, "책": 1}


def test_days_are_the_readers_and_a_day_without_use_is_there() -> None:
    days = sum_days([row()], lambda each: each.model, 3, date(2026, 3, 3), ZoneInfo("Asia/Seoul"))
    assert [(day.isoformat(), [*sums]) for day, sums in days] == [
        ("2026-03-01", []),
        ("2026-03-02", []),
        ("2026-03-03", ["one"]),
    ]


def test_the_csv_holds_the_sums_and_no_formula() -> None:
    lines = list(csv.reader(io.StringIO(write_csv([row(), row(), row(title="=1+1"), row("two", 5, None)], UTC))))
    assert tuple(lines[0]) == COLUMNS
    assert lines[1] == ["2026-03-02", "one", "'=1+1", "answer", "1", "100", "10", "20", "0.500000", "300", "0.250000"]
    assert lines[2] == ["2026-03-02", "one", "여행", "answer", "2", "200", "20", "40", "1.000000", "600", "0.500000"]
    assert lines[3][8] == "", "an unknown price is no price of zero"


def test_the_window_shows_what_was_used(serve: Serve) -> None:
    serve()
    at = page("ko-KR")
    session = store().create_session("ko", 0.3).id
    number = store().begin_turn(session, "제주 여행").number
    used = {"prompt_tokens": 1234, "cached_tokens": 200, "answer_tokens": 66, "usd": 0.5, "model": "model-one"}
    store().finish_turn(
        session, number, Finished("done", "답", usage=used, report={"full_tokens": 5234, "total_tokens": 1234})
    )
    at.button(key="open-usage").click()
    run(at)
    html = "".join(each.proto.body for each in at.get("html"))
    assert "1,234 + 66" in html
    assert "4,000" in html
    assert "model-one" in html
    at.segmented_control(key="usage-by").set_value("chat")
    run(at)
    assert "제주 여행" in "".join(each.proto.body for each in at.get("html"))
    assert at.get("arrow_vega_lite_chart") or at.get("vega_lite_chart")


def test_a_window_without_use_says_so(serve: Serve) -> None:
    serve()
    at = page("en-US")
    at.button(key="open-usage").click()
    assert "Nothing was used in this time." in texts(run(at))


def test_a_turn_notes_the_model_that_answered(serve: Serve) -> None:
    serve()
    at = say(page("en-US"), "Hello there, how are you?")
    before = time.time() - 3600
    (used,) = [each for each in store().usages.read_since(before) if each.work == "answer"]
    assert used.model == at.button(key="model-open").label.rpartition(" ")[2]
