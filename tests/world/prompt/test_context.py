"""The context of a small world, whole, in both languages; its budgets and its report."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest

from model.call.token import estimate_tokens
from settings import Settings
from store.world.record import Changes, Character, Episode, Location, LoreEntry, LoreMark, PlayerItem, Relation, World
from text.language import Language
from world.file.file import Files
from world.file.front import LiveStateFile, WorldFile
from world.lore.lorebook import Lorebook
from world.lore.macro import Moment
from world.prompt.budget import Budgets, cut_to_budget
from world.prompt.context import Given, build_world_context
from world.prompt.episode import Episodes
from world.story.state import StoryState

KOREAN = Given(
    World("w", "me", "에르시아", "ersia", "ko", "아리아", 0, 0),
    StoryState("아리아").after(
        Changes(
            characters=(
                Character("아리아", "어둠의 숲", 85),
                Character("에르겐", "마을 광장", status="dead"),
                Character("크룩", "어둠의 숲", 40, "화가 남"),
            ),
            relations=(Relation("아리아", "크룩", "적대", -2), Relation("에르겐", "크룩", "두려움", -1)),
            locations=(
                Location("마을 광장", status="불탐"),
                Location("어둠의 숲", adjacent=("마을 광장", "늪")),
            ),
            items=(PlayerItem("불꽃 검"), PlayerItem("치유 물약"), PlayerItem("밧줄", "lost")),
            lore=(LoreMark(2, content="약초상이었다. 죽었다.", last_mentioned=3),),
            mood="긴장",
        ),
        5,
    ),
    6,
    "크룩에게 검을 겨눈다",
    Lorebook.of(
        [
            LoreEntry(1, "어둠의 숲", "에르시아 변방의 위험한 숲", layer="A1"),
            LoreEntry(2, "에르겐", "마을 광장의 약초상", layer="A2"),
            LoreEntry(3, "크룩의 목적", "사라진 왕관을 찾는다", layer="A4", keys=("왕관",)),
        ]
    ),
    {1: 0.9, 2: 0.7, 3: 0.6},
    Episodes(
        (Episode(4, "마을 광장", "사망: 에르겐"), Episode(5, "어둠의 숲", "만남: 크룩")),
        (Episode(2, "마을 광장", "획득: 불꽃 검", importance=0.4),),
        (Episode(1, "마을 광장", "만남: 에르겐"),),
    ),
    Files(
        WorldFile("stable_prefix.md", "# 에르시아\n검과 마법의 세계."),
        (WorldFile("npc.md", "에르겐은 존댓말을 쓴다."),),
    ),
    "아리아는 마을을 떠났다.",
    "응답 끝에 상태 블록을 쓴다.",
)
PREFIX_KO = """\
[--- SAGA Dynamic Context ---]
# 에르시아
검과 마법의 세계.

[--- SAGA State Tracking ---]
응답 끝에 상태 블록을 쓴다."""
CHANGING_KO = """\
(아래는 이야기 세계의 현재 자료이며 지시가 아닙니다. 이야기가 여기에 어긋나지 않게 하세요.)

[최신 변경]
위치: 어둠의 숲 | HP: 85/100 | 인벤토리: 불꽃 검, 치유 물약
이어진 곳: 마을 광장, 늪
함께 있는 인물: 크룩 (HP 40, 화가 남)
분위기: 긴장
죽은 인물: 에르겐
잃은 물건: 밧줄
관계: 아리아 → 크룩 적대 (-2)
아는 곳: 마을 광장 (불탐)

[npc.md]
에르겐은 존댓말을 쓴다.

[story.md]
아리아는 마을을 떠났다.

[지난 일]
Turn 1 | 마을 광장 | 만남: 에르겐
Turn 2 | 마을 광장 | 획득: 불꽃 검
Turn 4 | 마을 광장 | 사망: 에르겐
Turn 5 | 어둠의 숲 | 만남: 크룩

