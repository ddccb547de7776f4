"""The memory tab: the real page on a real Valkey and a scripted model."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import settings
from component.page import point
from component.page.catalogue import Words
from component.settings import memory_place
from component.settings.options import QUERY
from component.work import resource
from errors import StoreUnavailable
from memory import Memory
from memory.reader import MemoryReader
from memory.redis import address
from store import Finished
from tests.conftest import Serve
from tests.graph.talk import done
from tests.memory.conftest import free_port, valkey
from tests.memory.models import faithful, reply, saying
from tests.test_app import APP, texts
from tests.wait import until

ENGLISH = Words("en")
TAB = {"ko": "기억", "en": "Memory"}


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is on, over an embedded server of its own; the model folds faithfully."""
    serve(lambda messages: "네.", faithful)
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


def memory() -> Memory:
    found = resource.find_user_agent().memory
    assert found is not None
    assert found.wait(60), found.away
    return found


def remembered(turns: int = 6, session: str | None = None) -> str:
    """A session with that many finished turns, folded as far as it is due."""
    agent, held = resource.find_user_agent(), memory()
    session = session or agent.store.create_session("en", 0.3).id
    for number in range(1, turns + 1):
        question = f"My item {number} costs ${number}00."
        agent.store.begin_turn(session, question)
        agent.store.finish_turn(session, number, Finished("done", answer="Noted."))
    held.writer.open_session(agent.tenant, session, user=agent.user)
    held.folds.run(agent.tenant, session, models=agent.models(), language="en")
    return session


def page(session: str | None = None, language: str = "ko") -> AppTest:
    """The page with the memory tab open."""
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": "ko-KR" if language == "ko" else "en-US"}
    if session:
        at.query_params["s"] = session
    at.session_state[f"tabs-{language}"] = TAB[language]
    at.run()
    assert not at.exception
    return at


