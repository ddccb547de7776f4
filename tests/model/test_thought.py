"""Thoughts are told apart from the answer, wherever the pieces are cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.call import stream
from model.call.thought import ThoughtSplitter
from tests.model.conftest import Connect
from tests.stub import reply
from tests.stub.upstream import Upstream

QUESTION = [("human", "?")]


def split(pieces: list[str], *, begins_inside: bool = False, is_whole: bool = True) -> tuple[str, str]:
    """The answer and the thought of a text that comes in these pieces."""
    splitter, answer, thought = ThoughtSplitter(begins_inside), "", ""
    for sorted_text in (*map(splitter.feed, pieces), splitter.end(is_whole)):
        if sorted_text.moved:
            answer, thought = "", thought + answer
        answer, thought = answer + sorted_text.answer, thought + sorted_text.thought
    return answer, thought


CASES = [
    ("<think>Hm.</think>Four.", "Four.", "Hm."),
    ("\n<think>\nHm.\n</think>\n\nFour.", "Four.", "\nHm.\n"),
    ("<THINK>Hm.</THINK> Four.", "Four.", "Hm."),
    ("<thinking>a</thinking><think>b</think>Four.", "Four.", "ab"),
    ("[THINK]Hm.[/THINK]Four.", "Four.", "Hm."),
    ("◁think▷Hm.◁/think▷Four.", "Four.", "Hm."),
    ("<think></think>\n\nFour.", "Four.", ""),
    ("<think>1 < 2 </thin and on</think>Four.", "Four.", "1 < 2 </thin and on"),
    ("<think>Never ending", "", "Never ending"),
    ("Hm, so.\n</think>\n\nFour.", "Four.", "Hm, so.\n"),
    ("Briefly.</think>391", "391", "Briefly."),
    ("A <think> inside </think> stays.", "A <think> inside </think> stays.", ""),
    ("`</think>` ends it.", "`</think>` ends it.", ""),
    ("```\n<think>\n</think>\n```", "```\n<think>\n</think>\n```", ""),
    ("<think>İstanbul İzmir a</think>Dört.", "Dört.", "İstanbul İzmir a"),
    ("<reasoning>wanted</reasoning><answer>42</answer>", "<reasoning>wanted</reasoning><answer>42</answer>", ""),
    ("<thinker> is a word.", "<thinker> is a word.", ""),
    ("<thi", "<thi", ""),
    ("1 < 2", "1 < 2", ""),
    ("", "", ""),
    ("  indented", "  indented", ""),
]


@pytest.mark.parametrize(("text", "answer", "thought"), CASES)
def test_every_cut_into_two_gives_the_same(text: str, answer: str, thought: str) -> None:
    assert {split([text[:at], text[at:]]) for at in range(len(text) + 1)} == {(answer, thought)}
    assert split(list(text)) == (answer, thought)


@given(st.text(alphabet="<>/think`\n a가", max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_cuts_give_the_same_and_lose_nothing(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert split(pieces) == split([text])
    answer, thought = split([text])
    if not thought:
        assert answer == text or "think>" in text


def test_a_model_that_thinks_without_a_tag_is_known_from_the_second_answer_on(
    upstream: Upstream, connect: Connect
) -> None:
    upstream.add(*[reply.said("Hm, well. \n</think> Four.")] * 2, *[reply.said("At once.")] * 2)
    model = connect()
    chunks = [list(stream.stream_answer(model, QUESTION)) for _ in range(4)]
    assert [whole.text for whole in map(stream.sum_chunks, chunks) if whole] == [
        "Four.",
        "Four.",
        "At once.",
        "At once.",
    ]
    texts = ["".join(str(chunk.text) for chunk in each) for each in chunks]
    assert texts == ["Hm, well.Four.", "Four.", "At once.", "At once."]


def test_a_sentence_about_the_tag_says_nothing_of_the_next_answer(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said("Qwen ends its thoughts with </think> and answers."))
    upstream.add(reply.said("A long story.", finish="length"))
    model = connect()
    list(stream.stream_answer(model, QUESTION))
    whole = stream.sum_chunks(list(stream.stream_answer(model, QUESTION)))
    assert whole is not None
    assert whole.text == "A long story."


def test_a_side_call_gets_the_answer_alone(upstream: Upstream, connect: Connect) -> None:
    upstream.add(reply.said('<think>{"a": 0}</think> {"a": 1}'))
    assert stream.complete_answer(connect(), QUESTION).text == '{"a": 1}'


def test_a_known_model_that_begins_with_a_tag_after_all() -> None:
    assert split(["<think>a</think>b"], begins_inside=True) == ("b", "a")
    assert split(["a</think>b"], begins_inside=True) == ("b", "a")
    assert split(["cut o"], begins_inside=True, is_whole=False) == ("", "cut o")
