"""JSON, YAML and XML: a list of alike records becomes a table, everything else an outline under its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from errors import DocumentBroken
from retrieval.read.escaped import escape_blocks, escape_heading
from retrieval.read.format.archive import local_name, parse_xml
from retrieval.read.format.loaded import Loaded, Sheet, decode_file
from retrieval.read.format.table import write_rows
from text.clean import clean_text, collapse_spaces

HEADINGS = 3
"""Keys down to this depth become headings; deeper ones are written before their values."""
NODES = 500_000
"""The most values that a YAML file may have once its aliases are followed."""


def read_json_file(name: str, data: bytes, _limit: int) -> Loaded:
    text = decode_file(name, data)
    if name.lower().endswith((".jsonl", ".ndjson")):
        return _load_outline(name, [json.loads(line) for line in text.splitlines() if line.strip()])
    return _load_outline(name, json.loads(text))


def read_yaml_file(name: str, data: bytes, _limit: int) -> Loaded:
    loader = yaml.BaseLoader(decode_file(name, data))
    documents = list[Any]()
    while loader.check_node():
        documents.append(_read_yaml_node(name, loader.get_node()))
    return _load_outline(name, documents[0] if len(documents) == 1 else documents)


def read_xml_file(name: str, data: bytes, _limit: int) -> Loaded:
    root = parse_xml(data)
    return _load_outline(name, {local_name(root): _read_element(root)})


def _read_yaml_node(name: str, root: Any) -> Any:
    """Returns the value of a YAML node. Aliases are followed, but only up to ``NODES`` values: a few lines of them can
    stand for billions."""
    left = [NODES]

    def value(node: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            reason = f"its aliases stand for more than {NODES:,} values"
            raise DocumentBroken(name=name, reason=reason, reason_code="damaged", detail=reason)
        if isinstance(node, yaml.MappingNode):
            return {str(value(key)): value(item) for key, item in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [value(item) for item in node.value]
        return node.value

    return value(root)


def _read_element(element: Any) -> Any:
    """Returns an element as text, or as its attributes and children by name; a repeated name gives a list."""
    children = [child for child in element if local_name(child)]
    if not children and not element.attrib:
        return "".join(element.itertext())
    if children and any((text or "").strip() for text in (element.text, *(child.tail for child in children))):
        return "".join(element.itertext())  # text with marks in it
    values: dict[str, Any] = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    if not children:
        return {**values, "": element.text or ""} if (element.text or "").strip() else values
    for child in children:
        for key, value in _name_child_values(child):
            known = values.get(key)
            values[key] = (
                value if key not in values else _Many([*(known if isinstance(known, _Many) else [known]), value])
            )
    return values


def _name_child_values(child: Any) -> list[tuple[str, Any]]:
    """Returns a child by its name; one with attributes and text as its text and its attributes, each by a name."""
    key, value = local_name(child), _read_element(child)
    if not (isinstance(value, dict) and "" in value):
        return [(key, value)]
    return [(key, value.pop("")), *((f"{key} {name}", text) for name, text in value.items())]


class _Many(list[Any]):
    """The children of one name."""


def _load_outline(name: str, value: Any) -> Loaded:
    sheets = list[Sheet]()
    text = clean_text("\n\n".join(part for part in _write_outline(value, (), sheets) if part.strip()))
    return Loaded(name, "", text, True, {}, tuple(sheets))


def _write_outline(value: Any, path: tuple[str, ...], sheets: list[Sheet]) -> Iterator[str]:
    """Yields the outline of a value in Markdown; ``sheets`` takes in the tables on the way."""
    if isinstance(value, list) and (columns := _find_record_columns(value)):
        rows = [[_write_scalar(record.get(column)) for column in columns] for record in value]
        sheets.append(Sheet(".".join(path), tuple(columns), tuple(map(tuple, rows))))
        yield write_rows(columns, rows, level=min(len(path) + 1, 6))
    elif isinstance(value, dict):
        yield "  \n".join(
            f"{escape_blocks(key)}: {escape_blocks(_write_scalar(item))}"
            for key, item in value.items()
            if _is_flat(item)
        )
        for key, item in value.items():
            if not _is_flat(item):
                yield from _write_below_key(key, item, path, sheets)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            if _is_flat(item):
                yield f"- {escape_blocks(_write_scalar(item))}"
            else:
                yield from _write_below_key(str(number), item, path, sheets)
    else:
        yield escape_blocks(_write_scalar(value))


def _write_below_key(key: str, value: Any, path: tuple[str, ...], sheets: list[Sheet]) -> Iterator[str]:
    heading = escape_heading(collapse_spaces(key)) or "–"
    if len(path) < HEADINGS:
        yield f"{'#' * (len(path) + 1)} {heading}"
        yield from _write_outline(value, (*path, key), sheets)
    else:
        yield f"{heading}: {escape_blocks(json.dumps(value, ensure_ascii=False))}"


def _find_record_columns(records: Sequence[Any]) -> list[str]:
    """Returns the keys of records that are alike, which make a table; [] when they make none."""
    if len(records) < 2 or not all(isinstance(record, dict) for record in records):
        return []
    columns = list(dict.fromkeys(key for record in records for key in record))
    filled = sum(len(record) for record in records)
    flat = all(_is_flat(item) for record in records for item in record.values())
    return columns if flat and 2 * filled > len(columns) * len(records) else []


def _is_flat(value: Any) -> bool:
    """Returns whether a value stands in one line: no list or mapping, or a short list of such values."""
    if isinstance(value, list):
        return len(value) <= 8 and all(not isinstance(item, dict | list) for item in value)
    return not isinstance(value, dict)


def _write_scalar(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_write_scalar, value))
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: ""}[value]
    return str(value)
