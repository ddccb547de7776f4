"""Sources of an answer: the buttons under the answer, and the window that shows a cited passage in its section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any, Literal

import streamlit as st

from component.answer.past import link_marks
from component.chat.file import heading_of
from component.page import window
from component.page.view import View
from component.widget.markdown import escape_markdown, fix_markdown, sanitize_text, shorten_text
from component.work import resource
from errors import DocumentUnknown, PassageUnknown
from graph.answer.documents import find_turn_citations, look_ups
from retrieval import Library
from retrieval.answer.lookup import CUT
from retrieval.read.address import is_web
from store import TurnRow
from text.fold import fold_text, fold_with_places

NAME = "source"
NUMBERS = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
"""Citations in an answer, as numbers of passages: ``[1]``, ``[1, 3]``."""
_INLINE = re.compile(rf"(?<!\\){NUMBERS.pattern}(?!\()")
_DEFINED = re.compile(r"(?m)^ {0,3}\[(\d{1,3})\]:")
"""A link definition of Markdown with a number as its label: ``[1]: https://…``."""
LABEL_CHARS = 70
ADDRESS_CHARS = 200
_SMALL_WORDS = frozenset({"does", "from", "that", "this", "what", "when", "which", "with"})
Since = Literal["same", "changed", "removed", "off"]


