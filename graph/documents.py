"""Documents in the chat: the tool ``search_documents`` of one turn, and what a turn's searches gave (design §7).

A search is kept with its turn: the step of the tool call (``store.Turn.steps``, an event ``ToolFinished`` while it
runs) has ``LookUp.plain()`` as its ``artifact``. ``look_ups`` and ``citations`` read it back, after a refresh, an
export and an import too.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool, ToolException

from errors import GieokError, trace
from graph.engine import Engine
from graph.runtime import Notes
from model.modelset import ModelSet
from retrieval.batch import NICE, first_run
from retrieval.library import Library
from retrieval.lookup import LookUp
from retrieval.tool import NAME, tool

log = logging.getLogger(__name__)

SEARCHES = 3
"""Searches in one turn at most; each may call its own tools three times (copilot-rag.md §4.4)."""


def quiet(engine: Engine) -> AbstractContextManager[None]:
    """While an answer is made, the embedding of documents waits (design §5 «Background work yields»)."""
    return engine.library.quiet() if engine.library is not None else nullcontext()


def tools(
    engine: Engine, models: ModelSet, notes: Notes, language: str, stop: threading.Event | None = None
) -> list[BaseTool]:
    """``search_documents`` for one turn; none while there is no document, so that the prompt stays as it is."""
    library = engine.library
    if library is None or library.is_empty:
        return []
    return [Search(library, models, notes, language, stop).tool]


def offered(engine: Engine) -> list[BaseTool]:
    """The same tools, to describe them only."""
    return tools(engine, engine.models(), Notes(), "en")


def begin(engine: Engine) -> None:
    """Indexes the product's own documents in the background, if there are none yet: what an app does as it opens.

    Its thread steps behind everything else, waits while answers are made, and ends with ``Library.close``.
    """
    if engine.library is not None:
        threading.Thread(target=_first_run, args=(engine.library,), name="documents", daemon=True).start()


def _first_run(library: Library) -> None:
    with suppress(OSError, AttributeError):  # a thread has a priority of its own on Linux only
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    try:
        done = first_run(library)
    except GieokError as error:
        log.warning("the product's own documents were not indexed: %s", error.code)
    except Exception as error:  # the end of a thread that nobody waits for
        log.error("the product's own documents were not indexed: %s", trace(error))
    else:
        if done is not None:
            log.info("indexed %d passages of the product's own documents", done.passages)


class Search:
    """The searches of one turn: their numbers go on from one to the next, their tokens count for the turn."""

    def __init__(
        self, library: Library, models: ModelSet, notes: Notes, language: str, stop: threading.Event | None
    ) -> None:
        self._library, self._models, self._notes = library, models, notes
        self._language, self._stop = language, stop
        self._numbers: dict[tuple[int, str], int] = {}
        self._asked = 0
        self.tool = tool(self.look_up)

    def look_up(self, query: str) -> LookUp:
        """One search. Raises ``ToolException`` after ``SEARCHES``, ``Stopped``, and what the library raises."""
        if self._asked >= SEARCHES:
            said = f"The documents were searched {SEARCHES} times for this question."
            raise ToolException(f"{said} Answer from what was found, or say that it is not in them.")
        self._asked += 1
        found = self._library.look_up(query, self._models, self._language, self._stop)
        calls = sum(bool(step.prompt_tokens) for step in found.trace)
        if calls:
            used, models = (found.prompt_tokens, 0, found.answer_tokens), self._models
            self._notes.add_tokens(*used, models.exact, models, calls)
        return self._numbered(found)

    def _numbered(self, found: LookUp) -> LookUp:
        """A passage keeps its number for the whole turn, and no two have the same."""
        passages = []
        for each in found.passages:
            number = self._numbers.setdefault((each.passage.id, each.text), len(self._numbers) + 1)
            passages.append(replace(each, number=number))
        return replace(found, passages=tuple(passages))


def look_ups(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The traces of a turn's searches, in order: ``LookUp.plain()`` of every finished one.

    ``steps``: ``store.Turn.steps``. Keys of each: question, language, passages (see ``citations``), trace (per
    tool call: tool, arguments, hits with dense, lexical, fused and reranked ranks, judgement, reason, tokens, seconds),
    sufficiency, confidence, missing, fallback (kind, text, links), calls, prompt_tokens, answer_tokens, seconds.
    """
    return [dict(step["artifact"]) for step in steps if step.get("name") == NAME and step.get("artifact")]


def citations(steps: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """What the numbers in a turn's answer stand for: number → number, passage (its id; ``PassageUnknown`` once its
    document has changed), section (for ``Library.section``), document, label, title, path, text as it was given to the
    model, expanded (the whole section was)."""
    return {int(each["number"]): each for found in look_ups(steps) for each in found.get("passages", ())}
