"""ZIP archives: the exports of ChatGPT and claude.ai, which hold ``conversations.json`` (a large one
``conversations-000.json`` and on) among other files, and Gieok's own, which holds one JSON file per conversation.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from errors import BadConversation, FileTooLarge
from text.clean import escape_surrogates

NAME = "conversations.json"
_NAMES = re.compile(r"conversations[\s_(-]*\d*\)?\.json", re.IGNORECASE)
_ENDS = (".json", ".jsonl")
_KNOWN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods whose members can be read in steps of a known size; other methods could fill memory in
one step.
"""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError)


def is_zip_archive(data: bytes) -> bool:
    """Returns whether the data begins like a ZIP archive; no JSON begins with these letters."""
    return data.startswith(b"PK")


def build_zip(files: Mapping[str, str]) -> bytes:
    """Returns a ZIP archive of the texts, each under its name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, escape_surrogates(content))
    return buffer.getvalue()


def unzip_conversations(data: bytes, limit: int) -> list[tuple[str, bytes]]:
    """Returns the content of ``conversations.json``, or of all its parts, in whichever folder of the archive they lie.
    Returns the contents of all JSON files when the archive has no such file.

    Unpacks at most ``limit`` bytes, whatever sizes the archive states. Raises ``FileTooLarge``; raises
    ``BadConversation`` for an archive without JSON files, with a password, or with damage.
    """
    contents: list[tuple[str, bytes]] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in _find_json_members(archive):
                room = limit - sum(len(content) for _, content in contents)
                contents.append((member.filename, _read_member(archive, member, room, limit)))
    except _DAMAGED as error:
        raise _build_archive_error(f"the archive is damaged ({error})", "damaged", detail=str(error)) from error
    return contents


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int, limit: int) -> bytes:
    if member.flag_bits & 1:
        raise _build_archive_error("it is protected by a password", "password", member.filename)
    if member.compress_type not in _KNOWN:
        raise _build_archive_error("it is compressed in an unknown way", "compression", member.filename)
    with archive.open(member) as file:
        content = file.read(room + 1)
    if len(content) > room:
        raise FileTooLarge(size=max(limit - room + member.file_size, limit + 1), limit=limit)
    return content


def _find_json_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Returns the files of conversations nearest to the top, else all JSON files. The copies that macOS adds to an
    archive lie deeper.
    """
    paths = {member: PurePosixPath(member.filename) for member in archive.infolist() if not member.is_dir()}
    named = sorted(
        (member for member, path in paths.items() if _NAMES.fullmatch(path.name)),
        key=lambda member: (len(paths[member].parts), member.filename),
    )
    if named:
        return [member for member in named if paths[member].parent == paths[named[0]].parent]
    files = [
        member for member, path in paths.items() if path.suffix.lower() in _ENDS and not path.name.startswith("._")
    ]
    if not files:
        raise _build_archive_error(f"it has no {NAME}", "no_member", wanted=NAME)
    return files


def _build_archive_error(reason: str, reason_code: str, place: str = "", **values: object) -> BadConversation:
    where = {"place": place} if place else {"place": "the archive", "place_code": "archive"}
    return BadConversation(reason=reason, reason_code=reason_code, **where, **values)
