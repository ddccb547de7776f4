"""The SHA-256 of a text: the same for the same letters, on every machine."""

from __future__ import annotations

import hashlib


def hash_text(text: str) -> str:
    """Returns the hash in hexadecimal digits, also of a text with lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
