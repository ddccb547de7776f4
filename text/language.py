"""Detection of a text's language, Korean or English, by its words."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["ko", "en"]

_KOREAN = re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣ]")
_LATIN = re.compile(r"[A-Za-z]{2,}")
_CODE = re.compile(r"```.*?(?:```|\Z)|https?://\S+", re.DOTALL)


def has_korean(text: str) -> bool:
    """Returns whether a text has a Korean letter."""
    return _KOREAN.search(text) is not None


def detect_language(text: str, default: Language = "en") -> Language:
    """Returns ``ko`` or ``en``; ``default`` when the text has no words.

    Korean sentences hold many Latin words (brands, code), and English sentences hold few Korean words, so a Korean word
    counts twice. Code blocks, email addresses and URLs do not count.
    """
    prose = _CODE.sub(" ", text)
    # checks word by word, so that a long run without spaces does not take quadratic time
    words = [word for word in prose.split() if "@" not in word.strip("@")]
    foreign = [word for word in words if word.isascii() or not _KOREAN.search(word)]
    korean = len(words) - len(foreign)
    latin = len(_LATIN.findall(" ".join(foreign)))
    if not korean and not latin:
        return default
    return "ko" if korean * 2 >= latin else "en"
