"""The agentic loop as a LangGraph subgraph: search, judge, search again or open the section, at most three tool calls
(copilot-rag.md §4.1).

    START ─▶ call ─▶ judge ─┬─ sufficient, not judged, nothing more to do, or three calls ─▶ END
               ▲            └─ search_again | get_section ─┐
               └───────────────────────────────────────────┘

The first call is ``search_all``, or ``search_by_metadata`` where the question names a kind of documents
(``retrieval.kind``); then what that does not find is looked for everywhere.
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
from model.interrupt import stopping
from model.modelset import ModelSet
from retrieval import fallback
from retrieval.document import Filters, Hit, Passage, Section
from retrieval.judge import SHOWN, Judgement, Shown, Verdict, judge
from retrieval.kind import asked_for
from retrieval.lookup import CUT, Cited, LookUp, Step, Sufficiency, Tool

CALLS = 3
"""copilot-rag.md §8: tool calls at most."""
PASSAGES = 6
"""Passages given to the model that answers."""
FIRST = 4
"""Of what a further search finds, how much goes before what was ranked earlier."""
COVER = 0.25
"""How much of the question's words a passage must have to count although its vector is far away."""


class Searching(Protocol):
    """What the loop needs of a library."""

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]: ...

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]: ...

    def section(self, id_: str) -> Section: ...

    @property
    def unrelated(self) -> float:
        """A cosine below which a passage has nothing to do with the question; 0: not known."""

    @property
    def near(self) -> float:
        """How near (``fuse.nearness``) documents come that have to do with a question; 0: not known."""


@dataclass(frozen=True)
class Call:
    """The tool call that comes next."""

    tool: Tool
    query: str = ""
    filters: Filters = field(default_factory=Filters)
    section: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        if self.tool == "get_section":
            return {"section": self.section}
        kept = {name: getattr(self.filters, name) for name in ("doc_type", "has_steps", "language")}
        return {"query": self.query} | {name: value for name, value in kept.items() if value is not None}


@dataclass(frozen=True)
class Found:
    """A passage in the loop's hands, with its section's text once that was fetched."""

    hit: Hit
    section: str | None = None

    @property
    def text(self) -> str:
        return self.section or self.hit.passage.text


class LoopState(TypedDict):
    """``found``: everything so far, best first.

    ``judgement``: the last one, None when it was not judged.
    """

    next: Call | None
    found: tuple[Found, ...]
    trace: tuple[Step, ...]
    judgement: Judgement | None


@dataclass(frozen=True)
class LoopContext:
    """What the nodes use."""

    library: Searching
    models: ModelSet
    question: str
    language: str
    filters: Filters
    stop: threading.Event | None
    calls: int


def call_node(state: LoopState, runtime: Runtime[LoopContext]) -> dict[str, Any]:
    """Runs the next tool call; what it finds goes behind what was ranked before, each passage once."""
    call, context, began = state["next"], runtime.context, time.monotonic()
    assert call is not None
    found, hits = TOOLS[call.tool](context, call, state["found"])
    reason = "" if found else "empty"
    untold = state["judgement"] is None and not state["found"]
    if hits and untold and unrelated(hits, context.library.unrelated):
        found, reason = (), "unrelated"
    step = Step(call.tool, call.arguments, hits, None, reason, search_seconds=time.monotonic() - began)
    return {"found": found, "trace": (*state["trace"], step)}


def unrelated(hits: Sequence[Hit], floor: float) -> bool:
    """Whether nothing came near the question, neither by meaning nor by words: then no model need be asked."""
    return all(hit.cosine < floor and hit.cover < COVER for hit in hits)


def judge_node(state: LoopState, runtime: Runtime[LoopContext]) -> dict[str, Any]:
    """Reranks what was found and says what comes next; of nothing there is nothing to judge."""
    context, began = runtime.context, time.monotonic()
    shown = state["found"][:SHOWN]
    if not shown:
        wider = _fresh([Call("search_all", context.question, context.filters)], state["trace"])
        return {"next": wider if len(state["trace"]) < context.calls else None, "judgement": None}
    verdict = _verdict(context, shown)
    judgement = verdict.judgement
    ranked = tuple(shown[number - 1] for number in judgement.ranked_indices) if judgement else state["found"]
    step = _judged(state["trace"][-1], verdict, ranked, time.monotonic() - began)
    trace = (*state["trace"][:-1], step)
    following = _next(context, judgement, ranked, state["trace"]) if len(trace) < context.calls else None
    return {"next": following, "found": ranked, "trace": trace, "judgement": judgement}


