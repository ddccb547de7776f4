"""Hangul documents in HWPX: paragraphs, headings by outline level, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from retrieval.read.format.archive import (
    local_name,
    open_archive,
    parse_attribute_count,
    parse_xml,
    write_cell,
    write_element,
)
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded, own_title

_OUTLINE = re.compile(r"(?:개요|outline|제목|heading)\s*(\d)", re.IGNORECASE)
"""The names of the styles of headings, in Hangul's own languages."""
_OBJECTS = ("tbl", "rect", "ellipse", "container", "footNote", "endNote", "polygon")
_PACKAGE = "Contents/content.hpf"
_SECTION = re.compile(r"Contents/section(\d+)\.xml")


def read_hwpx(name: str, data: bytes, limit: int) -> Loaded:
    with open_archive(name, data, limit) as archive:
        levels = _read_outline_styles(parse_xml(archive.read("Contents/header.xml")))
        found = [(int(match[1]), path) for path in archive.namelist() if (match := _SECTION.fullmatch(path))]
        blocks = [
            block for _, path in sorted(found) for block in _write_hwpx_blocks(parse_xml(archive.read(path)), levels)
        ]
        package = parse_xml(archive.read(_PACKAGE)).iter() if _PACKAGE in archive.namelist() else ()
        title = own_title(next((element.text or "" for element in package if local_name(element) == "title"), ""))
        return from_html(name, write_element("title", title) + "\n".join(blocks))


def outline_level(style: str) -> int:
    """Returns the level of the heading that a style's name stands for; 0 for other styles."""
    match = _OUTLINE.match(style.strip())
    return int(match[1]) if match else 0


def _read_outline_styles(header: Any) -> dict[str, int]:
    """Returns the level of headings by the id of their style."""
    styles = [element for element in header.iter() if local_name(element) == "style"]
    names = {style.get("id", ""): (style.get("engName") or "", style.get("name") or "") for style in styles}
    return {id_: max(map(outline_level, both)) for id_, both in names.items()}


def _write_hwpx_blocks(element: Any, levels: dict[str, int]) -> Iterator[str]:
    """Yields the paragraphs of a section, cell or text box in HTML, with what hangs on them."""
    for paragraph in element:
        if local_name(paragraph) != "p":
            if local_name(paragraph) in ("subList", "drawText"):
                yield from _write_hwpx_blocks(paragraph, levels)
            continue
        level = levels.get(paragraph.get("styleIDRef", ""), 0)
        yield write_element(f"h{min(level, 6)}" if level else "p", "".join(_iterate_hwpx_texts(paragraph)))
        for run in paragraph:
            for child in run:
                if local_name(child) == "tbl":
                    yield f"<table>{''.join(_write_hwpx_rows(child, levels))}</table>"
                elif local_name(child) in _OBJECTS or local_name(child) == "ctrl":
                    yield from _write_nested_objects(child, levels)


def _write_nested_objects(element: Any, levels: dict[str, int]) -> Iterator[str]:
    """Yields what stands in text boxes and notes."""
    for child in element:
        if local_name(child) == "subList":
            yield from _write_hwpx_blocks(child, levels)
        elif local_name(child) in (*_OBJECTS, "drawText"):
            yield from _write_nested_objects(child, levels)


def _write_hwpx_rows(table: Any, levels: dict[str, int]) -> Iterator[str]:
    for row in (child for child in table if local_name(child) == "tr"):
        cells = list[str]()
        for cell in (child for child in row if local_name(child) == "tc"):
            span = next((child for child in cell if local_name(child) == "cellSpan"), None)
            keys = ("colSpan", "rowSpan")
            columns, rows = (parse_attribute_count(span.get(key, "1")) if span is not None else 1 for key in keys)
            cells.append(write_cell("".join(_write_hwpx_blocks(cell, levels)), columns, rows))
        yield f"<tr>{''.join(cells)}</tr>"


def _iterate_hwpx_texts(paragraph: Any) -> Iterator[str]:
    """Yields the text of a paragraph's own runs."""
    for run in paragraph:
        for text in run:
            if local_name(text) == "t":
                yield text.text or ""
                for mark in text:
                    yield {"lineBreak": "\n", "tab": " ", "fwSpace": " ", "nbSpace": " "}.get(local_name(mark), "")
                    yield mark.tail or ""
