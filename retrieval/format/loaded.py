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


BROKEN = 50
"""Of so many characters of a text one may be broken."""
Reader = Callable[[str, bytes, int], Loaded]
"""From a name that can be shown, the bytes, and the limit in bytes. Raises a ``DocumentError``, or what its library
raises for a broken file."""


def decoded(name: str, data: bytes, declared: str = "") -> str:
    """Text in UTF-8, UTF-16 with its mark, the encoding that it declares, or the older Korean one.

    In the declared encoding a few characters may be broken. Raises ``DocumentBroken``.
    """
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    strict = ("utf-16",) if marked else ("utf-8-sig", declared, "cp949")
    tries = [*((each, "strict", "\x00") for each in strict), (declared, "replace", "\ufffd")]
    for encoding, errors, damage in tries:
        try:
            text = data.decode(encoding, errors)
        except (UnicodeDecodeError, LookupError):  # also of no encoding, and of those that decode no text
            continue
        if text.count(damage) * BROKEN <= len(text):
            return clean(text).replace("\r\n", "\n").replace("\r", "\n")
    raise DocumentBroken(name=name, reason="it is no text in UTF-8, UTF-16 or CP949", reason_code="no_text")
