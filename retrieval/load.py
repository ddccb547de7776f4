"""Files into text: one reader per kind, each file's own faults told by name.

Everything becomes Markdown with its headings, so that splitting is written once. Only this file knows the libraries.
"""

from __future__ import annotations

import csv
import io
import logging
import re
import unicodedata
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import yaml

from errors import (
    DocumentBroken,
    DocumentEmpty,
    DocumentEncrypted,
    DocumentError,
    DocumentKindUnknown,
    DocumentMislabelled,
    DocumentTooLarge,
)
from retrieval.split import HEADING_CHARS
from text.clean import clean

NAME_CHARS = 120
UNPACKED = 20
"""How many times its own limit an archive may unpack to."""
FRONT_CHARS = 4000
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
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = ("question", "q", "질문", "문의", "제목", "title")
_ANSWER = ("answer", "a", "답변", "답", "내용", "content")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as text. ``markdown``: whether marks in it mean something; ``front``: what its YAML front matter says."""

    name: str
    title: str
    text: str
    markdown: bool
    front: dict[str, str]


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


def _decoded(name: str, data: bytes) -> str:
    """Text in UTF-8, UTF-16 with its mark, or the older Korean encoding."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp949"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.count("\x00") * 100 <= len(text):
            return clean(text).replace("\r\n", "\n").replace("\r", "\n")
        break
    raise DocumentBroken(name=name, reason="it is no text in UTF-8, UTF-16 or CP949", reason_code="no_text")


def _stem(name: str) -> str:
    return PurePath(name).stem or name


# --- one reader per kind --------------------------------------------------------------------------


def _markdown(name: str, data: bytes, _limit: int) -> Loaded:
    text, front = _front(_decoded(name, data))
    heading = re.search(r"^# +(.+)$", _FENCED.sub("", text), re.MULTILINE)
    return Loaded(name, front.get("title") or (heading.group(1).rstrip(" #") if heading else ""), text, True, front)


def _front(text: str) -> tuple[str, dict[str, str]]:
    """The text without its YAML front matter, and the values in that which are one plain text.

    Every value is read as text, and what aliases and merges would make of it is not: a few lines of them are gigabytes.
    """
    found = re.match(rf"---[ \t]*\n(.{{0,{FRONT_CHARS}}}?)\n---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if not found:
        return text, {}
    try:
        front = yaml.BaseLoader(found.group(1)).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        return text, {}
    if not isinstance(front, dict):
        return text, {}
    return text[found.end() :], {key: value for key, value in front.items() if isinstance(value, str)}


def _text(name: str, data: bytes, _limit: int) -> Loaded:
    return Loaded(name, "", _decoded(name, data), False, {})


def _html(name: str, data: bytes, _limit: int) -> Loaded:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that look like an address or XML
        page = BeautifulSoup(data if _declares(data) else _decoded(name, data), "html.parser")
    return _from_html(name, page)


def _declares(data: bytes) -> bool:
    return re.search(rb"charset\s*=", data[:2048], re.IGNORECASE) is not None


def _from_html(name: str, page: Any) -> Loaded:
    from markdownify import MarkdownConverter

    heading = page.find("h1")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    title = title or (heading.get_text(" ", strip=True) if heading else "")
    for part in page(["script", "style", "noscript", "template", "nav", "footer", "form", "iframe", "head"]):
        part.decompose()
    body = page.find("main") or page.find("article") or page.body or page
    text = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img", "a"]).convert_soup(body)
    return Loaded(name, clean(title), re.sub(r"\n{3,}", "\n\n", clean(text)).strip(), True, {})


def _word(name: str, data: bytes, limit: int) -> Loaded:
    import mammoth
    from bs4 import BeautifulSoup

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > limit * UNPACKED:
            raise DocumentTooLarge(name=name, size=size, limit=limit * UNPACKED)
    made = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {"src": ""}))
    return _from_html(name, BeautifulSoup(made.value, "html.parser"))


def _pdf(name: str, data: bytes, _limit: int) -> Loaded:
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.ERROR)
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not _opens(reader):
        raise DocumentEncrypted(name=name)
    pages = [_unwrapped(clean(page.extract_text())) for page in reader.pages]
    about = reader.metadata.title if reader.metadata else None
    text = "\n\n".join(f"## p. {number}\n\n{page}" for number, page in enumerate(pages, 1) if page)
    return Loaded(name, clean(about or ""), text, True, {})


def _opens(reader: Any) -> bool:
    """Whether the empty password opens it; its cipher may need a package that is not there."""
    try:
        return bool(reader.decrypt(""))
    except Exception:  # pypdf has no common class for this
        return False


def _unwrapped(page: str) -> str:
    """A page's lines as paragraphs: a line that ends like a sentence or is short ends one. Marks are escaped."""
    lines = [line.strip() for line in page.splitlines()]
    longest = max(map(len, lines), default=0)
    text = ""
    for line in lines:
        ends = not line or re.search(r"[.!?:。…][\"'”’)]*$", line) or len(line) < longest * 0.6
        text += re.sub(r"^([#>|`~-])", r"\\\1", line) + ("\n\n" if ends else " ")
    return re.sub(r"\n\n+", "\n\n", text).strip()


def _csv(name: str, data: bytes, _limit: int) -> Loaded:
    text = _decoded(name, data)
    quoted = csv.reader(io.StringIO(text), delimiter=_delimiter(name, text), skipinitialspace=True, strict=True)
    rows = [[cell.strip() for cell in row] for row in quoted if row]
    columns = rows[0] if rows else []
    asked, answered = _column(columns, _QUESTION), _column(columns, _ANSWER)
    parts = [_row(row, columns, asked, answered) for row in rows[1:]]
    return Loaded(name, "", "\n\n".join(part for part in parts if part), True, {})


def _delimiter(name: str, text: str) -> str:
    """What separates the cells, by the first rows. They do not tell how the others are quoted: that is as usual."""
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return "\t" if name.lower().endswith(".tsv") else ","


def _column(columns: list[str], names: tuple[str, ...]) -> int | None:
    """The place of the first of these names that is there."""
    found = [column.lower() for column in columns]
    return next((found.index(name) for name in names if name in found), None)


def _row(cells: list[str], columns: list[str], asked: int | None, answered: int | None) -> str:
    """A row as a section: its question, or its first cell, is the heading. Columns beside the answer stand below it."""
    told = dict(enumerate(cells))
    heading = " ".join(told.get(asked or 0, "").split()).lstrip("# ")
    answer = ""
    if asked is not None and answered is not None:
        answer, _ = told.pop(answered, ""), told.pop(asked, "")
    named = [f"{columns[at]}: " if at < len(columns) and columns[at] else "" for at in range(len(cells))]
    rest = "  \n".join(named[at] + cell for at, cell in told.items() if cell)
    body = "\n\n".join(part for part in (answer, rest) if part)
    return f"## {heading or '–'}\n\n{body}" if body else ""


_READERS: dict[str, Callable[[str, bytes, int], Loaded]] = {
    "Markdown": _markdown,
    "text": _text,
    "HTML": _html,
    "PDF": _pdf,
    "Word": _word,
    "CSV": _csv,
}
