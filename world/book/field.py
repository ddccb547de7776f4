"""The fields of lorebook entries in the formats of other programs, in one table; the rest is derived from it.

Sources: SillyTavern's World Info, the specifications of character cards v2 and v3, RisuAI's lorebook. A file whose
entries have a field that is not in the table keeps it: ``LoreEntry.extra`` holds the whole entry as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from store.world.record import Layer

Format = Literal["world_info", "card_v2", "card_v3", "risu"]


PROBLEMS = {
    "not_text": "{field} must be a text, not {kind}",
    "not_texts": "{field} must be a list of texts, not {kind}",
    "not_flag": "{field} must be true or false, not {kind}",
    "not_object": "{field} must be an object",
    "not_entries": "{field} must be a list or an object",
    "not_known": "{field} must be one of {known}",
    "empty": "{field} is empty",
    "too_long": "{field} has {size:,} characters; the limit is {limit:,}",
    "too_many": "only the first {limit:,} entries were taken",
    "regex": "the key {key} is a regular expression and is not used",
    "no_json": "it is no JSON",
    "no_card": "it holds no card",
    "no_book": "it is neither a lorebook nor a character card",
    "damaged": "it is damaged",
    "locked": "it has a password or an unknown compression",
}
"""What can be wrong with a file, by code, for the page to translate."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What was wrong in a file. ``place``: where, such as ``entries[3]``; ``code``: of ``PROBLEMS``; ``values``: the
    names and numbers in its sentence; ``left_out``: whether the entry at this place was left out."""

    place: str
    code: str
    values: Mapping[str, object]
    left_out: bool = True

    @property
    def text(self) -> str:
        """Returns the sentence in English."""
        return ": ".join(filter(None, (self.place, PROBLEMS[self.code].format(**self.values))))


class WrongField(ValueError):
    """A field has a value that its format does not allow. ``code``, ``values``: as of a ``Problem``."""

    def __init__(self, code: str, **values: object) -> None:
        self.code, self.values = code, values
        super().__init__(PROBLEMS[code].format(**values))


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that an entry says. ``names``: of the field in the three families of formats, tried in order; ``take``:
    reads a value (raises ``WrongField``); ``give``: writes it in the form of a format; ``default``: when it is
    missing."""

    names: Mapping[str, str]
    take: Callable[[str, Any], Any]
    default: Any = None


def text(name: str, value: Any) -> str:
    """Reads a text; numbers are taken as their digits, null as empty."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongField("not_text", field=name, kind=_kind(value))
    return str(value)


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Reads a list of texts; RisuAI writes the keys of an entry as one text with commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongField("not_texts", field=name, kind=_kind(value))
    return tuple(one.strip() for one in value if one.strip())


def flag(name: str, value: Any) -> bool:
    """Reads true or false; null is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if value in (0, 1):
        return bool(value)
    raise WrongField("not_flag", field=name, kind=_kind(value))


def layer(name: str, value: Any) -> Layer | None:
    """Reads one of Gieok's own layers from ``extensions.gieok``."""
    for known in get_args(Layer):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise WrongField("not_known", field=name, known=", ".join(get_args(Layer)))


CARD, INFO, RISU = "card", "world_info", "risu"
FIELDS: dict[str, Field] = {
    "keys": Field({CARD: "keys", INFO: "key", RISU: "key"}, texts, ()),
    "secondary": Field({CARD: "secondary_keys", INFO: "keysecondary", RISU: "secondkey"}, texts, ()),
    "content": Field({CARD: "content", INFO: "content", RISU: "content"}, text, ""),
    "name": Field({CARD: "name", INFO: "comment", RISU: "comment"}, text, ""),
    "comment": Field({CARD: "comment", INFO: "comment", RISU: "comment"}, text, ""),
    "enabled": Field({CARD: "enabled"}, flag, True),
    "disabled": Field({INFO: "disable"}, flag, False),
    "constant": Field({CARD: "constant", INFO: "constant", RISU: "alwaysActive"}, flag, False),
    "regex": Field({CARD: "use_regex", RISU: "useRegex"}, flag, False),
    "group": Field({INFO: "group", RISU: "folder"}, text, ""),
}
"""What Gieok uses of an entry, with the name that every family of formats gives it."""


def family(format: Format) -> str:
    """Returns the family whose names a format uses."""
    return CARD if format.startswith("card") else format


def _kind(value: Any) -> str:
    """Returns the kind of a value by its name in JSON."""
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
