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
from component.documents.document_list import format_file_size
from component.page import window
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.work import resource
from errors import GieokError
from graph.answer.documents import find_turn_citations
from retrieval import Document, Library
from retrieval.document import PAGE
from store import Store, TurnRow
from store.turn.attachment import NEXT, Attachment
from store.turn.image import StoredImage, is_image_key
from store.turn.image_file import shrink_image

NAME = "file"
LABEL_CHARS = 40
IMAGE_PIXELS, WAITING_IMAGE_PIXELS = 220, 72
SHOWN_PIXELS = 1400
"""Pixels of the longer side of an image on the page; of a larger one Streamlit makes another at every run."""
SHOWN_IMAGES = 100
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
    images = [file for file in files if is_image_key(file.get("key", ""))]
    if images:
        draw_images(view, images, key, IMAGE_PIXELS if turn else WAITING_IMAGE_PIXELS)
    files = [file for file in files if file not in images]
    if not files:
        return
    documents = _load_attached_files(view.session_id)
    with st.container(key=f"chips-{key}", horizontal=True, gap="xsmall", width="stretch" if turn else "content"):
        for number, file in enumerate(files):
            state = _find_file_state(view, documents, file)
            st.button(
                escape_markdown(shorten_text(file["name"], LABEL_CHARS)),
                key=f"chip-{key}-{number}",
                icon=f":material/{_ICONS[state]}:",
                help=view.words(f"file.{state}"),
                on_click=window.open_page_window,
                args=(NAME, (file["name"], file.get("key", ""), turn)),
            )


def draw_images(view: View, files: Sequence[Mapping[str, str]], key: str, width: int) -> None:
    """Draws the images of a message, ``width`` pixels wide; the button on each shows it large."""
    with st.container(key=f"images-{key}", horizontal=True, gap="xsmall", width="content"):
        for file in files:
            try:
                image = _load_shown_image(view.session_id or "", file["key"], view.store)
            except KeyError:  # it is gone
                st.caption(f":material/broken_image: {escape_markdown(shorten_text(file['name'], LABEL_CHARS))}")
                continue
            with st.container(width=width):  # a width of the image itself would make it small for good
                form: Literal["PNG", "JPEG"] = "PNG" if image.kind == "image/png" else "JPEG"
                st.image(image.data, width="content", output_format=form, alt=sanitize_text(file["name"]))


@st.cache_resource(max_entries=SHOWN_IMAGES, show_spinner=False)
def _load_shown_image(session_id: str, key: str, _store: Store) -> StoredImage:
    """Returns an image as the page shows it: a large one smaller, so that no run of the page makes it so again. The key
    names the content, so what was loaded once stays right. Raises ``KeyError`` for one that is gone."""
    return shrink_image(_store.images.load(session_id, [key])[key], SHOWN_PIXELS)


def list_waiting_files(view: View) -> list[Attachment]:
    """Returns the files that go with the next message."""
    files = view.store.attachments.of(view.session_id) if view.session_id else []
    return [file for file in files if file.message == NEXT]


def draw_next(view: View) -> None:
    """Draws the files that go with the next message, with a button to remove each of them."""
    session, waiting = view.session_id, list_waiting_files(view)
    busy = {name for intake in resource.open_intakes().of(session) if intake.state != "done" for name in intake.names}
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
                on_click=partial(run_page_action, partial(_detach_file, attachment.session_id, attachment.name)),
            )


def _detach_file(session: str, name: str) -> None:
    resource.find_user_agent().detach(session, name)


def _load_attached_files(session: str | None) -> dict[str, Document]:
    """Returns the files of a conversation by key, as the library read them; none while the library fails."""
    library = resource.find_user_agent().library
    try:
        return library.find_attached_documents(session) if library is not None and session else {}
    except GieokError:
        return {}


def _find_file_state(view: View, held: Mapping[str, Document], file: Mapping[str, str]) -> State:
    document = held.get(file.get("key", ""))
    if document is not None:
        return document.state
    running = (each for each in resource.open_intakes().of(view.session_id) if each.state != "done")
    if any(file["name"] in each.names for each in running):
        return "adding"
    return "replaced" if file.get("key") and file["name"] in [each.name for each in held.values()] else "absent"


# --- the window -----------------------------------------------------------------------------------


def draw_file(view: View, about: tuple[str, str, int]) -> None:
    """Draws the window of a file; ``about``: its name, its key and the number of the turn that it came with."""
    window.render_page_window(view.words("file.title"), lambda: _render_file_content(view, *about), width="large")


def _render_file_content(view: View, name: str, key: str, turn: int) -> None:
    with render_raised_error(view.words):
        _draw_file(view, name, key, turn)


def _draw_file(view: View, name: str, key: str, turn: int) -> None:
    words, documents = view.words, _load_attached_files(view.session_id)
    document, library = documents.get(key), resource.find_user_agent().library
    st.markdown(f":material/description: **{escape_markdown(name)}**")
    if document is None or library is None:
        st.warning(
            words(f"file.{_find_file_state(view, documents, {'name': name, 'key': key})}.hint"), icon=":material/info:"
        )
    elif document.error:
        draw_fault(words, name, str(document.error.get("code")), "", document.error.get("values") or {})
    else:
        _render_file_section(view, library, document, turn)


def _render_file_section(view: View, library: Library, document: Document, turn: int) -> None:
    """Draws one section of the file, with a control to page through the sections; those of a PDF are its pages."""
    words, parts = view.words, library.sections_of(document.id)
    row = view.store.turn(view.session_id, turn) if view.session_id and turn else None
    st.caption(escape_markdown(_describe_file(words, document, list(parts.values()))))
    place = st.container()
    first = _find_cited_section(row, document, list(parts))
    chosen = st.pagination(len(parts), default=first, key=f"file-{document.id}-{turn}") if len(parts) > 1 else 1
    section = library.section(list(parts)[chosen - 1])
    with place:
        heading = heading_of(words, section.path)
        if heading:
            st.markdown(f"**{escape_markdown(heading)}**")
        st.html(f'<div class="gieok-source">{escape(sanitize_text(section.text))}</div>')


def _describe_file(words: Words, document: Document, paths: Sequence[Sequence[str]]) -> str:
    pages = [int(match[1]) for path in paths if path and (match := PAGE.fullmatch(path[-1]))]
    count = words("file.pages", count=max(pages)) if pages else words("file.sections", count=len(paths))
    return " · ".join([count, words(f"documents.language.{document.language}"), format_file_size(document.size)])


def heading_of(words: Words, path: Sequence[str]) -> str:
    """Returns the headings of a section as one line; a page of a PDF is named in the reader's language."""
    return " › ".join(
        words("file.page", number=match[1]) if (match := PAGE.fullmatch(heading)) else heading for heading in path
    )


def _find_cited_section(turn: TurnRow | None, document: Document, sections: Sequence[str]) -> int:
    """Returns the position, from 1, of the first section of this document that the answer was given, else 1."""
    sources = find_turn_citations(turn.steps).values() if turn is not None else ()
    section_ids = (str(source.get("section")) for source in sources if source.get("document") == document.id)
    return next((sections.index(source) + 1 for source in section_ids if source in sections), 1)
