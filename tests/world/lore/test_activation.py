"""Which keyed entries are active: every case of the bench, and what only code sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from bench.lore import FOLDER, begin_turn, check_case, opened_engine, read_cases
from store.world.record import LoreEntry
from tests.table import table
from world.beginning import add_book_to_world, create_story_world, from_book
from world.book import read_book
from world.engine import WorldEngine
from world.file.file import Files
from world.lore.activation import Scan, decide_activation
from world.lore.lorebook import Lorebook
from world.lore.pattern import compile_pattern
from world.lore.rule import Rule
from world.prompt.scan import read_scan
from world.story.told import ToldStory

CASES = [case for path in sorted(FOLDER.glob("*.yaml")) for case in read_cases(path)]


@pytest.fixture(scope="module")
def engine() -> Iterator[WorldEngine]:
    with opened_engine() as opened:
        yield opened


def test_the_cases_are_many_and_have_names_of_their_own() -> None:
    assert len(CASES) >= 120
    assert len({case["about"] for case in CASES}) == len(CASES)


@table("case", CASES, ids=lambda case: case["about"])
def test_a_case_is_decided_as_its_source_says(engine: WorldEngine, case: dict[str, Any]) -> None:
    assert check_case(engine, case) == ""


def book(**entries: Rule) -> Lorebook:
    return Lorebook.of(
        LoreEntry(at, name, "…", keys=(name,), rule=rule.plain) for at, (name, rule) in enumerate(entries.items(), 1)
    )


def scan(*messages: str, seed: str = "s", **more: Any) -> Scan:
    return Scan(tuple(("", text) for text in messages), seed=seed, **more)


def test_what_keeps_an_entry_out_is_told_with_the_key_that_stood_there() -> None:
    lore = book(key=Rule(secondary=("tower",), logic="and_all"), dawn=Rule(delay=9))
    decision = decide_activation(lore.keyed, scan("key, dawn"))
    told = {id: (block.hindrance, block.key, block.detail) for id, block in decision.blocked.items()}
    assert told == {1: ("secondary", "key", "tower"), 2: ("delay", "dawn", "8")}
    assert decision.active == {}


def test_a_pattern_among_the_keys_is_looked_for_in_the_newest_message_of_long_ones() -> None:
    entry = LoreEntry(1, "dragon", "…", keys=("/drag.n/i",), rule=Rule(scan_depth=10).plain)
    lore = Lorebook.of([entry])
    assert decide_activation(lore.keyed, scan("A DRAGON!", *["x" * 3000] * 9)).active.keys() == {1}


def test_a_chance_is_the_same_for_the_same_answer_and_fair_over_many() -> None:
    lore = book(coin=Rule(chance=30)).keyed
    drawn = [bool(decide_activation(lore, scan("coin", seed=str(at))).active) for at in range(1000)]
    assert drawn == [bool(decide_activation(lore, scan("coin", seed=str(at))).active) for at in range(1000)]
    assert 250 < sum(drawn) < 350


def test_weights_of_a_group_are_kept_over_many() -> None:
    lore = book(a=Rule(groups=("g",), group_weight=30), b=Rule(groups=("g",), group_weight=10)).keyed
    won = [set(decide_activation(lore, scan("a b", seed=str(at))).active) for at in range(1000)]
    assert all(len(one) == 1 for one in won)
    assert 700 < sum(one == {1} for one in won) < 800


def test_effects_name_what_began_only_for_entries_in_the_prompt() -> None:
    decision = decide_activation(
        book(a=Rule(sticky=3), b=Rule(sticky=3), c=Rule(once=True)).keyed, scan("a b c", count=5)
    )
    assert decision.effects([1, 3]) == {"sticky": {"1": [5, 8]}, "seen": [3]}


def test_a_vector_counts_where_the_author_asked_for_it() -> None:
    lore = book(a=Rule(vectorized=True), b=Rule()).keyed
    assert {id: one.how for id, one in decide_activation(lore, scan("nothing"), frozenset({1, 2})).active.items()} == {
        1: "vector"
    }


@table("pattern", [r"/(.*)\1/", "/(?=.*a)b/", "/(/", "/(x{1,900}){1,900}/", r"/(?<!(a|b)c)d/"])
def test_a_pattern_that_the_engine_does_not_know_is_none(pattern: str) -> None:
    assert compile_pattern(pattern) is None


@table(
    ("pattern", "text", "is_in"),
    [
        ("/(?<!ab)c/", "abc", False),
        ("/(?<!ab)c/", "xbc", True),
        ("/(?<!ab)c/", "c", True),
        ("/elf(?!in)/", "elfi", True),
        ("/(?<=a)c|d(?=e)/", "xde", True),
        (r"/[^]\u4e2d/", "x中", True),
        (r"/\-\_\é/", "-_é", True),
        ("/^b/m", "a\nb", True),
        ("/^b/", "a\nb", False),
        ("/b$/m", "ab\nc", True),
        ("/a.b/s", "a\nb", True),
    ],
)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, text: str, is_in: bool) -> None:
    found_pattern = compile_pattern(pattern)
    assert found_pattern is not None
    assert found_pattern.is_in(f"\x01{text}".encode()) is is_in


def test_effects_belong_to_their_branch_and_a_swipe_draws_anew(engine: WorldEngine) -> None:
    """Sticky comes from the stored reports of the turns before, so going back to another branch forgets it."""
    entry = {"uid": 0, "key": ["dragon"], "content": "…", "comment": "a", "sticky": 6, "scanDepth": 1}
    data = f'{{"entries": {{"0": {__import__("json").dumps(entry)}}}}}'.encode()
    world, _ = create_story_world(engine, from_book(read_book(data, "x.json"), "en", "Mina"))

    def play(parent: Any, text: str) -> Any:
        begun = begin_turn(engine, world, parent, [text])
        node = engine.keep(begun, f"{text}!\n\n```state\nmood: calm\n```", f"{text}!", None, engine.preview(begun))
        engine.work_off(node)
        return node

    def active(parent: Any) -> int:
        report = engine.preview(begin_turn(engine, world, parent, ["and then"]))
        return int(report["lore"]["counts"]["in"])

    first = play(None, "hello")
    named, other = play(first, "a dragon"), play(first, "a horse")
    assert (active(named), active(other)) == (1, 0)
    assert active(play(named, "on")) == 1
    assert active(play(other, "on")) == 0


TAG = "3f2b8c1e-9a4d-4f0e-8b7a-2c6d5e4f3a1b"


@table("filters, active", [
    ({"names": ["default_Seraphina"]}, True),
    ({"names": ["Seraphina2"]}, True),
    ({"names": ["seraphina.png", "Kael"]}, True),
    ({"names": ["Kael"]}, False),
    ({"names": ["default_Seraphina"], "isExclude": True}, False),
    ({"names": ["Kael"], "isExclude": True}, True),
    ({"tags": [TAG]}, True),
    ({"tags": [TAG], "isExclude": True}, True),
    ({"tags": ["Elf"]}, True),
    ({"tags": ["elf", TAG], "isExclude": True}, False),
    ({"tags": ["orc"]}, False),
])  # fmt: skip
def test_an_entry_for_some_characters_knows_them_by_the_names_of_their_files(
    engine: WorldEngine, filters: dict[str, Any], active: bool
) -> None:
    card = {"name": "Seraphina", "description": "", "first_mes": "", "tags": ["Elf"]}
    data = json.dumps({"spec": "chara_card_v2", "data": card}).encode()
    world, node = create_story_world(engine, from_book(read_book(data, "card.json"), "en", "Ann"))
    entry = {"uid": 0, "key": ["dragon"], "content": "It is old.", "comment": "dragon", "characterFilter": filters}
    info = read_book(json.dumps({"entries": {"0": entry}}).encode(), "info.json")
    add_book_to_world(engine, world, info)
    report = engine.preview(begin_turn(engine, world, node, ["a dragon"]))
    assert bool(report["lore"]["in"]) == active
    told = [(one.code, one.left_out) for one in info.problems]
    assert told == ([("tag_id", False)] if TAG in filters.get("tags", ()) else [])


@table("fit, active", [("continues", {"continue"}), ("again", {"swipe", "regenerate"}), ("goes_on", {"normal"}),
                       ("new", {"normal"})])  # fmt: skip
def test_an_entry_for_a_kind_of_request_is_active_at_it_alone(engine: WorldEngine, fit: Any, active: set[str]) -> None:
    kinds = ("normal", "continue", "swipe", "regenerate", "impersonate")
    told = book(**{kind: Rule(triggers=(kind,)) for kind in kinds})
    world = engine.store.worlds.create("W", "en", "Ann")
    asking = SimpleNamespace(told_story=ToldStory((), " ".join(kinds)), parent=None, number=1, fit=fit)
    decision = decide_activation(told.keyed, read_scan(engine.store.worlds, world, told, None, Files(), asking))
    assert {told.entries[id].entry.keyword for id in decision.active} == active
