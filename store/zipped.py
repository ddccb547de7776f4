"""ChatGPT's export as it comes: a ZIP archive in which ``conversations.json`` is one file among pictures and pages."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import PurePosixPath

from errors import BadConversation, FileTooLarge

NAME = "conversations.json"
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How members are compressed that can be read in steps of a known size; the others could fill memory in one step."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError)


def is_zip(data: bytes) -> bool:
    """By its first letters: no JSON begins with them."""
    return data.startswith(b"PK")


def unzipped(data: bytes, limit: int) -> bytes:
    """What stands in ``conversations.json``, in whichever folder of the archive it is.

    No more than ``limit`` bytes are unpacked, whatever the archive says of itself. Raises ``FileTooLarge``, and
    ``BadConversation`` for an archive without it, with a password, or damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = _member(archive)
            if found.flag_bits & 1:
                raise _bad("it is protected by a password", "password", found.filename)
            if found.compress_type not in _KNOWN:
                raise _bad("it is compressed in an unknown way", "compression", found.filename)
            with archive.open(found) as member:
                content = member.read(limit + 1)
    except _DAMAGED as error:
        raise _bad(f"the archive is damaged ({error})", "damaged", detail=str(error)) from error
    if len(content) > limit:
        raise FileTooLarge(size=max(found.file_size, len(content)), limit=limit)
    return content


def _member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one nearest to the top; copies of it that macOS adds lie deeper."""
    named = [each for each in archive.infolist() if PurePosixPath(each.filename).name == NAME]
    if not named:
        raise _bad(f"it has no {NAME}", "no_member", wanted=NAME)
    return min(named, key=lambda each: each.filename.count("/"))


def _bad(reason: str, reason_code: str, place: str = "", **values: object) -> BadConversation:
    where = {"place": place} if place else {"place": "the archive", "place_code": "archive"}
    return BadConversation(reason=reason, reason_code=reason_code, **where, **values)
