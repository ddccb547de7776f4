"""HTML of marked texts: facts that a summary kept and lost, and the changes between two versions.

All text goes through ``html.escape``; only our own ``<mark>``, ``<ins>`` and ``<del>`` are markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape

from component.widget.markdown import sanitize_text

_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^\n]{1,400}?)(?<=\S)\*\*(?![a-zA-Z0-9*])")
"""Words between a model's marks for bold; a Korean particle may follow, and «2**3» is none."""


def render_marked_facts(text: str, kept: Iterable[str], lost: Iterable[str] = ()) -> str:
    """Returns HTML of ``text`` with its kept and lost facts marked; where facts overlap, the longer fact wins."""
    kinds = {**dict.fromkeys(kept, "kept"), **dict.fromkeys(lost, "lost")}
    facts = sorted((fact for fact in kinds if fact.strip()), key=len, reverse=True)
    if not facts:
        return _embolden(escape(sanitize_text(text)))
    pieces = re.split("(" + "|".join(map(re.escape, facts)) + ")", text)
    return _embolden(
        "".join(
            f'<mark class="{kinds[piece]}">{escape(sanitize_text(piece))}</mark>'
            if index % 2
            else escape(sanitize_text(piece))
            for index, piece in enumerate(pieces)
        )
    )


def _embolden(html: str) -> str:
    """Returns HTML with words between a model's marks for bold bold; the marks alone say nothing to a reader."""
    return _BOLD.sub(r"<strong>\1</strong>", html)


def drop_bold(text: str) -> str:
    """Returns plain text without a model's marks for bold, for a place that shows text as it is."""
    return _BOLD.sub(r"\1", text)


def render_marked_changes(before: str, after: str) -> str:
    """Returns HTML of ``after``, compared with ``before`` word by word: added text marked, removed text struck out."""
    old, new = _split_diff_words(before), _split_diff_words(after)
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = escape(sanitize_text("".join(old[a:b]))), escape(sanitize_text("".join(new[c:d])))
        if kind == "equal":
            parts.append(added)
        else:
            parts.append((f"<del>{removed}</del>" if removed else "") + (f"<ins>{added}</ins>" if added else ""))
    return "".join(parts)


def _split_diff_words(text: str) -> Sequence[str]:
    return re.findall(r"\S+\s*|\s+", text)
