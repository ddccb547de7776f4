"""Model Markdown renders as it is meant; other people's text stays text."""

from __future__ import annotations

from functools import partial

import pytest

from component.widget.markdown import escape_markdown, fix_markdown, sanitize_text, shorten_text
from tests.looks import count_looks
from tests.steps import count_lines
from tests.table import table

B = "&#8203;"


@table(
    ("text", "becomes"),
    [
        ("**압축률(0.3)**은 낮다", f"**압축률(0.3)**{B}은 낮다"),
        ('**"기억"**을 쓴다', f'**"기억"**{B}을 쓴다'),
        ("**“공개 문서”**는 열려 있다", f"**“공개 문서”**{B}는 열려 있다"),
        ("값은**(중요)**하다", f"값은{B}**(중요)**{B}하다"),
        ("**굵게** 쓴 말", "**굵게** 쓴 말"),
        ("10~20개, 30~40개", r"10\~20개, 30\~40개"),
        ("~~지운 말~~은 그대로", "~~지운 말~~은 그대로"),
        ("`10~20`과 `**x(1)**은`", "`10~20`과 `**x(1)**은`"),
        ("```\na~b **x(1)**은\n```\n3~4", "```\na~b **x(1)**은\n```\n3\\~4"),
        ("~~~py\na~b\n~~~\n3~4", "~~~py\na~b\n~~~\n3\\~4"),
        ("```\nstill open ~ **x(1)**은", "```\nstill open ~ **x(1)**은"),
        ("__init__ and snake__case__name", "__init__ and snake__case__name"),
        ("**a** and **b**", "**a** and **b**"),
    ],
)
def test_markdown_is_changed_only_where_it_would_go_wrong(text: str, becomes: str) -> None:
    assert fix_markdown(text) == becomes


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("![a cat](http://far.example/cat.png)", "[a cat](http://far.example/cat.png)"),
        ("![](http://far.example/pixel.png)", "[image](http://far.example/pixel.png)"),
        ("![cat][ref]", "[cat][ref]"),
        ("`![x](y)` stays", "`![x](y)` stays"),
        ("Hello![note]", "Hello![note]"),
    ],
)
def test_pictures_are_not_fetched_from_where_a_model_says(text: str, becomes: str) -> None:
    assert fix_markdown(text) == becomes


@table(
    ("text", "becomes"),
    [
        (":red[경고]", r"\:red[경고]"),
        ("a :blue-background[**b**] c", r"a \:blue-background[**b**] c"),
        (":red[`x`] :small[$x$]", r"\:red[`x`] \:small[$x$]"),
        (r"\:red[x]", r"\:red[x]"),
        (r"\\:red[x]", r"\\\:red[x]"),
        ("::red[x]", r":\:red[x]"),
        ("글자색:red 이고", r"글자색\:red 이고"),
        ("10:30[1]에", r"10\:30[1]에"),
        ("예:한글[1]", r"예\:한글[1]"),
        ("$5 :red[x] $6", r"\$5 \:red[x] \$6"),
        ("$$ a\n\n:red[x]\n\nb $$", "$$ a\n\n\\:red[x]\n\nb $$"),
        ("`` :red[x] `", r"`` \:red[x] `"),
        (r"\`:red[x]`", r"\`\:red[x]`"),
        ("```` \n```\n````\n:red[x]", "```` \n```\n````\n\\:red[x]"),
        (":material/home:", f":{B}material/home:"),
        (":material_home:", f":{B}material_home:"),
        (r"\:material_home:", rf"\:{B}material_home:"),
        ("&#58;material_home:", f"&#58;{B}material_home:"),
        (":streamlit:", f":{B}streamlit:"),
    ],
)
def test_marks_of_the_page_are_text_in_an_answer(text: str, becomes: str) -> None:
    assert fix_markdown(text) == becomes


@table(
    "text",
    [
        "`:red[x]` and ``a`:red[x]``",
        "```py\nx:list[int] = a[:n]\n```",
        "1. 이렇게\n\n    ```py\n    x:list[int] = 1\n\n    y = '~'\n    ```",
        "> ```sh\n> echo $HOME a:b[1]\n> ```",
        "$f:A[x]$",
        "$$\nf:A[x]\n$$",
        "시간: 10:30, 비율 1:2, note: a",
        "http://localhost:8080/x and [m](mailto:a@b.c) <tel:112>",
        "https://example.org/material/home",
        ":smile: 👋🏽 👩‍👩‍👧",
        "\u200fשלום עולם\u200f — مرحبا",
        "- [ ] a:b\n| a:b | c |\n|:--|--:|",
    ],
)
def test_code_formulas_colons_emoji_and_other_directions_stay(text: str) -> None:
    assert fix_markdown(text) == text


def test_marks_of_the_page_are_text_in_a_label() -> None:
    assert escape_markdown("a :material/home:") == rf"a \:{B}material/home\:"
    assert escape_markdown(":material_home: :streamlit:") == rf"\:{B}material\_home\: \:{B}streamlit\:"


@table("turn", ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2069"])
def test_nothing_turns_the_direction_of_a_text(turn: str) -> None:
    said = f"report{turn}fdp.exe"
    assert sanitize_text(said) == "reportfdp.exe"
    assert turn not in fix_markdown(f"{said} `{said}`\n```\n{said}\n```") + escape_markdown(said)


@table(
    "piece",
    ["![", "**a ", "__a", "$a", "`a ", ":", ":a", ":red", "::a[", "\\", "$$", "$$a:", "    ```\n    a\n", "> ```\n"],
)
def test_open_marks_take_no_square_of_their_number(piece: str) -> None:
    few, many = (partial(fix_markdown, piece * (length // len(piece))) for length in (1000, 2000))
    assert count_looks(many, "component") < 3 * count_looks(few, "component"), "some look ahead by up to 400 signs"
    assert count_lines(many) < 3 * count_lines(few)


def test_plain_text_shows_as_it_is_in_a_markdown_place() -> None:
    said = escape_markdown("**bold** [x](javascript:1) :red[no] <b>\n# one `line`")
    assert said == (r"\*\*bold\*\* \[x\]\(javascript\:1\) \:red\[no\] \<b\> \# one \`line\`")


def test_what_cannot_travel_is_shown_instead() -> None:
    assert sanitize_text("a\x00b\ud800c😀") == "a␀b�c😀"
    sanitize_text("\udfff").encode("utf-8")


def test_short_keeps_what_fits() -> None:
    assert shorten_text("12345", 5) == "12345"
    assert shorten_text("123456", 5) == "1234…"


@table(
    ("written", "shown"),
    [
        ("값은 $5에서 $10 사이", r"값은 \$5에서 \$10 사이"),
        ("from $5 to $10", r"from \$5 to \$10"),
        ("only $5", r"only \$5"),
        ("비용 $5와 $x$", r"비용 \$5와 $x$"),
        ("$a$와 $b$, 가격 $3", r"$a$와 $b$, 가격 \$3"),
        ("$x^2$이다", "$x^2$이다"),
        (r"$\text{합계}+1$", r"$\text{합계}+1$"),
        ("$$\nx\n$$", "$$\nx\n$$"),
        (r"\$5와 $y$", r"\$5와 $y$"),
        ("`$5` $x$", "`$5` $x$"),
    ],
)
def test_amounts_are_no_formulas_and_formulas_stay(written: str, shown: str) -> None:
    assert fix_markdown(written) == shown
