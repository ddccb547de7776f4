"""Prompts: messages that a client's user can choose from a menu, in Korean and English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as types

from door.mcp import resource
from door.mcp.caller import McpCaller
from prompt import render_prompt
from server.phrase import Language, resolve_language

LANGUAGE, SESSION = "language", "session"
_LANGUAGE = types.PromptArgument(name=LANGUAGE, description="ko or en. Else: the language of the settings.")


@dataclass(frozen=True)
class ClientPrompt:
    """A prompt. ``text``: the name of its file; ``argument``: its argument and what that is; ``reads``: whether the
    argument names a session, whose transcript is part of the prompt."""

    name: str
    title: str
    description: str
    text: str
    argument: str
    about: str
    reads: bool = False

    @property
    def protocol_form(self) -> types.Prompt:
        """Returns the prompt as clients list it."""
        own = types.PromptArgument(name=self.argument, description=self.about, required=True)
        return types.Prompt(name=self.name, title=self.title, description=self.description, arguments=[own, _LANGUAGE])


PROMPTS = (
    ClientPrompt(
        "what_do_you_remember",
        "What do you remember?",
        "Asks what was told earlier about a topic.",
        "mcp_recall",
        "topic",
        "What it is about.",
    ),
    ClientPrompt(
        "answer_from_documents",
        "Answer from my documents",
        "Asks a question that only the documents may answer.",
        "mcp_documents",
        "question",
        "The question.",
    ),
    ClientPrompt(
        "recap_conversation",
        "Where did we stop?",
        "Asks for a recap of a conversation, whose transcript is part of the prompt.",
        "mcp_recap",
        SESSION,
        "The conversation: its id or its name.",
        reads=True,
    ),
)


class Missing(Exception):
    """Raised for a prompt that there is not, or without its argument."""


def fill_client_prompt(caller: McpCaller, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Returns the messages of a prompt. Raises ``Missing``, and ``resource.Unknown`` for a session that there is not
    for this caller."""
    prompt = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if prompt is None:
        raise Missing(f"There is no prompt {name!r}.")
    value = arguments.get(prompt.argument, "").strip()
    if not value:
        raise Missing(f"The prompt {name!r} needs its argument {prompt.argument!r}.")
    language = resolve_language(arguments.get(LANGUAGE, "auto"), caller.agent.settings.language)
    contents = _build_prompt_contents(caller, prompt, value, language)
    messages = [types.PromptMessage(role="user", content=content) for content in contents]
    return types.GetPromptResult(description=prompt.description, messages=messages)


def _build_prompt_contents(
    caller: McpCaller, prompt: ClientPrompt, value: str, language: Language
) -> list[types.ContentBlock]:
    if not prompt.reads:
        return [types.TextContent(type="text", text=render_prompt(prompt.text, language, **{prompt.argument: value}))]
    content = resource.transcript_of(caller, value)
    text = types.TextContent(type="text", text=render_prompt(prompt.text, language))
    return [text, types.EmbeddedResource(type="resource", resource=content)]
