"""Lorebooks and cards of other programs: read, written, and read again."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lore import FOLDER, is_changed, opened_engine
from errors import BadBook, FileTooLarge
from store.world.record import LAYERS, LoreEntry
from tests.table import table
from world.book import FORMATS, Book, Card, Format, read_book, write_book
from world.book.container import charx_with, make_blank_picture, png_with
from world.book.write import write_again
from world.engine import WorldEngine
from world.lore.macro import Names
from world.lore.rule import rule_of

INFO: dict[str, Any] = {
    "name": "달빛항",
    "entries": {
        "0": {"uid": 0, "key": ["달빛항", "항구"], "keysecondary": [], "comment": "달빛항", "content": "작은 항구."},
        "1": {"uid": 1, "key": ["열쇠"], "keysecondary": ["등대"], "comment": "은빛 열쇠", "content": "문을 연다."},
        "2": {"uid": 2, "key": [], "comment": "꺼진 항목", "content": "숨김", "constant": True, "disable": True},
    },
}
RISU: dict[str, Any] = {
    "type": "risu",
    "ver": 1,
    "data": [
        {"key": "달빛항,항구", "comment": "달빛항", "content": "{{char}}의 고향.", "alwaysActive": False},
        {"key": "", "comment": "세계관", "content": "마법은 기억을 앗아 간다.", "alwaysActive": True},
        {"key": "/하린(이|아)?/", "comment": "하린", "content": "등대지기.", "useRegex": True},
    ],
}
CARD: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Nova",
        "description": "{{char}} is a captain. {{user}} is the pilot.",
        "scenario": "A station.",
        "first_mes": "Welcome, {{user}}.",
        "alternate_greetings": ["Red alert, {{USER}}!"],
        "nickname": "Captain",
        "character_book": {
            "name": "Starship",
            "entries": [
                {"keys": ["warp drive"], "content": "Faster than light.", "enabled": True, "insertion_order": 3}
            ],
        },
    },
}


def as_bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def test_world_info_keeps_keys_switches_and_constants() -> None:
    book = read_book(as_bytes(INFO), "port.json")
    assert book.name == "달빛항"
    assert [(entry.keyword, entry.keys, entry.layer, entry.enabled) for entry in book.entries] == [
        ("달빛항", ("달빛항", "항구"), "A2", True),
        ("은빛 열쇠", ("열쇠",), "A2", True),
        ("꺼진 항목", (), "A1", False),
    ]
    assert [rule_of(entry).secondary for entry in book.entries] == [(), ("등대",), ()]
    assert book.problems == ()


def test_risu_keeps_words_and_patterns_apart() -> None:
    book = read_book(as_bytes(RISU), "달빛항.json")
    assert book.name == "달빛항"
    assert [(entry.keyword, entry.keys, entry.layer) for entry in book.entries] == [
        ("달빛항", ("달빛항", "항구"), "A2"),
        ("세계관", (), "A1"),
        ("하린", (), "A2"),
    ]
    assert [rule_of(entry).patterns for entry in book.entries] == [(), (), ("/하린(이|아)?/",)]
    assert book.problems == ()


def test_a_card_gives_its_character_its_greetings_and_its_book() -> None:
    book = read_book(as_bytes(CARD), "nova.json")
    assert book.card is not None
    prefix = book.card.prefix("en")
    assert prefix == "# Nova\n\n{{char}} is a captain. {{user}} is the pilot.\n\n## Scenario\n\nA station."
    assert (
        Names("Kim", book.card.short_name)
        .fill(prefix)
        .endswith("Captain is a captain. Kim is the pilot.\n\n## Scenario\n\nA station.")
    )
    assert book.card.greetings == ["Welcome, {{user}}.", "Red alert, {{USER}}!"]
    assert [entry.content for entry in book.entries] == ["Faster than light."]


@pytest.fixture(scope="module")
def engine() -> Iterator[WorldEngine]:
    with opened_engine() as opened:
        yield opened


PERSONAS = {
    "text": ("A ferryman.", {"text": ["A ferryman."]}),
    "wpp": ('[character("Oskar") {\nmind("calm" + "dry")\n}]', {"mind": ["calm", "dry"]}),
    "sbf": ('[ character: "Oskar"; mind: "calm", "dry" ]', {"mind": ["calm", "dry"]}),
    "boostyle": ("Oskar + calm + dry", {"mind": ["calm", "dry"]}),
}


@pytest.mark.parametrize("kind", PERSONAS)
def test_a_character_of_agnai_gives_its_texts_and_its_book(kind: str) -> None:
    told, attributes = PERSONAS[kind]
    entry = {"name": "quay", "entry": "The quay is wet.", "keywords": ["quay"], "priority": 0, "weight": 0}
    character = {
        "kind": "character",
        "name": "Oskar",
        "description": "by an author",
        "persona": {"kind": kind, "attributes": attributes},
        "greeting": "Climb in, {{user}}.",
        "alternateGreetings": ["You again."],
        "scenario": "A ferry at night.",
        "sampleChat": "{{char}}: Sit.",
        "insert": {"prompt": "Oskar never lies.", "depth": 3},
        "tags": ["river"],
        "characterBook": {"kind": "memory", "name": "Port", "entries": [{**entry, "enabled": True}]},
        "visualType": "avatar",
    }
    book = read_book(as_bytes(character))
    assert book.card is not None
    assert (book.card.text("description"), book.card.note, book.card.tags) == (told, "Oskar never lies.", ("river",))
    assert book.card.greetings == ["Climb in, {{user}}.", "You again."]
    assert [(one.keyword, one.keys, one.content) for one in book.entries] == [("quay", ("quay",), "The quay is wet.")]
    assert json.loads(write_again(book)) == character
    plain = {name: value for name, value in character.items() if name not in ("kind", "characterBook")}
    assert json.loads(write_again(read_book(as_bytes(plain)))) == plain


def test_a_wrong_field_is_named_and_sound_entries_stay() -> None:
    entries = [
        {"keys": ["a"], "content": "sound"},
        {"keys": 5, "content": "b"},
        {"keys": ["c"], "content": {"no": "text"}},
        {"keys": ["d"], "content": "d", "enabled": "maybe"},
        "no entry",
        {"keys": ["e"], "content": "  "},
        {"keys": ["f"], "content": "f", "extensions": {"gieok": {"layer": "A9"}}},
        {"keys": ["z"], "content": "sound, too", "extensions": {"gieok": {"layer": "A4", "location": "the cave"}}},
    ]
    book = read_book(as_bytes({"entries": entries}), "x.json")
    assert [(entry.content, entry.layer, entry.location) for entry in book.entries] == [
        ("sound", "A2", ""),
        ("sound, too", "A4", "the cave"),
    ]
    assert [problem.text for problem in book.problems] == [
        "entries[1]: keys must be a list of texts, not number",
        "entries[2]: content must be a text, not object",
        "entries[3]: enabled must be true or false, not string",
        "entries[4]: entry must be an object",
        "entries[5]: content is empty",
        "entries[6]: extensions.gieok.layer must be one of A1, A2, A3, A4",
    ]
    assert all(problem.left_out for problem in book.problems)


@table(
    ("data", "code"),
    [
        (b"{ invalid", "no_json"),
        (b"\xff\xfe\x00", "no_json"),
        (b"\x6f\x00\x10\x00\x00\x00" + bytes(range(16)) + b"\x00", "risum"),
        (b'{"kind": "character", "name": " "}', "empty"),
        (b"[1, 2]", "no_book"),
        (b'{"hello": 1}', "no_book"),
        (b'{"spec": "chara_card_v9", "data": {"name": "x"}}', "not_known"),
        (b'{"data": {"name": "x"}}', "not_known"),
        (b'{"spec": "chara_card_v2", "data": {}}', "empty"),
        (b'{"spec": "chara_card_v2", "data": []}', "not_object"),
        (b'{"entries": 7}', "not_entries"),
        (b"[" * 100_000, "no_json"),
        (make_blank_picture(), "no_card"),
        (make_blank_picture()[:80], "damaged"),
        (png_with(b"", {b"chara": b"no json"}), "damaged"),
        (b"PK\x03\x04 and no archive", "damaged"),
        (charx_with(b"no json", b""), "damaged"),
    ],
)
def test_what_is_no_book_is_refused_with_its_reason(data: bytes, code: str) -> None:
    with pytest.raises(BadBook) as refused:
        read_book(data, "file")
    assert refused.value.values["reason_code"] == code


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", b" " * 31_000_000)
    with pytest.raises(FileTooLarge):
        read_book(buffer.getvalue(), "bomb.charx")


def said(book: Book) -> list[tuple[Any, ...]]:
    return [
        (one.keyword, one.content, one.category, one.layer, one.keys, one.location, one.enabled) for one in book.entries
    ]


@table("form", FORMATS)
def test_a_written_file_says_the_same_when_it_is_read_again(form: Format) -> None:
    enabled = form == "risu"  # RisuAI's entries cannot be switched off
    entries = tuple(
        LoreEntry(0, f"이름 {layer}", f"내용 {layer}", "faction", layer, (f"열쇠 {layer}", "둘째"), "숲", enabled)
        for layer in LAYERS
    )
    book = Book("세계", entries)
    assert said(read_book(write_book(book, form), "file")) == said(book)


@table("form", ["card_v2", "card_v3", "card_png", "charx"])
def test_a_card_goes_through_every_format_of_cards_without_a_loss(form: Format) -> None:
    book = read_book(as_bytes(CARD), "nova.json")
    again = read_book(write_book(book, form), "again")
    assert again.card is not None
    assert book.card is not None
    wanted = {name: value for name, value in book.card.fields.items() if name != "character_book"}
    assert wanted.items() <= again.card.fields.items()
    assert [entry.extra["entry"]["insertion_order"] for entry in again.entries] == [3]


def test_regular_expressions_and_unknown_fields_survive_the_way_back() -> None:
    source = {**RISU, "data": [{**RISU["data"][2], "somebody's": ["own", "field"]}]}
    written = json.loads(write_book(read_book(as_bytes(source), "x"), "risu"))
    assert written["data"][0]["key"] == "/하린(이|아)?/"
    assert written["data"][0]["somebody's"] == ["own", "field"]


@table("path", sorted((FOLDER / "file").iterdir()), ids=lambda path: path.name)
def test_a_file_comes_out_of_a_world_as_it_went_in(engine: WorldEngine, path: Path) -> None:
    assert not is_changed(engine, path)


def test_a_picture_keeps_its_picture() -> None:
    picture = png_with(make_blank_picture(30, 40), {b"chara": as_bytes(CARD)})
    book = read_book(picture, "nova.png")
    written = write_book(book, "card_png")
    assert written.count(b"IHDR") == 1
    assert read_book(written, "again.png").card == Card("Nova", _kept(written), written)
    assert {name: _kept(written)[name] for name in CARD["data"] if name != "character_book"}.items() <= CARD[
        "data"
    ].items()


def _kept(written: bytes) -> dict[str, Any]:
    card = read_book(written, "x").card
    assert card is not None
    return card.fields


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["keys", "key", "content", "comment", "enabled", "disable", "constant", "extensions", "name"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(NAMES, JSON, max_size=6) | JSON, max_size=5))
def test_whatever_stands_in_an_entry_it_is_taken_or_named(entries: list[Any]) -> None:
    book = read_book(as_bytes({"entries": entries}), "x")
    left_out = [problem for problem in book.problems if problem.left_out]
    assert len(book.entries) + len(left_out) == len(entries)


def test_unknown_macros_in_the_own_texts_of_a_card_are_named() -> None:
    data = {**CARD["data"], "description": "{{#if x}}a{{/if}}{{char}}", "alternate_greetings": ["{{? 1+1}} {{time}}"]}
    data |= {"extensions": {"depth_prompt": {"prompt": "{{getvar::x}}"}}}
    book = read_book(as_bytes({**CARD, "data": data}), "nova.json")
    told = [(one.place, one.values["key"], one.left_out) for one in book.problems if one.code == "macro"]
    assert told == [
        ("description", "{{#if}}", False),
        ("description", "{{/if}}", False),
        ("first_mes", "{{?}}", False),
        ("note", "{{getvar}}", False),
    ]


@table("text", ["description", "char_persona"])
def test_the_texts_of_a_flat_card_are_read_under_both_their_names(text: str) -> None:
    flat = {"name": "Mir", text: "A dragon.", "first_mes": "Hi.", "world_scenario": "A cave."}
    card = read_book(as_bytes(flat), "mir.json").card
    assert card is not None
    assert card.prefix("en") == "# Mir\n\nA dragon.\n\n## Scenario\n\nA cave."
