"""The result of every reader, and the decoding of bytes into text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from errors import DocumentBroken
from text.clean import clean_text, collapse_spaces
from text.decode import NoText, decode_text


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as it can be calculated with. ``name``: of the sheet, '' for the only one; cells are texts. ``numbers``:
    of the rows, as a spreadsheet shows them, () when they follow the head in row 1; ``kinds``: of each column its type
    in SQL and an example, () when they are not known yet."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()

    @property
    def row_numbers(self) -> Sequence[int]:
        """Returns the number of every row."""
        return self.numbers or range(2, len(self.rows) + 2)

    def cells(self, at: int) -> list[str]:
        """Returns the cells of a column; '' where a row is too short."""
        return [row[at] if at < len(row) else "" for row in self.rows]

    def plain(self) -> list[Any]:
        """Returns the table as JSON data, for another process."""
        return [self.name, self.columns, self.rows, self.numbers, self.kinds]

    @classmethod
    def of(
        cls,
        name: str,
        columns: Iterable[str],
        rows: Iterable[Iterable[str]],
        numbers: Iterable[int],
        kinds: Iterable[tuple[str, str]],
    ) -> Self:
        """Returns a table from the data of ``plain``."""
        pairs = tuple((kind, example) for kind, example in kinds)
        return cls(name, tuple(columns), tuple(map(tuple, rows)), tuple(numbers), pairs)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as text. ``markdown``: whether the text is Markdown; ``front``: the values of its YAML front matter;
    ``sheets``: its tables, of kinds of files that are tables."""

    name: str
    title: str
    text: str
    markdown: bool
    front: dict[str, str]
    sheets: tuple[Sheet, ...] = ()


_JUNK = re.compile(
    r"\(?(?:anonymous|unspecified|untitled|unknown|none|제목 ?없음|무제)\)?\W*\d*"
    r"|.*\.(?:docx?|hwpx?|xlsx?|pptx?|indd|tex|dvi|rtf|pdf|html?)"
    r"|microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|print|(?:slide|document|presentation) ?\d*"
    r"|제목입니다\.?|[\W\d_]*",
    re.IGNORECASE,
)
"""Titles that programs write by themselves."""


def own_title(title: str) -> str:
    """Returns the title that somebody gave a file; '' for one that a program wrote by itself."""
    said = collapse_spaces(clean_text(title.partition("\x00")[0]))
    return "" if _JUNK.fullmatch(said) else said


Reader = Callable[[str, bytes, int], Loaded]
"""A function that reads a name that can be shown, the bytes, and the limit in bytes. Raises a ``DocumentError``, or the
error of its library for a broken file."""


def decode_file(name: str, data: bytes, declared: str = "") -> str:
    """Returns the text of a file, in whatever encoding it was saved (``text.decode``). ``declared``: the one that the
    file names. Raises ``DocumentBroken``."""
    try:
        text = decode_text(data, declared)
    except NoText:
        raise DocumentBroken(name=name, reason="it is no text in any known encoding", reason_code="no_text") from None
    return clean_text(text).replace("\r\n", "\n").replace("\r", "\n")
