"""Forty names as narrators call people of a story: the same person, another one, or nobody can say. Written before the
stories of the bench were looked at."""

from __future__ import annotations

from store.world.record import DEAD, Changes, Character
from tests.table import table
from world.block import check_block_fields
from world.lore.lorebook import Lorebook
from world.naming.merge import find_unclear
from world.story.state import StoryState

ASKED, NEW = "asked", "new"
HERE = "the inn"


def begin(player: str, people: str) -> StoryState:
    """A state with these people at the player's place; «†» behind a name: dead; «@…»: at another place."""
    rows = [Character(player, HERE)]
    for each in filter(None, people.split(", ")):
        name, _, place = each.partition("@")
        dead = name.endswith("†")
        rows.append(Character(name.removesuffix("†"), place or HERE, status=DEAD if dead else "alive"))
    return StoryState(player).after(Changes(tuple(rows)), 3)


@table(
    ("player", "people", "name", "text", "wanted"),
    [
        # a first name
        ("Edwin Marsh", "", "Edwin", "Edwin waits.", "Edwin Marsh"),
        ("Edwin Marsh", "Clara Voss", "Clara", "Clara waits.", "Clara Voss"),
        ("Edwin Marsh", "Clara", "Clara Voss", "Clara Voss waits.", "Clara"),
        ("Edwin Marsh", "Clara Voss, Clara Dunn", "Clara", "Clara waits.", ASKED),
        ("Edwin Marsh", "Clara Voss", "Clara Dunn", "Clara Dunn waits.", NEW),
        ("Edwin Marsh", "Clara Voss", "Voss", "Voss waits.", ASKED),
        ("Edwin Marsh", "", "Marsh", "Marsh waits.", ASKED),
        ("Edwin Marsh", "Clara Voss", "Captain Clara", "Captain Clara waits.", "Clara Voss"),
        ("Edwin Marsh", "Clara Voss", "Clara's brother", "Clara's brother waits.", NEW),
        ("Edwin Marsh", "Raven Crest", "raven", "A raven waits on the sill.", ASKED),
        ("레온 아스터", "", "레온", "레온이 기다린다.", "레온 아스터"),
        ("레온 아스터", "이사벨 로웰", "이사벨", "이사벨이 기다린다.", "이사벨 로웰"),
        ("레온 아스터", "이사벨 로웰, 이사벨 그레이", "이사벨", "이사벨이 기다린다.", ASKED),
        ("레온 아스터", "이사벨 로웰", "로웰", "로웰이 기다린다.", ASKED),
        # a title that one person bears
        ("Edwin Marsh", "Orc Chief Gruk", "The Orc Chief", "The Orc Chief waits.", "Orc Chief Gruk"),
        ("Edwin Marsh", "Queen Isolde", "the Queen", "The Queen waits.", "Queen Isolde"),
        ("Edwin Marsh", "Queen Isolde, Queen Maud", "the Queen", "The Queen waits.", ASKED),
        ("Edwin Marsh", "Queen Isolde†", "the Queen", "The Queen waits.", ASKED),
        ("Edwin Marsh", "Captain Reyes", "Captain", "A captain you never saw waits.", ASKED),
        ("Edwin Marsh", "Guard Willem", "guard", "The guard waits.", ASKED),
        ("Edwin Marsh", "Blacksmith Oda", "the blacksmith", "The blacksmith waits.", "Blacksmith Oda"),
        ("Edwin Marsh", "Blacksmith Oda@the far town", "the blacksmith", "The blacksmith waits.", ASKED),
        ("레온 아스터", "마왕 벨제르", "마왕", "마왕이 기다린다.", "마왕 벨제르"),
        ("레온 아스터", "선장 하백", "선장", "선장이 기다린다.", "선장 하백"),
        ("레온 아스터", "선장 하백, 선장 도해", "선장", "선장이 기다린다.", ASKED),
        ("레온 아스터", "경비병 두식", "경비병", "경비병이 기다린다.", ASKED),
        ("레온 아스터", "대장장이 철우", "대장장이", "대장장이가 기다린다.", "대장장이 철우"),
        ("레온 아스터", "상인 바로", "상인", "다른 상인이 기다린다.", ASKED),
        # a name with its role
        ("Edwin Marsh", "Tamsin", "Navigator Tamsin", "Navigator Tamsin waits.", "Tamsin"),
        ("Edwin Marsh", "Tamsin", "Tamsin the Healer", "Tamsin the Healer waits.", "Tamsin"),
        ("Edwin Marsh", "Navigator Tamsin", "Tamsin", "Tamsin waits.", "Navigator Tamsin"),
        ("Edwin Marsh", "Healer", "Village Healer", "The Village Healer waits.", ASKED),
        ("Edwin Marsh", "Lord Ashby", "Lady Ashby", "Lady Ashby waits.", NEW),
        ("레온 아스터", "소라", "약초꾼 소라", "약초꾼 소라가 기다린다.", "소라"),
        ("레온 아스터", "암살자 유진", "유진", "유진이 기다린다.", "암살자 유진"),
        ("레온 아스터", "소라", "소라의 아버지", "소라의 아버지가 기다린다.", NEW),
        ("레온 아스터", "소라", "소라 어머니", "소라 어머니가 기다린다.", ASKED),
        ("레온 아스터", "궁수", "엘프 궁수", "엘프 궁수가 기다린다.", ASKED),
        ("레온 아스터", "노파", "눈먼 노파", "눈먼 노파가 기다린다.", ASKED),
        ("레온 아스터", "소라", "소란", "소란이 기다린다.", NEW),
    ],
)
def test_a_name_finds_its_person(player: str, people: str, name: str, text: str, wanted: str) -> None:
    check_name(player, people, name, text, wanted)


