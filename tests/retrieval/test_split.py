"""Splitting keeps headings, whole tables and code, and loses nothing."""

from __future__ import annotations

import re
import textwrap
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.read import split as split_
from retrieval.read.split import HEADING_CHARS, PASSAGE, WHOLE, estimate_passage_tokens, split_passages
from tests.steps import count_lines
from tests.table import table


def texts(text: str) -> list[str]:
    return [piece.text for piece in split_passages(text, markdown=True)]


def test_the_path_has_the_headings_above() -> None:
    found = split_passages("# A\n\n## B\n\ntext b\n\n### C `x`\n\ntext c\n\nD\n=\n\ntext d", markdown=True)
    assert [piece.path for piece in found] == [("A", "B"), ("A", "B", "C x"), ("D",)]


def test_the_title_is_not_repeated_in_the_path() -> None:
    assert [piece.path for piece in split_passages("# A\n\nx\n\n## B\n\ny", markdown=True, title="A")] == [(), ("B",)]


def test_a_heading_inside_code_is_code() -> None:
    assert [piece.path for piece in split_passages("# A\n\n```sh\n# comment\n```", markdown=True)] == [("A",)]


def test_a_long_section_is_cut_between_sentences() -> None:
    sentences = [f"Sentence number {number} says something about version 2.{number} of it." for number in range(60)]
    found = texts(" ".join(sentences))
    assert len(found) > 2
    assert " ".join(found) == " ".join(sentences)
    assert all(estimate_passage_tokens(each) <= PASSAGE * 1.1 for each in found)


def test_a_long_korean_section_is_cut_between_sentences() -> None:
    found = texts(" ".join(f"{number}번째 문장은 버전 2.{number}을 설명합니다." for number in range(60)))
    assert len(found) > 2
    assert all(each.endswith("설명합니다.") for each in found)


def test_a_section_of_200_lines_read_passage_by_passage_says_each_line_once() -> None:
    lines = [f"Line {number} says what shelf {number} of the archive holds." for number in range(200)]
    for text, parts in (("\n".join(lines), lines), ("\n".join(f"- {line}" for line in lines), lines)):
        found = texts(f"# Archive\n\n{text}\n")
        assert len(found) > 2
        read = [line.removeprefix("- ") for piece in found for line in re.findall(r"(?:- )?Line \d+ [^.]*\.", piece)]
        assert read == parts


def test_tables_and_code_stay_whole() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| row number {number} | its value |" for number in range(40))
    code = "```python\n" + "\n".join(f"call_{number}(argument, another)\n" for number in range(40)) + "```"
    assert PASSAGE < estimate_passage_tokens(table) < WHOLE
    assert PASSAGE < estimate_passage_tokens(code) < WHOLE
    found = texts(f"Before.\n\n{table}\n\nBetween.\n\n{code}\n\nAfter.")
    assert sum(table in each for each in found) == 1
    assert sum(code in each for each in found) == 1


def test_only_an_enormous_table_is_divided_and_every_part_has_its_head() -> None:
    head = "| name | price |\n|---|---|"
    rows = [f"| product {number} | {number} won |" for number in range(600)]
    found = texts("\n".join([head, *rows]))
    assert len(found) > 3
    assert all(each.startswith(head) for each in found)
    assert [line for each in found for line in each.splitlines()[2:]] == rows


def test_an_enormous_block_of_code_is_divided_between_lines_and_fenced_again() -> None:
    lines = [f"statement_{number} = {number}" for number in range(900)]
    found = texts("```python\n" + "\n".join(lines) + "\n```")
    assert len(found) > 2
    assert all(each.startswith("```python\n") and each.endswith("\n```") for each in found)
    assert [line for each in found for line in each.splitlines()[1:-1]] == lines


LINE = " ".join(f'"key{number}":{number}' for number in range(4000))
CODE = "\n".join(f"call_{number}(argument, another)" for number in range(70))
TABLE = "| a | b |\n|---|---|\n" + "\n".join(f"| row number {number} | its value |" for number in range(40))


@table(
    "text",
    [
        f"```json\n{LINE}\n```",
        f"```json\n{LINE.replace(' ', '')}\n```",
        f"    {LINE}",
        f"| a |\n|---|\n| {LINE} |",
        f"| {LINE} |\n|---|\n" + "| x |\n" * 50,
        f"1. Step\n\n   ```\n   {LINE}\n   ```",
        f"> {LINE}",
        f"<div>{LINE}</div>",
        f"# {LINE}",
    ],
    ids=["code", "no spaces", "indented", "row", "table head", "step", "quotation", "html", "heading"],
)
def test_no_line_is_too_long_for_a_passage_and_nothing_of_it_is_lost(text: str) -> None:
    pieces = split_passages(text, markdown=True)
    assert all(estimate_passage_tokens(piece.text) <= 2 * WHOLE for piece in pieces)
    assert all(len(name) <= HEADING_CHARS for piece in pieces for name in piece.path)
    kept = re.sub(r"```(json)?|[^0-9a-z]", "", "".join(piece.text for piece in pieces))
    assert all(f"key{number}{number}" in kept for number in range(4000))


def test_a_step_with_code_stays_in_one_passage() -> None:
    step = "2. Run this:\n\n   ```sh\n" + textwrap.indent(CODE, "   ") + "\n   ```"
    assert 2 * PASSAGE < estimate_passage_tokens(step) < WHOLE
    assert sum(step in each for each in texts(f"1. Open a terminal.\n{step}\n3. Wait.")) == 1


