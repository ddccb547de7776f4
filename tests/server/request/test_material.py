"""Whose words are in a message: what clients add around the user's question, and what becomes of both."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from door.openai.body import chat_body
from door.openai.side_call import is_side_call
from server.request.material import Template, load_templates, take_apart
from server.request.message import ClientMessage
from server.request.told_request import read_told_request
from tests.door.openai.inside import Inside, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from text.fence import remove_frames

CALLS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded" / "material.json").read_text("utf-8"))[
    "calls"
]
ROOT = Path(__file__).parents[3]
table = pytest.mark.parametrize("call", CALLS, ids=[f"{call['client']}: {call['what']}" for call in CALLS])

OWN = [
    "What does «Respond to the user query using the provided context» mean in ### Task:?",
    "### Task:\nRespond to the user query in Korean.\n<context>\nA letter\n</context>\nWhat now?",
    "<attached_files> is a tag of Open WebUI, isn't it?",
    "I have *added these files to the chat* so you can look.",
    "Attached document(s): none. What shall I do?",
    "The output of the Tool `ls` was empty.\nWhy?",
    "이 템플릿은 뭐야? <context>…</context> 안에 자료가 있어.",
]
"""What users write themselves."""


def read_messages(call: dict[str, Any]) -> list[ClientMessage]:
    return chat_body({"messages": call["messages"]}).messages


@table
def test_a_request_is_taken_apart(call: dict[str, Any]) -> None:
    request = read_told_request(read_messages(call), "en")
    assert remove_frames(request.text) == call["words"]
    everything = "\n".join([*(turn.question for turn in request.turns), request.text])
    assert [piece for piece in call["material"] if piece not in everything] == []
    assert [remove_frames(turn.question) for turn in request.turns] == ([call["earlier"]] if "earlier" in call else [])
    assert not is_side_call(read_messages(call))


@pytest.mark.parametrize("text", OWN)
def test_what_users_write_stays_whole(text: str) -> None:
    [message] = take_apart([ClientMessage("user", text)])
    assert (message.text, message.material) == (text, ())
    assert (
        read_told_request(
            [ClientMessage("user", text), ClientMessage("assistant", "Ok."), ClientMessage("user", text)], "en"
        ).text
        == text
    )


def test_words_of_a_program_in_another_role_are_left() -> None:
    wrapped = CALLS[0]["messages"][0]["content"]
    sent = [
        ClientMessage("system", wrapped),
        ClientMessage("user", "Hello"),
        ClientMessage("assistant", wrapped),
        ClientMessage("tool", wrapped),
    ]
    assert take_apart(sent) == sent


def test_every_template_is_met_by_a_request_and_says_where_it_was_read() -> None:
    texts = [message.text.strip() for call in CALLS for message in read_messages(call) if message.role == "user"]
    for each in CALLS:  # templates that stand within another one
        texts += [added.text for message in take_apart(read_messages(each)) for added in message.material]
        texts += [
            f"{added.text}\n{message.text}" for message in take_apart(read_messages(each)) for added in message.material
        ]
    assert [one.source for one in load_templates() if not any(map(one.match, texts))] == []
    assert all(one.client and one.source and len(one.holds) >= 6 for one in load_templates())


def test_a_template_without_words_needs_the_programs_reply() -> None:
    fields = {"client": "x", "source": "y", "holds": "z"}
    with pytest.raises(ValidationError, match="reply"):
        Template.model_validate({**fields, "pattern": "z.*"})
    with pytest.raises(ValidationError, match="pattern"):
        Template.model_validate({**fields, "pattern": "z(?P<words>.*)(?P=words)"})
    with pytest.raises(ValidationError, match="reply"):
        Template.model_validate({**fields, "pattern": "z(?P<words>.*)", "reply": "Ok."})


HARD = """
from server.request.material import load_templates, take_apart
from server.request.message import ClientMessage
for template in load_templates():
    for between in ("\\n", " ", "x\\n### Task: Respond to the user query using the provided context<user_query>\\n"):
        for before, after in (("", "x" + between * 100_000), ("x" + between * 100_000, "x")):
            take_apart([ClientMessage("user", f"{before}\\n{template.holds}\\n{after}")])
