"""Splitting keeps headings, whole tables and code, and loses nothing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from retrieval.split import PASSAGE, WHOLE, split, tokens


def texts(text: str) -> list[str]:
    return [piece.text for piece in split(text, markdown=True)]


def test_the_path_has_the_headings_above() -> None:
    found = split("# A\n\n## B\n\ntext b\n\n### C `x`\n\ntext c\n\nD\n=\n\ntext d", markdown=True)
    assert [piece.path for piece in found] == [("A", "B"), ("A", "B", "C x"), ("D",)]


def test_the_title_is_not_repeated_in_the_path() -> None:
    assert [piece.path for piece in split("# A\n\nx\n\n## B\n\ny", markdown=True, title="A")] == [(), ("B",)]


def test_a_heading_inside_code_is_code() -> None:
    assert [piece.path for piece in split("# A\n\n```sh\n# comment\n```", markdown=True)] == [("A",)]


def test_a_long_section_is_cut_between_sentences() -> None:
    sentences = [f"Sentence number {number} says something about version 2.{number} of it." for number in range(60)]
    found = texts(" ".join(sentences))
    assert len(found) > 2
    assert " ".join(found) == " ".join(sentences)
    assert all(tokens(each) <= PASSAGE * 1.1 for each in found)


def test_a_long_korean_section_is_cut_between_sentences() -> None:
    found = texts(" ".join(f"{number}번째 문장은 버전 2.{number}을 설명합니다." for number in range(60)))
    assert len(found) > 2
    assert all(each.endswith("설명합니다.") for each in found)


def test_tables_and_code_stay_whole() -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| row number {number} | its value |" for number in range(40))
    code = "```python\n" + "\n".join(f"call_{number}(argument, another)\n" for number in range(40)) + "```"
    assert PASSAGE < tokens(table) < WHOLE
    assert PASSAGE < tokens(code) < WHOLE
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


def test_a_long_list_is_cut_between_its_items() -> None:
    items = [f"{number}. Press button {number} and wait until the light is green again." for number in range(1, 40)]
    found = texts("\n".join(items))
    assert len(found) > 1
    assert [line for each in found for line in each.splitlines()] == items


def test_a_word_without_end_is_cut_anyway() -> None:
    found = texts("x" * 20_000)
    assert "".join(found).replace(" ", "") == "x" * 20_000
    assert all(tokens(each) <= PASSAGE * 2 for each in found)


@given(
    st.lists(
        st.sampled_from(["# H", "word", "- item", "1. step", "```", "| a |", "|---|", "가나다.", "", "> q"]),
        max_size=25,
    )
)
def test_no_word_of_the_text_is_lost(lines: list[str]) -> None:
    source = "\n".join(lines)
    found = split(source, markdown=True)
    kept = re.findall(r"\w+", " ".join([*(piece.text for piece in found), *(" ".join(piece.path) for piece in found)]))
    body = [line for line in lines if not line.startswith("#")]
    assert set(re.findall(r"\w+", "\n".join(body))) <= set(kept)
    assert all(piece.text.strip() for piece in found)
