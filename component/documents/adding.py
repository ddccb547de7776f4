"""Adds files and web pages to the library in the background, and shows progress and results of this work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

import settings
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, shorten_text
from component.work import resource
from component.work.intake import Intake, State, WaitingQuestion
from errors import DocumentKindUnknown, GieokError, ImagesUnsupported, ImageUnreadable, OutOfRange
from model.embedded.catalogue import show_name
from model.modelset import ModelSet
from retrieval import Added, DocType, Library
from retrieval.read.address import render_readable_address
from retrieval.read.load import clean_document_name, find_file_kind
from retrieval.read.site import Page
from store.turn.attachment import NEXT
from store.turn.image import MOST_MESSAGE_IMAGES, StoredImage
from store.turn.image_file import is_image_name, prepare_image
from text.clean import choose_free_name

FAILED_SHOWN = 5
NAME_CHARS = 60
_ICONS = {"own": "auto_stories", "add": "note_add", "pages": "language", "reindex": "refresh", "rebuild": "build"}


def add_files(library: Library, files: Iterable[UploadedFile], doc_type: DocType | None = None) -> Intake:
    """Starts adding uploads to the user's documents; the work begins when earlier work on the library has ended."""
    uploads = distinguish_uploads((file.name, file.getvalue()) for file in files)

    def work(intake: Intake) -> Added:
        report = partial(resource.open_intakes().report, intake)
        return library.add(uploads, doc_type, progress=report, stop=intake.stop)

    return resource.open_intakes().start("add", [clean_document_name(name) for name, _ in uploads], work)


def attach_files(files: Iterable[UploadedFile], session: str, question: WaitingQuestion | None) -> Intake:
    """Starts adding uploads to one conversation. ``question`` is sent once the files are in; without a question, the
    files go with the next message. Raises what the store raises."""
    agent, uploads = resource.find_user_agent(), distinguish_uploads((file.name, file.getvalue()) for file in files)
    agent.attach(session, uploads, question.message if question else NEXT)

    def work(intake: Intake) -> Added:
        report = partial(resource.open_intakes().report, intake)
        return agent.read_attached(uploads, progress=report, stop=intake.stop)

    names = [clean_document_name(name) for name, _ in uploads]
    return resource.open_intakes().start("add", names, work, question, session)


def add_page(library: Library, address: str, doc_type: DocType | None = None, *, below: bool = False) -> Intake:
    """Starts adding a web page to the library; with ``below``, also the pages of its site below it. Raises
    ``PageAddress``."""
    page = Page(address, below)

    def work(intake: Intake) -> Added:
        report = partial(resource.open_intakes().report, intake)
        return library.add([page], doc_type, progress=report, stop=intake.stop)

    return resource.open_intakes().start("pages", [render_readable_address(page.address)], work)


def read_again(library: Library, documents: Sequence[int], names: Sequence[str]) -> Intake:
    """Starts reading the files of these documents again."""

    def work(intake: Intake) -> Added:
        return library.reindex(*documents, progress=partial(resource.open_intakes().report, intake), stop=intake.stop)

    return resource.open_intakes().start("reindex", names, work)


def start_index_rebuild(library: Library) -> Intake:
    """Starts rebuilding the index."""

    def work(intake: Intake) -> Added:
        done = library.rebuild(progress=partial(resource.open_intakes().report, intake), stop=intake.stop)
        return Added(cancelled=not done)

    return resource.open_intakes().start("rebuild", (), work)


