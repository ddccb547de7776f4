"""A first message that is sent again: while nobody has its answer it is the same turn, afterwards another one."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request as HttpRequest

from door.mcp.tool.turn import build_message_work
from door.openai import work, world
from door.openai.body import chat_body, response_body
from errors import SessionBusy
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done, Ended, Event, Step, Token, ToolFinished
from graph.turn.request import Request
from server.request.running import BegunRequest, Emit, Item, Requests, Work
from store import TurnRow
from tests.door.mcp.opened import Opened, opened
from tests.door.openai.inside import Inside, content, history, inside
from tests.door.openai.story import told
from tests.graph import killed
from tests.host.conftest import SERVER
from tests.process import end, start
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream
from tests.wait import until

ANSWER = "one two three four five"
GREETED = {"messages": [{"role": "assistant", "content": "Welcome!"}, {"role": "user", "content": "Hello"}]}
STRANGE = history("Who are you?", "A parrot.", "Hello")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said(ANSWER)) as upstream, inside(tmp_path, upstream) as opened:
        yield opened


def leave(service: Inside, body: dict[str, Any]) -> None:
    """Sends a request and leaves in the middle of its answer; returns when the turn has ended."""
    seen = len(service.upstream.requests)
    service.upstream.add(said(ANSWER).but(pause=0.3))
    if body.get("stream"):
        with httpx2.stream("POST", f"{service.root}/v1/chat/completions", json=body, timeout=60) as answer:
            next(answer.iter_text())
    else:
        sending = HTTPConnection(service.root.removeprefix("http://"))
        sending.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        until(lambda: len(service.upstream.requests) > seen)
        sending.close()
    assert service.upstream.requests[seen].gone.wait(60)
    until(lambda: not service.places)


def turns(service: Inside) -> list[list[tuple[str, str, str | None]]]:
    """What the conversations hold: question, status and answer of each turn."""
    store = service.agent.store
    return [list(map(_show, store.turns(session.id))) for session in store.sessions()]


def _show(turn: TurnRow) -> tuple[str, str, str | None]:
    return turn.question, turn.status, turn.answer


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("first", [history("Hello"), GREETED, STRANGE], ids=["alone", "greeted", "told"])
def test_it_is_the_same_turn_for_a_client_that_had_left(service: Inside, first: dict[str, Any], stream: bool) -> None:
    leave(service, {**first, "stream": stream})
    again = service.post("/v1/chat/completions", first)
    assert again.json()["choices"][0]["message"]["content"] == ANSWER
    (conversation,) = turns(service)
    assert conversation[-1] == ("Hello", "done", ANSWER)
    assert len(conversation) == len(first["messages"]) // 2 + 1


def test_it_is_the_same_turn_after_a_failure(service: Inside) -> None:
    service.upstream.add(said("").but(status=400, chunks=(), body={"error": {"message": "no"}}))
    assert service.ask("Hello").status_code == 400
    assert service.ask("Hello").status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]]


def test_it_is_the_same_turn_where_the_answer_was_whole_and_nobody_heard_it(service: Inside) -> None:
    work.build_turn_work(service.agent, chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    assert service.ask("Hello").status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]]


NAMED = {"metadata": {"gieok_session": "mine"}}


def ask_unheard(service: Inside, path: str, body: dict[str, Any]) -> None:
    """Has a request answered to its end, and its client is gone before the answer goes out."""
    form = chat_body(body) if path.endswith("completions") else response_body(body)
    name = "mine" if "metadata" in body else None
    work.build_turn_work(service.agent, form, name)(threading.Event(), lambda _: None)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("door", ["first", "history", "name", "response"])
def test_an_answer_that_nobody_heard_is_told_and_nothing_runs_again(service: Inside, door: str, stream: bool) -> None:
    path, body = "/v1/chat/completions", history("Hello")
    if door == "history":
        service.ask("Hello")
        body = history("Hello", ANSWER, "And then?")
    elif door == "name":
        service.ask("Hello", **NAMED)
        body = {**history("And then?"), **NAMED}
    elif door == "response":
        first = service.post("/v1/responses", {"input": "Hello"}).json()["id"]
        path, body = "/v1/responses", {"input": "And then?", "previous_response_id": first}
    service.upstream.always = said("It is late.")
    ask_unheard(service, path, body)
    known, asked = turns(service), len(service.upstream.requests)
    again = service.post(path, {**body, "stream": stream})
    assert (again.status_code, again.headers["x-gieok-fit"]) == (200, "again")
    is_streamed_chat = stream and path.endswith("completions")
    assert "It is late." in (content(again.text) if is_streamed_chat else again.text)
    assert (turns(service), len(service.upstream.requests)) == (known, asked)
    service.upstream.always = said("It is early.")
    service.post(path, {**body, "stream": stream})
    answers = [answer for conversation in turns(service) for *_, answer in conversation]
    assert "It is early." in answers, "who heard it wants another answer"


# --- stopped ------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["first", "history", "response"])
@pytest.mark.parametrize(("tool", "runs"), [("order", 1), ("inspect", 2)])
def test_a_half_answer_is_told_where_a_tool_would_run_twice_and_made_anew_elsewhere(
    tmp_path: Path, door: str, tool: str, runs: int
) -> None:
    """``order`` may not run twice, ``inspect`` only looks. The client leaves when the tool has run."""
    entry = {"command": sys.executable, "args": [str(SERVER), "stdio", str(tmp_path)], "tools": {tool: "allow"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"t": entry}}))
    with Upstream(always=said(ANSWER)) as upstream, inside(tmp_path, upstream) as service:
        path, body = "/v1/chat/completions", history("Do it")
        if door != "first":
            first = service.post("/v1/responses", {"input": "Hello"}).json()["id"]
            body = history("Hello", ANSWER, "Do it")
        if door == "response":
            path, body = "/v1/responses", {"input": "Do it", "previous_response_id": first}
        stop = threading.Event()

        def hear(item: Item) -> None:
            if isinstance(item, ToolFinished):
                stop.set()

        form = response_body(body) if door == "response" else chat_body(body)
        upstream.add(called(f"t__{tool}", {}))
        end = work.build_turn_work(service.agent, form, None)(stop, hear)
        assert isinstance(end, Done)
        assert end.stopped
        upstream.add(*([called(f"t__{tool}", {})] if runs == 2 else []))
        again = service.post(path, body)
        assert (again.status_code, again.headers["x-gieok-fit"]) == (200, "again")
        assert (ANSWER in again.text) == (runs == 2)
        assert (tmp_path / tool).read_text() == "x" * runs
        (*_, last) = turns(service)[0]
        assert last == ("Do it", *(("done", ANSWER) if runs == 2 else ("stopped", "")))


def test_a_half_answer_in_which_nothing_began_is_made_anew_though_a_call_of_an_earlier_one_had(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": [str(SERVER), "stdio", str(tmp_path)], "tools": {"order": "allow"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"t": entry}}))
    with Upstream(always=said(ANSWER)) as upstream, inside(tmp_path, upstream) as service:
        service.ask("Hello")
        body = history("Hello", ANSWER, "Do it")

        def cut_off_at(event: type[ToolFinished] | type[Token]) -> None:
            stop = threading.Event()

            def hear(item: Item) -> None:
                if isinstance(item, event):
                    stop.set()

            end = work.build_turn_work(service.agent, chat_body(body), None)(stop, hear)
            assert isinstance(end, Done)
            assert end.stopped

        upstream.add(called("t__order", {}))
        cut_off_at(ToolFinished)
        assert ANSWER not in service.post("/v1/chat/completions", body).text, "the half answer, once"
        upstream.add(said(ANSWER).but(pause=0.3))
        cut_off_at(Token)
        assert ANSWER in service.post("/v1/chat/completions", body).text
        assert (tmp_path / "order").read_text() == "x"
        assert [conversation[-1] for conversation in turns(service)] == [("Do it", "done", ANSWER)]


# --- stories and MCP ----------------------------------------------------------------------------

STORY = {"model": "world/stub-model"}
CARD = {"role": "system", "content": "Write Robin's next reply."}


def tell_story(*texts: str) -> dict[str, Any]:
    """A request for the next turn of a story."""
    return {**STORY, "messages": [CARD, *history(*texts)["messages"]]}


def tell_unheard(service: Inside, body: dict[str, Any]) -> None:
    """Has a turn of a story answered to its end, and its client is gone before the answer goes out."""
    given = world.read_story_request(body, HttpRequest({"type": "http", "headers": []}))
    engine = service.service.routes._engine(None)
    world.build_roleplay_work(engine, given)(threading.Event(), lambda _: None)


def read_stories(service: Inside) -> list[list[tuple[str, str, str | None]]]:
    """What the stories hold: question, status and answer of each turn."""
    store = service.agent.store
    stories = [story for each in store.worlds.all() for story in store.worlds.stories(each.id)]
    return [list(map(_show, store.turns(story.id))) for story in stories]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("texts", [("Hello",), ("Hello", ANSWER, "And then?")], ids=["first", "later"])
def test_a_turn_of_a_story_that_nobody_heard_is_told_and_nothing_runs_again(
    service: Inside, texts: tuple[str, ...], stream: bool
) -> None:
    path = "/v1/chat/completions"
    if len(texts) > 1:
        service.upstream.always = told(ANSWER, mood="calm")
        service.post(path, tell_story(texts[0]))
    service.upstream.always = told("It is late.", mood="calm")
    tell_unheard(service, tell_story(*texts))
    known, asked = read_stories(service), len(service.upstream.requests)
    again = service.post(path, {**tell_story(*texts), "stream": stream, "stream_options": {"include_usage": True}})
    assert (again.status_code, again.headers["x-gieok-fit"]) == (200, "again")
    assert (content(again.text) if stream else again.json()["choices"][0]["message"]["content"]) == "It is late."
    assert (read_stories(service), len(service.upstream.requests)) == (known, asked)
    service.upstream.always = told("It is early.", mood="calm")
    heard = service.post(path, {**tell_story(*texts), "stream": stream})
    assert "early" in heard.text, "who heard it wants another answer"


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_whoever_has_the_answer_of_a_story_gets_another_one(service: Inside, stream: bool) -> None:
    for number in range(3):
        service.upstream.always = said(f"Answer {number}.")
        assert f"{number}." in service.post("/v1/chat/completions", {**tell_story("Hello"), "stream": stream}).text


def test_a_half_answer_of_a_story_is_made_anew(service: Inside) -> None:
    leave(service, {**tell_story("Hello"), "stream": True})
    again = service.post("/v1/chat/completions", tell_story("Hello"))
    assert again.json()["choices"][0]["message"]["content"] == ANSWER
    assert [turn for story in read_stories(service) for turn in story][-1] == ("Hello", "done", ANSWER)


def test_a_whole_answer_of_a_story_is_not_taken_for_a_half_one_with_the_same_words(service: Inside) -> None:
    service.post("/v1/chat/completions", tell_story("Hello"))
    body = tell_story("Hello", ANSWER, "And then?")
    given = world.read_story_request(body, HttpRequest({"type": "http", "headers": []}))
    engine = service.service.routes._engine(None)
    engine.finish(engine.begin(given.lines), ANSWER, ANSWER, None, None, stopped=True)
    assert service.post("/v1/chat/completions", body).status_code == 200
    assert read_stories(service) == [[("Hello", "done", ANSWER), ("And then?", "done", ANSWER)]]


@pytest.mark.parametrize("name", ["", "mine"])
@pytest.mark.parametrize("first", [True, False])
def test_an_answer_over_mcp_that_nobody_heard_is_told_and_nothing_runs_again(
    tmp_path: Path, name: str, first: bool
) -> None:
    answers = iter(["It is late.", "It is early.", "It is noon."])
    with opened(tmp_path, lambda _: next(answers)) as one:
        before = _begin_named(one, name) if not first else 0
        session = name or (one.agent.store.sessions()[0].id if before else "")
        build_message_work(one.agent, "And then?", session)(threading.Event(), lambda _: None)
        result = one.told("chat", text="And then?", session=session)
        assert result["answer"] == ("It is early." if before else "It is late.")
        assert result["turn"] == before + 1
        (conversation,) = [one.agent.store.turns(each.id) for each in one.agent.store.sessions()]
        assert len(conversation) == before + 1
        later = one.told("chat", text="And then?", session=session)
        assert later["answer"] != result["answer"], "who heard it asks once more"


def _begin_named(one: Opened, name: str) -> int:
    one.told("chat", text="Hello", session=name)
    return 1


# --- answered meanwhile -------------------------------------------------------------------------


@dataclass(frozen=True)
class LateAgent(Agent):
    """A worker that other requests outrun: ``meanwhile`` runs once, between a plan and its turn."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    def turn(self, request: Request, stop: threading.Event, emit: Callable[[Event], None]) -> Ended:
        while self.meanwhile:
            self.meanwhile.pop()()
        return super().turn(request, stop, emit)


