"""The answer that code words from what tools gave: exact, and there at once (design §9, small profile).

A tool's result becomes a sentence by the function that stands under its name in ``WORDING``; a tool without one
leaves the answer to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from prompt import render
from retrieval.tool import NAME as SEARCH


def word(messages: Sequence[AnyMessage], language: str) -> str | None:
    """The answer to a turn from its tools' results; None where the model must give it.

    ``messages``: those of the turn.
    """
    results = [message for message in messages if isinstance(message, ToolMessage)]
    texts = [_worded(result, language) for result in results]
    if not texts or None in texts:
        return None
    return "\n\n".join(text for text in texts if text)


def _worded(result: ToolMessage, language: str) -> str | None:
    wording = WORDING.get(result.name or "")
    return wording(result, language) if wording and result.status != "error" else None


def _quoted(result: ToolMessage, language: str) -> str | None:
    """The best section as it stands, with its number; without one, the specified sentence."""
    found = result.artifact or {}
    passages = found.get("passages") or ()
    if not passages:
        return str((found.get("fallback") or {}).get("text") or "") or None
    first = passages[0]
    return render("reply_documents", language, text=first["text"].strip(), number=first["number"])


def _as_it_is(result: ToolMessage, language: str) -> str | None:
    return str(result.text)


WORDING: dict[str, Callable[[ToolMessage, str], str | None]] = {
    SEARCH: _quoted,
    "remember": _as_it_is,
    "forget": _as_it_is,
}
