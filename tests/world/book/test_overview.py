"""What the import says of a file before it is taken in."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from typing import Any

from bench.lore import FOLDER
from tests.table import table
from world.book import read_book, write_book
from world.book.overview import Overview, read_overview


def look(entries: list[dict[str, Any]], **fields: Any) -> Overview:
    """Returns the overview of a card with these entries."""
    full = [{"keys": ["moss"], "content": "It glows.", "enabled": True, "extensions": {}, **one} for one in entries]
    data = {"name": "Sera", "description": "", "first_mes": "", **fields, "character_book": {"entries": full}}
    return read_overview(read_book(json.dumps({"spec": "chara_card_v2", "data": data}).encode(), "card.json"))


def test_the_entries_and_greetings_are_counted() -> None:
    told = look([{}, {"constant": True}, {"enabled": False}], first_mes="Hi.", alternate_greetings=["Ho.", "", "He."])
    assert (told.kind, told.entries, told.keyed, told.constant, told.off) == ("card_v2", 3, 2, 1, 1)
    assert told.greetings == 3
    assert (told.done, told.instead, told.left) == ((), (("side", 3),), ())


@table("name, entry", [
    ("patterns", {"keys": ["/mos+/i"]}),
    ("secondary", {"selective": True, "secondary_keys": ["fern"]}),
    ("required", {"content": "@@additional_keys fern\nIt glows."}),
    ("words", {"case_sensitive": True}),
    ("sources", {"extensions": {"match_scenario": True}}),
    ("chance", {"extensions": {"probability": 50, "useProbability": True}}),
    ("timed", {"extensions": {"sticky": 2}}),
    ("answers", {"content": "@@activate_only_after 3\nIt glows."}),
    ("groups", {"extensions": {"group": "plants"}}),
    ("recursion", {"extensions": {"prevent_recursion": True}}),
    ("filter", {"extensions": {"triggers": ["continue"]}}),
    ("forced", {"content": "@@activate\nIt glows."}),
    ("last", {"extensions": {"position": 4, "depth": 0}}),
    ("budget_free", {"extensions": {"ignore_budget": True}}),
    ("vectorized", {"extensions": {"vectorized": True}}),
])  # fmt: skip
def test_a_rule_that_is_done_is_named(name: str, entry: dict[str, Any]) -> None:
    assert look([entry, {}]).done == ((name, 1),)


@table("name, entry", [
    ("side", {"extensions": {"position": 0}}),
    ("depth", {"extensions": {"position": 4, "depth": 4}}),
    ("reverse_depth", {"content": "@@reverse_depth 1\nIt glows."}),
    ("outlet", {"extensions": {"position": 7, "outlet_name": "x"}}),
    ("note", {"extensions": {"position": 2}}),
])  # fmt: skip
def test_a_rule_that_is_done_in_another_way_is_named(name: str, entry: dict[str, Any]) -> None:
    assert look([entry]).instead == ((name, 1),)


@table("name, fields", [
    ("after_history", {"post_history_instructions": "Be brief."}),
    ("note_text", {"extensions": {"depth_prompt": {"prompt": "Be kind."}}}),
])  # fmt: skip
def test_a_text_of_a_card_that_stands_elsewhere_is_named(name: str, fields: dict[str, Any]) -> None:
    assert look([], **fields).instead == ((name, 0),)


@table("name, count, fields", [
    ("scripts", 0, {"extensions": {"regex_scripts": [{"id": "1"}]}}),
    ("scripts", 0, {"extensions": {"risuai": {"customScripts": [{"in": "a"}]}}}),
    ("assets", 0, {"assets": [{"type": "icon"}]}),
    ("group_greetings", 0, {"group_only_greetings": ["Hi all."]}),
])  # fmt: skip
def test_what_is_not_done_is_named(name: str, count: int, fields: dict[str, Any]) -> None:
    assert look([], **fields).left == ((name, count),)


def test_automation_and_a_budget_of_the_book_are_named() -> None:
    assert look([{"extensions": {"automation_id": "7"}}]).left == (("automation", 1),)
    book = {"entries": [], "token_budget": 500}
    data = {"spec": "chara_card_v2", "data": {"name": "Sera", "character_book": book}}
    assert read_overview(read_book(json.dumps(data).encode(), "card.json")).left == (("own_budget", 0),)


def test_the_module_of_an_archive_is_named_and_goes_with_its_lore() -> None:
    """RisuAI reads the lore from the module where there is one."""
    book = read_book((FOLDER / "file" / "card_v3.charx").read_bytes(), "card.charx")
    assert ("scripts", 0) in read_overview(book).left
    same, changed = book, replace(book, entries=(replace(book.entries[0], content="Changed."), *book.entries[1:]))
    for one, stays in ((same, True), (changed, False)):
        written = zipfile.ZipFile(io.BytesIO(write_book(one, "charx")))
        assert ("module.risum" in written.namelist()) == stays
        assert "assets/other/audio/bell.ogg" in written.namelist()
