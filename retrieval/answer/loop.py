"""The agentic loop as a LangGraph subgraph: search, judge, search again or open the section, at most three tool calls
(specification 7.2).

    START ─▶ call ─▶ judge ─┬─ sufficient, not judged, nothing more to do, or three calls ─▶ END
               ▲            └─ search_again | get_section ─┐
               └───────────────────────────────────────────┘

The first call is ``call_search_all``, or ``search_by_metadata`` where the question names a kind of documents
(``retrieval.answer.kind``); if that finds nothing, ``call_search_all`` follows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from errors import PassageUnknown
from model.call.interrupt import stopping
from model.modelset import ModelSet
from retrieval.answer import fallback
from retrieval.answer.judge import SHOWN, Judgement, ShownPassage, Verdict, judge_passages
from retrieval.answer.kind import asked_for
from retrieval.answer.lookup import CUT, Cited, LookUp, SearchStep, Sufficiency, Tool
from retrieval.document import Filters, Hit, Passage, Section

CALLS = 3
"""The most tool calls (specification 7.8)."""
PASSAGES = 6
"""The most passages given to the model that answers."""
FIRST = 4
"""Of a further search, ``FIRST`` - 1 hits go before the passages ranked earlier, so the best of those is among the
first four."""
COVER = 0.25
"""The share of the question's words from which a passage counts although its vector is far away."""


class Searching(Protocol):
    """The part of a library that the loop uses."""

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]: ...

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]: ...

    def sections(self, query: str, filters: Filters | None = None) -> list[Hit]: ...

    def section(self, id_: str) -> Section: ...

    @property
    def unrelated_cosine(self) -> float:
        """Returns the cosine below which question and passage are unrelated; 0: not known."""

    @property
    def near(self) -> float:
        """Returns the ``heading.measure_nearness`` from which documents concern a question; 0: not known."""


@dataclass(frozen=True)
class SearchCall:
    """The next tool call."""

    tool: Tool
    query: str = ""
    filters: Filters = field(default_factory=Filters)
    section: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        if self.tool == "get_section":
            return {"section": self.section}
        conditions = {name: getattr(self.filters, name) for name in ("doc_type", "has_steps", "language")}
        return {"query": self.query} | {name: value for name, value in conditions.items() if value is not None}


@dataclass(frozen=True)
class FoundPassage:
    """A passage that the loop has found, with the text of its section once ``get_section`` has fetched it."""

    hit: Hit
    section: str | None = None

    @property
    def text(self) -> str:
        return self.section or self.hit.passage.text


class LoopState(TypedDict):
    """The state of one look-up. ``found``: all passages so far, best first.

    ``judgement``: the last judgement, None when nobody judged.
    """

    next: SearchCall | None
    found: tuple[FoundPassage, ...]
    trace: tuple[SearchStep, ...]
    judgement: Judgement | None


@dataclass(frozen=True)
class LoopContext:
    """What the nodes use for one look-up: the library, the models and the limits."""

    library: Searching
    models: ModelSet
    question: str
    language: str
    filters: Filters
    stop: threading.Event | None
    calls: int


def call_node(state: LoopState, runtime: Runtime[LoopContext]) -> dict[str, Any]:
    """Runs the next tool call and merges its hits with the passages found before. Of a search for the question itself,
    drops every passage that is not related to the question, so that documents about something else are never cited."""
    call, context, began = state["next"], runtime.context, time.monotonic()
    assert call is not None
    passages, hits = TOOLS[call.tool](context, call, state["found"])
    reason = "" if passages else "empty"
    if call.tool != "get_section" and call.query == context.question:
        floor = context.library.unrelated_cosine
        passages = tuple(each for each in passages if each.section or is_related(each.hit, floor))
        reason = reason or ("" if passages else "unrelated")
    step = SearchStep(call.tool, call.arguments, hits, None, reason, search_seconds=time.monotonic() - began)
    return {"found": passages, "trace": (*state["trace"], step)}


def is_related(hit: Hit, floor: float) -> bool:
    """Returns whether a passage comes near the question, by meaning or by words."""
    return hit.cosine >= floor or hit.cover >= COVER


def judge_node(state: LoopState, runtime: Runtime[LoopContext]) -> dict[str, Any]:
    """Reranks the passages found and chooses the next call. Without passages no model is asked, and ``call_search_all``
    follows unless that call was made before."""
    context, began = runtime.context, time.monotonic()
    shown = state["found"][:SHOWN]
    if not shown:
        wider = _find_fresh_call([SearchCall("search_all", context.question, context.filters)], state["trace"])
        return {"next": wider if len(state["trace"]) < context.calls else None, "judgement": None}
    verdict = _request_verdict(context, shown)
    judgement = verdict.judgement
    ranked = tuple(shown[number - 1] for number in judgement.ranked_indices) if judgement else state["found"]
    step = _add_verdict(state["trace"][-1], verdict, ranked, time.monotonic() - began)
    trace = (*state["trace"][:-1], step)
    following = _choose_next_call(context, judgement, ranked, state["trace"]) if len(trace) < context.calls else None
    return {"next": following, "found": ranked, "trace": trace, "judgement": judgement}


