"""The form of a request's messages, for every way to a model: what every server takes, and what strict servers want.

Everywhere: one system message at the front, and no answer that says nothing. A server whose chat template takes system
messages at the front only, or roles that alternate only, refuses more than that; it says so once, and from then on it
gets its own form: later system texts stand inside the user's message that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]
SYSTEM = ("system", "developer")
STRICT_FORM = "strict_form"
"""The mark, in an answer's metadata, that its prompt went out in the strict form, which is another one than usual."""
BEGINNING = "[Start a new chat]"
"""What the user says before an answer with which a story begins; SillyTavern says the same for strict servers."""
REFUSALS = (400, 422, 500)
"""Statuses by which servers refuse the form of messages; llama.cpp takes its template's refusal for its own fault."""
_COMPLAINT = re.compile(r"\brole|\bsystem\b|alternat|\btemplate|jinja", re.IGNORECASE)


class MessageForms:
    """Which servers are strict, by address and model, as far as this process has learned it."""

    def __init__(self) -> None:
        self._strict = set[tuple[str, str]]()

    def arrange(self, messages: Sequence[Any], url: str, model: str, *, strict: bool = False) -> list[Any]:
        """Returns messages in the form that a server takes; ``strict``: in the strict one, to try it."""
        return make_strict(messages) if strict or self.is_strict(url, model) else tidy_messages(messages)

    def is_strict(self, url: str, model: str) -> bool:
        """Returns whether a server gets the strict form."""
        return (url, model) in self._strict

    def note_strict(self, url: str, model: str) -> None:
        """Hears that a server which had refused messages has answered the same ones in the strict form. Nothing less
        teaches that: a try that ended in an error, or without an answer, says nothing of the form."""
        self._strict.add((url, model))


def is_worth_strict_form(messages: Sequence[Any], status: int, complaint: str) -> bool:
    """Returns whether messages that a server refused may be taken in the strict form."""
    return status in REFUSALS and bool(_COMPLAINT.search(complaint)) and differs_strictly(messages)


def differs_strictly(messages: Sequence[Any]) -> bool:
    """Returns whether the strict form of messages is another one than that for every server."""
    return make_strict(messages) != tidy_messages(messages)


FORMS = MessageForms()
"""What is known in this process."""


def tidy_messages(messages: Sequence[Any]) -> list[Any]:
    """Returns messages with one system message at the front, and without answers that say nothing."""
    saying = [message for message in messages if not _is_silent(message)]
    first = next((at for at, message in enumerate(saying) if role_of(message) not in SYSTEM), len(saying))
    if first < 2:
        return saying
    whole = saying[0]
    for message in saying[1:first]:
        whole = _merge_two_messages(whole, message)
    return [whole, *saying[first:]]


def make_strict(messages: Sequence[Any]) -> list[Any]:
    """Returns messages as the strictest servers take them: after one system message at the front user and assistant
    take turns, and the user begins. What a later system message says stands in the user's message that follows; where
    none does, it stays before the answer that is to be carried on."""
    tidy = tidy_messages(messages)
    made, held = list[Any](), list[Any]()
    last_user = max((at for at, message in enumerate(tidy) if role_of(message) == "user"), default=-1)
    for at, message in enumerate(tidy):
        role = role_of(message)
        if role in SYSTEM and at:
            held.append({**message, "role": "user"})
            continue
        if role == "user" or (role == "assistant" and at > last_user):
            given, held = [*held, message], []
        else:
            given = [message]
        if role == "assistant" and (not made or role_of(made[-1]) in SYSTEM):
            given = [{"role": "user", "content": BEGINNING}, *given]
        for one in given:
            _add_message(made, one)
    for one in held:
        _add_message(made, one)
    return made


def _add_message(made: list[Any], message: Any) -> None:
    """Adds a message, to the last one where the same speaker goes on."""
    if made and role_of(message) in ("user", "assistant") and _can_merge(made[-1], message):
        made[-1] = _merge_two_messages(made[-1], message)
    else:
        made.append(message)


def _can_merge(one: Any, other: Any) -> bool:
    plain = {"role", "content", "name"}
    return role_of(one) == role_of(other) and isinstance(one, Mapping) and {*one, *other} <= plain


def _merge_two_messages(one: Mapping[str, Any], other: Mapping[str, Any]) -> Json:
    """Returns a message that says what two say; parts, their marks and unknown fields stay."""
    before, after = one.get("content") or "", other.get("content") or ""
    if isinstance(before, str) and isinstance(after, str):
        return {**other, **one, "content": "\n\n".join(filter(None, (before, after)))}
    return {**other, **one, "content": [*_content_parts(before), *_content_parts(after)]}


def _content_parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _is_silent(message: Any) -> bool:
    """Returns whether a message is an answer without a text, a call, or anything else."""
    if role_of(message) != "assistant" or message.get("content") not in (None, "", []):
        return False
    return not any(value for name, value in message.items() if name not in ("role", "content", "name"))


def role_of(message: Any) -> str:
    """Returns who says a message; "" where it does not say."""
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


__all__ = [
    "FORMS",
    "SYSTEM",
    "MessageForms",
    "differs_strictly",
    "is_worth_strict_form",
    "make_strict",
    "role_of",
    "tidy_messages",
]
