"""The tool that drops lines from long-term memory: a first call lists lines with numbers, a second call names
numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool, ToolException, tool
from pydantic import BaseModel, Field

from graph.tool.own_words import is_to_be_forgotten
from graph.tool.reach import MemoryReach
from memory.state import PIN_CHARS
from prompt import render_prompt
from text.fact import note

MOST_LISTED = 40
"""Most lines of one list; when memory has more lines, the list has those nearest to the search words."""
ABOUT = {"ko": "사용자가 잊어 달라고 한 것 지우기", "en": "forget what the user wants forgotten"}


class ForgetToolArguments(BaseModel, extra="forbid"):
    """Arguments of ``forget``."""

    what: str | None = Field(
        None, max_length=PIN_CHARS, description='What to look for in the lines of memory, such as "travel budget"'
    )
    numbers: list[int] | None = Field(
        None,
        max_length=MOST_LISTED,
        description="Numbers of lines to drop, from the list that a call without them gave",
    )


def make_forget_tool(reach: MemoryReach) -> BaseTool:
    """Returns the tool ``forget`` for one turn."""

    @tool("forget", args_schema=ForgetToolArguments)
    def drop_lines(what: str | None = None, numbers: list[int] | None = None) -> str:
        """Drop lines from memory because the user asks for it. First call it without numbers: that lists the lines with
        their numbers and drops nothing. Then call it with the numbers of the lines to drop."""
        return _forget_numbered_lines(reach, numbers, what) if numbers else _list_memory_lines(reach, what)

    drop_lines.metadata = {
        **{"about": ABOUT, "writes": True},
        **{"question": partial(build_forget_question, reach), "is_said": partial(asks_to_forget, reach)},
    }
    return drop_lines


def build_forget_question(reach: MemoryReach, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns what the user is asked before lines are dropped (``graph.tool.question.guard``); None for a call that
    only lists lines."""
    call = ForgetToolArguments.model_validate(arguments)
    return {"lines": _find_numbered_lines(reach, call.numbers, call.what)} if call.numbers else None


def asks_to_forget(reach: MemoryReach, arguments: Mapping[str, Any], message: str) -> bool:
    """Returns whether the user's message asks to forget every line that the call drops, each named by its key or word
    for word (``graph.tool.question.guard``)."""
    call = ForgetToolArguments.model_validate(arguments)
    texts = _find_numbered_lines(reach, call.numbers or (), call.what)
    return all(is_to_be_forgotten(message, text.partition(": ")[0]) for text in texts)


def _forget_numbered_lines(reach: MemoryReach, numbers: Sequence[int], what: str | None) -> str:
    texts = _find_numbered_lines(reach, numbers, what)
    gone = reach.memory.eraser.forget_lines(reach.tenant, reach.session, texts, turn=reach.turn, user=reach.user)
    if not gone:
        return "Nothing was dropped: these lines are not in memory any more."
    return "Forgotten:\n" + "\n".join(f"- {text}" for text in gone)


def _find_numbered_lines(reach: MemoryReach, numbers: Sequence[int], what: str | None) -> list[str]:
    """Returns the lines of these numbers. Raises ``ToolException`` with the list when a number was not listed."""
    unknown = ", ".join(str(number) for number in numbers if number not in reach.listed)
    if unknown:
        problem = f"no line {unknown} was listed" if reach.listed else "numbers count only after the lines were listed"
        raise ToolException(f"Nothing was dropped: {problem} in this turn.\n{_list_memory_lines(reach, what)}")
    return [reach.listed[number] for number in dict.fromkeys(numbers)]


def _list_memory_lines(reach: MemoryReach, what: str | None) -> str:
    """Returns the lines of memory with their numbers; a number means the same line for the whole turn."""
    lines = reach.memory.reader.read_lines(reach.tenant, reach.session, user=reach.user)
    texts = list(dict.fromkeys(line.text for line in lines))
    nearest = sorted(texts, key=lambda text: note.measure_shared_pairs(what or "", text), reverse=True)
    shown = nearest[:MOST_LISTED] if len(texts) > MOST_LISTED else texts
    for text in shown:
        if text not in reach.listed.values():
            reach.listed[len(reach.listed) + 1] = text
    rest = len(texts) - len(shown)
    more = f"\n{rest} lines that come less near are not listed: call forget with other words in what." if rest else ""
    return _render_numbered_lines(reach, shown) + more if shown else "Nothing is in memory."


def _render_numbered_lines(reach: MemoryReach, shown: Sequence[str]) -> str:
    numbers = {text: number for number, text in reach.listed.items()}
    lines = "\n".join(f"{numbers[text]}. {text}" for text in shown)
    return render_prompt("memory_lines", reach.language, lines=lines)