@table(
    ("player", "people", "name", "text", "wanted"),
    [
        ("서하린", "김민수", "민수", "민수가 기다린다.", "김민수"),
        ("서하린", "김민수, 박민수", "민수", "민수가 기다린다.", ASKED),
        ("서하린", "김민수", "박민수", "박민수가 기다린다.", NEW),
        ("서하린", "김민수@먼 도시", "민수", "민수가 기다린다.", ASKED),
        ("서하린", "우리엘@신전", "리엘", "활을 든 엘프 리엘이 기다린다.", ASKED),
        ("서하린", "리엘@신전", "우리엘", "사제 우리엘이 기다린다.", ASKED),
        ("서하린", "조안나", "안나", "안나라는 소녀가 기다린다.", ASKED),
        ("서하린", "김민지 팀장", "팀장님", "팀장님이 기다린다.", "김민지 팀장"),
        ("서하린", "김 부장", "부장님", "부장님이 기다린다.", "김 부장"),
        ("서하린", "김 부장, 이 부장", "부장님", "부장님이 기다린다.", ASKED),
        ("서하린", "그림자", "그림자 군주", "그림자 군주가 기다린다.", ASKED),
        ("서하린", "검은 기사", "붉은 기사", "붉은 기사가 기다린다.", NEW),
        ("Edwin Marsh", "Captain of the Guard", "Captain of the Watch", "The Captain of the Watch waits.", NEW),
        ("Edwin Marsh", "Guard 1", "Guard 2", "Guard 2 waits.", NEW),
        ("Edwin Marsh", "Lina", "the mother of Lina", "The mother of Lina waits.", ASKED),
        ("Edwin Marsh", "Princess Ana", "the princess", "The princess waits.", "Princess Ana"),
        ("Edwin Marsh", "Goblin King Krug", "a goblin", "A goblin waits.", ASKED),
    ],
)
def test_a_name_of_another_form_finds_its_person(player: str, people: str, name: str, text: str, wanted: str) -> None:
    check_name(player, people, name, text, wanted)


def check_name(player: str, people: str, name: str, text: str, wanted: str) -> None:
    state = begin(player, people)
    changes = check_block_fields({"npc_location": {name: "the yard"}}, state, Lorebook.of(()), 4, text, "en").changes
    known, after = set(state.characters), state.after(changes, 4)
    added = {*after.characters} - known
    asked = any(added & set(pair) for pair in find_unclear(after, "person"))
    if wanted in (ASKED, NEW):
        assert added, "taken for somebody"
        assert asked == (wanted == ASKED)
    else:
        assert not added, "made twice"
        assert wanted == player or after.characters[wanted].location == "the yard"
