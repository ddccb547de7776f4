from __future__ import annotations

from bench.first import TEXTS, First, figures


def test_the_slowest_first_token_of_a_question_counts_and_a_greeting_does_not() -> None:
    quick, slow, greeting = First(2, 9, 1.5, 6), First(3, 8, 3.5, 7), First(2, 7, 5.0, 5.5)
    found = figures({("ko", "question"): [quick, slow], ("ko", "greeting"): [greeting]})
    assert found["first_token_seconds"] == 3.5
    assert (found["page_seconds"], found["ready_seconds"]) == (3, 9)
    assert found["first_token.ko.greeting"] == 5.0
    assert found["last_token.ko.question"] == 7


def test_both_languages_have_a_greeting_and_a_question() -> None:
    assert set(TEXTS) == {(language, kind) for language in ("ko", "en") for kind in ("greeting", "question")}
