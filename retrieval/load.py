"""Files into text: one reader per kind, each file's own faults told by name.

Everything becomes Markdown with its headings, so that splitting is written once.
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
from retrieval.format import html, pdf, plain, table, word
from retrieval.format.loaded import Loaded, Reader
from retrieval.split import HEADING_CHARS
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
    """The text of a file. ``name`` may come from anybody; ``limit`` in bytes. Raises a ``DocumentError``."""
    shown = label(name)
    if len(data) > limit:
        raise DocumentTooLarge(name=shown, size=len(data), limit=limit)
    kind = _KINDS.get(PurePath(shown).suffix.lower())
    if kind is None:
        raise DocumentKindUnknown(name=shown, known=", ".join(SUFFIXES))
    if not data.strip():
        raise DocumentEmpty(name=shown)
    found = _content(data)
    if found != kind and (found != "text" or kind in ("PDF", "Word")):
        _refuse(shown, kind, found, data)
    try:
        loaded = _READERS[kind](shown, data, limit)
    except DocumentError:
        raise
    except (RecursionError, Exception) as error:  # whatever a parser meets in a broken file is the file's fault
        reason = _reason(error)
        raise DocumentBroken(name=shown, reason=reason, reason_code="damaged", detail=reason) from error
    if not re.search(r"\w", loaded.text):
        raise DocumentEmpty(name=shown)
    return replace(loaded, title=" ".join(loaded.title.split())[:HEADING_CHARS] or _stem(shown))


def label(name: str) -> str:
    """A name that can be shown and stored, whatever was given: a path's last part, printable, cut in its middle."""
    last = re.split(r"[/\\]", clean(name))[-1]
    printable = "".join(letter for letter in unicodedata.normalize("NFC", last) if letter.isprintable()).strip(" .")
    plain = printable or "document"
    return plain if len(plain) <= NAME_CHARS else f"{plain[: NAME_CHARS - 21]}…{plain[-20:]}"


def _refuse(name: str, kind: str, found: str, data: bytes) -> None:
    if found == "old Office" and "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentEncrypted(name=name)
    raise DocumentMislabelled(name=name, claimed=kind, found=found)


def _content(data: bytes) -> str:
    """What the bytes are, by their beginning."""
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
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__


def _stem(name: str) -> str:
    return PurePath(name).stem or name
