"""``search_documents``: the loop as a tool of the chat. The result is marked as data and has numbers to cite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from prompt import render_prompt
from retrieval.answer.fallback import BEST_EFFORT
from retrieval.answer.file_part import REASON as GIVEN
from retrieval.answer.lookup import LookUp, MenuLink
from text.fence import fence_text

NAME = "search_documents"
QUERY_CHARS = 1000
MEANT = "meant"
"""A key of a tool's metadata: whether the question came with files, which the tool must then search."""
QUOTABLE = "quotable"
"""A key of a tool's metadata: the function that says whether what it finds is near enough to a message to be quoted. It
is called for messages that may ask for that."""
LEANING_WORDS = 2
"""The most words of a question that depends on the one before it («And deleting?»)."""
_METADATA: dict[str, Any] = {
    "about": {
        "ko": "문서(FAQ와 가이드)에서 찾기: 제품 사용법, 설정, 정책에 관한 질문",
        "en": "search the documents (FAQ and guides): how to use the product, settings, policies",
    },
    "foreign": True,
}


class DocumentSearchArguments(BaseModel, extra="forbid"):
    """Arguments of ``search_documents``."""

    query: str = Field(max_length=QUERY_CHARS, description="What to look for, in the words of the user's question")


def build_document_tool(look_up: Callable[[str], LookUp], heard: Callable[[LookUp], None] = lambda _: None) -> BaseTool:
    """Returns the tool. ``look_up``: usually ``Library.look_up`` with its models and language; ``heard`` is called with
    each outcome.

    The tool's message has ``LookUp.plain()`` as its artifact.
    """

    def search_documents(query: str) -> tuple[str, dict[str, Any]]:
        outcome = look_up(query)
        heard(outcome)
        return render_search_result(outcome), outcome.plain()

    new_tool = StructuredTool.from_function(
        search_documents,
        name=NAME,
        description="Searches the user's documents, the files of this conversation and the product's FAQ and guides, "
        "and gives passages to answer from, with numbers to cite.",
        args_schema=DocumentSearchArguments,
        response_format="content_and_artifact",
    )
    new_tool.metadata = dict(_METADATA)
    return new_tool


def render_search_result(found: LookUp, *, asked: bool = True) -> str:
    """Returns the text that the model is given: the passages as data, or the sentence of specification 7.5 with menu
    entries.

    ``asked``: the model asked for this search; otherwise the search ran before the answer, whatever the question.
    """
    if not found.passages:
        message = found.fallback.text if found.fallback else ""
        menu = "\n".join(map(_render_menu_entry, found.fallback.links)) if found.fallback else ""
        return render_prompt(
            "documents_missing" if asked else "documents_none", found.language, said=message, links=menu
        ).strip()
    note = BEST_EFFORT[found.language] if found.fallback else ""
    rows = (
        (cited.number, _escape_attribute(cited.label), fence_text(cited.text, "passage")) for cited in found.passages
    )
    passages = "\n".join(
        f'<passage number="{number}" source="{label}">\n{text}\n</passage>' for number, label, text in rows
    )
    if found.trace and found.trace[-1].reason == GIVEN:
        return render_prompt("documents_given", found.language, passages=passages)
    name = "documents_found" if asked else "documents_first"
    return render_prompt(name, found.language, note=note, passages=passages)


def _render_menu_entry(link: MenuLink) -> str:
    """Returns a menu entry for the answer. A place in the app appears by name only, because only the page can draw a
    link to it."""
    return f"- [{link.title}]({link.url})" if link.outside else f"- {link.title}"


def _escape_attribute(text: str) -> str:
    return fence_text(text, "passage").replace('"', "'").replace("\n", " ").replace("<", "‹").replace(">", "›")
