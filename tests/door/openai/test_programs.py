"""SillyTavern and Open WebUI themselves, as processes, in front of the service: one chat of the program stays one
session, whatever its user does with it, and what the program asks for itself leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from store import Turn
from tests.door.openai.program import (
    OPEN_WEBUI,
    SILLYTAVERN,
    Chat,
    OpenWebUI,
    SillyTavern,
    open_webui,
    place,
    sillytavern,
    until,
)
from tests.door.openai.running import Running, question, running
from tests.door.openai.test_clients import recorded
from tests.stub.reply import said

LINES = ["내 이름은 민수고 부산에 살아.", "고양이 이름은 나비야.", "내가 어디에 산다고 했지?", "내 이름은?"]
END_OF_TASK = "</chat_history>"
"""The last line of what Open WebUI asks for itself."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("programs")) as opened:
        yield opened


def told(turns: list[Turn]) -> list[tuple[str, str | None]]:
    return [(turn.question, turn.answer) for turn in turns if not turn.given]


def versions(service: Running, session: str, number: int) -> int:
    """How many versions a turn has, over all branches."""
    with service.store() as store:
        found = store.tree.alternatives(session, [number])
    return len(found[number].branches) if number in found else 1


# --- SillyTavern --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tavern(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SillyTavern]:
    program = place(SILLYTAVERN, "node_modules/sillytavern")
    if program is None:
        pytest.skip(f"{SILLYTAVERN} names no folder with node_modules/sillytavern")
    with sillytavern(program, tmp_path_factory.mktemp("sillytavern"), service.url) as opened:
        yield opened


def test_sillytavern_finds_the_models(tavern: SillyTavern, service: Running) -> None:
    assert tavern.models() == [model.id for model in service.client().models.list().data]


def test_a_chat_in_sillytavern_is_one_session_with_its_branches(tavern: SillyTavern, service: Running) -> None:
    """Two turns, a swipe, an edit, a deletion, a branch, an answer carried on, a message written by the program, a chat
    that is gone back to, and a history whose beginning was cut."""
    before, model = set(service.sessions()), tavern.models()[0]
    for call in recorded("sillytavern"):
        kept = shown(service, before)
        service.next = said(call["answer"])
        assert tavern.generate({**call["body"], "model": model}) == call["answer"], call["what"]
        given = json.dumps(service.upstream.requests[-1].body["messages"], ensure_ascii=False)
        assert "a keeper of maps" in given, call["what"]
        if call.get("side"):
            assert shown(service, before) == kept, call["what"]
    [session] = set(service.sessions()) - before
    assert told(service.turns(session)) == [
        ("Hello, my name is Minsu.", "Haru nods, reply number 1."),
        ("I live in Daegu.", "Haru nods, reply number 5."),
        ("Which city do I live in?", "Haru nods, reply number 8."),
        ("And what was my name?", "Haru nods, reply number 11."),
        ("Draw me a map of the way down.", "Haru nods, reply number 12."),
    ]


def shown(service: Running, before: set[str]) -> list[list[tuple[str, str | None]]]:
    return [told(service.turns(session)) for session in service.sessions() if session not in before]


# --- Open WebUI ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def webui(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenWebUI]:
    program = place(OPEN_WEBUI, "bin/open-webui")
    if program is None:
        pytest.skip(f"{OPEN_WEBUI} names no virtual environment with bin/open-webui")
    with open_webui(program, tmp_path_factory.mktemp("open-webui"), service.url) as opened:
        yield opened


@pytest.fixture
def chat(webui: OpenWebUI) -> Chat:
    return Chat(webui, webui.models()[0])


def test_open_webui_finds_the_models(webui: OpenWebUI, service: Running) -> None:
    offered = [model.id for model in service.client().models.list().data]
    assert [model for model in webui.models() if model in offered] == offered


def tasks(service: Running) -> list[str]:
    """The last words of what Open WebUI has asked for itself, such as a title."""
    return [text for request in service.upstream.requests if (text := question(request.body)).startswith("### Task")]


def test_a_chat_in_open_webui_is_one_session_with_its_branches(chat: Chat, service: Running) -> None:
    """Two turns, another answer, another question, a turn after it, another first question; beside all of them the
    program asks for a title, for tags and for suggestions."""
    before, asked = set(service.sessions()), len(tasks(service))
    service.answers[END_OF_TASK] = said(
        json.dumps({"title": "민수와 부산", "tags": ["도시"], "follow_ups": ["부산 어디?"]})
    )
    service.answers |= {LINES[0]: said("반갑습니다."), LINES[1]: said("나비군요.")}
    assert chat.ask(LINES[0]) == "반갑습니다."
    [session] = set(service.sessions()) - before
    assert chat.ask(LINES[1]) == "나비군요."
    assert told(service.turns(session)) == [(LINES[0], "반갑습니다."), (LINES[1], "나비군요.")]
    service.answers[LINES[1]] = said("나비라니 예쁘네요.")
    assert chat.regenerate() == "나비라니 예쁘네요."
    assert told(service.turns(session))[1:] == [(LINES[1], "나비라니 예쁘네요.")]
    service.answers[LINES[2]] = said("부산이라고 하셨어요.")
    assert chat.edit(2, LINES[2]) == "부산이라고 하셨어요."
    service.answers[LINES[3]] = said("민수 님이지요.")
    assert chat.ask(LINES[3]) == "민수 님이지요."
    kept = [(LINES[0], "반갑습니다."), (LINES[2], "부산이라고 하셨어요."), (LINES[3], "민수 님이지요.")]
    assert told(service.turns(session)) == kept
    assert [versions(service, session, number) for number in (1, 2, 3)] == [1, 3, 1]
    until(lambda: len(tasks(service)) - asked >= 1 + 1 + 5)  # title, tags, suggestions after every answer
    assert until(lambda: chat.title() == "민수와 부산")
    assert set(service.sessions()) - before == {session}
    assert told(service.turns(session)) == kept


def test_two_chats_of_open_webui_stay_apart(webui: OpenWebUI, service: Running) -> None:
    before = set(service.sessions())
    pair = [Chat(webui, webui.models()[0]) for _ in range(2)]
    for turn in range(1, 4):
        for name, chat in zip(("Ann", "Bob"), pair, strict=True):
            assert chat.ask(f"{name} asks about part {turn}") == f"Answer to: {name} asks about part {turn}"
    opened = set(service.sessions()) - before
    asked = sorted([turn.question for turn in service.turns(session)] for session in opened)
    assert asked == [[f"{name} asks about part {turn}" for turn in range(1, 4)] for name in ("Ann", "Bob")]


def test_what_open_webui_deletes_stays_and_is_gone_back_to_by_nobody(webui: OpenWebUI, service: Running) -> None:
    """The program tells the endpoint nothing of a deletion: the session stays until its user deletes it in Gieok, and
    the next chat is a new session."""
    before = set(service.sessions())
    first = Chat(webui, webui.models()[0])
    first.ask("A chat that will be deleted")
    first.delete()
    Chat(webui, webui.models()[0]).ask("A chat that comes later")
    asked = [[turn.question for turn in service.turns(session)] for session in set(service.sessions()) - before]
    assert sorted(asked) == [["A chat that comes later"], ["A chat that will be deleted"]]
