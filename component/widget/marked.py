"""HTML of marked texts: facts that a summary kept and lost, and the changes between two versions.

All text goes through ``html.escape``; only our own ``<mark>``, ``<ins>`` and ``<del>`` are markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape

from component.widget.markdown import shown


def marked(text: str, kept: Iterable[str], lost: Iterable[str] = ()) -> str:
    """Returns HTML of ``text`` with its kept and lost facts marked; where facts overlap, the longer fact wins."""
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
    """Returns HTML of ``after``, compared with ``before`` word by word: added text marked, removed text struck out."""
    old, new = _words(before), _words(after)
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = escape(shown("".join(old[a:b]))), escape(shown("".join(new[c:d])))
        if kind == "equal":
            parts.append(added)
        else:
            parts.append((f"<del>{removed}</del>" if removed else "") + (f"<ins>{added}</ins>" if added else ""))
    return "".join(parts)


def _words(text: str) -> Sequence[str]:
    return re.findall(r"\S+\s*|\s+", text)
