"""The system prompt with its tool descriptions: byte-for-byte stable per language and tool list (design §4)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from model.decide import describe
from prompt import render


def system_prompt(language: str, tools: Sequence[BaseTool], *, calls: bool = True) -> str:
    """The text of part 1. ``calls``: whether the model calls the tools itself; where another call decides about them
    (``model.decide``), their names would only lead it to write calls into its answers."""
    said = render("system", language)
    if calls:
        return f"{said}\n\n{render('system_tools', language, tools=describe(tools, language))}"
    return f"{said}\n{render('system_decided', language)}" if tools else said
