"""The values of fields in the files of other programs: read with an error that names the field, and written again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from store.world.record import Layer

PROBLEMS = {
    "not_text": "{field} must be a text, not {kind}",
    "not_texts": "{field} must be a list of texts, not {kind}",
    "not_flag": "{field} must be true or false, not {kind}",
    "not_number": "{field} must be a number, not {kind}",
    "not_object": "{field} must be an object",
    "not_entries": "{field} must be a list or an object",
    "not_known": "{field} must be one of {known}",
    "empty": "{field} is empty",
    "folder": "{field} is a folder, not an entry; it is kept for the export",
    "too_long": "{field} has {size:,} characters; the limit is {limit:,}",
    "too_many": "only the first {limit:,} entries were taken",
    "regex": "the key {key} is a regular expression that is not understood, and fires nothing",
    "decorator": "@@{key} does nothing here and stays out of prompts",
    "macro": "the macro {key} is not known and stays as it is written",
    "tag_id": "the tag {key} is known to another installation only, and filters nothing",
    "no_json": "it is no JSON",
    "no_card": "it holds no card",
    "no_book": "it is no file of a known kind. Known are World Info of SillyTavern, character cards v1, v2 and v3 "
    "(JSON, PNG, APNG, CHARX), lorebook_v3, lorebooks and modules of RisuAI, lorebooks of NovelAI, memory books "
    "and characters of Agnai, and plain lists of such entries",
    "risum": "it is a packed module of RisuAI (.risum). Import it there and export it as CHARX or as a lorebook",
    "damaged": "it is damaged",
    "locked": "it has a password or an unknown compression",
}
"""What can be wrong with a file, by code, for the page to translate."""


@dataclass(frozen=True, slots=True)
class BookProblem:
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
    """A field has a value that its format does not allow. ``code``, ``values``: as of a ``BookProblem``."""

    def __init__(self, code: str, **values: object) -> None:
        self.code, self.values = code, values
        super().__init__(PROBLEMS[code].format(**values))


def _write_plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that an entry says. ``paths``: where it may stand, with dots between the names; the first is written to
    when there is none. ``take`` reads a value (raises ``WrongField``), ``give`` writes it. ``always``: written into new
    entries also with its usual value."""

    paths: tuple[str, ...]
    take: Callable[[str, Any], Any]
    give: Callable[[Any], Any] = _write_plain_value
    always: bool = False

    def find(self, raw: Mapping[str, Any]) -> str | None:
        """Returns the path at which an entry has the field; null counts as not there."""
        return next((path for path in self.paths if value_at(raw, path) is not None), None)


def value_at(raw: Any, path: str) -> Any:
    """Returns the value at a path; None where there is none."""
    for name in path.split("."):
        raw = raw.get(name) if isinstance(raw, Mapping) else None
    return raw


def set_at(raw: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a path; objects on the way are copied, or made."""
    *way, last = path.split(".")
    for name in way:
        inner = raw.get(name)
        raw[name] = dict(inner) if isinstance(inner, Mapping) else {}
        raw = raw[name]
    raw[last] = value


# --- readers ----------------------------------------------------------------------------------------


def read_text_field(name: str, value: Any) -> str:
    """Reads a text; numbers are taken as their digits, null as empty."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongField("not_text", field=name, kind=_name_json_kind(value))
    return str(value)


def read_texts_field(name: str, value: Any) -> tuple[str, ...]:
    """Reads a list of texts, or one text with commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongField("not_texts", field=name, kind=_name_json_kind(value))
    return tuple(one.strip() for one in value if one.strip())


def read_flag_field(name: str, value: Any) -> bool:
    """Reads true or false; null is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if value in (0, 1):
        return bool(value)
    raise WrongField("not_flag", field=name, kind=_name_json_kind(value))


def no_flag(name: str, value: Any) -> bool:
    """Reads the opposite of a flag."""
    return not read_flag_field(name, value)


def read_number_field(name: str, value: Any) -> float:
    """Reads a number, also one in a text; below 0 is 0."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongField("not_number", field=name, kind=_name_json_kind(value))
    try:
        read = float(value or 0)
    except (ValueError, OverflowError) as error:
        raise WrongField("not_number", field=name, kind=_name_json_kind(value)) from error
    if read != read or abs(read) > 1e9:
        raise WrongField("not_number", field=name, kind=_name_json_kind(value))
    return int(read) if read.is_integer() else read


def read_count_field(name: str, value: Any) -> int:
    """Reads a whole number from 0 on; true is 1."""
    return max(0, int(value if isinstance(value, bool) else read_number_field(name, value)))


def make_choice_reader(known: Sequence[str], *others: str) -> Callable[[str, Any], str]:
    """Returns a reader for one of these words, or its place in their order."""

    def read(name: str, value: Any) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(known):
            return known[value]
        if value in known or value in others:
            return str(value)
        raise WrongField("not_known", field=name, known=", ".join((*map(str, range(len(known))), *others)))

    return read


def read_layer_field(name: str, value: Any) -> Layer:
    """Reads one of Gieok's own layers from ``extensions.gieok``."""
    for known in get_args(Layer):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise WrongField("not_known", field=name, known=", ".join(get_args(Layer)))


def _name_json_kind(value: Any) -> str:
    """Returns the kind of a value by its name in JSON."""
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(type(value), "number")
