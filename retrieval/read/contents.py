"""Tables of contents, whose entries become links to the headings that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from text.fold import fold_text

FEWEST = 3
"""A section with fewer lines that name a heading has no table of contents."""
LONGEST = 400
"""A line with more characters is no entry."""
LEADER = r"(?:[ \t]*[.·•…‥․]){3,}"
"""Matches the dots that lead from an entry to its page."""
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ENTRY = re.compile(
    r"([ \t>|]*(?:[-*+•][ \t]+)?(?:\d{1,3}(?:\.\d+)*[.)]?[ \t]+)?)"  # the list, and the number of the heading
    r"([^\[\]]*?[^\[\]\s|])"
    rf"((?:{LEADER})?[ \t|]*\d{{0,4}}[ \t|]*)"
)
_NUMBER = re.compile(r"^\s*(?:제\s*)?\d+(?:\.\d+)*(?:[.)]|\s*[장절])?\s+")


def link_contents_entries(text: str) -> str:
    """Returns Markdown in which the entries of a table of contents are links within the document, as Markdown writes
    them: a line that is a heading of the same document, with or without a number before it and a page behind it. The
    index of words leaves such links out (``retrieval.index.word.cut_passage_words``)."""
    lines = text.split("\n")
    headings = {_fold_label(found[1]) for line in lines if (found := _HEADING.fullmatch(line))} - {""}
    for section in _list_sections(lines):
        entries = {at: entry for at in section if (entry := _link_entry(lines[at], headings))}
        if len(entries) >= FEWEST:
            for at, entry in entries.items():
                lines[at] = entry
    return "\n".join(lines)


def _list_sections(lines: list[str]) -> Iterator[list[int]]:
    """Yields for each section the places of its lines outside of code."""
    section, is_code = list[int](), False
    for at, line in enumerate(lines):
        is_fence = bool(_FENCE.match(line))
        is_code ^= is_fence
        if is_fence or is_code:
            continue
        if _HEADING.fullmatch(line):
            yield section
            section = []
        else:
            section.append(at)
    yield section


def _link_entry(line: str, headings: set[str]) -> str:
    """Returns a line with a link in the place of the heading that it names; '' when it names none."""
    found = _ENTRY.fullmatch(line) if len(line) <= LONGEST else None
    folded = _fold_label(found[2]) if found else ""
    return f"{found[1]}[{found[2]}](#){found[3]}" if found and folded in headings else ""


def _fold_label(label: str) -> str:
    """Returns the letters of a heading, without its number and the marks of its escapes."""
    unnumbered = _NUMBER.sub("", label.replace("\\", ""), count=1)
    return "".join(letter for letter in fold_text(unnumbered) if letter.isalnum())
