"""``search_documents``: the loop as a tool of the chat, its result marked as data with numbers to cite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from prompt import render
from retrieval.fallback import BEST_EFFORT
from retrieval.lookup import Link, LookUp
from text.fence import fenced

NAME = "search_documents"
QUERY_CHARS = 1000
LEANING_WORDS = 2
"""A question of at most so many words («And deleting?») leans on the one before it."""
_METADATA: dict[str, Any] = {
    "about": {
        "ko": "문서(FAQ와 가이드)에서 찾기: 제품 사용법, 설정, 정책에 관한 질문",
        "en": "search the documents (FAQ and guides): how to use the product, settings, policies",
    },
    "foreign": True,
}


class SearchArguments(BaseModel, extra="forbid"):
    """Arguments of ``search_documents``."""

    query: str = Field(max_length=QUERY_CHARS, description="What to look for, in the words of the user's question")


def tool(look_up: Callable[[str], LookUp], heard: Callable[[LookUp], None] = lambda _: None) -> BaseTool:
    """The tool. ``look_up``: usually ``Library.look_up`` with its models and language; ``heard`` gets each outcome.

    The message that it makes has ``LookUp.plain()`` as its artifact.
    """

    def search_documents(query: str) -> tuple[str, dict[str, Any]]:
        found = look_up(query)
        heard(found)
        return result(found), found.plain()

    made = StructuredTool.from_function(
        search_documents,
        name=NAME,
        description="Searches the documents (FAQ and guides) and gives passages to answer from, with numbers to cite.",
        args_schema=SearchArguments,
        response_format="content_and_artifact",
    )
    made.metadata = dict(_METADATA)
    return made


def result(found: LookUp, *, asked: bool = True) -> str:
    """What the model is given: the passages as data, or the specified sentence with menu entries.

    ``asked``: the model asked for this search; else it was made before the answer, for whatever question.
    """
    if not found.passages:
        said = found.fallback.text if found.fallback else ""
        menu = "\n".join(map(_entry, found.fallback.links)) if found.fallback else ""
        return render("documents_missing" if asked else "documents_none", found.language, said=said, links=menu).strip()
    note = BEST_EFFORT[found.language] if found.fallback else ""
    told = ((each.number, _attribute(each.label), fenced(each.text, "passage")) for each in found.passages)
    passages = "\n".join(
        f'<passage number="{number}" source="{label}">\n{text}\n</passage>' for number, label, text in told
    )
    name = "documents_found" if asked else "documents_first"
    return render(name, found.language, note=note, passages=passages)


def _entry(link: Link) -> str:
    """A menu entry for the answer; a place in the app by its name, because only the page can draw the way there."""
    return f"- [{link.title}]({link.url})" if link.outside else f"- {link.title}"


def _attribute(text: str) -> str:
    return fenced(text, "passage").replace('"', "'").replace("\n", " ").replace("<", "‹").replace(">", "›")
