"""What the documents say about settings, commands and releases is what the code has.

``python -m tests.test_docs`` writes the settings into .env.example and docs/settings*.md; a new one is left to
be described in Korean.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

import settings
from cli import application
from tests import limits

ROOT = Path(__file__).parent.parent
TABLES = ("docs/settings.md", "docs/settings.ko.md")
USING = ("docs/using.md", "docs/using.ko.md")
READMES = ("README.md", "README.ko.md")
COMPARISON = ("docs/comparison.md", "docs/comparison.ko.md")
FIGURES = ("docs/measured.md", *sorted(f"docs/measured/{path.name}" for path in ROOT.glob("docs/measured/*.md")))
FIELDS = settings.Settings.model_fields
MARKS = ("<!-- settings -->", "<!-- /settings -->")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def shown(field: str) -> str:
    """A default as one writes it in the environment; empty where the machine or the server decides."""
    default = FIELDS[field].default
    if default is None or field == "data_dir":
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    return ",".join(default) if isinstance(default, tuple) else str(default)


def row(field: str, description: str | None = None) -> str:
    """The field's row in the tables."""
    default = f"`{shown(field)}`" if shown(field) else "–"
    return f"| `{settings.find_variable_name(field)}` | {default} | {description or FIELDS[field].description} |"


def example(field: str) -> str:
    """The field's lines in .env.example."""
    return f"# {FIELDS[field].description}\n# {settings.find_variable_name(field)}={shown(field)}\n"


def table(document: str) -> list[str]:
    """The rows between the marks, without the heading."""
    text = read(document)
    start, end = (text.index(mark) for mark in MARKS)
    return [line for line in text[start:end].splitlines() if line.startswith("| `")]


def test_the_english_table_has_every_setting_with_its_default_and_description() -> None:
    expected = "\n".join(map(row, FIELDS))
    assert "\n".join(table(TABLES[0])) == expected, f"the table should be:\n{expected}"


def test_the_korean_table_has_every_setting_with_its_default() -> None:
    cells = [line.split(" | ")[:2] for line in table(TABLES[1])]
    assert cells == [row(field).split(" | ")[:2] for field in FIELDS]


def test_every_description_in_the_korean_table_is_korean() -> None:
    assert [line for line in table(TABLES[1]) if not re.search("[가-힣]", line)] == []


def test_the_example_lists_every_setting_with_its_default() -> None:
    lines = re.findall(r"^# ?([A-Z_]+)=(.*)$", read(".env.example"), re.MULTILINE)
    assert lines == [(settings.find_variable_name(field), shown(field)) for field in FIELDS]


def test_the_example_says_what_a_setting_does() -> None:
    said = read(".env.example")
    assert [field for field in FIELDS if example(field) not in said] == []


def test_the_example_changes_nothing_as_it_stands() -> None:
    assert [line for line in read(".env.example").splitlines() if line and not line.startswith("#")] == []


@pytest.mark.parametrize("readme", USING)
def test_every_command_is_described(readme: str) -> None:
    commands = list(get_command(application).commands)  # type: ignore[attr-defined]
    assert [name for name in commands if f"python cli.py {name}" not in read(readme)] == []


@pytest.mark.parametrize("readme", [*READMES, *USING])
def test_a_document_names_only_commands_that_exist(readme: str) -> None:
    commands = get_command(application).commands  # type: ignore[attr-defined]
    assert set(re.findall(r"python cli\.py ([a-z]+)", read(readme))) <= set(commands)


@pytest.mark.parametrize("document", [*READMES, *USING, *TABLES, *COMPARISON, *FIGURES, "CHANGELOG.md"])
def test_a_link_inside_the_repository_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", read(document))
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def named_tests(document: str) -> list[tuple[str, str]]:
    return re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", read(document))


@pytest.mark.parametrize("document", COMPARISON)
def test_a_test_that_the_comparison_names_exists(document: str) -> None:
    assert [name for path, name in named_tests(document) if f"def {name}(" not in read(path)] == []


@pytest.mark.parametrize("document", COMPARISON)
def test_every_source_of_the_comparison_has_its_address(document: str) -> None:
    text = read(document)
    assert set(re.findall(r"\]\[([^]]+)\]", text)) == set(re.findall(r"^\[([^]]+)\]: https://", text, re.MULTILINE))


def test_both_languages_of_the_comparison_name_the_same_tests_and_sources() -> None:
    english, korean = ((named_tests(name), re.findall(r"\]\[([^]]+)\]", read(name))) for name in COMPARISON)
    assert english == korean


def test_the_changelog_has_a_section_for_what_is_not_released() -> None:
    assert re.search(r"^## Unreleased\n\n- ", read("CHANGELOG.md"), re.MULTILINE)


def test_the_page_of_limits_is_what_the_code_has() -> None:
    assert limits.PAGE.read_text("utf-8") == limits.render_page(), "python -m tests.limits writes it"


def test_a_limit_is_a_number_under_a_name_that_says_so() -> None:
    source = 'MOST_TURNS = 3\n"""Turns; more are left out."""\nNAME = 4\n_MOST = 5\nMOST_CHARS = 2 * MOST_TURNS\n'
    read_limits = limits.read_limits("a/b.py", source + 'MOST = "many"\n')
    found = [(limit.name, limit.value, limit.what) for limit in read_limits]
    assert found == [("MOST_TURNS", "3", "Turns"), ("MOST_CHARS", "`2 * MOST_TURNS`", "")]


def write() -> None:
    """Brings the documents up to date with the settings; Korean descriptions are kept."""
    heading = read(".env.example").split("\n\n")[0]
    (ROOT / ".env.example").write_text("\n".join([heading + "\n", *map(example, FIELDS)]), "utf-8")
    korean = {line.split("`")[1]: line.split(" | ", 2)[2].removesuffix(" |") for line in table(TABLES[1])}
    for name in TABLES:
        known = korean if name == TABLES[1] else {}
        rows = [row(field, known.get(settings.find_variable_name(field))) for field in FIELDS]
        before, after = read(name).split("|---|---|---|\n" + "\n".join(table(name)))
        (ROOT / name).write_text("|---|---|---|\n".join([before, "\n".join(rows) + after]), "utf-8")


if __name__ == "__main__":
    write()
