"""The names and links in the documents about the code lead to what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ABOUT_CODE = ("architecture.md", "design.md", "specification.md", "words.md")
LINKED = sorted(
    str(path.relative_to(ROOT)) for folder in ("", "decision/", "measured/") for path in DOCS.glob(f"{folder}*.md")
)
WORDS = {
    *("turn", "chunk", "summary", "record", "ledger", "memory", "fold", "entity", "part", "budget"),
    *("branch", "path", "passage", "section", "citation", "profile", "slot", "job", "step", "session"),
    *("request", "door", "mark", "world", "story", "block", "entry"),
}
CHANGES = 25
ROOMS = (
    *("component", "door", "evaluation", "graph", "history", "host", "memory", "model", "retrieval"),
    *("server", "store", "text", "world"),
)
NAME = re.compile(r"`([a-z_]\w*(?:\.\w+)+)`")
LINK = re.compile(r"\[(?:`([\w.]+)`|[^\]]*)\]\((?!https?:|#)([^)#]+)\)")


def read(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def names(text: str) -> list[str]:
    """The names of code in a text: ``folder.module.thing``."""
    return [name for name in NAME.findall(text) if _first(name).exists() and not _is_file(name)]


def _first(name: str) -> Path:
    top = ROOT / name.split(".")[0]
    return top if top.is_dir() else top.with_suffix(".py")


def _is_file(name: str) -> bool:
    return name.rpartition(".")[2] in ("py", "md", "json", "npz", "db", "css")


def defined_in(name: str) -> Path | None:
    """The file that defines it; None where nothing of that name is there."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:length])
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path if _holds(_body(path), parts[length:]) else None
    return None


@cache
def _body(path: Path) -> Sequence[ast.stmt]:
    return ast.parse(path.read_text("utf-8")).body


def _holds(body: Sequence[ast.stmt], parts: Sequence[str]) -> bool:
    if not parts:
        return True
    first, *rest = parts
    found = [statement for statement in body if first in _defined(statement)]
    return any(not rest or (isinstance(one, ast.ClassDef) and _holds(one.body, rest)) for one in found)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


@pytest.mark.parametrize("document", ABOUT_CODE)
def test_a_name_in_a_document_is_that_of_something(document: str) -> None:
    assert [name for name in names(read(document)) if defined_in(name) is None] == []


@pytest.mark.parametrize("document", LINKED)
def test_a_link_leads_to_a_file_and_a_linked_name_to_the_one_that_defines_it(document: str) -> None:
    for name, target in LINK.findall((ROOT / document).read_text("utf-8")):
        path = (ROOT / document).parent.joinpath(target).resolve()
        assert path.exists(), f"{document}: {target} is not there"
        assert not name or _is_file(name) or defined_in(name) == path, f"{document}: {name} is not defined in {target}"


def test_the_index_links_every_document() -> None:
    linked = {target for _, target in LINK.findall(read("README.md"))}
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} <= linked


def test_every_word_has_its_meaning_and_its_class() -> None:
    rows = re.findall(r"^\| (\w+) \| (.+) \| (.+) \|$", read("words.md"), re.MULTILINE)
    assert {word for word, _, _ in rows if word != "word"} == WORDS
    assert [word for word, _, classes in rows if word != "word" and not names(classes)] == []


def test_every_usual_change_has_a_file_to_open() -> None:
    part = read("architecture.md").split("## Where do I change …")[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line[:1] == "|"]
    assert len(rows) - 2 == CHANGES
    assert [row for row in rows[2:] if not LINK.search(row.split(" | ")[1])] == []


def rooms() -> list[Path]:
    """The folders whose ``__init__`` says what they are for."""
    return sorted(path for top in ROOMS for path in (ROOT / top).rglob("__init__.py"))


def stands_in(folder: Path, name: str) -> bool:
    """Whether a name in the docstring of a folder is that of a folder, a module or a thing in one of its modules."""
    here = ".".join(folder.relative_to(ROOT).parts)
    full = [name, f"{here}.{name}", *(f"{here}.{path.stem}.{name}" for path in folder.glob("*.py"))]
    return any(defined_in(each) is not None or ROOT.joinpath(*each.split(".")).is_dir() for each in full)


@pytest.mark.parametrize("path", rooms(), ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_a_folder_says_what_it_is_for_what_it_shows_and_what_it_may_import(path: Path) -> None:
    about = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert re.search(r"^[^\n]+\.\n\nShows .+^May import ", about, re.MULTILINE | re.DOTALL), about
    named = [name for name in re.findall(r"``([\w.]+)``", about) if not stands_in(path.parent, name)]
    assert named == []


@pytest.mark.parametrize(
    "name", ["graph.turn.run", "graph.turn.run._Begun", "store.store.Store", "graph.tool.TOOLS", "text", "cli"]
)
def test_what_is_there_is_found(name: str) -> None:
    assert defined_in(name) is not None


@pytest.mark.parametrize("name", ["graph.turn.walk", "graph.gone.run", "store.store.Store.gone", "nowhere.at.all"])
def test_what_is_not_there_is_not_found(name: str) -> None:
    assert defined_in(name) is None
