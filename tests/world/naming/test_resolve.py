"""One person under many names is one person, one place one place; what is unclear stays two."""

from __future__ import annotations

from store.world.record import Alias, Changes, Character, Location, LoreEntry
from tests.table import table
from world.block import check
from world.lore.lorebook import Lorebook
from world.naming.spelling import compare_people, is_said
from world.state import State

BOOK = Lorebook.of(
    [
        LoreEntry(1, "Goblin King Krug", "…", keys=("Krug", "the wood king"), rule={}),
        LoreEntry(2, "어둠의 숲", "…", keys=("검은 숲",)),
        LoreEntry(3, "Tom", "…", keys=("twin",)),
        LoreEntry(4, "Tim", "…", keys=("twin",)),
    ]
)
BEGIN = State("Aria").after(
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


def met(name: str, text: str = "", before: State = BEGIN, book: Lorebook = BOOK) -> str:
    """The name under which somebody is met."""
    result = check({"npc_met": [name]}, before, book, 5, text, "en")
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
    result = check({"location": name}, BEGIN, BOOK, 5, "", "en")
    assert BEGIN.after(result.changes, 5).me.location == place


@table(
    ("one", "other", "text", "likeness"),
    [
        ("Vane", "Captain Vane", "", "same"),
        ("Rowan", "Rowan Hale", "Rowan nods.", "same"),
        ("guard", "palace guard", "", "unclear"),
        ("Guard", "Guard Captain", "The Guard waits.", "unclear"),
        ("City Guard", "City Guard Captain", "", "unclear"),
        ("Bandit", "Bandit Leader", "One of them falls.", "unclear"),
        ("Bandit", "Bandit Leader", "Another Bandit falls.", "unclear"),
        ("궁수", "엘프 궁수", "궁수들이 활을 든다.", "unclear"),
        ("상인", "떠돌이 상인", "다른 상인이 온다.", "unclear"),
        ("Captain", "Captain Vane", "", "unclear"),
        ("Maria", "Maria's mother", "", "other"),
        ("Tom", "Tim", "", "other"),
        ("리나", "대장장이 리나", "", "same"),
        ("에르겐", "에르겐 할아버지", "", "same"),
        ("뱃사공", "뱃사공 무진", "", "unclear"),
        ("크룩", "크룩스", "", "other"),
    ],
)
def test_two_names_are_compared(one: str, other: str, text: str, likeness: str) -> None:
    assert compare_people(one, other, text) == likeness
    assert compare_people(other, one, text) == likeness


def test_what_was_found_out_holds_and_can_be_taken_back() -> None:
    result = check({"npc_met": ["The Goblin King"]}, BEGIN, Lorebook.of(()), 5, "The Goblin King laughs.", "en")
    assert result.changes.aliases == (Alias("person", "The Goblin King", "Goblin King Krug"),)
    state = BEGIN.after(result.changes, 5)
    assert met("the goblin king", "a goblin king", state, Lorebook.of(())) == "Goblin King Krug"
    apart = state.after(Changes(aliases=(Alias("person", "The Goblin King", "The Goblin King"),)), 5)
    assert met("The Goblin King", "The Goblin King laughs.", apart, Lorebook.of(())) == "The Goblin King"


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
