"""The panel of a world: every tab on a real story in a real database, every action, and how it fails."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import errors
from component.page.catalogue import LANGUAGES, Words
from component.work import resource
from component.world.lore.form import apply_lore_fields
from component.world.tab.prompt import explain_cache_break
from store.database import world_table
from store.world.change import build_plain_changes
from store.world.record import (
    DEAD,
    LOST,
    Changes,
    Character,
    Location,
    LoreEntry,
    LoreMark,
    NewNode,
    PlayerItem,
    Relation,
    StoryNode,
    StoryTime,
    World,
)
from tests.conftest import Serve
from tests.table import table
from world.curator.correction import correct_row
from world.engine import WorldEngine

pytestmark = pytest.mark.usefixtures("fresh")
WORDS = {"ko": Words("ko"), "en": Words("en")}
BEGIN = Changes(
    characters=(
        Character("아리아", "나루터", 100),
        Character("도윤", "나루터", 60),
        Character("세라", "숲", 80),
        Character("늑대", "숲", 0, DEAD),
    ),
    relations=(Relation("도윤", "아리아", "스승", 2), Relation("세라", "도윤", "의심", -3)),
    locations=(Location("나루터", "강가의 선착장", ("숲",)), Location("숲", "늙은 숲", ("나루터",), "불탐")),
    items=(PlayerItem("밧줄"), PlayerItem("은방울", LOST)),
)
LORE = [
    LoreEntry(0, "나루", "강을 건너는 곳", layer="A1", location="나루터"),
    LoreEntry(0, "도윤", "늙은 *뱃사공*", layer="A2", keys=("뱃사공",)),
    LoreEntry(0, "순라대", "세금을 거둔다", layer="A3", enabled=False),
    LoreEntry(0, "비밀", "도윤은 죽은 사람이다", layer="A4"),
]


def panel() -> None:
    from component.page.view import build_page_view, build_page_words, take_page_error
    from component.widget.failure import draw_error
    from component.world.panel import draw_world_panel
    from component.world.view import read_story

    view = build_page_view(build_page_words())
    shown = read_story(view)
    if shown is not None:
        draw_world_panel(shown)
    error = take_page_error()
    if error is not None:
        draw_error(view.words, error)


@dataclass
class Told:
    """A story: a world with its engine."""

    engine: WorldEngine
    world: World

    @property
    def rows(self) -> Any:
        return self.engine.store.worlds

    def say(
        self, parent: StoryNode | None, question: str, answer: str, receipt: Any = None, **fields: str
    ) -> StoryNode:
        """Stores a turn and works it off, as the engine does."""
        begun = self.engine.after(self.world.id, parent, question)
        report = self.engine.prompt(begun).report
        block = "\n".join(f"{name}: {value}" for name, value in fields.items())
        node = self.engine.finish(begun, f"{answer}\n\n```state\n{block}\n```", answer, receipt, report)
        assert self.engine.idle(60)
        return self.rows.node(node.id)  # type: ignore[no-any-return]

    def open(self, tab: str, node: StoryNode | None = None, language: str = "ko") -> AppTest:
        at = AppTest.from_function(panel, default_timeout=60)
        at.context = {"locale": f"{language}-XX"}
        at.query_params["s"] = self.world.id
        at.session_state[f"looks-{self.world.id}"] = node.id if node is not None else 0
        at.session_state[f"world-tabs-{language}"] = WORDS[language](f"world.tab.{tab}")
        return checked(at.run())

    def state(self, node: StoryNode | None) -> Any:
        return self.engine.state(self.rows.node(node.id) if node else None, self.world)


@pytest.fixture
def told(serve: Serve) -> Told:
    serve()
    engine = resource.find_user_engine()
    world = engine.store.worlds.create("나루", "ko", "아리아")
    engine.store.worlds.set_begin_state(world.id, BEGIN)
    engine.store.worlds.put_lore(world.id, LORE)
    return Told(engine, world)


def checked(at: AppTest) -> AppTest:
    assert not at.exception
    return at


def texts(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.code, at.error, at.info, at.warning)
    return "\n".join(re.sub(r"\\(.)", r"\1", str(one.value)) for kind in kinds for one in kind)


def click(at: AppTest, key: str) -> AppTest:
    return checked(at.button(key=key).click().run())


def typed(at: AppTest, kind: str, end: str) -> Any:
    """The one field of a kind whose key ends so."""
    found = [one for one in at.get(kind) if str(one.key).endswith(end)]
    assert len(found) == 1, [one.key for one in at.get(kind)]
    return found[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_that_may_be_one_are_asked_about_made_one_and_split_again(told: Told, language: str) -> None:
    begin = replace(
        BEGIN, characters=(*BEGIN.characters, Character("뱃사공", "숲"), Character("뱃사공 무진", "나루터"))
    )
    told.rows.set_begin_state(told.world.id, begin)
    node = told.say(None, "부른다", "세라가 온다.", npc_met="[세라]")
    at = told.open("people", node, language)
    words = WORDS[language]
    assert words("world.name.ask.person", one="뱃사공", other="뱃사공 무진") in texts(at)
    click(at, "world-name-person-0-one")
    assert "뱃사공" not in told.state(node).characters
    at = told.open("people", node, language)
    assert words("world.name.also", name="뱃사공") in texts(at)
    key = next(str(one.key) for one in at.button if "-split-" in str(one.key))
    click(at, key)
    assert told.state(node).characters["뱃사공"].location == "숲"
    at = told.open("people", node, language)
    assert words("world.name.ask.person", one="뱃사공", other="뱃사공 무진") not in texts(at)


def test_whoever_travels_along_by_hand_comes_to_the_player_and_goes_with_him(told: Told) -> None:
    node = told.say(None, "부른다", "세라가 온다.", mood="calm")
    at = told.open("people", node)
    click(at, next(str(one.key) for one in at.button if str(one.key).endswith("-edit") and "세라" in str(one.help)))
    typed(at, "checkbox", "-along").set_value(True).run()
    click(at, "world-person-save")
    assert told.state(node).characters["세라"].location == "나루터"
    assert WORDS["ko"]("world.people.along") in texts(told.open("people", node))
    later = told.say(told.rows.node(node.id), "떠난다", "탑에 닿는다.", location="탑", location_moved="true")
    assert told.state(later).characters["세라"].location == "탑"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_curator_has_put_right_is_undone(told: Told, language: str) -> None:
    node = told.say(None, "부른다", "세라가 온다.", npc_met="[세라]")
    old, new = correct_row(told.state(node), "도윤", "location", "숲")
    told.rows.amend(node, new)
    mend = {"old": build_plain_changes(old), "new": build_plain_changes(new)}
    told.rows.add_finding(node, "mended", "도윤", "1턴에 떠났다.", mend)
    assert told.state(node).characters["도윤"].location == "숲"
    at = told.open("curator", node, language)
    assert "1턴에 떠났다." in texts(at)
    click(at, next(str(one.key) for one in at.button if str(one.key).endswith("-undo")))
    assert told.state(node).characters["도윤"].location == "나루터"
    at = told.open("curator", node, language)
    assert WORDS[language]("world.finding.undone") in texts(at)
    assert not [one for one in at.button if str(one.key).endswith("-undo")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_value_that_the_curator_has_put_right_is_undone_alone(told: Told, language: str) -> None:
    node = told.say(None, "부른다", "세라가 온다.", npc_met="[세라]")
    old = Changes((told.state(node).characters["도윤"],))
    new = Changes((replace(old.characters[0], location="숲", hp=3, status="지침"),))
    told.rows.amend(node, new)
    told.rows.add_finding(
        node, "mended", "도윤", "1턴에 다쳤다.", {"old": build_plain_changes(old), "new": build_plain_changes(new)}
    )
    told.rows.correct_turn(told.rows.node(node.id), Changes((replace(new.characters[0], status="화남"),)))
    at = told.open("curator", node, language)
    single = {str(one.label): str(one.key) for one in at.button if "-undo-" in str(one.key)}
    labels = [WORDS[language](f"world.curator.value.{name}") for name in ("location", "hp")]
    assert [label.endswith(end) for label, end in zip(single, labels, strict=True)] == [True, True]
    click(at, next(iter(single.values())))
    person = told.state(node).characters["도윤"]
    assert (person.location, person.hp, person.status) == ("나루터", 3, "화남")
    (finding,) = told.rows.findings(node)
    assert finding.status == "open"
    told.engine.undo_mend(finding)
    person = told.state(node).characters["도윤"]
    assert (person.location, person.hp, person.status) == ("나루터", old.characters[0].hp, "화남")
    assert [one.status for one in told.rows.findings(node)] == ["dismissed"]


def test_what_was_corrected_again_by_hand_cannot_be_undone_and_says_so(told: Told) -> None:
    node = told.say(None, "부른다", "세라가 온다.", npc_met="[세라]")
    old, new = correct_row(told.state(node), "도윤", "location", "숲")
    told.rows.amend(node, new)
    told.rows.add_finding(
        node, "mended", "도윤", "1턴에 떠났다.", {"old": build_plain_changes(old), "new": build_plain_changes(new)}
    )
    told.rows.correct_turn(told.rows.node(node.id), Changes((Character("도윤", "탑"),)))
    (finding,) = told.rows.findings(node)
    with pytest.raises(errors.WorldMendOverwritten):
        told.engine.undo_mend(finding)
    assert [one.status for one in told.rows.findings(node)] == ["open"]
    assert told.state(node).characters["도윤"].location == "탑"


def test_somebody_is_made_one_with_anybody_else_by_hand(told: Told) -> None:
    node = told.say(None, "부른다", "세라가 온다.", npc_met="[세라]")
    at = told.open("people", node)
    edit = next(str(one.key) for one in at.button if str(one.key).endswith("-edit") and "세라" in str(one.help))
    click(at, edit)
    typed(at, "selectbox", "-same").set_value("도윤").run()
    click(at, "world-person-save")
    state = told.state(node)
    assert "세라" not in state.characters
    assert state.relations["도윤", "아리아"].strength == 2
    later = told.say(told.rows.node(node.id), "말한다", "세라가 웃는다.", npc_met="[세라]")
    assert "세라" not in told.state(later).characters


def choose(at: AppTest, entry: int, what: str) -> AppTest:
    """Chooses in the menu of a lorebook entry."""
    several: Any = [*at.get("button_group"), *at.get("menu_button")]
    menu = next(one for one in several if one.key == f"more-world-lore-{entry}")
    return checked(menu.set_value(what).run())


# --- every tab, in both languages ---------------------------------------------------------------


TABS = ("people", "places", "relations", "timeline", "lore", "files", "curator", "prompt")


@table("language", LANGUAGES)
@table("tab", TABS)
def test_a_tab_is_drawn_before_and_after_the_first_turn(told: Told, tab: str, language: str) -> None:
    told.open(tab, None, language)
    node = told.say(None, "숲으로 가자", "숲에 왔다.", location="숲", location_moved="true")
    at = told.open(tab, node, language)
    assert not at.error
    other = [name for name in TABS if name != tab]
    keys = [str(one.key) for one in at.button]
    if tab != "people":
        assert not any("world-item" in key for key in keys), f"only the open tab runs, not {other}"


def test_an_empty_world_says_so_in_every_tab(told: Told) -> None:
    told.world = told.engine.store.worlds.create("빈", "ko")
    expected = {
        "people": "가진 물건이 없습니다",
        "places": "알려진 장소가 없습니다",
        "relations": "알려진 관계가 없습니다",
        "timeline": "일어난 일이 없습니다",
        "lore": "로어북이 비어 있습니다",
        "curator": "이야기가 시작되면",
        "prompt": "기록되지 않았습니다",
    }
    for tab, said in expected.items():
        assert said in texts(told.open(tab)), tab


# --- people and things --------------------------------------------------------------------------


def test_those_who_are_here_come_first_and_the_dead_last(told: Told) -> None:
    told_text = texts(told.open("people"))
    names = ["**아리아**", "**도윤**", "**세라**", "~~늑대~~"]
    assert sorted(names, key=told_text.index) == names
    assert "나루터 · HP 60" in told_text
    assert "숲 · HP 0 · 죽음" in told_text
    assert "~~은방울~~" in told_text


def test_a_character_is_corrected_on_the_last_turn(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    at = click(told.open("people", node), "world-person-1-edit")
    typed(at, "number_input", "-도윤-hp").set_value(12)
    typed(at, "selectbox", "-도윤-place").set_value("숲")
    typed(at, "selectbox", "-도윤-status").set_value(DEAD)
    at = click(at, "world-person-save")
    assert told.state(node).characters["도윤"] == Character("도윤", "숲", 12, DEAD)
    assert "숲 · HP 12 · 죽음" in texts(at)
    assert "world-person-save" not in [one.key for one in at.button]
    assert told.state(None).characters["도윤"].hp == 60


def test_an_earlier_turn_is_not_corrected_and_the_page_says_why(told: Told) -> None:
    first = told.say(None, "안녕", "인사했다.", mood="평온")
    told.say(first, "가자", "걸었다.", mood="평온")
    at = click(told.open("people", first), "world-person-1-edit")
    typed(at, "number_input", "-도윤-hp").set_value(1)
    at = click(at, "world-person-save")
    assert "1번째 턴은 이야기가 이미 이어져서" in texts(at)
    assert told.state(first).characters["도윤"].hp == 60
    assert typed(at, "number_input", "-도윤-hp").value == 1, "what was typed is not lost"
    at = click(at, "world-item-0-turn")
    assert "이야기가 이미 이어져서" in texts(at)


def test_a_correction_at_the_beginning_counts_for_the_whole_story(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    at = click(told.open("people"), "world-person-1-edit")
    typed(at, "number_input", "-도윤-hp").set_value(33)
    click(at, "world-person-save")
    assert told.rows.begin_state(told.world.id).relations == BEGIN.relations
    assert told.state(None).characters["도윤"].hp == told.state(node).characters["도윤"].hp == 33


def test_the_fields_of_a_character_close_without_a_change(told: Told) -> None:
    at = click(told.open("people"), "world-person-1-edit")
    typed(at, "number_input", "-도윤-hp").set_value(1)
    at = click(at, "world-person-cancel")
    assert told.state(None).characters["도윤"].hp == 60
    at = click(at, "world-person-1-edit")
    assert typed(at, "number_input", "-도윤-hp").value == 60


def test_things_are_lost_found_and_added(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    at = click(told.open("people", node), "world-item-0-turn")
    assert told.state(node).items["밧줄"].status == LOST
    at = click(at, "world-item-1-turn")
    typed(at, "text_input", "-typed-item-" + f"{told.world.id}-{node.id}").set_value("  낡은   등불 ")
    at = click(at, "world-item-add")
    assert told.state(node).items["낡은 등불"] == PlayerItem("낡은 등불")
    at = click(at, "world-item-add")
    assert "비어 있" in texts(at)


def test_things_stand_newest_first_with_their_number_which_can_be_corrected(told: Told) -> None:
    node = told.say(None, "줍자", "주웠다.", items_gained="[금화 30닢, 물약]")
    node = told.say(node, "뒤지자", "찾았다.", items_gained="[등불]")
    at = told.open("people", node)
    assert [name for name in ("등불", "금화 ×30", "물약", "밧줄", "은방울") if name in texts(at)] == [
        *("등불", "금화 ×30", "물약", "밧줄", "은방울")
    ]
    places = [texts(at).index(name) for name in ("등불", "금화 ×30", "물약", "밧줄", "은방울")]
    assert places == sorted(places)
    at = click(at, "world-item-1-edit")
    typed(at, "number_input", "-금화").set_value(12)
    at = click(at, "world-item-save")
    assert told.state(node).items["금화"] == PlayerItem("금화", count=12)
    assert "금화 ×12" in texts(at)
    assert not at.number_input
    at = click(click(at, "world-item-2-edit"), "world-item-cancel")
    assert (told.state(node).items["물약"].count, len(at.number_input)) == (1, 0)


def test_the_time_of_the_story_is_shown_and_can_be_corrected(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", time="2일째 저녁")
    at = told.open("people", node)
    assert "아리아 · 나루터 · 2일째, 저녁" in texts(at)
    at = click(at, "world-person-0-edit")
    assert typed(at, "text_input", "-아리아-time").value == "2일째, 저녁"
    typed(at, "text_input", "-아리아-time").set_value("3일째 새벽")
    at = click(at, "world-person-save")
    assert told.state(node).time == StoryTime("3일째", "새벽")
    at = click(at, "world-person-0-edit")
    typed(at, "text_input", "-아리아-time").set_value("  ")
    click(at, "world-person-save")
    assert told.state(node).time == StoryTime()


def test_a_time_that_the_curator_has_put_right_is_undone(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", time="2일째 저녁")
    old, new = correct_row(told.state(node), "시간", "time", "3일째 새벽")
    told.rows.amend(node, new)
    mend = {"old": build_plain_changes(old), "new": build_plain_changes(new)}
    told.rows.add_finding(node, "mended", "시간", "1턴이 말한다.", mend)
    assert told.state(node).time == StoryTime("3일째", "새벽")
    at = told.open("curator", node)
    assert {"이것만 되돌리기: 시간, 날", "이것만 되돌리기: 시간, 때"} <= {
        one.label.replace("\\", "") for one in at.button
    }
    (finding,) = told.rows.findings(node)
    told.engine.undo_mend(finding)
    assert told.state(node).time == StoryTime("2일째", "저녁")


def test_hundreds_of_characters_are_divided_into_pages(told: Told) -> None:
    told.rows.set_begin_state(told.world.id, Changes(tuple(Character(f"병사 {n:03}", "성") for n in range(300))))
    at = told.open("people")
    assert len([one for one in at.button if str(one.key).endswith("-edit")]) == 20
    at.text_input(key="world-people-query").set_value("병사 299").run()
    assert "병사 299" in texts(at)
    assert len([one for one in at.button if str(one.key).endswith("-edit")]) == 1


# --- places and relations -----------------------------------------------------------------------


def test_places_are_a_map_and_a_text(told: Told) -> None:
    at = told.open("places")
    chart = at.get("graphviz_chart")[0].proto
    assert '"나루터" -- "숲"' in chart.spec
    told_text = texts(at)
    assert "이어진 곳: 숲 · 있는 인물: 도윤, 아리아" in told_text
    assert "불탐" in told_text
    assert "늑대" not in told_text, "the dead are nowhere"


def test_relations_are_a_graph_and_a_text(told: Told) -> None:
    at = told.open("relations")
    assert '"세라" -> "도윤"' in at.get("graphviz_chart")[0].proto.spec
    lines = texts(at)
    assert lines.index("도윤 → 아리아: 스승 :gray[+2]") < lines.index("세라 → 도윤: 의심 :red[-3]")


# --- timeline -----------------------------------------------------------------------------------


def test_the_timeline_leads_to_a_turn_and_to_the_beginning(told: Told) -> None:
    first = told.say(None, "숲으로", "숲에 왔다.", location="숲", location_moved="true")
    second = told.say(first, "쉬자", "쉬었다.", mood="평온")
    at = told.open("timeline", second)
    assert texts(at).index("2번째 턴") < texts(at).index("1번째 턴")
    assert at.button(key=f"world-turn-{second.id}-show").disabled
    at = click(at, f"world-turn-{first.id}-show")
    assert "1번째 턴 뒤의 모습입니다" in texts(at)
    at = click(at, "world-turn-begin-show")
    assert "시작되기 전의 모습입니다" in texts(at)
    at = click(at, "world-newest")
    assert at.button(key=f"world-turn-{second.id}-show").disabled


def test_a_long_timeline_reads_only_the_page_that_is_open(told: Told) -> None:
    node: Any = None
    for turn in range(1, 66):
        node = told.rows.add(told.world.id, node, NewNode(f"말 {turn}", (f"답 {turn}",), f"답 {turn}", "given"))
    at = told.open("timeline", node)
    shown = [str(one.key) for one in at.button if str(one.key).startswith("world-turn-")]
    assert len(shown) == 30
    at.session_state[f"world-timeline-page-{told.world.id}-{node.id}"] = 3
    checked(at.run())
    shown = [str(one.key) for one in at.button if str(one.key).startswith("world-turn-")]
    assert len(shown) == 5 + 1, "five turns and the beginning"
    assert [one.turn for one in told.rows.path(node, 3, 60)] == [3, 4, 5]


# --- lore ---------------------------------------------------------------------------------------


def test_an_entry_tells_what_the_last_prompt_made_of_it(told: Told) -> None:
    node = told.say(None, "도윤과 순라대는?", "답했다.", mood="평온")
    told_text = texts(told.open("lore", node))
    assert "지난 프롬프트에 들어감 · 점수" in told_text
    assert "장소 3" in told_text
    assert "빠짐: 꺼져 있음" in told_text
    assert "4개 중 4개" in told_text
    assert "늙은 *뱃사공*" in told_text


def test_lore_stands_as_the_story_rewrote_it(told: Told) -> None:
    entry = told.rows.lore(told.world.id)[0]
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    told.engine.correct(node, Changes(lore=(LoreMark(entry.id, "나루는 불탔다", None, 1),)))
    told_text = texts(told.open("lore", node))
    assert "나루는 불탔다" in told_text
    assert "이야기가 내용을 바꿈" in told_text


def test_lore_is_filtered_by_text_and_layer(told: Told) -> None:
    at = told.open("lore")
    at.text_input(key="world-lore-query").set_value("뱃사공").run()
    assert "4개 중 1개" in texts(at)
    at.text_input(key="world-lore-query").set_value("없는 말").run()
    assert "4개 중 0개" in texts(at)
    at.text_input(key="world-lore-query").set_value("").run()
    layer: Any = at.get("button_group")[0]
    layer.set_value("A4").run()
    assert "4개 중 1개" in texts(checked(at))


def test_an_entry_is_added(told: Told) -> None:
    at = click(told.open("lore"), "world-lore-new")
    at = click(at, "world-lore-save")
    assert "비어 있" in texts(at)
    assert len(told.rows.lore(told.world.id)) == 4
    typed(at, "text_area", "-0-content").set_value("검은 강")
    at = click(at, "world-lore-save")
    assert "비어 있" in texts(at), "a name is wanted, too"
    typed(at, "text_input", "-0-keyword").set_value("강")
    typed(at, "text_input", "-0-keys").set_value("물, , 검은 강,물")
    typed(at, "selectbox", "-0-layer").set_value("A1")
    click(at, "world-lore-save")
    new = told.rows.lore(told.world.id)[-1]
    assert new == LoreEntry(new.id, "강", "검은 강", layer="A1", keys=("물", "검은 강"))


def test_an_entry_is_edited_and_switched_off(told: Told) -> None:
    entry = told.rows.lore(told.world.id)[1]
    at = choose(told.open("lore"), entry.id, "edit")
    assert typed(at, "text_input", f"-{entry.id}-keys").value == "뱃사공"
    typed(at, "text_area", f"-{entry.id}-content").set_value("젊은 뱃사공")
    at = click(at, "world-lore-save")
    assert told.rows.lore(told.world.id)[1] == replace(entry, content="젊은 뱃사공")
    choose(at, entry.id, "disable")
    assert told.rows.lore(told.world.id)[1] == replace(entry, content="젊은 뱃사공", enabled=False)


def test_an_entry_is_removed_after_a_question(told: Told) -> None:
    entry = told.rows.lore(told.world.id)[1]
    at = choose(told.open("lore"), entry.id, "remove")
    at = click(at, "world-lore-remove-no")
    assert len(told.rows.lore(told.world.id)) == 4
    at = choose(at, entry.id, "remove")
    click(at, "world-lore-remove-yes")
    assert entry.id not in [one.id for one in told.rows.lore(told.world.id)]


def test_what_is_typed_stays_while_another_tab_is_open(told: Told) -> None:
    at = click(told.open("lore"), "world-lore-new")
    typed(at, "text_area", "-0-content").set_value("쓰던 글").run()
    for tab in ("people", "lore"):
        at.session_state["world-tabs-ko"] = WORDS["ko"](f"world.tab.{tab}")
        checked(at.run())
    assert typed(at, "text_area", "-0-content").value == "쓰던 글"
    assert not at.warning


def test_a_thousand_entries_are_divided_into_pages(told: Told) -> None:
    told.rows.put_lore(told.world.id, [LoreEntry(0, f"항목 {n}", "글") for n in range(1000)])
    at = told.open("lore")
    assert "1004개 중 1004개" in texts(at)
    assert len([one for one in at.markdown if "-badge[" in one.value]) == 20


# --- files --------------------------------------------------------------------------------------


def test_the_state_is_shown_as_of_the_turn_on_the_page(told: Told) -> None:
    first = told.say(None, "숲으로", "숲에 왔다.", location="숲", location_moved="true")
    second = told.say(first, "돌아가자", "왔다.", location="나루터", location_moved="true")
    at = told.open("files", second)
    assert "위치: 나루터" in at.code[0].value
    assert "2번째 턴 뒤의 상태" in texts(at)
    at = told.open("files", first)
    assert "위치: 숲" in at.code[0].value
    assert "다른 턴의 것" in texts(at)


def pick(at: AppTest, told: Told, name: str) -> AppTest:
    return checked(at.selectbox(key=f"world-file-{told.world.id}").set_value(name).run())


def test_the_story_is_for_reading(told: Told) -> None:
    at = pick(told.open("files"), told, "story.md")
    assert "첫 턴이 끝나면" in texts(at)
    node = told.say(None, "숲으로", "숲에 왔다.", location="숲", location_moved="true")
    at = pick(told.open("files", node), told, "story.md")
    assert "숲" in at.code[0].value
    assert not at.text_area
    told.say(None, "강으로", "강에 왔다.", location="강", location_moved="true")  # another story of the world
    text = pick(told.open("files", node), told, "story.md").code[0].value
    assert ("숲" in text, "강" in text) == (True, False)


def test_a_file_is_created_edited_and_removed(told: Told) -> None:
    files, world = told.engine.files, told.world.id
    at = pick(told.open("files"), told, "new")
    typed(at, "text_input", "-new-name").set_value("Bad Name")
    at = click(at, "world-file-create")
    assert "영문 소문자" in texts(at)
    typed(at, "text_input", "-new-name").set_value("npc")
    typed(at, "text_area", "-new").set_value("---\nbudget: 5\n---\n도윤은 말이 아주 적은 늙은 뱃사공이다.")
    at = click(at, "world-file-create")
    assert files.names(world) == ["npc.md"]
    assert "예산 5토큰" in texts(at)
    assert "넘는 줄" in texts(at)
    area = next(iter(at.text_area))
    at = click(checked(area.set_value("짧다").run()), "world-file-save")
    assert files.text(world, "npc.md") == "짧다"
    at = click(at, "world-file-remove")
    assert files.names(world) == []


def test_a_name_that_is_taken_is_refused(told: Told) -> None:
    told.engine.files.write(told.world.id, "npc.md", "먼저")
    at = pick(told.open("files"), told, "new")
    for name in ("npc.md", "live_state"):
        typed(at, "text_input", "-new-name").set_value(name)
        at = click(at, "world-file-create")
        assert "같은 이름의 파일" in texts(at)
    assert told.engine.files.text(told.world.id, "npc.md") == "먼저"


def test_the_prefix_is_written_from_the_page(told: Told) -> None:
    at = pick(told.open("files"), told, "stable_prefix.md")
    at = click(checked(next(iter(at.text_area)).set_value("# 나루").run()), "world-file-save")
    assert told.engine.files.all(told.world.id).prefix.body == "# 나루"  # type: ignore[union-attr]


def test_a_damaged_file_is_named_and_can_be_mended(told: Told) -> None:
    folder = resource.find_user_agent().settings.data_dir / "world" / told.world.id
    told.engine.files.write(told.world.id, "npc.md", "x")
    (folder / "npc.md").write_text("---\nbudget: viel\n---\n도윤", "utf-8")
    (folder / "bad.md").write_bytes(b"\xff\xfe\x00")
    at = told.open("files")
    assert "'npc.md'" in texts(at)
    assert "'bad.md'" in texts(at)
    at = pick(at, told, "npc.md")
    area = next(iter(at.text_area))
    assert area.value == "---\nbudget: viel\n---\n도윤"
    at = click(at, "world-file-save")
    assert "budget이 토큰 수가 아닙니다" in texts(at)
    at = click(checked(next(iter(at.text_area)).set_value("도윤").run()), "world-file-save")
    assert "'npc.md'" not in texts(at)
    at = pick(at, told, "bad.md")
    assert "읽을 수 없습니다" in texts(at)


def test_a_disk_that_cannot_be_written_is_told(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = pick(told.open("files"), told, "stable_prefix.md")
    blocked = resource.find_user_agent().settings.data_dir / "world"
    blocked.mkdir(exist_ok=True)
    (blocked / told.world.id).write_text("a file where the folder should be", "utf-8")
    at = click(checked(next(iter(at.text_area)).set_value("# 나루").run()), "world-file-save")
    assert "디스크에 쓸 수 없습니다" in texts(at)
    assert next(iter(at.text_area)).value == "# 나루", "what was typed is not lost"


# --- curator ------------------------------------------------------------------------------------


def test_findings_get_the_users_word(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    one = told.rows.add_finding(node, "dead_talks", "늑대", "죽은 늑대가 말한다.")
    other = told.rows.add_finding(node, "lost_item", "은방울", "잃은 은방울을 흔든다.")
    at = told.open("curator", node)
    assert "죽은 늑대가 말한다." in texts(at)
    at = click(at, f"world-finding-{one.id}-accept")
    at = click(at, f"world-finding-{other.id}-dismiss")
    assert {found.subject: found.status for found in told.rows.findings(node)} == {
        "늑대": "accepted",
        "은방울": "dismissed",
    }
    assert "모순으로 인정함" in texts(at)
    assert f"world-finding-{one.id}-accept" not in [button.key for button in at.button]


def test_the_notebook_is_edited_as_a_further_version(told: Told) -> None:
    node = told.say(None, "안녕", "인사했다.", mood="평온")
    at = told.open("curator", node)
    assert "10번째 턴 뒤에" in texts(at)
    at = click(checked(next(iter(at.text_area)).set_value("- [20] 배가 온다").run()), "world-notebook-save")
    block = told.rows.block(node, "narrative_memory")
    assert (block.version, block.text) == (1, "- [20] 배가 온다")
    assert "1번째 턴의 1번째 버전" in texts(at)
    assert "11번째 턴 뒤에" in texts(at)
    at = click(checked(next(iter(at.text_area)).set_value("가" * 1501).run()), "world-notebook-save")
    assert "1,501자" in texts(at)
    assert told.rows.block(node, "narrative_memory").version == 1


def test_refused_changes_are_told(told: Told) -> None:
    node = told.say(None, "때리자", "때렸다.", hp_change="많이", mood="평온")
    assert node.refusals
    assert f"1번째 턴: {node.refusals[0]}" in texts(told.open("curator", node))


# --- prompt -------------------------------------------------------------------------------------


def test_the_prompt_is_told_in_tokens_with_its_receipt(told: Told) -> None:
    receipt: dict[str, Any] = {"prompt_tokens": 1500, "cached_tokens": 1200, "written_tokens": 10, "answer_tokens": 90}
    receipt |= {"exact": False, "usd": 0.001, "saved_usd": 0.0005, "broke": "history at turn 3 (edited)"}
    node = told.say(None, "안녕", "인사했다.", receipt, mood="평온")
    late = world_table.node.update().where(world_table.node.c.id == node.id)
    with told.engine.store.transaction() as connection:
        connection.execute(late.values(report={**(node.report or {}), "late": 2}))
    told_text = texts(told.open("prompt", node))
    assert f"합계 | {node.report['tokens']['total']:,} |" in told_text  # type: ignore[index]
    assert "앞선 2턴의 변화가" in told_text
    assert "캐시에서 읽은 토큰: **1,200**" in told_text
    assert "아낀 금액 $0.000500" in told_text
    assert "3번째 턴의 기록이 달라져" in told_text
    assert "어림한 값" in told_text


@table(
    ("part", "said"),
    [
        ("", "unchanged"),
        ("files", "files"),
        ("state and lore", "state and"),
        ("history before turn 7 (edited)", "7"),
    ],
)
def test_what_broke_the_prefix_is_told_in_words(part: str, said: str) -> None:
    assert said in explain_cache_break(WORDS["en"], part)


# --- a world that goes while its page is open ---------------------------------------------------


def test_a_world_that_was_deleted_meanwhile_changes_nothing_and_says_so(told: Told) -> None:
    at = told.open("lore")
    told.rows.delete(told.world.id)
    at.button(key="world-lore-new").click().run()
    assert "찾을 수 없습니다" in texts(checked(at))
    with pytest.raises(errors.WorldUnknown):
        told.rows.world(told.world.id)


def test_a_comma_in_a_pattern_parts_no_keys() -> None:
    entry = LoreEntry(1, "dragon", "…")
    fields = {"content": "…", "keyword": "dragon", "layer": entry.layer, "enabled": True, "activation": "keyed"}
    typed = {**fields, "location": "", "category": "", "keys": "wyrm, /a{1,2}b/i, /x, the / one"}
    assert apply_lore_fields(entry, typed).keys == ("wyrm", "/a{1,2}b/i", "/x", "the / one")


def test_a_message_is_tried_in_the_lorebook_before_it_is_played(told: Told) -> None:
    at = told.open("lore")
    key = f"world-trial-{told.world.id}"
    at.text_area(key=f"{key}-text").set_value("뱃사공을 부른다")
    at = click(at, f"{key}-go")
    said = texts(at)
    assert "뱃사공" in said
    assert Words("ko")("world.trial.in") in said
