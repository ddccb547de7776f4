"""The system prompt with its tool descriptions: byte-for-byte stable per language and tool list (design §4)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from model.prefix import Prefix
from model.profile import Profile
from prompt import LANGUAGES, render


def system_prompt(profile: Profile, language: str, tools: Sequence[BaseTool]) -> str:
    """The text of part 1. A model that does not call tools is not told of them: it would write calls into its
    answers."""
    if profile.prompt == "bare":
        return render("system_bare", language)
    text = render("system", language)
    if profile.tools == "native":
        return f"{text}\n\n{render('system_tools', language, tools=describe(tools, language))}"
    return f"{text}\n{render('system_routed', language)}" if tools else text


def prefixes(language: str) -> list[Prefix]:
    """How every bare prompt begins, in this language («auto»: Korean) and then in the others, to be read beforehand."""
    first = language if language in LANGUAGES else LANGUAGES[0]
    return [Prefix(render("system_bare", each)) for each in (first, *(one for one in LANGUAGES if one != first))]


def describe(tools: Sequence[BaseTool], language: str) -> str:
    """The tools in a line each."""
    return "\n".join(f"- {tool.name}: {_about(tool, language)}" for tool in tools)


def _about(tool: BaseTool, language: str) -> str:
    about = (tool.metadata or {}).get("about", {})
    return str(about.get(language) or tool.description)
