"""Tables of words: text files of sections, «[name]», with a meaning and its words on each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def read_table_section(table: Path, section: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the meanings of one section of a table with their words; lines that begin with # are remarks."""
    for line in table.read_text("utf-8").partition(f"[{section}]\n")[2].partition("\n[")[0].splitlines():
        if line and not line.startswith("#"):
            meaning, _, words = line.partition(": ")
            yield meaning, words.split()
