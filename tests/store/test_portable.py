"""Sessions as files: nothing is lost on the way out and in, and a bad file changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from hypothesis import strategies as st
from sqlalchemy import text

from errors import BadConversation, ConversationTooNew, DiskFull, FileTooLarge, SessionUnknown
from graph.turn.agent import Agent, open_agent
from model import scripted
from settings import load_settings
from store import Finished, Store
from store.export import portable
from store.export.form import VERSION
from store.export.transcript import render_transcript
from tests.graph.talk import answering, calling, done, prompts, question, raw, say, summarised, summarising, talk, topic
from text.clean import clean_text

LIMIT = 10_000_000
Change = Callable[[dict[str, Any]], object]


def agent(folder: Path, chat: Any = answering) -> Agent:
    models = scripted.build_scripted_models(chat, summarising)
    return open_agent(load_settings(data_dir=folder, titles=False), lambda: models)


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Agent]:
    opened = agent(tmp_path / "one")
    yield opened
    opened.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Agent]:
    """An agent whose store is empty."""
    opened = agent(tmp_path / "two")
    yield opened
    opened.close()


def told(bot: Agent) -> str:
    """A session of seven turns with another version of the fifth, an edited summary, a thumb and a title."""
    own = bot.store.create_session("ko", 0.4).id
    for number in range(1, 8):
        talk(bot, own, [number])
        assert bot.background.idle(5)
    done(list(bot.again(own, 5, question(50))))
    talk(bot, own, [60, 70])
    assert bot.background.idle(5)
    bot.edit_summary(own, 1, "내가 고쳐 쓴 요약")
    bot.store.set_feedback(own, 2, "down", "숫자가 틀림")
    bot.store.rename_session(own, "이름 🍜")
    bot.store.pin_session(own, True)
    return own


def brought(exported: str, to: Agent) -> str:
    (made,) = to.import_sessions(exported.encode()).sessions
    return made


def without_id(exported: str) -> Any:
    found = json.loads(exported)
    found["session"].pop("id")
    return found


def test_an_import_exported_again_is_the_same_file(bot: Agent, other: Agent) -> None:
    exported = bot.export_session(told(bot))
    assert without_id(other.export_session(brought(exported, other))) == without_id(exported)


def test_a_file_goes_into_every_database(exported: str, database: str | None, tmp_path: Path) -> None:
    store = Store(database or f"sqlite:///{tmp_path / 'gieok.db'}")
    (made,) = portable.import_conversations(store, exported.encode(), LIMIT, len).sessions
    assert without_id(portable.render_session_json(store, made)) == without_id(exported)
    assert [turn.number for turn in store.turns(store.tree.copy(made, 3))] == [1, 2, 3]
    store.begin_turn(made, "새 질문")
    assert store.set_model_title(made, "x") is False
    assert store.search("새 질")[0].number == 8
    store.close()


def test_an_export_has_everything(bot: Agent) -> None:
    found = json.loads(bot.export_session(told(bot)))
    assert (found["format"], found["version"]) == ("gieok", VERSION)
    assert (found["session"]["title"], found["session"]["titled"]) == ("이름 🍜", "user")
    assert (found["session"]["compression_rate"], found["session"]["pinned"]) == (0.4, True)
    assert [(each["branch"], each["number"]) for each in found["turns"]] == [
        *((0, number) for number in range(1, 8)),
        *((1, number) for number in range(5, 8)),
    ]
    assert found["turns"][1]["feedback"] == {"thumb": "down", "note": "숫자가 틀림"}
    assert found["turns"][0]["started"].endswith("+00:00")
    first = [each for each in found["summaries"] if each["turns"] == [1, 2, 3]]
    assert [(each["version"], each["status"]) for each in first][-1][1] in ("active", "retired")
    assert len(first) == 2
    assert first[-1]["record"]["summary"] == "내가 고쳐 쓴 요약"


def test_an_export_can_be_read_by_a_person(bot: Agent) -> None:
    exported = bot.export_session(told(bot))
    assert question(1) in exported
    assert exported.index('"session"') < exported.index('"branches"') < exported.index('"turns"')
    assert bot.export_session(bot.store.sessions()[0].id) == exported, "it is the same each time"


def test_without_branches_only_the_path_is_exported(bot: Agent, other: Agent) -> None:
    own = told(bot)
    exported = bot.export_session(own, branches=False)
    made = brought(exported, other)
    assert [turn.question for turn in other.store.turns(made)] == [turn.question for turn in bot.store.turns(own)]
    assert other.store.session(made).path == [(0, 1)]
    assert question(6) not in exported


def test_an_imported_session_goes_on_where_it_was(bot: Agent, other: Agent) -> None:
    made = brought(bot.export_session(told(bot)), other)
    done(say(other, made, question(80)))
    assert summarised(prompts(other)[-1]) == [(1, 3), (4, 6)]
    assert raw(prompts(other)[-1]) == [topic(70), topic(80)]
    assert "내가 고쳐 쓴 요약" in str(prompts(other)[-1][0].text)
    assert {record["thread_id"] for record in other.state(made)["summary_history"]} == {made}
    other.switch(made, 5, 0)
    done(say(other, made, question(90)))
    assert raw(prompts(other)[-1])[-2:] == [topic(7), topic(90)]
    assert other.store.session(made).history_tokens > 0


def test_an_imported_session_is_listed_and_found(bot: Agent, other: Agent) -> None:
    made = brought(bot.export_session(told(bot)), other)
    assert [each.id for each in other.store.sessions()] == [made]
    assert {hit.session_id for hit in other.store.search(topic(6))} == {made}


def test_what_is_imported_lies_below_what_was_said_here(bot: Agent, other: Agent) -> None:
    own = other.store.create_session("ko", 0.3).id
    talk(other, own, [3])
    exported = bot.export_session(told(bot))
    brought(exported, other)
    brought(exported, other)
    with other.store.transaction() as connection:
        owners = connection.execute(text("SELECT session_id FROM turn ORDER BY id")).scalars().all()
    assert owners.index(own) == len(owners) - 1 == 20


def test_the_same_file_twice_makes_two_sessions(bot: Agent) -> None:
    own = told(bot)
    exported = bot.export_session(own)
    assert len({own, brought(exported, bot), brought(exported, bot)}) == 3


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=60).filter(lambda said: said.strip())


@given(asked=TEXTS, answer=TEXTS, title=TEXTS)
@effort(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_text_comes_back_character_by_character(store: Store, asked: str, answer: str, title: str) -> None:
    own = store.create_session("en", 0.3).id
    number = store.begin_turn(own, asked).number
    store.finish_turn(own, number, Finished("failed", answer, error=None, steps=[]))
    exported = portable.render_session_json(store, own)
    (made,) = portable.import_conversations(store, exported.encode(), LIMIT, len).sessions
    back = store.turns(made)[0]
    pair = "\ud83d\ude00"  # would be one character in JSON
    if pair[0] not in asked + answer:
        assert (back.question, back.answer) == (asked, answer)
    assert without_id(portable.render_session_json(store, made)) == without_id(exported)
    store.delete_session(made)


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "끝\udfff", "\ue0f0", "\u2028", "﻿", "\r\n"])
def test_odd_characters_survive(store: Store, odd: str) -> None:
    own = store.create_session("en", 0.3).id
    store.finish_turn(own, store.begin_turn(own, f"a{odd}b").number, Finished("failed", odd))
    (made,) = portable.import_conversations(
        store, portable.render_session_json(store, own).encode(), LIMIT, len
    ).sessions
    assert (store.turns(made)[0].question, store.turns(made)[0].answer) == (f"a{odd}b", odd)


@pytest.mark.parametrize("odd", ["a\ud800", "\udfff\x00b"])
def test_a_summary_with_characters_that_no_model_takes_comes_in_clean(exported: str, other: Agent, odd: str) -> None:
    found = json.loads(exported)
    found["session"]["id"] = odd
    for each in found["summaries"]:
        each["record"]["summary"] = odd
    made = brought(json.dumps(found), other)
    talk(other, made, [8])
    assert {each.record["summary"] for each in other.store.ledger.summaries(made) if each.record} >= {clean_text(odd)}
    assert other.export_session(made).encode()


# --- what is refused ----------------------------------------------------------------------------


def refused(bot: Agent, data: bytes) -> BadConversation:
    before = count(bot)
    with pytest.raises(BadConversation) as caught:
        bot.import_sessions(data)
    assert count(bot) == before, "nothing is imported"
    return caught.value


def count(bot: Agent) -> list[int]:
    with bot.store.transaction() as connection:
        tables = ("session", "branch", "turn", "summary")
        return [connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    opened = agent(tmp_path_factory.mktemp("exported"))
    made = opened.export_session(told(opened))
    opened.close()
    return made


@pytest.mark.parametrize(
    ("change", "place", "reason"),
    [
        (lambda data: data.pop("format"), "the beginning", "Gieok"),
        (lambda data: data.update(version="x"), "version", "1"),
        (lambda data: data.update(version=0), "version", "1"),
        (lambda data: data.update(more=1), "more", "not permitted"),
        (lambda data: data.pop("turns"), "turns", "required"),
        (lambda data: data.update(turns=[]), "turns", "at least 1"),
        (lambda data: data["turns"][2].update(number="3"), "turns.2.number", "integer"),
        (lambda data: data["turns"][2].update(number=-3), "turns.2.number", "greater"),
        (lambda data: data["turns"][2].update(number=10**30), "turns.2.number", "less"),
        (lambda data: data["turns"][2].update(question=None), "turns.2.question", "string"),
        (lambda data: data["turns"][2].update(status="odd"), "turns.2.status", "'running'"),
        (lambda data: data["turns"][2].update(started="soon"), "turns.2.started", "isoformat"),
        (lambda data: data["turns"][2].update(messages=[]), "turns.2", "one question"),
        (lambda data: data["turns"][2].update(messages=[{"type": "x"}]), "turns.2", "cannot be read"),
        (lambda data: data["turns"][2].update(number=9), "turns.2", "another turn"),
        (lambda data: data["turns"].pop(2), "the whole file", "no turn 3"),
        (lambda data: data["turns"].append(data["turns"][0]), "the whole file", "2 times"),
        (lambda data: data["turns"][1].update(steps=[{"name": "x"}]), "turns.1.steps.0.call", "required"),
        (lambda data: data["turns"][1]["report"].pop("parts"), "turns.1.report.parts", "required"),
        (lambda data: data["session"].update(path=[]), "session.path", "at least 1"),
        (lambda data: data["session"].update(path=[[0, 2]]), "the whole file", "begin at turn 1"),
        (lambda data: data["session"].update(path=[[0, 1], [7, 3]]), "the whole file", "branch 7"),
        (lambda data: data["session"].update(compression_rate=0.9), "session.compression_rate", "less"),
        (lambda data: data["session"].update(language="fr"), "session.language", "'ko'"),
        (lambda data: data["branches"].pop(), "the whole file", "no branch 1"),
        (lambda data: data["summaries"][0].pop("record"), "summaries.0", "no record"),
        (lambda data: data["summaries"][0].update(turns=[1, 3]), "summaries.0", "follow"),
    ],
)
def test_a_bad_file_is_refused_with_place_and_reason(
    other: Agent, exported: str, change: Change, place: str, reason: str
) -> None:
    data = json.loads(exported)
    change(data)
    error = refused(other, json.dumps(data).encode())
    assert error.values["place"] == place
    assert reason in error.values["reason"]
    assert "Nothing was imported" in str(error)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "line 1, column 1"),
        (b"\xff\xfe", "byte 0"),
        (b'{"format": "gieok",\n "version": }', "line 2, column 13"),
        (b'{"format": "gieok", "x": NaN}', "somewhere inside"),
        (b"[" * 200_000, "somewhere inside"),
        (b"7", "the beginning"),
        (b'{"format": "gieok-memory", "version": 1}', "the beginning"),
        (b'[{"mapping": 3}]', "conversation 1.mapping"),
        (b'[{"mapping": 3}, {"title": "x"}]', "conversation 1.mapping"),
    ],
)
def test_no_export_at_all_is_refused_with_its_place(other: Agent, data: bytes, place: str) -> None:
    assert refused(other, data).values["place"] == place


def test_a_newer_form_is_refused_clearly(other: Agent, exported: str) -> None:
    data = {**json.loads(exported), "version": 2, "unheard_of": True}
    with pytest.raises(ConversationTooNew, match="Update Gieok"):
        other.import_sessions(json.dumps(data).encode())


def test_a_huge_file_is_refused_before_it_is_read(store: Store) -> None:
    with pytest.raises(FileTooLarge, match=r"101 bytes; the limit is 100"):
        portable.import_conversations(store, b"x" * 101, 100, len)


def test_a_write_that_fails_leaves_nothing(other: Agent, exported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = portable.read_conversations(exported.encode(), LIMIT, len).conversations
    write, calls = portable._write_session, []

    def failing(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 3:
            raise DiskFull(path="x", needed="more", free="none")
        write(*args)

    monkeypatch.setattr(portable, "_write_session", failing)
    with pytest.raises(DiskFull):
        portable.create_imported_sessions(other.store, made * 4)
    assert count(other) == [0, 0, 0, 0]


def test_a_number_that_json_cannot_hold_is_written_as_text(store: Store) -> None:
    own = store.create_session("ko", 0.3).id
    store.begin_turn(own, "질문")
    odd = {"call": "c", "name": "t", "arguments": {"n": float("inf")}, "result": "", "ok": True, "seconds": 0.1}
    store.finish_turn(own, 1, Finished("done", "답", steps=[odd]))
    assert json.loads(portable.render_session_json(store, own))["turns"][0]["steps"][0]["arguments"] == {"n": "inf"}


def test_a_session_that_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(SessionUnknown):
        portable.render_session_json(store, "nobody")


# --- the transcript -----------------------------------------------------------------------------


def test_a_transcript_tells_turns_tools_feedback_and_summaries(tmp_path: Path) -> None:
    answers = [calling("calculate", expression="3500*12"), "42,000원입니다.", *(["네"] * 8)]
    bot = agent(tmp_path / "one", answers)
    own = bot.store.create_session("ko", 0.3).id
    done(say(bot, own, "3,500원씩 열두 번이면 얼마인가요?"))
    talk(bot, own, range(2, 5))
    bot.store.set_feedback(own, 1, "up", "정확함")
    bot.store.rename_session(own, "배송비\n계산")
    told = render_transcript(bot.store, own, "ko", UTC)
    assert told.startswith("# 배송비 계산\n\n")
    assert "4턴 · 요약 압축률 0.3" in told
    assert "**사용자**\n\n3,500원씩 열두 번이면 얼마인가요?\n\n> 🔧 도구" in told
    assert '> 🔧 도구 calculate(expression="3500*12")\n>\n> ' in told
    assert "**답변**\n\n42,000원입니다.\n\n> 👍 도움이 됨 · 정확함" in told
    assert told.index("## 4번째 턴") < told.index("## 부록: 요약") < told.index("### 1–3턴 · ")
    english = render_transcript(bot.store, own, "en", UTC)
    assert "## Turn 4 · 20" in english
    assert "## Appendix: summaries" in english
    bot.close()


def test_a_transcript_says_how_a_turn_ended_and_holds_no_odd_characters(store: Store) -> None:
    own = store.create_session("en", 0.3).id
    store.finish_turn(
        own, store.begin_turn(own, "a\x00b\ud800").number, Finished("failed", error={"message": "No\nway"})
    )
    store.finish_turn(own, store.begin_turn(own, "q").number, Finished("stopped", "```python\nx = 1"))
    store.begin_turn(own, "q")
    told = render_transcript(store, own, "en", UTC, lambda error: f"In words: {error['message']}")
    assert "No answer: In words: No way" in told
    told = render_transcript(store, own, "en", UTC)
    assert "ab\ufffd\n\n> No answer: No way" in told
    assert "```python\nx = 1\n```\n\n> Stopped here by the user." in told
    assert told.endswith("> Still answering, or cut off.\n")
    assert "Appendix" not in told
