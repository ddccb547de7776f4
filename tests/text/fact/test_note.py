from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.steps import count_lines
from text.fact.note import SummaryNote, is_similar_note, join_notes, shorten_to_clause, split_clauses, tidy_clause

WORDS = st.text(alphabet="가나다라마바사abcdef", min_size=1, max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=40).map(" ".join), st.integers(0, 200))
def test_a_shortened_text_ends_at_a_word(text: str, most: int) -> None:
    made = shorten_to_clause(text, most)
    assert len(made) <= most or made == text
    assert not made or (text.startswith(made) and (made == text or text[len(made)] == " "))


@given(st.text(max_size=120), st.integers(0, 60))
def test_shortening_any_text_never_splits_a_word(text: str, most: int) -> None:
    made = shorten_to_clause(text, most)
    assert len(made) <= max(most, 0) or made == text
    assert set(made.split()) <= set(re.split(r"[\s]+", text)) | {word.rstrip(" ,;") for word in text.split()}


def test_long_sentences_also_give_their_clauses() -> None:
    text = "예산은 120만 원으로 정했고 인원은 어른 둘과 아이 하나이며 출발은 3월 14일 아침입니다."
    assert split_clauses(text)[0] == text
    assert "예산은 120만 원으로 정했고" in split_clauses(text)


def test_a_clause_stands_alone_without_its_joint() -> None:
    assert tidy_clause("and costs £504 in total") == "Costs £504 in total"
    assert tidy_clause("그리고 3시까지 가야 해요") == "3시까지 가야 해요"
    assert tidy_clause("https://example.com") == "https://example.com"
    assert tidy_clause("so, we booked the van") == "We booked the van"


@pytest.mark.parametrize("text", ["So far I saved some money", "Then again, it may rain"])
def test_a_word_that_is_no_joint_stays(text: str) -> None:
    assert tidy_clause(text) == text


def test_a_korean_clause_whose_sentence_went_on_says_so() -> None:
    assert tidy_clause("세 시쯤이니까") == "세 시쯤이니까…"
    assert (
        join_notes([SummaryNote(tidy_clause("비가 오는데"), 0), SummaryNote("우산이 없다", 1)])
        == "비가 오는데… 우산이 없다."
    )


def test_somebody_s_words_stay_with_who_said_them() -> None:
    text = "요즘 더위에 남편이 자꾸 어지럽다고 해서 혈압을 재어 보니 아침에 98에 60으로 나왔습니다."
    assert not any(clause.startswith("해서") for clause in split_clauses(text))


def test_a_row_of_a_table_is_its_cells() -> None:
    assert tidy_clause("| Mon | Lisbon | 120 |") == "Mon, Lisbon, 120"
    assert tidy_clause("| 월 | 부산") == "월, 부산"


def test_a_change_of_speaker_is_marked() -> None:
    user = [SummaryNote("하나", 0, "사용자"), SummaryNote("둘!", 1, "사용자")]
    assert join_notes([*user, SummaryNote("셋", 2, "AI"), SummaryNote("넷", 3)]) == "사용자: 하나. 둘! AI: 셋. 넷."


def test_likeness_ignores_marks_and_case() -> None:
    assert is_similar_note("The Van costs £504.", "the van costs 504 in total")
    assert not is_similar_note("The van costs £504.", "Hannah likes jazz")


def test_a_text_without_a_clause_end_is_not_cut_between_words_unless_allowed() -> None:
    assert shorten_to_clause("검색 광고가 가장 효율적이고 유튜브가 1", 18, word=False) == ""
    assert (
        shorten_to_clause("남은 예산은 1,275만 원으로, 이월할지 반납할지가 첫", 24, word=False)
        == "남은 예산은 1,275만 원으로"
    )


@pytest.mark.parametrize(
    ("text", "clauses", "torn"),
    [
        (
            "키가 없으면 이 컴퓨터에서 돌고 있는 서버(Ollama, LM Studio)를 찾고, 그것도 없으면 내장 모델을 돌립니다.",
            [
                "키가 없으면 이 컴퓨터에서 돌고 있는 서버(Ollama, LM Studio)를 찾고",
                "그것도 없으면 내장 모델을 돌립니다.",
            ],
            ["있는 서버(Ollama", "LM Studio)를 찾고"],
        ),
        (
            "We compared three servers (Ollama, LM Studio and vLLM), and chose the second one at the end.",
            ["We compared three servers (Ollama, LM Studio and vLLM)", "and chose the second one at the end."],
            ["We compared three servers (Ollama"],
        ),
        (
            "She was sad about it :( because of the rain, but the market was open and full of people.",
            ["but the market was open and full of people."],
            [],
        ),
        (
            "1) 회의를 금요일로 옮기고, 2) 보고서(초안, 부록)를 나누고 :), 3) 담당자를 새로 정하기로 했습니다.",
            ["2) 보고서(초안, 부록)를 나누고", "3) 담당자를 새로 정하기로 했습니다."],
            ["2) 보고서(초안"],
        ),
    ],
)
def test_a_pair_of_brackets_stays_in_one_clause_and_a_lone_one_holds_nothing(
    text: str, clauses: list[str], torn: list[str]
) -> None:
    found = split_clauses(text)
    assert found[0] == text
    assert set(clauses) <= set(found)
    assert not set(torn) & set(found)


@pytest.mark.parametrize("part", ["(a), ", "(", "(a, [b, {c}], "])
def test_the_work_grows_with_the_brackets_and_not_with_their_square(part: str) -> None:
    def split(many: int) -> None:
        split_clauses(part * many + "]" * many)

    assert count_lines(partial(split, 1000)) < 20 * count_lines(partial(split, 100))


def test_clauses_after_nested_and_lone_brackets_are_cut_as_before() -> None:
    text = "First we met (Ann, [Bo, Cy], and Di), then we left ([one, two), and at last (we slept, all of us."
    assert split_clauses(text)[1:] == [
        "First we met (Ann, [Bo, Cy], and Di)",
        "then we left ([one, two)",
        "and at last (we slept",
    ]
