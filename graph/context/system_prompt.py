"""The system prompt with its tool descriptions: byte-for-byte stable per language and tool list (design 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from model.embedded.prefix import Prefix
from model.profile import Profile
from prompt import LANGUAGES, render_prompt


def system_prompt(profile: Profile, language: str, tools: Sequence[BaseTool], own: bool = False) -> str:
    """Returns the text of part 1: the role, rules, tools. A model that does not call tools is not told of them: it
    would write calls into its answers. ``own``: the conversation has a role of its own, which goes before this text."""
    if profile.prompt == "bare":
        return "" if own else render_prompt("role_bare", language)
    text = (
        render_prompt("rules", language)
        if own
        else f"{render_prompt('role', language)}\n\n{render_prompt('rules', language)}"
    )
    if profile.tools == "native":
        return f"{text}\n\n{render_prompt('system_tools', language, tools=render_tool_descriptions(tools, language))}"
    return f"{text}\n{render_prompt('system_routed', language)}" if tools else text


def build_bare_prefixes(language: str) -> list[Prefix]:
    """Returns how every bare prompt begins, first in this language («auto»: Korean) and then in the others, so that the
    model reads these texts beforehand."""
    first = language if language in LANGUAGES else LANGUAGES[0]
    return [
        Prefix(render_prompt("role_bare", code)) for code in (first, *(other for other in LANGUAGES if other != first))
    ]


def render_tool_descriptions(tools: Sequence[BaseTool], language: str) -> str:
    """Returns the tools' descriptions, one line per tool."""
    return "\n".join(f"- {tool.name}: {_read_tool_description(tool, language)}" for tool in tools)


def _read_tool_description(tool: BaseTool, language: str) -> str:
    about = (tool.metadata or {}).get("about", {})
    return str(about.get(language) or tool.description)
