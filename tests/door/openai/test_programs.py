"""SillyTavern and Open WebUI themselves, as processes, in front of the service: one chat of the program stays one
session, whatever its user does with it, and what the program asks for itself leaves no trace."""

from __future__ import annotations

import json

import pytest

from tests.door.openai.program import Chat, OpenWebUI, SillyTavern, told, versions
from tests.door.openai.running import Running, question
from tests.door.openai.test_clients import recorded
from tests.stub.reply import said
from tests.wait import until

LINES = ["내 이름은 민수고 부산에 살아.", "고양이 이름은 나비야.", "내가 어디에 산다고 했지?", "내 이름은?"]
STORY = ["Which city do I live in?", "And what was my name?", "Draw me a map of the way down."]
END_OF_TASK = "</chat_history>"
"""The last line of what Open WebUI asks for itself."""


# --- SillyTavern --------------------------------------------------------------------------------


def test_sillytavern_finds_the_models(tavern: SillyTavern, served: Running) -> None:
    assert tavern.models() == [model.id for model in served.client().models.list().data]


def test_a_chat_in_sillytavern_is_one_session_with_its_branches(tavern: SillyTavern, served: Running) -> None:
    """Two turns, a swipe, an edit, a deletion, a branch, an answer carried on, a message written by the program, a chat
    that is gone back to, and a history whose beginning was cut."""
    before, model = set(served.sessions()), tavern.models()[0]
    for call in recorded("sillytavern"):
        kept = shown(served, before)
        served.next = said(call["answer"])
        assert tavern.generate({**call["body"], "model": model}) == call["answer"], call["what"]
        given = json.dumps(served.upstream.requests[-1].body["messages"], ensure_ascii=False)
        assert "a keeper of maps" in given, call["what"]
        if call.get("side"):
            assert shown(served, before) == kept, call["what"]
    [session] = set(served.sessions()) - before
    assert told(served.turns(session)) == [
        ("Hello, my name is Minsu.", "Haru nods, reply number 1."),
        ("I live in Daegu.", "Haru nods, reply number 5."),
        ("Which city do I live in?", "Haru nods, reply number 8."),
        ("And what was my name?", "Haru nods, reply number 11."),
        ("Draw me a map of the way down.", "Haru nods, reply number 12."),
    ]


def shown(served: Running, before: set[str]) -> list[list[tuple[str, str | None]]]:
    return [told(served.turns(session)) for session in served.sessions() if session not in before]


def test_a_story_in_sillytavern_is_one_world_with_its_branches(tavern: SillyTavern, served: Running) -> None:
    """The same chat as a story: the program never sees a state block, and every way that its user goes is a line of one
    world, with the state of its last turn."""
    worlds = served.store.worlds
    before = {world.id for world in worlds.all()}
    model = next(name for name in tavern.models() if name.startswith("world/"))
    for number, call in enumerate(recorded("sillytavern"), 1):
        block = f"```state\nlocation: place {number}\nlocation_moved: true\n```"
        served.next = said(call["answer"] if call.get("side") else f"{call['answer']}\n\n{block}")
        assert tavern.generate({**call["body"], "model": model}) == call["answer"], call["what"]
        given = json.dumps(served.upstream.requests[-1].body["messages"], ensure_ascii=False)
        assert "a keeper of maps" in given, call["what"]
        assert ("SAGA" in given) != bool(call.get("side")), call["what"]
    [world] = [world for world in worlds.all() if world.id not in before]
    until(lambda: worlds.raw() == [])
    leaves = worlds.leaves(world.id)
    path = worlds.path(leaves[0])
    assert [node.question for node in path][-3:] == STORY[-3:]
    assert "Draw me a map" in path[-1].question
    assert len(leaves) > 2, "a swipe, an edit and a branch each left a line"


# --- Open WebUI ---------------------------------------------------------------------------------


@pytest.fixture
def chat(webui: OpenWebUI) -> Chat:
    return Chat(webui, webui.models()[0])


def test_open_webui_finds_the_models(webui: OpenWebUI, served: Running) -> None:
    offered = [model.id for model in served.client().models.list().data]
    assert [model for model in webui.models() if model in offered] == offered


def tasks(served: Running) -> list[str]:
    """The last words of what Open WebUI has asked for itself, such as a title."""
    return [text for request in served.upstream.requests if (text := question(request.body)).startswith("### Task")]


def test_a_chat_in_open_webui_is_one_session_with_its_branches(chat: Chat, served: Running) -> None:
    """Two turns, another answer, another question, a turn after it, another first question; beside all of them the
    program asks for a title, for tags and for suggestions."""
    before, asked = set(served.sessions()), len(tasks(served))
    served.answers[END_OF_TASK] = said(
        json.dumps({"title": "민수와 부산", "tags": ["도시"], "follow_ups": ["부산 어디?"]})
    )
    served.answers |= {LINES[0]: said("반갑습니다."), LINES[1]: said("나비군요.")}
    assert chat.ask(LINES[0]) == "반갑습니다."
    [session] = set(served.sessions()) - before
    assert chat.ask(LINES[1]) == "나비군요."
    assert told(served.turns(session)) == [(LINES[0], "반갑습니다."), (LINES[1], "나비군요.")]
    served.answers[LINES[1]] = said("나비라니 예쁘네요.")
    assert chat.regenerate() == "나비라니 예쁘네요."
    assert told(served.turns(session))[1:] == [(LINES[1], "나비라니 예쁘네요.")]
    served.answers[LINES[2]] = said("부산이라고 하셨어요.")
    assert chat.edit(2, LINES[2]) == "부산이라고 하셨어요."
    served.answers[LINES[3]] = said("민수 님이지요.")
    assert chat.ask(LINES[3]) == "민수 님이지요."
    kept = [(LINES[0], "반갑습니다."), (LINES[2], "부산이라고 하셨어요."), (LINES[3], "민수 님이지요.")]
    assert told(served.turns(session)) == kept
    assert [versions(served, session, number) for number in (1, 2, 3)] == [1, 3, 1]
    until(lambda: len(tasks(served)) - asked >= 1 + 1 + 5)  # title, tags, suggestions after every answer
    assert until(lambda: chat.title() == "민수와 부산")
    assert set(served.sessions()) - before == {session}
    assert told(served.turns(session)) == kept


def test_two_chats_of_open_webui_stay_apart(webui: OpenWebUI, served: Running) -> None:
    before = set(served.sessions())
    pair = [Chat(webui, webui.models()[0]) for _ in range(2)]
    for turn in range(1, 4):
        for name, chat in zip(("Ann", "Bob"), pair, strict=True):
            assert chat.ask(f"{name} asks about part {turn}") == f"Answer to: {name} asks about part {turn}"
    opened = set(served.sessions()) - before
    asked = sorted([turn.question for turn in served.turns(session)] for session in opened)
    assert asked == [[f"{name} asks about part {turn}" for turn in range(1, 4)] for name in ("Ann", "Bob")]


def test_what_open_webui_deletes_stays_and_is_gone_back_to_by_nobody(webui: OpenWebUI, served: Running) -> None:
    """The program tells the endpoint nothing of a deletion: the session stays until its user deletes it in Gieok, and
    the next chat is a new session."""
    before = set(served.sessions())
    first = Chat(webui, webui.models()[0])
    first.ask("A chat that will be deleted")
    first.delete()
    Chat(webui, webui.models()[0]).ask("A chat that comes later")
    asked = [[turn.question for turn in served.turns(session)] for session in set(served.sessions()) - before]
    assert sorted(asked) == [["A chat that comes later"], ["A chat that will be deleted"]]
