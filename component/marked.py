"""Texts with marks in them: facts that a summary kept and lost, and what changed between two versions.

Everything goes through ``html.escape``; only our own ``<mark>``, ``<ins>`` and ``<del>`` are markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape

from component.markdown import shown


def marked(text: str, kept: Iterable[str], lost: Iterable[str] = ()) -> str:
    """HTML of ``text`` with its facts marked, longer ones first."""
    kinds = {**dict.fromkeys(kept, "kept"), **dict.fromkeys(lost, "lost")}
    facts = sorted((fact for fact in kinds if fact.strip()), key=len, reverse=True)
    if not facts:
        return escape(shown(text))
    pieces = re.split("(" + "|".join(map(re.escape, facts)) + ")", text)
    return "".join(
        f'<mark class="{kinds[piece]}">{escape(shown(piece))}</mark>' if index % 2 else escape(shown(piece))
        for index, piece in enumerate(pieces)
    )


def changed(before: str, after: str) -> str:
    """HTML of ``after`` with what was added, and struck out what was taken away, word by word."""
    old, new = _words(before), _words(after)
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, come = escape(shown("".join(old[a:b]))), escape(shown("".join(new[c:d])))
        if kind == "equal":
            parts.append(come)
        else:
            parts.append((f"<del>{gone}</del>" if gone else "") + (f"<ins>{come}</ins>" if come else ""))
    return "".join(parts)


def _words(text: str) -> Sequence[str]:
    return re.findall(r"\S+\s*|\s+", text)
