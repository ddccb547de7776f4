"""Every kind of file becomes text with its headings; every fault is told with the file's name."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import DocumentError
from retrieval.change import Source, stage
from retrieval.load import NAME_CHARS, SUFFIXES, label, load
from retrieval.split import HEADING_CHARS, Piece, split
from tests.retrieval.file import pdf, word, zipped

LIMIT = 1_000_000
CIPHERS = ("RC4-128", "AES-128", "AES-256-R5", "AES-256")
NOT_HTML = (".pdf", ".docx", ".csv", ".txt", ".md")


def pieces(name: str, data: bytes) -> list[tuple[tuple[str, ...], str]]:
    loaded = load(name, data, LIMIT)
    found = split(loaded.text, markdown=loaded.markdown, title=loaded.title)
    return [(piece.path, piece.text) for piece in found]


def refused(name: str, data: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(DocumentError) as caught:
        load(name, data, limit)
    assert label(name) in str(caught.value)
    return caught.value.code


def test_markdown_keeps_its_headings_and_its_front_matter() -> None:
    data = b"---\ntitle: Returns\ndoc_type: faq\n---\n# Returns\n\nIntro.\n\n## How long?\n\n14 days.\n"
    assert load("a.md", data, LIMIT).title == "Returns"
    assert pieces("a.md", data) == [((), "Intro."), (("How long?",), "14 days.")]


@pytest.mark.parametrize(
    "front",
    [
        "\n".join(
            [
                "a0: &a0 [x, x, x, x, x, x, x, x, x]",
                *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
                "title: *a11",
                "doc_type: *a11",
            ]
        ),
        "\n".join(
            ["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))]
        ),
        "title: [1, 2]",
    ],
    ids=["aliases", "merges", "list"],
)
def test_front_matter_that_grows_when_it_is_read_says_nothing(front: str) -> None:
    data = f"---\n{front}\n---\n# Apples\n\nRed.\n".encode()
    staged = stage(Source("a.md", "/a.md", lambda: data), data, None, LIMIT)
    assert (staged.title, staged.doc_type, [piece.text for piece in staged.pieces]) == ("Apples", "guide", ["Red."])


def test_a_title_is_as_written_and_no_longer_than_a_heading_may_be() -> None:
    assert load("a.md", b"---\ntitle: 2024\n---\n# Apples\n", LIMIT).title == "2024"
    assert len(load("a.md", b"# " + b"Apples " * 1000, LIMIT).title) <= HEADING_CHARS


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_comment_in_code_is_no_title(fence: str) -> None:
    code = f"{fence}sh\n# install it\n{fence}\n"
    assert load("a.md", f"Intro.\n\n{code}".encode(), LIMIT).title == "a"
    assert load("a.md", f"{code}\n# Apples\n".encode(), LIMIT).title == "Apples"
    assert load("a.md", f"{fence}\n# not closed".encode(), LIMIT).title == "a"


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


def test_a_pdf_is_split_by_its_pages() -> None:
    assert pieces("a.pdf", pdf("First page here.", "", "Third one.")) == [
        (("p. 1",), "First page here."),
        (("p. 3",), "Third one."),
    ]


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_pdf_that_is_only_protected_from_changes_is_read(cipher: str) -> None:
    assert pieces("a.pdf", pdf("Open to all.", password="", cipher=cipher)) == [(("p. 1",), "Open to all.")]


def test_word_keeps_its_headings() -> None:
    data = word(("Heading 1", "Manual"), ("", "Intro."), ("Heading 2", "Start"), ("", "Press the button."))
    assert pieces("a.docx", data) == [((), "Intro."), (("Start",), "Press the button.")]


def test_a_table_of_questions_becomes_one_section_per_question() -> None:
    assert pieces("faq.csv", "질문,답변\n환불은?,14일 안에 됩니다.\n배송은?,이틀 걸립니다.\n".encode()) == [
        (("환불은?",), "14일 안에 됩니다."),
        (("배송은?",), "이틀 걸립니다."),
    ]


def test_columns_beside_question_and_answer_are_kept_below_the_answer() -> None:
    assert pieces("faq.csv", "질문,답변,담당부서\n환불은?,14일 안에 됩니다.,고객지원\n".encode()) == [
        (("환불은?",), "14일 안에 됩니다.\n\n담당부서: 고객지원"),
    ]
    assert pieces("shop.csv", b"title,content,price\nBolt,Of steel.,3\nNut,,2\n") == [
        (("Bolt",), "Of steel.\n\nprice: 3"),
        (("Nut",), "price: 2"),
    ]
    assert pieces("faq.csv", b"title,question,answer\nPay,How?,By card.,really\n") == [
        (("How?",), "By card.\n\ntitle: Pay  \nreally"),
    ]


def test_a_tables_quoting_is_the_usual_one_whatever_its_first_rows_show() -> None:
    plain = "".join(f'"How do I do thing {at}?","Open the settings, then press {at}."\n' for at in range(200))
    table = f'question,answer\n{plain}"What does it say?","It says ""hello"", and that is all."\n'
    assert pieces("faq.csv", table.encode())[-1] == (("What does it say?",), 'It says "hello", and that is all.')
    quotes = "question;answer\n'When'?;It's \"soon\", isn't it\n"
    assert pieces("faq.csv", quotes.encode()) == [(("'When'?",), "It's \"soon\", isn't it")]


def test_columns_of_one_name_are_all_kept() -> None:
    assert pieces("a.csv", "질문,답변,비고,비고,\n하나?,네.,첫째,둘째,셋째\n".encode()) == [
        (("하나?",), "네.\n\n비고: 첫째  \n비고: 둘째  \n셋째"),
    ]


@pytest.mark.parametrize("line", ["# " * 100_000 + "x", "#" * 200_000 + "x", "# x" + " " * 200_000 + "x"])
def test_a_long_first_line_is_read_at_once(line: str) -> None:
    started = time.thread_time()
    load("a.md", line.encode(), 10**7)
    assert time.thread_time() - started < 2


def test_a_title_loses_its_closing_marks() -> None:
    assert load("a.md", b"# The guide ##\n\nText.", 10**7).title == "The guide"


def test_another_table_gives_a_section_per_row_with_its_columns() -> None:
    assert pieces("parts.tsv", b"part\tprice\nbolt\t3\n") == [(("bolt",), "part: bolt  \nprice: 3")]


def test_plain_text_has_no_headings() -> None:
    assert pieces("a.txt", b"# not a heading\n\nText.") == [((), "# not a heading\n\nText.")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
def test_korean_text_is_read_in_every_usual_encoding(encoding: str) -> None:
    assert pieces("a.txt", "한국어 문서입니다.".encode(encoding)) == [((), "한국어 문서입니다.")]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.md", b"", "document_empty"),
        ("a.md", b"  \n\t", "document_empty"),
        ("a.md", b"---\ntitle: x\n---\n", "document_empty"),
        ("a.pdf", pdf(""), "document_empty"),
        ("a.pdf", b"%PDF-1.4 and nothing else", "document_broken"),
        *(("a.pdf", pdf("secret", password="x", cipher=each), "document_encrypted") for each in CIPHERS),
        ("a.docx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "document_encrypted"),
        ("a.docx", b"PK\x03\x04word/document.xml", "document_broken"),
        ("a.docx", zipped({"other.txt": "x"}), "document_mislabelled"),
        *((f"a{each}", b"<html><body>Not found</body></html>", "document_mislabelled") for each in NOT_HTML),
        ("a.md", pdf("text"), "document_mislabelled"),
        ("a.docx", b"\xd0\xcf\x11\xe0old", "document_mislabelled"),
        ("a.txt", b"\x00\x01\x02" * 100, "document_broken"),
        ("a.txt", b"\xff\xff\xfe", "document_broken"),
        ("a.csv", b'a,b\n"open', "document_broken"),
        ("a.exe", b"MZ", "document_kind_unknown"),
        ("noending", b"text", "document_kind_unknown"),
    ],
)
def test_a_fault_is_told(name: str, data: bytes, code: str) -> None:
    assert refused(name, data) == code


def test_a_file_above_the_limit_is_refused_and_so_is_one_that_unpacks_to_more() -> None:
    assert refused("a.md", b"x" * 101, limit=100) == "document_too_large"
    bomb = word(("", "x" * 300_000))
    assert len(bomb) < 3000
    assert refused("a.docx", bomb, limit=3000) == "document_too_large"


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("../../etc/passwd.md", "passwd.md"),
        ("C:\\temp\\note.md", "note.md"),
        ("a\x00b\u202e.md", "ab.md"),
        ("..", "document"),
        ("", "document"),
    ],
)
def test_a_hostile_name_is_only_a_label(given_: str, shown: str) -> None:
    assert label(given_) == shown


def test_a_long_name_is_cut_in_its_middle_and_keeps_its_ending() -> None:
    assert len(label("x" * 300 + ".md")) == NAME_CHARS
    assert load("x" * 300 + ".md", b"Text.", LIMIT).text == "Text."


@given(name=st.sampled_from([f"a{suffix}" for suffix in SUFFIXES]), data=st.binary(max_size=400))
def test_no_bytes_bring_the_reader_down(name: str, data: bytes) -> None:
    with suppress(DocumentError):
        load(name, data, LIMIT)


@pytest.mark.parametrize(
    ("path", "data", "asked", "doc_type"),
    [
        ("/docs/faq/start.md", b"Text.", None, "faq"),
        ("/docs/guide/start.md", b"Text.", None, "guide"),
        ("/docs/company-faq.md", b"Text.", None, "faq"),
        ("/docs/guide/start.md", b"---\ndoc_type: faq\n---\nText.", None, "faq"),
        ("/docs/faq/start.md", b"Text.", "guide", "guide"),
    ],
)
def test_the_type_comes_from_the_form_the_front_matter_or_the_path(
    path: str, data: bytes, asked: object, doc_type: str
) -> None:
    staged = stage(Source("start.md", path, lambda: data), data, asked, LIMIT)  # type: ignore[arg-type]
    assert staged.doc_type == doc_type


def test_a_document_says_its_language_and_where_its_steps_are() -> None:
    data = "# 설치\n\n## 순서\n\n1. 내려받습니다.\n2. 실행합니다.\n\n## 참고\n\n쉽습니다.".encode()
    staged = stage(Source("a.md", "/a.md", lambda: data), data, None, LIMIT)
    assert (staged.language, [piece.has_steps for piece in staged.pieces]) == ("ko", [True, False])
    assert isinstance(staged.pieces[0], Piece)