def _request_verdict(context: LoopContext, shown: Sequence[FoundPassage]) -> Verdict:
    passages = [ShownPassage(_render_passage_place(candidate.hit.passage), candidate.text) for candidate in shown]
    return judge_passages(context.models, context.question, passages, language=context.language, stop=context.stop)


def _render_passage_place(passage: Passage) -> str:
    return " › ".join(dict.fromkeys((passage.title, *passage.path)))


def _add_verdict(step: SearchStep, verdict: Verdict, ranked: Sequence[FoundPassage], seconds: float) -> SearchStep:
    rank_of = {candidate.hit.passage.id: rank for rank, candidate in enumerate(ranked, 1)} if verdict.judgement else {}
    return replace(
        step,
        hits=tuple(replace(hit, reranked=rank_of.get(hit.passage.id)) for hit in step.hits),
        judgement=verdict.judgement,
        reason=verdict.reason,
        prompt_tokens=verdict.prompt_tokens,
        answer_tokens=verdict.answer_tokens,
        judge_seconds=seconds,
    )


def _choose_next_call(
    context: LoopContext, judgement: Judgement | None, ranked: Sequence[FoundPassage], trace: Sequence[SearchStep]
) -> SearchCall | None:
    """Returns the call that the judgement asks for, or the other kind of call if that one was made before; None when
    the passages suffice or no call is left."""
    if judgement is None or (judgement.is_sufficient and judgement.ranked_indices):
        return None
    return _find_fresh_call(_list_wanted_calls(context, judgement, ranked), trace)


def _find_fresh_call(wanted: Sequence[SearchCall], trace: Sequence[SearchStep]) -> SearchCall | None:
    """Returns the first of these calls that was not made yet, or None."""
    earlier_calls = [(step.tool, step.arguments) for step in trace]
    return next((call for call in wanted if (call.tool, call.arguments) not in earlier_calls), None)


def _list_wanted_calls(context: LoopContext, judgement: Judgement, ranked: Sequence[FoundPassage]) -> list[SearchCall]:
    open_section = [
        SearchCall("get_section", section=candidate.hit.passage.section_id)
        for candidate in ranked[:1]
        if not candidate.section
    ]
    query = judgement.refined_query or context.question
    search_again = [SearchCall("search_all", query, context.filters)]
    if "steps" in judgement.missing and context.filters.has_steps is None:
        search_again.insert(0, SearchCall("search_by_metadata", query, replace(context.filters, has_steps=True)))
    return [*open_section, *search_again] if judgement.next_action == "get_section" else [*search_again, *open_section]


# --- the three tools (specification 7.3) -----------------------------------------------------------

_Result = tuple[tuple[FoundPassage, ...], tuple[Hit, ...]]


def call_search_all(context: LoopContext, call: SearchCall, before: Sequence[FoundPassage]) -> _Result:
    """Searches for 3 FAQ passages and 7 guide passages."""
    return _merge_found_passages(before, context.library.search_all(call.query, call.filters))


def search_by_metadata(context: LoopContext, call: SearchCall, before: Sequence[FoundPassage]) -> _Result:
    """Searches for passages of a type, of a language, or with steps."""
    return _merge_found_passages(before, context.library.search(call.query, call.filters))


def get_section(context: LoopContext, call: SearchCall, before: Sequence[FoundPassage]) -> _Result:
    """Fetches the whole section of a passage found before, and drops that section's other passages."""
    try:
        section = context.library.section(call.section)
    except PassageUnknown:  # its document was changed a moment ago
        return tuple(before), ()
    opened = next(other for other in before if other.hit.passage.section_id == call.section)
    rest = [other for other in before if other.hit.passage.section_id != call.section]
    return (replace(opened, section=section.text), *rest), (opened.hit,)


TOOLS: dict[Tool, Callable[[LoopContext, SearchCall, Sequence[FoundPassage]], _Result]] = {
    "search_all": call_search_all,
    "search_by_metadata": search_by_metadata,
    "get_section": get_section,
}


def _merge_found_passages(before: Sequence[FoundPassage], hits: Sequence[Hit]) -> _Result:
    """Merges new hits with the passages found before, each passage once: the first new hits, because the earlier
    passages did not suffice, then the earlier passages, then the other new hits."""
    known = {candidate.hit.passage.id: candidate for candidate in before}
    fresh = tuple(known.pop(hit.passage.id, FoundPassage(hit)) for hit in hits)
    reserved = 1 if before else 0
    return (*fresh[: FIRST - reserved], *known.values(), *fresh[FIRST - reserved :]), tuple(hits)


