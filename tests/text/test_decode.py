"""Bytes become the text that was saved, in whatever encoding."""

from __future__ import annotations

import random

import pytest

from bench.messy.text_case import list_files
from retrieval.read.load import load_file
from text.decode import NoText, decode_text

FILES = list_files()


@pytest.mark.parametrize(("data", "declared", "text"), [each[1:4] for each in FILES], ids=[each[0] for each in FILES])
def test_a_file_is_read_as_it_was_saved(data: bytes, declared: str, text: str) -> None:
    assert decode_text(data, declared) == text


def test_the_table_is_long_enough() -> None:
    assert len(FILES) >= 60


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.html"])
def test_an_apostrophe_of_windows_stays_one_in_every_format(name: str) -> None:
    text = "<p>It’s Bob’s house</p>" if name == "a.html" else "Note,Where\nIt’s Bob’s house,Ärzte"
    read = load_file(name, text.encode("cp1252"), 10**6).text
    assert "It’s Bob’s house" in read
    assert name == "a.html" or "Ärzte" in read


def test_noise_is_no_text() -> None:
    noise = random.Random(1)
    for _ in range(20):
        data = bytes(noise.randrange(1, 256) for _ in range(400))
        with pytest.raises(NoText):
            decode_text(data)


def test_a_wrong_name_of_an_encoding_is_not_believed() -> None:
    for declared in ("iso-8859-1", "no-such-encoding", "base64", "utf-16", "ascii", "\x00"):
        assert decode_text("기억해 주세요.".encode(), declared) == "기억해 주세요."
        assert decode_text("기억해 주세요. 감사합니다.".encode("cp949"), declared) == "기억해 주세요. 감사합니다."


def test_a_long_text_is_judged_by_its_beginning_and_read_whole() -> None:
    text = "Ärzte und Söhne GmbH – Preisliste\n" * 3000
    assert decode_text(text.encode("cp1252")) == text
