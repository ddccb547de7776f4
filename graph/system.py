"""The system prompt with its tool descriptions: byte-for-byte stable per language and tool list (design §4)."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from model.decide import describe
from prompt import render


def system_prompt(language: str, tools: Sequence[BaseTool]) -> str:
    """The text of part 1."""
    return render("system", language, tools=describe(tools, language))
