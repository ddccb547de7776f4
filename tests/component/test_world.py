"""The page of story worlds: the real script on a scripted model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from component.answer import turn_editor
from component.page import follow
from component.page.catalogue import Words
from component.work import resource
from component.work.job import Job
from component.world.receipt import describe_cache_hindrance
from errors import ModelUnreachable
from store import Session
from store.world.record import StoryNode, World
from store.world.worlds import Worlds
from tests.conftest import Serve
from tests.test_app import page, texts
from text.language import Language
from world.book import FORMATS, read_book
from world.engine import WorldEngine
from world.extraction.extract import Extractor
from world.sample import load_sample_story

pytestmark = pytest.mark.usefixtures("fresh")
RECEIPT: dict[str, Any] = {"prompt_tokens": 4600, "cached_tokens": 4000, "answer_tokens": 308, "saved_usd": 0.0123}
RECEIPT |= {"broke": "history at turn 3 (edited)", "late": 2}
BLOCK = "\n\n```state\nlocation: 등불 탑\nlocation_moved: true\n```"


def numbered(block: str = BLOCK) -> Callable[[Any], str]:
    """Answers «장면 1.», «장면 2.», … with a state block."""
    numbers = iter(range(1, 1000))
    return lambda _: f"장면 {next(numbers)}.{block}"


def worlds() -> Worlds:
    return resource.find_user_engine().store.worlds


def opened(language: str = "ko-KR") -> AppTest:
    """The page with the bundled story open."""
    at = page(language, view="world")
    return press(at, "world-sample-play")


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def say(at: AppTest, text: str) -> AppTest:
    at.chat_input[0].set_value(text).run()
    assert not at.exception
    return at


def session_of(at: AppTest) -> Session:
    return resource.find_user_agent().store.session(param(at, "s"))


def world_of(at: AppTest) -> World:
    return worlds().world(session_of(at).world)


def node_of(at: AppTest) -> StoryNode:
    """The last turn of the story that the page shows."""
    session = session_of(at)
    node = worlds().last_before(session.id, session.turn_count + 1)
    assert node is not None
    return node


def param(at: AppTest, name: str) -> str:
    value = at.query_params[name]
    return value if isinstance(value, str) else value[0]


def keys(at: AppTest) -> set[str]:
    return {str(each.key) for each in at.button}


def choose(at: AppTest, key: str, name: str) -> AppTest:
    """Chooses an action of a menu; AppTest has no menus."""
    from component.page import window

    at.session_state[window.OPENED] = (f"world-{name}", key, param(at, "s"))
    at.run()
    assert not at.exception
    return at


# --- the list -----------------------------------------------------------------------------------


def test_the_sidebar_leads_to_the_worlds_and_one_click_into_the_bundled_story(serve: Serve) -> None:
    serve()
    at = press(page(), "worlds-open")
    assert param(at, "view") == "world"
    press(at, "world-sample-play")
    assert "view" not in at.query_params
    node = node_of(at)
    assert (node.turn, worlds().world(node.world).name) == (0, "안개 나루")
    assert "저녁 안개가 검은 강을 덮는다" in texts(at)
    assert at.chat_input[0].disabled is False


def test_the_model_is_told_once_for_every_turn_that_a_message_is_expected(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[int] = []
    monkeypatch.setattr(WorldEngine, "expect", lambda _, world, node: expected.append(node.turn))
    serve(numbered())
    at = opened()
    at.run()
    say(at, "탑으로 간다").run()
    assert expected == [0, 1]


def test_in_english_the_story_is_english(serve: Serve) -> None:
    serve()
    at = opened("en-US")
    assert world_of(at).language == "en"
    assert "Evening mist lies on the black river" in texts(at)


def test_the_list_names_a_world_and_opens_it_where_it_was_played_last(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    last = node_of(at)
    press(at, "worlds-open")
    assert "1턴" in texts(at)
    press(at, f"world-open-{last.world}")
    assert node_of(at).id == last.id
    assert "장면 1." in texts(at)


def test_a_story_stands_in_the_list_of_conversations(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    store, session = resource.find_user_agent().store, session_of(at)
    assert [one.title for one in store.sessions()] == ["안개 나루"]
    assert [hit.session_id for hit in store.search("탑으로 간다")] == [session.id]
    resource.find_user_agent().put_away(session.id)
    assert store.sessions() == []
    resource.find_user_agent().restore(session.id)
    assert [one.id for one in store.sessions()] == [session.id]


def test_a_further_story_of_a_world_begins_with_its_greeting_and_leaves_the_first(serve: Serve) -> None:
    from component.world.list.menu import begin_further_story

    serve(numbered())
    at = say(opened(), "탑으로 간다")
    first = session_of(at)
    made = worlds().begin(first.world)
    assert [turn.number for turn in resource.find_user_agent().store.turns(made.id)] == [0]
    other = page(s=made.id)
    assert "저녁 안개가 검은 강을 덮는다" in texts(other)
    say(other, "숲으로 간다")
    store = resource.find_user_agent().store
    assert [turn.question for turn in store.turns(made.id)] == ["", "숲으로 간다"]
    assert [turn.question for turn in store.turns(first.id)] == ["", "탑으로 간다"]
    assert callable(begin_further_story)


def test_an_address_of_an_earlier_version_leads_to_its_turn(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = say(say(opened(), "하나"), "둘")
    second = node_of(at)
    other = page(view="world", w=second.world, n=str(second.parent))
    assert param(other, "s") == second.session
    assert "view" not in other.query_params
    assert "1번째 턴 뒤의 모습입니다" in texts(other)
    press(other, "world-newest")
    assert "뒤의 모습입니다" not in texts(other)


def test_a_new_world_is_empty_and_its_first_message_begins_the_story(serve: Serve) -> None:
    serve(numbered())
    at = press(page(view="world"), "world-new")
    at.text_input(key="world-create-name").set_value("숲")
    press(at, "world-create-go")
    assert (world_of(at).name, world_of(at).player) == ("숲", "주인공")
    assert "아직 아무 일도" in texts(at)
    node = node_of(say(at, "시작"))
    assert (node.turn, node.question, node.answer) == (1, "시작", "장면 1.")


def test_a_blank_name_is_told_in_the_window(serve: Serve) -> None:
    serve()
    at = press(page(view="world"), "world-new")
    press(at, "world-create-go")
    assert at.error
    assert worlds().all() == []


def test_names_are_changed(serve: Serve) -> None:
    serve()
    at = opened()
    world = world_of(at).id
    choose(at, world, "change")
    at.text_input(key=f"world-name-{world}").set_value("새벽 나루")
    at.text_input(key=f"world-player-{world}").set_value("아리아")
    press(at, "world-names-go")
    assert (worlds().world(world).name, worlds().world(world).player) == ("새벽 나루", "아리아")


def test_a_world_is_deleted_after_a_question_only(serve: Serve) -> None:
    serve()
    at = opened()
    world = world_of(at).id
    choose(at, world, "delete")
    press(at, "world-delete-not")
    assert worlds().world(world).id == world
    choose(at, world, "delete")
    press(at, "world-delete-go")
    assert worlds().all() == []
    assert "s" not in at.query_params
    assert "world-sample-play" in keys(at)
    assert not resource.find_user_engine().files.names(world)


def test_an_unknown_world_leads_to_the_list_with_a_notice(serve: Serve) -> None:
    serve()
    at = page(view="world", w="0123456789abcdef")
    assert "그런 세계가 없습니다" in texts(at)
    assert "world-sample-play" in keys(at)


# --- playing ------------------------------------------------------------------------------------


def test_a_turn_is_played_as_in_every_conversation(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = opened()
    greeting = node_of(at)
    node = node_of(say(at, "등불 탑으로 간다"))
    assert (node.turn, node.parent, node.question, node.answer) == (1, greeting.id, "등불 탑으로 간다", "장면 1.")
    said = texts(at)
    assert "장면 1." in said
    assert "```state" not in said
    assert "나루지기 · 등불 탑" in said, "the state after the turn"
    turn = resource.find_user_agent().store.turn(node.session, 1)
    assert turn is not None
    assert (turn.status, turn.answer) == ("done", "장면 1.")
    assert (turn.usage or {})["answer_tokens"] > 0
    assert turn.tokens > 0
    assert resource.find_user_jobs().of(node.session) is None


def test_another_answer_is_a_version_and_the_first_stays(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    first = node_of(at)
    press(at, "again-1")
    second = node_of(at)
    assert (second.parent, second.answer) == (first.parent, "장면 2.")
    assert "2/2" in texts(at)
    press(at, "earlier-1")
    assert node_of(at).id == first.id
    assert "장면 1." in texts(at)


def test_a_changed_message_is_played_anew(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    first = node_of(at)
    at.session_state[turn_editor.EDITING] = (first.session, first.branch, 1, "question")
    at.run()
    at.text_area(key=f"draft-{first.session}-{first.branch}-1").set_value("숲으로 간다")
    press(at, "edit-send")
    node = node_of(at)
    assert (node.parent, node.question, node.answer) == (first.parent, "숲으로 간다", "장면 2.")


def test_scenes_are_taken_back_with_their_world(serve: Serve) -> None:
    serve(numbered())
    at = say(say(opened(), "탑으로 간다"), "계단을 오른다")
    second = node_of(at)
    at.menu_button(key="more-2").set_value("take_back").run()
    assert "계단을 오른다" not in texts(at)
    assert (node_of(at).id, node_of(at).turn) == (second.parent, 1)
    assert node_of(say(at, "뒤를 돌아본다")).parent == second.parent


def test_a_single_scene_is_deleted_and_its_world_is_what_the_others_add_up_to(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(numbered())
    at = say(say(say(opened(), "탑으로 간다"), "계단을 오른다"), "문을 연다")
    third, work, waited = node_of(at), Extractor.work, list[int]()

    def note_work(extractor: Extractor, node: StoryNode) -> bool:
        waited.append(node.id)
        return work(extractor, node)

    monkeypatch.setattr(Extractor, "work", note_work)
    at.menu_button(key="more-2").set_value("remove").run()
    assert waited == [], "the later scenes are worked off behind the page"
    assert "계단을 오른다" not in texts(at)
    assert (node_of(at).turn, node_of(at).question, node_of(at).answer) == (2, third.question, third.answer)
    assert node_of(at).id != third.id
    assert node_of(say(at, "뒤를 돌아본다")).turn == 3
    at.button(key="earlier-2").click().run()
    assert node_of(at).id == third.id


def test_a_players_own_words_take_the_place_of_a_scene_and_its_world(serve: Serve) -> None:
    serve(numbered())
    at = say(say(opened(), "탑으로 간다"), "계단을 오른다")
    first = node_of(at)
    at.menu_button(key="more-1").set_value("reword").run()
    at.text_area(key=f"draft-answer-{first.session}-0-1").set_value("탑은 보이지 않는다.")
    press(at, "edit-send")
    node = node_of(at)
    assert (node.turn, node.question) == (1, "탑으로 간다")
    assert (node.answer, node.raw) == ("탑은 보이지 않는다.", "탑은 보이지 않는다.")
    assert "계단을 오른다" not in texts(at)
    assert "이 대화의 모델이 쓰지 않은 답변" in texts(at)
    assert resource.find_user_engine().state(node).me.location != "등불 탑"
    assert "장면 3." in texts(say(at, "숲으로 돌아간다"))
    assert node_of(at).parent == node.id


def test_an_earlier_turn_answered_again_keeps_what_followed_as_another_version(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = say(say(opened(), "하나"), "둘")
    second = node_of(at)
    press(at, "again-1")
    third = node_of(at)
    assert (third.turn, third.answer) == (1, "장면 3.")
    assert "장면 2." not in texts(at)
    press(at, "earlier-1")
    assert node_of(at).id == second.id


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_player_has_a_story_remember_itself_and_sees_what_it_remembers(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, language: Language
) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    monkeypatch.setenv("GIEOK_WORLD_BUDGET_HISTORY", "40")
    serve(numbered())
    words, at = Words(language), opened({"ko": "ko-KR", "en": "en-US"}[language])
    names = [words(f"world.tab.{tab}") for tab in ("summaries", "memory")]
    for number in range(1, 5):
        say(at, f"{number}번째 문을 지나 탑의 북쪽 계단으로 간다")
    assert not {*names} & {tab.label for tab in at.tabs}
    set_remembers(at, True)
    assert session_of(at).remembers
    say(at, "뒤를 돌아본다")
    assert names == [tab.label for tab in at.tabs if tab.label in names]
    report = node_of(at).report
    assert report is not None
    assert report["tokens"]["summaries"] > 0
    for name, told in (("memory", words("memory.apart")), ("summaries", words("world.summaries.about"))):
        at.session_state[f"world-tabs-{language}"] = words(f"world.tab.{name}")
        assert told in texts(at.run())
        assert not at.exception
    set_remembers(at, False)
    assert not {*names} & {tab.label for tab in at.tabs}, "the open one goes, too"
    assert not session_of(at).remembers


def set_remembers(at: AppTest, remembers: bool) -> None:
    """Turns the switch in the settings."""
    at.session_state["options-open"] = "chat"
    at.button(key="open-options-window").click().run()
    at.toggle(key=f"own-remembers-{param(at, 's')}").set_value(remembers).run()
    assert not at.exception
    del at.session_state["window"]
    at.run()
    assert not at.exception


def test_a_copy_of_a_story_goes_on_with_the_state_of_its_turn(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = say(say(opened(), "하나"), "둘")
    first = session_of(at)
    copy = resource.find_user_agent().fork(first.id, 1)
    other = page(s=copy)
    assert "나루지기 · 등불 탑" in texts(other)
    assert "장면 2." not in texts(other)
    node = node_of(say(other, "셋"))
    assert (node.session, node.turn, node.question) == (copy, 2, "셋")
    assert resource.find_user_agent().store.session(first.id).turn_count == 2
    resource.find_user_agent().delete_session(first.id)
    assert resource.find_user_engine().state(node).me.location == "등불 탑"


def test_a_failed_turn_is_told_its_message_is_kept_and_it_is_tried_again(serve: Serve) -> None:
    answers = iter([ModelUnreachable(url="http://127.0.0.1:9"), f"장면.{BLOCK}"])
    serve(lambda _: next(answers))
    at = say(opened(), "탑으로 간다")
    assert at.error
    assert "탑으로 간다" in texts(at)
    press(at, "retry-1")
    assert not at.error
    node = node_of(at)
    assert (node.turn, node.question, node.answer) == (1, "탑으로 간다", "장면.")


def test_the_story_goes_on_after_a_turn_that_failed(serve: Serve) -> None:
    answers = iter([f"하나.{BLOCK}", ModelUnreachable(url="http://127.0.0.1:9"), f"셋.{BLOCK}"])
    serve(lambda _: next(answers))
    at = say(opened(), "첫째")
    first = node_of(at)
    node = node_of(say(say(at, "둘째"), "셋째"))
    assert (node.turn, node.parent, node.answer) == (3, first.id, "셋.")
    statuses = [turn.status for turn in resource.find_user_agent().store.turns(node.session)]
    assert statuses == ["done", "done", "failed", "done"]


def test_a_turn_goes_on_without_its_page_and_the_next_one_shows_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    serve(lambda _: f"여우가 돌아본다.{BLOCK}", gate=gate)
    at = opened()
    session = param(at, "s")
    with monkeypatch.context() as unfollowed:
        unfollowed.setattr(follow, "follow_chat_work", lambda *_: None)
        say(at, "탑으로 간다")
        assert "stop" in keys(at)
        job = resource.find_user_jobs().of(session)
        assert job is not None
        gate.set()
    other = page(s=session)
    node = node_of(other)
    assert (node.turn, node.question, node.answer) == (1, "탑으로 간다", "여우가 돌아본다.")
    assert "stop" not in keys(other)


def test_a_turn_that_was_stopped_before_its_answer_is_kept_and_the_story_goes_on(serve: Serve) -> None:
    begun = threading.Event()

    def wait(_: Any) -> str:
        begun.set()
        return "여우가 돌아본다."

    serve(wait, delay=60)
    at = opened()
    jobs, session = resource.find_user_jobs(), param(at, "s")
    stopper = threading.Thread(target=_stop_when, args=(begun, lambda: jobs.of(session)))
    stopper.start()
    say(at, "탑으로 간다")
    stopper.join()
    turn = resource.find_user_agent().store.turn(session, 1)
    assert turn is not None
    assert (turn.question, turn.status) == ("탑으로 간다", "stopped")
    assert node_of(at).turn == 0


def _stop_when(begun: threading.Event, find: Callable[[], Job | None]) -> None:
    begun.wait(60)
    job = find()
    assert job is not None
    job.stop.set()


def test_what_broke_the_cache_is_told(serve: Serve) -> None:
    serve()
    node = replace(node_of(opened()), turn=7, receipt=RECEIPT)
    words = Words("en")
    told = describe_cache_hindrance(words, node)
    assert "turn 3" in told
    assert "2 turns behind" in told
    usual = {**RECEIPT, "broke": "state and lore", "late": 0}
    assert describe_cache_hindrance(words, replace(node, receipt=usual)) == ""


def test_refused_fields_of_the_state_are_told(serve: Serve) -> None:
    serve(
        numbered("\n\n```state\nlocation: 등불 탑\nlocation_moved: true\nitems_lost: [없는 검]\nhp_change: 많이\n```")
    )
    at = say(opened(), "간다")
    assert node_of(at).refusals
    assert any("반영하지 않은" in each.label for each in at.expander)


# --- files --------------------------------------------------------------------------------------


CARD = {
    "spec": "chara_card_v2",
    "data": {
        "name": "미르",
        "description": "{{char}}는 용이다.",
        "first_mes": "{{user}}, 왔구나.",
        "character_book": {
            "entries": [
                {"keys": ["동굴"], "content": "깊다.", "enabled": True},
                {"keys": ["보물"], "content": ["깊다"], "enabled": True},
            ]
        },
    },
}


def bring(at: AppTest) -> AppTest:
    data = json.dumps(CARD).encode()
    at.file_uploader(key="world-import-file").set_value([("mir.json", data, "application/json")]).run()
    return press(at, "world-import-go")


def test_a_card_becomes_a_world_that_says_what_was_left_out(serve: Serve) -> None:
    serve()
    at = bring(press(page(view="world"), "world-import"))
    node = node_of(at)
    assert (node.turn, node.answer) == (0, "주인공, 왔구나.")
    said = texts(at).replace("\\", "")
    assert "로어북 항목 1개를 가져왔습니다" in said
    assert "content의 값은 글이어야 합니다" in said
    press(at, "world-imported-close")
    assert "가져왔습니다" not in texts(at)


def test_the_import_shows_what_comes_over_and_what_is_too_large(serve: Serve) -> None:
    serve()
    at = press(page(view="world"), "world-import")
    long = "깊고 어두운 곳이다. " * 200
    entries = [
        {"keys": ["동굴"], "content": "@@depth 3\n깊다.", "enabled": True},
        {"keys": ["바다"], "content": long, "enabled": False},
        {"keys": ["하늘"], "content": long, "enabled": True},
        {"keys": [], "content": long, "enabled": True, "constant": True},
    ]
    data = {**CARD, "data": {**CARD["data"], "character_book": {"entries": entries}}}  # type: ignore[dict-item]
    at.file_uploader(key="world-import-file").set_value([("mir.json", json.dumps(data).encode(), "application/json")])
    said = texts(at.run()).replace("\\", "")
    for words in (
        "캐릭터 카드 v2",
        "항목 4개",
        "열쇠말로 켜짐 3개",
        "항상 켜짐 1개",
        "꺼짐 1개",
        "첫 인사말 1개",
        "깊이 2 이상: 1개",
        "항상 켜지는 항목은 모두",
    ):
        assert words in said, (words, said)
    (large,) = (one.value.replace("\\", "") for one in at.warning)
    assert "예산 800토큰보다 큰 항목: 1개 (하늘)" in large
    assert "world-over-choice" not in keys(at), "the window of the model allows it"
    press(at, "world-import-go")
    assert len(worlds().lore(node_of(at).world)) == 4


def test_a_card_asks_for_the_name_of_the_players_character(serve: Serve) -> None:
    serve()
    at = press(page(view="world"), "world-import")
    data = json.dumps(CARD).encode()
    at.file_uploader(key="world-import-file").set_value([("mir.json", data, "application/json")]).run()
    at.text_input(key="world-import-player").set_value(" 민수 ").run()
    node = node_of(press(at, "world-import-go"))
    assert (node.answer, worlds().world(node.world).player) == ("민수, 왔구나.", "민수")


def test_a_card_is_added_to_the_open_world_as_another_beginning(serve: Serve) -> None:
    serve()
    at = opened()
    greeting = node_of(at)
    node = node_of(bring(choose(at, greeting.world, "import")))
    assert (node.world, node.turn, node.answer) == (greeting.world, 0, "나루지기, 왔구나.")
    assert "2/2" in texts(at)
    assert len(worlds().lore(node.world)) == len(load_sample_story("ko").lore) + 1


def test_a_file_that_is_no_book_is_told_and_nothing_is_made(serve: Serve) -> None:
    serve()
    at = press(page(view="world"), "world-import")
    at.file_uploader(key="world-import-file").set_value([("a.json", b"[1]", "application/json")]).run()
    assert at.error
    assert "world-import-go" not in keys(at)
    assert worlds().all() == []


def test_every_format_of_the_export_can_be_read_again(serve: Serve) -> None:
    from component.world.list.book_window import _write_world_book

    serve()
    at = opened()
    world = world_of(at)
    choose(at, world.id, "export")
    assert {f"world-download-{form}" for form in FORMATS} <= {str(each.key) for each in at.get("download_button")}
    for form in FORMATS:
        book = read_book(_write_world_book(resource.find_user_engine(), world, form), f"x.{form}")
        assert [entry.keyword for entry in book.entries] == [entry.keyword for entry in load_sample_story("ko").lore], (
            form
        )
        assert (book.card.greeting if book.card else "") in ("", load_sample_story("ko").greetings[0].strip())