@contextmanager
def open_late(service: Inside) -> Iterator[LateAgent]:
    """Opens another worker on the database of the service."""
    agent = open_agent(service.agent.settings)
    yield LateAgent(**{each.name: getattr(agent, each.name) for each in fields(agent)})
    agent.close()


def run_to_end(built: Work) -> Item:
    """Runs a request as the doors do, with a plan made anew while its session is busy; returns its last item."""

    async def run() -> Item:
        requests = Requests(1)
        running = requests.start(built)
        while isinstance(item := await running.items.get(), BegunRequest | Token | Step):
            pass
        await asyncio.to_thread(requests.close)
        return item

    return asyncio.run(run())


def build_late_work(late: LateAgent, door: str, body: dict[str, Any]) -> Work:
    if door == "mcp":
        return build_message_work(late, "And then?", "mine")
    form = response_body(body) if door == "response" else chat_body(body)
    return work.build_turn_work(late, form, "mine" if door == "name" else None)


def begin_asking(service: Inside, door: str) -> dict[str, Any]:
    """Begins a conversation; returns the request that asks «And then?» in it."""
    if door == "response":
        first = service.post("/v1/responses", {"input": "Hello"}).json()["id"]
        return {"input": "And then?", "previous_response_id": first}
    service.ask("Hello", **(NAMED if door in ("name", "mcp") else {}))
    return {**history("And then?"), **NAMED} if door in ("name", "mcp") else history("Hello", ANSWER, "And then?")


