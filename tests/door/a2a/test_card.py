"""The card tells only what is true, in the form of every version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from a2a.client import ClientConfig, create_client

from door.a2a.card import list_agent_skills
from tests.door.a2a.place import Place, place
from tests.stub.upstream import Upstream

PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")


def test_the_card_of_the_first_version_has_the_specifications_shape(opened: Place) -> None:
    card = opened.get(PATHS[1]).json()
    assert card["url"] == f"{opened.root}/a2a"
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True, "stateTransitionHistory": True}
    assert card["authentication"] == {"schemes": []}
    assert {"name", "description", "version", "defaultInputModes", "defaultOutputModes", "skills"} <= set(card)
    for skill in card["skills"]:
        assert set(skill) == {"id", "name", "description", "tags", "examples"}
        assert skill["tags"]
        assert skill["examples"]


def test_the_card_names_every_way_to_speak_to_us(opened: Place) -> None:
    card = opened.get(PATHS[0]).json()
    ways = {(one["protocolBinding"], one["protocolVersion"], one["url"]) for one in card["supportedInterfaces"]}
    assert ways == {
        ("JSONRPC", "1.0", f"{opened.root}/a2a"),
        ("HTTP+JSON", "1.0", f"{opened.root}/a2a/rest"),
        ("JSONRPC", "0.3", f"{opened.root}/a2a"),
        ("HTTP+JSON", "0.3", f"{opened.root}/a2a/rest"),
    }
    assert (card["url"], card["preferredTransport"]) == (f"{opened.root}/a2a", "JSONRPC"), "as version 0.3 reads it"
    assert "securitySchemes" not in card


def test_with_keys_the_card_names_the_scheme(opened: Place) -> None:
    opened.agent.store.api_keys.add("one", "ann")
    assert opened.get(PATHS[1]).json()["authentication"] == {"schemes": ["Bearer"]}
    card = opened.get(PATHS[0]).json()
    assert card["securitySchemes"]["key"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert card["securityRequirements"] or card["security"]


@pytest.mark.parametrize("path", PATHS)
def test_a_card_is_cached(opened: Place, path: str) -> None:
    first = opened.get(path)
    assert "max-age" in first.headers["cache-control"]
    again = opened.get(path, **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_skills_are_those_that_are_set_up(opened: Place) -> None:
    names = [skill["id"] for skill in list_agent_skills(opened.agent, worlds=False)]
    assert names == ["chat"], "without documents and memory"
    full = replace(opened.agent, library=object(), memory=object())  # type: ignore[arg-type]
    assert [skill["id"] for skill in list_agent_skills(full, worlds=True)] == ["chat", "documents", "memory", "world"]


def test_a_world_is_a_skill_once_there_is_one(opened: Place) -> None:
    def told() -> list[str]:
        return [skill["id"] for skill in opened.get(PATHS[1]).json()["skills"]]

    assert "world" not in told()
    opened.agent.store.of("ann").worlds.create("Harbour", "en")
    opened.agent.models()  # ready by now
    assert "world" in told()
    assert "world" in [skill["id"] for skill in opened.get(PATHS[0]).json()["skills"]]


def test_the_official_client_finds_it(tmp_path: Path, upstream: Upstream) -> None:
    import asyncio

    async def find(root: str) -> None:
        client = await create_client(root, client_config=ClientConfig())
        await client.close()

    with place(tmp_path, upstream) as service:
        asyncio.run(find(service.root))