def _verdict(context: LoopContext, shown: Sequence[Found]) -> Verdict:
    passages = [Shown(_place(each.hit.passage), each.text) for each in shown]
    return judge(context.models, context.question, passages, language=context.language, stop=context.stop)


def _place(passage: Passage) -> str:
    return " › ".join(dict.fromkeys((passage.title, *passage.path)))


def _judged(step: Step, verdict: Verdict, ranked: Sequence[Found], seconds: float) -> Step:
    place = {each.hit.passage.id: rank for rank, each in enumerate(ranked, 1)} if verdict.judgement else {}
    return replace(
        step,
        hits=tuple(replace(hit, reranked=place.get(hit.passage.id)) for hit in step.hits),
        judgement=verdict.judgement,
        reason=verdict.reason,
        prompt_tokens=verdict.prompt_tokens,
        answer_tokens=verdict.answer_tokens,
        judge_seconds=seconds,
    )


def _next(
    context: LoopContext, judgement: Judgement | None, ranked: Sequence[Found], trace: Sequence[Step]
) -> Call | None:
    """The call that the judgement asks for, unless it was made before; then the other kind, if that makes sense."""
    if judgement is None or (judgement.is_sufficient and judgement.ranked_indices):
        return None
    return _fresh(_wanted(context, judgement, ranked), trace)


def _fresh(wanted: Sequence[Call], trace: Sequence[Step]) -> Call | None:
    """The first of these calls that was not made yet."""
    made = [(step.tool, step.arguments) for step in trace]
    return next((call for call in wanted if (call.tool, call.arguments) not in made), None)


def _wanted(context: LoopContext, judgement: Judgement, ranked: Sequence[Found]) -> list[Call]:
    section = [Call("get_section", section=each.hit.passage.section_id) for each in ranked[:1] if not each.section]
    query = judgement.refined_query or context.question
    again = [Call("search_all", query, context.filters)]
    if "steps" in judgement.missing and context.filters.has_steps is None:
        again.insert(0, Call("search_by_metadata", query, replace(context.filters, has_steps=True)))
    return [*section, *again] if judgement.next_action == "get_section" else [*again, *section]


# --- the three tools (copilot-rag.md §4.2) --------------------------------------------------------

_Result = tuple[tuple[Found, ...], tuple[Hit, ...]]


def search_all(context: LoopContext, call: Call, before: Sequence[Found]) -> _Result:
    """FAQ 3 + guide 7."""
    return _merged(before, context.library.search_all(call.query, call.filters))


def search_by_metadata(context: LoopContext, call: Call, before: Sequence[Found]) -> _Result:
    """Passages of a kind, of a language, or with steps."""
    return _merged(before, context.library.search(call.query, call.filters))


def get_section(context: LoopContext, call: Call, before: Sequence[Found]) -> _Result:
    """The whole section of a passage; the section's other passages are then no longer needed."""
    try:
        section = context.library.section(call.section)
    except PassageUnknown:  # its document was changed a moment ago
        return tuple(before), ()
    mine = next(each for each in before if each.hit.passage.section_id == call.section)
    rest = [each for each in before if each.hit.passage.section_id != call.section]
    return (replace(mine, section=section.text), *rest), (mine.hit,)


TOOLS: dict[Tool, Callable[[LoopContext, Call, Sequence[Found]], _Result]] = {
    "search_all": search_all,
    "search_by_metadata": search_by_metadata,
    "get_section": get_section,
}


def _merged(before: Sequence[Found], hits: Sequence[Hit]) -> _Result:
    """New hits first (the earlier ones were not enough), then what was ranked before; each passage once."""
    known = {each.hit.passage.id: each for each in before}
    fresh = tuple(known.pop(hit.passage.id, Found(hit)) for hit in hits)
    kept = 1 if before else 0
    return (*fresh[: FIRST - kept], *known.values(), *fresh[FIRST - kept :]), tuple(hits)