def click(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def submit(at: AppTest, label: str) -> AppTest:
    next(each for each in at.button if each.label == label).click().run()
    assert not at.exception
    return at


def html(at: AppTest) -> str:
    return "\n".join(each.proto.body for each in at.get("html") if "<style>" not in each.proto.body)


def said(at: AppTest) -> str:
    """Everything that can be read, without the marks that keep it from being Markdown."""
    boxes = [each.value for kind in (at.warning, at.success) for each in kind]
    return "\n".join([texts(at), html(at), *boxes]).replace("\\", "")


def test_the_tab_shows_the_memory_its_version_its_turns_and_its_budgets() -> None:
    at = page(remembered())
    read = said(at)
    assert "M1 · " in read
    assert "User said: My item 5 costs $500." in read
    assert "6턴은 아직 기억에 반영되지 않아" in read
    assert "500 토큰 중" in read
    assert "200 토큰 중" in read
    assert "<dt>item 5</dt><dd>$500</dd><dd>5턴</dd>" in read
    assert "24시간 동안 사용하지 않으면(" in read
    assert "최대 25개 중 5개" in read


def test_in_english_it_speaks_english() -> None:
    read = said(page(remembered(), "en"))
    assert "Not in the memory yet, kept word for word: turns 6." in read
    assert "<dd>turn 5</dd>" in read
    assert "tokens used" in read


def test_a_chat_without_memory_says_when_there_will_be_one() -> None:
    memory()  # it is reached by now
    assert "다섯 턴이 넘으면" in said(page())
    assert "1-2턴은 아직 기억에 반영되지 않아" in said(page(remembered(2)))


def test_an_edit_is_saved_and_can_be_undone() -> None:
    session = remembered()
    at = click(page(session), "memory-edit")
    draft = at.text_area(key=f"memory-draft-{session}")
    assert str(draft.value).splitlines()[0] == "User said: My item 1 costs $100."
    draft.set_value("I only buy tea.").run()
    at = click(at, "memory-save")
    assert "기억을 바꾸었습니다." in said(at)
    assert memory().reader.read_view("local", session).whole == "I only buy tea."
    at = click(at, "memory-undo")
    assert "이전 버전의 기억으로" in said(at)
    assert "My item 5" in memory().reader.read_view("local", session).whole


def test_a_draft_outlives_an_error_another_tab_and_a_fold() -> None:
    session = remembered()
    at = click(page(session), "memory-edit")
    draft = "A very long memory. " * 1000
    at.text_area(key=f"memory-draft-{session}").set_value(draft).run()
    at = click(at, "memory-save")
    assert "기억이 20,000자입니다. 16,000자까지" in said(at)
    at.session_state["tabs-ko"] = "요약"
    at.run()
    assert not [each for each in at.text_area if each.key == f"memory-draft-{session}"]
    memory().writer.edit("local", session, "Changed elsewhere.")
    at.session_state["tabs-ko"] = "기억"
    at.run()
    assert at.text_area(key=f"memory-draft-{session}").value == draft
    assert "기억이 M1에서 M2로 바뀌었습니다." in said(at)


def test_a_memory_that_changed_behind_the_page_is_not_overwritten_unseen() -> None:
    session = remembered()
    at = click(page(session), "memory-edit")
    at.text_area(key=f"memory-draft-{session}").set_value("Mine.").run()
    memory().writer.edit("local", session, "Theirs.")
    at = click(at, "memory-save")
    assert "작성하던 글은 그대로 있습니다." in said(at)
    assert memory().reader.read_view("local", session).whole == "Theirs."
    click(at, "memory-save")
    assert memory().reader.read_view("local", session).whole == "Mine."


def pins(session: str) -> tuple[str, ...]:
    return memory().reader.read_view("local", session).pins


def press(at: AppTest, name: str) -> AppTest:
    """Presses the first button of this kind in the profile."""
    return click(at, next(str(each.key) for each in at.button if str(each.key).startswith(name)))


def test_a_sentence_is_pinned_and_unpinned_and_a_fact_of_ones_own_too() -> None:
    session = remembered()
    at = click(page(session), "memory-pin-1-0")
    assert pins(session) == ("User said: My item 1 costs $100.",)
    assert [each.value for each in at.text].count("User said: My item 1 costs $100.") == 2, "pinned, and in the memory"
    at.text_input(key=f"memory-fact-{session}").set_value("견과류 알레르기가 있다")
    at = submit(at, "고정")
    assert set(pins(session)) == {"User said: My item 1 costs $100.", "견과류 알레르기가 있다"}
    assert at.text_input(key=f"memory-fact-{session}").value == ""
    at = press(press(at, "memory-unpin-"), "profile-forget-")
    assert pins(session) == ()
    assert "아직 없습니다. 기억해 달라고" in said(at)


def test_a_line_says_which_turn_it_comes_from_and_when_the_assistant_said_it() -> None:
    session = remembered()
    agent, held = resource.find_user_agent(), memory()
    for number in range(7, 13):
        agent.store.begin_turn(session, f"Thing {number}?")
        agent.store.finish_turn(session, number, Finished("done", answer=f"The gate code is {number}77."))
    held.writer.undo("local", session)
    words = [*(f"My item {number} costs ${number}00." for number in range(1, 6)), "The gate code is 777."]
    held.folds.run("local", session, models=saying(*[reply(*words)] * 2), language="en", anew=True)
    read = said(page(session))
    assert "1턴" in read
    assert "7턴 · AI" in read


def test_a_fact_that_is_too_long_is_told_and_stays_where_it_was_typed() -> None:
    session = remembered()
    at = page(session)
    at.text_input(key=f"memory-fact-{session}").set_value("가" * 400)
    at = submit(at, "고정")
    assert "사실이 400자입니다. 300자까지" in said(at)
    assert at.text_input(key=f"memory-fact-{session}").value == "가" * 400


def test_an_entity_is_changed_deleted_and_added() -> None:
    session = remembered()
    at = page(session)
    at.menu_button(key="entity-menu-5").set_value("edit").run()
    at.text_input(key=f"entity-value-{session}").set_value("$999")
    at = submit(at, "저장")
    assert "<dt>item 5</dt><dd>$999 (6턴까지 $500)</dd><dd>6턴</dd>" in html(at)
    at.menu_button(key="entity-menu-1").set_value("delete").run()
    assert "<dt>item 1</dt>" not in html(at)
    at.text_input(key=f"entity-new-key-{session}").set_value("도시")
    at.text_input(key=f"entity-new-value-{session}").set_value("부산")
    at = submit(at, "값 추가")
    assert "<dt>도시</dt><dd>부산</dd>" in html(at)
    assert [each.key for each in memory().reader.read_view("local", session).entities][-2:] == ["item 5", "도시"]


def test_versions_show_their_turns_and_what_changed() -> None:
    session = remembered()
    memory().writer.edit("local", session, "User said: My item 1 costs $100.\nI only buy tea.")
    at = click(page(session), "memory-versions")
    assert "<p><ins>I only buy tea.</ins></p>" in html(at)
    assert "<p><del>User said: My item 5 costs $500.</del></p>" in html(at)
    assert "직접 바꾼 버전입니다" in html(at)
    at.selectbox(key="memory-version-2").set_value(1).run()
    assert '<mark class="kept">$500</mark>' in html(at)


def test_a_rejected_fold_is_told_with_its_reason() -> None:
    session = remembered(5)
    held, agent = memory(), resource.find_user_agent()
    agent.store.begin_turn(session, "My item 6 costs $600.")
    agent.store.finish_turn(session, 6, Finished("done", answer="Noted."))
    assert held.folds.run(agent.tenant, session, models=saying("It rained.", "It rained."), language="en").reason
    read = said(page(session))
    assert "1-5턴으로 만든 기억을 사용하지 않았습니다: 읽을 수 없습니다" in read
    assert "기억은 그대로이고 턴도 남아 있습니다" in read


def test_a_new_chat_shows_the_profile_that_it_begins_with_until_the_switch_is_off() -> None:
    memory().writer.pin("local", remembered(), "견과류 알레르기가 있다")
    at = page()
    assert "견과류 알레르기가 있다" in said(at)
    assert "$500" not in said(at)
    at.toggle(key="memory-carry-True").set_value(False).run()
    assert "알레르기" not in said(at)
    assert not memory().reader.carries("local")
    at.toggle(key="memory-carry-False").set_value(True).run()
    assert "견과류 알레르기가 있다" in said(at)


def test_a_fact_of_the_profile_opens_the_turn_that_says_it() -> None:
    session = remembered()
    resource.find_user_agent().store.rename_session(session, "Allergies")
    memory().writer.pin("local", session, "User said: My item 2 costs $200.")
    at = page(language="en")
    (button,) = [each for each in at.button if str(each.key).startswith("profile-open-")]
    assert "Allergies" in button.label
    at = click(at, str(button.key))
    assert at.query_params["s"] in (session, [session])
    resource.find_user_agent().store.delete_session(session)
    assert not [each for each in page(language="en").button if str(each.key).startswith("profile-open-")]


def test_the_switch_is_not_offered_when_the_settings_say_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_USER_MEMORY", "false")
    settings.load_current_settings.cache_clear()
    remembered()
    at = page()
    assert "GIEOK_USER_MEMORY=false" in said(at)
    assert "memory-carry" not in str([toggle.key for toggle in at.toggle])
    assert "$500" not in said(at)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("between chats", "memory.carry"),
        ("ask me before", "proposal.first"),
        ("export", "memory.takeout"),
        ("erase", "memory.erase"),
    ],
)
def test_the_settings_window_finds_what_is_set_beside_the_memory_and_leads_there(query: str, name: str) -> None:
    at = click(page(remembered(), "en"), "open-options-window")
    at.text_input(key=QUERY).set_value(query).run()
    places = [each for each in at.button if str(each.key).startswith("options-go-")]
    assert [each.label for each in places] == [ENGLISH(name)]
    at = click(at, str(places[0].key))
    assert at.session_state[point.KEY][1] == memory_place.PLACES[name]
    assert QUERY not in at.session_state or not [each for each in at.text_input if each.key == QUERY]


