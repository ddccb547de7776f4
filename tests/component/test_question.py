"""What a waiting turn wants to know from its user, on the real page: choices, approvals, forms, a login."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from component.work.job import Jobs
from store import Finished, TurnRow
from store.turn.question import UserAnswer, UserQuestion
from tests.conftest import Serve
from tests.test_app import page, say, session_of, store, texts

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "persons": {"type": "integer", "title": "Persons", "minimum": 1, "maximum": 8},
        "seat": {"type": "string", "enum": ["w", "i"], "enumNames": ["Window", "Inside"]},
        "quiet": {"type": "boolean", "default": True},
        "mail": {"type": "string", "format": "email"},
    },
    "required": ["persons", "seat"],
}
DELETE = UserQuestion("1.a", "approve", "a", "files__delete", server="files", arguments={"path": "/tmp/*b*"})
FORM = UserQuestion("1.b/1", "form", "b", "table__book", "How many?", server="table", schema=SCHEMA)
LOGIN = UserQuestion(
    "1.c/1", "login", "c", "mail__send", "Sign in first.", server="mail", url="https://mail.example/go"
)


@pytest.fixture(autouse=True)
def untitled(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No side work takes an answer out of the script."""
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, UserAnswer]]:
    """What the page answers, instead of going on."""
    given: list[dict[str, UserAnswer]] = []

    def take(self: Jobs, turn: TurnRow, answers: Any, means: Any = None) -> None:
        given.append(dict(answers))

    monkeypatch.setattr(Jobs, "answer", take)
    return given


def waiting(*questions: UserQuestion) -> str:
    """A session whose turn waits for these answers."""
    own = resource.find_user_agent().store.create_session("en", 0.3).id
    number = store().begin_turn(own, "Do it").number
    store().finish_turn(own, number, Finished("waiting", questions=[question.plain() for question in questions]))
    return own