@pytest.mark.parametrize("before", ["> ", "> > "])
def test_a_table_in_a_quotation_keeps_its_rows(before: str) -> None:
    quoted = textwrap.indent(TABLE, before)
    assert PASSAGE < estimate_passage_tokens(quoted) < WHOLE
    assert sum(quoted in each for each in texts(f"Before.\n\n{quoted}\n\nAfter.")) == 1


def test_what_is_too_long_is_taken_apart_and_its_code_and_tables_stay_whole() -> None:
    code = f"```sh\n{CODE}\n```"
    last = "- In the end:\n\n" + textwrap.indent(code, "  ")
    step = "1. Run this:\n\n" + textwrap.indent(f"{code}\n\nThen this:\n\n{code}\n\n{last}", "   ")
    found = texts(step + "\n\n" + textwrap.indent(f"{TABLE}\n\nAnd:\n\n" * 3, "> ", lambda _: True))
    assert [each.count("```") for each in found if "call_" in each] == [2, 2, 2]
    assert [code in each for each in found[:6] if "call_" in each] == [True, True, False]
    assert last in found
    assert sum(each.count(TABLE) for each in found) == 3


def test_a_long_word_and_a_long_line_take_no_square_of_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, measure = list[int](), split_._estimate_hundredths

    def count(text: str) -> int:
        measured.append(len(text))
        return measure(text)

    monkeypatch.setattr(split_, "_estimate_hundredths", count)

    def steps(size: int) -> tuple[int, int]:
        """Lines that are run, and characters of the texts that are measured."""
        measured.clear()
        work = partial(split_passages, "a" * 10 * size + " b. " + "One sentence. " * size, markdown=True)
        return count_lines(work), sum(measured)

    steps(10)  # what is imported at the first use is no part of it
    (lines, signs), (more_lines, more_signs) = steps(200), steps(2000)
    assert more_lines < 20 * lines
    assert more_signs < 20 * signs


def test_a_long_list_is_cut_between_its_items() -> None:
    items = [f"{number}. Press button {number} and wait until the light is green again." for number in range(1, 40)]
    found = texts("\n".join(items))
    assert len(found) > 1
    assert [line for each in found for line in each.splitlines()] == items


def test_a_word_without_end_is_cut_anyway() -> None:
    found = texts("x" * 20_000)
    assert "".join(found).replace(" ", "") == "x" * 20_000
    assert all(estimate_passage_tokens(each) <= PASSAGE * 2 for each in found)


@given(
    st.lists(
        st.sampled_from(["# H", "word", "- item", "1. step", "```", "| a |", "|---|", "가나다.", "", "> q"]),
        max_size=25,
    )
)
def test_no_word_of_the_text_is_lost(lines: list[str]) -> None:
    source = "\n".join(lines)
    found = split_passages(source, markdown=True)
    kept = re.findall(r"\w+", " ".join([*(piece.text for piece in found), *(" ".join(piece.path) for piece in found)]))
    body = [line for line in lines if not line.startswith("#")]
    assert set(re.findall(r"\w+", "\n".join(body))) <= set(kept)
    assert all(piece.text.strip() for piece in found)


@table(
    "text",
    [
        "1. Open.\n2. Save.",
        "(1) Open.\n(2) Save.",
        "**1.** Open.\n\n**2.** Save.",
        "> 1. Open.\n> 2. Save.",
        "**Step 1.** Open.\n\n**Step 2.** Save.",
        "- 1단계: 열기\n- 2단계: 저장",
        "① 열기\n② 저장",
        "첫째, 엽니다.\n둘째, 저장합니다.",
        "첫 번째로 엽니다.\n두 번째로 저장합니다.",
        "First, open it.\n\nSecond, save it.",
        "### Step 1: Open\n\nx\n\n### Step 2: Save\n\ny",
        "### 1단계\n\nx\n\n### 2단계\n\ny",
    ],
)
def test_steps_are_told_in_all_their_forms(text: str) -> None:
    assert all(piece.has_steps for piece in split_passages(f"# T\n\n{text}", markdown=True))


@table(
    "text",
    [
        "1. Open.\n\nSave.",
        "2024. 1. 5. start\n10. 3",
        "1.5 GB\n2.5 GB",
        "- Open.\n- Save.",
        "첫 번째 메뉴입니다.\n두 번째 메뉴입니다.",
        "### 1. Introduction\n\nx\n\n### 2. Prices\n\ny",
        "### Step 1\n\nx\n\n## Other\n\n### Step 1\n\ny",
    ],
)
def test_what_only_has_numbers_is_no_steps(text: str) -> None:
    assert not any(piece.has_steps for piece in split_passages(f"# T\n\n{text}", markdown=True))


def test_a_heading_with_nothing_below_it_is_found_by_its_words() -> None:
    found = split_passages("# A\n\n## B\n\n## C\n\ntext\n\n### D", markdown=True, title="A")
    assert [(piece.path, piece.text) for piece in found] == [(("B",), "B"), (("C",), "text"), (("C", "D"), "D")]
    assert [piece.text for piece in split_passages("# Only", markdown=True, title="Only")] == ["Only"]
    assert [piece.text for piece in split_passages("# T\n\n# A\n\ntext", markdown=True, title="T")] == ["text"]
