"""Foreign tools on real servers: both generations of the protocol, what they ask, and everything that goes wrong."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import mcp_types as types
import psutil
import pytest
from langchain_core.tools import ToolException

from errors import ServersUnreadable
from host.connection import Connection
from host.entry import ServerEntry
from host.host import AWAY_SECONDS, McpHost, ServerState, _build_server_state, _Server
from host.loop import Loop
from host.pool import Pool
from host.result import render_tool_result
from host.tool import ForeignTool, build_usable_schema, model_name
from host.transport import MOST_BYTES
from model.call.stream import Stopped
from store.turn.question import UserAnswer, build_call_configuration, parse_user_answer
from tests.host.conftest import SERVER, STATELESS, Hosted
from tests.wait import until

Open = Callable[..., Hosted]
_NO_CONTEXT = cast("Any", None)
BOTH = pytest.mark.parametrize("mode", ["stdio", "legacy"])
PAGED = Path(__file__).with_name("paged.py")


def test_a_file_that_cannot_be_read_leaves_the_tools_out_until_it_can_be_again(
    hosted: Open, caplog: pytest.LogCaptureFixture
) -> None:
    one = hosted()
    one.command()
    file = one.folder / "mcp.json"
    whole = file.read_text()
    assert "t__add" in one.tools()
    file.write_text("[" * 100_000)
    for _ in range(2):
        assert one.tools() == {}
        with pytest.raises(ServersUnreadable):
            one.host.states()
    assert "foreign tools are left out" in caplog.text
    file.write_text(whole)
    assert one.call("t__add", a=1, b=2).text == "3"


@BOTH
def test_a_server_is_seen_and_its_tools_run(hosted: Open, mode: str) -> None:
    one = hosted()
    one.command(mode)
    state = one.host.test("t")
    assert (state.error, state.title) == ("", "tester 1.2.3")
    assert state.protocol == ("2026-07-28" if mode == "stdio" else "2025-11-25")
    result = one.call("t__add", a=2, b=3)
    assert (result.text, result.artifact) == ("5", {"server": "t"})


@pytest.mark.parametrize("mode", ["http", "legacy-http", "sse"])
def test_a_server_on_the_network(hosted: Open, listening: Callable[[str], str], mode: str) -> None:
    one = hosted()
    one.servers.put("net", {"url": listening(mode)})
    assert one.host.test("net").error == ""
    assert one.call("net__add", a=2, b=3).text == "5"


def test_only_the_listed_environment_reaches_a_server(hosted: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    one = hosted()
    one.command(env={"TOKEN": "abc"})
    assert one.call("t__environment", name="TOKEN").text == "abc"
    assert one.call("t__environment", name="OPENAI_API_KEY").text == "unset"


def test_a_handshake_server_asks_twice_in_one_call(hosted: Open) -> None:
    one = hosted()
    one.command("legacy")
    (first,) = one.asks("t__book", place="Seoul")
    assert (first.kind, first.text, first.server, first.tool) == ("form", "How many at Seoul?", "t", "t__book")
    assert set(first.schema["properties"]) == {"persons", "seat"}
    answers = {first.id: UserAnswer("answer", {"persons": 3}, first.state)}
    (second,) = one.asks("t__book", answers, place="Seoul")
    assert second.id != first.id
    answers |= {second.id: UserAnswer("answer", {"persons": 3, "seat": "door"}, second.state)}
    assert one.call("t__book", answers, place="Seoul").text == "booked Seoul for 3, door"


def test_a_refusal_reaches_the_server(hosted: Open) -> None:
    one = hosted()
    one.command("legacy")
    (first,) = one.asks("t__book", place="Seoul")
    assert one.call("t__book", {first.id: UserAnswer("no", None, first.state)}, place="Seoul").text == "not booked"


def test_a_server_wants_a_login(hosted: Open) -> None:
    one = hosted()
    one.command("legacy")
    (asked,) = one.asks("t__enter")
    assert (asked.kind, asked.url, asked.text) == ("login", "https://mail.example/login", "Sign in first.")
    assert one.call("t__enter", {asked.id: UserAnswer("answer", None, asked.state)}).text == "signed in"


def test_the_question_of_a_handshake_server_does_not_outlive_the_program(hosted: Open) -> None:
    one = hosted()
    one.command("legacy")
    (first,) = one.asks("t__book", place="Seoul")
    one.close()
    again = hosted()
    with pytest.raises(ToolException, match=r"is gone: .* Call the tool again"):
        again.call("t__book", {first.id: UserAnswer("answer", {"persons": 3}, first.state)}, place="Seoul")


def test_the_questions_of_a_stateless_server_do(hosted: Open) -> None:
    one = hosted()
    one.command(script=STATELESS)
    form, login = one.asks("t__book", place="Seoul")
    assert (form.kind, login.kind, login.url) == ("form", "login", "https://mail.example/in")
    one.close()
    again = hosted()
    given = {
        form.id: parse_user_answer(UserAnswer("answer", {"persons": 2}, form.state).plain()),
        login.id: parse_user_answer(UserAnswer("no", None, login.state).plain()),
    }
    assert again.call("t__book", given, place="Seoul").text == "asked Seoul: 2, decline"


@pytest.mark.parametrize(("mode", "script"), [("legacy", None), ("stdio", STATELESS)])
def test_a_server_asks_our_model_only_when_it_may(hosted: Open, mode: str, script: Path | None) -> None:
    one = hosted()
    one.command(mode, sampling=True, script=script or SERVER)
    result = one.call("t__think")
    assert result.text == "it is a duck"
    assert result.artifact == {"server": "t", "sampled": [{"asked": "What is it?", "answered": "a duck"}]}
    one.servers.change("t", sampling=False)
    with pytest.raises(ToolException):
        one.call("t__think")
    assert one.asked_model == ["What is it?"]


@pytest.mark.parametrize(
    ("tool", "said"),
    [("die", "Connection closed"), ("hang", "gave no result in 4 s"), ("refuse", "refuse")],
)
def test_what_goes_wrong_is_told_and_the_next_call_works(hosted: Open, tool: str, said: str) -> None:
    one = hosted(**({"call_seconds": 4.0} if tool == "hang" else {}))
    one.command()
    with pytest.raises(ToolException, match=said):
        one.call(f"t__{tool}")
    assert one.call("t__add", a=1, b=1).text == "2"


@pytest.mark.parametrize("mode", ["stdio", "noisy"])
def test_garbage_on_the_way_does_no_harm(hosted: Open, mode: str) -> None:
    one = hosted()
    one.command(mode)
    assert one.call("t__garbage").text == "clean"


def _reached(hosted: Open, listening: Callable[[str], str], where: str) -> Hosted:
    """A host with the server as a program (``stdio``) or at an address."""
    one = hosted()
    if where == "stdio":
        one.command(name="t")
    else:
        one.servers.put("t", {"url": listening("http")})
    return one


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each piece has that is read from a server, be it from a pipe or as the answer to a request."""
    sizes, feed, ask = list[int](), asyncio.StreamReader.feed_data, httpx2.AsyncHTTPTransport.handle_async_request

    class Counted(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self.aclose, self._stream = stream.aclose, stream  # type: ignore[method-assign]

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._stream:
                sizes.append(len(piece))
                yield piece

    def fed(self: asyncio.StreamReader, data: bytes) -> None:
        sizes.append(len(data))
        feed(self, data)

    async def asked(self: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        response = await ask(self, request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Counted(response.stream)
        return response

    monkeypatch.setattr(asyncio.StreamReader, "feed_data", fed)
    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", asked)
    return sizes


@pytest.mark.parametrize("where", ["stdio", "http"])
def test_a_flood_of_50_mb_ends_at_the_transport(
    hosted: Open, listening: Callable[[str], str], read: list[int], where: str
) -> None:
    one = _reached(hosted, listening, where)
    one.call("t__add", a=1, b=1)
    read.clear()
    with pytest.raises(ToolException):
        one.call("t__flood")
    assert MOST_BYTES < sum(read) < 1.5 * MOST_BYTES, "the flood has 50,000,000"
    assert one.call("t__add", a=1, b=1).text == "2"


@pytest.mark.parametrize("where", ["stdio", "http"])
def test_a_result_of_more_than_a_megabyte_is_cut(hosted: Open, listening: Callable[[str], str], where: str) -> None:
    one = _reached(hosted, listening, where)
    text = one.call("t__count", to=200_000).text
    assert text.startswith("0 1 2 3 4 ")
    assert text[1_000_000:] == "\n… (288,889 more characters were left out)"
    assert one.call("t__add", a=1, b=1).text == "2"


def test_a_stop_ends_a_call_that_hangs(hosted: Open) -> None:
    one, stop = hosted(), threading.Event()
    one.command()
    one.tools()
    timer = threading.Timer(0.5, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        one.call("t__hang", stop=stop)
    assert one.call("t__add", a=1, b=1).text == "2"
    started = [int(path.name.removeprefix("pid-")) for path in one.folder.glob("pid-*")]
    one.close()
    assert not any(psutil.pid_exists(pid) for pid in started), "the one that hangs was told to end, too"


@pytest.mark.parametrize(("mode", "script"), [("silent", SERVER), ("deaf", STATELESS)])
def test_a_stop_ends_a_server_that_does_not_answer(hosted: Open, mode: str, script: Path) -> None:
    one, stop = hosted(), threading.Event()
    one.command(mode, script=script)
    timer = threading.Timer(2.0, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        one.tools(stop=stop)
    ours = psutil.Process().children(recursive=True)
    _, alive = psutil.wait_procs([process for process in ours if mode in _command(process)], timeout=60)
    assert alive == []
    assert not one.host._known["t"].pool._used


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def test_a_call_that_fails_keeps_no_connection(hosted: Open) -> None:
    one = hosted()
    one.command(script=STATELESS)
    with pytest.raises(ToolException, match="not allowed"):
        one.call("t__think")
    assert not one.host._known["t"].pool._used


def test_what_a_server_asks_after_its_call_belongs_to_no_other() -> None:
    form = types.ElicitRequestFormParams(message="How many?", requested_schema={"type": "object", "properties": {}})

    async def late() -> tuple[str, str]:
        connection = Connection(ServerEntry(command="unused"), lambda: None, called=True)
        asking = asyncio.create_task(connection._elicit(_NO_CONTEXT, form))
        await asyncio.sleep(0)
        assert not connection.asked.empty()
        connection.rest()
        after = await connection._elicit(_NO_CONTEXT, form)
        return (await asking).action, after.action  # type: ignore[union-attr]

    loop = Loop()
    assert loop.run(late()) == ("cancel", "cancel")
    loop.close()


def test_a_tool_asks_until_it_is_always_allowed_and_again_when_it_changes(hosted: Open) -> None:
    one = hosted()
    one.command("legacy")
    add = one.tools()["t__add"]
    question = add.question("1.c", {"a": 1})  # type: ignore[attr-defined]
    assert (question.kind, question.id, question.server, question.arguments) == ("approve", "1.c", "t", {"a": 1})
    add.allow("once")  # type: ignore[attr-defined]
    assert one.tools()["t__add"].question("1.c", {})  # type: ignore[attr-defined]
    add.allow("always")  # type: ignore[attr-defined]
    assert one.tools()["t__add"].question("1.c", {}) is None  # type: ignore[attr-defined]
    one.call("t__change")
    changed = one.tools()["t__add"]
    assert changed.description == "Adds two numbers, really."
    assert changed.question("1.c", {})  # type: ignore[attr-defined]


def test_the_file_gives_and_takes_permissions(hosted: Open) -> None:
    one = hosted()
    one.command(tools={"add": "allow", "die": "off"})
    tools = one.tools()
    assert tools["t__add"].question("1.c", {}) is None  # type: ignore[attr-defined]
    assert "t__die" not in tools
    one.servers.change("t", disabled=True)
    assert one.tools() == {}


def test_a_server_that_cannot_be_reached_is_left_out_and_says_why(hosted: Open) -> None:
    one = hosted()
    one.command()
    one.servers.put("gone", {"command": "/no/such/program"})
    one.servers.put("away", {"url": "http://127.0.0.1:9/mcp"})
    one.servers.put("broken", {"command": "python3", "args": ["-c", "raise SystemExit(1)"]})
    assert {name.split("__")[0] for name in one.tools()} == {"t"}
    errors = {state.name: state.error for state in one.host.states()}
    assert errors["t"] == ""
    assert "the command was not found" in errors["gone"]
    assert all(errors[name] for name in ("away", "broken"))


def test_a_server_that_is_away_delays_one_turn_and_no_other(hosted: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that does not know it waits for it once. Afterwards it is looked for beside the turns, with growing
    pauses."""
    one = hosted()
    one.host = McpHost(one.servers, connect_seconds=1.0)
    one.command("silent", name="away")
    assert one.tools() == {}
    away = one.host._known["away"]
    since, looks = away.state.away_since, []
    assert since > 0

    async def look(server: Any) -> None:
        looks.append(server.name)

    monkeypatch.setattr(one.host, "_look", look)
    one.tools()
    assert looks == [], "it is left alone at first"
    away.looked -= AWAY_SECONDS
    one.tools()
    until(lambda: looks == ["away"])
    monkeypatch.undo()
    one.tools()  # returns while the server is still being looked for
    until(lambda: away.failures == 2)
    assert away.state.away_since == since
    away.looked -= AWAY_SECONDS
    assert not away.is_due, "the second pause is longer"
    away.looked -= AWAY_SECONDS
    assert away.is_due


def test_a_call_that_cannot_reach_its_server_notes_that_it_is_away_and_no_other_waits_for_it(hosted: Open) -> None:
    one = hosted()
    one.command()
    add = one.tools()["t__add"]
    with pytest.raises(ToolException):
        one.call("t__die")
    (one.folder / "silent").touch()
    server = one.host._known["t"]
    server.pool.seconds = 1.0
    call = {"name": "t__add", "args": {"a": 1, "b": 1}, "id": "c", "type": "tool_call"}
    for failures, later in ((1, 0.0), (1, 0.0), (2, AWAY_SECONDS)):
        server.looked -= later
        with pytest.raises(ToolException, match="no answer in 1 s"):
            add.invoke(call, {"configurable": build_call_configuration("1.c", {})})
        assert server.failures == failures
        assert one.host.states()[0].away_since > 0
    assert one.tools() == {}


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No connection ends before this is set: as of a program that does not listen, for as long as the test wants."""
    opened, close = threading.Event(), Connection.close

    async def wait_and_close(self: Connection) -> None:
        while not opened.is_set():
            await asyncio.sleep(0.01)
        await close(self)

    monkeypatch.setattr(Connection, "close", wait_and_close)
    yield opened
    opened.set()


def test_nobody_waits_for_the_end_of_a_connection(hosted: Open, gate: threading.Event) -> None:
    one, ended = hosted(call_seconds=4.0), list[str]()
    one.command("legacy")

    def work() -> None:
        (question,) = one.asks("t__book", place="Seoul")
        one.host.let_go([question])
        ended.append("question")
        with pytest.raises(ToolException, match="gave no result"):
            one.call("t__hang")
        ended.append("call")
        assert len(one.host._known["t"].pool._ending) == 2
        one.servers.change("t", disabled=True)
        assert one.host.states()[0].entry is not None
        ended.append("file")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    until(lambda: ended == ["question", "call", "file"])
    gate.set()
    one.close()
    assert not any(psutil.pid_exists(int(path.name.removeprefix("pid-"))) for path in one.folder.glob("pid-*"))


def test_a_program_that_never_answers_ends_as_soon_as_it_is_given_up(hosted: Open) -> None:
    one = hosted()
    one.host = McpHost(one.servers, connect_seconds=1.0)
    one.command("silent")
    assert one.tools() == {}
    until(lambda: not [each for each in psutil.Process().children(recursive=True) if "silent" in _command(each)])


def test_a_program_is_asked_for_its_tools_once(hosted: Open) -> None:
    one = hosted()
    one.command()
    assert one.call("t__add", a=1, b=1).text == "2"
    server, seen = one.host._known["t"], one.host._known["t"].looked
    assert one.call("t__add", a=1, b=2).text == "3"
    assert server.looked == seen


def test_no_program_outlives_the_host(hosted: Open) -> None:
    one = hosted()
    one.command()
    one.call("t__add", a=1, b=1)
    started = [int(path.name.removeprefix("pid-")) for path in one.folder.glob("pid-*")]
    assert any(psutil.pid_exists(pid) for pid in started)
    one.close()
    assert not any(psutil.pid_exists(pid) for pid in started)


def test_nothing_starts_without_a_server(hosted: Open) -> None:
    one = hosted()
    before = threading.active_count()
    assert one.tools() == {}
    assert one.host.states() == []
    assert threading.active_count() == before


def test_secrets_stand_in_no_text(hosted: Open, caplog: pytest.LogCaptureFixture) -> None:
    one = hosted()
    one.servers.put("t", {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer geheim"}})
    entry: ServerEntry = one.servers.read().entries["t"]
    assert "geheim" not in f"{entry!r} {entry} {one.host.test('t')}"
    assert "geheim" not in caplog.text


def test_a_long_name_is_cut_and_stays_unique() -> None:
    one, other = (model_name("server", f"{'x' * 80}{end}") for end in "ab")
    assert len(one) == len(other) == 64
    assert one != other
    assert model_name("s", "a b.c") == "s__a_b_c"


@pytest.mark.parametrize("name", ["self", "config", "run_manager", "arguments", "args", "kwargs"])
def test_a_server_may_name_its_arguments_as_it_likes(name: str) -> None:
    given: list[object] = []
    schema = {"type": "object", "properties": {name: {"type": "string"}}}

    def call(key: str, arguments: dict[str, object], answers: object) -> tuple[str, dict[str, object]]:
        given.append(arguments)
        return "done", {}

    tool = ForeignTool(name="t__x", description="x", args_schema=schema, metadata={"server": "t"})
    tool = tool.connect_server("allow", lambda: True, lambda: None, call)
    assert tool.invoke({"name": "t__x", "args": {name: "v"}, "id": "c", "type": "tool_call"}).text == "done"
    assert given == [{name: "v"}]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"$ref": "#/none"},
        {"type": 7},
        {"properties": 3},
        {"title": "x" * 30_000},
        {"type": ["object"]},
    ],
)
def test_a_schema_that_is_none_leaves_its_tool_out(schema: dict[str, object]) -> None:
    assert build_usable_schema(schema) is None


A, B = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize("kind", ["anyOf", "oneOf", "allOf"])
def test_branches_at_the_top_of_a_schema_become_one_object(kind: str) -> None:
    branches = [
        {"properties": {"a": A, "b": B}, "required": ["a", "b"]},
        {"type": "object", "properties": {"a": B}, "required": ["a"]},
        {"$ref": "#/$defs/third"},
    ]
    third = {"properties": {"c": A}, "required": ["a", "c"]}
    made = build_usable_schema(
        {"type": "object", "properties": {"d": A}, "required": ["d"], kind: branches, "$defs": {"third": third}}
    )
    assert made is not None
    assert not {"anyOf", "oneOf", "allOf"} & made.keys()
    assert made["properties"] == {"d": A, "a": {"allOf" if kind == "allOf" else "anyOf": [A, B]}, "b": B, "c": A}
    assert sorted(made["required"]) == (["a", "b", "c", "d"] if kind == "allOf" else ["a", "d"])


@pytest.mark.parametrize(
    "branch",
    [
        {"type": "string"},
        {"$ref": "#/none"},
        {"$ref": "#/$defs/x"},
        7,
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}]},
        {"properties": [1]},
    ],
)
def test_branches_that_are_no_objects_leave_the_tool_out(branch: object) -> None:
    assert build_usable_schema({"anyOf": [{"type": "object"}, branch], "$defs": {"x": {"$ref": "#/$defs/x"}}}) is None


def test_branches_that_multiply_leave_the_tool_out_at_once() -> None:
    bomb: dict[str, Any] = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(60)}
    assert build_usable_schema({"allOf": [{"$ref": "#/$defs/d0"}], "$defs": {**bomb, "d60": {}}}) is None


def test_a_tool_that_no_model_takes_is_left_out_by_name(caplog: pytest.LogCaptureFixture) -> None:
    entry = ServerEntry(command="x")
    server = _Server("t", entry, Pool(entry, 1.0, lambda: None), ServerState("t", entry))
    client = SimpleNamespace(server_info=None, protocol_version="2025-11-25")
    tools = [
        types.Tool(name="good", input_schema={"type": "object", "oneOf": [{"properties": {"a": A}}]}),
        types.Tool(name="bad", input_schema={"type": "object", "anyOf": [{"type": "array"}]}),
    ]
    seen = _build_server_state(server, client, tools)
    assert ([tool.name for tool in seen.tools], seen.left_out) == (["good"], ("bad",))
    assert "bad" in caplog.text


def test_a_result_with_a_picture_keeps_its_data() -> None:
    picture = types.ImageContent(type="image", data="AA==", mime_type="image/png")
    text = render_tool_result(types.CallToolResult(content=[picture], structured_content={"weather": "맑음"}))
    assert "image/png: not shown" in text
    assert '{"weather": "맑음"}' in text
    said = types.TextContent(type="text", text="sunny")
    assert render_tool_result(types.CallToolResult(content=[said], structured_content={"weather": "sunny"})) == "sunny"


@pytest.mark.parametrize(
    ("said", "data", "is_added"),
    [
        ("A map of the way.", {"metres": 420, "steps": ["left", "right"]}, True),
        ("2 found", {"found": 2, "names": ["Ann", "맑음"]}, True),
        ("done", {"ok": False}, True),
        ("5", {"result": 5}, False),
        ('{"names": ["Ann", "\\ub9d1\\uc74c"], "open": true}', {"names": ["Ann", "맑음"], "open": True}, False),
        (json.dumps({"rows": [*range(3_000)]}, indent=1), {"rows": [*range(3_000)]}, False),
        (json.dumps({"rows": [*range(3_000)]}, indent=1), {"rows": [*range(3_001)]}, True),
    ],
)
def test_data_that_the_texts_of_a_result_do_not_say_stands_beside_them(
    said: str, data: dict[str, Any], is_added: bool
) -> None:
    picture = types.ImageContent(type="image", data="AA==", mime_type="image/png")
    content = [picture, types.TextContent(type="text", text=said)]
    text = render_tool_result(types.CallToolResult(content=content, structured_content=data))
    written = json.dumps(data, ensure_ascii=False)
    assert text == "\n\n".join(["[image image/png: not shown]", said, *([written] if is_added else [])])


def test_a_schema_without_arguments_is_an_empty_object() -> None:
    assert build_usable_schema({}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize("when", ["tomorrow", 3, None])
def test_tools_of_three_pages_take_what_their_schema_says_and_answer_in_structure_alone(
    hosted: Open, when: object
) -> None:
    one = hosted()
    one.command(script=PAGED)
    assert sorted(one.tools()) == ["t__five", "t__four", "t__one", "t__three", "t__two"]
    assert json.loads(str(one.call("t__four", when=when).text)) == {"tool": "four", "when": when}


def test_the_words_of_a_tool_that_fails_reach_the_model(hosted: Open) -> None:
    one = hosted()
    one.command(script=PAGED)
    with pytest.raises(ToolException, match="no seats left: try Sunday"):
        one.call("t__five")
