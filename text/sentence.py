"""Splitting of Korean and English text into sentences; decimals, dates, abbreviations and URLs stay whole."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ABBREVIATION = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "sr",
        "jr",
        "st",
        "no",
        "vs",
        "fig",
        "vol",
        "dept",
        "approx",
        "est",
        "e.g",
        "i.e",
        "cf",
        "al",
        "gen",
        "col",
        "capt",
        "rep",
        "sen",
        "gov",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
    ]
)
QUESTION_MARKS = ("?", "？")
NEAR = 60
"""How many characters before and after a full stop decide whether the full stop ends a sentence."""
_CLOSING = "\"'”’)\\]」』》"
_END = re.compile(
    rf"(?:(?<![.!?。！？…])[.!?。！？…]++|(?<![ㅋㅎㅠㅜ])[ㅋㅎㅠㅜ]{{2,}}+[.!?~]*+)[{_CLOSING}]*+(?=\s|$)"
    r"|(?<=[다요죠까])[.!?]++(?=[가-힣])"
)
_LAST_WORD = re.compile(r"(\S+)$")
_MARKER = re.compile(r"^\s*(?:\(?\d{1,3}|[A-Za-z가-힣])$")


def split_sentences(text: str) -> list[str]:
    """Returns the sentences in order, stripped; a line break always ends a sentence. Loses only white space."""
    return [sentence for line in text.splitlines() for sentence in _split_line_sentences(line)]


def _split_line_sentences(line: str) -> list[str]:
    pieces, start = [], 0
    for mark in _END.finditer(line):
        if _is_sentence_end(line, start, mark):
            pieces.append(line[start : mark.end()].strip())
            start = mark.end()
    pieces.append(line[start:].strip())
    return [piece for piece in pieces if piece]


def _is_sentence_end(line: str, start: int, mark: re.Match[str]) -> bool:
    """Returns whether this mark ends a sentence. A full stop after an abbreviation, an initial or a list marker, or
    inside a date, does not end a sentence.
    """
    if mark.group() != ".":
        return True
    before = line[max(start, mark.start() - NEAR) : mark.start()]
    after = line[mark.end() : mark.end() + NEAR].lstrip()
    word = _LAST_WORD.search(before)
    last = word.group(1).lstrip("(\"'“‘").lower() if word else ""
    if last in _ABBREVIATION or _MARKER.match(before):
        return False
    if re.search(r"\b\d{4}\.(?: ?\d{1,2}\.)? ?\d{1,2}$|\b(?:19|20)\d\d$", before[-24:]) and re.match(
        r"\d{1,2}\.|[가-힣]", after
    ):
        return False  # 2026. 3. 5.
    dotted = re.fullmatch(r"[a-z](?:\.[a-z])*", last) is not None  # J. Kim, U.S. firms, 3 p.m. on
    return not dotted or (len(last) > 1 and after[:1].isupper()) or not after


def ends_in_question_mark(text: str) -> bool:
    """Tells whether the last sign of a text is a question mark: in «Note "why not?"» that is the quotation mark."""
    return text.rstrip().endswith(QUESTION_MARKS)


def is_question(line: str) -> bool:
    """Tells whether a sentence ends in a question mark, also within a quotation; a question without one is treated as
    a statement."""
    return ends_in_question_mark(line.rstrip("\"'”’)]」』 "))


def remove_sentences(text: str, sentences: Iterable[str]) -> str:
    """Returns what a text says beside these sentences; an empty text where at most a label («User said:») is left.
    Upper and lower case are one. The same words within another sentence stay."""
    rest = text
    for each in sentences:
        words = re.escape(each.rstrip(" .!?。"))
        whole = rf"(?:\s*·\s*|^\s*|(?<=[.!?。:])\s*){words}(?:[.!?。]+|(?=\s*(?:·|$)))"
        rest = re.sub(whole, "", rest, flags=re.IGNORECASE)
    if rest == text:
        return text
    rest = rest.strip(" ,;·")
    return "" if rest.endswith(":") or not any(letter.isalnum() for letter in rest) else rest
