"""Which texts are the same message, and which say something else."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from history.form import leave_out_blocks, mark_message, read_form
from history.likeness import compare_messages, has_common_words

ANSWER = '*The wind drops.* Mina hands you the brass key without a word. "Keep it dry," she says.\n\nThe road goes on.'
KO = '*바람이 잦아든다.* 미나가 너에게 놋쇠 열쇠를 건넨다. "젖지 않게 해." 그녀가 말한다.'


@pytest.mark.parametrize(
    ("sent", "like"),
    [
        (ANSWER.replace("*", ""), "same"),
        (ANSWER.replace('"', "“").upper(), "same"),
        (f"<think>Now what?</think>{ANSWER}", "same"),
        (ANSWER.replace(" ", "\n"), "same"),
        (f"Mina: {ANSWER}", "more"),
        (f"[2026-11-27 15:04] {ANSWER}", "more"),
        (f"{ANSWER}\n\n[Keep the tone dark.]", "more"),
        (ANSWER.replace("Mina", "Nina"), "other"),
        (ANSWER.replace("brass", "brash"), "other"),
        (ANSWER.replace("without a word", "with a word"), "other"),
        (ANSWER.replace("The road goes on.", ""), "other"),
        (ANSWER.replace("hands", "handed"), "reworded"),
        (ANSWER.replace("the brass", "brass"), "reworded"),
        ("A man opens the door. He has been waiting for you since the morning, and he is not amused.", "other"),
        (KO, "translated"),
    ],
)
def test_an_answer_and_what_a_client_sends_of_it(sent: str, like: str) -> None:
    assert compare_messages(sent, ANSWER, "answer") == like


@pytest.mark.parametrize(
    ("sent", "like"),
    [
        (KO.replace("*", ""), "same"),
        (KO.replace("열쇠를", "열쇠도"), "reworded"),
        (KO.replace("젖지 않게", "젖게"), "other"),
        (KO.replace("미나가", "미주가"), "other"),
        (KO.replace("놋쇠 열쇠", "놋쇠 반지"), "other"),
    ],
)
def test_a_korean_answer(sent: str, like: str) -> None:
    assert compare_messages(sent, KO, "answer") == like


@pytest.mark.parametrize(
    ("was", "now"), [("has 3 coins", "has 4 coins"), ("is not here", "is here"), ("Kael", "Kaela")]
)
def test_a_word_that_matters_makes_another_text(was: str, now: str) -> None:
    text = f"In the evening the old man said that {was} and went away."
    assert compare_messages(text.replace(was, now), text, "answer") == "other"


def test_the_unfinished_end_of_an_answer_may_be_missing_and_no_other_end() -> None:
    cut = f"{ANSWER} And then the"
    assert compare_messages(ANSWER, cut, "answer") == "part"
    assert compare_messages(ANSWER.split("\n")[0], ANSWER, "answer") == "other"
    assert compare_messages("The wind", ANSWER, "answer") == "other"
    assert compare_messages("*The wind", ANSWER, "answer", stopped=True) == "part"


def test_a_block_that_a_script_takes_out_of_old_answers_may_be_missing() -> None:
    assert compare_messages(ANSWER, f"{ANSWER}\n```\nHP: 10\n```", "answer") == "part"
    assert compare_messages(ANSWER, f"<status>HP 10</status>\n{ANSWER}", "answer") == "part"


def test_what_a_program_put_beside_a_question_may_be_missing_later() -> None:
    asked = "I open the door.\nThe Order of the Lantern keeps every ford."
    assert compare_messages("I open the door.", asked, "question") == "part"
    assert compare_messages("I open", asked, "question") == "other"


def test_a_text_of_signs_alone_is_compared_by_its_signs() -> None:
    assert compare_messages("…", "!?", "question") == "other"
    assert compare_messages(" … ", "…", "question") == "same"
    assert read_form("").flat == ""


def test_marks_are_of_one_owner_and_of_one_side_and_edges_outlive_what_is_put_around() -> None:
    marks = mark_message(ANSWER, "answer", "me")
    assert marks == mark_message(ANSWER.replace("*", ""), "answer", "me")
    others = mark_message(ANSWER, "answer", "you"), mark_message(ANSWER, "question", "me")
    assert not set(marks.all) & {mark for other in others for mark in other.all}
    assert mark_message(f"A note.\n\n{ANSWER}", "answer", "me").edges[1] == marks.edges[1]
    assert mark_message(f"{ANSWER} A note.", "answer", "me").edges[0] == marks.edges[0]
    assert len(mark_message("Yes, do.", "answer", "me").all) == 1


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a <thinking> b</think> c", "c"),
        ("<think>a</THINK> b <!-- c <think> --> d </think>", "b d think"),
        ("a <think> b <reasoning>c</reasoning> d", "a think b d"),
        ("<!--> a --> b <!-- c", "b c"),
        ("<think>only a thought</think>", "think only a thought think"),
    ],
)
def test_thoughts_and_comments_end_where_theirs_do(text: str, rest: str) -> None:
    assert read_form(text).flat == rest


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n```py\nb\n~~~\nc\n```\nd", "a d"),
        ("a\n````\nb\n```\nc\n````\nd", "a d"),
        ("a\n```\nb <i>c</i> [d] (e)", "a b"),
        ("a <div class='x'>b <i>c</i></div> d <p>e", "a d p e"),
    ],
)
def test_blocks_end_where_theirs_do(text: str, rest: str) -> None:
    assert read_form(leave_out_blocks(text)).flat == rest


@pytest.mark.parametrize(
    ("old", "new", "like"),
    [
        ("Do some thing about it now", "Do something about it now", "reworded"),
        ("이제 그 일을 다시 해 볼 수 있을까", "이제 그 일을 다시 해볼수있을까", "other"),
        (
            "오늘 우리는 그 일을 다시 해 볼 수 있을까 하고 물었다",
            "오늘 우리는 그 일을 다시 해 볼수 있을까 하고 물었다",
            "reworded",
        ),
        ("The dog sees a cat and the bird", "Dog sees the cat and bird", "reworded"),
        ("They go to an old mill at night", "They go to the old mill at night", "reworded"),
        ("He wants to go there today", "He wants to go there today, the boy", "other"),
        ("He wants two boats from them today", "He wants three boats from them today", "other"),
    ],
)
def test_words_that_are_divided_or_inflected_otherwise(old: str, new: str, like: str) -> None:
    assert compare_messages(new, old, "answer") == like


def test_a_long_answer_that_was_changed_has_common_words_and_another_one_has_not() -> None:
    words = [f"word{number}" for number in range(300)]
    choose = random.Random(7)
    one = " ".join(choose.choices(words, k=1500))
    changed = " ".join("new" if at % 20 == 0 else word for at, word in enumerate(one.split()))
    assert has_common_words(changed, one)
    assert not has_common_words(" ".join(choose.choices(words, k=1500)), one)


ROOT = Path(__file__).parents[2]
HARD = """
import random
from history.form import leave_out_blocks, read_form
from history.likeness import compare_messages, has_common_words
for begun in ("<think>", "<!--", "<div>", "<a ", "```x\\n", "[(", "`"):
    read_form(begun * 100_000)
    leave_out_blocks(begun * 100_000)
words = "river stone lantern bridge market winter harbor garden silver copper window candle".split()
texts = [" ".join(random.Random(at).choices(words, k=1900)) for at in range(41)]
for text in texts[1:]:
    assert compare_messages(text, texts[0], "answer") == "other"
    assert not has_common_words(text, texts[0])
"""


def test_texts_that_are_hard_to_compare_take_no_square_of_their_length() -> None:
    """The system ends a process that computes for longer: it would take minutes, and takes a second or two."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    done = subprocess.run(
        [sys.executable, "-c", HARD], preexec_fn=limit, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
