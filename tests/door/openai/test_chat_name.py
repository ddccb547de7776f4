"""Chats of Open WebUI that send their id: it names the conversation, and a temporary chat leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.door.openai.inside import Inside, content, history, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream

CHAT = "5d2f7a0e-1c39-4e58-9d0b-3f8f0c0f6a11"
SENT = {
    "X-OpenWebUI-User-Name": "Ann",
    "X-OpenWebUI-User-Id": "0f6a115d-2f7a-40e1-8c39-4e589d0b3f8f",
    "X-OpenWebUI-User-Email": "ann@example.com",
    "X-OpenWebUI-User-Role": "user",
    "X-OpenWebUI-Message-Id": "77b0f9e2-8f0c-4f6a-915d-2f7a0e1c394e",
}
"""What it sends beside the id where its operator has ENABLE_FORWARD_USER_INFO_HEADERS."""
TEMPORARY = ["temporary:Xw3kq9ZPAAAB", "local:Xw3kq9ZPAAAB"]
SECRET = "My pin is 9182 and my sister is called Ilse."


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream, memory=True, titles=True) as opened:
        yield opened


def send(service: Inside, chat: str, *texts: str, path: str = "/v1/chat/completions", **fields: Any) -> httpx2.Response:
    body = {"input": history(*texts)["messages"]} if path.endswith("responses") else history(*texts)
    answer = service.post(path, {**body, **fields}, **SENT, **{"X-OpenWebUI-Chat-Id": chat})
    assert answer.status_code == 200, answer.text
    return answer


def prompt(service: Inside) -> str:
    return json.dumps(service.upstream.requests[-1].body["messages"])


def test_the_id_of_a_chat_names_its_conversation(service: Inside) -> None:
    first = send(service, CHAT, "Hello")
    again = send(service, CHAT, "Hello")  # without the id, a history of nothing would begin another conversation
    edited = send(service, CHAT, "Good morning")
    after = send(service, CHAT, "Good morning", "Fine.", "And now?")
    other = send(service, "another-chat", "Hello")
    sessions = [answer.headers["x-gieok-session"] for answer in (first, again, edited, after, other)]
    assert len(set(sessions[:4])) == 1
    assert sessions[4] != sessions[0]
    fits = [answer.headers["x-gieok-fit"] for answer in (first, again, edited, after, other)]
    assert fits == ["new", "again", "edited", "goes_on", "new"]
    assert [turn.question for turn in service.agent.store.turns(sessions[0], limit=9)] == ["Good morning", "And now?"]
    named = service.agent.store.find_session(CHAT)
    assert named is not None
    assert named.id == sessions[0]


def test_our_own_name_wins(service: Inside) -> None:
    send(service, CHAT, "Hello", metadata={"gieok_session": "mine"})
    assert service.agent.store.find_session(CHAT) is None
    assert service.agent.store.find_session("mine") is not None


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("chat", TEMPORARY)
def test_a_temporary_chat_leaves_no_trace(service: Inside, tmp_path: Path, chat: str, path: str) -> None:
    send(service, chat, SECRET, path=path)
    send(service, chat, SECRET, "Fine.", "And hers is 5512?", path=path, metadata={"gieok_session": "mine"})
    assert SECRET in prompt(service)
    assert service.agent.store.sessions(limit=10) == []
    assert service.agent.store.find_session("mine") is None
    assert service.agent.background.idle(30)
    stored = [file for file in tmp_path.rglob("*") if file.is_file() and b"9182" in file.read_bytes()]
    assert stored == []
    send(service, CHAT, "What is my pin?")
    assert "9182" not in prompt(service)


def test_nothing_of_the_users_memory_comes_into_a_temporary_chat(service: Inside) -> None:
    send(service, CHAT, SECRET)
    send(service, TEMPORARY[0], "What is my pin and what is my sister called?")
    assert "9182" not in prompt(service)


def test_a_temporary_chat_streams(service: Inside) -> None:
    assert content(send(service, TEMPORARY[0], "Hello", stream=True).text) == "Fine."


def test_a_temporary_chat_whose_answer_fails_leaves_no_trace_either(service: Inside, tmp_path: Path) -> None:
    service.upstream.always = lambda body: said("").but(chunks=[], end="close")
    sent = {"X-OpenWebUI-Chat-Id": TEMPORARY[0]}
    assert service.post("/v1/chat/completions", history(SECRET), **sent).status_code >= 400
    assert service.agent.store.sessions(limit=10) == []
    assert [file for file in tmp_path.rglob("*") if file.is_file() and b"9182" in file.read_bytes()] == []
