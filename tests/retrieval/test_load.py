"""Every kind of file becomes text with its headings; every fault is told with the file's name."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errors import DocumentEmpty, DocumentError
from retrieval.change import SourceFile, stage_file
from retrieval.read.load import NAME_CHARS, SUFFIXES, clean_document_name, load_file
from retrieval.read.split import HEADING_CHARS, Piece
from tests.looks import count_looks
from tests.retrieval.file import CIPHERS, LIMIT, pdf, pieces, word, zipped
from tests.steps import count_lines
from tests.table import table

NOT_HTML = (".pdf", ".docx", ".csv", ".txt", ".md")


def refused(name: str, data: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(DocumentError) as caught:
        load_file(name, data, limit)
    assert clean_document_name(name) in str(caught.value)
    return caught.value.code


def test_markdown_keeps_its_headings_and_its_front_matter() -> None:
    data = b"---\ntitle: Returns\ndoc_type: faq\n---\n# Returns\n\nIntro.\n\n## How long?\n\n14 days.\n"
    assert load_file("a.md", data, LIMIT).title == "Returns"
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
    staged = stage_file(SourceFile("a.md", "/a.md", lambda: data), data, None, LIMIT)
    assert (staged.title, staged.doc_type, [piece.text for piece in staged.pieces]) == ("Apples", "guide", ["Red."])


def test_a_title_is_as_written_and_no_longer_than_a_heading_may_be() -> None:
    assert load_file("a.md", b"---\ntitle: 2024\n---\n# Apples\n", LIMIT).title == "2024"
    assert len(load_file("a.md", b"# " + b"Apples " * 1000, LIMIT).title) <= HEADING_CHARS


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_comment_in_code_is_no_title(fence: str) -> None:
    code = f"{fence}sh\n# install it\n{fence}\n"
    assert load_file("a.md", f"Intro.\n\n{code}".encode(), LIMIT).title == "a"
    assert load_file("a.md", f"{code}\n# Apples\n".encode(), LIMIT).title == "Apples"
    assert load_file("a.md", f"{fence}\n# not closed".encode(), LIMIT).title == "a"


@pytest.mark.parametrize(("before", "one"), [("", "# "), ("", "#"), ("# x", " ")])
def test_a_long_first_line_takes_no_square_of_its_length(before: str, one: str) -> None:
    few, many = (partial(load_file, "a.md", f"{before}{one * count}x".encode(), LIMIT) for count in (100, 1000))
    assert count_looks(many, "retrieval", "text") < 20 * count_looks(few, "retrieval", "text")
    assert count_lines(many) < 20 * count_lines(few)


def test_a_title_loses_its_closing_marks() -> None:
    assert load_file("a.md", b"# The guide ##\n\nText.", 10**7).title == "The guide"


def test_plain_text_has_no_headings() -> None:
    assert pieces("a.txt", b"# not a heading\n\nText.") == [((), "# not a heading\n\nText.")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
def test_korean_text_is_read_in_every_usual_encoding(encoding: str) -> None:
    assert pieces("a.txt", "한국어 문서입니다.".encode(encoding)) == [((), "한국어 문서입니다.")]


@table(
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
        ("a.txt", b"\xff" * 20, "document_broken"),
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
    assert clean_document_name(given_) == shown


def test_a_long_name_is_cut_in_its_middle_and_keeps_its_ending() -> None:
    assert len(clean_document_name("x" * 300 + ".md")) == NAME_CHARS
    assert load_file("x" * 300 + ".md", b"Text.", LIMIT).text == "Text."


@given(name=st.sampled_from([f"a{suffix}" for suffix in SUFFIXES]), data=st.binary(max_size=400))
def test_no_bytes_bring_the_reader_down(name: str, data: bytes) -> None:
    with suppress(DocumentError):
        load_file(name, data, LIMIT)


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
    staged = stage_file(SourceFile("start.md", path, lambda: data), data, asked, LIMIT)  # type: ignore[arg-type]
    assert staged.doc_type == doc_type


def test_a_document_without_a_passage_is_empty() -> None:
    data = b"[apples]: https://example.com"
    with pytest.raises(DocumentEmpty):
        stage_file(SourceFile("a.md", "/a.md", lambda: data), data, None, LIMIT)


def test_a_document_says_its_language_and_where_its_steps_are() -> None:
    data = "# 설치\n\n## 순서\n\n1. 내려받습니다.\n2. 실행합니다.\n\n## 참고\n\n쉽습니다.".encode()
    staged = stage_file(SourceFile("a.md", "/a.md", lambda: data), data, None, LIMIT)
    assert (staged.language, [piece.has_steps for piece in staged.pieces]) == ("ko", [True, False])
    assert isinstance(staged.pieces[0], Piece)
