"""The probes: which values a context holds, compared as facts and not as letters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evaluation.probe import (
    Probe,
    compute_recall,
    count_leaks,
    has_stale_value,
    is_value_held,
    probe_context,
    stale_share,
    stands_under,
)
from evaluation.scenario import Current, Expectations, Under
from tests.table import table


@table(
    "text, value",
    [
        ("예산은 1,200,000원이다.", "120만 원"),
        ("예산은 120만 원이다.", "1,200,000원"),
        ("예산은 1200000원이다.", "120만 원"),
        ("예산은 1억 5천만 원이다.", "1.5억"),
        ("예산은 1.5억이다.", "1억 5천만"),
        ("예산은 1.5억 원이다.", "150,000,000원"),
        ("The budget is $1,200,000.", "1.2 million dollars"),
        ("개업일은 5월 10일이다.", "5월 10일"),
        ("개업일은 2026-05-10이다.", "5월 10일"),
        ("It opens on May 10.", "2026-05-10"),
        ("회의는 오후 3시에 있다.", "15:00"),
        ("The meeting is at 3 pm.", "15:00"),
        ("전화는 02-555-1234이다.", "02-555-1234"),
        ("커버리지는 60%이다.", "60%"),
        ("카페 이름은 달빛이다.", "달빛"),
        ("카페 이름은 '달 빛'이다.", "달빛"),
        ("The server is Build-Box.", "build-box"),
        ("주문은 ORD-2024-17이다.", "ord-2024-17"),
    ],
)
def test_value_is_held_in_any_form(text: str, value: str) -> None:
    assert is_value_held(text, value)


@table(
    "text, value",
    [
        ("", "120만 원"),
        ("예산은 1,200,001원이다.", "120만 원"),
        ("예산은 12만 원이다.", "120만 원"),
        ("예산은 11.5억이다.", "1.5억"),
        ("예산은 1.1억이다.", "1억"),
        ("예산은 21억이다.", "1억"),
        ("The code is 12345.", "1234"),
        ("The code is 12345.", "2345"),
        ("개업일은 5월 11일이다.", "5월 1일"),
        ("개업일은 5월 10일이다.", "5월 3일"),
        ("회의는 오전 3시에 있다.", "15:00"),
        ("커버리지는 60원이다.", "60%"),
        ("카페 이름은 햇빛이다.", "달빛"),
        ("전화는 02-555-1235이다.", "02-555-1234"),
    ],
)
def test_other_value_is_not_taken_for_it(text: str, value: str) -> None:
    assert not is_value_held(text, value)


NEW, OLD = "1.5억", ("1억", "8천만 원")


@table(
    "lines, expected",
    [
        ([], False),
        (["날씨가 맑다."], False),
        (["예산은 1.5억이다."], False),
        (["예산은 1억이다."], True),
        (["예산은 80,000,000원이다."], True),
        (["예산은 1억이다.", "예산은 1.5억이다."], False),
        (["예산은 1.5억이다.", "예산은 1억이다."], True),
        (["예산은 1억에서 1.5억으로 늘었다."], False),
        (["예산은 1.5억이다.", "전에는 1억이었고 지금은 1억 5천만 원이다."], False),
        (["예산은 1억이다.", "예산은 1.5억이다.", "날씨가 맑다."], False),
        (["예산은 150,000,000원이다."], False),
    ],
)
def test_old_value_is_stale_when_it_stands_last_without_the_new_one(lines: Sequence[str], expected: bool) -> None:
    assert has_stale_value(lines, NEW, OLD) is expected


@table(
    "lines, expected",
    [
        (["AWS 비용은 1.2억이다.", "GCP 비용은 3천만 원이다."], True),
        (["AWS 비용은 120,000,000원이다."], True),
        (["aws 비용은 1.2억이다."], True),
        (["GCP 비용은 1.2억이다."], False),
        (["AWS 비용은 3천만 원이다.", "GCP 비용은 1.2억이다."], False),
        (["AWS 비용은 1.2억이다.", "GCP 비용은 1.2억이다."], False),
        (["AWS를 쓴다.", "비용은 1.2억이다."], False),
        (["AWS 비용은 1.2억이다.", "모두 1.2억을 냈다."], True),
        (["AWS 비용은 3천만 원이다. GCP 비용은 1.2억이다."], False),
        (["AWS 비용은 1.2억이다. GCP 비용은 3천만 원이다."], True),
        ([], False),
    ],
)
def test_sum_of_aws_is_not_that_of_gcp(lines: Sequence[str], expected: bool) -> None:
    assert stands_under(lines, "1.2억", "AWS", ["GCP"]) is expected


EXPECT = Expectations(
    present=("120만 원", "달빛"),
    current=(Current(value="5월 10일", old=("5월 3일",)),),
    under=(Under(value="1.2억", name="AWS", others=("GCP",)),),
    absent=("KX-905", "7월 7일"),
)


def test_every_expectation_is_answered_with_its_kind() -> None:
    lines = [
        "월세는 1,200,000원이다.",
        "개업일은 5월 10일이다.",
        "개업일은 5월 3일이다.",
        "GCP 비용은 1.2억이다.",
        "비밀: KX-905",
    ]
    assert probe_context(EXPECT, lines) == (
        Probe("present", "120만 원", ok=True, held=True),
        Probe("present", "달빛", ok=False, held=False),
        Probe("current", "5월 10일", ok=False, held=True, stale=True, about="5월 3일"),
        Probe("under", "1.2억", ok=False, held=True, about="AWS"),
        Probe("absent", "KX-905", ok=False, held=True),
        Probe("absent", "7월 7일", ok=True, held=False),
    )


def test_shares_are_those_of_the_rows() -> None:
    probes = probe_context(
        EXPECT, ["월세는 1,200,000원이다.", "개업일은 5월 3일이다.", "AWS 비용은 1.2억이다.", "비밀: KX-905"]
    )
    assert compute_recall(probes) == pytest.approx(2 / 4)
    assert stale_share(probes) == 1
    assert count_leaks(probes) == 1


def test_whole_memory_holds_all() -> None:
    lines = [
        "월세는 120만 원이다.",
        "카페는 달빛이다.",
        "개업일은 5월 3일에서 5월 10일로 바뀌었다.",
        "AWS 비용은 1.2억이다.",
    ]
    probes = probe_context(EXPECT, lines)
    assert (compute_recall(probes), stale_share(probes), count_leaks(probes)) == (1, 0, 0)


def test_empty_context_holds_nothing_and_is_not_praised_for_what_must_be_absent() -> None:
    probes = probe_context(EXPECT, [])
    assert (compute_recall(probes), stale_share(probes), count_leaks(probes)) == (0, 0, 0)


def test_shares_of_what_nobody_asked_are_none() -> None:
    probes = probe_context(Expectations(present=("달빛",)), ["달빛"])
    assert stale_share(probes) is None
    assert compute_recall([item for item in probe_context(EXPECT, []) if item.kind == "absent"]) is None
    assert count_leaks(probes) == 0
