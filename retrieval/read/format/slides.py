"""PowerPoint files: a section for each slide, with its tables, diagrams and notes."""

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
    read_relations,
    write_cell,
    write_element,
    write_slide_heading,
)
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded
from text.clean import collapse_spaces

_DECK = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_AROUND = ("sldNum", "dt", "ftr", "hdr")


def read_slides(name: str, data: bytes, limit: int) -> Loaded:
    with open_archive(name, data, limit) as archive:
        relations = read_relations(archive, _DECK)
        deck = parse_xml(archive.read(_DECK))
        ids = [_relation_of(element) for element in deck.iter() if local_name(element) == "sldId"]
        paths = [relations[id_][1] for id_ in ids if id_ in relations]
        slides = [_read_slide(archive, path, number) for number, path in enumerate(paths, 1)]
        return from_html(name, "\n".join(slides))


def _relation_of(element: Any) -> str:
    """Returns the relation's id of a slide, which has an id of its own besides."""
    return next((value for key, value in element.attrib.items() if key.endswith("}id")), "")


def _read_slide(archive: zipfile.ZipFile, path: str, number: int) -> str:
    """Returns the slide in HTML under its number and title."""
    title, parts = "", list[str]()
    for kind, part in _iterate_slide_parts(parse_xml(archive.read(path))):
        if kind == "title" and not title:
            title = collapse_spaces(part)
        else:
            parts.append(write_element("p", part) if kind == "title" else part)
    for kind, target in read_relations(archive, path).values():
        if kind in ("notesSlide", "diagramData") and target in archive.namelist():
            parts += [part for kind_, part in _iterate_slide_parts(parse_xml(archive.read(target))) if kind_ == "text"]
    heading = write_slide_heading(number, title)
    return heading + "".join(parts)


def _iterate_slide_parts(slide: Any) -> Iterator[tuple[str, str]]:
    """Yields the title as plain text, and the other texts and tables in HTML, in the order of the file."""
    for element in slide.iter():
        kind = local_name(element)
        if kind == "tbl":
            yield "text", _write_slide_table(element)
        elif kind == "sp":
            place = next((each for each in element.iter() if local_name(each) == "ph"), None)
            about = place.get("type", "body") if place is not None else ""
            if about not in _AROUND:
                yield from _write_shape_texts(element, about)
        elif kind == "pt":  # a shape of a diagram
            yield "text", "".join(write_element("p", text) for text in _read_paragraphs(element))


def _write_shape_texts(shape: Any, about: str) -> Iterator[tuple[str, str]]:
    paragraphs = [text for text in _read_paragraphs(shape) if text.strip()]
    if about in _TITLES:
        yield "title", "\n".join(paragraphs)
    elif about == "body" and len(paragraphs) > 1:
        yield "text", f"<ul>{''.join(write_element('li', text) for text in paragraphs)}</ul>"
    else:
        yield "text", "".join(write_element("p", text) for text in paragraphs)


def _read_paragraphs(element: Any) -> list[str]:
    """Returns the paragraphs of a shape or cell as plain text."""
    texts = list[str]()
    for paragraph in element.iter():
        if local_name(paragraph) != "p":
            continue
        pieces = [each for each in paragraph.iter() if local_name(each) in ("t", "br")]
        texts.append("".join("\n" if local_name(each) == "br" else each.text or "" for each in pieces))
    return texts


def _write_slide_table(table: Any) -> str:
    rows = [row for row in table if local_name(row) == "tr"]
    return f"<table>{''.join(f'<tr>{_write_cells(row)}</tr>' for row in rows)}</table>"


def _write_cells(row: Any) -> str:
    """Returns the cells of a row; one that another cell covers is left out."""
    cells = [cell for cell in row if local_name(cell) == "tc"]
    shown = [cell for cell in cells if not (cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"))]
    return "".join(
        write_cell(
            "".join(write_element("p", text) for text in _read_paragraphs(cell)),
            parse_attribute_count(local_value(cell, "gridSpan")),
            parse_attribute_count(local_value(cell, "rowSpan")),
        )
        for cell in shown
    )
