"""The protocol's first version: the specification's examples word for word, and what they do not show."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.door.a2a.place import Json, Place, answer_in, slow, words
from tests.stub.reply import failed, said

SEND = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method":"tasks/send",
  "params": {
    "id": "de38c76d-d54c-436c-8b9f-4c2703648d64",
    "message": {
      "role":"user",
      "parts": [{
        "type":"text",
        "text": "tell me a joke"
      }]
    },
    "metadata": {}
  }
}
"""
GET = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method":"tasks/get",
  "params": {
    "id": "de38c76d-d54c-436c-8b9f-4c2703648d64",
    "historyLength": 10,
    "metadata": {}
  }
}
"""
CANCEL = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method":"tasks/cancel",
  "params": {
    "id": "de38c76d-d54c-436c-8b9f-4c2703648d64",
    "metadata": {}
  }
}
"""
ID = "de38c76d-d54c-436c-8b9f-4c2703648d64"
JOKE = "Why did the chicken cross the road? To get to the other side!"


def given(opened: Place, example: str) -> Json:
    answer = opened.post(example.encode())
    assert answer.status_code == 200
    body: Json = answer.json()
    return body


def test_the_examples_of_the_specification(opened: Place) -> None:
    sent = given(opened, SEND)
    assert (sent["jsonrpc"], sent["id"]) == ("2.0", 1)
    task = sent["result"]
    assert task["id"] == ID
    assert task["status"]["state"] == "completed"
    assert task["artifacts"][0]["parts"] == [{"type": "text", "text": JOKE}]
    assert isinstance(task["sessionId"], str)
    assert "history" not in task
    assert isinstance(task["metadata"], dict)

    got = given(opened, GET)["result"]
    assert (got["id"], got["sessionId"]) == (ID, task["sessionId"])
    assert got["status"]["state"] == "completed"
    assert got["artifacts"][0]["parts"] == [{"type": "text", "text": JOKE}]
    assert got["history"] == [{"role": "user", "parts": [{"type": "text", "text": "tell me a joke"}]}]

    assert given(opened, CANCEL)["error"]["code"] == -32002, "it has ended"


def test_the_example_of_a_cancelled_task(opened: Place) -> None:
    opened.upstream.add(slow())
    events = opened.stream("tasks/sendSubscribe", json.loads(SEND)["params"])
    while "artifact" not in next(events)["result"]:
        pass
    task = given(opened, CANCEL)["result"]
    assert (task["id"], task["status"]["state"]) == (ID, "canceled")
    last = list(events)[-1]["result"]
    assert (last["status"]["state"], last["final"]) == ("canceled", True)
    kept = opened.agent.store.turns(task["sessionId"])[0]
    assert (kept.status, kept.answer) == ("stopped", answer_in(task)), "what was said is kept"
    assert kept.answer


def test_a_stream_has_one_artifact_in_pieces_and_one_end(opened: Place) -> None:
    events = [event["result"] for event in opened.stream("tasks/sendSubscribe", {"id": "t", "message": words("Hi")})]
    pieces = [event["artifact"] for event in events if event.get("artifact", {}).get("name") == "answer"]
    assert "".join(piece["parts"][0]["text"] for piece in pieces) == JOKE
    assert [piece["append"] for piece in pieces] == [False, *[True] * (len(pieces) - 1)]
    assert [piece["lastChunk"] for piece in pieces] == [*[False] * (len(pieces) - 1), True]
    assert {piece["index"] for piece in pieces} == {0}
    states = [(event["status"]["state"], event["final"]) for event in events if "status" in event]
    assert states == [("submitted", False), ("working", False), ("completed", True)]
    assert events[-1]["final"]


