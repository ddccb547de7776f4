"""``python -m bench NAME [--json] [options]``: runs one measurement.

A bench is one file of this folder that defines ``add_arguments(parser)`` and ``run(args) -> dict[str, object]``; no
list names the benches. ``--json`` prints the result as one JSON object on the standard output; without the option
tables are printed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from rich.console import Console
from rich.table import Table

from errors import GieokError
from model.embedded.machine import describe_machine


class Bench(Protocol):
    """The interface of a bench: the two functions that its file defines."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> dict[str, object]: ...


def benches(folder: Path = Path(__file__).parent) -> dict[str, str]:
    """Returns the name and the first docstring line of every bench; reads the files without importing them."""
    trees = {path.stem: ast.parse(path.read_text("utf-8")) for path in sorted(folder.glob("*.py"))}
    required = {"add_arguments", "run"}
    return {
        name: (ast.get_docstring(tree) or "").split("\n")[0]
        for name, tree in trees.items()
        if name != "__main__" and required <= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    }


def parse(arguments: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """Returns the name of the chosen bench and its arguments; imports only that bench."""
    descriptions = benches()
    top = argparse.ArgumentParser(prog="python -m bench", description="Runs one measurement.")
    choice = top.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, about in descriptions.items():
        parser = choice.add_parser(name, help=about, description=about)
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
        if name in arguments[:1]:
            load(name).add_arguments(parser)
    args = top.parse_args(arguments)
    return str(args.name), args


def load(name: str) -> Bench:
    """Imports and returns the bench with this name."""
    return cast(Bench, importlib.import_module(f"bench.{name}"))


def tables(title: str, result: Mapping[str, object]) -> Iterator[Table]:
    """Yields the result as tables for a terminal: plain values in one table, every list of rows in a table of its
    own."""
    plain = Table(title=title, title_justify="left", show_header=False)
    rows = {key: value for key, value in result.items() if _is_rows(value)}
    for key, value in _flat({key: value for key, value in result.items() if key not in rows}):
        plain.add_row(key, _shown(value))
    yield plain
    for key, value in rows.items():
        yield _rows(key, cast(list[Mapping[str, object]], value))


def main(arguments: Sequence[str]) -> int:
    """Runs the bench, prints its result and returns the exit code: 1 when the bench raises a ``GieokError``."""
    name, args = parse(arguments)
    try:
        result = {"bench": name, **load(name).run(args), "machine": describe_machine()}
    except GieokError as error:
        print(error.text(), file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        Console(soft_wrap=True).print(*tables(name, result), sep="\n")
    return 0


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _rows(title: str, rows: Sequence[Mapping[str, object]]) -> Table:
    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        table.add_column(column, justify="right" if isinstance(rows[0].get(column), int | float) else "left")
    for row in rows:
        table.add_row(*(_shown(row.get(column, "")) for column in columns))
    return table


def _flat(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
