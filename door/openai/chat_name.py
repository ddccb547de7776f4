"""The name of a request's conversation: ours, or the id of its chat that Open WebUI sends beside its user's name."""

from __future__ import annotations

from contextlib import suppress

from starlette.requests import Request

from door.openai.body import Body
from server.header import SESSION

CHAT_ID = "X-OpenWebUI-Chat-Id"
"""Sent where its operator has ``ENABLE_FORWARD_USER_INFO_HEADERS`` (open-webui, ``backend/open_webui/env.py``)."""
TEMPORARY = ("temporary:", "local:")
"""How the ids of temporary chats begin: now, and up to 0.9 (open-webui, ``utils/chat_id.py``)."""


def read_name(request: Request, body: Body) -> tuple[str | None, bool]:
    """Returns the conversation's name, as the client gave it, None for none; and whether its history is always whole,
    so that none at all is its beginning: Open WebUI's is. Our own name wins over Open WebUI's."""
    if own := _read_header(request, SESSION) or body.session:
        return own, False
    chat = _read_header(request, CHAT_ID) or None
    return chat, chat is not None


def is_temporary(request: Request) -> bool:
    """Returns whether the chat is one that its user wants stored nowhere, whatever name the request has beside."""
    return (_read_header(request, CHAT_ID) or "").startswith(TEMPORARY)


def _read_header(request: Request, name: str) -> str | None:
    given = request.headers.get(name)
    if given is not None:
        with suppress(UnicodeError):  # a header's bytes are read as Latin-1, and clients write UTF-8
            return given.encode("latin-1").decode("utf-8")
    return given
