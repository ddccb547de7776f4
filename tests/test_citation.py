"""What code and documents cite is in the repository: a section of the specification or the design, or a decision.

The one form of a citation is the document's name and the number: of a section, or of a record.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parent.parent
NUMBERED = ("specification", "design")
SUFFIXES = (".py", ".md", ".css", ".json", ".toml", ".txt", ".in", ".sh")
FOR_USERS = ("docs/faq", "docs/guide")
"""Documents that name files of the reader's own."""
OF_A_WORLD = ("stable_prefix.md", "live_state.md", "story.md")
"""Files that every story world has in the data folder (specification 12.5)."""

CITATION = re.compile(r"\b(specification|design|decision)(?: |\n *(?:# )?)(\d+(?:\.\d+)*)", re.IGNORECASE)
WITHIN = re.compile(r"\(([1-9]\d?\.\d+)\)|\bchapter (\d+)")
"""Within one of the two documents a section of the same one needs no name."""
HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)*) \S", re.MULTILINE)
SIGN = re.compile(r"(?<!RFC \d{4} )§")
"""Anybody finds the sections of an RFC."""
DOCUMENT = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.md\b")


@cache
def files() -> tuple[PurePosixPath, ...]:
    """Every text of the repository but data and this file."""
    tops = [path for path in ROOT.iterdir() if not path.name.startswith(".") or path.name in (".ci", ".streamlit")]
    found = [each for top in tops for each in (top.rglob("*") if top.is_dir() else [top])]
    wanted = (each for each in found if each.suffix in SUFFIXES or each.name == "Makefile" or each.parent.name == ".ci")
    paths = {PurePosixPath(each.relative_to(ROOT).as_posix()) for each in wanted if each.is_file()}
    return tuple(sorted(paths - {PurePosixPath("tests/test_citation.py")}))


@cache
def read(path: PurePosixPath) -> str:
    return (ROOT / path).read_text("utf-8")


@cache
def sections(document: str) -> tuple[str, ...]:
    """The numbers of its headings, in their order; of the decisions those of the records."""
    if document == "decision":
        records = sorted((ROOT / "docs/decision").glob("[0-9]*.md"))
        return tuple(str(int(path.name.partition("-")[0])) for path in records)
    return tuple(HEADING.findall(read(PurePosixPath(f"docs/{document}.md"))))


@cache
def documents() -> frozenset[str]:
    """The Markdown files of the repository, by their paths and by their names."""
    paths = [str(path) for path in files() if path.suffix == ".md"]
    return frozenset([*paths, *(path.rpartition("/")[2] for path in paths)])


def faults(path: PurePosixPath, text: str) -> list[str]:
    """Citations in a text that lead nowhere, one sentence each."""
    checks = (_sections(path, text), _signs(text), _documents(path, text))
    return [f"{path}:{text.count(chr(10), 0, at) + 1}: {said}" for check in checks for at, said in check]


def _sections(path: PurePosixPath, text: str) -> Iterator[tuple[int, str]]:
    for found in CITATION.finditer(text):
        document, number = found[1].lower(), found[2]
        wanted = str(int(number)) if document == "decision" and number.isdigit() else number
        if wanted not in sections(document):
            yield found.start(), f"docs/ has no {document} {number}"
    if path.parent.name == "docs" and path.stem in NUMBERED:
        for found in WITHIN.finditer(text):
            number = found[1] or found[2]
            if number not in sections(path.stem):
                yield found.start(), f"docs/{path.name} has no section {number}"


def _signs(text: str) -> Iterator[tuple[int, str]]:
    for found in SIGN.finditer(text):
        yield found.start(), "cite as «specification 3.2» or «design 3.2», without a section sign"


def _documents(path: PurePosixPath, text: str) -> Iterator[tuple[int, str]]:
    if path.suffix == ".py":
        said = _told(text) if DOCUMENT.search(text) else []
    else:
        said = [(0, text)] if path.suffix in (".md", ".css") and not str(path).startswith(FOR_USERS) else []
    for start, words in said:
        for found in DOCUMENT.finditer(words):
            if found[0] in OF_A_WORLD:
                continue
            if found[0] not in documents() and found[0].rpartition("/")[2] not in documents():
                yield start + found.start(), f"{found[0]} is not in the repository"


def _told(source: str) -> list[tuple[int, str]]:
    """The comments and docstrings of a module, and about where each begins."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(lines[token.start[0] - 1], token.string) for token in tokens if token.type == tokenize.COMMENT]
    strings = [
        (lines[node.lineno - 1], node.value.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return comments + strings


def test_every_citation_leads_to_a_section_that_exists() -> None:
    found = [fault for path in files() for fault in faults(path, read(path))]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("document", NUMBERED)
def test_sections_are_numbered_without_gaps(document: str) -> None:
    numbers = [tuple(map(int, number.split("."))) for number in sections(document)]
    assert numbers[0] == (1,)
    for before, after in pairwise(numbers):
        assert after in {(*before, 1), (*before[:-1], before[-1] + 1), (before[0] + 1,)}, (before, after)


def test_what_is_cited_is_found_at_all() -> None:
    cited = [found[1].lower() for path in files() for found in CITATION.finditer(read(path))]
    assert all(cited.count(document) > 20 for document in NUMBERED)


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("graph/turn/run.py", '"""Runs a turn (design 99.1)."""', "docs/ has no design 99.1"),
        ("graph/turn/run.py", "# as in specification 2.99", "docs/ has no specification 2.99"),
        ("graph/turn/run.py", "# as in the specification\n# of 7, design\n# 77", "docs/ has no design 77"),
        ("docs/measured.md", "taken before decision 9999", "docs/ has no decision 9999"),
        ("docs/measured.md", "(design §4)", "without a section sign"),
        ("graph/turn/run.py", '"""Follows notes-of-others.md."""', "notes-of-others.md is not in the repository"),
        ("graph/turn/run.py", "x = 1  # facts/of-others.md says why", "facts/of-others.md is not in the repository"),
        ("component/page/style.css", "/* of-others.md */", "of-others.md is not in the repository"),
        ("docs/design.md", "as said above (3.99)", "docs/design.md has no section 3.99"),
    ],
)
def test_a_planted_citation_is_found(path: str, text: str, said: str) -> None:
    assert any(said in fault for fault in faults(PurePosixPath(path), text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("graph/turn/run.py", '"""Runs a turn (design 2.4, specification 2.3, decision 10)."""'),
        ("graph/turn/run.py", 'name = "notes-of-others.md"'),
        ("graph/turn/run.py", "# as RFC 9309 §2.3.1 has it"),
        ("graph/turn/run.py", '"""Shown in README.md and docs/measured.md."""'),
        ("docs/guide/en/documents.md", "Add notes-of-others.md to the library."),
        ("docs/design.md", "as said above (3.1), at a rate of 3.99"),
    ],
)
def test_what_can_be_followed_passes(path: str, text: str) -> None:
    assert faults(PurePosixPath(path), text) == []
