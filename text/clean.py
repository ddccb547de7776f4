"""Cleaning of text for a model, a JSON body or msgpack. The transcript keeps the original text."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Returns the text with lone surrogates replaced by U+FFFD and without NUL; changes nothing else."""
    return _SURROGATE.sub("\ufffd", text).replace("\x00", "")


def encodable(written: str) -> str:
    """Returns JSON that UTF-8 can encode: replaces lone surrogates by the escapes that JSON reads back."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