# --- the graph ------------------------------------------------------------------------------------


def _follow(state: LoopState) -> str:
    return "call" if state["next"] else END


def _build() -> Any:
    wires = StateGraph(LoopState, context_schema=LoopContext)
    wires.add_node("call", call_node)
    wires.add_node("judge", judge_node)
    wires.add_edge(START, "call")
    wires.add_edge("call", "judge")
    wires.add_conditional_edges("judge", _follow, ["call", END])
    return wires.compile(checkpointer=False)


GRAPH = _build()


def look_up(
    library: Searching,
    question: str,
    models: ModelSet,
    language: str,
    *,
    filters: Filters | None = None,
    kind: Filters | None = None,
    stop: threading.Event | None = None,
    budget: int = 1500,
    menu: Path | None = None,
    calls: int = CALLS,
) -> LookUp:
    """Runs the loop with ``calls`` tool calls at most. ``filters``: nothing else may be found; ``kind``: what is looked
    through first, None: what the question names. ``budget``: tokens of passages at most.

    Raises ``Stopped``, and what the library raises.
    """
    began, asked = time.monotonic(), filters or Filters()
    context = LoopContext(library, models, question, language, asked, stop, calls)
    start = LoopState(next=_first(question, asked, kind), found=(), trace=(), judgement=None)
    # In a context of its own: below another graph, LangGraph 1.2 hands that one's durability «sync» down and then waits
    # for a checkpoint that this graph never writes.
    apart = Context()
    apart.run(stopping.set, stop)
    end: LoopState = apart.run(GRAPH.invoke, start, context=context)
    judgement = end["judgement"]
    chosen = fallback.choose(
        ranked=len(end["found"]),
        sufficient=judgement.is_sufficient if judgement else None,
        confidence=judgement.confidence if judgement else None,
        question=question,
        language=language,
        menu=menu,
    )
    useless = chosen is not None and chosen.kind != "best_effort"
    passages, cut = ((), ()) if useless else _cited(end["found"], models, budget)
    return LookUp(
        question=question,
        language=language,
        passages=passages,
        trace=end["trace"],
        sufficiency=_sufficiency(end),
        confidence=judgement.confidence if judgement else None,
        missing=judgement.missing if judgement else (),
        fallback=chosen,
        seconds=time.monotonic() - began,
        cut=cut,
    )


def _first(question: str, asked: Filters, kind: Filters | None) -> Call:
    """``search_all``, or the documents of the kind that the question names, unless the caller chose them."""
    named = asked_for(question) if kind is None else kind
    if asked != Filters() or named == Filters():
        return Call("search_all", question, asked)
    return Call("search_by_metadata", question, named)


def _sufficiency(end: LoopState) -> Sufficiency:
    if not end["found"]:
        return "empty"
    judgement = end["judgement"]
    if judgement is None:
        return "not_judged"
    return "sufficient" if judgement.is_sufficient else "insufficient"


def _cited(found: Sequence[Found], models: ModelSet, budget: int) -> tuple[tuple[Cited, ...], tuple[str, ...]]:
    """What fits the budget, best first, and the labels of what does not; a section that does not fit gives way to its
    passage."""
    left = budget
    cited, cut = list[Cited](), list[str]()
    for each in found:
        if len(cited) == PASSAGES:
            break
        texts = [text for text in (each.section, each.hit.passage.text) if text]
        text = next((text for text in texts if models.count(text) <= left), None)
        if text is None and not cited:
            text = _shortened(each.hit.passage.text, models, left)
        if text is None:
            cut.append(each.hit.passage.label)
        else:
            cited.append(Cited(len(cited) + 1, each.hit.passage, text, expanded=text == each.section))
            left -= models.count(text)
    return tuple(cited), tuple(cut)


def _shortened(text: str, models: ModelSet, budget: int) -> str:
    while models.count(text) > budget and len(text) > 80:
        text = text[: int(len(text) * 0.7)]
    return f"{text}{CUT}"
