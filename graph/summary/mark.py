"""The mark «AI suggested» in a summary: what only the assistant said, and may have invented."""

from __future__ import annotations

import re
from collections.abc import Sequence

from text import sentence
from text.fact import fact
from text.language import Language

LABEL: dict[Language, dict[str, str]] = {
    "ko": {"human": "사용자", "tool": "도구", "ai": "AI"},
    "en": {"human": "User", "tool": "Tool", "ai": "AI"},
}
"""Who speaks, in a summary and in the dialogue that a model summarises."""
SUGGESTED: dict[Language, str] = {"ko": "AI 제안", "en": "AI suggested"}
"""Who speaks, in a summary, where the assistant tells facts that neither the user nor a tool gave."""
_MARK = re.compile("|".join(SUGGESTED.values()), re.IGNORECASE)
_SPEAKERS = "|".join([*SUGGESTED.values(), *(name for names in LABEL.values() for name in names.values())])
_SPEAKER = re.compile(rf"^[\s>#*•·–\-\[]*(?:{_SPEAKERS})[\]*]*:", re.IGNORECASE)
_END = re.compile(r"[.!?。？！…]*$")


def split_marked(text: str) -> list[tuple[str, bool]]:
    """Returns the sentences of a summary, each with whether it is marked: it has the mark itself, or the last speaker
    named before it is the mark."""
    found, goes_on = list[tuple[str, bool]](), False
    for piece in sentence.split_sentences(text):
        has_mark = _MARK.search(piece) is not None
        if _SPEAKER.match(piece):
            goes_on = has_mark
        found.append((piece, has_mark or goes_on))
    return found


def strip_suggested(text: str) -> str:
    """Returns the sentences of a summary that are not marked."""
    return " ".join(piece for piece, is_marked in split_marked(text) if not is_marked)


def mark_suggested(text: str, suggested: Sequence[fact.Fact], language: Language) -> str:
    """Returns a summary with the mark after every sentence that lacks it and holds a fact that only the assistant gave:
    «It arrives at 14:35 (AI suggested: 14:35).» Names these facts, because the rest of the sentence may be the
    user's."""
    pieces, last = list[str](), 0
    for piece, is_marked in split_marked(text):
        start = text.index(piece, last)
        pieces += text[last:start], piece
        last = start + len(piece)
        own = [] if is_marked else [each.text for each in suggested if fact.has_fact_value(piece, each)]
        if own:
            end = _END.search(piece)
            at = end.start() if end else len(piece)
            pieces[-1] = f"{piece[:at]} ({SUGGESTED[language]}: {', '.join(own)}){piece[at:]}"
    return "".join((*pieces, text[last:]))
