"""The answer when the documents have none (specification 7.5), with menu links from a file."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator

from errors import BadSetting
from retrieval.answer.lookup import Fallback, MenuLink
from retrieval.index.word import cut_text_words, find_installed_cut

CONFIDENT = 0.5
LINKS = 3
MENU = Path(__file__).parent / "menu.json"
NOT_FOUND = {"ko": "관련 문서를 찾지 못했습니다.", "en": "No related document was found."}
NOT_READY = {"ko": "해당 내용은 준비 중입니다.", "en": "This topic is not ready yet."}
BEST_EFFORT = {
    "ko": "문서에서 찾은 내용만으로는 답이 충분하지 않을 수 있습니다.",
    "en": "What the documents say may not be enough for a full answer.",
}
log = logging.getLogger(__name__)


class Entry(BaseModel):
    """An entry of the menu: ``url`` and ``command`` as in ``MenuLink``, the rest by language. ``cut_text_words``: words
    of a question that fit this entry, besides those of the title."""

    model_config = ConfigDict(frozen=True)

    title: dict[str, str]
    url: str
    command: str = ""
    words: dict[str, str | list[str]] = {}

    @field_validator("title")
    @classmethod
    def _in_english(cls, title: dict[str, str]) -> dict[str, str]:
        if "en" not in title:
            raise ValueError("there is none in English («en»)")
        return title


def choose_fallback(
    *,
    hits: int,
    ranked: int,
    sufficient: bool | None,
    confidence: float | None,
    question: str,
    language: str,
    menu: Path | None,
) -> Fallback | None:
    """Returns the fallback that applies, or None (specification 7.5).

    ``hits``: how many passages the searches found; ``ranked``: how many of them concern the question. ``sufficient``
    and ``confidence`` None: nobody judged, so the answer uses the passages. No hit at all, or none that the judge
    ranked: «not ready», in the second case with menu links. No passage near the question, or confidence below 0.5: «not
    found», with menu links. Not sufficient: best effort.
    """
    if not hits:
        return Fallback("not_ready", NOT_READY[language])
    if sufficient is not None and not ranked:
        return Fallback("not_ready", NOT_READY[language], _offer_menu_links(question, language, menu))
    if not ranked or (confidence is not None and confidence < CONFIDENT):
        return Fallback("not_found", NOT_FOUND[language], _offer_menu_links(question, language, menu))
    if sufficient is False:
        return Fallback("best_effort", BEST_EFFORT[language])
    return None


def _offer_menu_links(question: str, language: str, menu: Path | None) -> tuple[MenuLink, ...]:
    """Returns menu links. When the menu file is wrong, Gieok's own menu is used, so that no answer fails; ``doctor``
    reports the error."""
    try:
        return find_menu_links(question, language, menu)
    except BadSetting as error:
        log.warning("Gieok's own menu is offered: %s", error)
        return find_menu_links(question, language, None)


def find_menu_links(question: str, language: str, menu: Path | None) -> tuple[MenuLink, ...]:
    """Returns at most ``LINKS`` menu entries whose words fit the question best; without a fit, the first ones. Raises
    as ``load_menu_entries`` does."""
    cut = find_installed_cut()
    question_words = set(cut_text_words(question, cut))

    def fit(entry: Entry) -> int:
        phrases = [value if isinstance(value, str) else " ".join(value) for value in entry.words.values()]
        return len(question_words & set(cut_text_words(" ".join([*entry.title.values(), *phrases]), cut)))

    best = sorted(load_menu_entries(menu or MENU), key=fit, reverse=True)
    fitting = [entry for entry in best if fit(entry)] or best
    return tuple(
        MenuLink(entry.title.get(language) or entry.title["en"], entry.url, entry.command) for entry in fitting[:LINKS]
    )


@lru_cache(maxsize=4)
def load_menu_entries(path: Path) -> list[Entry]:
    """Returns the entries of a menu file. Raises ``BadSetting`` when the file is not there or is not a list of
    entries."""
    try:
        return TypeAdapter(list[Entry]).validate_json(path.read_text("utf-8"))
    except ValidationError as error:
        first = error.errors()[0]
        detail = ": ".join([".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")]).lstrip(": ")
    except (OSError, ValueError) as error:
        detail = f"{type(error).__name__}: {error}"
    raise BadSetting(name="GIEOK_MENU", value=str(path), reason=detail, reason_code="no_menu", detail=detail)
