"""The list of conversations: folders, several rows at once, search, thousands of rows; the help and its places."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from sqlalchemy import event, insert

from component.page import help
from component.page.catalogue import LANGUAGES, Words
from component.page.point import KEY as POINTED
from component.panel.prompt_bar import _render_part_legend
from component.sidebar import export
from component.work import resource
from store.database import schema
from store.export.portable import read_conversations
from tests.component.listing import act, go, listed, look, titles
from tests.test_app import filled, page, say, session_of, store, texts

pytestmark = pytest.mark.usefixtures("fresh")


def named(*names: str) -> list[str]:
    """A conversation for each name; returns their ids."""
    ids = [filled(2) for _ in names]
    for own, name in zip(ids, names, strict=True):
        store().rename_session(own, name)
    return ids


def test_chats_are_put_into_a_folder_and_stay_when_it_is_deleted(serve: Any) -> None:
    serve()
    page()
    first, second, third = named("하나", "둘", "셋")
    at = act(page(s=first), "create", name="여행", ids=[first, second])
    (folder,) = listed(at)["folders"]
    assert (folder["name"], folder["rows"], folder["here"], titles(at)) == ("여행", None, True, ["셋"])
    look(at, folder=folder["id"])
    (opened,) = listed(at)["folders"]
    assert [row["title"] for row in opened["rows"]] == ["둘", "하나"]
    act(at, "folder", folder=folder["id"], name="제주")
    assert listed(at)["folders"][0]["name"] == "제주"
    act(at, "move", ids=[second], folder="")
    assert sorted(titles(at)) == ["둘", "셋"]
    at.button(key="undo-last").click().run()
    assert titles(at) == ["셋"]
    act(at, "unfold", folder=folder["id"])
    assert (listed(at)["folders"], sorted(titles(at))) == ([], ["둘", "셋", "하나"])
    assert "폴더를 삭제했습니다" in texts(at)
    at.button(key="undo-last").click().run()
    assert (listed(at)["folders"][0]["name"], titles(at)) == ("제주", ["셋"])
    assert store().session(third).folder == ""


def test_a_folder_that_another_tab_has_deleted_is_told_and_nothing_moves(serve: Any) -> None:
    serve()
    page()
    (own,) = named("하나")
    at = page()
    act(at, "move", ids=[own], folder="gone")
    assert "이 폴더는 더 이상 없습니다" in texts(at)
    assert titles(at) == ["하나"]


def test_several_chats_are_deleted_at_once_and_all_come_back(serve: Any) -> None:
    serve()
    page()
    first, second, third = named("하나", "둘", "셋")
    at = act(page(s=second), "delete", ids=[first, second])
    assert titles(at) == ["셋"]
    assert "s" not in at.query_params
    assert "대화 2개를 삭제했습니다" in texts(at)
    at.button(key="undo-last").click().run()
    assert sorted(titles(at)) == ["둘", "셋", "하나"]
    assert session_of(at) == second
    act(at, "delete", ids=[third])
    assert session_of(at) == second, "the open one stays open"
    assert "undo-last" in [each.key for each in at.button]


def test_several_chats_are_exported_as_one_archive_that_is_imported_again(serve: Any) -> None:
    serve(lambda messages: "네.")
    ids = [session_of(say(page(), text)) for text in ("같은 이름", "같은 이름", "다른/이름..")]
    at = act(page(), "export", ids=[*ids, "gone"])
    assert "대화 3개를" in texts(at)
    sessions = [store().session(own) for own in ids]
    data = export._pack_sessions(sessions, lambda each: resource.find_user_agent().export_session(each.id), "json")
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["같은 이름.json", "같은 이름 (2).json", "다른 이름.json"]
    made = read_conversations(data, 1_000_000, len).conversations
    assert [each.session.title for each in made] == ["같은 이름", "같은 이름", "다른/이름.."]
    assert [len(each.turns) for each in made] == [1, 1, 1]


def test_a_search_goes_to_another_version_of_a_turn_and_cuts_no_number(serve: Any) -> None:
    serve(lambda messages: "네.")
    page()
    own = filled(3)
    store().tree.begin(own, 2, "질문 2를 고쳐서 숙소 예산을 1,250,000원 안에서 정하고 싶다고 다시 물었습니다")
    resource.find_user_agent().store.finish_turn(own, 2, _done())
    at = page(s=own)
    (hit,) = listed(look(at, "숙소"))["hits"]["rows"]
    assert "1,250,000원" in hit["after"]
    (before,) = listed(look(at, '"질문 3"'))["hits"]["rows"]
    go(at, own, before["number"], before["branch"])
    assert "질문 3" in [each.value for each in at.text]
    go(at, own, hit["number"], hit["branch"])
    assert "질문 3" not in [each.value for each in at.text]


def _done() -> Any:
    from store import Finished

    return Finished("done", answer="네")


def test_a_page_costs_the_same_number_of_statements_and_rows_among_5_000_chats(serve: Any) -> None:
    serve()
    at = page()
    fixed = {"language": "ko", "compression_rate": 0.3, "path": [[0, 1]], "turn_count": 1}
    asked: list[str] = []

    def note(_c: object, _k: object, statement: str, parameters: object, _x: object, _m: object) -> None:
        asked.append(statement)

    event.listen(store().engine, "before_cursor_execute", note)

    def drawn(first: int, last: int) -> int:
        rows = [
            {**fixed, "id": f"s{number}", "title": f"이야기 {number}", "created": number, "updated": number}
            for number in range(first, last)
        ]
        with store().transaction() as connection:
            connection.execute(insert(schema.session), rows)
        asked.clear()
        at.run()
        assert len(titles(at)) == 30
        assert listed(at)["more"]
        return len(asked)

    assert drawn(50, 5000) == drawn(0, 50)


def test_parts_that_nothing_limits_show_no_number_beside_their_tokens() -> None:
    part = {"name": "question", "tokens": 30_091, "budget": 100}
    assert "30,091</b><small>제한 없음</small>" in _render_part_legend(Words("ko"), [part])
    assert "100" not in _render_part_legend(Words("en"), [part])


@pytest.mark.parametrize("name", [*help.PLACES, help.DOCUMENTS])
def test_every_place_of_the_help_is_named_and_explained(name: str) -> None:
    for language in LANGUAGES:
        assert Words(language)(f"help.place.{name}")
        assert Words(language)(f"help.place.{name}.about")


def test_the_help_leads_to_a_place_and_closes(serve: Any) -> None:
    serve()
    at = page(view="help")
    assert at.button(key="go-to-actions").disabled
    at.button(key="go-to-rate").click().run()
    serial, place = at.session_state[POINTED]
    assert (serial, place) == (1, help.PLACES["rate"])
    assert "go-to-rate" not in [each.key for each in at.button]
    at = page(view="help")
    at.button(key="go-to-documents").click().run()
    assert at.query_params["view"] in ("documents", ["documents"])
