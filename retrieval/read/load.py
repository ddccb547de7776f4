"""Loading files as text, with one reader per kind and errors that name the file.

Every format becomes Markdown with its headings, so splitting is written once.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from pathlib import PurePath

from errors import (
    DocumentBroken,
    DocumentEmpty,
    DocumentEncrypted,
    DocumentError,
    DocumentKindUnknown,
    DocumentMislabelled,
    DocumentTooLarge,
)
from retrieval.read.format import html, pdf, plain, table, word
from retrieval.read.format.loaded import Loaded, Reader
from retrieval.read.split import HEADING_CHARS
from text.clean import clean

NAME_CHARS = 120
_KINDS = {
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".txt": "text",
    ".text": "text",
    ".html": "HTML",
    ".htm": "HTML",
    ".pdf": "PDF",
    ".docx": "Word",
    ".csv": "CSV",
    ".tsv": "CSV",
}
SUFFIXES = tuple(_KINDS)
_READERS: dict[str, Reader] = {
    "Markdown": plain.markdown,
    "text": plain.text,
    "HTML": html.read,
    "PDF": pdf.read,
    "Word": word.read,
    "CSV": table.read,
}


def load(name: str, data: bytes, limit: int) -> Loaded:
    """Returns the text of a file. ``name`` may come from anybody; ``limit`` in bytes. Raises a ``DocumentError``."""
    shown = label(name)
    if len(data) > limit:
        raise DocumentTooLarge(name=shown, size=len(data), limit=limit)
    kind = _KINDS.get(PurePath(shown).suffix.lower())
    if kind is None:
        raise DocumentKindUnknown(name=shown, known=", ".join(SUFFIXES))
    if not data.strip():
        raise DocumentEmpty(name=shown)
    actual_kind = _content(data)
    if actual_kind != kind and (actual_kind != "text" or kind in ("PDF", "Word")):
        _refuse(shown, kind, actual_kind, data)
    try:
        loaded = _READERS[kind](shown, data, limit)
    except (DocumentError, MemoryError):  # retrieval.read.child reports MemoryError
        raise
    except (RecursionError, Exception) as error:  # any error of a parser means that the file is broken
        reason = _reason(error)
        raise DocumentBroken(name=shown, reason=reason, reason_code="damaged", detail=reason) from error
    if not re.search(r"\w", loaded.text):
        raise DocumentEmpty(name=shown)
    return replace(loaded, title=" ".join(loaded.title.split())[:HEADING_CHARS] or _stem(shown))


def label(name: str) -> str:
    """Returns a name that can be shown and stored, for any name: a path's last part, printable, cut in its middle."""
    last = re.split(r"[/\\]", clean(name))[-1]
    printable = "".join(letter for letter in unicodedata.normalize("NFC", last) if letter.isprintable()).strip(" .")
    plain = printable or "document"
    return plain if len(plain) <= NAME_CHARS else f"{plain[: NAME_CHARS - 21]}…{plain[-20:]}"


def _refuse(name: str, kind: str, found: str, data: bytes) -> None:
    if found == "old Office" and "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentEncrypted(name=name)
    raise DocumentMislabelled(name=name, claimed=kind, found=found)


def _content(data: bytes) -> str:
    """Returns the kind of file that the first bytes show."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "PDF"
    if data.startswith(b"PK\x03\x04"):
        return "Word" if b"word/document.xml" in data else "zip"
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return "old Office"
    if re.match(rb"\s*(?:<!doctype html|<html)", data[:512], re.IGNORECASE):
        return "HTML"
    return "text"


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _stem(name: str) -> str:
    return PurePath(name).stem or name
