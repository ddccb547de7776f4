"""The kind of documents that a question names: «what does the FAQ say …», «in the Korean guides», «가이드에서 …».

Regular expressions detect the kind, so no model is needed. Only the first search is limited to that kind
(``search_by_metadata``, specification 7.3); if it does not find the answer, the next search covers all documents.
"""

from __future__ import annotations

import re

from retrieval.document import DocType, Filters
from text.language import Language

_TYPES: dict[DocType, str] = {
    "faq": r"faqs?|frequently asked questions|자주 묻는 질문",
    "guide": r"guides?|manuals?|가이드|안내서|설명서|매뉴얼",
}
_LANGUAGES: dict[Language, str] = {"ko": r"korean|한국어|한글|국문", "en": r"english|영어|영문"}
_DOCUMENT = "|".join((*_TYPES.values(), r"documents?|docs|문서|자료"))
_IN = r"\b(?:in|from|according to|search|does|do|did|what)\s+(?:the|your|our|my)\s+"
_THERE = r"(?:\s?문서)?(?:에서|에는|에도|\s?중에|에\s?(?:뭐라|어떻게|나와|적혀|쓰여|있))"


def asked_for(question: str) -> Filters:
    """Returns the type and the language of the documents that the question wants searched; ``Filters()`` when it names
    none. A question that names both types is about the types, so it limits the search to neither."""
    types = [kind for kind, words in _TYPES.items() if _has_question_pattern(words, question)]
    kind = (
        types[0]
        if len(types) == 1
        and _has_question_pattern(_build_place_pattern(_TYPES[types[0]], r"(?:\w+\s+)?", ""), question)
        else None
    )
    languages = [
        language
        for language, words in _LANGUAGES.items()
        if _has_question_pattern(
            _build_place_pattern(_DOCUMENT, rf"(?:{words})\s+", rf"(?:{words})(?:로\s?(?:된|쓴|쓰인))?\s?"), question
        )
    ]
    return Filters(doc_type=kind, language=languages[0] if len(languages) == 1 else None)


def _build_place_pattern(kind: str, english: str, korean: str) -> str:
    """Returns a pattern for documents of a kind as the place to search. ``english``, ``korean``: patterns of the words
    before the kind in each language."""
    return rf"{_IN}{english}(?:{kind})\b|{korean}(?:{kind}){_THERE}"


def _has_question_pattern(pattern: str, question: str) -> bool:
    return bool(re.search(pattern, question, re.IGNORECASE))
