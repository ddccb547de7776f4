"""One session goes on from one door to the next, and each of them sees what the others said."""

from __future__ import annotations

from itertools import count

from graph.turn.event import Done
from tests.door.a2a.place import Json, Place, answer_in, message03, slow, words
from tests.stub.reply import Reply, said


def last_prompt(opened: Place) -> str:
    return str(opened.upstream.requests[-1].body["messages"])


def test_a_session_goes_from_door_to_door(opened: Place) -> None:
    numbers = count(1)

    def answer_to(body: Json) -> Reply:
        if "<dialogue>" in str(body["messages"][-1]):
            return said("They spoke of one, two and three.")
        return said(f"Answer {next(numbers)}.")

    opened.upstream.always = answer_to
    opened.early("tasks/send", id="t", sessionId="shared", message=words("one by the first version"))
    body: Json = {"messages": [{"role": "user", "content": "two by the endpoint"}]}
    answer = opened.post(body, "/v1/chat/completions", **{"x-gieok-session": "shared"})
    session = answer.headers["x-gieok-session"]
    assert "one by the first version" in last_prompt(opened)
    (*_, end) = opened.agent.run(session, "three by the page")
    assert isinstance(end, Done)
    opened.rpc("message/send", {"message": message03("four by version 0.3", contextId="shared")})
    task = opened.early("tasks/send", id="u", sessionId=session, message=words("five by the session's own id"))
    assert answer_in(task) == "Answer 5."
    assert all(text in last_prompt(opened) for text in ("of one, two and three", "four by", "Answer 4."))
    turns = opened.agent.store.turns(session)
    assert [turn.question.split()[0] for turn in turns] == ["one", "two", "three", "four", "five"]
    assert [turn.answer for turn in turns] == [f"Answer {number}." for number in range(1, 6)]


def test_a_task_waits_while_another_door_has_the_session(opened: Place) -> None:
    opened.early("tasks/send", id="t", sessionId="shared", message=words("one"))
    session = opened.agent.store.find_session("shared")
    assert session is not None
    opened.upstream.add(slow(400), said("At last."))
    running = opened.agent.run(session.id, "slowly")
    next(event for event in running)
    events = opened.stream("tasks/sendSubscribe", {"id": "u", "sessionId": "shared", "message": words("two")})
    assert next(events)["result"]["status"]["state"] == "submitted"
    assert opened.early("tasks/get", id="u")["status"]["state"] == "submitted"
    opened.upstream.hurry()
    assert isinstance(list(running)[-1], Done)
    assert list(events)[-1]["result"]["status"]["state"] == "completed"
    assert [turn.question for turn in opened.agent.store.turns(session.id)] == ["one", "slowly", "two"]
