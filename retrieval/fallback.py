"""What is said when the documents do not answer (copilot-rag.md §4.4), with menu links from a file."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from errors import BadSetting
from retrieval.lookup import Fallback, Link
from retrieval.word import installed, words

CONFIDENT = 0.5
LINKS = 3
MENU = Path(__file__).parent / "menu.json"
NOT_FOUND = {"ko": "관련 문서를 찾지 못했습니다.", "en": "No related document was found."}
NOT_READY = {"ko": "해당 내용은 준비 중입니다.", "en": "This topic is not ready yet."}
BEST_EFFORT = {
    "ko": "문서에서 찾은 내용만으로는 답이 충분하지 않을 수 있습니다.",
    "en": "What the documents say may not be enough for a full answer.",
}


def choose(
    *, ranked: int, sufficient: bool | None, confidence: float | None, question: str, language: str, menu: Path | None
) -> Fallback | None:
    """The rule that holds, or None. ``sufficient`` and ``confidence`` None: not judged, then what was found is used.

    No passage ranked: «not ready». Confidence below 0.5: «not found», with links. Not sufficient: best effort.
    """
    if not ranked:
        return Fallback("not_ready", NOT_READY[language])
    if confidence is not None and confidence < CONFIDENT:
        return Fallback("not_found", NOT_FOUND[language], links(question, language, menu))
    if sufficient is False:
        return Fallback("best_effort", BEST_EFFORT[language])
    return None


def links(question: str, language: str, menu: Path | None) -> tuple[Link, ...]:
    """The menu entries whose words fit the question best; the first ones when none does.

    Raises ``BadSetting`` when the file is not a list of entries with ``title`` by language and ``url``;
    ``words`` by language and ``command`` may be left out.
    """
    cut = installed()
    asked = set(words(question, cut))
    entries = _entries(menu or MENU)

    def fit(entry: dict[str, Any]) -> int:
        said = " ".join([*entry["title"].values(), *entry.get("words", {}).values()])
        return len(asked & set(words(said, cut)))

    best = sorted(entries, key=fit, reverse=True)
    fitting = [entry for entry in best if fit(entry)] or best
    return tuple(_link(entry, language) for entry in fitting[:LINKS])


def _link(entry: dict[str, Any], language: str) -> Link:
    title = entry["title"].get(language) or entry["title"]["en"]
    return Link(title, entry["url"], str(entry.get("command", "")))


@lru_cache(maxsize=4)
def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(path.read_text("utf-8"))
        for entry in entries:
            if not (isinstance(entry["title"]["en"], str) and isinstance(entry["url"], str)):
                raise TypeError("title and url must be text")
    except (OSError, ValueError, KeyError, TypeError) as error:
        detail = f"{type(error).__name__}: {error}"
        raise BadSetting(
            name="GIEOK_MENU", value=str(path), reason=detail, reason_code="no_menu", detail=detail
        ) from error
    return list(entries)
