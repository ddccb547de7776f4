"""Answers that only refuse are told from answers that say something."""

from __future__ import annotations

from tests.table import table
from text.answer.refusal import is_refusal, is_refused_question

ASKED = "Where do my parents live, and when is their party on 3 May?"


@table(
    ("answer", "refuses"),
    [
        ("I'm sorry, but I can't assist with that.", True),
        ("I’m sorry, I don't have that information.", True),
        ("I cannot help with that request.", True),
        ("I apologize, but I cannot know when the party on 3 May is.", True),
        ("As an AI, I have no access to personal data.", True),
        ("죄송하지만 그 정보는 알 수 없습니다.", True),
        ("죄송합니다. 저는 개인 정보를 알지 못합니다.", True),
        ("I'm sorry, but I can't open links. Your parents live in Uppsala.", False),
        ("죄송하지만 사진은 볼 수 없습니다. 잔치는 오후 7시에 시작합니다.", False),
        ("I'm sorry, but that " + "is a long story, and it begins with a letter " * 8, False),
        ('"Sorry, but I can\'t come." is enough.', False),
        ("I'm sorry to hear that. Try to rest.", False),
        ("They live in a small town by the sea.", False),
        ("I can help with that.", False),
        ("", False),
    ],
)
def test_an_answer_that_only_refuses_is_one(answer: str, refuses: bool) -> None:
    assert is_refusal(answer, ASKED) == refuses


@table(
    ("question", "answer", "says_nothing"),
    [
        ("Where do we live now?", "I'm sorry, but I don't know.", True),
        ("우리 집 주소가 뭐지? 기억나?", "죄송하지만 알 수 없습니다.", True),
        ("Where do we live now?", "At 27 Larkfield Terrace.", False),
        ("Our puppy has a limp. What now?", "I'm sorry, but I can't help with that.", False),
        ("Note that the gate code is 4471.", "I'm sorry, but I can't help with that.", False),
    ],
)
def test_a_refused_question_says_nothing_and_what_was_told_beside_it_stays(
    question: str, answer: str, says_nothing: bool
) -> None:
    assert is_refused_question(question, answer) == says_nothing
