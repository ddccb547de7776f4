"""Files of a conversation: the chips on their messages, and the window that shows the text of a file.

A chip reads the state of its file from the library, so it shows the same state after a refresh, a stop and a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Literal

import streamlit as st

from component.documents.adding import draw_fault
from component.documents.document_list import size
from component.page import window
from component.page.catalogue import Words
from component.page.view import View, trying
from component.widget.failure import telling
from component.widget.markdown import plain, short, shown
from component.work import resource
from errors import GieokError
from graph.answer.documents import citations
from retrieval import Document, Library
from retrieval.document import PAGE
from store import Turn

NAME = "file"
LABEL_CHARS = 40
State = Literal["ready", "failed", "adding", "replaced", "absent"]
_ICONS: dict[State, str] = {
    "ready": "description",
    "failed": "warning",
    "adding": "hourglass_top",
    "replaced": "history",
    "absent": "do_not_disturb_on",
}


def draw_chips(view: View, files: Sequence[Mapping[str, str]], key: str, turn: int = 0) -> None:
    """Draws a chip per file of a message.

    A click opens the file at the first section that the answer of turn ``turn`` was given, else at its beginning.
    """
    if not files:
        return
    documents = _held(view.session_id)
    with st.container(key=f"chips-{key}", horizontal=True, gap="xsmall", width="stretch" if turn else "content"):
        for number, file in enumerate(files):
            state = _state(view, documents, file)
            st.button(
                plain(short(file["name"], LABEL_CHARS)),
                key=f"chip-{key}-{number}",
                icon=f":material/{_ICONS[state]}:",
                help=view.words(f"file.{state}"),
                on_click=window.ask,
                args=(NAME, (file["name"], file.get("key", ""), turn)),
            )


def draw_next(view: View) -> None:
    """Draws the files that go with the next message, with a button to remove each of them."""
    session = view.session_id
    waiting = (
        [attachment for attachment in view.store.attachments.of(session) if attachment.message == 0] if session else []
    )
    busy = {name for intake in resource.intakes().of(session) if intake.state != "done" for name in intake.names}
    with st.container(key="next-files", horizontal=True, gap="xsmall", vertical_alignment="center"):
        for number, attachment in enumerate(attachment for attachment in waiting if attachment.name not in busy):
            draw_chips(view, [{"name": attachment.name, "key": attachment.key}], f"next-{number}")
            label = view.words("file.drop")
            st.button(
                label,
                key=f"drop-{number}",
                icon=":material/close:",
                type="tertiary",
                help=label,
                on_click=partial(trying, partial(_drop, attachment.session_id, attachment.name)),
            )


def _drop(session: str, name: str) -> None:
    resource.agent().detach(session, name)


def _held(session: str | None) -> dict[str, Document]:
    """Returns the files of a conversation by key, as the library read them; none while the library fails."""
    library = resource.agent().library
    try:
        return library.attached(session) if library is not None and session else {}
    except GieokError:
        return {}


def _state(view: View, held: Mapping[str, Document], file: Mapping[str, str]) -> State:
    document = held.get(file.get("key", ""))
    if document is not None:
        return document.state
    running = (each for each in resource.intakes().of(view.session_id) if each.state != "done")
    if any(file["name"] in each.names for each in running):
        return "adding"
    return "replaced" if file.get("key") and file["name"] in [each.name for each in held.values()] else "absent"


# --- the window -----------------------------------------------------------------------------------


def draw_file(view: View, about: tuple[str, str, int]) -> None:
    """Draws the window of a file; ``about``: its name, its key and the number of the turn that it came with."""
    window.draw(view.words("file.title"), lambda: _draw(view, *about), width="large")


def _draw(view: View, name: str, key: str, turn: int) -> None:
    with telling(view.words):
        _draw_file(view, name, key, turn)


def _draw_file(view: View, name: str, key: str, turn: int) -> None:
    words, documents = view.words, _held(view.session_id)
    document, library = documents.get(key), resource.agent().library
    st.markdown(f":material/description: **{plain(name)}**")
    if document is None or library is None:
        st.warning(words(f"file.{_state(view, documents, {'name': name, 'key': key})}.hint"), icon=":material/info:")
    elif document.error:
        draw_fault(words, name, str(document.error.get("code")), "", document.error.get("values") or {})
    else:
        _draw_text(view, library, document, turn)


def _draw_text(view: View, library: Library, document: Document, turn: int) -> None:
    """Draws one section of the file, with a control to page through the sections; those of a PDF are its pages."""
    words, parts = view.words, library.sections_of(document.id)
    row = view.store.turn(view.session_id, turn) if view.session_id and turn else None
    st.caption(plain(_facts(words, document, list(parts.values()))))
    place = st.container()
    first = _cited(row, document, list(parts))
    chosen = st.pagination(len(parts), default=first, key=f"file-{document.id}-{turn}") if len(parts) > 1 else 1
    section = library.section(list(parts)[chosen - 1])
    with place:
        heading = heading_of(words, section.path)
        if heading:
            st.markdown(f"**{plain(heading)}**")
        st.html(f'<div class="gieok-source">{escape(shown(section.text))}</div>')


def _facts(words: Words, document: Document, paths: Sequence[Sequence[str]]) -> str:
    pages = [int(match[1]) for path in paths if path and (match := PAGE.fullmatch(path[-1]))]
    count = words("file.pages", count=max(pages)) if pages else words("file.sections", count=len(paths))
    return " · ".join([count, words(f"documents.language.{document.language}"), size(document.size)])


def heading_of(words: Words, path: Sequence[str]) -> str:
    """Returns the headings of a section as one line; a page of a PDF is named in the reader's language."""
    return " › ".join(
        words("file.page", number=match[1]) if (match := PAGE.fullmatch(heading)) else heading for heading in path
    )


def _cited(turn: Turn | None, document: Document, sections: Sequence[str]) -> int:
    """Returns the position, from 1, of the first section of this document that the answer was given, else 1."""
    sources = citations(turn.steps).values() if turn is not None else ()
    section_ids = (str(source.get("section")) for source in sources if source.get("document") == document.id)
    return next((sections.index(source) + 1 for source in section_ids if source in sections), 1)