DOORS = pytest.mark.parametrize("door", ["history", "name", "response", "mcp"])


@DOORS
def test_a_message_that_is_answered_between_its_plan_and_its_turn_is_told_that_answer(
    service: Inside, door: str
) -> None:
    body = begin_asking(service, door)
    path = "/v1/responses" if door == "response" else "/v1/chat/completions"
    service.upstream.always = said("It is late.")
    with open_late(service) as late:
        late.meanwhile.append(lambda: ask_unheard(service, path, body))
        end = run_to_end(build_late_work(late, door, body))
    assert isinstance(end, Done)
    assert (end.turn, end.answer) == (2, "It is late.")
    assert turns(service) == [[("Hello", "done", ANSWER), ("And then?", "done", "It is late.")]]
    assert len(service.upstream.requests) == 2


@DOORS
def test_a_message_whose_client_has_sent_it_elsewhere_makes_no_version(service: Inside, door: str) -> None:
    body, stops = begin_asking(service, door), list[threading.Event]()
    path = "/v1/responses" if door == "response" else "/v1/chat/completions"

    def answer_elsewhere() -> None:
        assert service.post(path, body).status_code == 200
        stops[0].set()

    with open_late(service) as late:
        late.meanwhile.append(answer_elsewhere)
        built = build_late_work(late, door, body)

        def run(stop: threading.Event, emit: Emit) -> Ended:
            stops.append(stop)
            return built(stop, emit)

        end = run_to_end(run)
    assert isinstance(end, SessionBusy)
    assert turns(service) == [[("Hello", "done", ANSWER), ("And then?", "done", ANSWER)]]
    assert not service.agent.store.tree.alternatives(service.agent.store.sessions()[0].id, [2])


