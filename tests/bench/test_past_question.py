"""The bench of questions about what the user said: its rows are in order, and it tells a needless quotation."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.past_question import DATA, KINDS, SETS, Ask, Chat, figures, is_right, load_chats, play_chat
from evaluation.scenario import RecordedTurn


@pytest.mark.parametrize("name", SETS)
def test_the_rows_have_every_kind_in_both_languages_and_say_what_is_asked_for(name: str) -> None:
    chats = load_chats(DATA / f"{name}.jsonl")
    assert Counter(chat.language for chat in chats) == {"ko": 10, "en": 10}
    for chat in chats:
        assert Counter(ask.kind for ask in chat.asks) == {kind: 4 if kind == "recall" else 1 for kind in KINDS}
        told = "\n".join(turn.user for turn in chat.turns)
        for ask in chat.asks:
            assert is_right(ask, told) == (ask.kind == "recall")


def test_a_question_is_quoted_and_judged_and_other_messages_are_not() -> None:
    turns = [
        RecordedTurn(user="My sister Emma lives in Lisbon.", answer="How nice!"),
        RecordedTurn(user="The rent is 840 euros a month.", answer="I see."),
    ]
    asks = [
        Ask("recall", "where did I say my sister lives?", [["lisbon"]]),
        Ask("recall", "what did I say the rent is?", [["=900"]]),
        Ask("talk", "good morning!"),
    ]
    played = [*play_chat(Chat("en", "en", turns, asks), KINDS, None)]
    assert [(each.quoted, each.right) for each in played] == [(True, True), (True, False), (False, False)]
    found = figures(played)
    assert (found["recall"], found["quoted"], found["quoted_right"]) == (2, 2, 1)
    assert (found["others"], found["needless"], found["needless_by_kind"]) == (1, 0, {"talk": 0})
