"""The text of the files that came with a question, for a small model: what nothing could be quoted from is read by it.

«Summarise the file.» is near no section of it, and a model that is given nothing invents the file. So it gets the whole
text of a short file; of a longer one the beginning, and what the search found in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from errors import PassageUnknown
from retrieval.answer.lookup import CUT, Cited, LookUp
from retrieval.document import Document, Passage, Section

TOKENS = 1000
"""The most tokens of files. Two processor cores read some 60 to 100 tokens of a prompt a second."""
BEST = 3
"""Sections of the search that stand beside the beginning of a file that is longer."""
LEAST = 30
"""Tokens below which no further section is begun."""
REASON = "given"
"""The reason of a search step whose files the model reads itself."""


class FileShelf(Protocol):
    """The part of a library that this module uses."""

    def find_attached_documents(self, session: str) -> dict[str, Document]: ...

    def sections_of(self, document: int) -> dict[str, tuple[str, ...]]: ...

    def section(self, id_: str) -> Section: ...

    def passage(self, id_: int) -> Passage: ...


def give_file_parts(
    shelf: FileShelf, found: LookUp, session: str, count: Callable[[str], int], tokens: int = TOKENS
) -> LookUp:
    """Returns the look-up with parts of the conversation's files as passages for the model, the newest file first, else
    in the order of reading; as it is where they have no text. ``found``: a look-up that quotes nothing; ``tokens``: the
    most that the parts may have together. Raises what the library raises.
    """
    files = sorted(shelf.find_attached_documents(session).values(), key=lambda file: -file.id)
    order = [id_ for file in files for id_ in shelf.sections_of(file.id)]
    parts = _read_parts(shelf, order, tokens, count)
    best = [hit.passage.section_id for step in found.trace[-1:] for hit in step.hits if hit.passage.section_id in order]
    if best and len(parts) < len(order):  # half of the room for the beginning, the rest for what was found
        beginning = _read_parts(shelf, order, tokens // 2, count)
        left = tokens - sum(count(text) for _, text in beginning.values())
        others = [id_ for id_ in dict.fromkeys(best) if id_ not in beginning][:BEST]
        parts = beginning | _read_parts(shelf, others, left, count)
    if not parts:
        return found
    in_order = [parts[id_] for id_ in order if id_ in parts]
    passages = tuple(
        Cited(number, shelf.passage(section.passages[0]), text, expanded=text == section.text)
        for number, (section, text) in enumerate(in_order, 1)
    )
    trace = (*found.trace[:-1], replace(found.trace[-1], reason=REASON))
    return replace(found, passages=passages, trace=trace, sufficiency="not_judged", fallback=None, budget=tokens)


def _read_parts(
    shelf: FileShelf, sections: Iterable[str], tokens: int, count: Callable[[str], int]
) -> dict[str, tuple[Section, str]]:
    """Returns the sections, by id and in this order, that have room together, each with its text; the last one may be
    shortened."""
    parts = dict[str, tuple[Section, str]]()
    for id_ in sections:
        if tokens < LEAST:
            break
        try:
            section = shelf.section(id_)
        except PassageUnknown:  # its file was changed a moment ago
            continue
        text, size = section.text, count(section.text)
        if size > tokens:
            text = section.text[: len(section.text) * tokens // size] + CUT
        parts[id_] = (section, text)
        tokens -= size
    return parts
