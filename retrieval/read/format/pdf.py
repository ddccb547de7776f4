"""PDFs: sections by the outline or the sizes of headings, with the page that each stands on; tables as tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from errors import DocumentEncrypted, DocumentScanned
from retrieval.read.contents import LEADER
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded, own_title
from retrieval.read.format.pdf_layout import Leveled, PageBlock, read_blocks
from retrieval.read.format.pdf_letter import PageLine, Word, compute_body_size, join_lines, read_page_words, read_rules
from retrieval.read.format.pdf_table import PageTable, find_ruled, is_box_inside
from retrieval.read.format.picture_text import TOOL, find_tool, recognise_page
from text.clean import clean_text, collapse_spaces

LARGER = 1.12
"""Headings are at least this many times as large as the text."""
HEADING_LETTERS = 150
"""A line with more letters is no heading."""
LEVELS = 3
SHARE = 0.06
"""A running head stands on at least this share of the pages: one chapter of many has its own."""
HEAD_GAP = 0.7
"""The least gap between a running head and the text, as a share of the head's size."""
EDGE_LINES = 3
"""How many lines at the top and at the bottom of a page may be its running head or foot."""


def read_pdf(name: str, data: bytes, _limit: int) -> Loaded:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise DocumentEncrypted(name=name) from error
        raise
    with document:
        pages = list(document)
        words = [read_page_words(page) for page in pages]
        title = escape(own_title(document.get_metadata_value("Title") or "") or _find_largest_title(words))
        html = "\n".join(_write_pages(name, document, pages, words))
    return from_html(name, f"<title>{title}</title>{html}" if title else html)


def _write_pages(name: str, document: Any, pages: Sequence[Any], words: Sequence[Sequence[Word]]) -> Iterator[str]:
    """Yields the pages in HTML: headings, below each the page where its text stands, and the text."""
    scanned = {at for at, page in enumerate(pages) if not words[at] and _has_picture(page)}
    if scanned and not any(words) and not find_tool():
        raise DocumentScanned(name=name, tool=TOOL)
    ruled = [find_ruled(*read_rules(page), inside) for page, inside in zip(pages, words, strict=True)]
    running = _find_running_lines(words, ruled)
    kept = [
        [word for line in join_lines(page) if _place_of_line(line) not in running for word in line.words]
        for page in words
    ]
    size = compute_body_size([word for page in kept for word in page])
    outline, by_size = _read_outline(document), _rank_by_size(kept, size)
    for at, page in enumerate(pages):
        if at in scanned:
            blocks = [PageBlock(0, text, text) for text in ([recognise_page(page)] if find_tool() else ()) if text]
        else:
            entries = outline.get(at, {})
            blocks = read_blocks(kept[at], ruled[at], size, _rank_by_outline(entries) if outline else by_size)
            said = {_fold_letters(block.text) for block in blocks if block.level}
            missing = [PageBlock(level, text) for text, level in entries.items() if not _is_heading_among(text, said)]
            blocks = [*missing, *blocks]
        begun = False
        for block in blocks:
            if block.level:
                yield f"<h{block.level}>{escape(block.text)}</h{block.level}>"
                begun = False
            else:
                yield (f"<h6>p. {at + 1}</h6>" if not begun else "") + block.html
                begun = True
        page.close()


def _find_largest_title(pages: Sequence[Sequence[Word]]) -> str:
    """Returns the words of the first page in letters larger than all others; '' when nothing stands out there."""
    lines = [line for line in join_lines(pages[0]) if _may_head(line)] if pages else []
    most = max((line.size for line in lines), default=0.0)
    title = " ".join(line.text for line in lines if line.size == most)
    stands_out = most > LARGER * compute_body_size([word for page in pages for word in page])
    return title if stands_out and len(title) <= HEADING_LETTERS else ""


def _has_picture(page: Any) -> bool:
    import pypdfium2.raw as raw

    return any(True for _ in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=3))


# --- running heads and feet -------------------------------------------------------------------------