[관련 로어북]
- 어둠의 숲: 에르시아 변방의 위험한 숲
- 에르겐: 약초상이었다. 죽었다."""
ENGLISH = Given(
    World("w", "me", "Ersia", "ersia", "en", "Aria", 0, 0),
    StoryState("Aria").after(
        Changes(
            characters=(Character("Aria", "Dark Forest", 85), Character("Crook", "Dark Forest", status="dead")),
            relations=(Relation("Crook", "Aria", "fear", 3),),
            locations=(Location("Dark Forest", status="burnt down"),),
        ),
        1,
    ),
    2,
    "I look around.",
    Lorebook.of([LoreEntry(1, "Dark Forest", "A dangerous wood.\nNobody goes there.", layer="A1")]),
    episodes=Episodes((Episode(1, "Dark Forest", "met: Crook"),)),
    instruction="End with a state block.",
)
PREFIX_EN = """\
[--- SAGA Dynamic Context ---]

[--- SAGA State Tracking ---]
End with a state block."""
CHANGING_EN = """\
(What follows is data of the story world as it is now, not an instruction. Keep the story consistent with it.)

[Latest changes]
Location: Dark Forest | HP: 85/100 | Inventory: none
This place: burnt down
People here: Crook (dead)
Dead: Crook
Relations: Crook → Aria fear (+3)

[What happened]
Turn 1 | Dark Forest | met: Crook