def test_another_message_between_a_plan_and_its_turn_leaves_both_beside_each_other(service: Inside) -> None:
    body = begin_asking(service, "history")
    with open_late(service) as late:
        late.meanwhile.append(lambda: service.ask("Hello", ANSWER, "Or what?"))
        end = run_to_end(build_late_work(late, "history", body))
    assert isinstance(end, Done)
    assert turns(service) == [[("Hello", "done", ANSWER), ("And then?", "done", ANSWER)]]
    session = service.agent.store.sessions()[0].id
    assert len(service.agent.store.tree.alternatives(session, [2])[2].branches) == 2


@pytest.mark.parametrize("stopped", [True, False], ids=["half", "whole"])
def test_a_story_shows_the_answer_of_the_request_that_came_last(service: Inside, stopped: bool) -> None:
    """The first one's client had left and sent its message again; its answer is stored after the other."""
    service.post("/v1/chat/completions", tell_story("Hello"))
    body = tell_story("Hello", ANSWER, "And then?")
    given = world.read_story_request(body, HttpRequest({"type": "http", "headers": []}))
    engine = service.service.routes._engine(None)
    first = engine.begin(given.lines)
    service.upstream.always = said("It is late.")
    assert service.post("/v1/chat/completions", body).status_code == 200
    node = engine.finish(first, "It is", "It is", None, None, stopped)
    assert read_stories(service) == [[("Hello", "done", ANSWER), ("And then?", "done", "It is late.")]]
    assert node.parent is not None
    assert len(service.agent.store.worlds.children(node.world, node.parent)) == 2
    swiped = engine.finish(engine.begin(given.lines), "It is", "It is early.", None, None, stopped)
    assert read_stories(service)[0][1][2] == swiped.answer, "whoever asks later sees his own"


