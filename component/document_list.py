"""The list of documents: found by name, a page at a time, each with what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Literal

import streamlit as st

from component.adding import draw_fault, read_again
from component.catalogue import Words
from component.markdown import plain, short
from component.overflow import Item, draw_overflow
from component.session import moment
from component.view import View, trying
from retrieval import Document, Library
from retrieval.change import UPLOAD

ROWS = 20
"""Documents on one page of the list: a thousand of them are drawn as fast as ten."""
QUERY, KIND, ASKED = "documents-query", "documents-kind", "document-asked"
KINDS = ("all", "faq", "guide", "failed")
NAME_CHARS = 120
_ICONS = {"faq": "quiz", "guide": "menu_book", "reindex": "refresh", "delete": "delete"}


def draw_list(view: View, library: Library, documents: Sequence[Document]) -> None:
    """The box to find one by name, the documents, and the way to the other pages of the list."""
    words = view.words
    if not documents:
        st.info(words("documents.none"), icon=":material/folder_open:")
        return
    query, kind = _draw_filter(words)
    found = matching(documents, query, kind)
    if not found:
        st.caption(words("documents.no_match"))
        return
    if query.strip() or kind != "all":
        st.caption(words("documents.found", count=len(found), all=len(documents)))
    pages = -(-len(found) // ROWS)
    key = f"documents-page-{kind}-{query}"  # another choice begins at its first page
    page = min(int(st.session_state.get(key, 1)), pages)
    with st.container(key="document-rows", gap=None):
        for document in found[(page - 1) * ROWS : page * ROWS]:
            with st.container(key=f"document-{document.id}", gap=None):
                _draw_document(view, library, document)
    if pages > 1:
        with st.container(key="document-pages", horizontal_alignment="center"):
            st.pagination(pages, key=key)


def matching(documents: Sequence[Document], query: str, kind: str = "all") -> list[Document]:
    """The documents of a kind whose name or title holds every word of the query, in any case."""
    wanted = query.casefold().split()
    return [
        document
        for document in documents
        if (kind == "all" or kind == document.state or (kind == document.doc_type and document.state == "ready"))
        and all(word in f"{document.name} {document.title}".casefold() for word in wanted)
    ]


def _draw_filter(words: Words) -> tuple[str, str]:
    label = words("documents.search")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="documents-filter"):
        query = st.text_input(
            label, key=QUERY, placeholder=label, label_visibility="collapsed", icon=":material/search:"
        )
        kind = st.segmented_control(
            words("documents.kind"),
            KINDS,
            default="all",
            format_func=lambda name: words(f"documents.kind.{name}"),
            key=KIND,
            required=True,
            label_visibility="collapsed",
        )
    return query or "", kind or "all"


def _draw_document(view: View, library: Library, document: Document) -> None:
    words = view.words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=f"row-{document.id}"):
        icon = "error" if document.state == "failed" else _ICONS[document.doc_type]
        colour = "orange" if document.state == "failed" else "gray"
        name = plain(short(document.name, NAME_CHARS))
        facts = plain(facts_of(words, document))
        st.markdown(f":{colour}[:material/{icon}:] **{name}**  \n:small[:gray[{facts}]]", width="stretch")
        _draw_menu(view, library, document)
    if document.error:
        draw_fault(words, document.name, str(document.error.get("code")), "", document.error.get("values") or {})
    if st.session_state.get(ASKED) == document.id:
        _draw_delete(view, library, document)


def facts_of(words: Words, document: Document) -> str:
    """Type, title when it says more than the name, sections and passages, language, size, and since when."""
    parts = [words(f"documents.type.{document.doc_type}")]
    if document.state == "ready":
        if document.title and document.title != PurePosixPath(document.name).stem:
            parts.append(short(document.title, 60))
        parts.append(words("documents.pieces", sections=document.sections, passages=document.passages))
        parts.append(words(f"documents.language.{document.language}"))
        parts.append(size(document.size))
    return " · ".join([*parts, moment(document.added)])


def size(count: int) -> str:
    """Bytes as people read them."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _draw_menu(view: View, library: Library, document: Document) -> None:
    other: Literal["faq", "guide"] = "guide" if document.doc_type == "faq" else "faq"
    ways: dict[str, Callable[[], object]] = {
        other: partial(library.set_type, document.id, other),
        "reindex": partial(read_again, library, [document.id], [document.name]),
        "delete": partial(_ask, document),
    }
    without: set[str] = {other} if document.state != "ready" else set()
    without |= {"reindex"} if document.source.startswith(UPLOAD) else set()
    choices = {
        name: Item(view.words(f"documents.do.{name}"), _ICONS[name], way)
        for name, way in ways.items()
        if name not in without
    }
    draw_overflow(f"document-menu-{document.id}", choices, upright=True)


def _ask(document: Document) -> None:
    st.session_state[ASKED] = document.id


def _draw_delete(view: View, library: Library, document: Document) -> None:
    """The question before a document goes, in its place: an upload's file is not kept, so there is no way back."""
    words = view.words
    kept = "upload" if document.source.startswith(UPLOAD) else "file"
    with st.container(key="document-delete", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(plain(words(f"documents.delete.{kept}")), width="stretch")
        yes, no = words("documents.delete.yes"), words("documents.delete.no")
        st.button(yes, key="delete-yes", type="primary", on_click=_delete, args=(library, document))
        st.button(no, key="delete-no", on_click=_leave)


def _delete(library: Library, document: Document) -> None:
    _leave()
    trying(partial(library.remove, document.id))


def _leave() -> None:
    st.session_state.pop(ASKED, None)
