"""Files on their way into the library, as the page shows them: what runs, how far it is, what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

import settings
from component import resource
from component.catalogue import Words
from component.failure import draw_error
from component.intake import Intake, Question, State
from component.markdown import plain, short
from component.view import View, trying
from retrieval import Added, DocType, Library
from retrieval.load import label

FAILED_SHOWN = 5
NAME_CHARS = 60
_ICONS = {"own": "auto_stories", "add": "note_add", "reindex": "refresh", "rebuild": "build"}


def add_files(
    library: Library, files: Iterable[UploadedFile], doc_type: DocType | None = None, question: Question | None = None
) -> Intake:
    """Takes uploads into the library, after what runs already; ``question`` is asked when they are in."""
    uploads = distinct((file.name, file.getvalue()) for file in files)

    def work(intake: Intake) -> Added:
        report = partial(resource.intakes().report, intake)
        return library.add(uploads, doc_type, progress=report, stop=intake.stop)

    return resource.intakes().start("add", [label(name) for name, _ in uploads], work, question)


def read_again(library: Library, documents: Sequence[int], names: Sequence[str]) -> Intake:
    """Reads the files of these documents again."""

    def work(intake: Intake) -> Added:
        return library.reindex(*documents, progress=partial(resource.intakes().report, intake), stop=intake.stop)

    return resource.intakes().start("reindex", names, work)


def rebuild(library: Library) -> Intake:
    """Makes the index anew."""

    def work(intake: Intake) -> Added:
        done = library.rebuild(progress=partial(resource.intakes().report, intake), stop=intake.stop)
        return Added(cancelled=not done)

    return resource.intakes().start("rebuild", (), work)


def distinct(uploads: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """The uploads under names that differ: two files of one name, from two folders, are two documents."""
    made: dict[str, bytes] = {}
    for name, data in uploads:
        stem, dot, suffix = label(name).rpartition(".")
        names = (
            f"{stem or suffix} ({number}){dot if stem else ''}{suffix if stem else ''}" for number in range(2, 999)
        )
        free = label(name) if label(name) not in made else next(each for each in names if each not in made)
        made[free] = data
    return list(made.items())


def upload_limit() -> int:
    """What a browser may send, in megabytes: more than the library takes, so that the reason is told in words."""
    return max(200, 2 * math.ceil(settings.current().document_limit / 1_000_000))


@dataclass(frozen=True, slots=True)
class Adding:
    """The work as it is drawn; ``bars`` are redrawn while it runs."""

    words: Words
    drawn: tuple[tuple[int, State], ...]
    bars: dict[int, DeltaGenerator]
    intakes: tuple[Intake, ...]

    @property
    def active(self) -> bool:
        """Whether anything ran or waited when it was drawn."""
        return any(state != "done" for _, state in self.drawn)

    def update(self) -> bool:
        """Redraws the bars; False when something has begun or ended, and the page is to be drawn anew."""
        for intake in self.intakes:
            if intake.id in self.bars and intake.state == "running":
                self.bars[intake.id].progress(intake.share, _at(self.words, intake))
        return self.drawn == tuple((each.id, each.state) for each in self.intakes)


def draw_adding(view: View, intakes: Sequence[Intake], prefix: str = "") -> Adding:
    """Draws every piece of work, with what can be done about it."""
    drawn, bars = tuple((each.id, each.state) for each in intakes), dict[int, DeltaGenerator]()
    for intake, (_, state) in zip(intakes, drawn, strict=True):
        key = f"{prefix}intake-{intake.id}"
        with st.container(key=f"{key}-{state}", border=True, gap="xsmall"):
            if state == "done":
                _draw_done(view, intake, key)
            else:
                _draw_head(view, intake, state, key)
                if state == "running":
                    bars[intake.id] = st.empty()
                _draw_question(view, intake, key)
    adding = Adding(view.words, drawn, bars, tuple(intakes))
    adding.update()
    return adding


def _draw_head(view: View, intake: Intake, state: State, key: str) -> None:
    words = view.words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-head"):
        said = words(f"adding.{intake.kind}.{state}", count=len(intake.names))
        icon = _ICONS[intake.kind]
        st.markdown(f":material/{icon}: {plain(said)} :gray[{plain(_named(intake.names))}]", width="stretch")
        stopping = intake.stop.is_set()
        name = words("live.stopping") if stopping else words("adding.cancel")
        cancel = partial(trying, partial(resource.intakes().cancel, intake))
        st.button(name, key=f"{key}-cancel", on_click=cancel, disabled=stopping, icon=":material/close:")


def _named(names: Sequence[str]) -> str:
    return short(", ".join(names[:3]), NAME_CHARS) + (" …" if len(names) > 3 else "")


def _at(words: Words, intake: Intake) -> str:
    """Where it is, beside the bar."""
    at = intake.progress
    if at is None:
        return words("adding.begins")
    if intake.kind == "rebuild":
        return words("adding.passages", done=at.passage, all=at.passages)
    file = words("adding.file", name=short(at.name, NAME_CHARS), number=at.file, files=at.files)
    parts = [file, *([words("adding.passages", done=at.passage, all=at.passages)] if at.passages else [])]
    return plain(" · ".join(parts))


def _draw_question(view: View, intake: Intake, key: str) -> None:
    """The question that waits for the files."""
    question, words = intake.question, view.words
    if question is None or intake.asked:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"{key}-question"):
        st.caption(f":material/schedule: {words('adding.question')} · {plain(short(question.text, 60))}")
        now = partial(trying, partial(resource.intakes().ask, intake))
        st.button(words("chat.send_now"), key=f"{key}-ask", type="tertiary", on_click=now)
        back = partial(trying, partial(_take_back, intake))
        st.button(words("adding.unasked"), key=f"{key}-unask", type="tertiary", on_click=back)


def _take_back(intake: Intake) -> None:
    question = resource.intakes().take_back(intake)
    if question is not None:
        question.withdraw()


def _draw_done(view: View, intake: Intake, key: str) -> None:
    """What came of it, file by file where something is wrong."""
    words, result = view.words, intake.result
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-head"):
        st.markdown(_outcome(words, intake), width="stretch")
        dismiss = partial(resource.intakes().dismiss, intake)
        st.button(words("adding.dismiss"), key=f"{key}-dismiss", type="tertiary", on_click=dismiss)
    if intake.error is not None:
        draw_error(words, intake.error)
    failed = result.failed if result else ()
    for name, error in failed[:FAILED_SHOWN]:
        draw_fault(words, name, error.code, error.text(), error.values)
    if len(failed) > FAILED_SHOWN:
        st.caption(words("adding.more", count=len(failed) - FAILED_SHOWN))


def _outcome(words: Words, intake: Intake) -> str:
    """One line: how it ended and how many documents were added, changed, and so on."""
    result = intake.result
    if intake.error is not None or result is None:
        return f":red[:material/error:] {plain(words(f'adding.{intake.kind}.failed'))}"
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
    said = plain(words(f"adding.{intake.kind}.{name}"))
    return f"{mark} {said} :gray[{plain(facts)}]" if facts else f"{mark} {said}"


def draw_fault(words: Words, name: str, code: str, message: str, values: dict[str, object]) -> None:
    """Why a file could not be taken in, and what helps."""
    said, hint = words.error(code, message, values)
    st.markdown(f":orange[:material/warning:] {plain(said or name)}" + (f"  \n:gray[{plain(hint)}]" if hint else ""))
