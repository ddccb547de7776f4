"""The lexical index: the scores of bm25s whatever the segments, few files, nothing that is written in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from errors import LibraryCorrupt
from retrieval.index.lexical import K1, SHARE, B, Lexical, Segments
from retrieval.index.segment import Marks, Segment, build_hash_marks
from retrieval.index.word import cut_text_words
from text.digest import hash_text

TEXTS = [
    "red fox",
    "red red hen and the fox",
    "",
    "오래된 올빼미가 문서에서 잔다",
    "blue owl 123 fox",
    "red fox",
    "문서를 읽는 여우",
]
QUERIES = ["red fox", "fox fox unheard", "문서 여우", "the", "123 owl 올빼미"]


def known(texts: Sequence[str]) -> Marks:
    return build_hash_marks(hash_text(text) for text in texts)


def segment(texts: Sequence[str]) -> Segment:
    return Segment.make({hash_text(text): text for text in texts}, "ngram")


def hold(segments: Segments, texts: Sequence[str], *, whole: bool = False) -> Lexical:
    def missing(at: NDArray[np.int64]) -> Mapping[str, str]:
        return {hash_text(texts[each]): texts[each] for each in at}

    return segments.hold(known(texts), missing, whole=whole)


def test_scores_are_those_of_bm25s() -> None:
    oracle = bm25s.BM25(k1=K1, b=B)
    oracle.index([cut_text_words(text, "ngram") for text in TEXTS], show_progress=False, create_empty_token=False)
    several = [segment(TEXTS[:2]), segment([*TEXTS[2:], "gone and never asked for"])]
    for segments in ([segment(TEXTS)], several):
        lexical = Lexical(known(TEXTS), segments, "ngram")
        for query in QUERIES:
            tokens = oracle.get_tokens_ids(cut_text_words(query, "ngram"))
            wanted = oracle.get_scores_from_ids(tokens) if tokens else np.zeros(len(TEXTS))
            assert lexical.scores(query)[0] == pytest.approx(wanted, abs=1e-5)


def test_a_table_of_contents_has_no_words_of_the_headings_that_it_links_to() -> None:
    contents = "Contents\n\n- **[Which owl sleeps?](#owl)**\n  - [여우는 무엇을 읽나요?](#여우)"
    texts = [contents, "The owl sleeps by day.", "문서를 읽는 여우", "See [the guide of owls](owls.md#sleep)."]
    lexical = Lexical(known(texts), [segment(texts)], "ngram")
    assert (lexical.scores("Which owl sleeps?")[0] > 0).tolist() == [False, True, False, True]
    assert np.argmax(lexical.scores("여우는 무엇을 읽나요?")[0]) == 2
    assert lexical.scores("contents")[0][0] > 0, "the rest of its text is found"


def test_a_text_in_two_segments_counts_once() -> None:
    once, twice = (Lexical(known(TEXTS), [segment(TEXTS)] * times, "ngram") for times in (1, 2))
    assert once.scores("red fox")[0].tolist() == twice.scores("red fox")[0].tolist()
    assert len(twice.merge_segments()) == 1


def test_nothing_to_search_and_nothing_asked_score_nothing() -> None:
    assert Lexical(known([]), [segment(TEXTS)], "ngram").scores("fox")[0].tolist() == []
    assert Lexical(known([""]), [segment([""])], "ngram").scores("fox")[0].tolist() == [0]
    scores, bound = Lexical(known(TEXTS), [segment(TEXTS)], "ngram").scores("the ?")
    assert (set(scores.tolist()), bound) == ({0}, 1)


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.lists(st.sampled_from([*TEXTS, "hen", "owl owl"]), max_size=9), min_size=1, max_size=8))
def test_any_sequence_of_changes_scores_as_a_single_segment(
    steps: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sequence")
    segments = Segments(folder)
    for texts in steps:
        changed = hold(segments, texts)
        segments.prune()
        whole = Lexical(known(texts), [segment(texts)], "ngram")
        opened = Segments(folder).open(known(texts))
        for query in QUERIES:
            (scores, bound), *others = (each.scores(query) for each in (whole, changed, opened))
            assert all((each.tolist(), most) == (scores.tolist(), bound) for each, most in others)


def test_what_is_added_is_written_again_as_often_as_the_logarithm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, save = list[int](), Segment.save

    def saved(self: Segment, path: Path) -> None:
        written.append(len(self))
        save(self, path)

    monkeypatch.setattr(Segment, "save", saved)
    segments, texts = Segments(tmp_path), [f"text {number}" for number in range(1000)]
    hold(segments, texts[:700])
    for count in range(701, 1001):
        hold(segments, texts[:count])
        segments.prune()
        assert len(list(tmp_path.glob("*.npz"))) <= 6
    assert written[:2] == [700, 1]
    assert sum(written) < 700 + 1000 + 300 * SHARE * 5


def test_half_of_what_is_gone_is_dropped_and_an_unchanged_segment_is_not_written(tmp_path: Path) -> None:
    segments, texts = Segments(tmp_path), [f"text {number}" for number in range(100)]
    hold(segments, texts)
    (first,) = tmp_path.glob("*.npz")
    before = first.stat().st_mtime_ns
    hold(segments, texts[:60])
    segments.prune()
    assert first.stat().st_mtime_ns == before
    hold(segments, texts[:40])
    segments.prune()
    (second,) = tmp_path.glob("*.npz")
    assert len(Segment.load(second)) == 40


def test_a_damaged_file_is_told_and_made_anew(tmp_path: Path) -> None:
    first = Segments(tmp_path)
    hold(first, TEXTS)
    (file,) = tmp_path.glob("*.npz")
    for segments in (first, Segments(tmp_path)):
        file.write_bytes(b"x" + file.read_bytes()[1:])
        with pytest.raises(LibraryCorrupt):
            Segments(tmp_path).open(known(TEXTS))
        hold(segments, TEXTS, whole=True)
        assert Segments(tmp_path).open(known(TEXTS)).scores("fox")[0].max() > 0


def test_a_passage_without_a_file_is_not_overlooked(tmp_path: Path) -> None:
    hold(Segments(tmp_path), TEXTS)
    with pytest.raises(FileNotFoundError):
        Segments(tmp_path).open(known([*TEXTS, "new"]))
