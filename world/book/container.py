"""Files that carry a card's JSON inside: PNG pictures (a text chunk) and CHARX archives (``card.json``)."""

from __future__ import annotations

import base64
import binascii
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from errors import BadBook, FileTooLarge
from world.book.field import PROBLEMS, value_at

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNKS = (b"ccv3", b"chara")
"""Keywords of the text chunk, the newer first (specification of character cards v3, «PNG/APNG»)."""
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError, RuntimeError)
_MODULE = "module.risum"
_PICTURES = ("assets/icon/image/main.png", "assets/main.png")


def build_book_error(name: str, code: str, **values: object) -> BadBook:
    """Returns the error of a file that cannot be read, by its code in ``PROBLEMS``."""
    reason = PROBLEMS[code].format(**values)
    return BadBook(name=name, reason=reason, reason_code=code, **values)


def is_png(data: bytes) -> bool:
    """Returns whether the data begins like a PNG."""
    return data.startswith(_SIGNATURE)


def is_zip_book(data: bytes) -> bool:
    """Returns whether the data begins like a ZIP archive, or holds one behind a picture, as RisuAI writes CHARX."""
    return data.startswith(b"PK\x03\x04") or (data[:2] == b"\xff\xd8" and zipfile.is_zipfile(io.BytesIO(data)))


def card_in_png(data: bytes, name: str) -> bytes:
    """Returns the JSON in a picture's text chunk. Raises ``BadBook`` for a picture without one."""
    texts = dict(_list_png_texts(data, name))
    for keyword in _CHUNKS:
        if keyword in texts:
            try:
                return base64.b64decode(texts[keyword], validate=True)
            except binascii.Error as error:
                raise build_book_error(name, "damaged") from error
    raise build_book_error(name, "no_card")


def _list_png_texts(data: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    for kind, content in _list_png_chunks(data, name):
        if kind == b"tEXt":
            keyword, _, text = content.partition(b"\0")
            yield keyword, text


def _list_png_chunks(data: bytes, name: str) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if at + 12 + size > len(data):
            raise build_book_error(name, "damaged")
        yield kind, data[at + 8 : at + 8 + size]
        at += 12 + size


def card_in_charx(data: bytes, name: str, limit: int) -> tuple[bytes, bytes]:
    """Returns ``card.json`` of an archive, and its main picture if that is a PNG. Unpacks at most ``limit`` bytes,
    whatever sizes the archive states. Raises ``BadBook``, ``FileTooLarge``."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "card.json" not in names:
                raise build_book_error(name, "no_card")
            card = _read_zip_member(archive, "card.json", limit)
            picture = next((one for one in _PICTURES if one in names), "")
            content = _read_zip_member(archive, picture, limit - len(card)) if picture else b""
    except _DAMAGED as error:
        raise build_book_error(name, "damaged") from error
    return card, content if is_png(content) else b""


def _read_zip_member(archive: zipfile.ZipFile, name: str, room: int) -> bytes:
    member = archive.getinfo(name)
    if member.flag_bits & 1 or member.compress_type not in _KNOWN:
        raise build_book_error(name, "locked")
    with archive.open(member) as file:
        content = file.read(room + 1)
    if len(content) > room:
        raise FileTooLarge(size=max(member.file_size, room + 1), limit=room)
    return content


def png_with(picture: bytes, cards: dict[bytes, bytes]) -> bytes:
    """Returns a picture that holds the cards, each under its keyword, in place of the cards that it held."""
    pieces = [_SIGNATURE]
    for kind, content in _list_png_chunks(picture or make_blank_picture(), "picture"):
        if kind == b"tEXt" and content.partition(b"\0")[0] in _CHUNKS:
            continue
        if kind == b"IEND":
            pieces += [_write_png_chunk(b"tEXt", key + b"\0" + base64.b64encode(card)) for key, card in cards.items()]
        pieces.append(_write_png_chunk(kind, content))
    return b"".join(pieces)


def make_blank_picture(width: int = 400, height: int = 600) -> bytes:
    """Returns a plain picture for a card that has none."""
    line = b"\0" + bytes((96, 108, 140)) * width
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(line * height, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_write_png_chunk(kind, content) for kind, content in parts)


def _write_png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def charx_with(card: bytes, picture: bytes, before: bytes = b"") -> bytes:
    """Returns a CHARX archive of the card and its picture; with everything else that the archive ``before`` has. RisuAI
    reads the lore from its module where there is one, so that of a changed lorebook is left out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", card)
        if before:
            _copy_members(before, archive, card)
        elif picture:
            archive.writestr(_PICTURES[0], picture)
    return buffer.getvalue()


def has_module(data: bytes) -> bool:
    """Returns whether an archive holds a module of RisuAI: its scripts, and the lore once more."""
    if not is_zip_book(data):
        return False
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _MODULE in archive.namelist()


def _copy_members(before: bytes, archive: zipfile.ZipFile, card: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(before)) as source:
        same = _read_lore(source.read("card.json")) == _read_lore(card)
        skipped = {"card.json"} if same else {"card.json", _MODULE}
        for member in source.infolist():
            if member.filename not in skipped and not member.is_dir():
                archive.writestr(member.filename, source.read(member), member.compress_type)


def _read_lore(card: bytes) -> Any:
    return value_at(json.loads(card.decode("utf-8-sig")), "data.character_book.entries")
