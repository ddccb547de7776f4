"""Whether a place in Markdown lies in code, where signs mean nothing."""

from __future__ import annotations


def is_in_code(before: str) -> bool:
    """Returns whether what follows this text stands in a block of code that is still open, or in a span of its last
    line."""
    blocks = sum(line.lstrip().startswith(("```", "~~~")) for line in before.splitlines())
    return bool(blocks % 2 or before.rpartition("\n")[2].count("`") % 2)
