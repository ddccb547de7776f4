"""The search trace of an answer: every search call in the documents, its hits, and the verdict of the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from graph.answer.documents import look_ups
from retrieval.answer.loop import CALLS

MOST = 60
"""How many of the last turns the tab looks through for searches."""
LABEL_CHARS = 90
_RANKS = ("dense", "lexical", "fused", "reranked")
_MARKS = {
    "sufficient": ":green[:material/check_circle:]",
    "insufficient": ":orange[:material/help:]",
    "not_judged": ":gray[:material/gavel:]",
    "empty": ":gray[:material/search_off:]",
}


def draw_trace(view: View, prefix: str = "") -> None:
    """Draws the tab with the searches of the last turn that has any, or of another turn that the user picks."""
    words = view.words
    turns = view.store.turns(view.session_id, limit=MOST) if view.session_id else []
    by_turn = {turn.number: searches for turn in reversed(turns) if (searches := look_ups(turn.steps))}
    if not by_turn:
        st.caption(words("trace.none"))
        return
    numbers = list(by_turn)
    chosen = st.selectbox(
        words("trace.turn"),
        numbers,
        format_func=lambda number: words("context.number", number=number),
        key=f"{prefix}trace-turn-{view.session_id}-{numbers[0]}",
    )
    for look_up in by_turn[chosen]:
        with st.container(key=f"{prefix}trace-{look_up_key(look_up, by_turn[chosen])}", border=True, gap="xsmall"):
            _draw_look_up(words, look_up)


def look_up_key(look_up: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> int:
    """Returns the index of ``look_up`` among the searches of the turn (``all_``)."""
    return next(index for index, search in enumerate(all_) if search is look_up)


def _draw_look_up(words: Words, look_up: Mapping[str, Any]) -> None:
    st.markdown(f":material/search: **{escape_markdown(shorten_text(str(look_up['question']), LABEL_CHARS))}**")
    sufficiency = str(look_up["sufficiency"])
    st.markdown(
        f"{_MARKS.get(sufficiency, '')} {escape_markdown(words(f'trace.{sufficiency}'))}"
        f"{_format_confidence(words, look_up)}"
    )
    missing = _format_missing_labels(words, look_up.get("missing") or ())
    if missing:
        st.markdown(escape_markdown(words("trace.missing", what=missing)))
    _draw_fallback(words, look_up.get("fallback"))
    st.caption(escape_markdown(_format_search_usage(words, look_up)))
    numbers = {passage["passage"]: passage["number"] for passage in look_up.get("passages", ())}
    for number, step in enumerate(look_up["trace"], 1):
        _draw_step(words, number, step, numbers, str(look_up["question"]))


def _format_confidence(words: Words, judged: Mapping[str, Any]) -> str:
    value = judged.get("confidence")
    return (
        f" :gray[· {escape_markdown(words('trace.confidence', percent=round(100 * value)))}]"
        if value is not None
        else ""
    )


def _format_missing_labels(words: Words, missing: Sequence[str]) -> str:
    labels = (words(f"trace.missing.{code}") if f"trace.missing.{code}" in words else code for code in missing)
    return shorten_text(", ".join(labels), LABEL_CHARS)


def _draw_fallback(words: Words, fallback: Mapping[str, Any] | None) -> None:
    """Draws the fallback rule that applied, and the menu entries that it offered."""
    if not fallback:
        return
    name = f"trace.fallback.{fallback['kind']}"
    st.markdown(
        f":orange[:material/low_priority:] {escape_markdown(words(name) if name in words else str(fallback['text']))}"
    )
    for link in fallback.get("links") or ():
        st.caption(escape_markdown(f"{link['title']} · {link['url']}"))


def _format_search_usage(words: Words, look_up: Mapping[str, Any]) -> str:
    parts = [
        words("trace.calls", calls=look_up["calls"], most=CALLS),
        words("trace.given", given=len(look_up.get("passages", ())), found=len(_find_passage_ids(look_up))),
        words("turn.tokens", prompt=look_up["prompt_tokens"], answer=look_up["answer_tokens"]),
        f"{look_up['seconds']:.1f}{words('unit.second')}",
    ]
    return " · ".join(parts)


def _find_passage_ids(look_up: Mapping[str, Any]) -> set[int]:
    """Returns the ids of all passages that the calls of a search found."""
    return {hit["passage"] for step in look_up["trace"] for hit in step["hits"]}


def _draw_step(words: Words, number: int, step: Mapping[str, Any], given: Mapping[int, int], question: str) -> None:
    """Draws one search call: its arguments, the verdict of the judge, and the hits with their ranks."""
    arguments = step.get("arguments") or {}
    name = words(f"trace.tool.{step['tool']}")
    with st.expander(f"{number}. {escape_markdown(name)}", expanded=number == 1):
        query = " · ".join(str(value) for value in arguments.values())
        if query and query != question:
            st.code(sanitize_text(shorten_text(query, 300)), language=None, wrap_lines=True)
        st.markdown(_format_search_verdict(words, step))
        kinds = Counter(str(hit["doc_type"]) for hit in step["hits"])
        counts = words("trace.kinds", faq=kinds["faq"], guide=kinds["guide"])
        seconds = words("trace.seconds", search=step["search_seconds"], judge=step["judge_seconds"])
        st.caption(escape_markdown(f"{counts} · {seconds}"))
        if step["hits"]:
            st.html(_render_hit_table(words, step["hits"], given))


def _format_search_verdict(words: Words, step: Mapping[str, Any]) -> str:
    """Returns Markdown with the verdict of the judge, or with the reason why it did not judge."""
    judgement = step.get("judgement")
    if judgement is None:
        return (
            f":gray[:material/gavel:] {escape_markdown(words('trace.not_judged'))} :gray["
            f"{escape_markdown(_format_unjudged_reason(words, step))}]"
        )
    sufficient = "sufficient" if judgement["is_sufficient"] else "insufficient"
    parts = [
        f"{_MARKS[sufficient]} {escape_markdown(words(f'trace.{sufficient}'))}{_format_confidence(words, judgement)}"
    ]
    missing = _format_missing_labels(words, judgement.get("missing") or ())
    if missing:
        parts.append(escape_markdown(words("trace.missing", what=missing)))
    if judgement.get("next_action"):
        query = shorten_text(str(judgement.get("refined_query") or ""), LABEL_CHARS)
        following = words(f"trace.next.{judgement['next_action']}")
        parts.append(escape_markdown(words("trace.next", what=f"{following}: {query}" if query else following)))
    return "  \n".join(parts)


def _format_unjudged_reason(words: Words, step: Mapping[str, Any]) -> str:
    reason = str(step.get("reason") or "")
    if f"trace.reason.{reason}" in words:
        return words(f"trace.reason.{reason}")
    return words("trace.reason.error", code=reason) if reason else ""


def _render_hit_table(words: Words, hits: Sequence[Mapping[str, Any]], given: Mapping[int, int]) -> str:
    """Returns an HTML table of the hits, best first, with their rank at every stage.

    A passage that the model was given shows its citation number.
    """
    last = len(hits) + 1
    ordered = sorted(hits, key=lambda hit: (hit["reranked"] or last, hit["fused"]))
    head = "".join(f'<th scope="col">{escape(words(f"trace.rank.{rank}"))}</th>' for rank in _RANKS)
    rows = "".join(_render_hit_row(words, hit, given) for hit in ordered)
    first = escape(words("trace.passage"))
    return (
        f'<table class="gieok-hits"><thead><tr><th scope="col">{first}</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _render_hit_row(words: Words, hit: Mapping[str, Any], given: Mapping[int, int]) -> str:
    number = given.get(hit["passage"])
    name = f"[{number}] {hit['label']}" if number else str(hit["label"])
    kind = words(f"documents.type.{hit['doc_type']}")
    ranks = "".join(f"<td>{hit[rank] if hit[rank] is not None else '–'}</td>" for rank in _RANKS)
    label = f"{escape(sanitize_text(shorten_text(name, LABEL_CHARS)))} <small>{escape(kind)}</small>"
    return f'<tr{" class=given" if number else ""}><th scope="row">{label}</th>{ranks}</tr>'
