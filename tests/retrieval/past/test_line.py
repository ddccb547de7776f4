"""The lines of a profile that fit a question; the facts and questions here were used for no choice of weights."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from retrieval.past import SaidLine, find_fitting_lines

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
FACTS = {
    "ko": ["혈액형: RH- B형", "주차 자리는 지하 2층 C-14야", "둘째 이름은 하윤이야"],
    "en": ["blood type: RH- B", "My parking space is C-14 on level two", "My younger child is called Elin"],
}


def find(language: str, query: str) -> list[str]:
    lines = [SaidLine(text, NOW.timestamp() - 86_400 * day) for day, text in enumerate(FACTS[language], 1)]
    return [FACTS[language][at] for at in find_fitting_lines(lines, query, NOW)]


@pytest.mark.parametrize(
    ("language", "query", "fact"),
    [
        ("ko", "내 혈액형이 뭐였지?", 0),
        ("ko", "내 주차 자리 어디야?", 1),
        ("ko", "우리 둘째 이름 기억해?", 2),
        ("en", "What is my blood type?", 0),
        ("en", "Where is my parking space?", 1),
        ("en", "What is my younger child called?", 2),
    ],
)
def test_the_line_that_a_question_is_about_comes_first(language: str, query: str, fact: int) -> None:
    assert find(language, query)[0] == FACTS[language][fact]


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("ko", "파이썬에서 리스트를 뒤집는 방법 알려줘"),
        ("ko", "고마워, 잘 자!"),
        ("en", "How do I reverse a list in Python?"),
        ("en", "Thanks, good night!"),
    ],
)
def test_no_line_comes_with_a_message_that_is_about_something_else(language: str, query: str) -> None:
    assert find(language, query) == []


def test_without_lines_or_words_nothing_fits() -> None:
    assert find_fitting_lines([], "What is my blood type?", NOW) == []
    assert find("en", "?") == []