def test_the_settings_window_leads_to_no_memory_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "false")
    settings.load_current_settings.cache_clear()
    at = AppTest.from_file(APP, default_timeout=60)
    at.session_state["options-open"] = "memory"
    at = click(at.run(), "open-options-window")
    assert not [each for each in at.button if str(each.key).startswith("options-go-")]


def test_an_answer_that_shows_values_of_memory_has_chips_that_open_their_lines(serve: Serve) -> None:
    serve(lambda _: "They cost $100, $200, $300, $400, so $1,000 in all.", faithful)
    session = remembered()
    done(list(resource.find_user_agent().run(session, "What do the first four cost?")))
    at = page(session, "en")
    chips = [each for each in at.button if str(each.key).startswith("from-memory-7-")]
    assert len(chips) == 4
    assert "$100" in chips[0].label
    at = click(at, str(chips[1].key))
    assert at.text_input(key="known-query").value == "$200"
    assert "item 2" in said(at)
    rows = [each for each in at.button if str(each.key).startswith("known-forget-")]
    assert len(rows) == 2, "the value, and the sentence that it stands in"


def test_an_answer_that_shows_nothing_of_memory_has_no_chip(serve: Serve) -> None:
    serve(lambda _: "It costs $100.", faithful)
    session = remembered()
    done(list(resource.find_user_agent().run(session, "Does the first one cost $100?")))
    at = page(session, "en")
    assert not [each for each in at.button if str(each.key).startswith("from-memory-")]


def test_erasing_asks_first_and_leaves_nothing() -> None:
    session = remembered()
    at = click(page(session), "memory-erase-one")
    assert "되돌릴 수 없습니다" in said(at)
    assert "$500" in memory().reader.read_view("local", session).text
    at = click(at, "memory-erase-one-not")
    at = click(click(at, "memory-erase-one"), "memory-erase-one-go")
    assert "이 대화의 기억을 지웠습니다." in said(at)
    assert memory().reader.read_view("local", session).whole == ""
    assert memory().reader.read_versions("local", session) == []


