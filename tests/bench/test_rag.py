from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from bench import rag
from graph.choice import routed
from model import scripted
from model.profile import SMALL
from retrieval import library
from tests.graph.talk import calling
from tests.retrieval.conftest import Words
from tests.retrieval.test_loop import said
from tests.table import table

FRUIT = b"# Fruit\n\n## Pears\n\nPears are green.\n\n## Apples\n\nApples are red.\n"
ROWS = [
    {"kind": "answer", "language": "en", "question": "Which colour are pears?", "gold": ["fruit.md › Pears"]},
    {"kind": "again", "language": "en", "question": "Which colour are apples?", "gold": ["fruit.md › Apples"]},
    {"kind": "section", "language": "en", "question": "Never mind the pears.", "gold": ["fruit.md › Pears"]},
    {"kind": "none", "language": "en", "question": "How tall is the pears tower?", "gold": []},
    {"kind": "other", "language": "en", "question": "Never mind the weather.", "gold": []},
]


def chat(messages: list[BaseMessage]) -> str | AIMessage:
    """Searches for what is asked, cites the first passage; one question it does not look up."""
    if isinstance(messages[-1], ToolMessage):
        return "Green [1]." if "<passage" in str(messages[-1].text) else "No related document was found."
    asked = str(messages[-1].text).splitlines()[-1]
    return "All right." if "Never mind" in asked else calling("search_documents", query=asked)


def judge(messages: list[BaseMessage]) -> str:
    asked = str(messages[-1].text)
    if "tower" in asked:
        return said([1], confidence=0.1)
    if "apples" in asked and "[3]" not in asked:
        return said([1], sufficient=True) if "Apples" in asked.split("[2]")[0] else said([2], action="get_section")
    return said([1], sufficient=True)


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    monkeypatch.setattr(library, "choose_embedder", lambda _: Words())
    monkeypatch.setattr(rag, "models", lambda _: scripted.build_scripted_models(chat, judge))
    monkeypatch.setattr(rag, "first_run", lambda opened: opened.add([("fruit.md", FRUIT)]))
    data = tmp_path / "rag.jsonl"
    data.write_text("\n".join(map(json.dumps, ROWS)))
    return argparse.Namespace(data=data, library=None, limit=0, search=False, rows=True)


def test_by_whole_turns_the_decision_the_citation_and_the_refusal_count(arguments: argparse.Namespace) -> None:
    result: dict[str, Any] = rag.run(arguments)
    kinds = result["by_kind"]
    assert (result["questions"], result["searched_share"]) == (5, 0.667)
    assert kinds["answer"]["right_share"] == 1.0
    assert kinds["section"]["right_share"] == kinds["section"]["calls_mean"] == 0, "it was not looked up"
    assert (result["refused_share"], result["apart_share"], result["false_refusals"]) == (1.0, 1.0, 0)
    assert result["outcomes"][0]["answer"] == "Green [1]."


def test_a_small_profile_quotes_and_calls_no_model(
    arguments: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(question: str, earlier: list[str], tools: object, write: object, now: Any = None) -> list[ToolCall]:
        call = ToolCall(name="search_documents", args={"query": question}, id="r", type="tool_call")
        return [] if "Never mind" in question else [call]

    monkeypatch.setattr(rag, "models", lambda _: scripted.build_scripted_models(lambda _: "All right.", profile=SMALL))
    monkeypatch.setattr(routed, "route_tool_calls", choose)
    result: dict[str, Any] = rag.run(arguments)
    assert (result["profile"], result["judged_share"]) == ("small", None)
    assert result["by_kind"]["answer"]["right_share"] == 1.0
    answer = result["outcomes"][0]["answer"]
    assert "Pears are green." in answer
    assert "[1]" in answer


def test_the_search_alone_makes_no_answer(arguments: argparse.Namespace) -> None:
    arguments.search = True
    result: dict[str, Any] = rag.run(arguments)
    assert (result["searched_share"], result["right_share"]) == (1.0, 1.0)
    assert {each["answer"] for each in result["outcomes"]} == {""}


def test_a_second_search_and_an_opened_section_are_counted() -> None:
    def found(*tools: str) -> list[dict[str, Any]]:
        return [{"passages": [{"number": 3, "label": "a › b"}], "trace": [{"tool": tool} for tool in tools]}]

    row = {**ROWS[0], "gold": ["a › b"]}
    plain = rag.outcome(row, found("search_all"), "Yes [1, 3].", 0)
    assert (plain.right, plain.again, plain.section) == (True, False, False)
    more = rag.outcome(row, found("search_all", "get_section", "search_by_metadata"), "Yes [1].", 0)
    assert (more.right, more.found, more.again, more.section, more.calls) == (False, True, True, True, 3)


@table(
    ("answer", "refused"),
    [
        ("관련 문서를 찾지 못했습니다.", True),
        ("문서에 그런 내용이 없습니다.", True),
        ("The documents don't mention a mobile app.", True),
        ("There is no information about refunds.", True),
        ("The tower is 330 metres tall.", False),
        ("환불은 7일 안에 신청합니다.", False),
    ],
)
def test_the_specified_sentence_and_an_admission_are_refusals(answer: str, refused: bool) -> None:
    assert rag.refuses(answer) is refused


def test_every_right_section_of_the_questions_exists() -> None:
    from retrieval.change import list_source_files, stage_file
    from retrieval.product_docs import OWN

    staged = [stage_file(source, source.read(), None, 10**7) for source in list_source_files(OWN, 10**7)]
    labels = {" › ".join((each.source.name, *piece.path[-1:])) for each in staged for piece in each.pieces}
    asked = [json.loads(line) for line in rag.QUESTIONS.read_text("utf-8").splitlines()]
    assert {label for row in asked for label in row["gold"]} - labels == set()
