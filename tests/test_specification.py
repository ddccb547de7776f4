"""The facts in ``docs/specification.md`` are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import settings
from graph.context.prompt import Limits
from graph.context.turns import CHUNK, due_chunks, find_last_covered_turn
from graph.state import ChatState, SummaryRecord
from graph.tool import MEMORY_TOOLS, TOOLS
from memory.fold import MOST_SENTENCES
from memory.key import PARTS
from memory.state import MOST_ENTITIES, SHORT_TURNS
from model.profile import SMALL_BELOW
from retrieval.answer.fallback import CONFIDENT, NOT_FOUND, NOT_READY
from retrieval.answer.judge import MISSING, Judgement
from retrieval.answer.loop import CALLS
from retrieval.answer.loop import TOOLS as LOOP_TOOLS
from retrieval.answer.tool import NAME as SEARCH
from retrieval.calculation.tool import NAME as QUERY
from retrieval.index.search import FAQ, GUIDE

TEXT = (Path(__file__).parent.parent / "docs/specification.md").read_text("utf-8")
FIELDS = settings.Settings.model_fields


def section(number: str) -> str:
    """What stands under the heading with this number."""
    return re.split(r"^#{2,3} ", TEXT.split(f"\n### {number} ")[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(number: str) -> list[list[str]]:
    """The cells of the section's first table, without its heading."""
    lines = [line for line in section(number).splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def number(text: str) -> float:
    """The first number in a text."""
    return float(re.findall(r"\d[\d,]*(?:\.\d+)?", text)[0].replace(",", ""))


def test_the_turns_at_which_a_summary_is_due() -> None:
    told = [int(each) for each in re.findall(r"\d+", section("3.1").split("at turns ")[1].split("…")[0])]
    assert len(told) > 2
    assert told == list(range(CHUNK + 1, told[-1] + 1, CHUNK))


@pytest.mark.parametrize(("turn", "summaries", "raw"), rows("4.1"))
def test_the_table_of_contexts(turn: str, summaries: str, raw: str) -> None:
    chunks = list(due_chunks(int(turn), []))
    ranges = re.findall(r"(\d+)[–-](\d+)", summaries)
    assert [
        str(each) for each in range(find_last_covered_turn([_record(chunk) for chunk in chunks]) + 1, int(turn) + 1)
    ] == raw.split(", ")
    if "…" in summaries:
        assert (len(chunks), [str(chunks[-1][0]), str(chunks[-1][-1])]) == (16, list(ranges[-1]))
    else:
        assert [(str(chunk[0]), str(chunk[-1])) for chunk in chunks] == ranges


def _record(chunk: list[int]) -> SummaryRecord:
    return SummaryRecord(
        thread_id="s",
        turns=chunk,
        turn_length=len(chunk),
        original_chars=0,
        summary_chars=0,
        compression_rate=0.3,
        summary="",
    )


def test_the_keys_of_a_summary_and_the_fields_of_the_state() -> None:
    assert [row[0] for row in rows("3.4")] == list(SummaryRecord.__annotations__)
    assert {row[0] for row in rows("5.1")} <= set(ChatState.__annotations__)


@pytest.mark.parametrize(("part", "tokens", "name", "note"), rows("4.6"))
def test_a_budget_is_the_default_of_its_setting(part: str, tokens: str, name: str, note: str) -> None:
    constants = {"system prompt with tool descriptions": Limits(1).system, "the question": Limits(1).question}
    of_settings = {settings.find_variable_name(field): FIELDS[field].default for field in FIELDS}
    assert (constants[part] if part in constants else of_settings[name]) == number(tokens)


def test_the_limits_of_the_memory() -> None:
    most = {"turns in short-term memory": SHORT_TURNS, "turns taken by a fold": SHORT_TURNS}
    most |= {"sentences of a memory": MOST_SENTENCES, "tokens of a memory": FIELDS["budget_memory"].default}
    most |= {"entities": MOST_ENTITIES, "time to live": FIELDS["memory_ttl"].default}
    assert {row[0]: number(row[1]) for row in rows("6.10")} == most
    assert [row[0].rpartition(":")[2] for row in rows("6.3")] == list(PARTS[:3])


def test_the_loop_over_documents() -> None:
    shares, calls, tokens, confidence = [row[1] for row in rows("7.8")]
    assert shares == f"{FAQ} : {GUIDE}"
    assert (number(calls), number(tokens)) == (CALLS, FIELDS["budget_retrieval"].default)
    assert number(confidence) == CONFIDENT
    assert [row[0] for row in rows("7.3")] == list(LOOP_TOOLS)
    assert [row[0] for row in rows("7.4")] == list(Judgement.model_fields)
    assert [name for name in MISSING if f"`{name}`" not in section("7.4")] == []
    sentences = (*NOT_FOUND.values(), *NOT_READY.values())
    assert [each for each in sentences if each not in section("7.5")] == []


def test_tools_rates_and_sizes() -> None:
    names = (
        [tool.name for tool in TOOLS]
        + [make.__name__.removeprefix("make_").removesuffix("_tool") for make in MEMORY_TOOLS]
        + [SEARCH, QUERY]
    )
    assert re.findall(r"`([a-z_]+)`", section("2.5").split(".\n")[0]) == names
    assert number(section("2.5").split("at most ")[1]) == FIELDS["tool_limit"].default
    assert f"Its default is {FIELDS['compression_rate'].default}" in section("3.3")
    assert number(section("10.2")) * 1e9 == SMALL_BELOW
