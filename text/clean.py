"""What a model, a JSON body or msgpack can take of any text. The transcript keeps the original."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with lone surrogates as U+FFFD and without NUL; everything else as it is."""
    return _SURROGATE.sub("\ufffd", text).replace("\x00", "")
