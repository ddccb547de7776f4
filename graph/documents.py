"""Documents in the chat: the tool ``search_documents`` of one turn, or a search before its answer (design §7).

A search is kept with its turn: its step (in ``store.Turn.steps``; an event ``ToolFinished`` while the turn runs) has
``LookUp.plain()`` as its ``artifact``. ``look_ups`` and ``citations`` read it back, after a refresh, an export and an
import too.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, ToolException

from errors import GieokError, trace
from graph.context import Changing
from graph.engine import Engine
from graph.event import Event, ToolFinished, ToolStarted
from graph.report import LeftOut
from graph.runtime import Notes
from graph.turns import current
from model.modelset import ModelSet
from prompt import render
from retrieval.batch import NICE
from retrieval.kind import asked_for
from retrieval.library import Library
from retrieval.lookup import LookUp
from retrieval.loop import CALLS
from retrieval.own import first_run
from retrieval.tool import LEANING_WORDS, NAME, result, tool
from settings import Settings

log = logging.getLogger(__name__)


def quiet(engine: Engine) -> AbstractContextManager[None]:
    """While an answer is made, the embedding of documents waits (design §5 «Background work yields»)."""
    return engine.library.quiet() if engine.library is not None else nullcontext()


def search(
    engine: Engine,
    models: ModelSet,
    notes: Notes,
    language: str,
    stop: threading.Event | None = None,
    emit: Callable[[Event], None] = lambda _: None,
) -> Search | None:
    """The searches of one turn; None while there is no document, so that the prompt stays as it is."""
    if engine.library is None or engine.library.is_empty:
        return None
    return Search(engine.library, engine.prompting, models, notes, language, stop, emit)


def offered(engine: Engine) -> Sequence[BaseTool]:
    """The tools of documents that a turn would be offered now, to describe them."""
    found = search(engine, engine.models(), Notes(), "en")
    return found.tools if found else ()


class Search:
    """The searches of one turn: their numbers go on from one to the next, their tokens count for the turn."""

    def __init__(
        self,
        library: Library,
        settings: Settings,
        models: ModelSet,
        notes: Notes,
        language: str,
        stop: threading.Event | None,
        emit: Callable[[Event], None],
    ) -> None:
        self._library, self._settings, self._models, self._notes = library, settings, models, notes
        self._language, self._stop, self._emit = language, stop, emit
        self._numbers: dict[tuple[int, str], int] = {}
        self._calls, self._question = 0, ""
        self._first: list[Changing] | None = None

    @property
    def tools(self) -> Sequence[BaseTool]:
        """``search_documents``; none when the documents are searched before the answer."""
        return () if self._settings.retrieval_first else (tool(self.look_up),)

    def look_up(self, query: str) -> LookUp:
        """One search, with what is left of the turn's three tool calls (copilot-rag.md §8).

        Raises ``ToolException`` when none is left, ``Stopped``, and what the library raises.
        """
        left, models = CALLS - self._calls, self._models
        if left <= 0:
            said = f"The documents were searched {CALLS} times for this question."
            raise ToolException(f"{said} Answer from what was found, or say that it is not in them.")
        kind = asked_for(self._question or query)
        budget = self._settings.budget_retrieval
        found = self._library.look_up(query, models, self._language, self._stop, kind=kind, calls=left, budget=budget)
        self._calls += found.calls
        judged = sum(bool(step.prompt_tokens) for step in found.trace)
        if judged:
            tokens = (found.prompt_tokens, 0, found.answer_tokens)
            self._notes.add_tokens(*tokens, models.exact, models, judged, side=True)
        return self._numbered(found)

    def first(self, messages: Sequence[AnyMessage]) -> Sequence[Changing]:
        """Before the answer, without asking the model (setting ``retrieval_first``): the passages, to be placed before
        the question. Once a turn; kept as a step, as if the tool had been called. Raises ``Stopped``."""
        self._question = str(current(messages)[0].text)
        if not self._settings.retrieval_first:
            return ()
        if self._first is None:
            self._first = [self._searched(query(messages))]
        return self._first

    def _searched(self, query: str) -> Changing:
        began, started = time.monotonic(), ToolStarted("search-first", NAME, {"query": query})
        self._emit(started)
        part, artifact, ok = self._tried(query)
        finished = ToolFinished(started.call, NAME, part.text, ok, time.monotonic() - began, artifact)
        self._notes.steps.append((started, finished))
        self._emit(finished)
        return part

    def _tried(self, query: str) -> tuple[Changing, dict[str, Any] | None, bool]:
        """The part, its trace, and whether the search succeeded: a library that fails does not fail the turn."""
        budget = self._settings.budget_retrieval
        try:
            found = self.look_up(query)
        except GieokError as error:
            said = render("documents_failed", self._language, said=error.text())
            return Changing("retrieval", said, budget), None, False
        items = tuple(each.label for each in found.passages)
        cut = tuple(LeftOut(label, "documents_budget") for label in found.cut)
        part = Changing("retrieval", result(found, asked=False), budget, items=items, left_out=cut)
        return part, found.plain(), True

    def _numbered(self, found: LookUp) -> LookUp:
        """A passage keeps its number for the whole turn, and no two have the same."""
        passages = []
        for each in found.passages:
            number = self._numbers.setdefault((each.passage.id, each.text), len(self._numbers) + 1)
            passages.append(replace(each, number=number))
        return replace(found, passages=tuple(passages))


def query(messages: Sequence[AnyMessage]) -> str:
    """What the last user message asks the documents; a very short one leans on the question before it."""
    asked, *_ = current(messages)
    text = str(asked.text)
    earlier = [str(each.text) for each in messages[: -len(current(messages))] if isinstance(each, HumanMessage)]
    return f"{earlier[-1]} {text}" if earlier and len(text.split()) <= LEANING_WORDS else text


# --- what a turn's searches gave --------------------------------------------------------------------


def look_ups(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The traces of a turn's searches, in order: ``LookUp.plain()`` of every finished one.

    ``steps``: ``store.Turn.steps``. Keys of each: question, language, passages (see ``citations``), cut (labels that
    the budget had no room for), trace (per tool call: tool, arguments, hits with dense, lexical, fused and reranked
    ranks, judgement, reason, tokens, seconds), sufficiency, confidence, missing, fallback (kind, text, links), calls,
    prompt_tokens, answer_tokens, seconds.
    """
    return [dict(step["artifact"]) for step in steps if step.get("name") == NAME and step.get("artifact")]


