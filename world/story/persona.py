"""The name of the user's character, where a client's texts say it.

Clients put the name into the message («name»), in front of its text, or into their own instructions: SillyTavern's
main prompt asks for the next reply «in a fictional chat between Sera and Minsu», others write «[Persona: 민수]».
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = r"(?P<name>[^\W\d_][^\n:：,.;!?()\[\]{}<>«»\"“”=|]{0,39}?)"
_END = r"[\"'*_]*\s*(?:[,.;()\[\]|<—\n]|-\s|$)"
_OWNER = r"(?:user|player|player character|사용자|유저|플레이어|주인공|\{\{user\}\}|<user>)"
_IS = r"(?:[ \t]*[:：=]|(?:은|는|[ \t]is)[ \t])[ \t]*[\"'*_]*"
_SAID = (
    re.compile(rf"\bchat between [^\n]{{1,40}}? and {_NAME}{_END}", re.IGNORECASE),
    re.compile(
        rf"(?:persona|페르소나|{_OWNER}(?:['’]s|의)?\s*(?:name|이름))(?:\s*name)?{_IS}{_NAME}{_END}", re.IGNORECASE
    ),
    re.compile(rf"(?:\[\s*{_OWNER}\s*[:：=]|{_OWNER}\s*=)\s*[\"'*_]*{_NAME}{_END}", re.IGNORECASE),
    re.compile(rf"(?:^|\n|\[)[\"'*_#\s]*{_NAME}(?:['’]s persona|의 페르소나)\s*[:：\]\n]", re.IGNORECASE),
)
"""Forms in which instructions name the user's character."""
_COPULA = re.compile(r"(?<=[가-힣]{2})(?:이다|입니다|이에요|예요|다)$")
_FRONT = re.compile(r"\s*([^\n:：]{1,40})[:：] ")
MOST_WORDS, KOREAN_LETTERS = 3, 6
"""A longer text behind «Persona:» describes somebody and names nobody."""
_GENERIC = frozenset(
    (
        *("user", "player", "human", "me", "i", "you", "anonymous", "assistant", "system", "name", "persona", "none"),
        *("사용자", "유저", "플레이어", "주인공", "당신", "나"),
    )
)


def find_persona_name(systems: Sequence[str], said: Sequence[tuple[str, str]], others: Sequence[str]) -> str:
    """Returns the name of the user's character; empty where nothing says it. ``systems``: the client's instructions,
    ``said``: the user's messages, each with the name that it bears; ``others``: whom answers come from."""
    named = (name for name, _ in reversed(said))
    fronts = {match[1].strip() if (match := _FRONT.match(text)) else "" for _, text in said}
    front = fronts.pop() if len(fronts) == 1 else ""
    certain = len(said) > 1 or any(front in text for text in systems)
    told = (
        _COPULA.sub("", match["name"].strip()) for text in systems for form in _SAID for match in form.finditer(text)
    )
    found = (*named, *([front] if certain else ()), *told)
    return next((one.strip() for one in found if _is_name(one.strip()) and one.strip() not in others), "")


def _is_name(text: str) -> bool:
    """Returns whether a text can be a name: few words, capital ones, and none that stands for any user."""
    words = text.split()
    if not words or len(words) > MOST_WORDS or text.casefold() in _GENERIC or not words[0][0].isalpha():
        return False
    if text.isascii():
        return words[0][0].isupper() and words[-1][0].isupper() and words[0] not in ("A", "An", "The")
    return len(words) < MOST_WORDS and all(len(word) <= KOREAN_LETTERS for word in words)


__all__ = ["find_persona_name"]