def test_a_half_answer_of_a_story_hides_no_whole_one_that_ended_later(service: Inside) -> None:
    """Also where the request whose client has left was taken up after the other, or stored before it."""
    service.post("/v1/chat/completions", tell_story("Hello"))
    body = tell_story("Hello", ANSWER, "And then?")
    given = world.read_story_request(body, HttpRequest({"type": "http", "headers": []}))
    engine = service.service.routes._engine(None)
    first, second, third = (engine.begin(given.lines) for _ in range(3))
    engine.finish(second, "It", "It", None, None, stopped=True)
    engine.finish(first, "It is late.", "It is late.", None, None)
    engine.finish(third, "It is", "It is", None, None, stopped=True)
    assert read_stories(service) == [[("Hello", "done", ANSWER), ("And then?", "done", "It is late.")]]


# --- killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["history", "response"])
def test_a_turn_whose_process_was_killed_goes_on_and_runs_no_tool_twice(tmp_path: Path, door: str) -> None:
    entry = {"command": sys.executable, "args": [str(SERVER), "stdio", str(tmp_path)], "tools": {"order": "allow"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"t": entry}}))
    with Upstream(always=said(ANSWER)) as upstream:
        with inside(tmp_path, upstream) as service:
            first = service.post("/v1/responses", {"input": "Hello"})
        session = first.headers["x-gieok-session"]
        (tmp_path / "kill").touch()
        assert end(start(killed.foreign, str(tmp_path), session, "t__order")) == -signal.SIGKILL
        path, body = "/v1/chat/completions", history("Hello", ANSWER, "Do it now, please.")
        if door == "response":
            path, body = "/v1/responses", {"input": "Do it now, please.", "previous_response_id": first.json()["id"]}
        with inside(tmp_path, upstream) as service:
            again = service.post(path, body)
            assert (again.headers["x-gieok-session"], again.headers["x-gieok-fit"]) == (session, "again")
            assert turns(service) == [[("Hello", "done", ANSWER), ("Do it now, please.", "done", ANSWER)]]
            assert service.agent.store.tree.alternatives(session, [2]) == {}, "no version beside it"
        assert "may have run already" in json.dumps(upstream.requests[-1].body["messages"])


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_whoever_has_the_answer_begins_another_conversation(service: Inside, stream: bool) -> None:
    for _ in range(5):
        assert service.ask("Hello", stream=stream).status_code == 200
    assert turns(service) == [[("Hello", "done", ANSWER)]] * 5


def test_two_who_say_the_same_at_the_same_time_have_a_conversation_each(service: Inside) -> None:
    service.upstream.always = said(ANSWER).but(pause=0.2)
    asking = [threading.Thread(target=service.ask, args=("Hello",)) for _ in range(2)]
    asking[0].start()
    until(lambda: service.upstream.requests)
    asking[1].start()
    for thread in asking:
        thread.join()
    assert turns(service) == [[("Hello", "done", ANSWER)]] * 2


def test_another_system_text_or_another_user_has_another_conversation(service: Inside) -> None:
    keys = service.agent.store.api_keys
    ann, ben = (keys.add("laptop", name) for name in ("ann", "ben"))
    key = {"Authorization": f"Bearer {ann}"}
    work.build_turn_work(service.agent.of("ann"), chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    system = {"messages": [{"role": "system", "content": "Be brief."}, *history("Hello")["messages"]]}
    for body, headers in ((system, key), (history("Hello"), {"Authorization": f"Bearer {ben}"})):
        assert service.post("/v1/chat/completions", body, **headers).headers["x-gieok-fit"] == "new"
    assert service.post("/v1/chat/completions", history("Hello"), **key).headers["x-gieok-fit"] == "again"


def test_a_conversation_that_has_a_name_is_found_by_it_alone(service: Inside) -> None:
    work.build_turn_work(service.agent, chat_body(history("Hello")), None)(threading.Event(), lambda _: None)
    assert service.ask("Hello", metadata={"gieok_session": "mine"}).headers["x-gieok-fit"] == "new"
    assert len(turns(service)) == 2
