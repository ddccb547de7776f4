"""The light call: one request to the utility model for a turn whose answer has no block that can be read."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

import settings
from errors import GieokError, ModelOverloaded
from model.call.stream import Stopped
from model.choice import resolve
from model.modelset import ModelSet
from model.profile import SMALL
from store.world.record import Changes, Character, Location
from tests.stub.reply import Reply, failed, said
from tests.stub.upstream import Upstream
from tests.table import table
from world.block import Fields, extract_turn_fields
from world.block.reading.light import MOST_CHARS
from world.story.state import StoryState

STATE = StoryState("아리아").after(Changes(characters=(Character("아리아", "마을", 40),)), 3)
REPLY = {"location": "숲", "hp_change": -5, "npc_met": ["세라"], "mood": "긴장"}
JSON = json.dumps(REPLY, ensure_ascii=False)


def hosted(upstream: Upstream) -> ModelSet:
    given = settings.load_settings(
        openai_base_url=upstream.url, openai_api_key="sk-1", provider="hosted", chat_model="stub-model", model_retries=0
    )
    return resolve.resolve_models(given)


def asked(upstream: Upstream, answer: str = "세라가 웃는다.", stop: threading.Event | None = None) -> Fields | None:
    return extract_turn_fields(hosted(upstream), "숲으로 간다.", answer, STATE, "ko", stop or threading.Event())


@table(
    "text",
    [
        JSON,
        f"```json\n{JSON}\n```",
        f"```state\n{JSON}\n```",
        f"Here it is:\n\n```json\n{json.dumps(REPLY, ensure_ascii=False, indent=2)}\n```\nDone.",
        json.dumps({**REPLY, "location_moved": False}, ensure_ascii=False),
        json.dumps({"state": REPLY}, ensure_ascii=False),
        "location: 숲\nlocation_moved: false\nhp_change: -5\nnpc_met: [세라]\nmood: 긴장",
    ],
)
def test_a_reply_is_read_in_every_usual_form(text: str) -> None:
    with Upstream(said(text)) as upstream:
        assert asked(upstream) == REPLY


@table("text", ["I cannot do that.", "{", "[]", "null", '{"name": "x"}', "```json\n```"])
def test_a_reply_that_cannot_be_read_gives_nothing(text: str) -> None:
    with Upstream(said(text)) as upstream:
        assert asked(upstream) is None
        assert len(upstream.requests) == 1


def test_the_model_sees_the_state_before_and_the_turn_and_is_asked_for_json() -> None:
    with Upstream(said(JSON)) as upstream:
        asked(upstream, "세라가 웃는다.")
    body = upstream.requests[0].body
    told = body["messages"][-1]["content"]
    assert all(word in told for word in ("마을", "숲으로 간다.", "세라가 웃는다."))
    assert body["response_format"]["json_schema"]["name"] == "state"


@table(
    ("question", "places"),
    [
        ("버들 숲으로 걸어가서 쉰다.", ["버들 숲", "옛 탑", "마을"]),
        ("버들숲으로 간다.", ["버들 숲", "옛 탑", "마을"]),
        ("길을 떠난다.", None),
    ],
)
def test_a_small_model_chooses_among_the_places_that_the_turn_names(question: str, places: list[str] | None) -> None:
    known = (Location("마을"), Location("나루"), Location("옛 탑"), Location("버들 숲"))
    state = STATE.after(Changes(locations=known), 3)
    with Upstream(said(JSON)) as upstream:
        models = replace(hosted(upstream), side=SMALL)
        extract_turn_fields(models, question, "멀리 옛 탑이 보인다.", state, "ko", threading.Event())
    shape = upstream.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["location"].get("enum") == places
    assert "npc_location" not in shape


@table(
    ("question", "people"),
    [
        ("크룩을 부른다.", ["고블린왕 크룩", "에르겐"]),
        ("에르겐과 세라에게 묻는다.", ["세라", "에르겐"]),
        ("길을 떠난다.", None),
        ("나는 아리아다.", None),
    ],
)
def test_a_small_model_chooses_among_the_people_that_the_turn_names(question: str, people: list[str] | None) -> None:
    known = (
        Character("세라", "나루"),
        Character("고블린왕 크룩", "동굴"),
        Character("에르겐", "마을"),
        Character("도윤", "마을"),
    )
    state = STATE.after(Changes(known), 3)
    with Upstream(said(JSON)) as upstream:
        models = replace(hosted(upstream), side=SMALL)
        answer = "에르겐이 세라를 그리워한다."
        extract_turn_fields(models, question, answer, state, "ko", threading.Event())
    shape = upstream.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["npc_met"]["items"].get("enum") == people


def test_a_server_without_schemas_is_asked_once_more_without() -> None:
    with Upstream(failed(400, "response_format"), said(JSON)) as upstream:
        assert asked(upstream) == REPLY
    assert [("response_format" in one.body) for one in upstream.requests] == [True, False]


def test_a_long_answer_is_abridged() -> None:
    with Upstream(said(JSON)) as upstream:
        asked(upstream, f"처음 {'가' * 50_000} 끝")
    told = upstream.requests[0].body["messages"][-1]["content"]
    assert "처음" in told
    assert "끝" in told
    assert len(told) < MOST_CHARS * 1.5


@pytest.mark.parametrize(
    ("reply", "error"), [(failed(500, "oops"), GieokError), (failed(429, "slow"), ModelOverloaded)]
)
def test_an_error_of_the_server_is_raised(reply: Reply, error: type[Exception]) -> None:
    with Upstream(reply) as upstream, pytest.raises(error):
        asked(upstream)


def test_it_can_be_stopped() -> None:
    stop = threading.Event()

    def asked_for(_: object) -> Reply:
        stop.set()
        return said(JSON).but(silence=30.0)

    with Upstream(always=asked_for) as upstream:
        with pytest.raises(Stopped):
            asked(upstream, stop=stop)
        assert upstream.requests[0].gone.wait(60)
