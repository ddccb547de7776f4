"""Documents in the chat: the tool ``search_documents`` of one turn, or a search before its answer (design 7.5).

A search is stored with its turn. Its step (in ``store.TurnRow.steps``; an event ``ToolFinished`` while the turn runs)
has ``LookUp.plain()`` as its ``artifact``. ``look_ups`` and ``find_turn_citations`` read the artifact back, also after
a refresh, an export or an import.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, ToolException

from errors import GieokError, format_error_trace
from graph.context.prompt import Changing
from graph.context.report import PromptOmission
from graph.context.turns import find_current_messages
from graph.turn.channel import Channel
from graph.turn.event import ToolFinished, ToolStarted
from graph.turn.process.engine import TurnEngine
from graph.turn.runtime import Notes
from model.call.stream import Stopped
from model.call.token import estimate_tokens
from model.modelset import ModelSet
from prompt import render_prompt
from retrieval.answer.file_part import TOKENS as FILE_TOKENS
from retrieval.answer.file_part import give_file_parts
from retrieval.answer.kind import asked_for
from retrieval.answer.lookup import LookUp
from retrieval.answer.loop import CALLS, LookUpOptions
from retrieval.answer.tool import (
    LEANING_WORDS,
    MEANT,
    NAME,
    QUERY_CHARS,
    QUOTABLE,
    build_document_tool,
    render_search_result,
)
from retrieval.batch import NICE
from retrieval.calculation.question import read_table_question
from retrieval.calculation.tool import NAME as QUERY
from retrieval.calculation.tool import query_tool
from retrieval.document import COLLECTIONS, SearchScope
from retrieval.library import Library
from retrieval.product_docs import first_run
from settings import Settings
from store import Session
from store.session.opening import TurnPlace
from text.fence import find_words

log = logging.getLogger(__name__)


def pause_document_embedding(engine: TurnEngine) -> AbstractContextManager[None]:
    """Returns a context in which the embedding of documents waits, for the time of an answer (design 5.4)."""
    return engine.library.quiet() if engine.library is not None else nullcontext()


def build_turn_search_scope(session: Session, with_files: bool) -> SearchScope:
    """Returns the documents that a turn is answered from: the session's collections and the conversation's files.
    ``with_files``: files came with its question."""
    chosen = COLLECTIONS if session.collections is None else session.collections
    return SearchScope(tuple(name for name in COLLECTIONS if name in chosen), session.id, with_files)


def build_turn_search(
    engine: TurnEngine,
    session: Session,
    place: TurnPlace | None,
    models: ModelSet,
    notes: Notes,
    language: str,
    channel: Channel | None = None,
) -> Search | None:
    """Returns the searches of one turn; None while there is no document for the turn, so that the prompt stays as it
    is. ``place``: of the turn, if it has begun."""
    if engine.library is None:
        return None
    within = build_turn_search_scope(session, place is not None and place.with_files)
    if engine.library.is_empty(within):
        return None
    if models.profile.documents == "quoted" and "session" in within.collections:  # such a model reads them itself
        of_session = replace(within, collections=("session",))
        within = replace(within, has_files=not engine.library.is_empty(of_session))
    question = find_words(place.question) if place is not None else ""
    return Search(engine.library, within, engine.prompting, models, notes, language, channel or Channel(), question)


def list_document_tools(engine: TurnEngine, session: Session) -> Sequence[BaseTool]:
    """Returns the document tools that the next turn would be offered, for the description of its prompt."""
    turn_search = build_turn_search(engine, session, None, engine.models(), Notes(), "en")
    return turn_search.tools if turn_search else ()


class Search:
    """The searches of one turn. Passage numbers go on from one search to the next; the tokens count for the turn."""

    def __init__(
        self,
        library: Library,
        scope: SearchScope,
        settings: Settings,
        models: ModelSet,
        notes: Notes,
        language: str,
        channel: Channel,
        asked: str = "",
    ) -> None:
        """``asked``: the question of the turn."""
        self._asked = asked
        self._library, self._scope = library, scope
        self._settings, self._models, self._notes = settings, models, notes
        self._language, self._channel = language, channel
        self._numbers: dict[tuple[int, str], int] = {}
        self._calls, self._question = 0, ""
        self._checked: dict[str, LookUp] = {}
        self._first: list[Changing] | None = None

    @property
    def tools(self) -> Sequence[BaseTool]:
        """Returns ``search_documents``, unless the documents are searched before the answer, and ``query_table`` where
        they have tables."""
        if self._settings.retrieval_first:
            return self._table_tools()
        search_tool = build_document_tool(self.look_up)
        search_tool.metadata = {
            **(search_tool.metadata or {}),
            MEANT: self._is_meant(),
            QUOTABLE: self._has_quotable_section,
        }
        return (search_tool, *self._table_tools())

    def _is_meant(self) -> bool:
        """Returns whether the question means the documents: it came with files, or code can answer it from a table."""
        by_code = self._models.profile.documents == "quoted"
        return self._scope.asked_with_files or (
            by_code and read_table_question(self._asked, self._library.sheets(self._scope)) is not None
        )

    def _has_quotable_section(self, message: str) -> bool:
        """Returns whether a small model's look-up for a message would quote a section. Where it is not known what is
        near (``Embedder.near``), none would. A library that fails has none: a message that may mean something else does
        not fail for it. Raises ``Stopped``."""
        if self._models.profile.documents != "quoted" or not self._library.near:
            return False
        query = message[:QUERY_CHARS]
        try:
            self._checked[query] = self._search_library(query)
            return bool(self._checked[query].passages)
        except Stopped:
            raise
        except GieokError as error:
            log.warning("the documents were not searched for a message that may mean them: %s", error.code)
        except Exception as error:  # whatever fails here, the turn can go on without documents
            log.error("a message that may mean the documents was not searched: %s", format_error_trace(error))
        return False

    def _table_tools(self) -> Sequence[BaseTool]:
        """Returns ``query_table`` where the documents have tables and the model can write a query."""
        if self._models.profile.documents == "quoted":
            return ()
        sheets = self._library.sheets(self._scope)
        return (query_tool(self._library, sheets, self._language, self._number_passages),) if sheets else ()

    def look_up(self, query: str) -> LookUp:
        """Runs one search with the tool calls that are left of the turn's three (specification 7.8), or takes the one
        that ``_has_quotable_section`` made for this query.

        Raises ``ToolException`` when no call is left, ``Stopped``, and the library's errors.
        """
        models = self._models
        if self._calls >= CALLS:
            problem = f"The documents were searched {CALLS} times for this question."
            raise ToolException(f"{problem} Answer from what was found, or say that it is not in them.")
        outcome = self._checked.pop(query, None) or self._search_library(query)
        if self._scope.has_files and not outcome.passages:
            room = min(FILE_TOKENS, self._settings.budget_retrieval)
            outcome = give_file_parts(self._library, outcome, self._scope.session, estimate_tokens, room)
        self._calls += outcome.calls
        judge_calls = sum(bool(step.prompt_tokens) for step in outcome.trace)
        if judge_calls:
            tokens = (outcome.prompt_tokens, 0, outcome.answer_tokens)
            self._notes.add_tokens(*tokens, models.exact, models, judge_calls, side=True)
        return self._number_passages(outcome)

    def _search_library(self, query: str) -> LookUp:
        options = LookUpOptions(
            kind=asked_for(self._question or query),
            budget=self._settings.budget_retrieval,
            calls=CALLS - self._calls,
        )
        return self._library.look_up(
            query, self._models, self._language, self._channel.stop, scope=self._scope, options=options
        )

    def search_before_answer(self, messages: Sequence[AnyMessage]) -> Sequence[Changing]:
        """Searches before the answer, without asking the model (setting ``retrieval_first``). Returns the passages,
        which go before the question. Searches once a turn and stores a step, as if the model had called the tool.
        Raises ``Stopped``."""
        self._question = str(find_current_messages(messages)[0].text)
        if not self._settings.retrieval_first:
            return ()
        if self._first is None:
            self._first = [self._search_with_step(build_first_search_query(messages))]
        return self._first

    def _search_with_step(self, query: str) -> Changing:
        began, started = time.monotonic(), ToolStarted("search-first", NAME, {"query": query})
        self._channel.emit(started)
        part, artifact, ok = self._try_first_search(query)
        seconds, found = time.monotonic() - began, bool((artifact or {}).get("passages"))
        finished = ToolFinished(started.call, NAME, part.text, ok, seconds, artifact, found)
        self._notes.steps.append((started, finished))
        self._channel.emit(finished)
        return part

    def _try_first_search(self, query: str) -> tuple[Changing, dict[str, Any] | None, bool]:
        """Returns the part, the artifact of the search, and whether the search succeeded: a failing library does not
        fail the turn."""
        budget = self._settings.budget_retrieval
        try:
            outcome = self.look_up(query)
        except GieokError as error:
            text = render_prompt("documents_failed", self._language, said=error.text())
            return Changing("retrieval", text, budget), None, False
        items = tuple(passage.label for passage in outcome.passages)
        cut = tuple(PromptOmission(label, "documents_budget") for label in outcome.cut)
        part = Changing(
            "retrieval", render_search_result(outcome, asked=False), outcome.budget, items=items, left_out=cut
        )
        return part, outcome.plain(), True

    def _number_passages(self, found: LookUp) -> LookUp:
        """Numbers the passages: a passage keeps its number for the whole turn, and no two passages share a number."""
        passages = []
        for cited in found.passages:
            number = self._numbers.setdefault((cited.passage.id, cited.text), len(self._numbers) + 1)
            passages.append(replace(cited, number=number))
        return replace(found, passages=tuple(passages))


def build_first_search_query(messages: Sequence[AnyMessage]) -> str:
    """Returns the query for the last user message; puts the question before it in front of a very short message."""
    question, *_ = find_current_messages(messages)
    text = find_words(str(question.text))
    before = messages[: -len(find_current_messages(messages))]
    earlier = [find_words(str(message.text)) for message in before if isinstance(message, HumanMessage)]
    return f"{earlier[-1]} {text}" if earlier and len(text.split()) <= LEANING_WORDS else text


# --- what a turn's searches gave --------------------------------------------------------------------


def look_ups(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the traces of a turn's searches, in order: ``LookUp.plain()`` of every finished search.

    ``steps``: ``store.TurnRow.steps``. Keys of a trace: question, language, passages (see ``find_turn_citations``), cut
    (labels of passages that the budget had no room for), budget (tokens, 0 for a quotation), trace (per tool call:
    tool, arguments, hits with dense, lexical, fused and reranked ranks, judgement, reason, tokens, seconds),
    sufficiency, confidence, missing, fallback (kind, text, links), calls, prompt_tokens, answer_tokens, seconds.
    """
    return [dict(step["artifact"]) for step in steps if step.get("name") in (NAME, QUERY) and step.get("artifact")]


