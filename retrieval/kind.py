"""Which kind of documents a question asks for: «what does the FAQ say …», «in the Korean guides», «가이드에서 …».

Read from the words, so that no model has to say it. Only the first search keeps to it (``search_by_metadata``,
copilot-rag.md §4.2): what is not found there is looked for everywhere.
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
    """The type and the language of the documents that the question wants to be searched; ``Filters()``: it does not
    say. A question that names both types is about them, and wants neither."""
    types = [kind for kind, words in _TYPES.items() if _said(words, question)]
    kind = types[0] if len(types) == 1 and _said(_place(_TYPES[types[0]], r"(?:\w+\s+)?", ""), question) else None
    spoken = [
        language
        for language, words in _LANGUAGES.items()
        if _said(_place(_DOCUMENT, rf"(?:{words})\s+", rf"(?:{words})(?:로\s?(?:된|쓴|쓰인))?\s?"), question)
    ]
    return Filters(doc_type=kind, language=spoken[0] if len(spoken) == 1 else None)


def _place(kind: str, english: str, korean: str) -> str:
    """Documents of a kind as the place where something stands, with what comes before them in each language."""
    return rf"{_IN}{english}(?:{kind})\b|{korean}(?:{kind}){_THERE}"


def _said(pattern: str, question: str) -> bool:
    return bool(re.search(pattern, question, re.IGNORECASE))
