"""PDFs: the text of each page, as paragraphs."""

from __future__ import annotations

import io
import logging
import re
from typing import Any

from errors import DocumentEncrypted
from retrieval.read.escaped import literal
from retrieval.read.format.loaded import Loaded
from retrieval.read.split import STEPS
from text.clean import clean

_BULLET = re.compile(r"[-*+•·◦‣▪●○■□–]\s")


def read(name: str, data: bytes, _limit: int) -> Loaded:
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not _opens(reader):
        raise DocumentEncrypted(name=name)
    pages = [_unwrapped(clean(page.extract_text())) for page in reader.pages]
    title = reader.metadata.title if reader.metadata else None
    text = "\n\n".join(f"## p. {number}\n\n{page}" for number, page in enumerate(pages, 1) if page)
    return Loaded(name, clean(title or ""), text, True, {})


def _opens(reader: Any) -> bool:
    """Returns whether the empty password opens the file; its cipher may need a package that is not installed."""
    try:
        return bool(reader.decrypt(""))
    except Exception:  # pypdf has no common class for this
        return False


def _unwrapped(page: str) -> str:
    """Joins a page's lines into paragraphs: a line that ends like a sentence or is short ends a paragraph, a list item
    begins one."""
    lines = [line.strip() for line in page.splitlines()]
    longest = max(map(len, lines), default=0)
    text = ""
    for line in lines:
        begins = STEPS.match(line) or _BULLET.match(line)
        ends = not line or re.search(r"[.!?:。…][\"'”’)]*$", line) or len(line) < longest * 0.6
        text += ("\n\n" if begins else "") + literal(line) + ("\n\n" if ends else " ")
    return re.sub(r" ?\n\n+", "\n\n", text).strip()