def test_erasing_everything_reaches_every_chat() -> None:
    one, other = remembered(), remembered()
    at = click(click(page(one), "memory-erase-all"), "memory-erase-all-go")
    assert "모든 기억을 지웠습니다." in said(at)
    assert [memory().reader.read_view("local", each).whole for each in (one, other)] == ["", ""]
    assert memory().export_user("local")["memories"] == []


def test_another_installation_on_the_same_redis_sees_nothing_and_erases_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def use(tenant: str) -> None:
        """From now on the page is that of this installation."""
        monkeypatch.setenv("GIEOK_TENANT", tenant)
        monkeypatch.setenv("GIEOK_DATA_DIR", str(tmp_path / tenant))
        settings.load_current_settings.cache_clear()
        st.cache_resource.clear()

    port = free_port()
    with valkey(tmp_path, port):
        monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{port}/0")
        use("one")
        session = remembered()
        use("two")
        own = resource.find_user_agent().store.create_session("en", 0.3).id
        done(list(resource.find_user_agent().run(own, "My item 9 costs $9.")))
        at = page()
        assert "M1" not in said(at)
        assert "item 5" not in said(at)
        at = page(own)
        assert "item 5" not in said(at)
        assert "1턴은 아직 기억에 반영되지 않아" in said(at)
        at = click(click(at, "memory-erase-all"), "memory-erase-all-go")
        assert "모든 기억을 지웠습니다." in said(at)
        use("one")
        assert "User said: My item 5 costs $500." in said(page(session))


def test_what_is_remembered_is_text_and_never_markup() -> None:
    session = remembered()
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)> **b** :red[r] {0}"
    held = memory()
    held.writer.edit("local", session, hostile)
    held.writer.pin("local", session, hostile)
    held.writer.remember("local", session, hostile, hostile, turn=6)
    at = click(page(session), "memory-versions")
    assert hostile in [each.value for each in at.text]
    assert "<script" not in html(at)
    assert "<img" not in html(at).replace('<img alt=""', "")
    assert all(not each.allow_html for each in at.markdown)


def test_when_it_is_off_the_tab_says_so_and_what_that_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "false")
    settings.load_current_settings.cache_clear()
    at = page()
    assert "장기 기억을 꺼 두었습니다" in said(at)
    assert "GIEOK" in said(at)
    assert resource.find_user_agent().memory is None


def test_without_redis_the_tab_shows_everything_and_says_that_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{free_port()}/0")
    settings.load_current_settings.cache_clear()
    held = resource.find_user_agent().memory
    assert held is not None
    until(lambda: held.away is not None and not held.starting)
    session = resource.find_user_agent().store.create_session("en", 0.3).id
    held.writer.pin("local", session, "I am allergic to nuts.")
    read = said(page(session))
    assert "I am allergic to nuts." in read
    assert "데이터베이스에서 읽으므로 잃는 것은 없습니다" in read


@pytest.mark.parametrize("language", ["ko", "en"])
def test_an_answer_that_was_made_without_memory_says_so_under_itself(
    monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    told = {"ko": "장기 기억에 연결할 수 없어 기억 없이 답했습니다.", "en": "Answered without long-term memory"}[
        language
    ]
    session = resource.find_user_agent().store.create_session("en", 0.3).id
    with monkeypatch.context() as patched:
        patched.setattr(MemoryReader, "read_turn", fail)
        done(list(resource.find_user_agent().run(session, "My item 1 costs $100.")))
    done(list(resource.find_user_agent().run(session, "My item 2 costs $200.")))
    assert said(page(session, language)).count(told) == 1, "of the first answer alone"


def fail(*_: object, **__: object) -> None:
    raise StoreUnavailable(where="the database", reason="it is away")


def test_a_server_that_hangs_does_not_hold_the_page_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        address.open_redis_client, "__defaults__", (300.0,)
    )  # whatever waits for the server itself, waits long
    port = free_port()
    with valkey(tmp_path, port) as server:
        monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{port}/0")
        settings.load_current_settings.cache_clear()
        session = remembered()
        at = page(session)
        server.send_signal(signal.SIGSTOP)
        at = click(click(at, "memory-erase-all"), "memory-erase-all-go")
        assert "모든 기억을 지웠습니다." in said(at)
        assert resource.find_user_agent().memory.reader.read_view("local", session).whole == ""  # type: ignore[union-attr]


def test_all_memory_goes_out_as_a_file_and_a_wrong_file_changes_nothing() -> None:
    from component.memory.all_memory import _parse_memory_file
    from errors import BadImport

    session = remembered()
    exported = json.dumps(memory().export_user("local"))
    memory().eraser.erase_user("local")
    assert memory().import_user("elsewhere", _parse_memory_file(exported.encode())) == 1
    assert "$500" in memory().reader.read_view("elsewhere", session).text
    for wrong in (b"[]", b"no json", b"\xff"):
        with pytest.raises(BadImport):
            _parse_memory_file(wrong)
