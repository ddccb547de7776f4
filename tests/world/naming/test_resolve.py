"""One person under many names is one person, one place one place; what is unclear stays two."""

from __future__ import annotations

from store.world.record import Alias, Changes, Character, Location, LoreEntry
from tests.table import table
from world.block import check_block_fields
from world.lore.lorebook import Lorebook
from world.naming.person import compare_people, is_said
from world.story.state import StoryState

BOOK = Lorebook.of(
    [
        LoreEntry(1, "Goblin King Krug", "…", keys=("Krug", "the wood king"), rule={}),
        LoreEntry(2, "어둠의 숲", "…", keys=("검은 숲",)),
        LoreEntry(3, "Tom", "…", keys=("twin",)),
        LoreEntry(4, "Tim", "…", keys=("twin",)),
    ]
)
BEGIN = StoryState("Aria").after(
    Changes(
        characters=(
            Character("Aria", "the Dark Forest", 80),
            Character("Goblin King Krug", "the Dark Forest"),
            Character("에르겐", "어둠의 숲"),
            Character("Tom", "the mill"),
            Character("윔", "the mill"),
            Character("Tim", "the mill"),
        ),
        locations=(Location("the Dark Forest"), Location("어둠의 숲"), Location("Room (1)")),
    ),
    4,
)


def met(name: str, text: str = "", before: StoryState = BEGIN, book: Lorebook = BOOK) -> str:
    """The name under which somebody is met."""
    result = check_block_fields({"npc_met": [name]}, before, book, 5, text, "en")
    deeds = result.changes.episode
    return deeds.participants[0] if deeds and deeds.participants else "Aria"


@table(
    ("name", "text", "known"),
    [
        ("Krug", "", "Goblin King Krug"),
        ("krug", "", "Goblin King Krug"),
        ("The Goblin King", "The Goblin King laughs.", "Goblin King Krug"),
        ("the wood king", "", "Goblin King Krug"),
        ("goblin", "A goblin peers out.", "goblin"),
        ("Goblin", "A Goblin peers out.", "Goblin"),
        ("에르겐은", "에르겐은 웃는다.", "에르겐"),
        ("에르겐이", "", "에르겐"),
        ("하은", "하은이 웃는다.", "하은"),
        ("윔은", "윔이 달아난다.", "윔"),
        ("미라는", "미라는 웃고, 미라가 떠난다.", "미라"),
        ("twin", "", "twin"),
        ("player", "", "Aria"),
        ("The Player", "", "Aria"),
        ("you", "", "Aria"),
        ("주인공", "", "Aria"),
        ("당신은", "", "Aria"),
        ("{{user}}", "", "Aria"),
        ("ARIA", "", "Aria"),
    ],
)
def test_a_person_is_known_by_all_names(name: str, text: str, known: str) -> None:
    assert met(name, text) == known


@table(
    ("name", "place"),
    [
        ("Dark forest (north)", "the Dark Forest"),
        ("dark forest", "the Dark Forest"),
        ("검은 숲", "어둠의 숲"),
        ("어둠의 숲(입구)", "어둠의 숲"),
        ("Room (2)", "Room (2)"),
        ("the mill", "the mill"),
        ("Dark Forest Inn", "Dark Forest Inn"),
    ],
)
def test_a_place_is_known_by_all_names(name: str, place: str) -> None:
    result = check_block_fields({"location": name}, BEGIN, BOOK, 5, "", "en")
    assert BEGIN.after(result.changes, 5).me.location == place


@table(
    ("one", "other", "likeness"),
    [
        ("Vane", "Captain Vane", "same"),
        ("에르겐", "에르겐 할아버지", "same"),
        ("크룩", "고블린왕 크룩", "same"),
        ("Rowan", "Rowan Hale", "sole"),
        ("guard", "palace guard", "unclear"),
        ("Merchant", "Weapon Merchant", "unclear"),
        ("Guard", "Guard Captain", "unclear"),
        ("City Guard", "City Guard Captain", "unclear"),
        ("Captain", "Captain Vane", "sole"),
        ("상인", "무기 상인", "unclear"),
        ("노인", "눈먼 노인", "unclear"),
        ("병사", "늙은 병사", "unclear"),
        ("마녀", "숲의 마녀", "unclear"),
        ("어머니", "리나의 어머니", "unclear"),
        ("리나", "대장장이 리나", "same"),
        ("뱃사공", "뱃사공 무진", "sole"),
        ("민수", "김민수", "sole"),
        ("Maria", "Maria's mother", "other"),
        ("Tom", "Tim", "other"),
        ("크룩", "크룩스", "other"),
    ],
)
def test_two_names_are_compared(one: str, other: str, likeness: str) -> None:
    assert compare_people(one, other) == likeness
    assert compare_people(other, one) == likeness


def test_the_death_of_one_of_a_trade_leaves_the_others_alive() -> None:
    state = BEGIN.after(Changes((Character("상인"), Character("어머니"))), 4)
    died, text = ["무기 상인", "리나의 어머니"], "무기 상인과 리나의 어머니가 죽는다."
    state = state.after(check_block_fields({"npc_died": died}, state, BOOK, 5, text, "ko").changes, 5)
    assert {one.name for one in state.characters.values() if one.dead} == {"무기 상인", "리나의 어머니"}


@table(
    ("known", "first", "second", "name"),
    [
        ("Stark", "Lord Stark", "Lady Stark", "Lady Stark"),
        ("Krug", "King Krug", "Old King Krug", "Krug"),
        ("리나", "리나 공주", "리나 씨", "리나"),
        ("리나", "리나 공주", "리나 여왕", "리나 여왕"),
    ],
)
def test_nobody_takes_a_second_title_without_a_question(known: str, first: str, second: str, name: str) -> None:
    state = StoryState("Aria").after(Changes((Character("Aria"), Character(known))), 4)
    assert met(first, before=state, book=Lorebook.of(())) == known
    state = state.after(check_block_fields({"npc_met": [first]}, state, Lorebook.of(()), 5, "", "en").changes, 5)
    assert met(second, before=state, book=Lorebook.of(())) == name
    both = check_block_fields(
        {"npc_met": [first, second]}, StoryState("Aria").after(Changes((Character(known),)), 4), BOOK, 5, "", "en"
    )
    assert name in {one.name for one in both.changes.characters}, "nor in one turn"


def test_what_was_found_out_holds_and_can_be_taken_back() -> None:
    name = "에르겐 할아버지"
    result = check_block_fields({"npc_met": [name]}, BEGIN, Lorebook.of(()), 5, "", "ko")
    assert result.changes.aliases == (Alias("person", name, "에르겐"),)
    state = BEGIN.after(result.changes, 5)
    assert met("에르겐할아버지", "", state, Lorebook.of(())) == "에르겐"
    apart = state.after(Changes(aliases=(Alias("person", name, name),)), 5)
    assert met(name, "", apart, Lorebook.of(())) == name


@table(
    ("name", "text", "said"),
    [
        ("Brother Anselm", "Anselm nods.", True),
        ("the Dark Forest", "into the dark forest", True),
        ("Brother Anselm", "A brother nods.", False),
        ("버들 숲", "버들숲으로 간다", True),
        ("the moon", "I go home.", False),
    ],
)
def test_a_text_says_a_name(name: str, text: str, said: bool) -> None:
    assert is_said(name, text) == said
