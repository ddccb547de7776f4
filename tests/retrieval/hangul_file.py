"""Hangul documents (HWP 5) made by hand: an OLE file with records as Hangul writes them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

_SECTOR, _FREE, _END, _FAT = 512, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_LEAST = 4096  # a smaller stream would stand in the small sectors
Row = Sequence[tuple[str, int, int]]
"""Cells as (text, columns, rows)."""


def record(tag: int, level: int, data: bytes) -> bytes:
    """A record of a stream."""
    if len(data) < 0xFFF:
        return struct.pack("<I", tag | level << 10 | len(data) << 20) + data
    return struct.pack("<II", tag | level << 10 | 0xFFF << 20, len(data)) + data


def paragraph(text: str, style: int = 0, level: int = 0) -> bytes:
    """A paragraph; style 1 is an outline's first level, 2 its second."""
    letters = f"{text}\r".encode("utf-16-le")
    head = struct.pack("<IIHBB", len(letters) // 2, 0, 0, style, 0) + bytes(10)
    return record(0x42, level, head) + record(0x43, level + 1, letters)


def table(rows: Sequence[Row], columns: int) -> bytes:
    """A paragraph with a table."""
    control = struct.pack("<8H", 11, 0x6C62, 0x7420, 0, 0, 0, 0, 11) + "\r".encode("utf-16-le")
    made = record(0x42, 0, struct.pack("<IIHBB", 9, 1 << 11, 0, 0, 0) + bytes(10)) + record(0x43, 1, control)
    made += record(0x47, 1, b" lbt" + bytes(42)) + record(
        0x4D, 2, struct.pack("<IHH", 0, len(rows), columns) + bytes(14)
    )
    covered = set[tuple[int, int]]()
    for at, row in enumerate(rows):
        column = 0
        for text, wide, deep in row:
            while (column, at) in covered:
                column += 1
            covered |= {(column + x, at + y) for x in range(wide) for y in range(deep)}
            made += record(0x48, 2, struct.pack("<HHI4H", 1, 0, 0, column, at, wide, deep) + bytes(22))
            made += paragraph(text, level=2)
    return made


def document(*parts: bytes, packed: bool = True, flags: int = 0) -> bytes:
    """A document of one section; ``flags``: of its header."""
    styles = b"".join(
        record(0x1A, 0, b"".join(struct.pack("<H", len(name)) + name.encode("utf-16-le") for name in both) + bytes(8))
        for both in (("바탕글", "Normal"), ("개요 1", "Outline 1"), ("개요 2", "Outline 2"))
    )
    header = b"HWP Document File".ljust(32, b"\0") + struct.pack("<II", 0x05000300, flags | packed) + bytes(216)
    return ole(header, *(_packed(stream) if packed else stream for stream in (styles, b"".join(parts))))


def _packed(data: bytes) -> bytes:
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return press.compress(data) + press.flush()


def ole(header: bytes, info: bytes, section: bytes) -> bytes:
    """An OLE file with FileHeader, DocInfo and BodyText/Section0."""
    streams = [stream.ljust(_LEAST, b"\0") for stream in (header, info, section)]
    chains, body = list[list[int]](), b""
    for stream in streams:
        first, padded = len(body) // _SECTOR, stream.ljust(-(-len(stream) // _SECTOR) * _SECTOR, b"\0")
        body += padded
        chains.append(list(range(first, first + len(padded) // _SECTOR)))
    directory = len(body) // _SECTOR
    chains.append([directory, directory + 1])
    body += b"".join(
        [
            _entry("Root Entry", 5, child=2),
            _entry("FileHeader", 2, chains[0][0], len(streams[0])),
            _entry("BodyText", 1, left=3, right=1, child=4),
            _entry("DocInfo", 2, chains[1][0], len(streams[1])),
            _entry("Section0", 2, chains[2][0], len(streams[2])),
            bytes(128) * 3,
        ]
    )
    count = len(body) // _SECTOR
    fats = -(-count // 127)
    fat = [_FREE] * (fats * 128)
    for chain in chains:
        for sector, following in zip(chain, [*chain[1:], _END], strict=True):
            fat[sector] = following
    places = range(count, count + fats)
    for place in places:
        fat[place] = _FAT
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<9I", 0, fats, directory, 0, _LEAST, _END, 0, _END, 0)
    head += struct.pack("<109I", *places, *[_FREE] * (109 - fats))
    return head + body + struct.pack(f"<{len(fat)}I", *fat)


def _entry(
    name: str, kind: int, start: int = _END, size: int = 0, left: int = _FREE, right: int = _FREE, child: int = _FREE
) -> bytes:
    letters = name.encode("utf-16-le")
    head = letters.ljust(64, b"\0") + struct.pack("<HBBIII", len(letters) + 2, kind, 1, left, right, child)
    return head + bytes(36) + struct.pack("<IQ", start, size)