def draw_sources(view: View, turn: TurnRow) -> None:
    """Draws a button per passage that the answer cites; without citations, per passage that the model was given."""
    sources = find_turn_citations(turn.steps)
    if not sources or not turn.answer:
        return
    cited = sorted(cited_numbers(turn.answer) & sources.keys())
    with st.container(key=f"sources-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(view.words("source.cited" if cited else "source.given"), width="content")
        for number in cited or sorted(sources):
            label = escape_markdown(shorten_text(f"[{number}] {sources[number].get('label', '')}", LABEL_CHARS))
            open_ = partial(window.open_page_window, NAME, (turn.session_id, turn.branch, turn.number, number))
            st.button(label, key=f"source-{turn.number}-{number}", type="tertiary", on_click=open_)


def cited_numbers(answer: str) -> set[int]:
    """Returns the numbers in square brackets, as in [1] or [2, 3], without those that are labels of Markdown links."""
    matches = (match for match in NUMBERS.finditer(answer) if answer[match.end() : match.end() + 1] != "(")
    return {int(number) for match in matches for number in match[1].split(",")}


def with_links(turn: TurnRow) -> str:
    """Returns the answer as Markdown in which the number of a source links to the button of that source.

    ``component.page.announce`` handles the click. A number without a source, in code or in a formula stays text.
    """
    answer = turn.answer or ""
    known = find_turn_citations(turn.steps).keys() - {int(number) for number in _DEFINED.findall(answer)}

    def link_group(found: re.Match[str]) -> str:
        numbers = [int(cited) for cited in found[1].split(",")]
        if not known & {*numbers}:
            return found[0]
        if len(numbers) == 1:
            return _build_source_link(rf"\[{numbers[0]}\]", turn, numbers[0])
        links = (_build_source_link(str(cited), turn, cited) if cited in known else str(cited) for cited in numbers)
        return rf"\[{', '.join(links)}\]"

    return fix_markdown(answer, lambda prose: link_marks(turn, _INLINE.sub(link_group, prose)))


def _build_source_link(label: str, turn: TurnRow, number: int) -> str:
    return f"[{label}](#{NAME}-{turn.number}-{number})"


def draw_source(view: View, about: tuple[str, int, int, int]) -> None:
    """Draws the window of a source; ``about``: session, branch, turn number and citation number.

    Closes the window when the page no longer shows this version of the turn.
    """
    session, branch, turn_number, number = about
    turn = view.store.turn(session, turn_number) if session == view.session_id else None
    source = find_turn_citations(turn.steps).get(number) if turn is not None and turn.branch == branch else None
    if turn is None or source is None:
        window.close_page_window()
        return
    questions = " ".join([turn.question, *(str(look_up.get("question", "")) for look_up in look_ups(turn.steps))])
    window.render_page_window(
        view.words("source.title", number=number),
        lambda: _render_source_content(view, source, questions),
        width="large",
    )


def _render_source_content(view: View, source: Mapping[str, Any], asked: str) -> None:
    words, text = view.words, str(source.get("text", ""))
    name = str(source.get("label", "")).split(" › ")[0]
    path = dict.fromkeys(str(part) for part in (source.get("title"), *(source.get("path") or ())) if part)
    if is_web(name):
        st.link_button(
            escape_markdown(shorten_text(name, ADDRESS_CHARS)), name, icon=":material/open_in_new:", type="tertiary"
        )
    else:
        st.markdown(f":material/description: **{escape_markdown(name)}**")
    if path:
        st.caption(escape_markdown(heading_of(words, list(path))))
    section, start, since = _find_current_section(resource.find_user_agent().library, source)
    if since == "same":
        st.html(f'<div class="gieok-source">{in_section(section, text, asked, start)}</div>')
        return
    st.warning(words(f"source.{since}"), icon=":material/history:")
    st.html(f'<div class="gieok-source">{in_section(text, text, asked)}</div>')
    if section:
        with st.expander(words("source.now")):
            st.html(f'<div class="gieok-source">{in_section(section, "", asked)}</div>')


def _find_current_section(library: Library | None, source: Mapping[str, Any]) -> tuple[str, int, Since]:
    """Returns the current text of the section, the offset of the passage in it, and what changed since the answer.

    The text is '' when the library is off or no longer has the section under the same headings.
    """
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
    unchanged = section.text == source.get("text") if source.get("expanded") else source["passage"] in section.passages
    start = dict(zip(section.passages, section.starts, strict=True)).get(source["passage"], 0)
    return section.text, start, "same" if unchanged else "changed"


def in_section(section: str, passage: str, asked: str, start: int = 0) -> str:
    """Returns HTML of a section with the passage marked and, inside the mark, the words of the question in bold.

    ``start``: the first offset to look for the passage. All text is escaped. If the passage was shortened to fit the
    budget, the mark covers the part that the model was given. If the passage does not occur in the section word for
    word (a long table repeats its head in every passage), the mark covers the whole section.
    """
    needle = passage if passage in section else passage.removesuffix(CUT)
    offset = section.find(needle, start)
    end = offset + len(needle)
    before, middle, after = (section[:offset], needle, section[end:]) if offset >= 0 else ("", section, "")
    inner = _words_marked(middle, asked) if middle else ""
    marked = f'<mark class="passage">{inner}</mark>' if middle else ""
    return f"{escape(sanitize_text(before))}{marked}{escape(sanitize_text(after))}"


def _words_marked(text: str, asked: str) -> str:
    """Returns escaped text with the words of the question in bold.

    Only the beginning of a word that occurs in the text is bold, because Korean words end in particles.
    """
    folded = fold_with_places(text)
    matched = {_find_word_stem(word, folded.text) for word in re.findall(r"\w{2,}", fold_text(asked))} - {""}
    stems = sorted(matched, key=len, reverse=True)
    parts, end = list[str](), 0
    for found in re.finditer("|".join(map(re.escape, stems)), folded.text) if stems else ():
        first, last = folded.span(*found.span())
        if first >= end:
            parts += [escape(sanitize_text(text[end:first])), f"<b>{escape(sanitize_text(text[first:last]))}</b>"]
            end = last
    return "".join((*parts, escape(sanitize_text(text[end:]))))


def _find_word_stem(word: str, text: str) -> str:
    """Returns the longest beginning of a word that occurs in a text, both as they are compared (``text.fold``), or ''
    when the match says nothing.

    An English function word says nothing, nor does a match of fewer than four letters. Two letters are enough in a
    Korean word or a word with a digit.
    """
    if word in _SMALL_WORDS:
        return ""
    short_ones = ord(word[0]) > 0x2E80 or any(letter.isdigit() for letter in word)
    return next((word[:end] for end in range(len(word), 1 if short_ones else 3, -1) if word[:end] in text), "")
