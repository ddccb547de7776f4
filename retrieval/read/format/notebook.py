"""Jupyter notebooks: their text, code and printed results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from retrieval.read.format.loaded import Loaded, decode_file
from retrieval.read.format.plain import find_title
from text.clean import clean_text
from text.cut import cut_graphemes

RESULT_CHARS = 2000
"""The longest printed result of a cell that is kept whole, in characters."""


def read_notebook(name: str, data: bytes, _limit: int) -> Loaded:
    notebook = json.loads(decode_file(name, data))
    sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4
    about = (notebook.get("metadata") or {}).get("kernelspec") or {}
    language = str(about.get("language") or "python")
    parts = [part for sheet in sheets for cell in sheet["cells"] for part in _write_notebook_cell(cell, language)]
    text = clean_text("\n\n".join(part for part in parts if part.strip()))
    return Loaded(name, find_title(text), text, True, {})


def _write_notebook_cell(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _join_source(cell.get("source", cell.get("input", "")))
    if cell["cell_type"] == "heading":
        yield f"{'#' * int(cell.get('level', 1))} {source}"
    elif cell["cell_type"] != "code":
        yield source
    elif source.strip():
        yield write_code(source, language)
        for output in cell.get("outputs") or ():
            result = _join_source(output.get("text") or (output.get("data") or {}).get("text/plain") or "")
            if result.strip():
                yield write_code(cut_graphemes(result, RESULT_CHARS), "")


def _join_source(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def write_code(text: str, language: str) -> str:
    """Returns text in a fence that is longer than any fence in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
