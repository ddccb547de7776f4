from __future__ import annotations

import pytest

from tests.table import table
from text.language import detect_language


@pytest.mark.parametrize(
    "text",
    [
        "안녕하세요",
        "파이썬 3.13 새 기능 검색해줘",
        "Docker Compose MySQL 연결 오류가 나요",
        "https://example.com/a/very/long/english/path 이거 봐줘",
        "```python\nprint('hello world from python')\n```\n이 코드 설명해줘",
    ],
)
def test_korean_with_latin_brands_code_and_addresses_is_korean(text: str) -> None:
    assert detect_language(text, "en") == "ko"


@pytest.mark.parametrize("text", ["Hello there", "My name is 김민수 and I live here", "What does 안녕 mean?"])
def test_english_with_a_korean_word_is_english(text: str) -> None:
    assert detect_language(text, "ko") == "en"


@table("default", ["ko", "en"])
@table("text", ["", "123 + 456", "👍", "…"])
def test_without_words_the_default_holds(text: str, default: str) -> None:
    assert detect_language(text, default) == default  # type: ignore[arg-type]
