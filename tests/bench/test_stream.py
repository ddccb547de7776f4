"""Every recorded stream of a server gives the answer, the thoughts, the calls and the tokens that it means."""

from __future__ import annotations

import pytest

from bench.messy.stream import expect, read_case
from bench.messy.stream_case import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_recorded_stream(case: Case) -> None:
    assert read_case(case) == expect(case)


def test_the_table_is_long_enough_and_names_every_case_once() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len({*names}) >= 30
