"""What the server offers, in both generations of the protocol: tools, resources, prompts, completion."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from errors import ModelUnreachable, PromptError
from model.profile import SMALL
from tests.door.mcp.opened import ERAS, Era, Opened, opened
from tests.graph.talk import summarising
from tests.table import table

SESSION = "여행 이야기"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path) as ready:
        yield ready


@pytest.fixture
def remembering(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path, utility=summarising, memory=True, profile=SMALL) as ready:
        assert ready.agent.memory is not None
        assert ready.agent.memory.wait(60)
        yield ready


def code(result: Any) -> str:
    """The code of a call that failed."""
    assert result.is_error
    return str(result.meta["gieok/error"]["code"])


async def reading(uri: str, client: Client) -> Any:
    return await client.read_resource(uri)


# --- chat ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_session_goes_on_by_its_name_and_by_its_id(server: Opened, era: Era) -> None:
    async def talk(client: Client) -> list[dict[str, Any]]:
        first = await client.call_tool("chat", {"text": "제 개는 보리예요.", "session": SESSION})
        second = await client.call_tool("chat", {"text": "이름이 뭐라고요?", "session": SESSION})
        own = (first.structured_content or {})["session"]
        third = await client.call_tool("chat", {"text": "고마워요.", "session": own})
        return [result.structured_content or {} for result in (first, second, third)]

    told = server.run(talk, era)
    assert [(row["turn"], row["status"]) for row in told] == [(1, "done"), (2, "done"), (3, "done")]
    assert len({row["session"] for row in told}) == 1
    assert told[0]["answer"] == "네, 알겠습니다."
    turns = server.agent.store.turns(told[0]["session"])
    assert [turn.question for turn in turns] == ["제 개는 보리예요.", "이름이 뭐라고요?", "고마워요."]


def test_without_a_session_each_message_begins_a_conversation(server: Opened) -> None:
    first, second = (server.told("chat", text="Hello") for _ in range(2))
    assert first["session"] != second["session"]


def test_the_result_brings_usage_and_the_report_of_the_prompt(server: Opened) -> None:
    told = server.told("chat", text="Hello")
    assert told["usage"]["calls"] == 1
    assert told["context"]["total_tokens"] == sum(part["tokens"] for part in told["context"]["parts"])
    assert {"system", "question"} <= {part["name"] for part in told["context"]["parts"]}


@table("era", ERAS)
def test_the_answer_comes_as_progress_while_it_is_written(server: Opened, era: Era) -> None:
    pieces: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        pieces.append((progress, message))

    async def talk(client: Client) -> Any:
        return await client.call_tool("chat", {"text": "Hello"}, progress_callback=heard)

    answer = server.run(talk, era).structured_content["answer"]
    assert "".join(message or "" for _, message in pieces) == answer
    counts = [done for done, _ in pieces]
    assert counts == sorted(set(counts))
    assert counts[-1] == len(answer)


def test_a_text_without_words_is_refused_as_a_result_that_the_model_can_read(server: Opened) -> None:
    assert code(server.call("chat", text="  ")) == "empty"
    assert code(server.call("chat", text="x", session="a" * 300)) == "invalid_value"
    assert code(server.call("chat", txt="x")) == "invalid_value"


@table("tool", ["no_such_tool", "search_documents", "recall_memory"])
def test_a_tool_that_is_not_offered_cannot_be_called(server: Opened, tool: str) -> None:
    with pytest.raises(MCPError) as error:
        server.call(tool, query="x")
    assert error.value.code == -32602


def test_an_error_upstream_is_a_result_and_one_of_ours_an_error_of_the_protocol(tmp_path: Path) -> None:
    with opened(tmp_path / "a", chat=[ModelUnreachable(url="http://secret.example", reason="gone")]) as server:
        result = server.call("chat", text="Hello")
        assert code(result) == "model_unreachable"
        assert "secret.example" not in str(result.content)
    with opened(tmp_path / "b", chat=[PromptError(name="x", language="ko", reason="y")]) as server:
        with pytest.raises(MCPError) as error:
            server.call("chat", text="Hello")
        assert error.value.code == -32603


def test_half_a_surrogate_pair_does_no_harm(server: Opened) -> None:
    told = server.told("chat", text="안녕\ud800 세상\x00")
    assert "\ud800" not in server.agent.store.turns(told["session"])[0].question


# --- memory -------------------------------------------------------------------------------------


def test_what_is_remembered_is_recalled_and_forgotten(remembering: Opened) -> None:
    remembering.told("remember", key="여행 예산", value="150만 원", session=SESSION)
    (line,) = remembering.told("recall_memory", query="여행 예산", session=SESSION)["lines"]
    assert line.startswith("여행 예산: 150만 원 (")
    listed = remembering.told("forget", session=SESSION, what="예산")
    assert (listed["listed"], listed["dropped"]) == (["여행 예산: 150만 원"], [])
    gone = remembering.told("forget", session=SESSION, lines=listed["listed"])
    assert gone["dropped"] == ["여행 예산: 150만 원"]
    assert remembering.told("recall_memory", query="여행 예산", session=SESSION)["lines"] == []


def test_what_a_clients_model_keeps_is_not_the_users_and_replaces_nothing_that_the_user_told(
    remembering: Opened,
) -> None:
    agent = remembering.agent
    assert agent.memory is not None
    memory, own = agent.memory, remembering.told("chat", text="Hello there.", session=SESSION)["session"]
    memory.writer.remember(agent.tenant, own, "home", "12 Rose Street", turn=1, user=agent.user)

    def facts() -> dict[str, tuple[str, bool]]:
        view = memory.reader.read_view(agent.tenant, own, user=agent.user)
        return {line.row.key: (line.row.text, line.row.is_foreign) for line in view.profile}

    assert not remembering.told("remember", key="Home", value="9 Elm Road", session=own)["kept"]
    assert remembering.told("remember", key="home", value="12 Rose Street", session=own)["kept"]
    assert facts() == {"home": ("12 Rose Street", False)}
    for value in ("Barley", "Bori"):  # of its own values the newest counts
        assert remembering.told("remember", key="dog", value=value, session=own)["kept"]
    assert facts()["dog"] == ("Bori", True)
    memory.writer.remember(agent.tenant, own, "dog", "Bori", turn=1, user=agent.user)
    assert facts()["dog"] == ("Bori", False), "what the user says himself is his"


def test_a_fact_of_one_user_is_found_by_no_other(remembering: Opened) -> None:
    kept = remembering.told("remember", key="secret", value="tangerine", session="mine")
    told = remembering.told("chat", text="My secret is tangerine.", session="mine")
    assert told["session"] == kept["session"]
    remembering.user = "other"
    for arguments in ({}, {"session": kept["session"]}, {"session": "mine"}):
        result = remembering.call("recall_memory", query="secret tangerine", **arguments)
        assert "tangerine: " not in str(result.content)
        assert result.is_error == bool(arguments)
    for tool in ("forget", "summaries", "evaluate_memory"):
        assert code(remembering.call(tool, session=kept["session"])) == "session_unknown"
    assert "tangerine" not in str(remembering.run(lambda client: client.list_resources()))
    for part in ("transcript", "summaries", "memory"):
        uri = f"gieok://session/{kept['session']}/{part}"
        with pytest.raises(MCPError):
            remembering.run(partial(reading, uri))
    with pytest.raises(MCPError):
        remembering.run(lambda client: client.get_prompt("recap_conversation", {"session": kept["session"]}))
    own = remembering.told("chat", text="What is it?", session=kept["session"])  # the id becomes a name of his own
    assert own["session"] != kept["session"]
    assert own["turn"] == 1


def test_summaries_and_evaluation_read_the_same_session(tmp_path: Path) -> None:
    with opened(tmp_path, utility=summarising) as server:
        for number in range(4):
            server.told("chat", text=f"Fact {number}: my friend Mina lives at number {number}7.", session="facts")
        server.agent.background.idle(20)
        ledger = server.told("summaries", session="facts")
        assert ledger["turns"] == 4
        assert [row["turns"] for row in ledger["summaries"]] == [[1, 2, 3]]
        assert ledger["summaries"][0]["summary"]
        seen = server.told("evaluate_memory", session="facts", judge="no")
        assert {row["place"] for row in seen["facts"]} == {"summaries", "prompt"}
        assert seen["state"] == "off"
        assert seen["query"].startswith("Fact 3")


# --- worlds -------------------------------------------------------------------------------------


def test_the_state_of_a_world_is_that_of_its_last_turn(server: Opened) -> None:
    assert server.told("world_state")["worlds"] == []
    world = server.agent.store.worlds.create("어둠의 숲", "ko", "하늘")
    told = server.told("world_state", world=world.slug)
    assert (told["world"]["id"], told["player"], told["turn"]) == (world.id, "하늘", 0)
    assert "HP" in told["text"]
    server.user = "other"
    assert server.told("world_state")["worlds"] == []
    assert code(server.call("world_state", world=world.id)) == "world_unknown"


# --- resources, prompts, completion -------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_the_newest_sessions_are_listed_page_by_page_and_read(server: Opened, era: Era) -> None:
    for number in range(25):
        server.told("chat", text=f"Conversation {number}")

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        return first, second, await client.read_resource(first.resources[0].uri)

    first, second, content = server.run(talk, era)
    assert len({resource.uri for page in (first, second) for resource in page.resources}) == 75
    assert second.next_cursor is None
    assert "Conversation 24" in content.contents[0].text
    for cursor in ("nonsense", "9" * 30):
        with pytest.raises(MCPError, match="There is no page"):
            server.run(partial(Client.list_resources, cursor=cursor), era)


def test_a_session_is_read_by_its_name_too(server: Opened) -> None:
    told = server.told("chat", text="안녕하세요", session=SESSION)
    uri = "gieok://session/%EC%97%AC%ED%96%89%20%EC%9D%B4%EC%95%BC%EA%B8%B0/transcript"
    content = server.run(lambda client: client.read_resource(uri)).contents[0]
    assert content.uri == f"gieok://session/{told['session']}/transcript"


@table("language", ["ko", "en"])
def test_a_prompt_is_filled_in_the_language_that_is_asked_for(server: Opened, language: str) -> None:
    given = {"topic": "부산 여행", "language": language}
    result = server.run(lambda client: client.get_prompt("what_do_you_remember", given))
    words = {"ko": "무엇을 기억하나요", "en": "What do you still know"}[language]
    assert words in result.messages[0].content.text
    assert "부산 여행" in result.messages[0].content.text


def test_a_recap_holds_the_transcript(server: Opened) -> None:
    server.told("chat", text="Tell me of Busan", session=SESSION)
    result = server.run(lambda client: client.get_prompt("recap_conversation", {"session": SESSION}))
    assert "Tell me of Busan" in result.messages[1].content.resource.text


@table("name", ["nothing", "answer_from_documents"])
def test_a_prompt_that_cannot_be_filled_is_refused(server: Opened, name: str) -> None:
    with pytest.raises(MCPError) as error:
        server.run(lambda client: client.get_prompt(name, {}))
    assert error.value.code == -32602


def test_an_id_is_completed_from_what_is_typed_of_a_name(server: Opened) -> None:
    told = server.told("chat", text="Hello", session=SESSION)
    from mcp_types import ResourceTemplateReference

    async def talk(client: Client) -> Any:
        reference = ResourceTemplateReference(type="ref/resource", uri="gieok://session/{id}/transcript")
        return await client.complete(reference, {"name": "id", "value": "여행"})

    assert server.run(talk).completion.values == [told["session"]]
