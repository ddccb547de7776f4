"""The name of the user's character is taken from where clients say it."""

from __future__ import annotations

from tests.table import table
from world.story.persona import find_persona_name
from world.story.told import StoryMessage, build_told_story


@table(
    ("text", "name"),
    [
        ("Write Sera's next reply in a fictional chat between Sera and Minsu.", "Minsu"),
        ("Write 세라's next reply in a fictional chat between 세라 and 민수. Be creative.", "민수"),
        ("[Persona: 민수]", "민수"),
        ("[Persona: Min Su, a herbalist of thirty]", "Min Su"),
        ("{{user}} = 민수", "민수"),
        ("[User: Minsu]", "Minsu"),
        ("The user's name is Minsu.", "Minsu"),
        ("주인공의 이름은 민수다.", "민수"),
        ("사용자 이름: 민수", "민수"),
        ("# 카드\n\n민수의 페르소나:\n키 큰 약초꾼", "민수"),
        ("Minsu's Persona: a herbalist", "Minsu"),
        ("Persona: A tall knight who fears nothing.", ""),
        ("페르소나: 키가 크고 말이 없는 약초꾼", ""),
        ("User: Hello there\nSera: Hi", ""),
        ("[Persona: User]", ""),
        ("You are Sera. The user likes herbs.", ""),
        ("a chat between Minsu and Sera", ""),
        ("", ""),
    ],
)
def test_instructions_name_the_player(text: str, name: str) -> None:
    assert find_persona_name([text], [("", "안녕")], ["세라", "Sera"]) == name


def test_the_name_of_a_message_counts_most() -> None:
    said = [("", "Hello"), ("Minsu", "Go")]
    assert find_persona_name(["[Persona: Haru]"], said, []) == "Minsu"


def test_the_name_before_every_message_is_the_players() -> None:
    assert find_persona_name([], [("", "민수: 안녕"), ("", "민수: 가자")], []) == "민수"
    assert find_persona_name(["민수는 약초꾼이다."], [("", "민수: 안녕")], []) == "민수"
    assert find_persona_name([], [("", "Note: go on")], []) == ""
    assert find_persona_name([], [("", "민수: 안녕"), ("", "세라: 그래")], []) == ""


def test_who_answers_is_nobody_to_play() -> None:
    lines = [
        StoryMessage("user", "Hello", name="Mina"),
        StoryMessage("assistant", "Mina: Hi"),
        StoryMessage("user", "Go", name="Minsu"),
    ]
    assert build_told_story(lines).player == "Minsu"
    assert build_told_story(lines[:2]).player == ""
