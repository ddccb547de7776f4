"""Which candidates come into the budget, and what the report says."""

from __future__ import annotations

import json

from model.call.token import estimate_tokens
from store.world.record import LoreEntry, World
from tests.table import table
from world.lore.activation import Scan, decide_activation
from world.lore.lorebook import Lorebook
from world.lore.pack import LISTED, build_lore_report, pack_lore_entries
from world.lore.rule import FAR, Rule
from world.lore.score import score_lore_candidates
from world.prompt.context import Given, build_world_context
from world.story.state import StoryState


def entry(id: int, words: int, **fields: object) -> LoreEntry:
    return LoreEntry(id, f"entry {id}", "word " * words, layer="A2", **fields)  # type: ignore[arg-type]


def test_one_that_does_not_fit_is_left_out_and_a_smaller_one_still_comes() -> None:
    book = Lorebook.of([entry(1, 20), entry(2, 200), entry(3, 20)])
    found = score_lore_candidates(book, StoryState("A"), (), {1: 0.9, 2: 0.8, 3: 0.7}, 1)
    budget = sum(estimate_tokens(book.entries[id].text) for id in (1, 3))
    packed = pack_lore_entries(found, budget)
    assert [one.entry.id for one in packed.taken] == [1, 3]
    assert [(one.entry.id, reason) for one, reason in packed.left] == [(2, "budget")]
    assert sum(one.tokens for one in packed.taken) == budget


def test_lines_of_keyed_entries_stand_in_the_order_of_their_authors_around_the_layered_ones() -> None:
    orders = {1: (30, "before"), 2: (10, "before"), 3: (20, "after"), 4: (5, "after"), 5: (1, "note_top")}
    keyed = [
        LoreEntry(id, f"k{id}", f"keyed {id}", rule=Rule(order=order, position=place, constant=True).plain)  # type: ignore[arg-type]
        for id, (order, place) in orders.items()
    ]
    book = Lorebook.of([*keyed, LoreEntry(6, "layer", "layered", layer="A1")])
    active = decide_activation(book.keyed, Scan()).active
    packed = pack_lore_entries(score_lore_candidates(book, StoryState("A"), (), {}, 1, active), 1000)
    lines = ["- keyed 2", "- keyed 1", "- layer: layered", "- keyed 4", "- keyed 3", "- keyed 5"]
    assert packed.text.split("\n") == lines


def test_an_entry_that_ignores_the_budget_comes_and_one_that_yields_goes_first() -> None:
    rules = {1: Rule(constant=True, budget_free=True), 2: Rule(constant=True, yields=True), 3: Rule(constant=True)}
    book = Lorebook.of([LoreEntry(id, f"k{id}", "word " * 20, layer="A1", rule=rules[id].plain) for id in rules])
    active = decide_activation(book.keyed, Scan()).active
    found = score_lore_candidates(book, StoryState("A"), (), {2: 0.9}, 1, active)
    assert max(found, key=lambda one: one.score).entry.id == 2
    taken = {budget: {one.entry.id for one in pack_lore_entries(found, budget).taken} for budget in (0, 30, 1000)}
    assert taken == {0: {1}, 30: {1, 3}, 1000: {1, 2, 3}}


def test_without_a_budget_nothing_comes() -> None:
    assert (
        pack_lore_entries(score_lore_candidates(Lorebook.of([entry(1, 1)]), StoryState("A"), (), {}, 1), 0).taken == ()
    )


def test_the_report_has_the_score_with_its_parts_and_every_reason() -> None:
    secret = LoreEntry(3, "secret", "s", layer="A4")
    far = LoreEntry(4, "far", "f", layer="A3")
    off = entry(5, 1, enabled=False)
    book = Lorebook.of([entry(1, 5), entry(2, 500), secret, far, off])
    cosines = {1: 0.91234, 2: 0.5, 3: 0.2}
    mentioned = book.matcher.find("tell me about entry 5")
    packed = pack_lore_entries(score_lore_candidates(book, StoryState("A"), mentioned, cosines, 9), 100)
    told = build_lore_report(packed, book, mentioned)
    assert json.loads(json.dumps(told)) == told
    assert told["in"] == [
        {
            "id": 1,
            "keyword": "entry 1",
            "layer": "A2",
            "score": 2.4123,
            "parts": {"vector": 0.9123, "layer": 1.5},
            "why": ["always", "vector"],
            "silent": 9,
            "tokens": estimate_tokens(book.entries[1].text),
        }
    ]
    assert [(one["id"], one["reason"]) for one in told["out"]] == [(5, "disabled"), (2, "budget"), (3, "secret")]
    assert told["counts"] == {"in": 1, "budget": 1, "secret": 1, "disabled": 1, "no candidate": 1}


@table("depth, deepest, stands", [(4, 9, 4), (4, 4, 4), (4, 3, 1), (FAR, 9, 9), (FAR, 1, 1), (1, 9, 1)])
def test_an_entry_stands_at_its_depth_or_as_near_as_may_be(depth: int, deepest: int, stands: int) -> None:
    rule = Rule(position="depth", depth=depth, role="user", constant=True)
    given = Given(
        World("w", "", "W", "w", "en", "A", 0.0, 0.0), StoryState("A"), 1, "Hello",
        Lorebook.of([entry(1, 3, rule=rule.plain)]), deepest=deepest,
    )  # fmt: skip
    context = build_world_context(given)
    assert context.deep == (((stands, "user", "- word word word"),) if stands > 1 else ())
    assert ("- word word word" in context.changing) == (stands == 1)
    assert context.report["lore"]["in"][0]["depth"] == {"asked": depth, "stands": stands}


def test_a_report_stays_small_however_many_entries_there_are() -> None:
    book = Lorebook.of([entry(id, 5) for id in range(1, 1001)])
    told = build_lore_report(pack_lore_entries(score_lore_candidates(book, StoryState("A"), (), {}, 1), 100), book, ())
    assert len(told["out"]) == LISTED
    assert told["counts"]["in"] + told["counts"]["budget"] == 1000
