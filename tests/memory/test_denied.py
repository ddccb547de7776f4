"""A value that no longer holds, and that none takes the place of."""

from __future__ import annotations

import pytest

from memory.denied import denied
from memory.state import Entity


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("치과 예약", "3월 5일", ["치과 예약 취소했어."]),
        ("치과 예약", "3월 5일", ["3월 5일 치과 예약을 취소했어."]),
        ("hotel", "March 3", ["I cancelled the hotel for March 3."]),
        ("dentist appointment", "Monday", ["My dentist appointment was cancelled."]),
        ("exam", "December 12", ["No, the exam is not on December 12."]),
        ("exam", "December 12", ["The exam isn't on December 12 any more."]),
        ("시험", "12월 12일", ["시험은 12월 12일이 아니야."]),
    ],
)
def test_what_is_cancelled_or_denied_is_gone(key: str, value: str, said: list[str]) -> None:
    assert denied(Entity(key, value, 1), said)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("치과 예약", "3월 5일", ["치과 예약 취소 안 했어."]),
        ("치과 예약", "3월 5일", ["치과 예약을 취소할까 고민 중이야."]),
        ("치과 예약", "3월 5일", ["호텔 예약 취소했어."]),
        ("치과 예약", "3월 5일", ["치과 예약 취소했어.", "치과 예약은 3월 5일이야."]),
        ("hotel", "March 3", ["I cancelled the hotel for May 9."]),
        ("hotel", "March 3", ["I might have cancelled the hotel."]),
        ("hotel", "March 3", ["We have not cancelled the hotel."]),
        ("exam", "December 12", ["The exam is not on December 13."]),
        ("exam", "December 12", ["The exam might not be on December 12."]),
        ("exam", "December 12", ["The party is not on December 12."]),
        ("exam", "December 12", ["The exam was on December 12."]),
        ("회의", "3시", ["회의는 4시가 아니야."]),
    ],
)
def test_what_is_not_denied_stays(key: str, value: str, said: list[str]) -> None:
    assert not denied(Entity(key, value, 1), said)
