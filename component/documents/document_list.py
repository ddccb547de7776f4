"""The list of documents: searchable by name, divided into pages, with a menu for every document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Literal

import streamlit as st

from component.documents.adding import draw_fault, read_again
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.moment import format_reader_moment
from component.widget.overflow import MenuItem, draw_overflow
from retrieval import Document, Library
from retrieval.change import UPLOAD
from retrieval.read.address import is_web
from text.fold import fold_text

ROWS = 20
"""Documents on one page of the list: a list of a thousand documents is thus drawn as fast as a list of ten."""
QUERY, KIND, ASKED = "documents-query", "documents-kind", "document-asked"
KINDS = ("all", "faq", "guide", "failed")
NAME_CHARS = 120
_ICONS = {"faq": "quiz", "guide": "menu_book", "reindex": "refresh", "delete": "delete"}


def draw_list(view: View, library: Library, documents: Sequence[Document], may_change: bool) -> None:
    """Draws the search field, the documents on the current page of the list, and the page numbers. ``may_change``: with
    a menu for every document."""
    words = view.words
    if not documents:
        st.info(words("documents.none"), icon=":material/folder_open:")
        return
    query, kind = _render_document_filter(words)
    matches = filter_documents(documents, query, kind)
    if not matches:
        st.caption(words("documents.no_match"))
        return
    is_searched = bool(query.strip()) or kind != "all"
    if is_searched:
        st.caption(words("documents.found", count=len(matches), all=len(documents)))
    # the product's own stand folded below the user's, unless something is looked for
    folded = [] if is_searched else [document for document in matches if document.collection == "product"]
    with st.container(key="document-rows", gap=None):
        own = matches[: len(matches) - len(folded)]
        _draw_document_page(view, library, own, may_change, f"{kind}-{query}")  # a new query starts at its first page
    if folded:
        title = f"{words('documents.product')} ({len(folded)})"
        with st.container(key="document-product"), st.expander(title), st.container(gap=None):
            _draw_document_page(view, library, folded, may_change, "product")


def _draw_document_page(
    view: View, library: Library, documents: Sequence[Document], may_change: bool, name: str
) -> None:
    """Draws the documents on the current page of the list of this name, and its page numbers."""
    pages, key = -(-len(documents) // ROWS), f"documents-page-{name}"
    page = max(1, min(int(st.session_state.get(key, 1)), pages))
    for document in documents[(page - 1) * ROWS : page * ROWS]:
        _draw_document_row(view, library, document, may_change)
    if pages > 1:
        with st.container(horizontal_alignment="center"):
            st.pagination(pages, key=key)


def filter_documents(documents: Sequence[Document], query: str, kind: str = "all") -> list[Document]:
    """Returns the documents of this kind whose name or title contains every word of the query, ignoring case: the
    users' own first, then those of the product."""
    terms = fold_text(query).split()
    found = [
        document
        for document in documents
        if (kind == "all" or kind == document.state or (kind == document.doc_type and document.state == "ready"))
        and all(word in fold_text(f"{document.name} {document.title}") for word in terms)
    ]
    return sorted(found, key=lambda document: document.collection == "product")


def _render_document_filter(words: Words) -> tuple[str, str]:
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


def _draw_document_row(view: View, library: Library, document: Document, may_change: bool) -> None:
    with st.container(key=f"document-{document.id}", gap=None):
        _draw_document(view, library, document, may_change)


def _draw_document(view: View, library: Library, document: Document, may_change: bool) -> None:
    words = view.words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=f"row-{document.id}"):
        icon = "error" if document.state == "failed" else _ICONS[document.doc_type]
        colour = "orange" if document.state == "failed" else "gray"
        name = escape_markdown(shorten_text(document.name, NAME_CHARS))
        facts = escape_markdown(facts_of(words, document))
        st.markdown(f":{colour}[:material/{icon}:] **{name}**  \n:small[:gray[{facts}]]", width="stretch")
        if may_change:
            _render_document_menu(view, library, document)
    if document.error:
        draw_fault(words, document.name, str(document.error.get("code")), "", document.error.get("values") or {})
    if may_change and st.session_state.get(ASKED) == document.id:
        _render_document_deletion(view, library, document)


def facts_of(words: Words, document: Document) -> str:
    """Returns the facts below a document's name: type, title (if it differs from the name), counts of sections and
    passages, language, size and date."""
    parts = [words(f"documents.type.{document.doc_type}")]
    if document.collection == "product":
        parts.insert(0, words("documents.product"))
    if document.state == "ready":
        if document.title and document.title != PurePosixPath(document.name).stem:
            parts.append(shorten_text(document.title, 60))
        parts.append(words("documents.pieces", sections=document.sections, passages=document.passages))
        parts.append(words(f"documents.language.{document.language}"))
        parts.append(format_file_size(document.size))
    return " · ".join([*parts, format_reader_moment(document.added)])


def format_file_size(count: int) -> str:
    """Returns a number of bytes as text, such as «12 kB»."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _render_document_menu(view: View, library: Library, document: Document) -> None:
    other: Literal["faq", "guide"] = "guide" if document.doc_type == "faq" else "faq"
    actions: dict[str, Callable[[], object]] = {
        other: partial(library.set_type, document.id, other),
        "reindex": partial(read_again, library, [document.id], [document.name]),
        "delete": partial(_ask_document_deletion, document),
    }
    hidden: set[str] = {other} if document.state != "ready" else set()
    hidden |= {"reindex"} if document.source.startswith(UPLOAD) else set()
    choices = {
        name: MenuItem(view.words(f"documents.do.{name}"), _ICONS[name], action)
        for name, action in actions.items()
        if name not in hidden
    }
    draw_overflow(f"document-menu-{document.id}", choices, upright=True)


def _ask_document_deletion(document: Document) -> None:
    st.session_state[ASKED] = document.id


def _render_document_deletion(view: View, library: Library, document: Document) -> None:
    """Asks below the row before a document is deleted: the file of an upload is not kept, so there is no undo."""
    words = view.words
    origin = "upload" if document.source.startswith(UPLOAD) else "page" if is_web(document.source) else "file"
    with st.container(key="document-delete", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(escape_markdown(words(f"documents.delete.{origin}")), width="stretch")
        yes, no = words("documents.delete.yes"), words("documents.delete.no")
        st.button(yes, key="delete-yes", type="primary", on_click=_delete_document, args=(library, document))
        st.button(no, key="delete-no", on_click=_close_document_question)


def _delete_document(library: Library, document: Document) -> None:
    _close_document_question()
    run_page_action(partial(library.remove, document.id))


def _close_document_question() -> None:
    st.session_state.pop(ASKED, None)