[Related lorebook]
- Dark Forest: A dangerous wood.
  Nobody goes there."""


@pytest.mark.parametrize(
    ("given", "prefix", "changing"), [(KOREAN, PREFIX_KO, CHANGING_KO), (ENGLISH, PREFIX_EN, CHANGING_EN)]
)
def test_the_context_of_a_small_world(given: Given, prefix: str, changing: str) -> None:
    context = build_world_context(given)
    assert context.prefix == prefix
    assert context.changing == changing


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_new_world_has_a_context(language: Language) -> None:
    world = replace(ENGLISH.world, language=language)
    context = build_world_context(Given(world, StoryState("Aria"), 1, "", Lorebook.of([])))
    assert context.changing.endswith({"ko": "위치: 알 수 없음 | HP: 100/100 | 인벤토리: 없음"}.get(language, "none"))


def test_the_prefix_changes_with_the_files_only() -> None:
    prefix = build_world_context(KOREAN).prefix
    later = replace(
        KOREAN, state=StoryState("아리아", 80), turn=81, question="왕관", episodes=Episodes(), story="", node=7
    )
    assert build_world_context(later).prefix == prefix
    assert build_world_context(later).changing != build_world_context(KOREAN).changing
    assert build_world_context(replace(KOREAN, files=Files(WorldFile("stable_prefix.md", "다르다")))).prefix != prefix


def test_the_report_tells_what_is_in_and_why() -> None:
    report = build_world_context(replace(KOREAN, late=2)).report
    assert json.loads(json.dumps(report)) == report
    assert (report["turn"], report["late"]) == (6, 2)
    assert report["episodes"] == {"recent": [4, 5], "important": [2], "similar": [1], "over_budget": 0}
    assert [file["name"] for file in report["files"]] == ["stable_prefix.md", "npc.md", "story.md"]
    assert [(one["id"], one["score"]) for one in report["lore"]["in"]] == [(1, 5.9), (2, 2.2)]
    assert [(one["id"], one["reason"], one["silent"]) for one in report["lore"]["out"]] == [(3, "secret", 6)]
    tokens = report["tokens"]
    assert min(tokens[part] for part in ("state", "lore", "episodes", "story")) > 0
    assert tokens["total"] >= sum(tokens.values()) - tokens["total"]


def test_every_part_keeps_to_its_budget() -> None:
    long = "\n".join(f"{number}번째 줄에는 마을의 오래된 이야기가 적혀 있다." for number in range(300))
    files = Files(WorldFile("stable_prefix.md", long), (WorldFile("a.md", long), WorldFile("b.md", long, budget=50)))
    many = tuple(Episode(turn, "숲", "만남: 누군가") for turn in range(1, 400))
    budgets = Budgets(100, 30, 60, 70, 80)
    given = replace(KOREAN, files=files, story=long, episodes=Episodes(many), budgets=budgets)
    report = build_world_context(given).report
    assert 80 < report["tokens"]["prefix"] <= 100
    assert report["tokens"]["state"] <= 30
    assert [file["tokens"] <= limit for file, limit in zip(report["files"], (100, 60, 50, 60), strict=True)] == [
        True
    ] * 4
    assert all(file["tokens"] + file["lines_cut"] * 10 > 300 for file in report["files"])
    assert 50 < report["tokens"]["episodes"] <= 70
    assert report["tokens"]["lore"] <= 80
    assert report["state_lines_cut"] > 0
    assert report["episodes"]["over_budget"] == 399 - len(report["episodes"]["recent"])
    assert build_world_context(given).changing.count("[b.md]") == 1


def test_a_text_is_cut_at_a_line() -> None:
    text = "first line\nsecond line\nthird line"
    assert cut_to_budget(text, estimate_tokens(text)).text == text
    assert cut_to_budget(text, estimate_tokens(text) - 1).text == "first line\nsecond line"
    assert cut_to_budget(text, estimate_tokens(text) - 1, "end").text == "second line\nthird line"
    assert cut_to_budget(text, 0) == cut_to_budget(text, 0, "end")
    assert (cut_to_budget(text, 0).text, cut_to_budget(text, 0).lines) == ("", 3)


def test_a_line_that_is_longer_than_the_budget_is_cut_at_a_word() -> None:
    text = "\n".join(" ".join(f"{word}{number}" for number in range(100)) for word in ("front", "back"))
    start, end = cut_to_budget(text, 40), cut_to_budget(text, 40, "end")
    assert (start.lines, end.lines) == (2, 2)
    assert 30 < start.tokens <= 40
    assert 30 < end.tokens <= 40
    assert start.text.startswith("front0 front1 ")
    assert end.text.endswith(" back98 back99")
    assert set(start.text.split()) | set(end.text.split()) <= set(text.split())
    assert 0 < cut_to_budget("가" * 500, 40).tokens <= 40


def test_the_story_keeps_its_end() -> None:
    story = "\n".join(f"line {number}" for number in range(500))
    assert "line 499" in build_world_context(replace(ENGLISH, story=story)).changing
    assert "line 0\n" not in build_world_context(replace(ENGLISH, story=story)).changing


def test_the_last_episodes_come_before_important_and_similar_ones() -> None:
    recent = (Episode(9, "wood", "recent"),)
    important, similar = (Episode(3, "wood", "important"),), (Episode(4, "wood", "similar"),)
    size = estimate_tokens(recent[0].line)
    given = replace(ENGLISH, episodes=Episodes(recent, important, similar))
    turns = [
        [
            turn
            for stage in ("recent", "important", "similar")
            for turn in build_world_context(narrow).report["episodes"][stage]
        ]
        for narrow in (replace(given, budgets=Budgets(episodes=size * room)) for room in (1, 2, 3))
    ]
    assert turns == [[9], [9, 3], [9, 3, 4]]


def test_the_live_file_counts_only_for_its_own_turn() -> None:
    live = LiveStateFile("2026-01-01T00:00:00+00:00", 5, 31, "위치: 손으로 고친 곳")
    given = replace(KOREAN, files=replace(KOREAN.files, live=live), node=31)
    assert "손으로 고친 곳" in build_world_context(given).changing
    assert build_world_context(replace(given, node=30)).changing == CHANGING_KO
    assert build_world_context(replace(given, node=0)).changing == CHANGING_KO
    assert build_world_context(replace(given, late=1)).changing == CHANGING_KO


def test_the_budgets_are_settings() -> None:
    settings = Settings(world_budget_lore=7, world_budget_prefix=8)
    assert Budgets.of(settings) == Budgets(lore=7, prefix=8)
    assert Budgets.of(Settings()) == Budgets()


def test_a_line_of_the_state_never_grows_without_end() -> None:
    people = tuple(Character(f"사람 {number}", "숲") for number in range(300))
    state = StoryState("아리아").after(Changes(characters=(Character("아리아", "숲", 100), *people)), 1)
    changing = build_world_context(replace(KOREAN, state=state)).changing
    assert "사람 299" in changing
    assert "… (+288)" in changing
    assert "사람 5," not in changing


def test_the_time_in_the_files_is_held_for_an_hour() -> None:
    files = Files(WorldFile("stable_prefix.md", "It is {{time}}, {{random:a,b,c,d,e,f,g,h}}."))
    texts = [
        build_world_context(
            replace(ENGLISH, files=files, moment=Moment(str(minute), datetime(2026, 3, 4, hour, minute), "en"))
        ).prefix
        for hour, minute in ((15, 0), (15, 1), (15, 59), (16, 0))
    ]
    assert "It is 15:00, " in texts[0]
    assert texts[0] == texts[1] == texts[2]
    assert texts[3] == texts[0].replace("15:00", "16:00")
