"""What a state block says is checked field by field; sound fields count, and an absurd block changes nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.world.record import DEAD, HELD, LOST, Changes, Character, Location, LoreEntry, PlayerItem, Relation
from tests.table import table
from world.block import check_block_fields, count, read_answer_blocks, value
from world.block.check import Checked
from world.lore.lorebook import Lorebook
from world.story.live import live_state
from world.story.state import StoryState

BOOK = Lorebook.of(
    [
        LoreEntry(1, "에르겐", "마을 광장의 약초상. 조용한 성격.", layer="A2", location="마을 광장"),
        LoreEntry(2, "은방울", "작은 방울.", layer="A2"),
        LoreEntry(3, "어둠의 숲", "위험한 숲.", layer="A1", keys=("검은 숲",), location="어둠의 숲"),
    ]
)
BEGIN = StoryState("아리아").after(
    Changes(
        characters=(
            Character("아리아", "마을 광장", 100),
            Character("에르겐", "마을 광장", 50),
            Character("촌장", "마을 광장", 0, DEAD),
        ),
        relations=(Relation("아리아", "에르겐", "friend", 2),),
        locations=(Location("마을 광장", adjacent=("어둠의 숲",)),),
        items=(PlayerItem("은방울", HELD), PlayerItem("낡은 지도", LOST)),
    ),
    4,
)


def checked(fields: dict[str, Any], text: str = "", language: Any = "ko") -> Checked:
    return check_block_fields(fields, BEGIN, BOOK, 5, text, language)  # type: ignore[arg-type]


def after(fields: dict[str, Any], text: str = "") -> StoryState:
    return BEGIN.after(checked(fields, text).changes, 5)


def test_the_specifications_own_block() -> None:
    (fields,) = read_answer_blocks(
        "…\n```state\nlocation: 어둠의 숲\nlocation_moved: true\nhp_change: -15\nitems_gained: [불꽃 검]\n"
        "npc_met: [고블린왕 크룩]\nrelationship_changes: [{from: 아리아, to: 크룩, type: hostile, delta: -2}]\n"
        "mood: tense\n```"
    )
    result = check_block_fields(fields, BEGIN, BOOK, 5, "숲으로 간다", "ko")
    state = BEGIN.after(result.changes, 5)
    assert result.refusals == ()
    assert (state.me.location, state.me.hp, state.mood) == ("어둠의 숲", 85, "tense")
    assert state.items["불꽃 검"].status == HELD
    assert state.characters["고블린왕 크룩"].location == "어둠의 숲"
    assert state.relations["아리아", "고블린왕 크룩"] == Relation("아리아", "고블린왕 크룩", "hostile", -2)
    assert set(state.characters) == {*BEGIN.characters, "고블린왕 크룩"}, "«크룩» is no second person"
    assert state.locations["어둠의 숲"].adjacent == ("마을 광장",)
    assert result.changes.episode is not None
    assert result.changes.episode.line == (
        "Turn 5 | 어둠의 숲 | 만남: 고블린왕 크룩, 획득: 불꽃 검, "
        "관계: 아리아 → 고블린왕 크룩 hostile (-2), HP -15, 이동"
    )
    assert result.changes.episode.importance == 0.7


@table(
    ("fields", "refusals"),
    [
        ({"hp_change": "-1,5", "mood": "calm"}, ["hp_change: 정수가 아닙니다."]),
        ({"hp_change": 5000, "mood": "calm"}, ["hp_change: 5000은 한 턴에 너무 큽니다(최대 1000)."]),
        ({"hp_change": True, "mood": "calm"}, ["hp_change: 정수가 아닙니다."]),
        ({"location": "어둠의 숲", "location_moved": False, "mood": "x"}, None),
        ({"npc_met": ["촌장", "에르겐"]}, ["npc_met: 촌장은 죽었습니다."]),
        ({"npc_met": ["촌장"], "mood": "x"}, ["npc_met: 촌장은 죽었습니다."]),
        ({"items_lost": ["없던 검"], "mood": "x"}, ["items_lost: 없던 검은 가지고 있지 않습니다."]),
        ({"location": "x" * 81, "mood": "x"}, ["location: 81자로 너무 깁니다(최대 80자)."]),
        ({"location": "두\n줄", "mood": "x"}, ["location: 쓸 수 없는 글자가 들어 있습니다."]),
        ({"relationship_changes": [{"from": "아리아"}], "mood": "x"}, None),
        ({"relationship_changes": [{"from": "촌장", "to": "아리아", "delta": 1}], "mood": "x"}, None),
        ({"relationship_changes": [{"from": "아리아", "to": "에르겐", "delta": 500}], "mood": "x"}, None),
        ({"location_moved": "maybe", "mood": "x"}, ["location_moved: true나 false가 아닙니다."]),
        ({"location": {"a": 1}, "mood": "x"}, ["location: 글이 아닙니다."]),
    ],
)
def test_an_unsound_field_is_refused_and_the_others_count(fields: dict[str, Any], refusals: list[str] | None) -> None:
    result = checked(fields)
    assert not result.absurd
    assert len(result.refusals) == 1
    if refusals is not None:
        assert list(result.refusals) == refusals
    if "mood" in fields:
        assert result.changes.mood == fields["mood"]
    if "촌장" in str(fields.get("npc_met")):
        assert BEGIN.after(result.changes, 5).characters["촌장"].dead


@table(
    "fields",
    [
        {"hp_change": "many", "location": ["x"], "mood": "x"},
        {"items_gained": [f"thing {at}" for at in range(21)], "mood": "calm", "location": "숲"},
        {"relationship_changes": [{"from": "a", "to": f"b{at}"} for at in range(21)], "hp_change": -5},
        {"hp_change": 99999, "location": "x" * 500},
    ],
)
def test_an_absurd_block_changes_nothing(fields: dict[str, Any]) -> None:
    result = checked(fields, "어둠의 숲 이야기")
    assert result.absurd
    assert list(result.refusals) == ["맞지 않는 값이 너무 많아 상태 블록 전체를 쓰지 않았습니다."]
    state = BEGIN.after(result.changes, 5)
    assert (state.characters, state.items, state.relations, state.mood) == (
        BEGIN.characters,
        BEGIN.items,
        BEGIN.relations,
        "",
    )
    assert [mark.lore for mark in result.changes.lore] == [3]


@table("nothing", ["none", "없음", "...", [], ["없음"], None, "", "[]", "N/A", ["…"], "-", {}])
def test_what_says_nothing_is_no_field(nothing: Any) -> None:
    result = checked({"items_gained": nothing, "npc_met": nothing, "location": nothing, "hp_change": nothing})
    assert result.refusals == ()
    assert result.changes.characters == ()
    assert result.changes.items == ()


def test_hit_points_stay_between_nothing_and_the_most() -> None:
    assert after({"hp_change": -150}).me.hp == 0
    assert after({"hp_change": "+30"}).me.hp == 130
    assert after({"hp_change": "−15"}).me.hp == 85


def test_the_dead_stay_dead_and_lose_their_hit_points() -> None:
    state = after({"npc_met": ["에르겐"], "npc_died": ["에르겐"]})
    assert state.characters["에르겐"] == Character("에르겐", "마을 광장", 0, DEAD)
    assert state.recent[-1].importance == 1.0


def test_a_list_may_be_one_text_and_names_lose_their_quotes() -> None:
    state = after({"items_gained": "'불꽃 검', \"방패\"", "npc_met": [{"name": "크룩"}]})
    assert {"불꽃 검", "방패"} <= set(state.items)
    assert "크룩" in state.characters


def test_relations_add_up() -> None:
    state = after({"relationship_changes": [{"from": "아리아", "to": "에르겐", "type": "", "delta": "+3"}]})
    assert state.relations["아리아", "에르겐"] == Relation("아리아", "에르겐", "friend", 5)


def test_a_lorebook_entry_follows_its_subject() -> None:
    moved = after({"location": "어둠의 숲", "location_moved": True, "npc_met": ["에르겐"]}, "에르겐이 숨어 있다")
    mark = moved.lore[1]
    assert mark.content == "마을 광장의 약초상. 조용한 성격. 지금은 어둠의 숲에 있다."
    assert (mark.location, mark.last_mentioned) == ("어둠의 숲", 5)
    dead = after({"npc_died": ["에르겐"]}).lore[1]
    assert dead.content == "마을 광장의 약초상. 조용한 성격. 죽었다."
    assert dead.last_mentioned == 0
    lost = after({"items_lost": ["은방울"]}).lore[2]
    assert lost.content == "작은 방울. 주인공은 이것을 더 이상 가지고 있지 않다."
    burnt = after({"location": "어둠의 숲", "location_status": "불탔다"}).lore[3]
    assert burnt.content == "위험한 숲. 지금 상태: 불탔다."


def test_going_back_home_gives_the_authors_words_back() -> None:
    away = after({"location": "어둠의 숲", "location_moved": True, "npc_met": ["에르겐"]})
    home = check_block_fields(
        {"location": "마을 광장", "location_moved": True, "npc_met": ["에르겐"]}, away, BOOK, 6, "", "ko"
    )
    assert away.after(home.changes, 6).lore[1].content is None


def test_what_is_mentioned_is_marked_by_its_keys() -> None:
    marks = checked({}, "검은 숲에는 아무도 없다").changes.lore
    assert [(mark.lore, mark.last_mentioned, mark.content) for mark in marks] == [(3, 5, None)]


def test_a_turn_without_a_block_is_an_episode_of_talk() -> None:
    episode = checked({}).changes.episode
    assert episode is not None
    assert episode.line == "Turn 5 | 마을 광장 | 대화"


SOUND = """```state
location: 어둠의 숲
location_moved: true
hp_change: -15
items_gained: [불꽃 검]
npc_met: [크룩]
relationship_changes: [{from: 아리아, to: 크룩, type: hostile, delta: -2}]
mood: tense
```"""


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_damaged_block_never_says_what_the_sound_one_does_not(seed: int, wounds: int) -> None:
    chance, text = random.Random(seed), SOUND
    for _ in range(wounds):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(("", "", "\n", ":", "{", "]", "'")) + text[at + chance.randrange(3) :]
    for fields in read_answer_blocks(text):
        result = check_block_fields(fields, BEGIN, BOOK, 5, "", "ko")
        state = BEGIN.after(result.changes, 5)
        assert 0 <= (state.me.hp or 0) <= 10_000
        assert all(len(one.name) <= 80 and "\n" not in one.name for one in state.characters.values())
        assert state.characters["촌장"].dead
        assert len(result.changes.items) <= 20


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(
    [
        *("location", "location_moved", "hp_change", "items_gained", "items_lost", "npc_met", "npc_died", "mood"),
        *("relationship_changes", "location_status"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(FIELD, ANY, max_size=6))
def test_whatever_stands_in_a_field_the_check_gives_an_answer(fields: dict[str, Any]) -> None:
    result = checked(fields)
    assert all(isinstance(refusal, str) and refusal for refusal in result.refusals)
    BEGIN.after(result.changes, 5)


def test_things_are_counted_where_the_block_says_how_many() -> None:
    state = BEGIN
    for turn, fields in enumerate(
        (
            {"items_gained": ["gold coin ×30", "potion (2)", "map"]},
            {"items_lost": ["gold coins x10", "potion"]},
            {"items_gained": ["map", "potion"]},
            {"items_lost": ["20 gold coins"]},
        ),
        5,
    ):
        result = check_block_fields(fields, state, BOOK, turn, "…", "en")  # type: ignore[arg-type]
        assert result.refusals == ()
        state = state.after(result.changes, turn)
    held = {one.name: one.count for one in state.items.values() if one.status == "held"}
    assert (held["potion"], held["map"]) == (1, 1)
    assert state.items["gold coin"].status == "lost"


@table(
    ("said", "once", "name", "count"),
    [
        ("물약 두 개", "물약 1개", "물약", 2),
        ("물약 두 병", "물약 한 병", "물약", 2),
        ("은화 서른 닢", "은화 1닢", "은화", 30),
        ("은화 서른두 닢", "은화 한 닢", "은화", 32),
        ("은화 이십 닢", "은화", "은화", 20),
        ("화살 12발", "화살 한 발", "화살", 12),
        ("빵 3덩이", "빵 1덩이", "빵", 3),
        ("두 자루의 단검", "단검 한 자루", "단검", 2),
        ("물주머니 네 개", "물주머니 하나", "물주머니", 4),
        ("사과 스물둘", "사과 하나", "사과", 22),
        ("20냥", "1냥", "냥", 20),
        ("30골드", "한 골드", "골드", 30),
        ("3묶음", "1묶음", "묶음", 3),
        ("two potions", "a potion", "potions", 2),
        ("three apples", "one apple", "apples", 3),
        ("a dozen arrows", "an arrow", "arrows", 12),
        ("a pair of knives", "the knife", "knives", 2),
        ("twenty-five gold coins", "1 gold coin", "gold coins", 25),
        ("1,200 gold", "1 gold", "gold", 1200),
        ({"물약": "두 개"}, {"name": "물약", "count": "1개"}, "물약", 2),
        ([{"name": "potion", "quantity": "two"}], "potion", "potion", 2),
    ],
)
def test_a_number_is_read_however_it_is_written(said: Any, once: Any, name: str, count: int) -> None:
    state = after({"items_gained": said if isinstance(said, list | dict) else [said]})
    assert state.items[name].count == count
    lost = check_block_fields({"items_lost": once if isinstance(once, dict) else [once]}, state, BOOK, 6, "…", "ko")
    assert lost.refusals == ()
    assert state.after(lost.changes, 6).items[name].count == count - 1


@table(
    "name",
    [
        *("Three-Eyed Raven", "Seven League Boots", "two of swords", "two-handed sword", "9 mm pistol"),
        *(
            "열쇠 3호",
            "2층 열쇠",
            "레벨 3 검",
            "제7의 인장",
            "구운 두부",
            "고급 세단",
            "신의 한 수",
            "검은 두 눈",
            "사자의 심장",
        ),
    ],
)
def test_a_number_in_a_name_counts_nothing(name: str) -> None:
    assert after({"items_gained": [name]}).items[name].count == 1


@table(
    ("before", "gained", "lost", "left"),
    [
        ([], ["해독초 두 뿌리"], ["해독초 한 뿌리"], 1),
        (["해독초"], ["해독초 세 뿌리"], ["해독초 두 뿌리"], 2),
        ([], ["해독초"], ["해독초"], 0),
        (["해독초"], ["해독초"], ["해독초"], 1),  # dropped, and taken up again
    ],
)
def test_what_a_turn_gives_and_takes_is_counted_together(
    before: list[str], gained: list[str], lost: list[str], left: int
) -> None:
    state = after({"items_gained": before})
    checked = check_block_fields({"items_gained": gained, "items_lost": lost}, state, BOOK, 6, "…", "ko")
    one = state.after(checked.changes, 6).items["해독초"]
    assert (one.count if one.status == "held" else 0, checked.refusals) == (left, ())


def test_some_of_a_thing_is_the_thing() -> None:
    assert {"화살", "rope"} <= set(after({"items_gained": ["화살 몇 발", "some rope"]}).items)


def test_what_changed_last_stands_first_in_the_inventory() -> None:
    things = [f"thing {at}" for at in range(14)]
    state = BEGIN.after(check_block_fields({"items_gained": things}, BEGIN, BOOK, 5, "…", "en").changes, 5)
    state = state.after(check_block_fields({"items_gained": ["lamp"]}, state, BOOK, 6, "…", "en").changes, 6)
    assert "Inventory: lamp, " in live_state(state, "en")


def front(state: StoryState) -> list[str]:
    """The inventory as the prompt has it."""
    line = next(line for line in live_state(state, "en").splitlines() if "Inventory: " in line)
    return line.partition("Inventory: ")[2].split(", ")


def test_what_is_used_or_named_stands_first_in_the_inventory_and_is_not_gone() -> None:
    state = StoryState("아리아")
    turns: tuple[tuple[dict[Any, Any], str, list[str]], ...] = (
        ({"items_gained": ["낡은 등불", "검", "potion ×3", "map"]}, "", ["map", "potion ×3", "검", "낡은 등불"]),
        ({"items_used": ["검"]}, "…", ["검", "map", "potion ×3", "낡은 등불"]),
        ({"items_gained": ["map"]}, "낡은 등불을 켠다.", ["map", "낡은 등불", "검", "potion ×3"]),
        ({}, "점검은 끝났고 등불과 maple 나무뿐이다.", ["map", "낡은 등불", "검", "potion ×3"]),
        ({}, "검은 무겁다.", ["검", "map", "낡은 등불", "potion ×3"]),
        ({"items_lost": ["potion"]}, "You drink one of the potions.", ["potion ×2", "검", "map", "낡은 등불"]),
        ({"items_gained": ["낡은 등불"], "items_used": ["rope"]}, "…", ["낡은 등불", "potion ×2", "검", "map"]),
        ({"items_gained": ["potion"]}, "…", ["potion ×3", "낡은 등불", "검", "map"]),
    )
    for turn, (fields, text, things) in enumerate(turns, 1):
        checked = check_block_fields(fields, state, BOOK, turn, text, "en")
        assert checked.refusals == ()
        state = state.after(checked.changes, turn)
        assert front(state) == things


@table("me", ["you", "The player", "{{user}}"])
def test_the_player_is_known_by_what_everybody_calls_him(me: str) -> None:
    change = [{"from": me, "to": "크룩", "type": "hostile", "delta": -2}]
    result = check_block_fields({"relationship_changes": change}, BEGIN, BOOK, 5, "크룩이 덤빈다", "ko")
    assert [one.from_char for one in result.changes.relations] == [BEGIN.player]


def test_a_relation_of_people_whom_nobody_has_named_is_refused() -> None:
    change = [{"from": "아무개", "to": "크룩", "type": "hostile", "delta": -2}]
    result = check_block_fields({"relationship_changes": change}, BEGIN, BOOK, 5, "비가 온다", "ko")
    assert result.changes.relations == ()
    assert "아무개" not in BEGIN.after(result.changes, 5).characters


@table("field, entries", [("npc_met", ["Lina", ["x"], {"age": 3}, True]), ("items_gained", [{"a": "b"}, "Lina", ["y"]]),
                          ("companions", [["x"], "Lina"])])  # fmt: skip
def test_what_is_no_text_among_the_names_of_a_list_is_left_out(field: Any, entries: list[Any]) -> None:
    read = count.read_thing_counts(entries) if field == "items_gained" else value.read_name_values(entries)
    assert read == ([("Lina", None)] if field == "items_gained" else ["Lina"])


def test_what_is_no_text_among_people_with_places_is_left_out() -> None:
    assert value.read_person_places(["Lina → the mill", {"name": ["x"], "location": "y"}]) == {"Lina": "the mill"}


@table("read", [value.read_name_values, value.read_person_places, count.read_thing_counts])
def test_a_list_without_any_text_is_refused(read: Any) -> None:
    with pytest.raises(value.ValueRefusal):
        read([{"name": ["x"]}, True])
