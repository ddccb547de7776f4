"""Reads the fields of state blocks, however the model has written them. What cannot be read is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import yaml

from world.block.field import BY_NAME, LINE, Field, field_of, normalise_field_name
from world.block.reading.hidden import read_whole_answer
from world.block.reading.verdict import STATE, goes_on
from world.block.time import join_times, write_time

Fields = dict[Field, Any]
"""What a block says, by field: values as they were written, which ``world.block.check`` takes or refuses."""
_ON_FENCE = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*(?:state|상태)[ \t]+(?=\S+[ \t]*[:：])", re.IGNORECASE)
_MACRO = re.compile(r"(?<![\"'\w])(\{\{\w{1,20}\}\})(?![\"'\w])")
"""A name such as ``{{user}}``, which is an object to YAML."""
_ONE_LINE = re.compile(r"\s*`{3,}[^\n]*`{3,}\s*")
_NAMED = re.compile(r"([^\W\d]\w{1,30})[ \t]*[:：]")
"""A line that gives a value to a name, at its beginning."""
_EDGE = re.compile(r"<!--.*$|-->|^\s*(?:`{3,}|~{3,}).*$|</?[^<>\n]{1,20}>|^\s*\[/?[^\[\]\n]{1,20}\]\s*$", re.MULTILINE)
_ARROW = re.compile(
    r"^\s*(?P<from>.+?)\s*(?:->|→|=>)\s*(?P<to>.+?)\s*[:：]\s*(?P<type>[^()\d+-]*?)\s*\(?\s*(?P<delta>[+\-−]?\d+)?\s*\)?\s*$"
)


def read_answer_blocks(raw: str) -> list[Fields]:
    """Returns the fields of every block in an answer, in order; blocks without any are left out."""
    return [fields for block in read_whole_answer(raw).blocks if (fields := read_block(block))]


def unknown_fields(raw: str) -> list[str]:
    """Returns the names in the blocks of an answer that are no field of ours; in parts without any field none."""
    found: dict[str, None] = {}
    for block in read_whole_answer(raw).blocks:
        inside = _EDGE.sub("", _ON_FENCE.sub("", block)).strip()
        names = _names_in(inside)
        if any(normalise_field_name(name) in BY_NAME for name in names):
            found |= dict.fromkeys(name for name in names if normalise_field_name(name) not in BY_NAME)
    return list(found)


def _names_in(inside: str) -> list[str]:
    """Returns the names that a block gives values to."""
    for value in _parse_block_text(inside):
        if isinstance(value, Mapping):
            inner = next(iter(value.values())) if len(value) == 1 else None
            return [str(name) for name in (inner if isinstance(inner, Mapping) else value)]
    return [match[1] for line in inside.splitlines() if (match := _NAMED.match(line))]


def read_block(block: str) -> Fields:
    """Returns the fields of one block."""
    if _ONE_LINE.fullmatch(block):
        return {}  # where one field ends and the next begins is a guess
    inside = _MACRO.sub(r'"\1"', _EDGE.sub("", _ON_FENCE.sub("", block))).strip()
    for value in _parse_block_text(inside):
        if fields := read_parsed_fields(value):
            return fields
    return _by_line(inside)


def read_parsed_fields(value: Any) -> Fields:
    """Returns the fields of a parsed object, by their normal names."""
    if not isinstance(value, Mapping):
        return {}
    if len(value) == 1:
        ((name, inner),) = value.items()
        if isinstance(inner, Mapping) and str(name).casefold() in STATE:
            return read_parsed_fields(inner)
    fields: Fields = {}
    for name, item in value.items():
        if (field := BY_NAME.get(normalise_field_name(str(name)))) is not None:
            fields[field] = join_times(fields.get(field), write_time(str(name), item)) if field == "time" else item
    if "relationship_changes" in fields:
        fields["relationship_changes"] = _read_arrow_relations(fields["relationship_changes"])
    return fields


def _read_arrow_relations(given: Any) -> Any:
    """Returns changes of relations with those in arrows as objects; «A -> B: friend (+1)» is an object of one name to
    YAML."""
    entries = given if isinstance(given, list) else [given]
    told = [": ".join(map(str, *one.items())) if isinstance(one, Mapping) and len(one) == 1 else one for one in entries]
    arrows = [_ARROW.match(one) if isinstance(one, str) else None for one in told]
    if not any(arrows):
        return given
    return [match.groupdict() if match else one for match, one in zip(arrows, entries, strict=True)]


def _parse_block_text(text: str) -> Iterator[Any]:
    """Yields the text as JSON, then as YAML, where it is."""
    start, end = text.find("{"), text.rfind("}")
    if start >= 0 and not text[:start].strip():
        with suppress(ValueError, RecursionError):
            yield json.loads(text[start : end + 1])
    try:
        yield yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return


def _by_line(text: str) -> Fields:
    """Returns the fields line by line, so that a broken line loses one field only."""
    fields: Fields = {}
    for field, name, value in _split_field_pieces(text):
        if field == "time":
            fields[field] = join_times(fields.get(field), write_time(name, value.strip()))
        else:
            fields[field] = _parse_field_value(value)
    return fields


def _split_field_pieces(text: str) -> Iterator[tuple[Field, str, str]]:
    """Yields every field with its name and value: the rest of its line, and the lines of its list."""
    field: Field | None = None
    name, lines = "", list[str]()
    for line in text.splitlines():
        if (known := field_of(line)) is not None:
            if field is not None:
                yield field, name, "\n".join(lines)
            match = LINE.match(line)
            field, name, lines = known, match[1] if match else "", [match[2] if match else ""]
        elif line.strip() and field is not None and goes_on(line):
            lines.append(line)
    if field is not None:
        yield field, name, "\n".join(lines)


def _parse_field_value(text: str) -> Any:
    """Returns a value: by YAML where it is, relations in arrows as objects, else the text."""
    text = text.strip().rstrip(",")
    arrows = [match.groupdict() for line in text.splitlines() if (match := _ARROW.match(line.strip("-*• \t")))]
    if arrows:
        return arrows
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    return text if isinstance(value, Mapping) and "{" not in text and "\n" not in text else value


__all__ = ["Fields", "read_answer_blocks", "read_block", "read_parsed_fields", "unknown_fields"]
