"""The result of every reader, and the decoding of bytes into text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from errors import DocumentBroken
from text.clean import clean


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as text. ``markdown``: whether the text is Markdown; ``front``: the values of its YAML front matter."""

    name: str
    title: str
    text: str
    markdown: bool
    front: dict[str, str]


BROKEN = 50
"""At most one in this many characters of a text may be broken."""
Reader = Callable[[str, bytes, int], Loaded]
"""A function that reads a name that can be shown, the bytes, and the limit in bytes. Raises a ``DocumentError``, or the
error of its library for a broken file."""


def decoded(name: str, data: bytes, declared: str = "") -> str:
    """Returns text from UTF-8, UTF-16 with its byte order mark, the declared encoding, or the older Korean one (CP949).

    In the declared encoding a few characters may be broken. Raises ``DocumentBroken``.
    """
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    strict = ("utf-16",) if marked else ("utf-8-sig", declared, "cp949")
    attempts = [*((candidate, "strict", "\x00") for candidate in strict), (declared, "replace", "\ufffd")]
    for encoding, errors, damage in attempts:
        try:
            text = data.decode(encoding, errors)
        except (UnicodeDecodeError, LookupError):  # LookupError: an unknown encoding, or one that is not for text
            continue
        if text.count(damage) * BROKEN <= len(text):
            return clean(text).replace("\r\n", "\n").replace("\r", "\n")
    raise DocumentBroken(name=name, reason="it is no text in UTF-8, UTF-16 or CP949", reason_code="no_text")
