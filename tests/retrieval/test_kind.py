"""Which kind of documents a question asks for."""

from __future__ import annotations

from retrieval import Filters
from retrieval.answer.kind import asked_for
from tests.table import table


@table(
    ("question", "kind"),
    [
        ("What does the FAQ say about refunds?", Filters("faq")),
        ("How long is the warranty according to the user guide?", Filters("guide")),
        ("환불 기간을 FAQ에서 찾아줘", Filters("faq")),
        ("가이드에는 뭐라고 나와 있어?", Filters("guide")),
        ("Is it mentioned in the Korean guides?", Filters("guide", language="ko")),
        ("한국어로 된 FAQ에 뭐라고 적혀 있어?", Filters("faq", language="ko")),
        ("영어 문서에서 보증 기간 찾아줘", Filters(language="en")),
    ],
)
def test_a_question_that_says_where_to_look_is_taken_at_its_word(question: str, kind: Filters) -> None:
    assert asked_for(question) == kind


@table(
    "question",
    [
        "How long is the warranty?",
        "What is the difference between an FAQ and a guide?",
        "Does the FAQ come before the guides?",
        "How do I add a file to the FAQ?",
        "FAQ 문서는 어떻게 만들어?",
        "영어로 된 문서에 한국어로 질문해도 돼?",
        "Can I ask in Korean about English documents?",
    ],
)
def test_a_question_about_documents_is_not_narrowed(question: str) -> None:
    assert asked_for(question) == Filters()