def distinguish_uploads(uploads: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Returns the uploads under distinct names. Two files of the same name, from two folders, are two documents; the
    second file's name gets a number. The same file twice is one."""
    unique: dict[str, bytes] = {}
    for name, data in dict.fromkeys((clean_document_name(name), data) for name, data in uploads):
        unique[choose_free_name(name, unique)] = data
    return list(unique.items())


@dataclass(frozen=True)
class SortedFiles:
    """Files that were dropped into a message. ``images``: by name, as they are sent; ``errors``: what is wrong with
    each of the others."""

    documents: list[UploadedFile]
    images: list[tuple[str, StoredImage]]
    errors: list[GieokError]


def sort_files(files: Iterable[UploadedFile], models: ModelSet | None, waiting: int) -> SortedFiles:
    """Returns the documents and the images among files. ``models``: those that answer; None while they are not ready,
    when the turn refuses images that they do not see. ``waiting``: images that go with the same message already."""
    found = SortedFiles([], [], [])
    for file in files:
        name = clean_document_name(file.name)
        try:
            if not is_image_name(name):
                find_file_kind(name)
                found.documents.append(file)
                continue
            if models is not None and not models.takes_images:
                raise ImagesUnsupported(model=show_name(models.name))
            if (count := waiting + len(found.images)) >= MOST_MESSAGE_IMAGES:
                raise OutOfRange(what="number of images", value=count + 1, low=0, high=MOST_MESSAGE_IMAGES)
            found.images.append((name, prepare_image(name, file.getvalue())))
        except (DocumentKindUnknown, ImagesUnsupported, ImageUnreadable, OutOfRange) as error:
            found.errors.append(error)
    return found


def upload_limit() -> int:
    """Returns how many megabytes a browser may send: more than the library takes, so that the library can tell the user
    in words why it refuses a file."""
    return max(200, 2 * math.ceil(settings.load_current_settings().document_limit / 1_000_000))


@dataclass(frozen=True, slots=True)
class Adding:
    """The work on the library as it was drawn; ``bars`` are redrawn while the work runs."""

    words: Words
    drawn: tuple[tuple[int, State], ...]
    bars: dict[int, DeltaGenerator]
    intakes: tuple[Intake, ...]

    @property
    def active(self) -> bool:
        """Whether any work was running or waiting when the work was drawn."""
        return any(state != "done" for _, state in self.drawn)

    def update(self) -> bool:
        """Redraws the bars. Returns False when some work has begun or ended: the page must then be drawn anew."""
        for intake in self.intakes:
            if intake.id in self.bars and intake.state == "running":
                self.bars[intake.id].progress(intake.share, _format_intake_progress(self.words, intake))
        return self.drawn == tuple((work.id, work.state) for work in self.intakes)


def draw_adding(view: View, intakes: Sequence[Intake], prefix: str = "") -> Adding:
    """Draws every piece of work with its buttons; ``prefix`` begins the keys of the widgets."""
    drawn, bars = tuple((work.id, work.state) for work in intakes), dict[int, DeltaGenerator]()
    for intake, (_, state) in zip(intakes, drawn, strict=True):
        key = f"{prefix}intake-{intake.id}"
        with st.container(key=f"{key}-{state}", border=True, gap="xsmall"):
            if state == "done":
                _draw_done(view, intake, key)
            else:
                _render_intake_head(view, intake, state, key)
                if state == "running":
                    bars[intake.id] = st.empty()
                _render_file_question(view, intake, key)
    adding = Adding(view.words, drawn, bars, tuple(intakes))
    adding.update()
    return adding


def _render_intake_head(view: View, intake: Intake, state: State, key: str) -> None:
    words = view.words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-head"):
        title = words(f"adding.{intake.kind}.{state}", count=len(intake.names))
        icon = _ICONS[intake.kind]
        st.markdown(
            f":material/{icon}: {escape_markdown(title)} :gray[{escape_markdown(_format_file_names(intake.names))}]",
            width="stretch",
        )
        stopping = intake.stop.is_set()
        name = words("live.stopping") if stopping else words("adding.cancel")
        cancel = partial(run_page_action, partial(resource.open_intakes().cancel, intake))
        st.button(name, key=f"{key}-cancel", on_click=cancel, disabled=stopping, icon=":material/close:")


def _format_file_names(names: Sequence[str]) -> str:
    return shorten_text(", ".join(names[:3]), NAME_CHARS) + (" …" if len(names) > 3 else "")


def _format_intake_progress(words: Words, intake: Intake) -> str:
    """Returns the text beside the progress bar: the current file and its passages."""
    progress = intake.progress
    if progress is None:
        return words("adding.begins")
    if intake.kind == "rebuild":
        return words("adding.passages", done=progress.passage, all=progress.passages)
    file = words(
        "adding.file", name=shorten_text(progress.name, NAME_CHARS), number=progress.file, files=progress.files
    )
    parts = [
        file,
        *([words("adding.passages", done=progress.passage, all=progress.passages)] if progress.passages else []),
    ]
    return escape_markdown(" · ".join(parts))


def _render_file_question(view: View, intake: Intake, key: str) -> None:
    """Draws the question that waits for the files, with buttons that send it now or withdraw it."""
    question, words = intake.question, view.words
    if question is None or intake.asked:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"{key}-question"):
        st.caption(
            f":material/schedule: {words('adding.question')} · {escape_markdown(shorten_text(question.text, 60))}"
        )
        send = partial(run_page_action, partial(resource.open_intakes().ask, intake))
        st.button(words("chat.send_now"), key=f"{key}-ask", type="tertiary", on_click=send)
        withdraw = partial(run_page_action, partial(_take_back, intake))
        st.button(words("adding.unasked"), key=f"{key}-unask", type="tertiary", on_click=withdraw)


