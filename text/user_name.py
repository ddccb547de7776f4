"""The name of a user as others write it: a proxy in a header, a login in its claims."""

from __future__ import annotations

import contextlib
import unicodedata

ME = "me"
"""The user of page and terminal, and the owner of everything that was written before there were users."""
CHARS = 200
"""Most characters of a name (``store.database.schema.OWNER_CHARS``)."""


def user_name(value: str) -> str:
    """Returns the name in the form in which it is compared: NFC, without spaces around it.

    Returns an empty text for a value that names nobody: empty, longer than ``CHARS``, or with control characters.
    """
    name = unicodedata.normalize("NFC", value).strip()
    unusable = len(name) > CHARS or any(unicodedata.category(letter)[0] in "CZ" and letter != " " for letter in name)
    return "" if unusable else name


def from_header(value: str) -> str:
    """Returns the name of an HTTP header's value, which arrives as Latin-1 whatever the proxy meant.

    Bytes that are UTF-8 are read as such, as proxies write names beyond ASCII (RFC 9110, section 5.5).
    """
    with contextlib.suppress(UnicodeError):
        value = value.encode("latin-1").decode("utf-8")
    return user_name(value)
