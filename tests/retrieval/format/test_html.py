"""HTML keeps its text and its structure, however it is written."""

from __future__ import annotations

from functools import partial

import pytest

from errors import DocumentBroken
from retrieval.read.load import load_file
from tests.retrieval.file import LIMIT, pieces
from tests.steps import count_lines
from tests.table import table


def test_html_loses_its_frame_and_keeps_headings_lists_and_tables() -> None:
    page = (
        "<html><head><title>Shop</title><script>steal()</script></head><body><nav>Menu</nav><main><h1>Shop</h1>"
        "<h2>Pay</h2><ol><li>Card</li><li>Bank</li></ol><table><tr><th>a</th></tr><tr><td>1</td></tr></table></main></body>"
    )
    ((path, text),) = pieces("a.html", page.encode())
    assert path == ("Pay",)
    assert "1. Card\n2. Bank" in text
    assert "| 1 |" in text
    assert "Menu" not in text
    assert "steal" not in text


def page(body: str) -> bytes:
    return f"<html><head><meta charset=utf-8><title>Guide</title></head><body>{body}</body></html>".encode()


def test_tags_that_are_not_closed_end_where_they_must() -> None:
    found = pieces(
        "a.html",
        b"<html><head><title>Guide</title><body><h1>Refunds</h1><p>Seven days.<p>Or ten.<ul><li>one<li>two</ul>"
        b"<h2>Table</h2><table><tr><td>a<td>b<tr><td>c<td>d</table></html>",
    )
    assert [path for path, _ in found] == [("Refunds",), ("Refunds", "Table")]
    assert found[0][1] == "Seven days.\n\nOr ten.\n\n- one\n- two"
    assert found[1][1].endswith("| a | b |\n| --- | --- |\n| c | d |")
    paragraphs = "".join(f"<p>para {number}" for number in range(400))
    assert "para 399" in pieces("a.html", page(paragraphs))[-1][1]


@pytest.mark.parametrize(
    "body",
    [
        "<article><p>One</p></article><article><p>Two</p></article>",
        "<main><p>One</p></main><section><p>Two</p></section>",
        "<main></main><div><p>One</p><p>Two</p></div>",
        "<form><p>One</p><select><option>no</select><button>no</button><p>Two</p></form>",
        "<p>One</p></body></html><p>Two</p>",
    ],
    ids=["articles", "beside main", "empty main", "form", "after the end"],
)
def test_no_part_of_the_text_is_left_out(body: str) -> None:
    assert pieces("a.html", page(body)) == [((), "One\n\nTwo")]


def test_what_stands_beside_the_main_part_is_left_out() -> None:
    for name in ("main", "article"):
        assert pieces("a.html", page(f"<div>Log in</div><{name}><p>The text.</p></{name}>")) == [((), "The text.")]


def test_one_bad_byte_spoils_only_itself() -> None:
    text = "환불은 7일 걸립니다. " * 10
    for encoding in ("utf-8", "euc-kr"):
        data = f"<meta charset={encoding}><p>{text}</p><p>끝".encode(encoding) + b"\xff</p>"
        assert pieces("a.html", data) == [((), f"{text.strip()}\n\n끝\ufffd")]


def test_an_encoding_that_is_declared_is_read_when_it_is_one() -> None:
    assert pieces("a.html", "<meta charset=shift_jis><p>日本語の文書です。</p>".encode("shift_jis")) == [
        ((), "日本語の文書です。")
    ]
    for wrong in ("utf-8", "punycode", "zlib", "none"):
        assert pieces("a.html", f"<meta charset={wrong}><p>똠방각하</p>".encode("cp949")) == [((), "똠방각하")]
    with pytest.raises(DocumentBroken):
        load_file("a.html", b"<meta charset=utf-8><p>" + b"\xff" * 99, LIMIT)


def test_text_is_no_markup_however_it_begins() -> None:
    starts = ("# pip install it", "&lt;script> starts", "&lt;!-- x", "~~~", "```", "[1]: there", "Name<br>---<br>rest")
    for said in starts:
        found = pieces("a.html", page(f"<h2>A</h2><p>{said}</p><p>more</p><h2>B</h2><p>text b</p>"))
        plain = said.replace("&lt;", "<").replace("<br>", "  \n")
        assert found == [(("A",), f"{plain}\n\nmore"), (("B",), "text b")]
    code = "look:\n```\n# x\n```\nend"
    assert pieces("a.html", page(f"<pre>{code}</pre><h2>B</h2><p>b</p>")) == [
        ((), f"```\n{code}\n```"),
        (("B",), "b"),
    ]


def test_nothing_of_the_text_is_escaped() -> None:
    assert pieces("a.html", page("<h2>The <code>&lt;b></code> of _a_ &lt;*[x](y)</h2><p>GIEOK_DATA_DIR * 2</p>")) == [
        (("The <b> of _a_ <*[x](y)",), "GIEOK_DATA_DIR * 2")
    ]


