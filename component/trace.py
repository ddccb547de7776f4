"""How the documents were searched for an answer: every call, what it found, and what was made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from component.catalogue import Words
from component.markdown import plain, short, shown
from component.view import View
from graph.documents import look_ups
from retrieval.loop import CALLS

MOST = 60
"""Turns that are looked through for searches."""
LABEL_CHARS = 90
_RANKS = ("dense", "lexical", "fused", "reranked")
_MARKS = {
    "sufficient": ":green[:material/check_circle:]",
    "insufficient": ":orange[:material/help:]",
    "not_judged": ":gray[:material/gavel:]",
    "empty": ":gray[:material/search_off:]",
}


def draw_trace(view: View, prefix: str = "") -> None:
    """The tab: the searches of the last answer that has any, or of another one."""
    words = view.words
    turns = view.store.turns(view.session_id, limit=MOST) if view.session_id else []
    found = {turn.number: looked for turn in reversed(turns) if (looked := look_ups(turn.steps))}
    if not found:
        st.caption(words("trace.none"))
        return
    numbers = list(found)
    chosen = st.selectbox(
        words("trace.turn"),
        numbers,
        format_func=lambda number: words("context.number", number=number),
        key=f"{prefix}trace-turn-{view.session_id}-{numbers[0]}",
    )
    for look_up in found[chosen]:
        with st.container(key=f"{prefix}trace-{look_up_key(look_up, found[chosen])}", border=True, gap="xsmall"):
            _draw_look_up(words, look_up)


def look_up_key(look_up: Mapping[str, Any], all_: Sequence[Mapping[str, Any]]) -> int:
    """Its place among the searches of the turn."""
    return next(at for at, each in enumerate(all_) if each is look_up)


def _draw_look_up(words: Words, look_up: Mapping[str, Any]) -> None:
    st.markdown(f":material/search: **{plain(short(str(look_up['question']), LABEL_CHARS))}**")
    sufficiency = str(look_up["sufficiency"])
    st.markdown(f"{_MARKS.get(sufficiency, '')} {plain(words(f'trace.{sufficiency}'))}{_confidence(words, look_up)}")
    missing = _missing(words, look_up.get("missing") or ())
    if missing:
        st.markdown(plain(words("trace.missing", what=missing)))
    _draw_fallback(words, look_up.get("fallback"))
    st.caption(plain(_used(words, look_up)))
    given = {each["passage"]: each["number"] for each in look_up.get("passages", ())}
    for number, step in enumerate(look_up["trace"], 1):
        _draw_step(words, number, step, given, str(look_up["question"]))


def _confidence(words: Words, judged: Mapping[str, Any]) -> str:
    value = judged.get("confidence")
    return f" :gray[· {plain(words('trace.confidence', percent=round(100 * value)))}]" if value is not None else ""


def _missing(words: Words, missing: Sequence[str]) -> str:
    known = (words(f"trace.missing.{each}") if f"trace.missing.{each}" in words else each for each in missing)
    return short(", ".join(known), LABEL_CHARS)


def _draw_fallback(words: Words, fallback: Mapping[str, Any] | None) -> None:
    """The rule that held, and the menu entries that were offered."""
    if not fallback:
        return
    name = f"trace.fallback.{fallback['kind']}"
    st.markdown(f":orange[:material/low_priority:] {plain(words(name) if name in words else str(fallback['text']))}")
    for link in fallback.get("links") or ():
        st.caption(plain(f"{link['title']} · {link['url']}"))


def _used(words: Words, look_up: Mapping[str, Any]) -> str:
    parts = [
        words("trace.calls", calls=look_up["calls"], most=CALLS),
        words("turn.tokens", prompt=look_up["prompt_tokens"], answer=look_up["answer_tokens"]),
        f"{look_up['seconds']:.1f}{words('unit.second')}",
    ]
    return " · ".join(parts)


def _draw_step(words: Words, number: int, step: Mapping[str, Any], given: Mapping[int, int], question: str) -> None:
    """One call: with what it was made, what the judge said, and the passages with their ranks."""
    arguments = step.get("arguments") or {}
    name = words(f"trace.tool.{step['tool']}")
    with st.expander(f"{number}. {plain(name)}", expanded=number == 1):
        said = " · ".join(str(value) for value in arguments.values())
        if said and said != question:
            st.code(shown(short(said, 300)), language=None, wrap_lines=True)
        st.markdown(_judged(words, step))
        seconds = words("trace.seconds", search=step["search_seconds"], judge=step["judge_seconds"])
        st.caption(plain(seconds))
        if step["hits"]:
            st.html(_table(words, step["hits"], given))


def _judged(words: Words, step: Mapping[str, Any]) -> str:
    """What the judge said, or why it did not judge."""
    judgement = step.get("judgement")
    if judgement is None:
        return f":gray[:material/gavel:] {plain(words('trace.not_judged'))} :gray[{plain(_reason(words, step))}]"
    sufficient = "sufficient" if judgement["is_sufficient"] else "insufficient"
    parts = [f"{_MARKS[sufficient]} {plain(words(f'trace.{sufficient}'))}{_confidence(words, judgement)}"]
    missing = _missing(words, judgement.get("missing") or ())
    if missing:
        parts.append(plain(words("trace.missing", what=missing)))
    if judgement.get("next_action"):
        query = short(str(judgement.get("refined_query") or ""), LABEL_CHARS)
        following = words(f"trace.next.{judgement['next_action']}")
        parts.append(plain(words("trace.next", what=f"{following}: {query}" if query else following)))
    return "  \n".join(parts)


def _reason(words: Words, step: Mapping[str, Any]) -> str:
    reason = str(step.get("reason") or "")
    if f"trace.reason.{reason}" in words:
        return words(f"trace.reason.{reason}")
    return words("trace.reason.error", code=reason) if reason else ""


def _table(words: Words, hits: Sequence[Mapping[str, Any]], given: Mapping[int, int]) -> str:
    """The passages, best first, with the ranks that they had at each stage; those that were given have their number."""
    last = len(hits) + 1
    ordered = sorted(hits, key=lambda hit: (hit["reranked"] or last, hit["fused"]))
    head = "".join(f'<th scope="col">{escape(words(f"trace.rank.{rank}"))}</th>' for rank in _RANKS)
    rows = "".join(_row(words, hit, given) for hit in ordered)
    first = escape(words("trace.passage"))
    return (
        f'<table class="gieok-hits"><thead><tr><th scope="col">{first}</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(words: Words, hit: Mapping[str, Any], given: Mapping[int, int]) -> str:
    number = given.get(hit["passage"])
    name = f"[{number}] {hit['label']}" if number else str(hit["label"])
    kind = words(f"documents.type.{hit['doc_type']}")
    ranks = "".join(f"<td>{hit[rank] if hit[rank] is not None else '–'}</td>" for rank in _RANKS)
    label = f"{escape(shown(short(name, LABEL_CHARS)))} <small>{escape(kind)}</small>"
    return f'<tr{" class=given" if number else ""}><th scope="row">{label}</th>{ranks}</tr>'
