"""The documents page: adding documents, the list of documents, and the state of the search index."""

from __future__ import annotations

from typing import cast, get_args

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

import settings
from component.documents.adding import Adding, add_files, draw_adding, read_again, start_index_rebuild, upload_limit
from component.documents.document_list import draw_list
from component.documents.web_field import draw_web_field
from component.page.view import View, show_documents, take_page_error
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.work import resource
from component.work.user import is_admin
from errors import LibraryModelChanged
from model.embedding import BUILT_IN
from retrieval import DocType, Document, Library, LibraryStatus
from retrieval.change import UPLOAD
from retrieval.read.load import known_suffixes

AUTO = "auto"
TYPE = "upload-type"


def draw_documents(view: View) -> Adding | None:
    """Draws the page. Returns the work on the library, so that the caller can follow the work; None when answers from
    documents are switched off."""
    words, library = view.words, resource.find_user_agent().library
    with st.container(key="documents", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="documents-head"):
            st.markdown(f"## {words('documents.title')}", anchors=False, width="stretch")
            back, icon = words("documents.back"), ":material/arrow_back:"
            st.button(back, key="documents-back", icon=icon, type="tertiary", on_click=show_documents, args=(False,))
        if library is None:
            st.info(words("documents.off"), icon=":material/info:")
            return None
        st.caption(words("documents.about"))
        error = take_page_error()
        if error:
            draw_error(words, error)
        else:
            st.empty()
        may_change = is_admin()
        if may_change:
            _draw_upload(view, library)
            draw_web_field(view, library, _chosen_type())
        else:
            st.caption(f":material/lock: {words('login.shared')}")
        with st.container(key="documents-adding", gap="small"):
            adding = draw_adding(view, resource.open_intakes().of("") if may_change else [])
        status, documents = library.status, library.documents()
        _render_index_state(view, library, status, documents if may_change else [], adding.active or not may_change)
        draw_list(view, library, documents, may_change)
    return adding


def _draw_upload(view: View, library: Library) -> None:
    """Draws the upload field. Files are added as soon as they have arrived, and the field is emptied."""
    words = view.words
    number = int(st.session_state.get("uploads", 0))
    limit = settings.load_current_settings().document_limit // 1_000_000
    key = f"upload-{number}"
    with st.container(key="upload", gap="xsmall"):
        st.segmented_control(
            words("documents.type"),
            (AUTO, *get_args(DocType)),
            default=AUTO,
            format_func=lambda name: words(f"documents.type.{name}"),
            key=TYPE,
            required=True,
            help=words("documents.type.help"),
        )
        st.file_uploader(
            words("documents.upload", kinds=known_suffixes().replace(".", ""), limit=limit),
            accept_multiple_files=True,
            key=key,
            max_upload_size=upload_limit(),
            on_change=_add_uploaded_files,
            args=(library, key),
        )


def _add_uploaded_files(library: Library, key: str) -> None:
    files = [file for file in st.session_state.get(key) or () if isinstance(file, UploadedFile)]
    if not files:
        return
    add_files(library, files, _chosen_type())
    st.session_state["uploads"] = int(st.session_state.get("uploads", 0)) + 1


def _chosen_type() -> DocType | None:
    """Returns the chosen type of the documents that are added next; None means automatic."""
    chosen = st.session_state.get(TYPE, AUTO)
    return None if chosen == AUTO else cast(DocType, chosen)


def _render_index_state(
    view: View, library: Library, status: LibraryStatus, documents: list[Document], busy: bool
) -> None:
    """Draws what the index holds. When the index cannot be used, draws the reason and the button that rebuilds it.

    ``documents``: those that the user may read again.
    """
    words = view.words
    if status.rebuild is not None:
        if status.rebuild == "model":
            draw_error(
                words,
                LibraryModelChanged(old=status.model, new=settings.load_current_settings().embedding_model or BUILT_IN),
            )
        else:
            st.error(words("documents.damaged"), icon=":material/error:")
        label, icon = words("documents.rebuild"), ":material/build:"
        st.button(
            label, key="rebuild", type="primary", icon=icon, on_click=_rebuild_index, args=(library,), disabled=busy
        )
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="documents-state"):
        st.caption(escape_markdown(_describe_index(view, status)), width="stretch")
        files = [document for document in documents if not document.source.startswith(UPLOAD)]
        args = (library, [document.id for document in files], [document.name for document in files])
        label, icon = words("documents.read_again"), ":material/refresh:"
        if files:
            st.button(
                label, key="read-again", type="tertiary", icon=icon, on_click=_read_again, args=args, disabled=busy
            )


def _rebuild_index(library: Library) -> None:
    start_index_rebuild(library)


def _read_again(library: Library, documents: list[int], names: list[str]) -> None:
    read_again(library, documents, names)


def _describe_index(view: View, status: LibraryStatus) -> str:
    words = view.words
    parts = [
        words("documents.count", count=status.documents),
        words("documents.passages", count=status.passages),
        words("documents.model", model=status.model),
        words(f"documents.words.{status.tokens}"),
    ]
    if status.failed:
        parts.insert(1, words("documents.failed", count=status.failed))
    return " · ".join(parts)