def asking(**arguments: Any) -> AIMessage:
    call = {"name": "ask_user", "args": arguments, "id": "c1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def click(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def keys(at: AppTest) -> list[str]:
    return [str(button.key) for button in at.button if str(button.key).startswith("question-")]


def test_the_model_asks_and_a_choice_goes_on(serve: Serve) -> None:
    serve([asking(question="어느 요일?", choices=["월요일", "화요일"]), "화요일로 하겠습니다."])
    at = say(page(), "식당 예약해 줘")
    assert "어느 요일?" in texts(at)
    assert at.button(key="question-go-1").disabled
    at.radio(key=f"question-one-{session_of(at)}-0-1-0").set_value("화요일").run()
    at = click(at, "question-go-1")
    assert "화요일로 하겠습니다." in texts(at)
    assert keys(at) == []


def test_a_typed_message_answers_the_models_question(serve: Serve) -> None:
    serve([asking(question="Which day?"), "Friday it is."])
    at = say(page("en-US"), "Book a table")
    at = say(at, "Friday")
    assert "Friday it is." in texts(at)
    assert [turn.question for turn in store().turns(session_of(at))] == ["Book a table"]
    steps = store().turns(session_of(at))[0].steps
    assert steps[0]["result"] == "Friday"


def test_a_refusal_goes_on_without(serve: Serve) -> None:
    serve([asking(question="Which day?"), "Some day, then."])
    at = say(page("en-US"), "Book a table")
    at = click(at, "question-refuse-1")
    assert "Some day, then." in texts(at)


@pytest.mark.parametrize("action", ["once", "always", "no"])
def test_a_tool_is_approved_with_its_arguments_in_sight(
    serve: Serve, answered: list[dict[str, UserAnswer]], action: Any
) -> None:
    serve()
    page()
    at = page("en-US", s=waiting(DELETE))
    assert "May the server «files» run «delete»?" in texts(at).replace("\\", "")
    assert '"path": "/tmp/*b*"' in texts(at)
    click(at, f"question-{action}-1")
    assert answered == [{"1.a": UserAnswer(action)}]


def test_two_questions_are_answered_together(serve: Serve, answered: list[dict[str, UserAnswer]]) -> None:
    serve()
    page()
    other = UserQuestion("1.d", "approve", "d", "files__read", server="files")
    session = waiting(DELETE, other)
    at = page("en-US", s=session)
    at.segmented_control(key=f"question-act-{session}-0-1-0").set_value("no").run()
    assert at.button(key="question-go-1").disabled
    at.segmented_control(key=f"question-act-{session}-0-1-1").set_value("always").run()
    click(at, "question-go-1")
    assert answered == [{"1.a": UserAnswer("no"), "1.d": UserAnswer("always")}]


def test_a_form_is_filled_in_and_checked(serve: Serve, answered: list[dict[str, UserAnswer]]) -> None:
    serve()
    page()
    session = waiting(FORM)
    at, key = page("en-US", s=session), f"question-field-{session}-0-1-0"
    assert "table asks for some values" in texts(at)
    at.number_input(key=f"{key}-persons").set_value(9).run()
    assert "9 is greater than the maximum of 8" in texts(at).replace("\\", "")
    at.number_input(key=f"{key}-persons").set_value(4).run()
    assert at.button(key="question-go-1").disabled
    at.selectbox(key=f"{key}-seat").set_value("w").run()
    click(at, "question-go-1")
    assert answered == [{"1.b/1": UserAnswer("answer", {"persons": 4, "seat": "w", "quiet": True})}]


def test_a_value_that_comes_with_the_press_is_the_one_that_is_sent(
    serve: Serve, answered: list[dict[str, UserAnswer]]
) -> None:
    serve()
    page()
    session = waiting(FORM)
    at, key = page("en-US", s=session), f"question-field-{session}-0-1-0"
    at.number_input(key=f"{key}-persons").set_value(4)
    at.selectbox(key=f"{key}-seat").set_value("w").run()
    at.text_input(key=f"{key}-mail").set_value("b@x.example")
    click(at, "question-go-1")
    assert answered == [
        {"1.b/1": UserAnswer("answer", {"persons": 4, "seat": "w", "quiet": True, "mail": "b@x.example"})}
    ]


HOSTILE: dict[str, Any] = {
    "types": {"type": ["string", "null"]},
    "far": {"type": "string", "$ref": "http://127.0.0.1:9/schema"},
    "again": {"$ref": "#"},
    "slow": {"type": "string", "pattern": "^(a+)+$", "default": "a" * 60 + "!"},
    "huge": {"type": "integer", "default": 10**30},
    "none": {"type": "number", "default": float("inf")},
    "long": {"type": "string", "default": "x" * 5_000},
    "odd": {"type": "string", "title": {"a": 1}, "description": ["b"], "enum": [1, None, {}], "default": {}},
    "many": {"type": "array", "items": {"anyOf": [{"const": "p"}, {"const": "q"}]}, "default": [[], "p"]},
    "empty": {"type": "array", "items": {"oneOf": []}, "default": 3},
    "flag": {"type": "boolean", "default": "yes", "enum": [True]},
    "numbers": {"type": "integer", "enum": [1, 2]},
    "no form": 7,
}


def test_a_hostile_form_is_drawn_and_can_be_answered(serve: Serve, answered: list[dict[str, UserAnswer]]) -> None:
    """No pattern is tried, no reference followed, no odd value breaks the page."""
    serve()
    page()
    form = {"type": "object", "properties": HOSTILE, "required": ["numbers", 5], "$ref": "http://127.0.0.1:9/all"}
    session = waiting(replace(FORM, schema=form))
    at, key = page("en-US", s=session), f"question-field-{session}-0-1-0"
    assert not at.exception
    assert at.button(key="question-go-1").disabled
    at.number_input(key=f"{key}-numbers").set_value(2).run()
    click(at, "question-go-1")
    given = answered[0]["1.b/1"].value
    assert (given["numbers"], given["many"], given["slow"]) == (2, ["p"], "a" * 60 + "!")


def test_a_login_shows_its_host_and_only_https(serve: Serve, answered: list[dict[str, UserAnswer]]) -> None:
    serve()
    page()
    at = page("en-US", s=waiting(LOGIN))
    assert not at.button(key="question-go-1").disabled
    click(at, "question-go-1")
    assert answered == [{"1.c/1": UserAnswer("answer")}]
    for url in ("javascript:alert(1)", "https://[broken", "https:///path", "http://mail.example"):
        unsafe = UserQuestion("1.e/1", "login", "e", "mail__send", server="mail", url=url)
        at = page("en-US", s=waiting(unsafe))
        assert at.button(key="question-go-1").disabled
        assert "no safe address" in texts(at)


def test_a_call_of_a_clients_tool_can_only_be_refused_here(serve: Serve, answered: list[dict[str, UserAnswer]]) -> None:
    serve()
    page()
    call = UserQuestion("1.f", "client", "1.f", "weather", arguments={"city": "Busan"})
    at = page("en-US", s=waiting(call))
    assert "Waits for «weather»" in texts(at)
    assert '"Busan"' in "".join(code.value for code in at.code)
    assert at.button(key="question-go-1").disabled
    click(at, "question-refuse-1")
    assert answered == [{"1.f": UserAnswer("no")}]


def test_what_a_server_asked_our_model_is_shown(serve: Serve) -> None:
    serve()
    page()
    own = store().create_session("en", 0.3).id
    number = store().begin_turn(own, "Do it").number
    step = {"call": "a", "name": "t__think", "arguments": {}, "result": "a duck", "ok": True, "seconds": 0.1}
    artifact = {"server": "t", "sampled": [{"asked": "What is it?", "answered": "It quacks."}, 7]}
    store().finish_turn(own, number, Finished("done", "A duck.", steps=[{**step, "artifact": artifact}]))
    shown = texts(page("en-US", s=own))
    assert "What is it?" in shown
    assert "It quacks." in shown
