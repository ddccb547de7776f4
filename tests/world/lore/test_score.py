"""The scores of specification 12.11 and 12.11, and what makes an entry a candidate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from store.world.record import Changes, Character, Layer, LoreEntry, LoreMark, Relation
from tests.table import table
from world.lore.activation import Scan, decide_activation
from world.lore.lorebook import Lorebook
from world.lore.pack import pack_lore_entries
from world.lore.rule import Rule
from world.lore.score import Scored, Why, score_lore_candidates
from world.story.state import StoryState

FOREST = LoreEntry(1, "어둠의 숲", "에르시아 변방의 위험한 숲", "place", "A1")
KING = LoreEntry(2, "고블린왕 크룩", "고블린들의 왕", "npc", "A2", keys=("크룩",))
COLLAPSE = LoreEntry(3, "대붕괴", "오래전 어둠의 숲을 삼킨 재앙", "history", "A1")
CASTLE = LoreEntry(4, "은빛 성채", "북쪽의 기사단", "faction", "A3")
SECRET = LoreEntry(5, "에르겐의 비밀", "약초상은 왕의 아들이다", "secret", "A4")
ENTRIES = (FOREST, KING, COLLAPSE, CASTLE, SECRET)
COSINES = {1: 0.9, 2: 0.7, 3: 0.3, 4: 0.1, 5: 0.0}
SCENE = StoryState("아리아").after(
    Changes(
        characters=(Character("아리아", "어둠의 숲", 85), Character("고블린왕 크룩", "어둠의 숲")),
        lore=(LoreMark(4, last_mentioned=9), LoreMark(5, last_mentioned=6)),
    ),
    9,
)


def one(found: list[Scored], id: int) -> Scored:
    return next(candidate for candidate in found if candidate.entry.id == id)


def rank(
    state: StoryState = SCENE, entries: tuple[LoreEntry, ...] = ENTRIES, question: str = "", turn: int = 10
) -> list[Scored]:
    book = Lorebook.of(entries)
    return score_lore_candidates(book, state, book.matcher.find(question), COSINES, turn)


def test_who_is_named_in_the_last_two_messages_comes_before_everybody_else() -> None:
    """Four messages are looked through; the place makes the scores of those that nobody named lately higher."""
    rule = Rule(scan_depth=4).plain
    older = LoreEntry(1, "Bram", "", keys=("어둠의 숲", "Bram"), rule=rule)
    newer = LoreEntry(2, "Cora", "", layer="A4", keys=("Cora",), rule=rule)
    pattern = LoreEntry(3, "Dora", "", layer="A4", rule=Rule(scan_depth=4, patterns=("/dor./i",)).plain)
    always = LoreEntry(4, "Egon", "", layer="A4", keys=("Egon",), rule=Rule(constant=True).plain)
    book = Lorebook.of((older, newer, pattern, always))
    said = (("", "Where is Cora?"), ("", "DORA and Egon nod."), ("", "Bram leaves."), ("", "Bram comes."))
    decision = decide_activation(book.keyed, Scan(messages=said))
    mentioned = book.matcher.find(" ".join(text for _, text in said[:2]))
    found = score_lore_candidates(book, SCENE, mentioned, {}, 10, decision.active)
    assert one(found, 1).score > max(one(found, id).score for id in (2, 3, 4))
    assert [(one.entry.id, one.named) for one in found] == [(2, True), (3, True), (4, True), (1, False)]
    assert pack_lore_entries(found, found[0].tokens).taken[0].entry.id == 2


def test_the_table_of_the_specification_holds() -> None:
    found = rank()
    assert [candidate.entry.keyword for candidate in found if not candidate.is_decayed] == [
        "어둠의 숲",
        "고블린왕 크룩",
        "대붕괴",
        "은빛 성채",
    ]
    assert [candidate.score for candidate in found] == pytest.approx([5.9, 4.2, 2.3, 0.6, 0.0])
    assert one(found, 1).parts == {"vector": 0.9, "place": 3.0, "npc": 0.0, "relation": 0.0, "layer": 2.0}
    assert one(found, 2).parts == {"vector": 0.7, "place": 0.0, "npc": 2.0, "relation": 0.0, "layer": 1.5}
    secret = one(found, 5)
    assert (secret.is_decayed, secret.silent) == (True, 4)
    assert pack_lore_entries(found, 1000).left == ((secret, "decayed"),)


def test_what_is_linked_to_the_place_or_a_person_in_play_comes_along() -> None:
    order = LoreEntry(6, "숲의 결사", "어둠의 숲을 지키는 이들. 크룩의 적.", "faction", "A3")
    guild = LoreEntry(7, "상인 조합", "항구의 상인들.", "faction", "A3")
    hidden = LoreEntry(8, "숲의 비밀", "어둠의 숲 밑에는 왕의 무덤이 있다.", "secret", "A4")
    found = rank(entries=(*ENTRIES, order, guild, hidden), turn=40)
    assert one(found, 6).why == ("link",)
    assert one(found, 6).score == 0.5, "a link opens the door and gives no points"
    assert not one(found, 6).is_decayed
    assert 7 not in {candidate.entry.id for candidate in found}
    assert one(found, 8).secret
    home = SCENE.after(Changes(characters=(Character("아리아", "마을 광장"), Character("고블린왕 크룩", "숲"))), 10)
    assert 6 not in {candidate.entry.id for candidate in rank(home, (*ENTRIES, order), turn=40)}


@table(
    ("layer", "silent", "decayed"),
    [
        ("A4", 3, False),
        ("A4", 4, True),
        ("A3", 7, False),
        ("A3", 8, True),
        ("A2", 5000, False),
        ("A1", 5000, False),
    ],
)
def test_an_entry_decays_when_nobody_mentions_it(layer: Layer, silent: int, decayed: bool) -> None:
    entry = replace(SECRET, layer=layer)
    state = StoryState("아리아").after(Changes(lore=(LoreMark(5, last_mentioned=2),)), 9)
    assert one(rank(state, (entry,), turn=2 + silent), 5).is_decayed is decayed


def test_an_entry_that_was_never_mentioned_counts_from_the_beginning_of_the_story() -> None:
    assert not one(rank(StoryState("아리아"), turn=3), 5).is_decayed
    assert one(rank(StoryState("아리아"), turn=4), 5).is_decayed


def test_a_mention_in_the_question_begins_the_count_anew() -> None:
    found = one(rank(question="에르겐의 비밀을 캐묻는다", turn=400), 5)
    assert (found.silent, found.is_decayed) == (0, False)
    assert "mentioned" in found.why


def test_a_mention_counts_as_long_as_the_layer_lasts() -> None:
    state = SCENE.after(Changes(lore=(LoreMark(5, last_mentioned=9),)), 9)
    assert [one(rank(state, turn=turn), 5).is_decayed for turn in (10, 11, 12, 13)] == [False, False, False, True]


def test_the_place_is_the_one_to_which_the_story_moved_an_entry() -> None:
    lamp = LoreEntry(6, "등불", "꺼지지 않는 등불", layer="A2", location="마을 광장")
    moved = SCENE.after(Changes(lore=(LoreMark(6, location="어둠의 숲"),)), 9)
    away = SCENE.after(Changes(characters=(Character("아리아", "마을 광장"),), lore=(LoreMark(6, location="늪"),)), 9)
    assert one(rank(SCENE, (lamp,)), 6).parts["place"] == 0.0
    assert one(rank(moved, (lamp,)), 6).parts["place"] == 3.0
    assert one(rank(away, (lamp,)), 6).parts["place"] == 0.0


def test_where_somebody_is_does_not_count_twice() -> None:
    moved = SCENE.after(Changes(lore=(LoreMark(2, location="어둠의 숲"),)), 9)
    assert one(rank(moved), 2).score == pytest.approx(4.2)


def test_somebody_nobody_has_met_belongs_to_the_place_where_the_author_put_him() -> None:
    stranger = LoreEntry(6, "나무꾼", "숲의 나무꾼", layer="A3", location="어둠의 숲")
    assert one(rank(SCENE, (stranger,)), 6).parts["place"] == 3.0


def test_a_relation_leads_to_an_entry_wherever_its_person_is() -> None:
    friend = LoreEntry(6, "에르겐", "약초상", layer="A3")
    entries = (*(LoreEntry(id, f"나무 {id}", "나무", layer="A3") for id in range(10, 30)), friend)
    cosines = dict.fromkeys(range(10, 30), 0.9)
    known = SCENE.after(Changes(relations=(Relation("에르겐", "아리아", "friend", 1),)), 9)
    book = Lorebook.of(entries)
    assert 6 not in {candidate.entry.id for candidate in score_lore_candidates(book, SCENE, (), cosines, 1)}
    found = one(score_lore_candidates(book, known, (), cosines, 1), 6)
    assert (found.parts["relation"], found.why) == (1.0, ("relation",))


def test_a_key_leads_to_the_entry_of_somebody_near() -> None:
    near = SCENE.after(Changes(characters=(Character("크룩", "어둠의 숲"), Character("고블린왕 크룩", "늪"))), 9)
    assert one(rank(near), 2).parts["npc"] == 2.0


@table(
    ("layer", "why"),
    [("A1", ("always",)), ("A2", ("always",)), ("A3", ()), ("A4", ())],
)
def test_only_the_first_two_layers_are_always_candidates(layer: Layer, why: tuple[Why, ...]) -> None:
    entry = LoreEntry(9, "먼 나라", "바다 건너", layer=layer)
    assert tuple(reason for found in rank(entries=(entry,)) for reason in found.why) == why


def test_ten_nearest_entries_are_candidates() -> None:
    entries = [LoreEntry(id, f"나무 {id}", "나무", layer="A3") for id in range(1, 31)]
    cosines = {id: id / 100 for id in range(1, 31)}
    found = score_lore_candidates(Lorebook.of(entries), StoryState("아리아"), (), cosines, 1)
    assert [candidate.entry.id for candidate in found] == list(range(30, 20, -1))


def test_an_entry_that_is_switched_off_is_no_candidate() -> None:
    off = replace(FOREST, enabled=False)
    assert rank(entries=(off, KING), question="어둠의 숲")[0].entry is KING
    assert len(rank(entries=(off, KING), question="어둠의 숲")) == 1


def test_the_content_is_the_one_that_the_story_gave() -> None:
    rewritten = SCENE.after(Changes(lore=(LoreMark(2, content="고블린들의 왕. 죽었다."),)), 9)
    assert one(rank(SCENE), 2).text == "- 고블린왕 크룩: 고블린들의 왕"
    assert one(rank(rewritten), 2).text == "- 고블린왕 크룩: 고블린들의 왕. 죽었다."