def offered_links(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Returns the menu entries (title, url, command) that a turn's searches offer, each URL once; none when a search
    gave passages."""
    outcomes = look_ups(steps)
    if any(outcome.get("passages") for outcome in outcomes):
        return []
    links = [dict(link) for outcome in outcomes for link in (outcome.get("fallback") or {}).get("links") or ()]
    return list({link["url"]: link for link in links}.values())


def find_turn_citations(steps: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Returns the passages that the numbers in a turn's answer stand for, by number. Keys: number, passage (its id;
    ``PassageUnknown`` once its document has changed), section (for ``Library.section``), document, label, title, path,
    text (as the model got it), expanded (the text is the whole section)."""
    return {int(passage["number"]): passage for outcome in look_ups(steps) for passage in outcome.get("passages", ())}


def brought_chars(steps: Sequence[Mapping[str, Any]]) -> int:
    """Counts the characters of the passages that a turn's searches gave. The passages stay with the turn's question
    (``graph.context.prompt.reduce_past_message``), so no summary is measured against them (decision 11)."""
    return sum(
        len(str(passage.get("text", ""))) for outcome in look_ups(steps) for passage in outcome.get("passages", ())
    )


# --- the product's own documents --------------------------------------------------------------------


def start_product_docs_indexing(engine: TurnEngine) -> None:
    """Indexes the product's own documents in a background thread, if none are indexed yet. An app calls this when it
    opens.

    The thread runs behind all other work, waits while answers are made, and ends with ``Library.close``.
    """
    if engine.library is not None:
        threading.Thread(target=_first_run, args=(engine.library,), name="documents", daemon=True).start()


def step_behind() -> None:
    """Lowers the priority of the calling thread below that of answers, for the rest of its life."""
    with suppress(OSError, AttributeError):  # a thread has a priority of its own on Linux only
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def _first_run(library: Library) -> None:
    step_behind()
    try:
        indexed = first_run(library)
        library.complete()
    except Stopped:
        return
    except GieokError as error:
        log.warning("the product's own documents were not indexed: %s", error.code)
    except Exception as error:  # nobody waits for this thread, so it reports its own errors
        log.error("the product's own documents were not indexed: %s", format_error_trace(error))
    else:
        if indexed is not None:
            log.info("indexed %d passages of the product's own documents", indexed.passages)
