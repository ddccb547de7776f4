"""A message of OpenAI's protocol, as the endpoint reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Material:
    """What a client added to a message of the user: its template, sources, files. ``client``: the program's name."""

    client: str
    text: str


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message of OpenAI's protocol. ``role``: as the client named it; ``images``: its image parts, as OpenAI's;
    ``calls``: names of the client's tools that the assistant calls there, by the ids of the calls; ``call``: the id of
    the call whose result a tool message is, or the tool's name. ``material``: what the client added to the user's
    words, once these are taken apart (``server.request.material``); ``text`` then holds the words alone."""

    role: str
    text: str
    images: tuple[dict[str, Any], ...] = ()
    calls: Mapping[str, str] = field(default_factory=dict)
    call: str = ""
    material: tuple[Material, ...] = ()