def test_links_keep_their_target_and_pictures_their_description() -> None:
    body = (
        '<h2><a href="#x">Pay</a> <img alt="_now_" src=p></h2><p>See <a href="https://x.y/z">here</a>, '
        '<a href="mailto:a@b.c">write</a>, <a href="https://x.y">https://x.y</a>, <a href="/local">this</a> '
        '<a href="javascript:x">that</a> <img alt="The diagram" src=p><img src=q></p>'
    )
    assert pieces("a.html", page(body)) == [
        (("Pay _now_",), "See [here](https://x.y/z), [write](mailto:a@b.c), https://x.y, this that The diagram")
    ]


def test_the_first_row_of_a_table_is_its_head_and_a_bar_in_a_cell_is_no_border() -> None:
    body = "<table><tr><td>a</td><td>b</td></tr><tr><td>1 | 2</td><td>3</td></tr></table>"
    assert pieces("a.html", page(body)) == [((), "| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |")]


@pytest.mark.parametrize(
    ("around", "one"), [("<ol>", "<li>x</li>"), ("<div>", "x<form>y</form>")], ids=["items", "forms"]
)
def test_many_of_a_kind_take_no_square_of_their_number(around: str, one: str) -> None:
    few, many = (partial(load_file, "a.html", page(around + one * count), LIMIT) for count in (100, 1000))
    assert "x" in few().text
    assert count_lines(many) < 20 * count_lines(few), "their square is a hundred times as much"


def test_numbered_items_keep_their_numbers_and_what_is_in_them() -> None:
    body = "<ol start=5><li>a<ol><li>b<li>c</ol><li><p>d</p><p>e</p><li><li>f</ol>"
    assert load_file("a.html", page(body), LIMIT).text == "5. a\n   1. b\n   2. c\n6. d\n\n   e\n8. f"


def test_what_is_in_a_form_stays_and_its_fields_do_not() -> None:
    fields = "<input value=secret></p><select><option>secret</select>"
    body = f"<p>Fill <b>in</b></p><form><p>Your name {fields}</form><p>Then send</p>"
    assert load_file("a.html", page(body), LIMIT).text == "Fill **in**\n\nYour name\n\nThen send"


def test_tables_that_arrange_a_page_are_paragraphs_and_those_of_data_stay() -> None:
    prices = "<table><tr><td>Course</td><td>Fee</td></tr><tr><td>Dinghy</td><td>120</td></tr></table>"
    cells = f"<tr><td><h2>June</h2><p>Opens at ten.</p></td></tr><tr><td>{prices}</td></tr>"
    body = (
        f"<table><tr><td><table width=600>{cells}</table></td></tr><tr><td>Kept</td><td>in one line</td></tr></table>"
    )
    assert pieces("a.html", page(body)) == [
        (("June",), "Opens at ten.\n\n| Course | Fee |\n| --- | --- |\n| Dinghy | 120 |\n\nKept in one line")
    ]


def test_merged_cells_stand_in_every_place_that_they_cover() -> None:
    head = "<tr><th rowspan=2>Year</th><th colspan=2>Seen</th></tr><tr><th>Radar</th><th>Eye</th></tr>"
    rows = "<tr><td rowspan=2>2020</td><td>21</td><td>5</td></tr><tr><td colspan=2>none</td></tr>"
    whole = "<tr><td colspan=3>Numbers of nights</td></tr>"
    assert pieces("a.html", page(f"<table>{whole}{head}{rows}</table>")) == [
        (
            (),
            "Numbers of nights\n\n| Year | Seen Radar | Seen Eye |\n| --- | --- | --- |\n"
            "| 2020 | 21 | 5 |\n| 2020 | none | none |",
        )
    ]


@table(
    "around",
    [
        '<div id="onetrust-banner-sdk" role="dialog">We use cookies</div>',
        '<div class="CookiebotWidget">We use cookies</div>',
        '<header class="site"><a>Shop</a></header>',
        '<div id="gnb"><ul><li>Home</li></ul></div>',
        '<div class="related-articles"><h3>More</h3><a>Ferry prices</a></div>',
        '<div role="navigation">Contents</div>',
        '<span style="display:none">Preview</span>',
        '<div class="breadcrumb">Home &gt; Shop</div>',
        '<a class="headerlink">¶</a>',
    ],
)
def test_what_surrounds_a_page_is_left_out(around: str) -> None:
    text = "<h2>Menu</h2><p>The soup of the day is made of leeks and costs seven euros.</p>"
    body = f'{around}<div class="menu">{text}</div>'
    assert pieces("a.html", page(body)) == [(("Menu",), "The soup of the day is made of leeks and costs seven euros.")]


def test_a_page_about_what_usually_surrounds_pages_is_read() -> None:
    body = '<div class="cookie-policy"><h2>Cookies</h2><p>We keep them for a year.</p></div>'
    assert pieces("a.html", page(body)) == [(("Cookies",), "We keep them for a year.")]
