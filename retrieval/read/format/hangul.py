"""Hangul documents (HWP 5): records in the streams of an OLE file, as the format's own description gives them
(«한글 문서 파일 형식 5.0», revision 1.3)."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from errors import DocumentBroken, DocumentEncrypted, DocumentTooLarge
from retrieval.read.format.archive import UNPACKED, write_cell, write_element
from retrieval.read.format.hangul_zip import outline_level
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded, own_title

_STYLE, _PARAGRAPH, _TEXT, _CONTROL, _LIST, _TABLE = 0x1A, 0x42, 0x43, 0x47, 0x48, 0x4D
_PACKED, _LOCKED, _FOR_PRINT = 1, 2, 4
"""Bits of the file's header: streams are compressed; a password; «배포용 문서», whose text is in another storage."""
_WIDE = frozenset((*range(1, 10), 11, 12, *range(14, 24)))
"""Control characters that take eight places of the text instead of one."""
_BREAKS = {9: " ", 10: "\n", 13: "", 24: "-", 30: " ", 31: " "}
_HEAD = ("head", "foot")
_SUMMARY, _TITLE = "\x05HwpSummaryInformation", 2


@dataclass(slots=True)
class _HangulRecord:
    """A record with those below it. ``tag`` −1: the root."""

    tag: int
    level: int
    data: bytes
    inside: list[_HangulRecord] = field(default_factory=list)


def read_hangul(name: str, data: bytes, limit: int) -> Loaded:
    import olefile

    with olefile.OleFileIO(io.BytesIO(data)) as file:
        header = file.openstream("FileHeader").read()
        flags = int.from_bytes(header[36:40], "little")
        if flags & (_LOCKED | _FOR_PRINT):
            raise DocumentEncrypted(name=name)
        paths = ["/".join(path) for path in file.listdir()]
        streams = [(int(path[16:]), path) for path in paths if re.fullmatch(r"BodyText/Section\d+", path)]
        left = limit * UNPACKED
        parts = list[bytes]()
        for path in ("DocInfo", *(path for _, path in sorted(streams))):
            parts.append(_unpack_stream(name, file.openstream(path).read(), flags & _PACKED, left, limit))
            left -= len(parts[-1])
        levels = _read_style_levels(parts[0])
        blocks = [
            block for part in parts[1:] for block in _write_records(_build_record_tree(name, part).inside, levels)
        ]
        about = file.getproperties(_SUMMARY) if file.exists(_SUMMARY) else {}
    title = about.get(_TITLE)
    said = own_title(title) if isinstance(title, str) else ""
    return from_html(name, write_element("title", said) + "\n".join(blocks))


def _unpack_stream(name: str, data: bytes, packed: int, left: int, limit: int) -> bytes:
    if not packed:
        return data
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    plain = unpack.decompress(data, left + 1)
    if len(plain) > left:
        raise DocumentTooLarge(name=name, size=limit * UNPACKED + 1, limit=limit * UNPACKED)
    return plain


def _iterate_records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields tag, level and data of each record."""
    at = 0
    while at + 4 <= len(data):
        (head,) = struct.unpack_from("<I", data, at)
        at, size = at + 4, head >> 20
        if size == 0xFFF:
            (size,) = struct.unpack_from("<I", data, at)
            at += 4
        yield head & 0x3FF, head >> 10 & 0x3FF, data[at : at + size]
        at += size


def _build_record_tree(name: str, data: bytes) -> _HangulRecord:
    """Returns the records of a section below their parents."""
    root = _HangulRecord(-1, -1, b"")
    open_ = [root]
    for tag, level, content in _iterate_records(data):
        while open_[-1].level >= level:
            open_.pop()
        record = _HangulRecord(tag, level, content)
        open_[-1].inside.append(record)
        open_.append(record)
        if len(open_) > 200:
            reason = "its parts lie more than 200 deep"
            raise DocumentBroken(name=name, reason=reason, reason_code="damaged", detail=reason)
    return root


def _read_style_levels(info: bytes) -> list[int]:
    """Returns the level of the heading that each style stands for, 0 for other styles, by the number of the style."""
    levels = list[int]()
    for tag, _, data in _iterate_records(info):
        if tag == _STYLE:
            local, rest = _take_counted_text(data)
            english, _ = _take_counted_text(rest)
            levels.append(max(outline_level(local), outline_level(english)))
    return levels


def _take_counted_text(data: bytes) -> tuple[str, bytes]:
    """Returns a text that its length goes before, and the data behind it."""
    end = 2 + 2 * int.from_bytes(data[:2], "little")
    return data[2:end].decode("utf-16-le", "replace"), data[end:]


def _write_records(records: list[_HangulRecord], levels: list[int]) -> Iterator[str]:
    """Yields the paragraphs among these records in HTML, with the tables and text boxes that hang on them."""
    for record in records:
        if record.tag != _PARAGRAPH:
            continue
        style = record.data[10] if len(record.data) > 10 else 0
        level = levels[style] if style < len(levels) else 0
        text = "".join(_read_letters(each.data) for each in record.inside if each.tag == _TEXT)
        yield write_element(f"h{min(level, 6)}" if level else "p", text)
        for control in (each for each in record.inside if each.tag == _CONTROL):
            kind = control.data[3::-1].decode("latin-1")
            if kind == "tbl ":
                yield _write_record_table(control, levels)
            elif kind not in _HEAD:
                yield from _write_nested_lists(control, levels)


def _write_nested_lists(record: _HangulRecord, levels: list[int]) -> Iterator[str]:
    """Yields the paragraphs of text boxes and notes below a record."""
    yield from _write_records(record.inside, levels)
    for inner in record.inside:
        if inner.tag not in (_PARAGRAPH, _TABLE):
            yield from _write_nested_lists(inner, levels)


def _write_record_table(control: _HangulRecord, levels: list[int]) -> str:
    """Returns a table in HTML. The paragraphs of a cell follow its list header, on the same level; what comes before
    the table's own record is its caption."""
    rows: dict[int, list[str]] = {}
    cell, paragraphs = None, list[_HangulRecord]()
    start = next((at for at, record in enumerate(control.inside) if record.tag == _TABLE), -1) + 1
    caption = "".join(_write_records(control.inside[:start], levels))
    for record in [*control.inside[start:], _HangulRecord(_LIST, 0, b"")]:
        if record.tag != _LIST:
            paragraphs.append(record)
            continue
        if cell is not None and len(cell.data) >= 16:
            _, row, columns, spanned = struct.unpack_from("<4H", cell.data, 8)
            inner = "".join(_write_records([*cell.inside, *paragraphs], levels))
            rows.setdefault(row, []).append(write_cell(inner, columns, spanned))
        cell, paragraphs = record, []
    return f"{caption}<table>{''.join(f'<tr>{chr(10).join(rows[row])}</tr>' for row in sorted(rows))}</table>"


def _read_letters(data: bytes) -> str:
    """Returns the letters of a paragraph's text, without its control characters."""
    letters, at = list[str](), 0
    units = struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])
    while at < len(units):
        code = units[at]
        if code >= 32:
            letters.append(chr(code))
        elif code in _BREAKS:
            letters.append(_BREAKS[code])
        at += 8 if code in _WIDE else 1
    return "".join(letters).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
