"""Reads the files of public data sets. A file in another shape than expected gets an error that names the place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError

from errors import BadTextFile, CallerError

SIZE_LIMIT = 1_000_000_000
"""Bytes of the longest file."""

Shape = TypeVar("Shape")


class BadDataset(CallerError):
    """A file of a public data set has another shape than expected; ``place`` names index and field."""

    code = "bad_dataset"
    message = "The data set {file} is not as expected at {place}: {reason}."
    hint = "Name the file as its authors publish it, under the option of its data set; nothing was run."


def read_json(path: Path, shape: type[Shape], own: Sequence[str] = ()) -> Shape:
    """Returns the content of a JSON file. ``own``: fields of the shape that the file does not have; no error names
    them. Raises ``BadDataset`` with file and place, or ``BadTextFile``."""
    return validate_dataset_value(parse_dataset_json(_read_dataset_text(path), path.name), shape, path.name, own=own)


def read_lines(path: Path) -> list[tuple[int, Any]]:
    """Returns the values of a JSONL file with their lines, counted from 1. Raises as ``read_json`` does."""
    lines = enumerate(_read_dataset_text(path).split("\n"), 1)
    return [(number, parse_dataset_json(line, path.name, line=number)) for number, line in lines if line.strip()]


def parse_dataset_json(text: str, file: str, *, line: int = 0) -> Any:
    """Returns the JSON value of a text; ``line``: its line in a JSONL file. Raises ``BadDataset``."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadDataset(file=file, place=f"line {line or error.lineno}", reason=f"no JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, nesting without end
        raise BadDataset(file=file, place=f"line {line or 1}", reason=f"no JSON: {type(error).__name__}") from error


def validate_dataset_value(
    value: Any, shape: type[Shape], file: str, within: Sequence[int | str] = (), own: Sequence[str] = ()
) -> Shape:
    """Returns a value in its expected shape. ``within``: where the value stands in the file; ``own``: as in
    ``read_json``. Raises ``BadDataset``."""
    try:
        return TypeAdapter(shape).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = [part for part in first["loc"] if part not in own]
        raise_bad_dataset(file, [*within, *place], str(first["msg"]).removeprefix("Value error, "))


def raise_bad_dataset(file: str, at: Sequence[int | str], reason: str) -> NoReturn:
    """Raises ``BadDataset`` for a place such as ``[0].qa[3].question``; indices count from 0."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).lstrip(".")
    raise BadDataset(file=file, place=place or "the whole file", reason=reason)


def _read_dataset_text(path: Path) -> str:
    try:
        if path.stat().st_size > SIZE_LIMIT:
            raise_bad_dataset(path.name, (), f"it has more than {SIZE_LIMIT:,} bytes")
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTextFile(path=path, reason="it is not UTF-8", reason_code="no_utf8") from error
    except OSError as error:
        raise BadTextFile(path=path, reason=error.strerror or type(error).__name__) from error