def _find_running_lines(pages: Sequence[Sequence[Word]], tables: Sequence[Sequence[PageTable]]) -> set[tuple[str, int]]:
    """Returns the lines outside of tables that stand at the same place at the top or bottom of many pages, but for
    their numbers."""
    counts = Counter[tuple[str, int]]()
    for words, inside in zip(pages, tables, strict=True):
        lines = join_lines([word for word in words if not any(is_box_inside(table.box, word.box) for table in inside)])
        counts.update({_place_of_line(line) for line in (*_take_lines_apart(lines), *_take_lines_apart(lines[::-1]))})
    return {place for place, count in counts.items() if count >= max(min(3, len(pages)), 2, SHARE * len(pages))}


def _take_lines_apart(lines: Sequence[PageLine]) -> Sequence[PageLine]:
    """Returns the first lines up to a gap that parts them from the text; none without such a gap."""
    for at, (line, following) in enumerate(pairwise(lines[: EDGE_LINES + 1]), 1):
        first, second = sorted((line.box, following.box), key=lambda box: box[1])
        if second[1] - first[3] > HEAD_GAP * line.size:
            return lines[:at]
    return ()


def _place_of_line(line: PageLine) -> tuple[str, int]:
    return re.sub(r"\d+", "0", line.text), round(line.box[1] / 4)


# --- headings ---------------------------------------------------------------------------------------


def _read_outline(document: Any) -> dict[int, dict[str, int]]:
    """Returns the headings of the file's outline with their levels by page; none for an outline of one entry."""
    entries: dict[int, dict[str, int]] = {}
    for mark in document.get_toc(max_depth=LEVELS + 1):
        target, title = mark.get_dest(), collapse_spaces(clean_text(mark.get_title()))
        page = target.get_index() if target is not None else None
        if page is not None and title:
            entries.setdefault(page, {})[title] = min(mark.level + 1, LEVELS + 1)
    return entries if sum(map(len, entries.values())) > 1 else {}


def _rank_by_outline(entries: dict[str, int]) -> Leveled:
    """Returns the function that finds the lines of a page which its entries of the outline name."""
    levels = {_fold_letters(title): level for title, level in entries.items()}

    def level_of(line: PageLine) -> int:
        letters = _fold_letters(line.text)
        return next((level for title, level in levels.items() if _is_same_heading(letters, title)), 0)

    return level_of


def _is_heading_among(title: str, lines: set[str]) -> bool:
    return any(_is_same_heading(line, _fold_letters(title)) for line in lines)


def _is_same_heading(line: str, title: str) -> bool:
    """Returns whether a line is a heading of the outline: it may have its number, or break off."""
    return bool(line) and (
        (line.endswith(title) and len(line) <= len(title) + 8)
        or (2 * len(line) > len(title) and title.startswith(line))
    )


def _fold_letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _rank_by_size(pages: Sequence[Sequence[Word]], size: float) -> Leveled:
    """Returns the function that finds headings by their size: the largest are of level 1; lines in bold letters of the
    text's own size come last."""
    lines = [line for words in pages for line in join_lines(words) if _may_head(line)]
    sizes = sorted({round(line.size) for line in lines if line.size > LARGER * size}, reverse=True)
    letters = [word for words in pages for word in words]
    bold = sum(len(word.text) for word in letters if word.bold) < 0.2 * sum(len(word.text) for word in letters)

    def level_of(line: PageLine) -> int:
        if not _may_head(line):
            return 0
        if line.size > LARGER * size:
            return min(sizes.index(round(line.size)) + 1 if round(line.size) in sizes else LEVELS, LEVELS)
        alone = bold and line.bold and line.size >= 0.95 * size and not re.search(r"[.:;,…]$", line.text)
        return min(len(sizes), LEVELS) + 1 if alone else 0

    return level_of


def _may_head(line: PageLine) -> bool:
    text = line.text
    is_short = sum(map(str.isalpha, text)) > 1 and len(text) <= HEADING_LETTERS
    return is_short and not text.endswith((".", ",", ";")) and not re.search(rf"{LEADER}\s*\d+$", text)