# --- the graph ------------------------------------------------------------------------------------


def _route_after_judge(state: LoopState) -> str:
    return "call" if state["next"] else END


def _build_search_graph() -> Any:
    graph = StateGraph(LoopState, context_schema=LoopContext)
    graph.add_node("call", call_node)
    graph.add_node("judge", judge_node)
    graph.add_edge(START, "call")
    graph.add_edge("call", "judge")
    graph.add_conditional_edges("judge", _route_after_judge, ["call", END])
    return graph.compile(checkpointer=False)


GRAPH = _build_search_graph()


@dataclass(frozen=True, slots=True)
class LookUpOptions:
    """How a look-up searches and answers. ``filters``: limits every search; ``kind``: limits the first search when
    there are no filters, None: the kind that the question names. ``budget``: the most tokens of passages; ``menu``: the
    file of the product's menu, for an answer that offers its links; ``calls``: the most tool calls."""

    filters: Filters | None = None
    kind: Filters | None = None
    budget: int = 1500
    menu: Path | None = None
    calls: int = CALLS


USUAL = LookUpOptions()


def look_up(
    library: Searching,
    question: str,
    models: ModelSet,
    language: str,
    options: LookUpOptions = USUAL,
    *,
    stop: threading.Event | None = None,
) -> LookUp:
    """Runs the loop. Raises ``Stopped``, and what the library raises."""
    began, allowed = time.monotonic(), options.filters or Filters()
    context = LoopContext(library, models, question, language, allowed, stop, options.calls)
    start = LoopState(next=_choose_first_call(question, allowed, options.kind), found=(), trace=(), judgement=None)
    # The graph runs in its own context: inside another graph, LangGraph 1.2 passes on that graph's durability «sync»
    # and then waits for a checkpoint that this graph never writes.
    own_context = Context()
    own_context.run(stopping.set, stop)
    end: LoopState = own_context.run(GRAPH.invoke, start, context=context)
    judgement = end["judgement"]
    chosen = fallback.choose_fallback(
        hits=sum(len(step.hits) for step in end["trace"]),
        ranked=len(end["found"]),
        sufficient=judgement.is_sufficient if judgement else None,
        confidence=judgement.confidence if judgement else None,
        question=question,
        language=language,
        menu=options.menu,
    )
    useless = chosen is not None and chosen.kind != "best_effort"
    passages, cut = ((), ()) if useless else _cite_passages(end["found"], models, options.budget)
    return LookUp(
        question=question,
        language=language,
        passages=passages,
        trace=end["trace"],
        sufficiency=_classify_sufficiency(end),
        confidence=judgement.confidence if judgement else None,
        missing=judgement.missing if judgement else (),
        fallback=chosen,
        seconds=time.monotonic() - began,
        cut=cut,
        budget=options.budget,
    )


def _choose_first_call(question: str, asked: Filters, kind: Filters | None) -> SearchCall:
    """Returns the first call: ``call_search_all``, or without filters a search for the kind that the question names."""
    named = asked_for(question) if kind is None else kind
    if asked != Filters() or named == Filters():
        return SearchCall("search_all", question, asked)
    return SearchCall("search_by_metadata", question, named)


def _classify_sufficiency(end: LoopState) -> Sufficiency:
    if not end["found"]:
        return "empty"
    judgement = end["judgement"]
    if judgement is None:
        return "not_judged"
    return "sufficient" if judgement.is_sufficient else "insufficient"


def _cite_passages(
    found: Sequence[FoundPassage], models: ModelSet, budget: int
) -> tuple[tuple[Cited, ...], tuple[str, ...]]:
    """Returns the passages that fit the budget, best first, and the labels of those that do not. A section that does
    not fit is replaced by its passage; a first passage that does not fit is shortened."""
    left = budget
    cited, cut = list[Cited](), list[str]()
    for candidate in found:
        if len(cited) == PASSAGES:
            break
        texts = [text for text in (candidate.section, candidate.hit.passage.text) if text]
        text = next((text for text in texts if models.count(text) <= left), None)
        if text is None and not cited:
            text = _shorten_passage(candidate.hit.passage.text, models, left)
        if text is None:
            cut.append(candidate.hit.passage.label)
        else:
            cited.append(Cited(len(cited) + 1, candidate.hit.passage, text, expanded=text == candidate.section))
            left -= models.count(text)
    return tuple(cited), tuple(cut)


def _shorten_passage(text: str, models: ModelSet, budget: int) -> str:
    while models.count(text) > budget and len(text) > 80:
        text = text[: int(len(text) * 0.7)]
    return f"{text}{CUT}"
