"""The card that tells other agents who we are, what we can do, and how to speak to us. It tells only what is true."""

from __future__ import annotations

from typing import Any

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from door.a2a import PATH, REST
from door.a2a.message.part import KINDS
from graph.turn.agent import Agent

BINDINGS = {"JSONRPC": PATH, "HTTP+JSON": REST}
SCHEME = "Bearer"
VERSION = "1.0.0"
OUT = ("text/plain", "application/json")
DESCRIPTION = (
    "A chat agent that remembers: it keeps conversations, answers from its owner's documents, and recalls what earlier"
    " conversations said."
)


def build_agent_card(agent: Agent, root: str, keys: bool, worlds: bool) -> AgentCard:
    """Returns the card. ``root``: the address at which we were asked; ``keys``: whether requests need a key;
    ``worlds``: whether a story can be played."""
    speaks = [(kind, version, path) for version in ("1.0", "0.3") for kind, path in BINDINGS.items()]
    own = AgentCard(
        name="Gieok",
        description=DESCRIPTION,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=root + path, protocol_binding=binding, protocol_version=version)
            for binding, version, path in speaks
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=list(KINDS),
        default_output_modes=list(OUT),
        skills=[AgentSkill(**skill) for skill in list_agent_skills(agent, worlds)],
    )
    if keys:
        scheme = HTTPAuthSecurityScheme(scheme=SCHEME, description="A key of this service: gk-…")
        own.security_schemes["key"].CopyFrom(SecurityScheme(http_auth_security_scheme=scheme))
        own.security_requirements.append(SecurityRequirement(schemes={"key": StringList()}))
    return own


def build_first_card(agent: Agent, root: str, keys: bool, worlds: bool) -> dict[str, Any]:
    """Returns the card in the form of the protocol's first version."""
    return {
        "name": "Gieok",
        "description": DESCRIPTION,
        "url": root + PATH,
        "version": VERSION,
        "capabilities": {"streaming": True, "pushNotifications": True, "stateTransitionHistory": True},
        "authentication": {"schemes": [SCHEME] if keys else []},
        "defaultInputModes": list(KINDS),
        "defaultOutputModes": list(OUT),
        "skills": list_agent_skills(agent, worlds),
    }


def list_agent_skills(agent: Agent, worlds: bool) -> list[dict[str, Any]]:
    """Returns what the agent can do as it is set up."""
    able = [_CHAT]
    able += [_DOCUMENTS] if agent.library is not None else []
    able += [_MEMORY] if agent.memory is not None else []
    able += [_WORLD] if worlds else []
    return able


_CHAT = {
    "id": "chat",
    "name": "Chat",
    "description": "Talks with a user in Korean or English. A context is one conversation, which is kept.",
    "tags": ["chat", "conversation", "korean", "english"],
    "examples": ["Tell me a joke.", "오늘 회의에서 정한 것을 세 줄로 정리해 줘."],
}
_DOCUMENTS = {
    "id": "documents",
    "name": "Documents",
    "description": "Answers from the documents of this installation and says where it read it.",
    "tags": ["documents", "retrieval", "citations"],
    "examples": ["What does the handbook say about holidays?", "설치 안내서에서 백업 방법을 찾아 줘."],
}
_WORLD = {
    "id": "world",
    "name": "Story world",
    "description": "Goes on with a story in a world that remembers. Name one of the user's worlds in the metadata:"
    ' {"gieok": {"world": "short name"}}.',
    "tags": ["world", "story", "role-play"],
    "examples": ["I open the door of the tavern.", "등불을 들고 우물 아래로 내려간다."],
}
_MEMORY = {
    "id": "memory",
    "name": "Memory",
    "description": "Remembers across conversations what its user tells, and forgets it on request.",
    "tags": ["memory", "recall", "remember", "forget"],
    "examples": ["Remember that I am allergic to nuts.", "내가 지난주에 뭐라고 했는지 기억해?"],
}
