"""Where stories begin: the bundled one, and files of other programs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from errors import BadWorldFile, WorldUnknown
from model import scripted
from settings import load_settings
from store import Store
from store.world.record import Changes, Character, Edit, LoreEntry, NewNode
from tests.table import table
from text.language import Language
from world.beginning import (
    Beginning,
    add_book_to_world,
    book_of,
    create_story_world,
    from_book,
    measure_lore,
    remove_story_world,
    room_for,
)
from world.book import read_book
from world.engine import WorldEngine
from world.file.file import MOST_BYTES, PREFIX
from world.file.front import parse_world_file
from world.naming.merge import find_unclear
from world.prompt.budget import SPARE
from world.sample import create_sample_world, load_sample_story

CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "세라",
        "description": "{{char}}는 약초꾼이다. {{user}}를 믿지 않는다.",
        "first_mes": "{{user}}, 무엇을 찾으러 왔지?",
        "alternate_greetings": ["조용히 해. 여우가 듣고 있어."],
        "character_book": {"entries": [{"keys": ["이끼"], "content": "밤에 빛난다.", "enabled": True}]},
    },
}


@pytest.fixture
def model() -> scripted.ScriptedModel:
    return scripted.ScriptedModel(lambda _: "여우가 돌아본다.")


@pytest.fixture
def engine(tmp_path: Path, model: scripted.ScriptedModel) -> Iterator[WorldEngine]:
    settings = load_settings(data_dir=tmp_path)
    store, models = Store(settings.database), scripted.build_scripted_models(model, lambda _: "{}")
    opened = WorldEngine.open(settings, store, lambda: models)
    yield opened
    opened.close()
    store.close()


def card(**fields: Any) -> bytes:
    return json.dumps({**CARD, "data": {**CARD["data"], **fields}}).encode()  # type: ignore[dict-item]


@table("language", ["ko", "en"])
def test_the_bundled_story_begins_with_its_greeting_its_people_and_its_lore(
    engine: WorldEngine, language: Language
) -> None:
    world, node = create_sample_world(engine, language)
    told = load_sample_story(language)
    assert (node.turn, node.question, node.answer, node.status) == (0, "", told.greetings[0].strip(), "given")
    state = engine.state(node, world)
    assert state.me.location == told.changes.characters[0].location
    assert set(state.locations) == {place.name for place in told.changes.locations}
    assert [entry.keyword for entry in engine.store.worlds.lore(world.id)] == [entry.keyword for entry in told.lore]
    assert {entry.layer for entry in told.lore} == {"A1", "A2", "A3", "A4"}
    assert engine.files.text(world.id, PREFIX).strip() == told.prefix.strip()


@table("language", ["ko", "en"])
def test_everything_that_the_bundled_story_names_exists_in_it(language: Language) -> None:
    told = load_sample_story(language)
    places = {place.name for place in told.changes.locations}
    people = {one.name for one in told.changes.characters}
    assert told.player in people
    assert {one.location for one in told.changes.characters} <= places
    assert {other for place in told.changes.locations for other in place.adjacent} <= places
    assert {entry.location for entry in told.lore} - {""} <= places
    assert {name for one in told.changes.relations for name in (one.from_char, one.to_char)} <= people


def test_the_first_message_of_the_bundled_story_is_its_turn_1_with_its_world_before_it(
    engine: WorldEngine, model: scripted.ScriptedModel
) -> None:
    world, greeting = create_sample_world(engine, "ko")
    node = engine.play(world.id, greeting, "등불 탑으로 간다", threading.Event(), lambda _: None)
    assert (node.turn, node.parent) == (1, greeting.id)
    sent = "\n".join(str(message.content) for message in model.calls[-1])
    assert "안개 낀 강가의 나루터" in sent
    assert "청동 접시" in sent, "the entry of the lamp tower"
    assert greeting.answer in sent


def test_a_card_becomes_a_world_with_its_character_and_every_greeting(engine: WorldEngine) -> None:
    book = read_book(card(), "card.json")
    world, node = create_story_world(engine, from_book(book, "ko", "아리아"))
    assert (world.name, world.player) == ("세라", "아리아")
    assert node is not None
    assert node.answer == "아리아, 무엇을 찾으러 왔지?"
    beginnings = engine.store.worlds.children(world.id, 0)
    assert [one.answer for one in beginnings] == [node.answer, "조용히 해. 여우가 듣고 있어."]
    assert set(engine.state(node, world).characters) == {"아리아", "세라"}
    assert "{{char}}는 약초꾼이다. {{user}}를 믿지 않는다." in engine.files.text(world.id, PREFIX)
    assert "세라는 약초꾼이다. 아리아를 믿지 않는다." in engine.prefix(engine.after(world.id, node, "안녕"))
    assert [entry.keys for entry in engine.store.worlds.lore(world.id)] == [("이끼",)]


def test_a_card_taken_into_a_world_leaves_what_was_there(engine: WorldEngine) -> None:
    world, greeting = create_sample_world(engine, "ko")
    before = engine.store.worlds.lore(world.id)
    node = add_book_to_world(engine, world, read_book(card(name="미르"), "card.json"))
    assert node is not None
    assert node.id != greeting.id
    state = engine.state(greeting, world)
    assert state.characters["도윤"].hp == 60
    assert "미르" in state.characters
    text = engine.files.text(world.id, PREFIX)
    assert text.index("# 안개 나루") < text.index("# 미르")
    assert engine.store.worlds.lore(world.id)[: len(before)] == before
    assert len(engine.store.worlds.lore(world.id)) == len(before) + 1


def test_a_card_taken_in_leaves_whom_a_running_story_has_under_the_whole_name(engine: WorldEngine) -> None:
    world, greeting = create_sample_world(engine, "ko")
    engine.store.worlds.amend(greeting, Changes((Character("미르 하늘", "나루터", 7),)))
    add_book_to_world(engine, world, read_book(card(name="미르 하늘", nickname="미르"), "card.json"))
    state = engine.state(greeting, world)
    assert state.characters["미르 하늘"].hp == 7
    assert "미르" in state.characters
    assert find_unclear(state, "person") == [("미르", "미르 하늘")]


def test_a_lorebook_taken_in_changes_nothing_but_the_lorebook(engine: WorldEngine) -> None:
    world, greeting = create_sample_world(engine, "en")
    text = engine.files.text(world.id, PREFIX)
    book = replace(read_book(card(), "card.json"), card=None)
    assert add_book_to_world(engine, world, book) is None
    assert engine.files.text(world.id, PREFIX) == text
    assert engine.store.worlds.children(world.id, 0) == [greeting]


def test_of_a_world_that_cannot_be_founded_nothing_stays(engine: WorldEngine) -> None:
    entry = LoreEntry(0, "bell", "It rings.")
    with pytest.raises(BadWorldFile):
        create_story_world(engine, Beginning("Too long", "en", prefix="x" * (MOST_BYTES + 1), lore=(entry,)))
    assert engine.store.worlds.all() == []


def test_a_removed_world_is_gone_with_its_files(engine: WorldEngine, tmp_path: Path) -> None:
    world, greeting = create_sample_world(engine, "ko")
    remove_story_world(engine, world)
    with pytest.raises(WorldUnknown):
        engine.store.worlds.node(greeting.id)
    assert not (tmp_path / "world" / world.id).exists()


def test_a_lorebook_that_comes_has_its_vectors_before_the_first_turn(engine: WorldEngine) -> None:
    book = read_book(card(), "세라.json")
    world, _ = create_story_world(engine, from_book(book, "ko", "아리아"))
    assert engine.idle(60)
    (entry,) = engine.store.worlds.lore(world.id)
    name = engine._embedder.name
    assert [ref for ref, _, _ in engine.store.everyone.worlds.vectors(world.id, "lore", name)] == [entry.id]
    further = [LoreEntry(0, f"{n}번 문", f"{n}번 방으로 간다.") for n in range(70)]
    add_book_to_world(engine, world, replace(book, entries=tuple(further), card=None))
    assert engine.idle(60)
    assert len(engine.store.everyone.worlds.vectors(world.id, "lore", name)) == 71


WINDOW = 32_768
"""What the scripted model reads at once."""


def budget_of(engine: WorldEngine, world: str) -> int | None:
    return parse_world_file(PREFIX, engine.files.text(world, PREFIX).encode()).budget


@table("words, whole, keeps", [(100, None, False), (2000, None, True), (15_000, None, False), (15_000, True, True),
                               (15_000, False, False), (100, True, False)])  # fmt: skip
def test_the_text_of_a_card_is_whole_where_the_window_allows_or_the_user_chose_it(
    engine: WorldEngine, words: int, whole: bool | None, keeps: bool
) -> None:
    book = read_book(card(description="word " * words + "THE END"), "card.json")
    assert book.card is not None
    room = room_for(engine, book.card, "en", "Ann")
    assert (room.most, room.is_raised, room.is_asked) == (WINDOW // 3, words == 2000, words == 15_000)
    world, node = create_story_world(engine, from_book(book, "en", "Ann", whole))
    assert budget_of(engine, world.id) == (room.tokens + SPARE if keeps else None)
    assert ("THE END" in engine.prefix(engine.after(world.id, node, "Hello"))) == (keeps or words == 100)


def constant(words: int, **fields: Any) -> dict[str, Any]:
    return {"keys": [], "content": "word " * words + "THE RULE", "constant": True, "enabled": True, **fields}


@table("words, whole, comes", [(100, None, True), (2000, None, True), (15_000, None, False), (15_000, True, True),
                               (15_000, False, False)])  # fmt: skip
def test_entries_that_are_always_active_are_given_where_the_window_allows_or_the_user_chose_it(
    engine: WorldEngine, words: int, whole: bool | None, comes: bool
) -> None:
    named = {"keys": ["moss"], "content": "It glows. " * 100, "enabled": True}
    data = card(character_book={"entries": [*[constant(words // 5)] * 5, named]})
    book = read_book(data, "card.json")
    room = measure_lore(engine, book, "Ann").constant
    assert (room.is_raised, room.is_asked) == (words == 2000, words == 15_000)
    for form in (book, replace(book, card=None)):
        world, node = create_story_world(engine, from_book(form, "en", "Ann", whole))
        prompted = engine.prompt(engine.after(world.id, node, "The moss!"))
        assert (prompted.changing.count("THE RULE") == 5) == comes
        assert "It glows." in prompted.changing, "what the usual budget is for"
        lore = prompted.report["lore"]
        assert ("constant_budget" in lore) == (comes and words > 800)


def test_the_import_says_which_entries_are_larger_than_the_budget(engine: WorldEngine) -> None:
    long = "It glows. " * 800
    entries = [
        {"keys": ["moss"], "content": long, "enabled": True},
        {"keys": ["fern"], "content": "Green.", "enabled": True},
        {"keys": ["off"], "content": long, "enabled": False},
        {"keys": ["free"], "content": long, "enabled": True, "extensions": {"ignore_budget": True}},
        constant(2000),
    ]
    book = read_book(card(character_book={"entries": entries}), "card.json")
    assert measure_lore(engine, book, "Ann").large == ("moss",)
    world, _ = create_sample_world(engine, "en")
    told = measure_lore(engine, book, "Ann", world)
    assert told.large == ("moss",)
    add_book_to_world(engine, world, book)
    assert measure_lore(engine, book, "Ann", world).constant.tokens > 2 * 2000 > told.constant.tokens


GREETINGS = [
    "{{random::A fox::A fox}} looks at {{user}}. {{// not said}}<char> nods.{{newline}}It is {{isodate}}.",
    "Go, {{user}}!",
]


def test_the_macros_of_a_greeting_are_filled_for_readers_and_stay_in_the_card(
    engine: WorldEngine, model: scripted.ScriptedModel
) -> None:
    book = read_book(card(name="Mir", first_mes=GREETINGS[0], alternate_greetings=GREETINGS[1:]), "card.json")
    world, node = create_story_world(engine, from_book(book, "en", "Ann"))
    assert node is not None
    assert re.fullmatch(r"A fox looks at Ann\. Mir nods\.\nIt is \d{4}-\d\d-\d\d\.", node.answer)
    engine.play(world.id, node, "Hello", threading.Event(), lambda _: None)
    assert node.answer in "\n".join(str(message.content) for message in model.calls[-1])
    engine.store.worlds.set_player(world.id, "Bea")
    for _ in range(2):
        exported = book_of(engine, engine.store.worlds.world(world.id)).card
        assert exported is not None
        assert (exported.fields["first_mes"], exported.fields["alternate_greetings"]) == (GREETINGS[0], GREETINGS[1:])
        for session in {one.session for one in engine.store.worlds.children(world.id, 0)}:
            engine.store.delete_session(session)


def test_a_greeting_that_was_changed_comes_out_as_it_is_now(engine: WorldEngine) -> None:
    world, node = create_story_world(engine, from_book(read_book(card(), "card.json"), "ko", "아리아"))
    assert node is not None
    engine.store.worlds.rebase(node, (Edit(0, "", "다른 인사."),))
    exported = book_of(engine, world).card
    assert exported is not None
    assert exported.fields["first_mes"] == "{{user}}, 무엇을 찾으러 왔지?"
    assert exported.fields["alternate_greetings"] == ["조용히 해. 여우가 듣고 있어.", "다른 인사."]


def test_greetings_that_an_earlier_version_stored_come_out_as_the_card_has_them(engine: WorldEngine) -> None:
    book = read_book(card(), "card.json")
    world, _ = create_story_world(engine, replace(from_book(book, "ko", "아리아"), greetings=()))
    for text in ("아리아, 무엇을 찾으러 왔지?", "조용히 해. 여우가 듣고 있어."):
        engine.store.worlds.add(world.id, None, NewNode("", (text,), text, "given"))
    exported = book_of(engine, world).card
    assert exported is not None
    assert exported.fields["first_mes"] == "{{user}}, 무엇을 찾으러 왔지?"


def test_world_info_without_a_card_names_a_stand_in_for_its_character(engine: WorldEngine) -> None:
    entries = {"0": {"uid": 0, "key": ["moss"], "content": "{{char}} hates it, {{user}} too.", "comment": "moss"}}
    book = read_book(json.dumps({"entries": entries}).encode(), "info.json")
    world, node = create_story_world(engine, from_book(book, "ko", "아리아"))
    assert "그 인물 hates it, 아리아 too." in engine.prompt(engine.after(world.id, node, "moss")).changing