def offered_links(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The menu entries (title, url, command) that a turn's searches offer, each once; none when one gave passages."""
    found = look_ups(steps)
    if any(each.get("passages") for each in found):
        return []
    links = [dict(link) for each in found for link in (each.get("fallback") or {}).get("links") or ()]
    return list({link["url"]: link for link in links}.values())


def citations(steps: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """What the numbers in a turn's answer stand for: number → number, passage (its id; ``PassageUnknown`` once its
    document has changed), section (for ``Library.section``), document, label, title, path, text as it was given to the
    model, expanded (the whole section was)."""
    return {int(each["number"]): each for found in look_ups(steps) for each in found.get("passages", ())}


# --- the product's own documents --------------------------------------------------------------------


def begin(engine: Engine) -> None:
    """Indexes the product's own documents in the background, if there are none yet: what an app does as it opens.

    Its thread steps behind everything else, waits while answers are made, and ends with ``Library.close``.
    """
    if engine.library is not None:
        threading.Thread(target=_first_run, args=(engine.library,), name="documents", daemon=True).start()


def step_behind() -> None:
    """Gives the thread that calls it less of the processor than answers have, for good."""
    with suppress(OSError, AttributeError):  # a thread has a priority of its own on Linux only
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


def _first_run(library: Library) -> None:
    step_behind()
    try:
        done = first_run(library)
    except GieokError as error:
        log.warning("the product's own documents were not indexed: %s", error.code)
    except Exception as error:  # the end of a thread that nobody waits for
        log.error("the product's own documents were not indexed: %s", trace(error))
    else:
        if done is not None:
            log.info("indexed %d passages of the product's own documents", done.passages)
