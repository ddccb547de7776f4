"""Values in a model's JSON, read as they are meant: null is an empty list, one text is a list of one, "8/10" is 8.

For pydantic: ``BeforeValidator(words)``. ``model.call.json_reply`` finds the JSON itself in a reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

_NOTHING = ("", "null", "none", "n/a")
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:/\s*(\d+(?:\.\d+)?))?\s*")


def read_word(value: Any) -> Any:
    """Returns None for the words that stand for nothing, a number as its text, and the only text of an object."""
    if isinstance(value, dict):
        texts = [one for one in value.values() if isinstance(one, str)]
        return texts[0] if len(texts) == 1 else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None if isinstance(value, str) and value.strip().casefold() in _NOTHING else value


def read_words(value: Any) -> Any:
    """Returns the texts of a list, without what is no text; of a single text or number a list of one; of null none."""
    if value is None:
        return ()
    words = [read_word(one) for one in (value if isinstance(value, list | tuple) else [value])]
    return tuple(word for word in words if isinstance(word, str))


def make_number_reader(top: float) -> Callable[[Any], Any]:
    """Returns a reader of numbers out of ``top``, also from texts: "8", "8/10". A number out of another top is left as
    it is, so that nobody takes 4/5 for 4."""

    def read(value: Any) -> Any:
        found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
        return float(found[1]) if found and (found[2] is None or float(found[2]) == top) else value

    return read


def read_items(kind: type[BaseModel]) -> Callable[[Any], Any]:
    """Returns a reader of lists of ``kind`` that drops what cannot be read; a single object is a list of one, null an
    empty one."""

    def read(value: Any) -> Any:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(item for item in (_read_list_item(kind, one) for one in items) if item is not None)

    return read


def _read_list_item(kind: type[BaseModel], value: Any) -> BaseModel | None:
    try:
        return kind.model_validate(value)
    except ValidationError:
        return None
