"""The limits of the product, from its syntax trees: ``docs/limits.md`` lists where each of them stands.

``python -m tests.limits`` writes the list.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "limits.md"
OUTSIDE = ("tests", "bench", "docs")
A_LIMIT = re.compile(
    r"(?:^|_)(?:MOST|LEAST|LONGEST|LARGEST|HIGHEST|DEEPEST|WIDEST|LIMIT|CHARS|BYTES|TOKENS|SECONDS|TRIES|ROUNDS|PIXELS)(?:_|$)"
)
"""Words in the name of a constant that is a limit: of size, of number or of time."""
HEAD = """# Where the limits stand

Constants that limit a size, a number or a time, each with the file where it is changed. Limits that are settings stand
in [settings.md](settings.md). `python -m tests.limits` writes this page from the code, and a test compares them.

| limit | value | what |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class ProductLimit:
    """A constant of a module. ``value``: as it stands in the code; ``what``: the first sentence of its docstring."""

    path: str
    name: str
    value: str
    what: str

    def render_row(self) -> str:
        """Returns its row of the page."""
        module = self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return f"| [`{module}.{self.name}`](../{self.path}) | {self.value} | {self.what or '–'} |"


def list_limits() -> Iterator[ProductLimit]:
    """Yields the limits of the product, file by file."""
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] not in OUTSIDE and not place.parts[0].startswith("."):
            yield from read_limits(place.as_posix(), path.read_text("utf-8"))


def read_limits(path: str, source: str) -> Iterator[ProductLimit]:
    """Yields the limits of one file: constants in capitals whose value is a number."""
    body = ast.parse(source).body
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if A_LIMIT.search(name) and not name.startswith("_") and _is_number(value):
                    yield ProductLimit(path, name, _render_value(value), _read_docstring(following))


def render_page() -> str:
    """Returns the page as it should be."""
    return HEAD + "".join(f"{limit.render_row()}\n" for limit in list_limits())


def _is_number(value: ast.expr) -> bool:
    """Returns whether a constant is a number, or is reckoned from others."""
    match value:
        case ast.Constant(value=bool() | str() | bytes() | None):
            return False
        case ast.Constant() | ast.Name():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def _render_value(value: ast.expr) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return f"{value.value:,}"
    return f"`{ast.unparse(value)}`"


def _read_docstring(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            first = re.split(r"(?<=[.:;])\s", " ".join(text.split()))[0]
            return first.rstrip(".:;").replace("|", "/").replace("``", "`")
    return ""


if __name__ == "__main__":
    PAGE.write_text(render_page(), "utf-8")