"""


def test_a_message_that_is_nearly_a_template_takes_no_square_of_its_length() -> None:
    """The system ends a process that computes for longer: it would take hours, and takes seconds."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    done = subprocess.run(
        [sys.executable, "-c", HARD], preexec_fn=limit, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- in the service -----------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream) as opened:
        yield opened


def prompt(service: Inside) -> str:
    return json.dumps(service.upstream.requests[-1].body["messages"], ensure_ascii=False)


def ask(service: Inside, messages: list[Any]) -> tuple[str, str]:
    """Sends the messages; returns the session and the fit."""
    answer = service.post("/v1/chat/completions", {"messages": messages})
    assert answer.status_code == 200, answer.text
    return answer.headers["x-gieok-session"], answer.headers["x-gieok-fit"]


def test_a_later_history_with_the_bare_words_is_the_same_conversation(service: Inside) -> None:
    wrapped = CALLS[0]
    session, _ = ask(service, wrapped["messages"])
    assert "I am Otto Brandt" in prompt(service)
    assert "[id]" in prompt(service)
    bare = [{"role": "user", "content": wrapped["words"]}, {"role": "assistant", "content": "Fine."}]
    assert ask(service, [*bare, {"role": "user", "content": "And when?"}]) == (session, "goes_on")
    first = service.agent.store.turn(session, 1)
    assert first is not None
    assert remove_frames(first.question) == wrapped["words"]
    assert first.has_foreign
    assert service.agent.store.session(session).title == wrapped["words"]
    assert len(service.agent.store.sessions(limit=10)) == 1


def test_another_answer_with_the_same_material_is_another_version_and_new_material_is_given(service: Inside) -> None:
    session, _ = ask(service, CALLS[0]["messages"])
    assert ask(service, CALLS[0]["messages"])[1] == "new"  # without a history it is a new conversation
    bare = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Fine."}]
    began, _ = ask(service, bare[:1])
    ask(service, [*bare, *CALLS[0]["messages"]])
    assert ask(service, [*bare, *CALLS[0]["messages"]]) == (began, "again")
    other = json.loads(json.dumps(CALLS[0]["messages"]).replace("Otto Brandt", "Anna Kahn"))
    assert ask(service, [*bare, *other]) == (began, "again")
    assert "Anna Kahn" in prompt(service)
    assert "Otto Brandt" not in prompt(service)
    assert session != began


def test_files_of_aider_change_and_its_conversation_stays_one(service: Inside) -> None:
    call = next(call for call in CALLS if call["client"] == "aider" and "earlier" in call)
    system, *rest = call["messages"]
    before = [system, *rest[:4], {"role": "user", "content": call["earlier"]}]
    session, _ = ask(service, before)
    changed = json.loads(json.dumps(rest).replace("notes.py and later.py.", "Fine.").replace("def later", "def sooner"))
    assert ask(service, [system, *changed]) == (session, "goes_on")
    assert "def sooner" in prompt(service)
    assert [remove_frames(turn.question) for turn in service.agent.store.turns(session, limit=10)] == [
        call["earlier"],
        call["words"],
    ]


def test_the_language_of_a_conversation_is_that_of_the_users_words(service: Inside) -> None:
    session, _ = ask(service, CALLS[1]["messages"])
    assert service.agent.store.session(session).language == "ko"


def test_images_of_earlier_messages_come_along_as_long_as_the_client_sends_them(service: Inside) -> None:
    pixel = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, pixel]}
    more = {"role": "assistant", "content": "Fine."}
    session, _ = ask(service, [shown])
    history = [shown, more]
    for text in ("And what colour?", "How large?", "Whose?", "Since when?"):
        asked = {"role": "user", "content": text}
        assert ask(service, [*history, asked]) == (session, "goes_on")
        last = service.upstream.requests[-1].body["messages"][-1]["content"]
        assert [part["type"] for part in last] == ["image_url", "text"], text
        history += [asked, more]
    bare = [{"role": "user", "content": "What is this?"}, *history[1:]]
    assert ask(service, [*bare, {"role": "user", "content": "Thanks, and why?"}]) == (session, "goes_on")
    assert isinstance(service.upstream.requests[-1].body["messages"][-1]["content"], str)
