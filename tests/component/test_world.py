"""The page of story worlds: the real script on a scripted model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from component.page.catalogue import Words
from component.work import resource
from component.work.side_call import SideCalls
from component.world import follow
from component.world.receipt import facts, hindrance
from errors import ModelUnreachable
from store.world.record import Node
from store.world.worlds import Worlds
from tests.conftest import Serve
from tests.test_app import page, texts
from world.book import FORMATS, read_book
from world.engine import Engine
from world.sample import sample

pytestmark = pytest.mark.usefixtures("fresh")
RECEIPT: dict[str, Any] = {"prompt_tokens": 4600, "cached_tokens": 4000, "answer_tokens": 308, "saved_usd": 0.0123}
RECEIPT |= {"broke": "history at turn 3 (edited)", "late": 2}
BLOCK = "\n\n```state\nlocation: 등불 탑\nlocation_moved: true\n```"


def numbered(block: str = BLOCK) -> Callable[[Any], str]:
    """Answers «장면 1.», «장면 2.», … with a state block."""
    numbers = iter(range(1, 1000))
    return lambda _: f"장면 {next(numbers)}.{block}"


def worlds() -> Worlds:
    return resource.engine().store.worlds


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


def node_of(at: AppTest) -> Node:
    return worlds().node(int(param(at, "n")))


def param(at: AppTest, name: str) -> str:
    value = at.query_params[name]
    return value if isinstance(value, str) else value[0]


def keys(at: AppTest) -> set[str]:
    return {str(each.key) for each in at.button}


def choose(at: AppTest, key: str, name: str) -> AppTest:
    """Chooses an action of a menu; AppTest has no menus."""
    from component.page import window

    at.session_state[window.OPENED] = (f"world-{name}", key, None)
    at.run()
    assert not at.exception
    return at


# --- the list -----------------------------------------------------------------------------------


def test_the_sidebar_leads_to_the_worlds_and_one_click_into_the_bundled_story(serve: Serve) -> None:
    serve()
    at = press(page(), "worlds-open")
    assert param(at, "view") == "world"
    press(at, "world-sample-play")
    node = node_of(at)
    assert (node.turn, worlds().world(node.world).name) == (0, "안개 나루")
    assert "저녁 안개가 검은 강을 덮는다" in texts(at)
    assert at.chat_input[0].disabled is False


def test_the_model_is_told_once_for_every_turn_that_a_message_is_expected(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected: list[int] = []
    monkeypatch.setattr(Engine, "expect", lambda _, world, node: expected.append(node.turn))
    serve(numbered())
    at = opened()
    at.run()
    say(at, "탑으로 간다").run()
    assert expected == [0, 1]


def test_in_english_the_story_is_english(serve: Serve) -> None:
    serve()
    at = opened("en-US")
    assert worlds().world(param(at, "w")).language == "en"
    assert "Evening mist lies on the black river" in texts(at)


def test_the_list_names_a_world_and_opens_it_where_it_was_played_last(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    last = node_of(at)
    press(at, "world-list")
    assert "w" not in at.query_params
    assert "1턴" in texts(at)
    press(at, f"world-open-{last.world}")
    assert node_of(at).id == last.id


def test_a_new_world_is_empty_and_its_first_message_begins_the_story(serve: Serve) -> None:
    serve(numbered())
    at = press(page(view="world"), "world-new")
    at.text_input(key="world-create-name").set_value("숲")
    press(at, "world-create-go")
    world = worlds().world(param(at, "w"))
    assert (world.name, world.player) == ("숲", "주인공")
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
    world = param(at, "w")
    choose(at, world, "change")
    at.text_input(key=f"world-name-{world}").set_value("새벽 나루")
    at.text_input(key=f"world-player-{world}").set_value("아리아")
    press(at, "world-names-go")
    assert (worlds().world(world).name, worlds().world(world).player) == ("새벽 나루", "아리아")


def test_a_world_is_deleted_after_a_question_only(serve: Serve) -> None:
    serve()
    at = opened()
    world = param(at, "w")
    choose(at, world, "delete")
    press(at, "world-delete-not")
    assert worlds().world(world).id == world
    choose(at, world, "delete")
    press(at, "world-delete-go")
    assert worlds().all() == []
    assert "w" not in at.query_params
    assert not resource.engine().files.names(world)


def test_an_unknown_world_leads_to_the_list_with_a_notice(serve: Serve) -> None:
    serve()
    at = page(view="world", w="0123456789abcdef")
    assert "그런 세계가 없습니다" in texts(at)
    assert "world-sample-play" in keys(at)


# --- playing ------------------------------------------------------------------------------------


def test_a_turn_is_played_and_the_address_names_it(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = opened()
    greeting = node_of(at)
    node = node_of(say(at, "등불 탑으로 간다"))
    assert (node.turn, node.parent, node.question, node.answer) == (1, greeting.id, "등불 탑으로 간다", "장면 1.")
    said = texts(at)
    assert "장면 1." in said
    assert "```state" not in said
    assert "나루지기 · 등불 탑" in said, "the state after the turn"
    assert "1턴 · " in said
    assert resource.side_calls().of(("world", node.world)) is None


def test_another_answer_is_a_version_and_the_first_stays(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    first = node_of(at)
    press(at, f"again-w{first.id}")
    second = node_of(at)
    assert (second.parent, second.answer) == (first.parent, "장면 2.")
    assert "2/2" in texts(at)
    press(at, f"earlier-w{second.id}")
    assert node_of(at).id == first.id
    assert "장면 1." in texts(at)


def test_a_changed_message_is_played_anew(serve: Serve) -> None:
    serve(numbered())
    at = say(opened(), "탑으로 간다")
    first = node_of(at)
    press(at, f"edit-w{first.id}")
    at.text_area(key=f"world-draft-{first.id}").set_value("숲으로 간다")
    press(at, "edit-send")
    node = node_of(at)
    assert (node.parent, node.question, node.answer) == (first.parent, "숲으로 간다", "장면 2.")


def test_going_back_begins_another_branch_and_loses_nothing(serve: Serve) -> None:
    serve(numbered(BLOCK))
    at = say(say(opened(), "하나"), "둘")
    second = node_of(at)
    first = worlds().node(second.parent)
    press(at, f"rewind-w{first.id}")
    assert node_of(at).id == first.id
    assert "장면 2." not in texts(at)
    third = node_of(say(at, "셋"))
    assert (third.parent, third.turn) == (first.id, 2)
    press(at, f"rewind-w{first.id}")
    press(at, "world-newest")
    assert node_of(at).id == third.id, "the newest branch"
    press(at, f"earlier-w{third.id}")
    assert node_of(at).id == second.id


def test_a_failed_turn_is_told_its_message_is_kept_and_it_is_tried_again(serve: Serve) -> None:
    answers = iter([ModelUnreachable(url="http://127.0.0.1:9"), f"장면.{BLOCK}"])
    serve(lambda _: next(answers))
    at = say(opened(), "탑으로 간다")
    assert at.error
    assert "탑으로 간다" in texts(at)
    assert at.chat_input[0].disabled
    press(at, "world-retry")
    assert not at.error
    node = node_of(at)
    assert (node.turn, node.question, node.answer) == (1, "탑으로 간다", "장면.")


def test_a_failed_message_goes_back_into_the_input(serve: Serve) -> None:
    def fail(_: Any) -> BaseException:
        return ModelUnreachable(url="http://127.0.0.1:9")

    serve(fail)
    at = say(opened(), "탑으로 간다")
    press(at, "world-take-back")
    assert at.chat_input[0].value == "탑으로 간다"
    assert not at.error
    assert node_of(at).turn == 0


def test_a_turn_goes_on_without_its_page_and_the_next_one_takes_it_in(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    serve(lambda _: f"여우가 돌아본다.{BLOCK}", gate=gate)
    at = opened()
    with monkeypatch.context() as unfollowed:
        unfollowed.setattr(follow, "follow_world", lambda *_: None)
        say(at, "탑으로 간다")
        assert "stop" in keys(at)
        assert at.chat_input[0].disabled
        call = resource.side_calls().of(("world", param(at, "w")))
        assert call is not None
        gate.set()
    other = page(view="world", w=param(at, "w"))
    node = node_of(other)
    assert (node.turn, node.question, node.answer) == (1, "탑으로 간다", "여우가 돌아본다.")
    assert "stop" not in keys(other)


def test_a_message_stopped_before_its_answer_goes_back_into_the_input(serve: Serve) -> None:
    begun = threading.Event()

    def wait(_: Any) -> str:
        begun.set()
        return "여우가 돌아본다."

    serve(wait, delay=60)
    at = opened()
    world = param(at, "w")
    stopper = threading.Thread(target=_stop_when, args=(begun, world, resource.side_calls()))
    stopper.start()
    say(at, "탑으로 간다")
    stopper.join()
    assert at.chat_input[0].value == "탑으로 간다"
    assert node_of(at).turn == 0


def _stop_when(begun: threading.Event, world: str, calls: SideCalls) -> None:
    begun.wait(30)
    call = calls.of(("world", world))
    assert call is not None
    call.stop.set()


def test_the_receipt_says_what_was_saved_and_what_broke_the_cache(serve: Serve) -> None:
    serve()
    node = replace(node_of(opened()), turn=7, receipt=RECEIPT)
    words = Words("en")
    assert facts(words, node, whole=True) == "Turn 7 · 4,600 tokens in · 308 out · 4,000 from the cache · $0.0123 saved"
    assert facts(words, node, whole=False) == "Turn 7"
    told = hindrance(words, node)
    assert "turn 3" in told
    assert "2 turns behind" in told
    usual = {**RECEIPT, "broke": "state and lore", "late": 0}
    assert hindrance(words, replace(node, receipt=usual)) == ""


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


def test_a_card_is_added_to_the_open_world_as_another_beginning(serve: Serve) -> None:
    serve()
    at = opened()
    greeting = node_of(at)
    node = node_of(bring(choose(at, greeting.world, "import")))
    assert (node.world, node.turn, node.answer) == (greeting.world, 0, "나루지기, 왔구나.")
    assert "2/2" in texts(at)
    assert len(worlds().lore(node.world)) == len(sample("ko").lore) + 1


def test_a_file_that_is_no_book_is_told_and_nothing_is_made(serve: Serve) -> None:
    serve()
    at = press(page(view="world"), "world-import")
    at.file_uploader(key="world-import-file").set_value([("a.json", b"[1]", "application/json")]).run()
    assert at.error
    assert "world-import-go" not in keys(at)
    assert worlds().all() == []


def test_every_format_of_the_export_can_be_read_again(serve: Serve) -> None:
    from component.world.book_window import _written

    serve()
    at = opened()
    world = worlds().world(param(at, "w"))
    choose(at, world.id, "export")
    assert {f"world-download-{form}" for form in FORMATS} <= {str(each.key) for each in at.get("download_button")}
    for form in FORMATS:
        book = read_book(_written(resource.engine(), world, form), f"x.{form}")
        assert [entry.keyword for entry in book.entries] == [entry.keyword for entry in sample("ko").lore], form
        assert (book.card.greeting if book.card else "") in ("", sample("ko").greetings[0].strip())
