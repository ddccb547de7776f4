"""Loading files as text, with one reader per kind and errors that name the file.

Every format becomes Markdown with its headings, so splitting is written once.
"""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from dataclasses import dataclass, replace
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
from retrieval.read.contents import link_contents_entries
from retrieval.read.format import (
    book,
    code,
    hangul,
    hangul_zip,
    html,
    mail,
    notebook,
    open_document,
    outline,
    pdf,
    plain,
    rich_text,
    sheet,
    slides,
    table,
    word,
)
from retrieval.read.format.loaded import Loaded, Reader
from retrieval.read.split import HEADING_CHARS
from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes, cut_graphemes_before

NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of files. ``found``: what the first bytes of such a file show, by ``_detect_file_kind``; «text» for any
    text.
    ``tables``: whether such a file may have tables to calculate with."""

    name: str
    suffixes: tuple[str, ...]
    read: Reader
    found: tuple[str, ...] = ("text",)
    tables: bool = False


KINDS = (
    Kind("Markdown", (".md", ".markdown"), plain.read_markdown),
    Kind("text", (".txt", ".text", ".log"), plain.read_plain_text),
    Kind("HTML", (".html", ".htm", ".xhtml"), html.read_html, ("HTML", "text")),
    Kind("PDF", (".pdf",), pdf.read_pdf, ("PDF",)),
    Kind("Word", (".docx",), word.read_word_file, ("Word",)),
    Kind("Excel", (".xlsx", ".xlsm", ".xls"), sheet.read_workbook, ("Excel", "old Excel", "HTML", "text"), True),
    Kind("PowerPoint", (".pptx",), slides.read_slides, ("PowerPoint",)),
    Kind("Hangul", (".hwp",), hangul.read_hangul, ("Hangul",)),
    Kind("HWPX", (".hwpx",), hangul_zip.read_hwpx, ("HWPX",)),
    Kind("ODF", (".odt", ".odp"), open_document.read_open_document, ("ODF",)),
    Kind("ODF table", (".ods",), sheet.read_workbook, ("ODF table",), True),
    Kind("EPUB", (".epub",), book.read_epub, ("EPUB",)),
    Kind("CSV", (".csv", ".tsv"), table.read_table, tables=True),
    Kind("mail", (".eml",), mail.read_mail),
    Kind("notebook", (".ipynb",), notebook.read_notebook),
    Kind("RTF", (".rtf",), rich_text.read_rich_text, ("RTF",)),
    Kind("JSON", (".json", ".jsonl", ".ndjson"), outline.read_json_file, tables=True),
    Kind("YAML", (".yaml", ".yml"), outline.read_yaml_file, tables=True),
    Kind("XML", (".xml",), outline.read_xml_file, ("HTML", "text"), True),
    Kind("source code", code.SUFFIXES, code.read_code, ("HTML", "text")),
)
"""Every kind of files that is read, in the order in which people are told of them."""
_BY_SUFFIX = {suffix: kind for kind in KINDS for suffix in kind.suffixes}
SUFFIXES = tuple(_BY_SUFFIX)
_PACKED = {
    b"application/vnd.oasis.opendocument.text": "ODF",
    b"application/vnd.oasis.opendocument.presentation": "ODF",
    b"application/vnd.oasis.opendocument.spreadsheet": "ODF table",
    b"application/epub+zip": "EPUB",
    b"application/hwp+zip": "HWPX",
}
"""What the first part of an archive, «mimetype», says."""
_OFFICE = {b"word/document.xml": "Word", b"xl/workbook.": "Excel", b"ppt/presentation.xml": "PowerPoint"}
_OLD_OFFICE = {b"HWP Document File": "Hangul", "Workbook".encode("utf-16-le"): "old Excel"}


def load_file(name: str, data: bytes, limit: int) -> Loaded:
    """Returns the text of a file. ``name`` may come from anybody; ``limit`` in bytes. Raises a ``DocumentError``."""
    shown = clean_document_name(name)
    if len(data) > limit:
        raise DocumentTooLarge(name=shown, size=len(data), limit=limit)
    kind = find_file_kind(shown)
    if not data.strip():
        raise DocumentEmpty(name=shown)
    found = _detect_file_kind(data)
    if found not in kind.found:
        _refuse_mislabelled(shown, kind.name, found, data)
    try:
        loaded = kind.read(shown, data, limit)
    except (DocumentError, MemoryError):  # retrieval.read.child reports MemoryError
        raise
    except (RecursionError, Exception) as error:  # any error of a parser means that the file is broken
        reason = _describe_parser_error(error)
        raise DocumentBroken(name=shown, reason=reason, reason_code="damaged", detail=reason) from error
    if not re.search(r"\w", loaded.text):
        raise DocumentEmpty(name=shown)
    text = link_contents_entries(loaded.text) if loaded.markdown else loaded.text
    title = cut_graphemes(collapse_spaces(loaded.title), HEADING_CHARS) or _cut_suffix(shown)
    return replace(loaded, title=title, text=text)


def find_file_kind(name: str) -> Kind:
    """Returns the kind of a file by its name. Raises ``DocumentKindUnknown``."""
    kind = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    if kind is None:
        raise DocumentKindUnknown(name=name, known=known_suffixes())
    return kind


def may_have_tables(name: str) -> bool:
    """Returns whether a file of this name may have tables to calculate with."""
    kind = _BY_SUFFIX.get(PurePath(name).suffix.lower())
    return kind is not None and kind.tables


def known_suffixes() -> str:
    """Returns the suffix of every kind of files, for people."""
    return ", ".join(kind.suffixes[0] for kind in KINDS)


def clean_document_name(name: str) -> str:
    """Returns a name that can be shown and stored, for any name: a path's last part, printable, cut in its middle."""
    last = re.split(r"[/\\]", clean_text(name))[-1]
    printable = "".join(letter for letter in unicodedata.normalize("NFC", last) if letter.isprintable()).strip(" .")
    plain = printable or "document"
    if len(plain) <= NAME_CHARS:
        return plain
    return f"{cut_graphemes(plain, NAME_CHARS - 21)}…{cut_graphemes_before(plain, 20)}"


def _refuse_mislabelled(name: str, kind: str, found: str, data: bytes) -> None:
    if found == "old Office" and "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentEncrypted(name=name)
    raise DocumentMislabelled(name=name, claimed=kind, found=found)


def _detect_file_kind(data: bytes) -> str:
    """Returns the kind of file that the first bytes show."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "PDF"
    if data.startswith(b"PK\x03\x04"):
        packed = next((kind for said, kind in _PACKED.items() if data[38:].startswith(said)), None)
        names = _list_part_names(data)
        return packed or next((kind for path, kind in _OFFICE.items() if path in names), "zip")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return next((kind for said, kind in _OLD_OFFICE.items() if said in data), "old Office")
    if data.startswith(b"{\\rtf"):
        return "RTF"
    if re.match(rb"\s*(?:<!doctype html|<html)", data[:512], re.IGNORECASE):
        return "HTML"
    return "text"


def _list_part_names(data: bytes) -> bytes:
    """Returns the names of an archive's parts; all its bytes when it is damaged, so that it is named by its kind."""
    try:
        return "\n".join(zipfile.ZipFile(io.BytesIO(data)).namelist()).encode("utf-8", "replace")
    except (zipfile.BadZipFile, ValueError, OSError):
        return data


def _describe_parser_error(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _cut_suffix(name: str) -> str:
    return PurePath(name).stem or name
