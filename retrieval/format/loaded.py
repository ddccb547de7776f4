"""What every reader gives, and how bytes become text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from errors import DocumentBroken
from text.clean import clean


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as text. ``markdown``: whether marks in it mean something; ``front``: what its YAML front matter says."""

    name: str
    title: str
    text: str
    markdown: bool
    front: dict[str, str]


Reader = Callable[[str, bytes, int], Loaded]
"""From a name that can be shown, the bytes, and the limit in bytes. Raises a ``DocumentError``, or what its library
raises for a broken file."""


def decoded(name: str, data: bytes) -> str:
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
