"""A turn that asks: the task waits for the other agent's answer, through a restart, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from door.a2a.task.question import choose_question_state, read_task_answers
from graph.tool.question.asking import read_config_answers, read_config_call
from graph.turn.event import Done
from store.turn.question import OpenUserQuestions, UserAnswer, UserQuestion
from tests.door.a2a.place import Door, Json, Place, answer_in, message03, place, request, words
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream

V1 = {"a2a-version": "1.0"}


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def housed(tmp_path: Path, upstream: Upstream, door: Door) -> Iterator[Place]:
    with place(tmp_path, upstream, door) as service:
        yield service


def data(answer: Json) -> Json:
    return {"role": "user", "parts": [{"type": "data", "data": answer}]}


def asked(task: Json) -> Json:
    """The first question of a task that waits."""
    assert task["status"]["state"] == "input-required", task
    (part,) = [one for one in task["status"]["message"]["parts"] if one["type"] == "data"]
    question: Json = part["data"]["questions"][0]
    return question


def test_a_tool_runs_after_a_yes(housed: Place, door: Door) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}), said("It is open."))
    task = housed.early("tasks/send", id="t", message=words("Open the front door."))
    question = asked(task)
    assert (question["kind"], question["tool"], question["arguments"]) == ("approve", "open_door", {"which": "front"})
    assert question["actions"] == ["once", "always", "no"]
    assert "state" not in question
    assert door.opened == []
    done = housed.early("tasks/send", id="t", message=data({question["id"]: {"action": "once"}}))
    assert (done["status"]["state"], answer_in(done)) == ("completed", "It is open.")
    assert door.opened == ["front"]


@pytest.mark.parametrize("text", ["네, 열어 주세요", "yes, but not the back door", "if you must", "nothing", "1"])
def test_a_text_that_says_more_than_yes_or_no_is_no_answer_to_an_approval(housed: Place, door: Door, text: str) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}), said("It stays shut."))
    question = asked(housed.early("tasks/send", id="t", message=words("Open it.")))
    again = housed.early("tasks/send", id="t", message=words(text))
    assert asked(again)["id"] == question["id"]
    assert question["id"] in again["status"]["message"]["parts"][0]["text"], "the shape of an answer is explained"
    for wrong in ({"other": {"action": "once"}}, {question["id"]: {"action": "answer"}}, {question["id"]: "once"}):
        assert asked(housed.early("tasks/send", id="t", message=data(wrong)))["id"] == question["id"]
    assert door.opened == []
    done = housed.early("tasks/send", id="t", message=data({question["id"]: {"action": "no"}}))
    assert (done["status"]["state"], door.opened) == ("completed", [])


@pytest.mark.parametrize("text", ["yes", " Yes. ", "네", "예!", "y", "once", "always"])
def test_a_plain_yes_answers_an_approval(housed: Place, door: Door, text: str) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}), said("It is open."))
    task = housed.early("tasks/send", id="t", message=words("Open it."))
    asked(task)
    assert any(word in task["status"]["message"]["parts"][0]["text"] for word in ("«yes»", "«네»"))
    done = housed.early("tasks/send", id="t", message=words(text))
    assert (done["status"]["state"], door.opened) == ("completed", ["front"])


@pytest.mark.parametrize("text", ["no", "No.", "아니요", "아니오", "n"])
def test_a_plain_no_answers_one_too(housed: Place, door: Door, text: str) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}), said("It stays shut."))
    asked(housed.early("tasks/send", id="t", message=words("Open it.")))
    done = housed.early("tasks/send", id="t", message=words(text))
    assert (done["status"]["state"], answer_in(done), door.opened) == ("completed", "It stays shut.", [])


def test_a_plain_yes_answers_none_of_two_questions() -> None:
    both = [UserQuestion(name, "approve", name, "open_door", server="house") for name in ("front", "back")]
    assert read_task_answers(request("yes").message, both) is None
    assert read_task_answers(request("yes").message, both[:1]) == {"front": UserAnswer("once")}


def test_a_choice_is_answered_by_text(housed: Place) -> None:
    housed.upstream.add(called("ask_user", {"question": "Which one?", "choices": ["red", "blue"]}), said("Blue it is."))
    task = housed.rpc(
        "SendMessage", {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Paint."}]}}, **V1
    )
    task = task["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    answer = {"messageId": "2", "role": "ROLE_USER", "taskId": task["id"], "parts": [{"text": "blue"}]}
    done = housed.rpc("SendMessage", {"message": answer}, **V1)["result"]["task"]
    assert (done["status"]["state"], answer_in(done)) == ("TASK_STATE_COMPLETED", "Blue it is.")
    results = [one for one in housed.upstream.requests[-1].body["messages"] if one["role"] == "tool"]
    assert [one["content"] for one in results] == ["blue"]


def test_version_0_3_answers_too(housed: Place, door: Door) -> None:
    housed.upstream.add(called("open_door", {"which": "back"}), said("It is open."))
    task = housed.rpc("message/send", {"message": message03("Open it.")})["result"]
    assert task["status"]["state"] == "input-required"
    question = task["status"]["message"]["parts"][1]["data"]["questions"][0]
    parts = [{"kind": "data", "data": {question["id"]: {"action": "once"}}}]
    done = housed.rpc("message/send", {"message": message03("", taskId=task["id"]) | {"parts": parts}})["result"]
    assert (done["status"]["state"], door.opened) == ("completed", ["back"])


def test_it_waits_through_a_restart(tmp_path: Path, upstream: Upstream, door: Door) -> None:
    upstream.add(called("open_door", {"which": "front"}), said("It is open."))
    with place(tmp_path, upstream, door) as service:
        question = asked(service.early("tasks/send", id="t", message=words("Open it.")))
    with place(tmp_path, upstream, door) as service:
        assert asked(service.early("tasks/get", id="t"))["id"] == question["id"]
        done = service.early("tasks/send", id="t", message=data({question["id"]: {"action": "always"}}))
        assert done["status"]["state"] == "completed"
    assert door.opened == ["front"]


def test_a_waiting_task_is_cancelled(housed: Place, door: Door) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}))
    task = housed.early("tasks/send", id="t", message=words("Open it."))
    assert housed.early("tasks/cancel", id="t")["status"]["state"] == "canceled"
    assert housed.agent.store.turns(task["sessionId"])[0].status == "stopped"
    assert housed.early("tasks/get", id="t")["status"]["state"] == "canceled"
    assert door.opened == []


def test_what_was_answered_through_another_door_ends_the_task(housed: Place, door: Door) -> None:
    housed.upstream.add(called("open_door", {"which": "front"}), said("It is open."))
    task = housed.early("tasks/send", id="t", message=words("Open it."))
    question = asked(task)
    (*_, end) = housed.agent.resume(task["sessionId"], {question["id"]: UserAnswer("once")})
    assert isinstance(end, Done)
    done = housed.early("tasks/send", id="t", message=data({question["id"]: {"action": "once"}}))
    assert (done["status"]["state"], answer_in(done), door.opened) == ("completed", "It is open.", ["front"])


class Mail(BaseTool):
    """Wants its user to log in before it reads."""

    name: str = "read_mail"
    description: str = "Reads the mail."

    def _run(self, config: RunnableConfig, which: str) -> str:
        own = f"{read_config_call(config)}/login"
        answer = read_config_answers(config).get(own)
        if answer is None:
            url = "https://mail.example/login"
            raise OpenUserQuestions(
                [UserQuestion(own, "login", read_config_call(config), self.name, "Log in, please.", "mail", url=url)]
            )
        return f"{which}: nothing new" if answer.action == "answer" else "not logged in"


def test_a_login_of_a_server_behind_us_is_required_of_the_other_agent(tmp_path: Path, upstream: Upstream) -> None:
    with place(tmp_path, upstream, Mail()) as service:
        service.upstream.add(called("read_mail", {"which": "inbox"}), said("Nothing new."))
        message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Any mail?"}]}
        task = service.rpc("SendMessage", {"message": message}, **V1)["result"]["task"]
        assert task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
        question = task["status"]["message"]["parts"][1]["data"]["questions"][0]
        assert (question["kind"], question["url"]) == ("login", "https://mail.example/login")
        parts = [{"data": {question["id"]: {"action": "answer"}}}]
        answer = {"messageId": "2", "role": "ROLE_USER", "taskId": task["id"], "parts": parts}
        done = service.rpc("SendMessage", {"message": answer}, **V1)["result"]["task"]
        assert (done["status"]["state"], answer_in(done)) == ("TASK_STATE_COMPLETED", "Nothing new.")
        service.upstream.add(called("read_mail", {"which": "inbox"}))
        early = service.early("tasks/send", id="t", message=words("Any mail?"))
        assert early["status"]["state"] == "input-required", "the first version knows no other"


def test_a_login_is_told_apart() -> None:
    login = UserQuestion("l", "login", "c", "mail__read", server="mail", url="https://example.com/login")
    choice = UserQuestion("c", "choose", "c", "ask_user", "Which?", choices=("a", "b"))
    assert choose_question_state([login]) != choose_question_state([login, choice]) == choose_question_state([choice])


def test_a_form_is_checked_and_numbers_stay_whole() -> None:
    from a2a.types import Message

    from door.a2a.message.form import data_part, text_part

    schema = {"type": "object", "properties": {"persons": {"type": "integer"}}, "required": ["persons"]}
    form = UserQuestion("f", "form", "c", "book", "How many?", schema=schema)

    def read(value: Json) -> dict[str, UserAnswer] | None:
        return read_task_answers(Message(parts=[data_part({"f": {"action": "answer", "value": value}})]), [form])

    assert read({"persons": 3}) == {"f": UserAnswer("answer", {"persons": 3})}
    assert read({"persons": "three"}) is None
    assert read({}) is None
    assert read_task_answers(Message(parts=[text_part("three")]), [form]) is None
