"""The ranking of past turns, with the weights and the embedding model that come with Gieok."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from bench.train.past_turn import hash_training_files
from model.embedding import built_in
from retrieval.past import keep_fitting
from retrieval.past.feature import FEATURES, find_candidates
from retrieval.past.phrase import SIZE, hash_phrases
from retrieval.past.rank import CUT, FoundTurn, rank_turns, read_floor
from retrieval.past.row import pack_turn
from retrieval.past.turn_table import TurnTable
from retrieval.past.weight import load_weights
from store.search.turn_index import IndexedTurn, PastTurn, TurnKey
from tests.table import table as cases
from text.language import has_korean

HELD_OUT = Path(__file__).parent / "held_out"

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)
EN = [
    "We picked up a grey kitten from the shelter and named her Pixel.",
    "The landlord wants 1,250 euros from April on.",
    "Could you translate «good luck» into Greek?",
    "My brother Anton starts at the observatory in May.",
    "What goes well with roasted pumpkin?",
]
KO = [
    "보호소에서 회색 새끼 고양이를 데려와서 이름을 픽셀이라고 지었어.",
    "집주인이 4월부터 월세를 85만 원으로 올리겠대.",
    "«행운을 빌어»를 그리스어로 번역해 줄래?",
    "우리 형 민규가 5월부터 천문대에서 일해.",
    "구운 호박에 뭘 곁들이면 좋을까?",
]


def tabled(said: list[str], with_vectors: bool = True) -> TurnTable:
    """A conversation, one turn a day up to the day before ``NOW``."""
    made = TurnTable()
    for number, text in enumerate(said, 1):
        at = (NOW - timedelta(days=len(said) + 1 - number)).timestamp()
        packed = pack_turn(PastTurn(TurnKey("a", 0, number), at, text, "OK."), built_in() if with_vectors else None)
        made.add([IndexedTurn("a", 0, number, *packed)])
    made.set_path("a", {0: range(1, 10**6)})
    return made


def asked(table: TurnTable, query: str) -> list[FoundTurn]:
    embedder = built_in()
    return rank_turns(table, table.places["counts"], embedder.query(query), query, NOW, 60, embedder.name)


def shown(table: TurnTable, query: str) -> list[int]:
    found = asked(table, query)
    fitting = keep_fitting([each.score for each in found], read_floor(query))
    return [each.key.number for each, fits in zip(found, fitting, strict=True) if fits]


@cases(
    ("said", "query", "number"),
    [
        (EN, "What did we call the kitten?", 1),
        (EN, "How much rent do I have to pay from April?", 2),
        (EN, "What does my brother Anton do from May on?", 4),
        (KO, "우리 고양이 이름을 뭐라고 지었지?", 1),
        (KO, "4월부터 월세가 얼마였지?", 2),
        (KO, "민규 형은 어디서 일하게 됐더라?", 4),
    ],
)
def test_the_turn_that_answers_comes_first_in_a_conversation_that_has_only_begun(
    said: list[str], query: str, number: int
) -> None:
    assert shown(tabled(said), query)[0] == number
    assert asked(tabled(said, with_vectors=False), query)[0].key.number == number, "by its words alone, too"


@cases(
    ("said", "query"),
    [
        (EN, "Suggest a quick dinner for tonight."),
        (EN, "Thanks, that helped!"),
        (EN, "How do vaccines work?"),
        (KO, "오늘 저녁에 간단히 해 먹을 것 좀 추천해 줘"),
        (KO, "고마워!"),
        (KO, "백신은 어떻게 작용해?"),
    ],
)
def test_nothing_is_shown_where_nothing_is_asked_of_the_past(said: list[str], query: str) -> None:
    assert shown(tabled(said), query) == []


def test_a_day_that_the_question_names_counts() -> None:
    lunches = [f"For lunch I had {dish}." for dish in ("soup", "noodles", "rice", "bread", "salad")]
    first = asked(tabled(lunches), "What did I have for lunch on 17 March?")[0]
    assert first.key.number == 3


def test_a_second_hop_follows_the_rare_words_of_the_first_find() -> None:
    said = [*EN, "Pixel has her appointment with Dr. Okafor on Tuesday at nine.", "Dr. Okafor works in Mill Lane 12."]
    found = asked(tabled(said), "When is the kitten's appointment, and with whom?")
    assert {1, 6, 7} <= {each.key.number for each in found[:4]}


def test_no_turns_find_nothing() -> None:
    assert asked(tabled([]), "What did we call the kitten?") == []


def test_the_best_score_decides_whether_anything_is_shown_and_a_share_of_it_what() -> None:
    for query in ("rent?", "월세는?"):
        floor = read_floor(query)
        assert keep_fitting([floor - 0.01, floor - 0.02], floor) == [False, False]
        assert keep_fitting([0.5, 1.0, CUT, 0.9 * CUT], floor) == [True, True, True, False]
        assert keep_fitting([], floor) == []


def read_held_out(name: str, language: str) -> list[str]:
    lines = (HELD_OUT / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if has_korean(line) == (language == "ko")]


@cases(("language", "said"), [("en", EN), ("ko", KO)])
def test_messages_that_nothing_was_learned_from_are_told_apart(language: str, said: list[str]) -> None:
    """Whether a message asks for something of the past, and how many that ask for nothing get turns all the same."""
    weights, embedder, made = load_weights(), built_in(), tabled(said)
    asking, unrelated = (read_held_out(name, language) for name in ("asking", "unrelated"))
    odds = [
        [weights.recall_odds(text, embedder.query(text), embedder.name) for text in each]
        for each in (asking, unrelated)
    ]
    above = sum(one > other for one in odds[0] for other in odds[1]) / (len(asking) * len(unrelated))
    assert above > 0.93, "the chance that one that asks has higher odds than one that does not"
    assert sum(bool(shown(made, text)) for text in unrelated) <= 0.1 * len(unrelated)


@pytest.mark.parametrize("text", ["", " ", "\ud800", "가" * 100_000, "a b " * 50_000, "??", "1" * 500])
def test_phrases_of_any_text_are_numbers_of_one_length(text: str) -> None:
    values = hash_phrases(text)
    assert values.shape == (SIZE,)
    assert 0 <= float(np.linalg.norm(values)) < 2


def test_features_of_korean_stand_twice_and_of_others_once() -> None:
    said = tabled(KO)
    for query, twice in (("고양이 이름", True), ("kitten", False)):
        vector = built_in().query(query)
        features = find_candidates(said, said.places["counts"], vector, query, NOW).features
        half = len(FEATURES) // 2
        assert features[:, half:].any() == twice
        if twice:
            assert features[:, :half] == pytest.approx(features[:, half:])


def test_the_weights_were_learned_from_the_training_files_as_they_are() -> None:
    assert load_weights().digest == hash_training_files(), "python -m bench.train.past_turn --data DIR"
    assert list(load_weights().order) == list(FEATURES)
