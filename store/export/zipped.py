"""ZIP archives: ChatGPT's export, which holds ``conversations.json`` among pictures and pages, and Gieok's own, which
holds one JSON file per conversation.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from errors import BadConversation, FileTooLarge
from text.clean import encodable

NAME = "conversations.json"
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods whose members can be read in steps of a known size; other methods could fill memory in
one step.
"""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError)


def is_zip(data: bytes) -> bool:
    """Returns whether the data begins like a ZIP archive; no JSON begins with these letters."""
    return data.startswith(b"PK")


def zipped(files: Mapping[str, str]) -> bytes:
    """Returns a ZIP archive of the texts, each under its name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, encodable(content))
    return buffer.getvalue()


def unzipped(data: bytes, limit: int) -> list[bytes]:
    """Returns the content of ``conversations.json``, in whichever folder of the archive it lies. Returns the contents
    of all JSON files when the archive has no such file.

    Unpacks at most ``limit`` bytes, whatever sizes the archive states. Raises ``FileTooLarge``; raises
    ``BadConversation`` for an archive without JSON files, with a password, or with damage.
    """
    contents: list[bytes] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in _members(archive):
                contents.append(_content(archive, member, limit - sum(map(len, contents)), limit))
    except _DAMAGED as error:
        raise _bad(f"the archive is damaged ({error})", "damaged", detail=str(error)) from error
    return contents


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int, limit: int) -> bytes:
    if member.flag_bits & 1:
        raise _bad("it is protected by a password", "password", member.filename)
    if member.compress_type not in _KNOWN:
        raise _bad("it is compressed in an unknown way", "compression", member.filename)
    with archive.open(member) as file:
        content = file.read(room + 1)
    if len(content) > room:
        raise FileTooLarge(size=max(limit - room + member.file_size, limit + 1), limit=limit)
    return content


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Returns ChatGPT's file nearest to the top, else all JSON files. The copies that macOS adds to an archive lie
    deeper.
    """
    paths = {member: PurePosixPath(member.filename) for member in archive.infolist() if not member.is_dir()}
    named = [member for member, path in paths.items() if path.name == NAME]
    if named:
        return [min(named, key=lambda member: member.filename.count("/"))]
    files = [member for member, path in paths.items() if path.suffix.lower() == ".json" and path.parts[0] != "__MACOSX"]
    if not files:
        raise _bad(f"it has no {NAME}", "no_member", wanted=NAME)
    return files


def _bad(reason: str, reason_code: str, place: str = "", **values: object) -> BadConversation:
    where = {"place": place} if place else {"place": "the archive", "place_code": "archive"}
    return BadConversation(reason=reason, reason_code=reason_code, **where, **values)
