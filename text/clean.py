"""Cleaning of text for a model, a JSON body or msgpack. The transcript keeps the original text."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from itertools import count
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Returns the text with lone surrogates replaced by U+FFFD and without NUL; changes nothing else."""
    return _SURROGATE.sub("\ufffd", text).replace("\x00", "")


def collapse_spaces(text: str) -> str:
    """Returns the text on one line, with single spaces inside and none around it."""
    return " ".join(text.split())


def parse_json(text: str | bytes) -> Any:
    """Returns the value of a JSON text. Raises ``ValueError`` for what is none, also where it is nested too deeply for
    Python's reader: nothing of ours is."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def refuse_json_constant(name: str) -> None:
    """Raises ``ValueError`` for a number that JSON does not know (NaN, Infinity), though Python's reader does."""
    raise ValueError(f"{name} is not a number")


def escape_surrogates(written: str) -> str:
    """Returns JSON that UTF-8 can encode: replaces lone surrogates by the escapes that JSON reads back."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def choose_free_name(name: str, taken: Container[str]) -> str:
    """Returns a file's name, with a number where it is taken: «map.png», «map (2).png» and on."""
    stem, dot, suffix = name.rpartition(".")
    numbered = (f"{stem or suffix} ({number}){dot if stem else ''}{suffix if stem else ''}" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