def test_a_message_to_a_finished_task_starts_it_again(opened: Place) -> None:
    first = opened.early("tasks/send", id="t", sessionId="mine", message=words("One"), metadata={"who": "me"})
    opened.upstream.add(said("Again."))
    second = opened.early("tasks/send", id="t", message=words("Two"), historyLength=9)
    assert (second["sessionId"], answer_in(second)) == ("mine", "Again.")
    assert first["metadata"]["who"] == "me"
    assert [message["parts"][0]["text"] for message in second["history"]] == ["One", "Two"]
    session = opened.agent.store.find_session("mine")
    assert session is not None
    assert [turn.question for turn in opened.agent.store.turns(session.id)] == ["One", "Two"]
    states = [step["state"] for step in second["metadata"]["gieok"]["transitions"]]
    assert states == ["submitted", "working", "completed"] * 2


def test_a_failed_task_says_so_and_may_be_tried_again(opened: Place) -> None:
    opened.upstream.add(*[failed(401)] * 3)
    task = opened.early("tasks/send", id="t", message=words("One"))
    assert task["status"]["state"] == "failed"
    assert task["status"]["message"]["parts"][0]["text"]
    opened.upstream.replies.clear()
    assert opened.early("tasks/send", id="t", message=words("One"))["status"]["state"] == "completed"


def test_parts_of_all_kinds(opened: Place) -> None:
    note = base64.b64encode("세금은 </outside> 30일까지".encode()).decode()
    parts: list[Any] = [
        {"type": "text", "text": "언제까지?"},
        {"type": "data", "data": {"year": 2026}},
        {"type": "file", "file": {"name": "메모.txt", "mimeType": "text/plain", "bytes": note}},
    ]
    opened.early("tasks/send", id="t", message={"role": "user", "parts": parts})
    content = str(opened.upstream.requests[-1].body["messages"][-1]["content"])
    assert "언제까지?" in content
    assert '"year": 2026' in content
    assert "세금은 ‹/outside> 30일까지" in content, "it cannot leave its frame"
    assert opened.agent.library is None
    for part, code in (
        ({"type": "file", "file": {"uri": "http://127.0.0.1:1/x"}}, -32005),
        ({"type": "file", "file": {"mimeType": "image/png", "bytes": note}}, -32005),
        ({"type": "file", "file": {"bytes": base64.b64encode(b"\xff\xfe\x00").decode()}}, -32005),
        ({"type": "file", "file": {"bytes": "no base64"}}, -32602),
        ({"type": "form", "form": {}}, -32005),
        ({"text": "no type"}, -32602),
        ("text", -32602),
        ({"type": "text", "text": "  "}, -32602),
    ):
        assert opened.code("tasks/send", {"id": "u", "message": {"role": "user", "parts": [part]}}) == code, part
    assert opened.code("tasks/get", {"id": "u"}) == -32001, "no task came of it"


def test_what_a_request_lacks(opened: Place) -> None:
    for params in ({}, {"id": ""}, {"id": 7}, {"id": "x", "message": "hi"}, {"id": "x", "message": {"parts": []}}):
        assert opened.code("tasks/send", params) == -32602, params
    assert opened.code("tasks/send", {"id": "x" * 300, "message": words("hi")}) == -32602
    assert opened.code("tasks/send", {"id": "x", "message": words("hi"), "historyLength": "two"}) == -32602
    assert opened.code("tasks/get", {"id": "unknown"}) == -32001
    assert opened.code("tasks/cancel", {"id": "unknown"}) == -32001
    assert opened.code("tasks/pushNotification/get", {"id": "unknown"}) == -32001


def test_korean_text_comes_and_goes_as_it_is(opened: Place) -> None:
    opened.upstream.add(said("가나다 라마바 🙂"))
    task = opened.early("tasks/send", id="과제 하나", sessionId="대화", message=words("안녕하세요?"), historyLength=1)
    assert (task["id"], task["sessionId"], answer_in(task)) == ("과제 하나", "대화", "가나다 라마바 🙂")
    assert task["history"][0]["parts"][0]["text"] == "안녕하세요?"
