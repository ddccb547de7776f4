"""Resources: the transcript, the summaries and the memory of the user's own sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote

import mcp_types as types

from door.mcp.caller import McpCaller
from door.mcp.tool.memory import load_session_summaries
from graph.turn.event import Failed
from server.refusal import build_turn_refusal
from store import Session
from store.export.transcript import render_transcript
from text.fold import fold_text

SCHEME = "gieok://session/"
PAGE = 20
"""Sessions of one page of the list."""
MARKDOWN, JSON = "text/markdown", "application/json"


@dataclass(frozen=True)
class SessionPart:
    """What can be read of a session. ``read_session_resource``: returns it as text."""

    name: str
    title: str
    mime_type: str
    read: Callable[[McpCaller, Session], str]

    def uri(self, session: str) -> str:
        return f"{SCHEME}{session}/{self.name}"


def _render_session_transcript(caller: McpCaller, session: Session) -> str:
    return render_transcript(caller.agent.store, session.id, session.language, told=_render_turn_failure)


def _render_turn_failure(error: dict[str, Any]) -> str:
    """Returns the text of a turn's error, without what only the operator of the machine may know."""
    failed = Failed(0, str(error.get("code", "")), "", False, error.get("values") or {})
    return str(build_turn_refusal(failed))


def _render_summaries_json(caller: McpCaller, session: Session) -> str:
    return load_session_summaries(caller, session.id).model_dump_json(exclude_none=True, indent=2)


def _render_memory_json(caller: McpCaller, session: Session) -> str:
    agent = caller.agent
    if agent.memory is None or not caller.has_memory:
        return json.dumps({"state": "off"})
    view = agent.memory.reader.read_view(agent.tenant, session.id, session.language, user=agent.user)
    told = {
        "state": "there",
        "version": view.version,
        "text": view.whole,
        "entities": [asdict(entity) for entity in view.entities],
        "profile": [
            {"day": line.day, "text": line.row.label, "pinned": line.row.pinned}
            for line in (*view.covered_profile, *view.profile, *view.cut_profile)
        ],
        "pins": view.pins,
        "waiting_turns": view.waiting,
    }
    return json.dumps(told, ensure_ascii=False, indent=2)


PARTS = (
    SessionPart("transcript", "Transcript", MARKDOWN, _render_session_transcript),
    SessionPart("summaries", "Summaries with their history", JSON, _render_summaries_json),
    SessionPart("memory", "Long-term memory", JSON, _render_memory_json),
)


class Unknown(Exception):
    """Raised for a resource that there is not for this caller."""


def list_resource_templates() -> list[types.ResourceTemplate]:
    """Returns the templates of all resources."""
    return [
        types.ResourceTemplate(
            uri_template=part.uri("{id}"),
            name=f"session-{part.name}",
            title=part.title,
            description=f"{part.title} of one of your conversations, by its id.",
            mime_type=part.mime_type,
        )
        for part in PARTS
    ]


def list_session_resources(caller: McpCaller, cursor: str | None) -> types.ListResourcesResult:
    """Returns a page of the user's sessions, the newest first, each with its resources. Raises ``Unknown`` for a cursor
    that is none of ours."""
    if not (cursor or "0").isdecimal() or len(cursor or "") > 9:
        raise Unknown(f"There is no page {cursor!r}.")
    first = int(cursor or 0)
    sessions = caller.agent.store.sessions(limit=PAGE + 1, offset=first)
    resources = [resource for session in sessions[:PAGE] for resource in _build_session_resources(session)]
    more = str(first + PAGE) if len(sessions) > PAGE else None
    return types.ListResourcesResult(resources=resources, next_cursor=more)


def _build_session_resources(session: Session) -> Iterator[types.Resource]:
    for part in PARTS:
        yield types.Resource(
            uri=part.uri(session.id),
            name=f"{part.name}-{session.id}",
            title=f"{session.title or session.id} · {part.title}",
            mime_type=part.mime_type,
        )


def read_session_resource(caller: McpCaller, uri: str) -> types.ReadResourceResult:
    """Returns the content of a resource. Raises ``Unknown``, also for another user's session."""
    name, _, wanted = uri.removeprefix(SCHEME).partition("/")
    part = next((part for part in PARTS if part.name == wanted), None)
    if part is None or not uri.startswith(SCHEME):
        raise Unknown(f"There is no resource {uri!r}.")
    return types.ReadResourceResult(contents=[_read_part_content(caller, part, unquote(name))])


def transcript_of(caller: McpCaller, name: str) -> types.TextResourceContents:
    """Returns the transcript of a session. Raises ``Unknown``."""
    return _read_part_content(caller, PARTS[0], name)


def _read_part_content(caller: McpCaller, part: SessionPart, name: str) -> types.TextResourceContents:
    session = caller.session(name)
    if session is None:
        raise Unknown(f"There is no conversation {name!r}.")
    text = part.read(caller, session)
    return types.TextResourceContents(uri=part.uri(session.id), mime_type=part.mime_type, text=text)


def complete_session_id(caller: McpCaller, begun: str) -> list[str]:
    """Returns ids of the user's newest sessions for what was typed so far of an id, a name or a title."""
    typed = fold_text(begun)
    return [
        session.id
        for session in caller.agent.store.sessions(limit=100)
        if any(fold_text(text).startswith(typed) for text in (session.id, session.alias, session.title))
    ]
