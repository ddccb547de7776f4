"""A growing answer is cut only where it reads the same: the oracle is a CommonMark parser."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from component.answer.block import RUN_BYTES, SPACE, next_cut
from tests.table import table

PARSER = MarkdownIt("commonmark").enable("table")
PROSE = (
    "이 문단은 길어서 **여러 조각(0.3)**으로 나뉘어 보내지고, `한 줄 코드`도 [주소](http://a.b/c)도 온전합니다. " * 3
)
BLOCKS = (
    "한 문단입니다.",
    PROSE.strip(),
    "두 줄인 문단의\n둘째 줄입니다.",
    "## 제목",
    "표제\n---",
    "- 하나\n- 둘\n  - 둘의 둘\n- 셋",
    "1. 하나\n   이어지는 줄\n2. 둘\n\n   둘째 문단\n3. 셋",
    "머리말:\n- 하나\n- 둘",
    "> 인용 한 줄\n> 두 줄\n이어지는 줄",
    "```python\ndef f():\n\n    return 1\n\n\n# 제목이 아님\n- 목록이 아님\n```",
    "````\n```\n안쪽\n\n```\n````",
    "~~~\n물결 울타리\n\n둘째\n~~~",
    "- 목록 안의 코드\n\n  ```\n  a\n\n  b\n  ```\n- 다음",
    "| 항목 | 값 |\n|---|---|\n" + "| 가나다라 마바사 아자차 | 1 |\n" * 12 + "| 나 | 2 |",
    "***",
    "snake_case_name 과 5 * 3 = 15, $5에서 $10",
)


def pieces(text: str, steps: list[int]) -> list[tuple[str, bool]]:
    """The text as it is cut while it grows by those steps, and whether each piece goes on with the one before."""
    made: list[tuple[str, bool]] = []
    start, joined, grown = 0, False, 0
    for step in [*steps, len(text)]:
        grown = min(len(text), grown + step)
        while cut := next_cut(text[:grown], start, joined):
            made.append((text[start : cut.end], joined))
            start, joined = cut.end, cut.joined
    return [*made, (text[start:], joined)]


def read(text: str) -> str:
    """What a reader sees: the parser's HTML without what only groups (lists, tight or loose) and line breaks."""
    grouped = re.sub(r"</?(ul|ol|p)( [^>]*)?>|\n", " ", PARSER.render(text))
    return " ".join(grouped.split())


def read_in_pieces(cut: list[tuple[str, bool]]) -> str:
    said: list[str] = []
    for text, joined in cut:
        if joined:
            said[-1] += read(SPACE + text.strip() if text[0] == " " else text)
        else:
            said.append(read(text))
    return " ".join(" ".join(said).split())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6),
    st.lists(st.integers(1, 90), min_size=1, max_size=200),
)
def test_the_pieces_read_as_the_whole(blocks: list[str], steps: list[int]) -> None:
    text = "\n\n".join(blocks)
    cut = pieces(text, steps)
    assert "".join(piece for piece, _ in cut) == text
    assert read_in_pieces(cut).replace(" ", "") == read(text).replace(" ", "")


@table(
    ("text", "cut"),
    [
        ("one paragraph", None),
        ("one\n\n", None),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\ntwo\n\nthree", "one\n\n"),
        ("1. a\n\n   its second paragraph", None),
        ("1. a\n2", None),
        ("1. a\n2. b", "1. a\n"),
        ("in the year\n2024. was", None),
        ("- a\n  - b\n- c", "- a\n  - b\n"),
        ("so:\n- a", "so:\n"),
        ("so:\n-", None),
        ("so\n---", None),
        ("# head\ntext", "# head\n"),
        ("text\n> quote", "text\n"),
        ("> quote\nlazy", None),
        ("| a |\n|---|\n| b |", None),
        ("```\ncode\n\nmore code", None),
        ("```\ncode\n\nmore\n```\nafter", "```\ncode\n\nmore\n```\n"),
        ("$$\nx\n\ny\n$$\n\nafter", "$$\nx\n\ny\n$$\n\n"),
        ("$$\nx\n\ny$$\n\nafter", "$$\nx\n\ny$$\n\n"),
        ("```not a fence```\n\nafter", "```not a fence```\n\n"),
    ],
)
def test_blocks_are_cut_where_they_end(text: str, cut: str | None) -> None:
    found = next_cut(text)
    assert (found and text[: found.end]) == cut
    assert found is None or not found.joined


def test_a_long_paragraph_goes_on_in_short_pieces() -> None:
    text = "기억은 대화를 요약합니다. " * 200
    cut = pieces(text, [9] * 400)
    assert all(joined for _, joined in cut[1:])
    assert max(len(piece.encode()) for piece, _ in cut) < RUN_BYTES + 50


@table("mark", ["**", "*", "`", "$", "~~", "["])
def test_a_paragraph_is_not_cut_while_a_mark_is_open(mark: str) -> None:
    text = f"앞 {mark}{'열린 채로 길어집니다 ' * 40}"
    found = next_cut(text)
    assert found is None
    closed = f"{text.strip()}{']' if mark == '[' else mark} 뒤에 온 말"
    found = next_cut(closed)
    assert found is not None
    assert found.end > len(text) - 5
