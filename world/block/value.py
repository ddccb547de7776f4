"""The values of a state block: taken in the forms in which models write them, or refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from text.clean import collapse_spaces

NAME_CHARS = 80
WORD_CHARS = 40
MOST_ENTRIES = 20
MOST_HP = 10_000
MOST_HP_CHANGE = 1_000
MOST_DELTA = 100
_NOTHING = re.compile(r"[\s.…\-–—_()\[\]{}<>\"'`]*|none|null|nothing|n/?a|없음|무|해당 ?없음", re.IGNORECASE)
_NUMBER = re.compile(r"([+\-−]?\s*\d{1,9})\s*(?:hp|points?|pts|점|포인트)?\.?", re.IGNORECASE)
_YES, _NO = ("true", "yes", "y", "예", "네", "참", "o"), ("false", "no", "n", "아니오", "아니요", "거짓", "x")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")

_TO_PLACE = re.compile(r"(?P<name>[^:：→,\n]+?)\s*(?:->|→|=>|[:：])\s*(?P<place>[^,\n]+)")
"""A person with a place, in one text."""


class ValueRefusal(ValueError):
    """A value that is not taken. ``code``, ``values``: of the sentence that says why (``world.block.refusal``)."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.code, self.values = code, values


@dataclass(frozen=True, slots=True)
class RelationChange:
    """How what one character is to another has changed."""

    from_char: str
    to_char: str
    rel_type: str
    delta: int


def is_nothing(value: Any) -> bool:
    """Returns whether a value says that there is nothing, such as «none», «없음», «...», or an empty list."""
    if isinstance(value, str):
        return _NOTHING.fullmatch(value.strip()) is not None
    if isinstance(value, list | tuple):
        return all(map(is_nothing, value))
    return value is None or value == {}


def read_name_value(value: Any, longest: int = NAME_CHARS) -> str:
    """Returns a name on one line. Raises ``ValueRefusal``."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueRefusal("not_text")
    text = value.strip().strip("\"'`*")
    if _CONTROL.search(text):
        raise ValueRefusal("control")
    if len(text) > longest:
        raise ValueRefusal("too_long", size=len(text), limit=longest)
    return collapse_spaces(text)


def read_name_values(value: Any) -> list[str]:
    """Returns a list of names, which may be written as one text with commas; what is no text among others is left out.
    Raises ``ValueRefusal``."""
    if isinstance(value, str):
        value = re.split(r"(?<!\d),|,(?!\d{3}\b)|[、;\n]", value.strip().removeprefix("[").removesuffix("]"))
    if isinstance(value, Mapping):
        value = list(value)
    if not isinstance(value, list | tuple):
        value = [value]
    if len(value) > MOST_ENTRIES:
        raise ValueRefusal("too_many", limit=MOST_ENTRIES)
    given = [extract_inner_name(one) for one in value if not is_nothing(one)]
    texts = [one for one in given if isinstance(one, str | int | float) and not isinstance(one, bool)]
    return list(dict.fromkeys(map(read_name_value, texts or given)))


def read_person_places(value: Any) -> dict[str, str]:
    """Returns people with the place of each, empty where none is said: ``{Lina: the mill}``, «Lina → the mill»,
    ``{name: Lina, location: the mill}``. Raises ``ValueRefusal``."""
    if isinstance(value, Mapping) and "name" not in value:
        entries: list[Any] = [{"name": key, "location": item} for key, item in value.items()]
    else:
        entries = value if isinstance(value, list) else [value]
    if len(entries) > MOST_ENTRIES:
        raise ValueRefusal("too_many", limit=MOST_ENTRIES)
    found: dict[str, str] = {}
    refused: list[ValueRefusal] = []
    for entry in entries:
        try:
            for person, place in _split_place(entry):
                found[read_name_value(person)] = "" if is_nothing(place) else read_name_value(place)
        except ValueRefusal as error:
            refused.append(error)
    wrong = next((error for error in refused if error.code != "not_text" or not found), None)
    if wrong is not None:
        raise wrong
    return found


def _split_place(entry: Any) -> list[tuple[str, Any]]:
    """Returns the people that an entry names, each with his place."""
    if isinstance(entry, Mapping):
        keys = ("location", "place", "to", "위치", "장소")
        inner = extract_inner_name(entry)
        if inner is None and len(entry) == 1:
            return [(str(key), item) for key, item in entry.items()]
        return [(inner, next((entry[key] for key in keys if key in entry), None))] if inner is not None else []
    if isinstance(entry, str) and (match := _TO_PLACE.fullmatch(entry.strip())):
        return [(match["name"], match["place"])]
    return [(one, None) for one in read_name_values(entry)]


def extract_inner_name(value: Any) -> Any:
    """Returns the name in an object that has one, and a text without the dash of a list."""
    if isinstance(value, Mapping):
        return next((value[key] for key in ("name", "이름") if key in value), None)
    return re.sub(r"^\s*[-*•]\s+", "", value) if isinstance(value, str) else value


def read_whole_number(value: Any, most: int) -> int:
    """Returns a whole number between ``-most`` and ``most``. Raises ``ValueRefusal``."""
    if isinstance(value, bool):
        raise ValueRefusal("not_number")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())):
        value = int("".join(match[1].split()).replace("−", "-"))
    if not isinstance(value, int):
        raise ValueRefusal("not_number")
    if abs(value) > most:
        raise ValueRefusal("too_large", number=value, limit=most)
    return value


def read_truth_value(value: Any) -> bool:
    """Returns true or false. Raises ``ValueRefusal``."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().casefold() in (*_YES, *_NO):
        return value.strip().casefold() in _YES
    raise ValueRefusal("not_truth")


def read_relation_change(value: Any) -> RelationChange:
    """Returns one change of a relation. Raises ``ValueRefusal``."""
    if not isinstance(value, Mapping):
        raise ValueRefusal("not_relation")
    known = {str(key).strip().casefold(): item for key, item in value.items()}
    pair = [next((known[key] for key in keys if key in known), None) for keys in (("from", "누가"), ("to", "누구에게"))]
    if any(is_nothing(one) for one in pair):
        raise ValueRefusal("not_relation")
    one, other = map(read_name_value, pair)
    kind, delta = known.get("type", known.get("유형", "")), known.get("delta", known.get("변화", 0))
    if one == other:
        raise ValueRefusal("not_relation")
    word = "" if is_nothing(kind) else read_name_value(kind, WORD_CHARS)
    return RelationChange(one, other, word, 0 if is_nothing(delta) else read_whole_number(delta, MOST_DELTA))
