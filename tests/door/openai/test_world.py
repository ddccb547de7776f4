"""Role-play through the endpoint: the real service in this process, a stub upstream on loopback."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from graph.turn.event import Done
from model.raw import RawClient
from store.world.record import LoreEntry
from tests.door.openai.inside import Inside, content, inside
from tests.door.openai.story import MODEL, Client, changing, events, given, nodes, theirs, told, worlds
from tests.stub import reply
from tests.stub.reply import Reply
from tests.stub.upstream import Upstream
from tests.wait import until
from world.lore.rule import Rule

Json = dict[str, Any]
RECORDED = Path(__file__).parent / "recorded"
FOREST: Json = {"location": "어둠의 숲", "location_moved": "true", "hp_change": "-15", "npc_met": "[크룩]"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    numbers = itertools.count(1)
    upstream = Upstream(always=lambda _: told(f"Reply {next(numbers)}.", mood="calm"))
    with upstream, inside(tmp_path, upstream, model_timeout=30.0) as running:
        yield running


@pytest.fixture
def client(service: Inside) -> Client:
    return Client(service)


# --- what passes ------------------------------------------------------------------------------------


def test_the_clients_request_goes_on_as_it_is(service: Inside, client: Client) -> None:
    messages: list[Json] = [
        {"role": "system", "content": "카드: 아리아는 여행자다."},
        {"role": "user", "name": "민수", "content": [{"type": "text", "text": "봐"}, IMAGE], "x_own": {"a": None}},
    ]
    fields: Json = {
        "tools": [{"type": "function", "function": {"name": "roll", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "logprobs": True,
        "response_format": {"type": "text"},
        "min_p": 0.05,
        "provider": {"order": ["a"]},
        "stop": ["\nUser:"],
        "stream": True,
        "stream_options": {"x": 1},
        "metadata": {"gieok_world": "", "own": "kept"},
    }
    assert client.send(messages, **fields).status_code == 200
    sent = given(service)
    assert sent["messages"][0]["content"].endswith(f"\n\n{messages[0]['content']}"), "one system message, ours first"
    assert theirs(service) == messages[1:]
    assert {name: value for name, value in sent.items() if name not in ("messages", "model")} == {
        **fields,
        "stream_options": {"x": 1, "include_usage": True},
        "metadata": {"own": "kept"},
    }
    assert sent["model"] == "stub-model"
    assert [world.player for world in worlds(service)] == ["민수"]


def test_our_texts_stand_first_and_before_the_last_message(service: Inside, client: Client) -> None:
    client.messages = [{"role": "system", "content": "Card"}]
    client.say("Hello")
    client.say("Go on")
    roles = [message["role"] for message in given(service)["messages"]]
    assert roles == ["system", "user", "assistant", "system", "user"]
    texts = [message["content"] for message in given(service)["messages"]]
    assert texts[0].startswith("[--- SAGA Dynamic Context ---]")
    assert "[--- SAGA State Tracking ---]" in texts[0]
    assert texts[0].endswith("\n\nCard")
    assert texts[0] == given(service, 0)["messages"][0]["content"]
    assert "[Latest changes]" in texts[3]


def test_a_story_on_a_strict_server_has_its_changes_in_the_users_message(service: Inside, client: Client) -> None:
    """One system message, at the front, and roles that alternate: servers of Mistral, Gemma and others."""

    def refuse(body: Json) -> reply.Reply:
        roles = [message["role"] for message in body["messages"]]
        if roles[1:] != ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]:
            return reply.failed(400, "bad_request", message="System message must be at the beginning.")
        return told("The door opens.", mood="calm")

    service.upstream.always = refuse
    client.messages = [{"role": "system", "content": "Card"}, {"role": "assistant", "content": ""}]
    client.say("Hello")
    client.say("Go on")
    assert client.sent is not None
    assert client.sent.status_code == 200
    messages = given(service)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert "[Latest changes]" in messages[-1]["content"]
    assert messages[-1]["content"].endswith("\n\nGo on")
    assert len(nodes(service)) == 2


def test_an_answer_without_a_text_is_not_sent_to_the_model(service: Inside, client: Client) -> None:
    messages: list[Json] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None}]
    assert client.send([*messages, {"role": "user", "content": "Are you there?"}]).status_code == 200
    assert [message["role"] for message in theirs(service)] == ["user", "user"]


def test_a_request_that_comes_before_the_light_call_has_ended_says_so(service: Inside, client: Client) -> None:
    scenes = iter([told("The door opens."), told("It is dark.", mood="calm"), told("A lamp burns.", mood="calm")])
    light = reply.said('{"location": "Hall", "location_moved": true}').but(silence=1.5)
    service.upstream.always = lambda body: next(scenes) if "SAGA" in json.dumps(body) else light
    client.say("Open it")
    assert "x-gieok-late" not in sent_headers(client)
    client.say("Go in")
    assert sent_headers(client)["x-gieok-late"] == "1"
    assert "Hall" not in changing(service)
    until(lambda: [node.status for node in nodes(service)] == ["done"] * 2)
    client.say("Light the lamp")
    assert "x-gieok-late" not in sent_headers(client)
    assert "Hall" in changing(service)


def sent_headers(client: Client) -> httpx2.Headers:
    assert client.sent is not None
    return client.sent.headers


@pytest.mark.parametrize("field", ["reasoning_content", "tool_calls", "refusal", "x_unknown"])
def test_what_the_model_sends_beside_its_text_passes(service: Inside, client: Client, field: str) -> None:
    delta = {field: [{"index": 0, "id": "call_1"}] if field == "tool_calls" else "é"}
    choice = {"index": 0, "finish_reason": None, "logprobs": None, "delta": delta, "x": [1]}
    frame = {**reply.delta({}), "choices": [choice], "y": {"z": 1}}
    whole = told("Hello.", mood="calm")
    service.upstream.add(whole.but(chunks=(whole.chunks[0], frame, ": a comment\n\n", *whole.chunks[1:])))
    response = client.send([{"role": "user", "content": "Hi"}], stream=True)
    assert frame in events(response.text)
    assert ": a comment\n\n" in response.text
    assert response.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 1000])
@pytest.mark.parametrize("text", ["숲이 어둡다. 크룩이 웃는다.", 'He said: "```no block```"\n\nand left.'])
def test_the_block_is_never_seen_however_the_stream_is_cut(
    service: Inside, client: Client, size: int, text: str
) -> None:
    service.upstream.add(told(text, size, **FOREST))
    client.messages = [{"role": "user", "content": "숲으로 간다"}]
    response = client.send(client.messages, stream=True)
    assert content(response.text).strip() == text
    assert "location" not in response.text
    assert "어둠의 숲" not in response.text


def test_a_whole_answer_has_no_block_either(service: Inside, client: Client) -> None:
    service.upstream.add(told("숲이 어둡다.", **FOREST))
    response = client.send([{"role": "user", "content": "간다"}])
    assert response.json()["choices"][0]["message"]["content"] == "숲이 어둡다."
    assert response.json()["usage"]["gieok"]["cached_tokens"] == 600
    assert response.headers["x-gieok-turn"] == "1"


def test_words_that_are_not_shown_have_no_probabilities_either(service: Inside, client: Client) -> None:
    whole = told("Hi.", 1000, **FOREST)
    chunks = list(whole.chunks)
    chunk: Any = json.loads(json.dumps(chunks[1]))
    chunk["choices"][0]["logprobs"] = {"content": [{"token": "location", "logprob": -0.1}]}
    service.upstream.add(whole.but(chunks=(chunks[0], chunk, *chunks[2:])))
    response = client.send([{"role": "user", "content": "Hi"}], stream=True, logprobs=True)
    assert "location" not in response.text


# --- the world goes on ------------------------------------------------------------------------------


def test_what_the_block_told_is_in_the_next_request(service: Inside, client: Client) -> None:
    service.upstream.add(told("숲이 어둡다.", **FOREST))
    client.say("숲으로 간다")
    assert (client.fit, client.turn) == ("new", 1)
    client.say("둘러본다")
    assert (client.fit, client.turn) == ("goes_on", 2)
    assert "위치: 어둠의 숲 | HP: 85/100" in changing(service)
    assert "크룩" in changing(service)
    assert len(worlds(service)) == 1


def test_a_new_world_is_named_by_the_first_words(service: Inside, client: Client) -> None:
    client.say("Once upon a time there was a small village by the sea.")
    (world,) = worlds(service)
    assert (world.name, world.language) == ("Once upon a time there was", "en")
    other = Client(service)
    other.say("나는 숲으로 간다. 바람이 차다.")
    assert {world.language for world in worlds(service)} == {"en", "ko"}


def test_another_answer_begins_from_the_state_before(service: Inside, client: Client) -> None:
    service.upstream.add(
        told("마을.", location="마을"), told("숲.", location="숲", hp_change="-50"), told("강.", location="강")
    )
    client.say("시작한다")
    client.say("숲으로 간다")
    client.swipe()
    assert (client.fit, client.turn) == ("again", 2)
    assert "위치: 마을 | HP: 100/100" in changing(service)
    client.say("둘러본다")
    assert "위치: 강 | HP: 100/100" in changing(service)
    assert [node.turn for node in nodes(service)] == [1, 2, 2, 3]


def test_an_edited_message_a_deleted_turn_and_a_branch(service: Inside, client: Client) -> None:
    service.upstream.add(*(told(f"{name}.", location=name) for name in ("하나", "둘", "셋")))
    for text in ("가", "나", "다"):
        client.say(text)
    first, second = client.messages[:2], client.messages[:4]
    client.messages = [*first, {"role": "user", "content": "다른 길"}]
    client.answer()
    assert "위치: 하나" in changing(service)
    client.messages = [*second, {"role": "user", "content": "또 다른 길"}]
    client.answer()
    assert "위치: 둘" in changing(service)
    client.messages = [{"role": "user", "content": "처음부터"}]
    client.model = f"{MODEL}/{worlds(service)[0].slug}"
    client.answer()
    assert "둘" not in changing(service)
    assert len(worlds(service)) == 1


def test_an_edited_answer_is_a_turn_that_the_client_told(service: Inside, client: Client) -> None:
    service.upstream.add(told("하나.", location="하나"), told("둘.", location="둘"))
    client.say("가")
    client.say("나")
    client.messages[-1] = {"role": "assistant", "content": "아니, 셋."}
    client.say("다")
    assert (client.fit, client.turn) == ("given", 3)
    assert "위치: 하나" in changing(service)
    assert [node.status for node in nodes(service)].count("given") == 1


def test_a_turn_that_is_removed_on_the_page_while_its_client_stores_the_next_one_is_in_its_story_again(
    service: Inside, client: Client
) -> None:
    for number in range(1, 4):
        service.upstream.always = lambda _, number=number: told(f"Scene {number}.", items_gained=f"[key {number}]")
        client.say(f"Step {number}")
    removed = list[int]()

    def remove_meanwhile(_: Json) -> Reply:
        removed.append(service.agent.remove_turn(nodes(service)[-1].session, 2))
        return told("Scene 4.", items_gained="[key 4]")

    service.upstream.always = remove_meanwhile
    client.say("Step 4")
    engine, last = service.agent.open_worlds(), nodes(service)[-1]
    assert engine.idle(60)
    told_turns = service.agent.store.turns(last.session, limit=10)
    assert [turn.question for turn in told_turns] == [f"Step {number}" for number in range(1, 5)]
    assert [turn.number for turn in told_turns] == [1, 2, 3, 4]
    assert {*engine.state(last).items} == {f"key {number}" for number in range(1, 5)}
    assert removed == [0]
    service.upstream.always = lambda _: told("Scene 5.", items_gained="[key 5]")
    client.say("Step 5")
    service.agent.remove_turn(last.session, 2)
    end = engine.store.worlds.last_before(last.session, 10)
    assert engine.idle(60)
    assert end is not None
    assert {*engine.state(end).items} == {f"key {number}" for number in (1, 3, 4, 5)}
    assert service.agent.store.session(last.session).turn_count == 4


def test_told_turns_that_wait_are_read_on_the_line_that_the_story_shows(service: Inside, client: Client) -> None:
    asked, free = list[str](), threading.Event()

    def answer(body: Json) -> Reply:
        text = json.dumps(body)
        if "SAGA" in text:
            return told("You go on.", mood="calm")
        asked.append(re.findall(r"You come to the (\w+)", text)[-1])
        assert free.wait(60)
        return reply.said(json.dumps({"items_gained": [f"{asked[-1]} key"]}))

    def items() -> set[str]:
        assert engine.idle(60)
        end = engine.store.worlds.last_before(session, 10)
        assert end is not None
        return {*engine.state(end).items}

    service.upstream.always = answer
    for place in ("Mill", "Ford", "Tower"):
        text = f"You come to the {place} and take the {place} key with you."
        client.messages += [{"role": "user", "content": f"To the {place}"}, {"role": "assistant", "content": text}]
    client.say("On")
    engine, session = service.agent.open_worlds(), nodes(service)[-1].session
    until(lambda: asked == ["Tower"])
    branch = service.agent.remove_turn(session, 2)
    free.set()
    assert items() == {"Mill key", "Tower key"}
    assert asked == ["Tower", "Tower", "Mill"], "nothing is read of a line that was left"
    service.agent.switch(session, 2, branch)
    assert items() == {"Mill key", "Ford key", "Tower key"}
    assert asked[3:] == ["Ford"]
    service.agent.switch(session, 2, branch)
    assert items() == {"Mill key", "Ford key", "Tower key"}
    assert len(asked) == 4, "each once"


def test_a_client_that_drops_its_oldest_turns_stays_in_its_story(service: Inside, client: Client) -> None:
    service.upstream.add(*(told(f"{at}.", location=f"곳{at}") for at in range(1, 7)))
    for at in range(1, 7):
        client.say(f"말 {at}")
    client.messages = client.messages[4:]
    client.say("그다음")
    assert (client.fit, client.turn) == ("goes_on", 7)
    assert "위치: 곳6" in changing(service)
    assert len(worlds(service)) == 1


@pytest.mark.parametrize("joined", ["{}\n\n{}", "{}{}"])
def test_an_answer_that_goes_on(service: Inside, client: Client, joined: str) -> None:
    service.upstream.add(
        told("마을.", location="마을"),
        told("숲에 들어가", location="숲", hp_change="-10"),
        told("고 길을 잃는다.", hp_change="-20"),
    )
    client.say("시작")
    client.say("숲으로")
    more = client.answer()
    assert (client.fit, client.turn) == ("continues", 2)
    assert theirs(service)[-1] == {"role": "assistant", "content": "숲에 들어가"}
    assert "위치: 숲 | HP: 90/100" in changing(service)
    client.messages[-1]["content"] = joined.format(client.messages[-1]["content"], more)
    client.say("계속")
    assert (client.fit, client.turn) == ("goes_on", 3)
    assert "위치: 숲 | HP: 70/100" in changing(service)
    assert [node.turn for node in nodes(service)] == [1, 2, 2, 3]


def test_characters_of_a_group_answer_in_turn(service: Inside, client: Client) -> None:
    service.upstream.add(
        told("Hello.", location="Inn", npc_met="[Haru]"), told("Hi.", npc_met="[Mina]"), told("Well.", mood="tense")
    )
    client.messages = [{"role": "user", "content": "Hello, both of you."}]
    for name in ("Haru", "Mina"):
        nudge = {"role": "system", "content": f"[Write the next reply only as {name}.]"}
        answer = content(client.send([*client.messages, nudge], stream=True).text)
        client.messages.append({"role": "assistant", "content": f"{name}: {answer}"})
    assert (client.fit, client.turn) == ("continues", 1)
    client.messages.append({"role": "user", "content": "And then?"})
    third = client.answer()  # this program asks for nobody, and shows somebody's name
    assert (client.fit, client.turn) == ("goes_on", 2)
    assert "Haru" in changing(service)
    assert "Mina" in changing(service)
    client.messages.append({"role": "assistant", "content": f"Mina: {third}"})
    client.say("So?")
    assert (client.fit, client.turn) == ("goes_on", 3)


def test_a_greeting_is_made_again(service: Inside, client: Client) -> None:
    card = [{"role": "system", "content": "Card"}, {"role": "system", "content": "Write the greeting."}]
    first, second = (content(client.send(card, stream=True).text) for _ in range(2))
    assert client.turn == 0
    client.messages = [card[0], {"role": "assistant", "content": first}]
    client.say("Hello")
    assert (client.fit, client.turn) == ("goes_on", 1)
    client.messages = [card[0], {"role": "assistant", "content": second}]
    client.say("Hello")
    assert (client.fit, client.turn) == ("goes_on", 1)


def test_a_greeting_that_only_the_client_knows(service: Inside, client: Client) -> None:
    client.messages = [{"role": "assistant", "content": "The door opens."}]
    client.say("Hello")
    assert (client.fit, client.turn) == ("new", 1)
    client.say("More")
    assert (client.fit, client.turn) == ("goes_on", 2)
    assert (nodes(service)[0].turn, nodes(service)[0].status) == (0, "given")


def test_rounds_of_tools_belong_to_their_turn(service: Inside, client: Client) -> None:
    client.say("Begin")
    call = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    service.upstream.add(reply.called("roll", {}), told("A six.", hp_change="-5"))
    client.messages.append({"role": "user", "content": "I roll"})
    response = client.send(client.messages, stream=True)
    assert any("tool_calls" in choice["delta"] for event in events(response.text) for choice in event["choices"])
    assert len(nodes(service)) == 1
    client.messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "6"},
    ]
    client.messages.append({"role": "assistant", "content": client.answer()})
    assert client.turn == 2
    client.say("On")
    assert (client.fit, client.turn) == ("goes_on", 3)
    assert "HP: 95/100" in changing(service)


# --- failures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, {"retry_after": "7", "x_ratelimit_remaining_requests": "0"}), (400, {}), (401, {}), (500, {}), (529, {})],
)
@pytest.mark.parametrize("stream", [True, False])
def test_errors_arrive_as_they_are_and_write_nothing(
    service: Inside, client: Client, status: int, headers: dict[str, str], stream: bool
) -> None:
    failure = reply.failed(status, "a_code", message="Words of the server.", **headers)
    service.upstream.add(failure)
    response = client.send([{"role": "user", "content": "Hi"}], stream=stream)
    assert (response.status_code, response.json()) == (status, failure.body)
    assert response.headers.get("retry-after") == headers.get("retry_after")
    assert response.headers.get("x-ratelimit-remaining-requests") == headers.get("x_ratelimit_remaining_requests")
    assert len(service.upstream.requests) == 1
    assert worlds(service) == []


def test_a_model_that_says_nothing_in_time(tmp_path: Path) -> None:
    with Upstream(reply.silent()) as upstream, inside(tmp_path, upstream, model_timeout=0.3) as service:
        response = Client(service).send([{"role": "user", "content": "Hi"}], stream=True)
        assert (response.status_code, response.json()["error"]["type"]) == (504, "api_error")
        assert worlds(service) == []


@pytest.mark.parametrize("failure", [reply.broken("It begins and"), reply.troubled("It begins and")])
def test_an_answer_that_fails_on_its_way_writes_nothing(service: Inside, client: Client, failure: Reply) -> None:
    service.upstream.add(failure)
    response = client.send([{"role": "user", "content": "Hi"}], stream=True)
    assert [event["error"]["type"] for event in events(response.text) if event.get("error")]
    assert worlds(service) == []
    client.say("Hi")
    assert (client.fit, client.turn) == ("new", 1)


@pytest.mark.parametrize(
    ("failure", "code", "stream"),
    [
        (reply.failed(429, "a_code", message="Words of the server."), "model_overloaded", True),
        (reply.failed(500, "a_code", message="Words of the server."), "model_server_error", False),
        (reply.broken("It begins and"), "model_broken", True),
        (reply.troubled("It begins and"), "model_broken", True),
        (reply.said(""), "empty_answer", True),
    ],
)
def test_a_failed_turn_of_a_story_is_kept_as_one_of_a_conversation_and_tried_again(
    service: Inside, client: Client, failure: Reply, code: str, stream: bool
) -> None:
    client.say("Begin")
    session = nodes(service)[0].session

    def rows() -> list[tuple[int, int, str, str]]:
        turns = service.agent.store.turns(session, limit=10)
        return [(turn.branch, turn.number, turn.question, turn.status) for turn in turns]

    for _ in range(2):  # the client itself tries it again, too
        service.upstream.add(failure)
        client.send([*client.messages, {"role": "user", "content": "Go on"}], stream=stream)
        assert rows() == [(0, 1, "Begin", "done"), (0, 2, "Go on", "failed")]
    (failed,) = service.agent.store.turns(session, limit=1)
    assert failed.error is not None
    assert failed.error["code"] == code
    assert len(nodes(service)) == 1
    client.say("Go on")
    assert (client.fit, client.turn) == ("goes_on", 2)
    assert rows() == [(0, 1, "Begin", "done"), (0, 2, "Go on", "done")]
    assert service.agent.store.turns(session, limit=1)[0].error is None
    service.upstream.add(failure)
    client.send([*client.messages, {"role": "user", "content": "And then?"}], stream=stream)
    done = list(service.agent.retry(session))[-1]
    assert isinstance(done, Done)
    assert rows()[2:] == [(0, 3, "And then?", "done")]
    assert [node.turn for node in nodes(service)] == [1, 2, 3]


def test_a_failed_turn_hides_no_answer(service: Inside, client: Client) -> None:
    client.say("Begin")
    client.say("Go on")
    session, failure = nodes(service)[0].session, reply.failed(500, "a_code", message="Words of the server.")
    path = service.agent.store.session(session).path
    for messages in (client.messages[:-1], [*client.messages[:2], {"role": "user", "content": "Another way"}]):
        service.upstream.add(failure)
        client.send(messages, stream=True)
    assert service.agent.store.session(session).path == path
    assert [turn.status for turn in service.agent.store.turns(session, limit=10)] == ["done", "done"]
    for question in ("One way", "Another way"):
        service.upstream.add(failure)
        client.send([*client.messages, {"role": "user", "content": question}], stream=True)
    assert [turn.question for turn in service.agent.store.turns(session, limit=1)] == ["Another way"]
    assert len(service.agent.store.tree.alternatives(session, [3])[3].branches) == 2
    client.say("A third way")
    assert (client.fit, client.turn) == ("goes_on", 3)
    assert service.agent.store.turns(session, limit=1)[0].answer == client.messages[-1]["content"]


def test_turns_that_only_a_client_knew_are_kept_with_the_one_that_failed_after_them(
    service: Inside, client: Client
) -> None:
    client.say("Begin")
    session = nodes(service)[0].session

    def rows() -> list[tuple[str, str]]:
        return [(turn.question, turn.status) for turn in service.agent.store.turns(session, limit=10)]

    client.messages += [{"role": "user", "content": "Told"}, {"role": "assistant", "content": "By another program."}]
    service.upstream.add(reply.failed(500, "a_code", message="Words of the server."))
    client.send([*client.messages, {"role": "user", "content": "Go on"}], stream=True)
    assert rows() == [("Begin", "done"), ("Told", "done"), ("Go on", "failed")]
    client.say("Go on")
    assert rows() == [("Begin", "done"), ("Told", "done"), ("Go on", "done")]


def test_a_client_that_leaves_keeps_what_was_shown(service: Inside, client: Client) -> None:
    client.say("Begin")
    words = " ".join(f"word{at}" for at in range(500))
    service.upstream.add(told(words, hp_change="-50").but(pause=0.02))
    client.messages.append({"role": "user", "content": "Tell"})
    body = {"model": MODEL, "messages": client.messages, "stream": True}
    with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as response:
        for _, line in zip(range(30), response.iter_lines(), strict=False):
            assert "error" not in line
    assert service.upstream.requests[-1].gone.wait(60)
    node = until(lambda: [one for one in nodes(service) if one.turn == 2])[0]
    assert words.startswith(node.answer)
    assert 0 < len(node.answer) < len(words)
    client.messages.append({"role": "assistant", "content": node.answer})
    client.say("Go on")
    assert (client.fit, client.turn) == ("goes_on", 3)
    assert "HP: 100/100" in changing(service)


def test_what_is_no_request_is_refused(service: Inside, client: Client) -> None:
    hello = [{"role": "user", "content": "Hi"}]
    assert client.send(hello, n=2).json()["error"]["param"] == "n"
    assert client.send([]).json()["error"]["param"] == "messages"
    client.model = f"{MODEL}/nowhere"
    response = client.send(hello)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    client.model, client.headers = MODEL, {"X-Gieok-World": "nowhere"}
    assert client.send(hello).status_code == 404
    assert service.upstream.requests == []
    assert worlds(service) == []


def test_a_server_with_one_model_has_no_other(service: Inside, client: Client) -> None:
    raw = service.agent.models().raw
    assert isinstance(raw, RawClient)
    client.model = "world/vendor/other"
    client.say("Hi")
    assert given(service)["model"] == "vendor/other"
    raw.only = True
    response = client.send([{"role": "user", "content": "Hi"}])
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert len(service.upstream.requests) == 1


# --- names, users, receipts -------------------------------------------------------------------------


def test_a_world_is_named_by_the_model_a_header_or_metadata(service: Inside, client: Client) -> None:
    store = service.agent.store.worlds
    world = store.create("어둠의 숲", "ko", "아리아")
    for slug, headers, fields in (
        (f"/{world.slug}", {}, {}),
        ("", {"X-Gieok-World": world.id}, {}),
        ("", {}, {"metadata": {"gieok_world": world.slug}}),
    ):
        client.model, client.headers, client.messages = MODEL + slug, headers, []
        client.say(f"Hello {slug}{headers}{fields}", **fields)
    assert len(worlds(service)) == 1
    assert len(store.children(world.id, 0)) == 3
    listed = httpx2.get(f"{service.root}/v1/models").json()
    names = [model["id"] for model in listed["data"]]
    assert names[-2:] == [MODEL, f"{MODEL}/{world.slug}"]
    assert httpx2.get(f"{service.root}/v1/models/{MODEL}").json()["id"] == MODEL


def test_another_users_world_does_not_exist(service: Inside) -> None:
    keys = service.agent.store.api_keys
    ann, bob = (Client(service, headers={"Authorization": f"Bearer {keys.add(name, name)}"}) for name in ("ann", "bob"))
    service.upstream.add(told("Hidden.", location="Secret cave"))
    ann.say("Into the cave")
    world = worlds(service, "ann")[0]
    bob.messages = [*ann.messages, {"role": "user", "content": "Where am I?"}]
    bob.answer()
    assert bob.fit == "given"
    assert "Secret cave" not in changing(service)
    assert [one.owner for one in worlds(service, "bob")] == ["bob"]
    theirs_then = list(worlds(service, "ann"))
    hello = [{"role": "user", "content": "Hi"}]
    for named in (world.id, world.slug):
        if named in {one.slug for one in worlds(service, "bob")}:
            continue
        bob.headers["X-Gieok-World"] = named
        assert bob.send(hello).status_code == 404
        assert bob.send(hello, metadata={"gieok_world": named}).status_code == 404
    del bob.headers["X-Gieok-World"]
    listed = httpx2.get(f"{service.root}/v1/models", headers=bob.headers).json()["data"]
    slugs = {one.slug for one in worlds(service, "bob")}
    assert {model["id"] for model in listed} == {"gieok", "stub-model", MODEL, *(f"{MODEL}/{slug}" for slug in slugs)}
    assert worlds(service, "ann") == theirs_then
    assert httpx2.get(f"{service.root}/v1/models").status_code == 401


def test_a_receipt_for_the_client_that_asks(service: Inside, client: Client) -> None:
    client.say("One")
    assert client.sent is not None
    assert not any(event.get("usage") for event in events(client.sent.text))
    client.say("Two", stream_options={"include_usage": True})
    (usage,) = [event["usage"] for event in events(client.sent.text) if event.get("usage")]
    assert usage["gieok"]["broke"] == ""
    assert (usage["gieok"]["prompt_tokens"], usage["gieok"]["cached_tokens"]) == (1000, 600)
    assert "parts" not in usage["gieok"]
    stored = [node.receipt for node in nodes(service)]
    assert [receipt["broke"] for receipt in stored if receipt] == ["", ""]


def test_a_chat_programs_own_question_leaves_no_trace(service: Inside, client: Client) -> None:
    service.upstream.add(reply.said("A title"))
    call = json.loads((RECORDED / "open_webui.json").read_text("utf-8"))["calls"]
    task = next(one["body"]["messages"][-1]["content"] for one in call if "title" in one["what"])
    response = client.send([{"role": "user", "content": task}], stream=True)
    assert content(response.text) == "A title"
    assert given(service)["messages"] == [{"role": "user", "content": task}]
    assert worlds(service) == []


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("counted", [True, False])
def test_the_answer_to_a_chat_programs_own_question_has_the_form_of_any_other(
    service: Inside, client: Client, stream: bool, counted: bool
) -> None:
    """One choice, the tokens once for whoever asks, an end, and all of the text: what looks like a state is its own."""
    title = '{"location": "A title"}'
    both = [{**choice, "index": at} for at in (0, 1) for choice in reply.delta({"content": title})["choices"]]
    piece = {**reply.delta({}), "choices": both, "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    end = {**reply.delta({}, finish="stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    plain = {**reply.said(title).completion(), "choices": reply.said(title).completion()["choices"] * 2}
    sent = tuple(f"data: {json.dumps(each)}\n\n" for each in (piece, end, reply.usage(9, 0, 2)))  # whoever asked
    service.upstream.add(reply.Reply(sent, end="quiet", body=None if stream else plain))
    call = json.loads((RECORDED / "open_webui.json").read_text("utf-8"))["calls"]
    task = next(one["body"]["messages"][-1]["content"] for one in call if "title" in one["what"])
    options = {"stream_options": {"include_usage": True}} if counted and stream else {}
    response = client.send([{"role": "user", "content": task}], stream=stream, **options)
    if not stream:
        assert [choice["message"]["content"] for choice in response.json()["choices"]] == [title]
        return
    told = events(response.text)
    assert content(response.text) == title
    assert {choice["index"] for event in told for choice in event["choices"]} == {0}
    assert len([event for event in told if event.get("usage")]) == counted
    assert response.text.count("[DONE]") == 1
    assert worlds(service) == []


def test_recorded_calls_of_sillytavern_stay_one_story(service: Inside, client: Client) -> None:
    calls = json.loads((RECORDED / "sillytavern.json").read_text("utf-8"))["calls"]
    seen = []
    for call in calls:
        if "fit" not in call:
            continue
        service.upstream.add(told(call["answer"], hp_change="-1"))
        body = {**call["body"], "model": MODEL}
        response = service.post("/v1/chat/completions", body)
        assert content(response.text) == call["answer"]
        seen.append((response.headers["x-gieok-fit"], int(response.headers["x-gieok-turn"])))
    assert len(worlds(service)) == 1
    assert seen[:6] == [("new", 1), ("goes_on", 2), ("again", 2), ("goes_on", 3), ("goes_on", 2), ("goes_on", 3)]


def test_breakpoints_where_the_provider_takes_them(tmp_path: Path) -> None:
    with (
        Upstream(always=told("Yes.", mood="calm")) as upstream,
        inside(tmp_path, upstream, world_cache_control="on") as service,
    ):
        client = Client(service, messages=[{"role": "system", "content": "A long card. " * 1500}])
        for at in range(3):
            client.say(f"Say {at}")
    messages = given(service)["messages"]
    marked = [at for at, message in enumerate(messages) if isinstance(message["content"], list)]
    assert marked == [0, 4]
    assert [bool(part.get("cache_control")) for part in messages[0]["content"]] == [False, True]
    assert messages[-2]["role"] == "user"
    assert messages[4]["content"][0]["text"] == "Yes."


def test_an_entry_stands_at_the_depth_its_author_asked_for_and_the_receipt_says_what_that_costs(
    tmp_path: Path,
) -> None:
    with (
        Upstream(always=told("Yes.", mood="calm")) as upstream,
        inside(tmp_path, upstream, world_cache_control="on") as service,
    ):
        store = service.agent.store.worlds
        world = store.create("Wood", "en", "Aria")
        rule = Rule(constant=True, position="depth", depth=3).plain
        store.put_lore(world.id, [LoreEntry(0, "tone", "Speak softly.", rule=rule)])
        card = {"role": "system", "content": "A long card. " * 1500}
        client = Client(service, messages=[card], model=f"{MODEL}/{world.slug}")
        for at in range(4):
            client.say(f"Say {at}")
        (node,) = store.leaves(world.id)
    messages = given(service)["messages"]
    place = next(at for at, one in enumerate(messages) if "Speak softly." in str(one["content"]))
    behind = [one for one in messages[place + 1 :] if "[Latest changes]" not in str(one["content"])]
    assert len(behind) == 3
    marked = [at for at, one in enumerate(messages) if "cache_control" in str(one["content"])]
    assert max(marked) == place - 1, "what moves is behind the last breakpoint"
    assert node.receipt is not None
    assert node.receipt["depth_tokens"] > 0
    assert node.report is not None
    assert [one["depth"] for one in node.report["lore"]["in"]] == [{"asked": 3, "stands": 3}]


def test_lore_that_comes_again_stays_with_its_turn_byte_for_byte(service: Inside) -> None:
    store = service.agent.store.worlds
    world = store.create("Wood", "en", "Aria")
    (entry,) = store.put_lore(world.id, [LoreEntry(0, "Mill", "The mill is old.", layer="A1")])
    client = Client(service, messages=[{"role": "system", "content": "card"}], model=f"{MODEL}/{world.slug}")
    sent = []
    for at in range(5):
        client.say(f"Say {at}")
        sent.append(given(service)["messages"])
    assert "The mill is old." in changing_of(sent[0])
    for at, messages in enumerate(sent[1:], 1):
        (place,) = (at for at, one in enumerate(messages) if "The mill is old." in one["content"])
        assert messages[place + 1 + (at == 1)]["content"] == "Say 1", "it stands with turn 2"
        steady = next(at for at, one in enumerate(messages) if "[Latest changes]" in one["content"])
        if at < 4:
            assert sent[at + 1][:steady] == messages[:steady]
    assert (nodes(service)[-1].receipt or {})["standing"] == {"2": ["Mill"]}
    client.swipe()
    assert [one["content"] for one in given(service)["messages"]] == [one["content"] for one in sent[-1]]
    store.put_lore(world.id, [replace(entry, content="The mill has burned.")])
    client.say("Say 5")
    messages = given(service)["messages"]
    assert "The mill is old." not in str(messages)
    assert "The mill has burned." in changing_of(messages)


def changing_of(messages: list[Json]) -> str:
    return next(str(one["content"]) for one in messages if "[Latest changes]" in one["content"])


def test_a_hundred_stories_at_once(tmp_path: Path) -> None:
    def answer(body: Json) -> Reply:
        return told(f"To {body['messages'][-1]['content']}", location=str(len(body["messages"])))

    upstream = Upstream(always=answer)
    with upstream, inside(tmp_path, upstream, api_concurrency=100) as service:
        with ThreadPoolExecutor(1) as thread:  # where no event loop of a browser runs
            thread.submit(lambda: asyncio.run(_stories(service, 100, 3))).result()
        assert len(worlds(service)) == 100
        assert len(nodes(service)) == 300
        until(lambda: {node.status for node in nodes(service)} == {"done"})


async def _stories(service: Inside, count: int, turns: int) -> None:
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as web:

        async def one(at: int) -> None:
            messages: list[Json] = []
            for turn in range(turns):
                messages.append({"role": "user", "content": f"story {at} turn {turn}"})
                body = {"model": MODEL, "messages": messages, "stream": True}
                response = await web.post(f"{service.root}/v1/chat/completions", json=body)
                assert response.status_code == 200, response.text
                assert int(response.headers["x-gieok-turn"]) == turn + 1
                messages.append({"role": "assistant", "content": content(response.text)})
                assert content(response.text) == f"To story {at} turn {turn}"

        await asyncio.gather(*(one(at) for at in range(count)))


@pytest.mark.parametrize("stream", [False, True])
def test_a_story_on_the_responses_route_is_refused_with_the_truth(service: Inside, stream: bool) -> None:
    refused = service.post("/v1/responses", {"model": MODEL, "input": "Hello", "stream": stream})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "unsupported_endpoint", "model")
    assert "/v1/chat/completions" in error["message"]
    assert service.upstream.requests == []
