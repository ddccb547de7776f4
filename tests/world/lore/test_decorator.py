"""Decorators in the content of an entry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.table import table
from world.lore.decorator import read_decorators
from world.lore.rule import FAR, Rule


@table(
    ("line", "values"),
    [
        ("@@activate", {"forced": "on"}),
        ("@@depth 0", {"position": "depth", "depth": 0}),
        ("@@end", {"position": "depth", "depth": 0}),
        ("@@role user", {"role": "user"}),
        ("@@scan_depth 7", {"scan_depth": 7}),
        ("@@position after_desc", {"position": "after"}),
        ("@@activate_only_every 3", {"every_answers": 3}),
        ("@@is_greeting 1", {"greeting": 1}),
        ("@@ignore_on_max_context", {"yields": True}),
        ("@@exclude_keys a, b", {"excluded": (("a", "b"),)}),
        ("@@probability 20", {"chance": 20}),
        ("@@match_full_word", {"whole_words": True}),
        ("@@Depth 3", {"position": "depth", "depth": 3}),
        ("@@DEPTH 3", {"position": "depth", "depth": 3}),
        ("@@ depth 3", {"position": "depth", "depth": 3}),
        ("  @@scan-depth 7", {"scan_depth": 7}),
        ("@@reverse_depth 2", {"position": "depth", "depth": FAR}),
    ],
)
def test_a_decorator_becomes_part_of_the_rule(line: str, values: dict[str, Any]) -> None:
    read = read_decorators(f"{line}\n\nText.\nMore.", Rule())
    assert (read.content, read.rule, read.unknown) == ("Text.\nMore.", replace(Rule(), **values), ())


def test_what_is_not_known_is_named_and_reaches_no_text() -> None:
    read = read_decorators(
        "@@disable_ui_prompt system_prompt\n@@own_thing\n@@My-Thing 3\n@@depth soon\nText @@ text.", Rule()
    )
    assert (read.content, read.rule) == ("Text @@ text.", Rule())
    assert read.unknown == ("disable_ui_prompt", "own_thing", "my-thing", "depth")


def test_the_first_fallback_that_is_known_counts() -> None:
    text = "@@risu_only 4\n@@@agn_only 4\n@@@scan_depth 4\n@@@scan_depth 9\nText."
    assert read_decorators(text, Rule()).rule.scan_depth == 4


def test_the_first_of_the_same_name_counts() -> None:
    assert read_decorators("@@depth 1\n@@depth 5\nText.", Rule()).rule.depth == 1
