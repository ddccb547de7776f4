"""A title in the model's own words; the model gets the conversation as data."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

import prompt
from model.call.stream import complete_answer
from model.modelset import ModelSet
from store import TurnRow
from text.answer.cited_turn import strip_marks
from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes
from text.fence import fence_text, remove_frames
from text.language import Language, detect_language

CHARS = 30
LAST_TURN = 4
SAID_CHARS = {1: (400, 300), LAST_TURN: (160, 120)}
"""Characters of a question and of an answer that the model is shown, by the number of turns."""

_LABELS = {"ko": ("사용자", "AI"), "en": ("User", "AI")}
_REQUEST = {"ko": "이 대화의 제목을 한국어로 쓰세요.", "en": "Write the title of this conversation in English."}
_LABEL = re.compile(r"^\s*(?:제목|title)\s*[:：]\s*", re.IGNORECASE)
_AROUND = " \t\"'“”‘’「」『』《》<>*_#`.。·-–—:："
_WORD = {"ko": re.compile(r"[A-Za-z]{2,}|[\u3040-\u30ff\u4e00-\u9fff]+"), "en": re.compile(r"[^\W\d_A-Za-zÀ-ÿ]+")}
"""Words in another script than the conversation's language."""


def make_model_title(
    turns: Sequence[TurnRow],
    models: ModelSet,
    default: Language,
    stop: threading.Event | None = None,
    note: Callable[[AIMessage], None] = lambda _: None,
) -> str | None:
    """Returns a title of at most ``CHARS`` characters in the conversation's language, or None when the model gave none.
    ``note`` is called with the model's reply, which is paid for in any case.

    Raises ``Stopped`` when ``stop`` was set, and the model's own errors.
    """
    exchanges = [
        (clean_text(remove_frames(turn.question)), clean_text(strip_marks(turn.answer or ""))) for turn in turns
    ]
    whole = "\n".join(text for pair in exchanges for text in pair)
    language = detect_language(whole, default)
    messages = [
        SystemMessage(prompt.render_prompt("title", language)),
        HumanMessage(_build_title_request(exchanges, language)),
    ]
    answer = complete_answer(models.utility, messages, stop=stop)
    note(answer)
    return _tidy_title(answer.text, language, whole)


def _build_title_request(said: Sequence[tuple[str, str]], language: Language) -> str:
    """Returns the request to the model: the conversation as data, which cannot close its frame, and the instruction."""
    most = SAID_CHARS[1 if len(said) == 1 else LAST_TURN]
    lines = [
        f"[{label}] {fence_text(_cut_title_source(text, limit), 'conversation')}"
        for pair in said
        for label, text, limit in zip(_LABELS[language], pair, most, strict=True)
        if text
    ]
    return "<conversation>\n" + "\n".join(lines) + "\n</conversation>\n\n" + _REQUEST[language]


def _cut_title_source(text: str, limit: int) -> str:
    line = collapse_spaces(text[: limit * 4])
    return line if len(line) <= limit else f"{cut_graphemes(line, limit)} …"


def _tidy_title(answer: str, language: Language, source: str) -> str | None:
    """Returns the title without the signs that models put around it; None for no title or one in another language."""
    lines = [line for line in _unwrap_title_json(answer).splitlines() if line.strip()]
    if not lines:
        return None
    line = collapse_spaces(clean_text(_LABEL.sub("", lines[0].strip(_AROUND))))
    title = _shorten_title(line.strip(_AROUND))
    foreign = [word for word in _WORD[language].findall(title) if word.casefold() not in source.casefold()]
    return title if len(title) > 1 and not foreign else None


def _unwrap_title_json(answer: str) -> str:
    """Returns the title from JSON, or the text as it is; '' for broken JSON."""
    try:
        answered = json.loads(answer)
    except (ValueError, RecursionError):
        return answer if not answer.lstrip().startswith("{") else ""
    return str(answered.get("title", "")) if isinstance(answered, dict) else str(answered)


def _shorten_title(line: str) -> str:
    """Returns the line in at most ``CHARS`` characters, cut between words where there are spaces."""
    if len(line) <= CHARS:
        return line
    start = cut_graphemes(line, CHARS)  # one character is left for the mark of the cut
    words = start.rsplit(None, 1)[0] if " " in start else cut_graphemes(line, CHARS - 1)
    return words.rstrip(f"{_AROUND},;") + "…"