def _take_back(intake: Intake) -> None:
    question = resource.open_intakes().take_back(intake)
    if question is not None:
        question.withdraw()


def _draw_done(view: View, intake: Intake, key: str) -> None:
    """Draws how the work ended, and the reason for every failed file."""
    words, result = view.words, intake.result
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-head"):
        st.markdown(_format_intake_outcome(words, intake), width="stretch")
        dismiss = partial(resource.open_intakes().dismiss, intake)
        st.button(words("adding.dismiss"), key=f"{key}-dismiss", type="tertiary", on_click=dismiss)
    if intake.error is not None:
        draw_error(words, intake.error)
    failed = result.failed if result else ()
    for name, error in failed[:FAILED_SHOWN]:
        draw_fault(words, name, error.code, error.text(), error.values)
    if len(failed) > FAILED_SHOWN:
        st.caption(words("adding.more", count=len(failed) - FAILED_SHOWN))


def _format_intake_outcome(words: Words, intake: Intake) -> str:
    """Returns one line: how the work ended, and how many documents were added, changed and so on."""
    result = intake.result
    if intake.error is not None or result is None:
        return f":red[:material/error:] {escape_markdown(words(f'adding.{intake.kind}.failed'))}"
    name = "cancelled" if result.cancelled else "done"
    mark = ":gray[:material/stop_circle:]" if result.cancelled else ":green[:material/check_circle:]"
    counts = {
        "added": len(result.added),
        "changed": len(result.changed),
        "unchanged": len(result.unchanged),
        "removed": len(result.removed),
        "failed": len(result.failed),
    }
    if result.failed and not (result.added or result.changed or result.unchanged or result.cancelled):
        name, mark = "failed", ":red[:material/error:]"
    facts = " · ".join(words(f"adding.count.{kind}", count=count) for kind, count in counts.items() if count)
    title = escape_markdown(words(f"adding.{intake.kind}.{name}"))
    return f"{mark} {title} :gray[{escape_markdown(facts)}]" if facts else f"{mark} {title}"


def draw_fault(words: Words, name: str, code: str, message: str, values: dict[str, object]) -> None:
    """Draws why a file could not be added, and what the user can do."""
    problem, hint = words.error(code, message, values)
    st.markdown(
        f":orange[:material/warning:] {escape_markdown(problem or name)}"
        + (f"  \n:gray[{escape_markdown(hint)}]" if hint else "")
    )
