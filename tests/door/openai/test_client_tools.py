"""Tools that a client runs itself: through OpenAI's SDK, LangChain's agent and plain HTTP; one turn in the record,
whatever is sent twice, and whoever is killed in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel, SecretStr
from sqlalchemy import event

from bench.server import Server
from door.openai.body import chat_body
from graph.turn.event import Done
from server.request.client_call import find_left_turn, own_calls
from server.request.message import ClientMessage
from store import Store
from tests.door.openai.inside import Inside, content, inside
from tests.door.openai.running import CALM, served
from tests.stub.reply import Reply, called, failed, said, silent
from tests.stub.upstream import Upstream
from tests.wait import until

Json = dict[str, Any]
WEATHER: Json = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
ASKED = "How warm is it in Busan?"
CALL = called("weather", {"city": "Busan"})
SAID = said("It is 31 degrees in Busan.")
SUNNY = "sunny 31C"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream) as opened:
        yield opened


class Chat:
    """A client that sends its whole history and runs one tool. ``sent``: its messages."""

    def __init__(self, service: Inside, *, stream: bool = False) -> None:
        self.service, self.stream = service, stream
        self.sent: list[Json] = []

    def post(self, **fields: Any) -> httpx2.Response:
        body = {"messages": self.sent, "tools": [WEATHER], "stream": self.stream, **fields}
        return self.service.post("/v1/chat/completions", body)

    def ask(self, text: str, **fields: Any) -> Json:
        self.sent.append({"role": "user", "content": text})
        return self.take(self.post(**fields))

    def take(self, response: httpx2.Response) -> Json:
        """Adds the message of a response to the history and returns it."""
        assert response.status_code == 200, response.text
        self.response = response
        message = streamed(response.text) if self.stream else response.json()["choices"][0]["message"]
        self.sent.append(message)
        return message

    def bring(self, message: Json, result: str = SUNNY) -> None:
        """Adds the results of the calls of a message to the history."""
        for call in message["tool_calls"]:
            self.sent.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    @property
    def reason(self) -> str:
        if self.stream:
            chunks = [json.loads(line[6:]) for line in self.response.text.splitlines() if line.startswith("data: {")]
            return str(chunks[-1]["choices"][0]["finish_reason"])
        return str(self.response.json()["choices"][0]["finish_reason"])

    @property
    def turns(self) -> list[Any]:
        return self.service.agent.store.turns(self.response.headers["x-gieok-session"], limit=9)


def streamed(text: str) -> Json:
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in text.splitlines() if line.startswith("data: {")]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    plain = [{name: value for name, value in call.items() if name != "index"} for call in calls]
    return {"role": "assistant", "content": content(text), **({"tool_calls": plain} if plain else {})}


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def chat(service: Inside, request: pytest.FixtureRequest) -> Chat:
    return Chat(service, stream=request.param)


# --- one turn -------------------------------------------------------------------------------------


def test_a_call_ends_the_reply_and_its_result_goes_on_with_the_turn(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID)
    message = chat.ask(ASKED)
    (call,) = message["tool_calls"]
    assert (call["type"], call["function"]["name"], chat.reason) == ("function", "weather", "tool_calls")
    assert json.loads(call["function"]["arguments"]) == {"city": "Busan"}
    assert [turn.status for turn in chat.turns] == ["waiting"]
    chat.bring(message)
    assert chat.take(chat.post())["content"] == "It is 31 degrees in Busan."
    assert chat.reason == "stop"
    (turn,) = chat.turns
    assert (turn.question, turn.answer, turn.status) == (ASKED, "It is 31 degrees in Busan.", "done")
    assert [(step["name"], step["result"], step["foreign"]) for step in turn.steps] == [("weather", SUNNY, True)]
    first, second = (request.body for request in chat.service.upstream.requests)
    assert WEATHER in first["tools"]
    assert [message["content"] for message in second["messages"] if message["role"] == "tool"] == [SUNNY]


def test_the_conversation_goes_on_after_it(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID, said("You are welcome."), CALL, SAID)
    chat.bring(chat.ask(ASKED))
    chat.take(chat.post())
    chat.ask("Thank you, that helps me a lot.")
    assert chat.response.headers["x-gieok-fit"] == "goes_on"
    chat.bring(chat.ask("And how warm is it now?"))
    chat.take(chat.post())
    assert [turn.question for turn in chat.turns] == [
        ASKED,
        "Thank you, that helps me a lot.",
        "And how warm is it now?",
    ]
    assert [turn.status for turn in chat.turns] == ["done"] * 3


def test_several_calls_and_several_rounds_are_one_turn(chat: Chat) -> None:
    pair = Reply((*CALL.chunks[:-2], *again(called("weather", {"city": "Seoul"}, call="call_2")), *CALL.chunks[-2:]))
    chat.service.upstream.add(pair, CALL, SAID)
    message = chat.ask(ASKED)
    assert [json.loads(call["function"]["arguments"])["city"] for call in message["tool_calls"]] == ["Busan", "Seoul"]
    assert len({call["id"] for call in message["tool_calls"]}) == 2
    chat.bring(message)
    second = chat.take(chat.post())
    assert second["tool_calls"][0]["id"] not in [call["id"] for call in message["tool_calls"]]
    chat.bring(second, "cloudy")
    assert chat.take(chat.post())["content"] == "It is 31 degrees in Busan."
    (turn,) = chat.turns
    assert sorted(step["result"] for step in turn.steps) == ["cloudy", SUNNY, SUNNY]


def again(reply: Reply) -> list[Any]:
    """The chunks of a call as the second one of the same message."""
    chunks = json.loads(json.dumps(reply.chunks[1:-2]))
    for chunk in chunks:
        chunk["choices"][0]["delta"]["tool_calls"][0]["index"] = 1
    return list(chunks)


def test_calls_to_which_a_server_gives_one_id_have_their_own_results(chat: Chat) -> None:
    pair = Reply((*CALL.chunks[:-2], *again(called("weather", {"city": "Seoul"})), *CALL.chunks[-2:]))
    chat.service.upstream.add(pair, SAID)
    calls = chat.ask("How warm is it in Busan and Seoul?")["tool_calls"]
    assert len({call["id"] for call in calls}) == 2
    for call, result in zip(calls, ("busan 31C", "seoul 28C"), strict=True):
        chat.sent.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    chat.take(chat.post())
    (turn,) = chat.turns
    assert [(step["arguments"]["city"], step["result"]) for step in turn.steps] == [
        ("Busan", "busan 31C"),
        ("Seoul", "seoul 28C"),
    ]


def test_our_own_tools_run_beside_it(chat: Chat) -> None:
    chat.service.upstream.add(called("calculate", {"expression": "6*7"}), CALL, SAID)
    message = chat.ask("What is 6*7, and how warm is it?")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["weather"]
    chat.bring(message)
    chat.take(chat.post())
    (turn,) = chat.turns
    assert [step["name"] for step in turn.steps] == ["calculate", "weather"]


def test_what_was_said_before_a_call_is_shown_and_the_conversation_is_found_again(chat: Chat) -> None:
    words = said("Let me look.")
    chat.service.upstream.add(Reply((*words.chunks[:-2], *CALL.chunks[1:])), SAID, said("Bye."))
    message = chat.ask(ASKED)
    assert message["content"].strip() == "Let me look."
    chat.bring(message)
    chat.take(chat.post())
    chat.ask("Thank you, that helps me a lot.")
    assert [turn.question for turn in chat.turns] == [ASKED, "Thank you, that helps me a lot."]


def test_the_tokens_of_each_reply_are_its_own(service: Inside) -> None:
    service.upstream.add(CALL, said("Warm.", prompt=100))
    chat = Chat(service)
    chat.bring(chat.ask(ASKED))
    assert chat.response.json()["usage"]["prompt_tokens"] == 30
    chat.take(chat.post())
    assert chat.response.json()["usage"]["prompt_tokens"] == 100


def test_results_may_come_without_the_tools(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID)
    chat.bring(chat.ask(ASKED))
    assert chat.take(chat.post(tools=None))["content"] == "It is 31 degrees in Busan."
    (turn,) = chat.turns
    assert [(step["result"], step["ok"], step["foreign"]) for step in turn.steps] == [(SUNNY, True, True)]


def test_a_result_without_the_tool_is_never_a_call_of_ours_with_that_name(chat: Chat) -> None:
    parameters = {"type": "object", "properties": {"expression": {"type": "string"}}}
    own = {"type": "function", "function": {"name": "calculate", "parameters": parameters}}
    chat.service.upstream.add(called("calculate", {"expression": "6*7"}), SAID)
    chat.bring(chat.ask("What is 6*7?", tools=[own]), "43")
    chat.take(chat.post(tools=None))
    (turn,) = chat.turns
    assert [(step["result"], step.get("foreign")) for step in turn.steps] == [("43", True)]


def test_a_call_without_its_result_is_told_to_the_model(service: Inside) -> None:
    pair = Reply((*CALL.chunks[:-2], *again(called("weather", {"city": "Seoul"}, call="call_2")), *CALL.chunks[-2:]))
    service.upstream.add(pair, SAID)
    chat = Chat(service)
    chat.bring(chat.ask(ASKED))
    del chat.sent[-1]
    chat.take(chat.post())
    (turn,) = chat.turns
    assert [(step["result"], step["ok"]) for step in turn.steps] == [
        (SUNNY, True),
        ("The user's program brought no result. Go on without it.", False),
    ]


# --- choices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "weather"}}], ids=["required", "named"]
)
def test_a_call_that_the_client_wants_is_one_of_its_own_tools(service: Inside, choice: Any) -> None:
    service.upstream.add(CALL)
    Chat(service).ask("Hello", tool_choice=choice, parallel_tool_calls=False)
    sent = service.upstream.requests[-1].body
    assert (sent["tools"], sent["tool_choice"], sent["parallel_tool_calls"]) == ([WEATHER], choice, False)


def test_with_none_no_tool_of_the_client_is_offered(service: Inside) -> None:
    Chat(service).ask(ASKED, tool_choice="none")
    assert WEATHER not in service.upstream.requests[-1].body.get("tools", [])


def test_a_tool_of_the_client_takes_the_place_of_ours_with_its_name(service: Inside) -> None:
    own = {"type": "function", "function": {"name": "calculate", "parameters": {"type": "object", "properties": {}}}}
    service.upstream.add(called("calculate", {}))
    message = Chat(service).ask("What is 6*7?", tools=[own])
    names = [tool["function"]["name"] for tool in service.upstream.requests[-1].body["tools"]]
    assert names.count("calculate") == 1
    assert message["tool_calls"][0]["function"]["name"] == "calculate"


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_choice": "sometimes"},
        {"tool_choice": {"type": "function", "function": {"name": "other"}}},
        {"tools": [], "tool_choice": "required"},
        {"tools": "weather"},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": 1}}]},
        {"tools": [WEATHER] * 200},
    ],
)
def test_tools_that_are_none_are_refused(service: Inside, fields: Json) -> None:
    chat = Chat(service)
    chat.sent = [{"role": "user", "content": ASKED}]
    refused = chat.post(**fields)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")
    assert service.upstream.requests == []


def test_a_model_that_calls_no_tools_leaves_them_out_and_says_so(tmp_path: Path) -> None:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream, model_profile="small") as service:
        chat = Chat(service)
        chat.ask(ASKED)
        assert chat.response.headers["x-gieok-left-out"] == "tools"
        other = {"type": "function", "function": {"name": "other"}}
        refused = chat.post(tool_choice="required", tools=[WEATHER, other])
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tool_choice")


# --- what is sent twice ---------------------------------------------------------------------------


def test_results_that_come_twice_bring_the_same_answer(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID)
    chat.bring(chat.ask(ASKED))
    one, other = chat.post(), chat.post()
    assert chat.take(one)["content"] == chat.take(other)["content"] == "It is 31 degrees in Busan."
    assert len(chat.service.upstream.requests) == 2
    assert len(chat.turns) == 1


def test_results_that_come_twice_at_once_run_once(service: Inside) -> None:
    service.upstream.add(CALL, SAID.but(silence=1.0))
    chat = Chat(service)
    chat.bring(chat.ask(ASKED))
    with ThreadPoolExecutor(3) as pool:
        responses = [each.result() for each in [pool.submit(chat.post) for _ in range(3)]]
    assert {chat.take(each)["content"] for each in responses} == {"It is 31 degrees in Busan."}
    assert len(service.upstream.requests) == 2
    assert len(chat.turns) == 1
    until(lambda: service.places == 0)


def test_a_question_whose_calls_never_arrived_gets_them_again(chat: Chat) -> None:
    chat.service.upstream.add(said("Hello."), CALL, SAID)
    chat.ask("Good morning, my name is Minsu.")
    first = chat.ask(ASKED)
    del chat.sent[-1]
    second = chat.take(chat.post())
    assert second["tool_calls"] == first["tool_calls"]
    chat.bring(second)
    chat.take(chat.post())
    assert [turn.question for turn in chat.turns] == ["Good morning, my name is Minsu.", ASKED]
    assert len(chat.service.upstream.requests) == 3


def test_after_a_failure_the_same_results_go_on(chat: Chat) -> None:
    chat.service.upstream.add(CALL, failed(400, "odd"), SAID)
    chat.bring(chat.ask(ASKED))
    assert "It is" not in chat.post().text
    assert chat.take(chat.post())["content"] == "It is 31 degrees in Busan."
    (turn,) = chat.turns
    assert (turn.status, [step["result"] for step in turn.steps]) == ("done", [SUNNY])


def test_a_new_message_ends_the_wait_and_keeps_what_came_with_it(chat: Chat) -> None:
    chat.service.upstream.add(CALL, said("Fine, Seoul then."))
    chat.bring(chat.ask(ASKED))
    chat.ask("Never mind. And Seoul?")
    assert SUNNY in json.dumps(chat.service.upstream.requests[-1].body["messages"])
    assert chat.turns[-1].status == "done"


def test_a_user_who_refuses_in_the_page_gets_an_answer_there_and_late_results_that_answer(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID)
    chat.bring(chat.ask(ASKED))
    *_, end = chat.service.agent.resume(chat.response.headers["x-gieok-session"], {})
    assert isinstance(end, Done)
    assert chat.take(chat.post())["content"] == end.answer == "It is 31 degrees in Busan."
    (turn,) = chat.turns
    assert [step["ok"] for step in turn.steps] == [False]


def test_results_of_another_users_turn_go_nowhere(tmp_path: Path) -> None:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream) as service:
        chat = Chat(service)
        upstream.add(CALL)
        chat.bring(chat.ask(ASKED))
        waiting = chat.response.headers["x-gieok-session"]
        key = service.agent.store.api_keys.add("other", "bob")
        body = {"messages": chat.sent, "tools": [WEATHER]}
        other = service.post("/v1/chat/completions", body, Authorization=f"Bearer {key}")
        assert other.headers["x-gieok-session"] != waiting
        (turn,) = service.agent.store.turns(waiting, limit=9)
        assert turn.status == "waiting"


# --- real clients ---------------------------------------------------------------------------------


def client(service: Inside) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{service.root}/v1", api_key="none", max_retries=0, timeout=60)


def langchain(service: Inside) -> ChatOpenAI:
    return ChatOpenAI(base_url=f"{service.root}/v1", api_key=SecretStr("none"), model="gieok", max_retries=0)


class Dog(BaseModel):
    """A dog."""

    name: str
    age: int


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{SUNNY} in {city}"


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("streaming", [False, True])
def test_langchains_agent_works_and_is_one_turn(service: Inside, streaming: bool) -> None:
    service.upstream.add(CALL, CALL, SAID)
    model = langchain(service).model_copy(update={"streaming": streaming})
    agent = create_react_agent(model, [weather])
    end = agent.invoke({"messages": [HumanMessage(ASKED)]})
    assert end["messages"][-1].text == "It is 31 degrees in Busan."
    (session,) = service.agent.store.sessions(limit=9)
    (turn,) = service.agent.store.turns(session.id, limit=9)
    assert [step["result"] for step in turn.steps] == [f"{SUNNY} in Busan"] * 2


def test_langchains_structured_output_by_function_calling(service: Inside) -> None:
    service.upstream.add(called("Dog", {"name": "Bori", "age": 3}))
    made = langchain(service).with_structured_output(Dog, method="function_calling").invoke("Which dog?")
    assert made == Dog(name="Bori", age=3)


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_calls_no_tools_fills_in_the_one_it_must_call(tmp_path: Path, stream: bool) -> None:
    with (
        Upstream(always=said('{"city": "Busan"}')) as upstream,
        inside(tmp_path, upstream, model_profile="small") as own,
    ):
        chat = Chat(own, stream=stream)
        message = chat.ask(ASKED, tool_choice={"type": "function", "function": {"name": "weather"}})
        assert not message["content"]
        (call,) = message["tool_calls"]
        assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("weather", {"city": "Busan"})
        assert chat.reason == "tool_calls"
        assert upstream.requests[-1].body["response_format"]["json_schema"]["name"] == "weather"
        assert [(turn.status, turn.answer) for turn in chat.turns] == [("done", '{"city": "Busan"}')]
        upstream.always = SAID
        chat.bring(message)
        assert chat.take(chat.post(tools=None))["content"] == "It is 31 degrees in Busan."
        assert SUNNY in json.dumps(upstream.requests[-1].body["messages"])


@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
def test_a_small_model_gives_langchain_structured_output(tmp_path: Path, method: Any) -> None:
    reply = said('{"name": "Bori", "age": 3}')
    with Upstream(always=reply) as upstream, inside(tmp_path, upstream, model_profile="small") as own:
        made = langchain(own).with_structured_output(Dog, method=method).invoke("Which dog? Answer in JSON.")
        assert made == Dog(name="Bori", age=3)


def test_the_sdk_parses_a_call_and_goes_on(service: Inside) -> None:
    service.upstream.add(called("Dog", {"name": "Bori", "age": 3}), SAID)
    messages: list[Any] = [{"role": "user", "content": "Which dog?"}]
    tools: Any = [openai.pydantic_function_tool(Dog)]
    made = client(service).chat.completions.parse(model="gieok", messages=messages, tools=tools).choices[0].message
    assert made.tool_calls is not None
    assert made.tool_calls[0].function.parsed_arguments == Dog(name="Bori", age=3)
    messages += [made, {"role": "tool", "tool_call_id": made.tool_calls[0].id, "content": "ok"}]
    end = client(service).chat.completions.create(model="gieok", messages=messages, tools=tools)
    assert end.choices[0].message.content == "It is 31 degrees in Busan."


FLAT: Any = {"type": "function", "strict": False, **WEATHER["function"]}


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("chained", [False, True], ids=["history", "previous"])
def test_the_responses_api_calls_and_goes_on(service: Inside, streaming: bool, chained: bool) -> None:
    service.upstream.add(CALL, SAID)
    responses = client(service).responses

    def create(**fields: Any) -> Any:
        if not streaming:
            return responses.create(model="gieok", tools=[FLAT], **fields)
        with responses.stream(model="gieok", tools=[FLAT], **fields) as events:
            for _ in events:
                pass
            return events.get_final_response()

    first = create(input=[{"role": "user", "content": ASKED}])
    (call,) = (item for item in first.output if item.type == "function_call")
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Busan"})
    result = {"type": "function_call_output", "call_id": call.call_id, "output": SUNNY}
    if chained:
        end = create(input=[result], previous_response_id=first.id)
    else:
        plain = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
        end = create(input=[{"role": "user", "content": ASKED}, plain, result])
    assert end.output_text == "It is 31 degrees in Busan."
    (session,) = service.agent.store.sessions(limit=9)
    (turn,) = service.agent.store.turns(session.id, limit=9)
    assert (turn.status, [step["result"] for step in turn.steps]) == ("done", [SUNNY])


# --- a server that is killed ------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["waiting", "answering"])
def test_after_a_kill_the_results_go_on_with_the_turn(tmp_path: Path, place: str) -> None:
    with Upstream(CALL, always=SAID) as upstream:
        with served(tmp_path, upstream.url, **CALM) as server:
            asked: Json = {"messages": [{"role": "user", "content": ASKED}], "tools": [WEATHER]}
            first = httpx2.post(f"{server.url}/chat/completions", json=asked, timeout=60)
            message = first.json()["choices"][0]["message"]
            result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": SUNNY}
            body = {**asked, "messages": [*asked["messages"], message, result]}
            if place == "answering":
                upstream.add(silent())
                with pytest.raises(httpx2.HTTPError):
                    kill_while_answering(server, upstream, body)
            else:
                server.kill()
        with served(tmp_path, upstream.url, **CALM) as server:
            answers = [httpx2.post(f"{server.url}/chat/completions", json=body, timeout=60) for _ in range(2)]
    assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == [
        "It is 31 degrees in Busan."
    ] * 2
    with closing(Store(f"sqlite:///{tmp_path / 'data' / 'gieok.db'}")) as store:
        (turn,) = store.everyone.turns(first.headers["x-gieok-session"], limit=9)
    assert (turn.status, turn.question) == ("done", ASKED)
    assert [(step["name"], step["result"]) for step in turn.steps] == [("weather", SUNNY)]
    given = [message for message in upstream.requests[-1].body["messages"] if message["role"] == "tool"]
    assert [message["content"] for message in given] == [SUNNY]


def kill_while_answering(server: Server, upstream: Upstream, body: Json) -> None:
    """Sends the results, and kills the server while its model is silent."""
    before = len(upstream.requests)

    def kill() -> None:
        until(lambda: len(upstream.requests) > before)
        server.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        httpx2.post(f"{server.url}/chat/completions", json=body, timeout=60)
    finally:
        killer.join()


# --- the user speaks before an answer -------------------------------------------------------------

DOG: Json = {"type": "function", "function": {"name": "Dog", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("results", "choice", "answer"),
    [
        (["sunny 31C", "Final result processed."], "required", '{"name": "Bori"}'),
        (["sunny 31C", "Final result processed."], "auto", 'Dog({"name": "Bori"})'),
        (["sunny 31C"], "required", 'Dog({"name": "Bori"})'),
        (["sunny 31C"], "auto", 'Dog({"name": "Bori"})'),
    ],
    ids=["form", "stopped", "form without result", "stopped before the result"],
)
def test_a_call_that_ends_an_agent_s_work_ends_its_turn(
    chat: Chat, results: list[str], choice: str, answer: str
) -> None:
    """An agent whose answer has a form lets its model do nothing but call tools, and says that the last call was taken:
    its arguments are the answer. Any other call is one that its user may have stopped."""
    chat.service.upstream.add(CALL, called("Dog", {"name": "Bori"}), said("You are welcome."), said("Once more."))
    fields: Json = {"tools": [WEATHER, DOG], "tool_choice": choice}
    chat.bring(chat.ask(ASKED, **fields), results[0])
    message = chat.take(chat.post(**fields))
    for result in results[1:]:
        chat.bring(message, result)
    assert chat.ask("Thank you, that helps me a lot.")["content"] == "You are welcome."
    assert chat.ask("Could you say it again?")["content"] == "Once more."
    questions = [ASKED, "Thank you, that helps me a lot.", "Could you say it again?"]
    assert [(turn.question, turn.status, turn.given) for turn in chat.turns] == [
        (question, "done", False) for question in questions
    ]
    assert chat.turns[0].answer == answer
    assert [step["result"] for step in chat.turns[0].steps][:-1] == ["sunny 31C"]
    assert len(chat.service.agent.store.sessions(limit=9)) == 1
    assert len(chat.service.upstream.requests) == 4
    (sent,) = [
        each["content"] for each in chat.service.upstream.requests[2].body["messages"] if each["role"] == "tool"
    ][1:]
    assert sent == results[1] if results[1:] else "no result" in sent


def test_a_call_of_a_tool_after_which_the_work_went_on_before_is_told_with_its_name(chat: Chat) -> None:
    chat.service.upstream.add(CALL, called("weather", {"city": "Seoul"}), said("As you wish."))
    chat.bring(chat.ask(ASKED, tool_choice="required"))
    chat.bring(chat.take(chat.post(tool_choice="required")), "rain 9C")
    assert chat.ask("Never mind that, please.")["content"] == "As you wish."
    assert chat.turns[0].answer == 'weather({"city": "Seoul"})'


def test_several_calls_at_once_are_told_with_their_names(chat: Chat) -> None:
    pair = Reply((*CALL.chunks[:-2], *again(called("weather", {"city": "Seoul"}, call="call_2")), *CALL.chunks[-2:]))
    chat.service.upstream.add(pair)
    chat.bring(chat.ask(ASKED, tool_choice="required"))
    chat.ask("Never mind that, please.")
    assert chat.turns[0].answer == 'weather({"city": "Busan"})\nweather({"city": "Seoul"})'


def test_each_version_of_a_turn_has_the_answer_of_its_own_call(chat: Chat) -> None:
    """Also where the conversation has gone on with another version since."""
    busan, seoul = (called("weather", {"city": city}) for city in ("Busan", "Seoul"))
    chat.service.upstream.add(said("Hello."), busan, said("Noted."), seoul, said("You are welcome."), said("Again."))
    chat.ask("Good morning, my name is Minsu.")
    chat.bring(chat.ask(ASKED))
    chat.ask("Thank you, that helps me a lot.")
    first, chat.sent = chat.sent, chat.sent[:2]
    chat.bring(chat.ask(ASKED))
    chat.ask("That is not what I meant.")
    chat.sent = first
    chat.ask("Could you say it again?")
    assert [(turn.question, turn.given) for turn in chat.turns] == [
        ("Good morning, my name is Minsu.", False),
        (ASKED, False),
        ("Thank you, that helps me a lot.", False),
        ("Could you say it again?", False),
    ]
    assert chat.turns[1].answer == 'weather({"city": "Busan"})'
    assert len(chat.service.agent.store.sessions(limit=9)) == 1


def test_a_call_of_another_version_ends_no_turn(chat: Chat) -> None:
    chat.service.upstream.add(said("Hello."), CALL, said("Warm."), CALL)
    chat.ask("Good morning, my name is Minsu.")
    chat.bring(chat.ask(ASKED))
    chat.take(chat.post())
    version = [*chat.sent[:-1], {"role": "user", "content": "Bye."}]
    del chat.sent[2:]
    chat.ask(ASKED)
    assert chat.turns[-1].status == "waiting"
    assert find_left_turn(chat.service.agent, chat_body({"messages": version}).messages) is None


def test_the_answers_of_all_calls_that_ended_turns_are_read_at_once(service: Inside) -> None:
    chat = Chat(service)
    counts = list[int]()
    service.upstream.always = lambda body: CALL if body.get("tools") else said("A summary.")
    for number in range(6):
        chat.bring(chat.ask(f"How warm is it on day {number}?", tool_choice="required"))
        sent = chat_body({"messages": [*chat.sent, {"role": "user", "content": "Bye."}]}).messages
        counts.append(count_statements(service, sent))
    assert len(chat.turns) == 6
    assert len(set(counts[1:])) == 1


def count_statements(service: Inside, sent: Sequence[ClientMessage]) -> int:
    """The statements that a request costs to find its own calls."""
    count = 0

    def tick(*_: object) -> None:
        nonlocal count
        count += 1

    event.listen(service.agent.store.engine, "before_cursor_execute", tick)
    assert own_calls(service.agent, sent)
    event.remove(service.agent.store.engine, "before_cursor_execute", tick)
    return count


def test_a_call_with_an_id_of_an_earlier_version_gets_its_result(chat: Chat) -> None:
    """Whose ids named no branch."""
    chat.service.upstream.add(CALL, SAID)
    message = chat.ask(ASKED)
    (call,) = message["tool_calls"]
    session = chat.response.headers["x-gieok-session"]
    assert call["id"].startswith(f"call_{session}_1-0_")
    call["id"] = call["id"].replace("_1-0_", "_1_")
    chat.bring(message)
    assert chat.take(chat.post())["content"] == "It is 31 degrees in Busan."


def test_what_follows_a_call_through_the_id_of_its_response_goes_on(service: Inside) -> None:
    service.upstream.add(CALL, SAID)
    (tool, asked) = {"type": "function", **WEATHER["function"]}, service.post
    first = asked("/v1/responses", {"input": ASKED, "tools": [tool]}).json()
    call = first["output"][-1]["call_id"]
    told = [
        {"type": "function_call_output", "call_id": call, "output": SUNNY},
        {"role": "user", "content": "Thanks a lot."},
    ]
    asked("/v1/responses", {"input": told, "tools": [tool], "previous_response_id": first["id"]}).raise_for_status()
    (session,) = service.agent.store.sessions(limit=9)
    turns = service.agent.store.turns(session.id, limit=9)
    assert [(turn.question, turn.status) for turn in turns] == [(ASKED, "done"), ("Thanks a lot.", "done")]


def test_no_two_responses_have_one_id(service: Inside) -> None:
    """A client keeps an answer once for an id: LangChain puts the second one in the place of the first."""
    service.upstream.add(CALL, SAID)
    tool = {"type": "function", **WEATHER["function"]}
    first = service.post("/v1/responses", {"input": ASKED, "tools": [tool]}).json()
    call = first["output"][-1]["call_id"]
    result = {"type": "function_call_output", "call_id": call, "output": SUNNY}
    after = {"input": [result], "tools": [tool], "previous_response_id": first["id"]}
    second = service.post("/v1/responses", after).json()
    assert first["id"] != second["id"]
    earlier = second["id"].rpartition("_r")[0]  # as earlier versions named it
    for follows in (second["id"], earlier):
        service.post("/v1/responses", {"input": "Thanks a lot.", "previous_response_id": follows}).raise_for_status()
    assert len(service.agent.store.sessions(limit=9)) == 1


def test_a_result_that_stands_in_the_wrong_place_is_in_the_record_already(chat: Chat) -> None:
    chat.service.upstream.add(CALL, SAID)
    asked = chat.ask(ASKED)
    chat.bring(asked)
    answer = chat.take(chat.post())
    chat.sent = [chat.sent[0], answer, chat.sent[2]]
    chat.ask("Thank you, that helps me a lot.")
    assert chat.response.headers["x-gieok-fit"] == "goes_on"
    assert [turn.question for turn in chat.turns] == [ASKED, "Thank you, that helps me a lot."]
