"""Where an answer comes from: its sources under it, and the passage behind a number in its section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any, Literal

import streamlit as st

from component import resource, window
from component.markdown import plain, short, shown
from component.view import View
from errors import DocumentUnknown, PassageUnknown
from graph.documents import citations, look_ups
from retrieval import Library
from retrieval.lookup import CUT
from store import Turn

NAME = "source"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
"""The numbers of passages in an answer: ``[1]``, ``[1, 3]``."""
LABEL_CHARS = 70
_SMALL_WORDS = frozenset({"does", "from", "that", "this", "what", "when", "which", "with"})
Since = Literal["same", "changed", "removed", "off"]


def draw_sources(view: View, turn: Turn) -> None:
    """The passages that the answer cites, or, when it cites none, those that it was given."""
    given = citations(turn.steps)
    if not given or not turn.answer:
        return
    cited = sorted(cited_numbers(turn.answer) & given.keys())
    with st.container(key=f"sources-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(view.words("source.cited" if cited else "source.given"), width="content")
        for number in cited or sorted(given):
            label = plain(short(f"[{number}] {given[number].get('label', '')}", LABEL_CHARS))
            open_ = partial(window.ask, NAME, (turn.session_id, turn.branch, turn.number, number))
            st.button(label, key=f"source-{turn.number}-{number}", type="tertiary", on_click=open_)


def cited_numbers(answer: str) -> set[int]:
    """The numbers in square brackets: [1], [2, 3]; not those of Markdown links."""
    found = (each for each in NUMBERS.finditer(answer) if answer[each.end() : each.end() + 1] != "(")
    return {int(number) for each in found for number in each[1].split(",")}


def draw_source(view: View, about: tuple[str, int, int, int]) -> None:
    """The window of a source: ``about`` session, branch, turn and number."""
    session, branch, turn_number, number = about
    turn = view.store.turn(session, turn_number) if session == view.session_id else None
    source = citations(turn.steps).get(number) if turn is not None and turn.branch == branch else None
    if turn is None or source is None:
        window.shut()
        return
    asked = " ".join([turn.question, *(str(each.get("question", "")) for each in look_ups(turn.steps))])
    window.draw(view.words("source.title", number=number), lambda: _draw(view, source, asked), width="large")


def _draw(view: View, source: Mapping[str, Any], asked: str) -> None:
    words, text = view.words, str(source.get("text", ""))
    name = str(source.get("label", "")).split(" › ")[0]
    path = dict.fromkeys(str(part) for part in (source.get("title"), *(source.get("path") or ())) if part)
    st.markdown(f":material/description: **{plain(name)}**")
    if path:
        st.caption(plain(" › ".join(path)))
    section, start, since = _now(resource.agent().library, source)
    if since == "same":
        st.html(f'<div class="gieok-source">{in_section(section, text, asked, start)}</div>')
        return
    st.warning(words(f"source.{since}"), icon=":material/history:")
    st.html(f'<div class="gieok-source">{in_section(text, text, asked)}</div>')
    if section:
        with st.expander(words("source.now")):
            st.html(f'<div class="gieok-source">{in_section(section, "", asked)}</div>')


def _now(library: Library | None, source: Mapping[str, Any]) -> tuple[str, int, Since]:
    """The text of the section as it is now, '' when it cannot be told which one it is, where the passage begins in it,
    and what happened since."""
    if library is None:
        return "", 0, "off"
    try:
        library.document(int(source["document"]))
        section = library.section(str(source["section"]))
    except DocumentUnknown:
        return "", 0, "removed"
    except PassageUnknown:
        return "", 0, "changed"
    if list(section.path) != list(source.get("path") or ()):
        return "", 0, "changed"
    kept = section.text == source.get("text") if source.get("expanded") else source["passage"] in section.passages
    start = dict(zip(section.passages, section.starts, strict=True)).get(source["passage"], 0)
    return section.text, start, "same" if kept else "changed"


def in_section(section: str, passage: str, asked: str, start: int = 0) -> str:
    """HTML of a section with the passage marked in it, which stands at ``start`` or later, and in that the words of the
    question. All text is escaped.

    Of a passage that was shortened to fit the budget what was given is marked; of one that does not stand in the
    section word for word (a long table has its head in every passage), the whole section.
    """
    given = passage if passage in section else passage.removesuffix(CUT)
    at = section.find(given, start)
    end = at + len(given)
    before, found, after = (section[:at], given, section[end:]) if at >= 0 else ("", section, "")
    inner = _words_marked(found, asked) if found else ""
    marked = f'<mark class="passage">{inner}</mark>' if found else ""
    return f"{escape(shown(before))}{marked}{escape(shown(after))}"


def _words_marked(text: str, asked: str) -> str:
    """Escaped text with the question's words in bold, each as far as the text has it: Korean words end in particles."""
    found = {_stem(word, text) for word in re.findall(r"\w{2,}", asked)} - {""}
    stems = sorted(found, key=len, reverse=True)
    if not stems:
        return escape(shown(text))
    pieces = re.split("(" + "|".join(map(re.escape, stems)) + ")", text, flags=re.IGNORECASE)
    return "".join(f"<b>{escape(shown(each))}</b>" if at % 2 else escape(shown(each)) for at, each in enumerate(pieces))


def _stem(word: str, text: str) -> str:
    """The longest beginning of a word that the text has; '' when that says nothing."""
    small, inside = word.casefold(), text.casefold()
    if small in _SMALL_WORDS:
        return ""
    short_ones = ord(small[0]) > 0x2E80 or any(letter.isdigit() for letter in small)
    return next((word[:end] for end in range(len(word), 1 if short_ones else 3, -1) if small[:end] in inside), "")
