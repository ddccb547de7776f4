"""Text documents and presentations of LibreOffice (ODF); ``retrieval.read.format.sheet`` reads its tables."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from retrieval.read.format.archive import (
    local_name,
    local_value,
    open_archive,
    parse_attribute_count,
    parse_xml,
    write_cell,
    write_element,
    write_slide_heading,
)
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded, own_title
from text.clean import collapse_spaces

_LEFT_OUT = ("annotation", "annotation-end", "tracked-changes", "sequence-decls", "forms", "table-of-content")
MOST_REPEATED = 100
"""How often a repeated cell or row is written; spreadsheets repeat the empty ones to the edge of the sheet."""


def read_open_document(name: str, data: bytes, limit: int) -> Loaded:
    with open_archive(name, data, limit) as archive:
        content = parse_xml(archive.read("content.xml"))
        body = next(element for element in content.iter() if local_name(element) == "body")
        pages = [element for element in body.iter() if local_name(element) == "page"]
        blocks = [_write_odf_page(page, number) for number, page in enumerate(pages, 1)] or list(
            _write_odf_blocks(body)
        )
        return from_html(name, write_element("title", own_title(_find_meta_title(archive))) + "\n".join(blocks))


def _find_meta_title(archive: zipfile.ZipFile) -> str:
    if "meta.xml" not in archive.namelist():
        return ""
    meta = parse_xml(archive.read("meta.xml"))
    return next((element.text or "" for element in meta.iter() if local_name(element) == "title"), "")


def _write_odf_page(page: Any, number: int) -> str:
    """Returns a slide in HTML under its number and title."""
    title, blocks = "", list[str]()
    for element in page:
        if local_name(element) == "frame" and local_value(element, "class") == "title" and not title:
            title = collapse_spaces(_read_odf_text(element))
        else:
            blocks += _write_odf_blocks(element)
    return "".join([write_slide_heading(number, title), *blocks])


def _write_odf_blocks(element: Any) -> Iterator[str]:
    """Yields headings, paragraphs, lists and tables below an element in HTML."""
    for child in element:
        kind = local_name(child)
        if kind == "h":
            yield write_element(
                f"h{min(parse_attribute_count(local_value(child, 'outline-level')), 6)}", _read_odf_text(child)
            )
        elif kind == "p":
            title = local_value(child, "style-name") == "Title"
            yield write_element("h1 class=title" if title else "p", _read_odf_text(child)).replace(
                "</h1 class=title>", "</h1>"
            )
            yield from _blocks_in_frames(child)
        elif kind == "list":
            items = "".join(
                f"<li>{''.join(_write_odf_blocks(item))}</li>" for item in child if local_name(item) == "list-item"
            )
            yield f"<ul>{items}</ul>"
        elif kind == "table":
            yield f"<table>{''.join(_write_odf_rows(child))}</table>"
        elif kind and kind not in _LEFT_OUT:
            yield from _write_odf_blocks(child)


def _blocks_in_frames(paragraph: Any) -> Iterator[str]:
    """Yields what stands in text boxes that hang on a paragraph."""
    for frame in paragraph.iter():
        if local_name(frame) == "text-box":
            yield from _write_odf_blocks(frame)


def _write_odf_rows(table: Any) -> Iterator[str]:
    for element in table:
        kind = local_name(element)
        if kind == "table-row":
            cells = "".join(_write_odf_cells(element))
            yield from [f"<tr>{cells}</tr>"] * min(_count_repeats(element, "rows"), MOST_REPEATED if cells else 0)
        elif kind in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _write_odf_rows(element)


def _write_odf_cells(row: Any) -> Iterator[str]:
    """Yields the cells of a row; a cell that another one covers is left out."""
    for cell in row:
        if local_name(cell) == "table-cell":
            spans = [parse_attribute_count(local_value(cell, f"number-{kind}-spanned")) for kind in ("columns", "rows")]
            yield from [write_cell("".join(_write_odf_blocks(cell)), *spans)] * min(
                _count_repeats(cell, "columns"), MOST_REPEATED
            )


def _count_repeats(element: Any, kind: str) -> int:
    return parse_attribute_count(local_value(element, f"number-{kind}-repeated"))


def _read_odf_text(element: Any) -> str:
    """Returns the text of a paragraph, without that of frames, notes and comments inside."""
    parts = [element.text or ""]
    for child in element:
        kind = local_name(child)
        if kind in ("s", "tab", "line-break"):
            parts.append({"s": " ", "tab": " ", "line-break": "\n"}[kind])
        elif kind and kind not in _LEFT_OUT and (kind != "frame" or local_name(element) == "frame"):
            parts.append(_read_odf_text(child))
        parts.append(child.tail or "")
    return "".join(parts)
