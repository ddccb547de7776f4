"""The text of a conversation's files, for a small model: it reads what no section can be quoted from.

«Summarise the file.» is near no section of it, and a model that is given nothing invents the file. So it gets the whole
text of a short file; of a longer one the beginning, and what the search found in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, Protocol

from errors import PassageUnknown
from retrieval.answer.lookup import CUT, Cited, LookUp
from retrieval.document import Document, Passage, Section

TOKENS = 1000
"""The most tokens of files. Two processor cores read some 60 to 100 tokens of a prompt a second."""
FRAME_TOKENS = 30
"""What the frame around a piece of a file and its label take."""
BEST = 3
"""Passages of the search that stand beside the beginning of a file that is longer."""
REASON = "given"
"""The reason of a search step whose files the model reads itself."""


class FileShelf(Protocol):
    """The part of a library that this module uses."""

    def find_attached_documents(self, session: str) -> dict[str, Document]: ...

    def sections_of(self, document: int) -> dict[str, tuple[str, ...]]: ...

    def section(self, id_: str) -> Section: ...

    def passage(self, id_: int) -> Passage: ...


class _Piece(NamedTuple):
    """A passage of a file. ``place``: of its file (the newest first), of its section, and its own, in the order of
    reading; ``heading``: of its section, where it is the first of it."""

    place: tuple[int, int, int]
    passage: int
    heading: str
    text: str


def give_file_parts(
    shelf: FileShelf, found: LookUp, session: str, count: Callable[[str], int], tokens: int = TOKENS
) -> LookUp:
    """Returns the look-up with the conversation's files as passages for the model, the newest file first, else in the
    order of reading; as it is where they have no text. ``found``: a look-up that quotes nothing; ``tokens``: the most
    that they may take together with their frames, counted by ``count``. Reads no more of a file than it gives.

    Raises what the library raises.
    """
    files = sorted(shelf.find_attached_documents(session).values(), key=lambda file: -file.id)
    orders = [list(shelf.sections_of(file.id)) for file in files]
    every = (piece for at, order in enumerate(orders) for piece in _read_pieces(shelf, at, order))
    pieces, left, is_whole = _take_pieces(every, tokens, count)
    best = [] if is_whole else _find_best_pieces(shelf, found, orders)
    if best:  # half of the room for the beginning, the rest for what was found
        pieces, left, _ = _take_pieces(iter(pieces), tokens // 2, count)
        known = {piece.place for piece in pieces}
        others = (piece for piece in best if piece.place not in known)
        pieces += _take_pieces(others, left + tokens - tokens // 2, count)[0]
    passages = list(_cite_pieces(shelf, sorted(pieces)))
    if not passages:
        return found
    numbered = tuple(replace(cited, number=number) for number, cited in enumerate(passages, 1))
    trace = (*found.trace[:-1], replace(found.trace[-1], reason=REASON))
    return replace(found, passages=numbered, trace=trace, sufficiency="not_judged", fallback=None, budget=tokens)


def _read_pieces(shelf: FileShelf, file: int, sections: Sequence[str]) -> Iterator[_Piece]:
    """Yields the passages of a file in the order of reading; a section that has changed meanwhile is left out."""
    for at, id_ in enumerate(sections):
        with suppress(PassageUnknown):
            section = shelf.section(id_)
            ends = (*section.starts[1:], len(section.text))
            for number, (passage, start, end) in enumerate(zip(section.passages, section.starts, ends, strict=True)):
                heading = section.path[-1] if section.path and not number else ""
                yield _Piece((file, at, number), passage, heading, section.text[start:end])


def _find_best_pieces(shelf: FileShelf, found: LookUp, orders: Sequence[Sequence[str]]) -> list[_Piece]:
    """Returns the passages of the files that the search found, the best first."""
    places = {id_: (file, at) for file, order in enumerate(orders) for at, id_ in enumerate(order)}
    hits = [hit.passage for step in found.trace[-1:] for hit in step.hits if hit.passage.section_id in places]
    pieces = list[_Piece]()
    for hit in hits[:BEST]:
        file, at = places[hit.section_id]
        of_section = _read_pieces(shelf, file, [hit.section_id])
        pieces += [piece._replace(place=(file, at, piece.place[2])) for piece in of_section if piece.passage == hit.id]
    return pieces


def _take_pieces(pieces: Iterator[_Piece], tokens: int, count: Callable[[str], int]) -> tuple[list[_Piece], int, bool]:
    """Returns the pieces that have room together, of which the last may be shortened, the tokens that are left, and
    whether there were no more. Each piece is counted with a frame, which neighbours share in the end."""
    taken = list[_Piece]()
    for piece in pieces:
        size, room = count(f"{piece.heading}\n{piece.text}"), tokens - FRAME_TOKENS
        if size > room:
            if room >= FRAME_TOKENS:
                text = piece.text[: len(piece.text) * room // size].rstrip()
                taken.append(piece._replace(text=text + CUT))
                tokens = 0
            return taken, tokens, False
        taken.append(piece)
        tokens = room - size
    return taken, tokens, True


def _cite_pieces(shelf: FileShelf, pieces: Sequence[_Piece]) -> Iterator[Cited]:
    """Yields neighbouring pieces of a file as one passage, with the headings of their sections."""
    runs = list[list[_Piece]]()
    for piece in pieces:
        if runs and _follows(runs[-1][-1], piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    for run in runs:
        text = "\n\n".join(f"## {piece.heading}\n{piece.text}" if piece.heading else piece.text for piece in run)
        with suppress(PassageUnknown):  # its file was changed a moment ago
            yield Cited(0, shelf.passage(run[0].passage), text.strip(), expanded=len(run) > 1)


def _follows(before: _Piece, piece: _Piece) -> bool:
    """Returns whether a piece comes right behind another one of its file, which was not shortened."""
    (file, section, number), (next_file, next_section, next_number) = before.place, piece.place
    if file != next_file or before.text.endswith(CUT):
        return False
    return (next_section, next_number) in ((section, number + 1), (section + 1, 0))
