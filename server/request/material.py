"""Whose words are in a message: templates that clients put around the user's question are taken apart into what the
user wrote and the material that the client added. What the templates look like is data (``material.yaml``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import re2 as _re2
import yaml
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from server.request.message import ClientMessage, Material

re2: Any = _re2  # it has no types
TEMPLATES = Path(__file__).with_suffix(".yaml")
WORDS, QUERY = "words", "query"
MOST_TEMPLATES = 8
"""The most templates around one message: a client nests two or three."""


class Template(BaseModel):
    """What a client adds to messages of the user. See the data file for the fields. ``pattern``: of an engine in linear
    time (RE2, decision 21): a message may be anybody's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    client: str
    source: str
    holds: str
    pattern: Any
    reply: str = ""
    reply_begins: str = ""

    @field_validator("pattern")
    @classmethod
    def _compile_pattern(cls, pattern: str) -> Any:
        try:
            return re2.compile(f"(?s){pattern}")
        except re2.error as error:
            raise ValueError(f"{pattern} is no pattern: {error}") from error

    @model_validator(mode="after")
    def _has_one_end(self) -> Template:
        ends = (WORDS in self.pattern.groupindex, bool(self.reply), bool(self.reply_begins))
        if sum(ends) != 1:
            raise ValueError(f"a template has either a group «{WORDS}» or one kind of reply")
        return self

    def match(self, text: str) -> Any:
        """Returns the match of a whole message; None for another one, also where the words are not the query."""
        match = self.pattern.fullmatch(text) if self.holds in text else None
        is_other = match is not None and QUERY in self.pattern.groupindex and match[QUERY] != match[WORDS]
        return None if is_other else match


class Templates(BaseModel):
    """All that ``material.yaml`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    templates: tuple[Template, ...]


@cache
def load_templates() -> tuple[Template, ...]:
    """Returns the templates of the data file. Raises pydantic's ``ValidationError`` when the file has a mistake."""
    return Templates.model_validate(yaml.safe_load(TEMPLATES.read_text("utf-8"))).templates


def take_apart(messages: Sequence[ClientMessage]) -> list[ClientMessage]:
    """Returns the messages with the users' own words as their texts, and what clients added beside them.

    A client's whole messages leave with the replies that it gave them itself. They go with the user's last message,
    because clients send them anew with each request, as they are now.
    """
    apart, whole, skipped = list[ClientMessage](), list[Material](), False
    for at, message in enumerate(messages):
        if skipped:
            skipped = False
            continue
        after = messages[at + 1] if at + 1 < len(messages) else None
        added = _find_whole(message, after)
        if added is None:
            apart.append(_split_message_material(message))
        else:
            whole.append(added)
            skipped = True
    last = next((at for at in reversed(range(len(apart))) if apart[at].role == "user"), None)
    if last is None or not whole:
        return apart if last is not None else list(messages)
    apart[last] = replace(apart[last], material=(*whole, *apart[last].material))
    return apart


def _find_whole(message: ClientMessage, after: ClientMessage | None) -> Material | None:
    """Returns a message as material, where a client wrote it and ``after``, its reply; None for any other."""
    if message.role != "user" or after is None or after.role != "assistant":
        return None
    reply = after.text.strip()
    for template in load_templates():
        is_same = bool(template.reply) and reply == template.reply
        is_example = bool(template.reply_begins) and reply.startswith(template.reply_begins)
        if (is_same or is_example) and template.match(message.text.strip()):
            said = f"{message.text.strip()}\n\n{reply}" if is_example else message.text.strip()
            return Material(template.client, said)
    return None


def _split_message_material(message: ClientMessage) -> ClientMessage:
    """Returns a message of the user with its words and its material apart; any other message as it is."""
    if message.role != "user" or message.material:
        return message
    added = list[Material]()
    for _ in range(MOST_TEMPLATES):
        found = next(_find_templates(message.text), None)
        if found is None:
            break
        template, match = found
        start, end = match.span(template.pattern.groupindex[WORDS])
        rest = f"{match.string[:start].strip()}\n{match.string[end:].strip()}".strip()
        added.append(Material(template.client, rest))
        message = replace(message, text=match[WORDS].strip())
    return replace(message, material=tuple(added)) if added else message


def _find_templates(text: str) -> Iterator[tuple[Template, Any]]:
    """Yields the templates that a message is written in, with their matches."""
    for template in load_templates():
        if WORDS in template.pattern.groupindex and (match := template.match(text.strip())):
            yield template, match
