"""Source code and settings: a section for each definition at the left edge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from retrieval.read.escaped import escape_heading
from retrieval.read.format.loaded import Loaded, decode_file
from retrieval.read.format.notebook import write_code
from text.clean import collapse_spaces

_LANGUAGES = """
.py .pyi .js .mjs .jsx .ts .tsx .vue .svelte .java .kt .scala .groovy .go .rs .c .h .cc .cpp .hpp .cs .swift .rb .php
.pl .lua .r .jl .dart .ex .exs .hs .sql .sh .bash .ps1 .bat .css .scss .toml .ini .cfg .conf .properties .proto .graphql
.tf
"""
SUFFIXES = (*_LANGUAGES.split(),)
SMALL = 400
"""Neighbouring parts of the code are one section as long as they are shorter than this, in characters."""
_BEGINS = re.compile(r"(?=^[^\s)\]}#/*\"'`;,.<>|&+=-].*\n(?:[ \t{]|.*[{:(]\s*$))", re.MULTILINE)
"""A line at the left edge that opens something: the next line is indented, or the line ends with a bracket."""


def read_code(name: str, data: bytes, _limit: int) -> Loaded:
    language = PurePath(name).suffix[1:].lower()
    sections = [
        f"## {heading}\n\n{write_code(text, language)}" for heading, text in _cut_sections(decode_file(name, data))
    ]
    return Loaded(name, name, "\n\n".join(sections), True, {})


def _cut_sections(text: str) -> Iterator[tuple[str, str]]:
    """Yields parts of the code, each with the first line that says something as its heading. Comments and decorators
    right above a definition belong to it."""
    part = ""
    for block in re.split(r"\n[ \t]*\n(?=\S)", text):
        if len(part) > SMALL // 4 and len(part) + len(block) > SMALL:
            yield _find_heading(part), part
            part = ""
        part += ("\n\n" if part else "") + block
    if part.strip():
        yield _find_heading(part), part


def _find_heading(part: str) -> str:
    """Returns the first definition of a part, else its first line that says something."""
    definition = _BEGINS.search(part)
    lines = part[definition.start() :].split("\n") if definition else part.split("\n")
    said = next((line for line in lines if re.search(r"\w", line)), "")
    return escape_heading(collapse_spaces(said).rstrip("{:( ")) or "–"
