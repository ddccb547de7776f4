"""Signs of what happens in a narration: who speaks, who attacks, who is in two places at one moment.

Code understands no language. These are the usual forms of a narrator's sentences, in both languages; when in doubt
there is no sign, and what is written otherwise is left to the curator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from world.block.narration import SPEECH, of_absence, of_death, of_earlier, paragraphs, sentences

_PARTICLE = "(?:은|는|이|가)"
_INSIDE = rf"[^{SPEECH}.!?\n]"
_BEGIN = r"(?:^|[.!?…]\s+)"
_SAYS_KO = (
    r"(?:말하|말했|말한|말을 |물었|묻는|물으|대답|외쳤|외친|외치|속삭|중얼|소리쳤|소리친|소리치|되물|덧붙|"
    r"웃었|웃는|웃으|웃고|미소)"
)
_QUOTES_KO = "(?:이?라고|하고|하며)"
_SAYS_EN = (
    r"(?:says?|said|asks?|asked|repl(?:ies|y|ied)|answer(?:s|ed)?|whisper(?:s|ed)?|shout(?:s|ed)?|mutter(?:s|ed)?|"
    r"murmur(?:s|ed)?|growl(?:s|ed)?|adds?|added|continue[sd]?|laugh(?:s|ed)?|grin(?:s|ned)?|smile[sd]?|"
    r"chuckle[sd]?)\b"
)
_SPEAKS = (
    rf"{SPEECH}\s*NAME{_PARTICLE}\s{_INSIDE}{{0,50}}{_SAYS_KO}",
    rf"{_BEGIN}NAME{_PARTICLE}\s{_INSIDE}{{0,50}}{_SAYS_KO}{_INSIDE}{{0,12}}[.,:]?\s*{SPEECH}",
    rf"{_BEGIN}(?:\S+ ){{0,2}}NAME{_PARTICLE}\s{_INSIDE}{{0,50}}{SPEECH}\s*{_QUOTES_KO}\s{_INSIDE}{{0,30}}{_SAYS_KO}",
    rf"{SPEECH}\s*NAME {_SAYS_EN}",
    rf"{SPEECH}\s*{_SAYS_EN} NAME\b",
    rf"{_BEGIN}NAME {_SAYS_EN}{_INSIDE}{{0,60}}[.,:]?\s*(?:{SPEECH}|$)",
    rf"{_BEGIN}NAME (?!is\b|was\b|had\b|has\b|would\b)[a-z]{_INSIDE}*[.,:]\s*{SPEECH}\s*(?:he|she|it|they) {_SAYS_EN}",
)
_REPORTED = re.compile(r"(?:다|라|냐|자)고\s")
_ATTACKS_KO = (
    r"(?:휘두르|휘둘렀|휘둘러 |내리치|내리친|내리쳤|내리꽂|후려|베어|벤다|베었|찌른|찔렀|찌르며|걷어차|걷어찼|"
    r"주먹을 날|달려들|덤벼|공격한|공격했|공격을 퍼|쏜다|쏘았|맞서 싸|칼을 박|검을 박)"
)
_ATTACKS_EN = (
    r"(?:swing|strike|slash|stab|attack|lunge|charge|parry|thrust|punch|kick|shoot|fight|hack|cut down|"
    r"drive (?:\w+ ){1,3}(?:into|back)|drive)(?:s|es)?\b"
)
_ATTACKS = (
    rf"{_BEGIN}(?:\S+ ){{0,2}}NAME{_PARTICLE}\s{_INSIDE}{{0,60}}{_ATTACKS_KO}",
    rf"\bNAME (?:\w+[, ]+(?:\w+[, ]+){{0,10}}?and )?(?:\w+ly )?{_ATTACKS_EN}",
    rf"\bNAME (?:\w+ ){{1,6}}(?:and|to) (?:\w+ly )?{_ATTACKS_EN}",
)
_HINDERED = re.compile(r"못|않|려 하|려고|려다|하지만|그러나|듯|\b(?:try|tries|tried|but|want\w*|as if|would|could)\b")
_YOU = ("당신", "너", "그대", "나", "You", "you")
_ONE_MOMENT = re.compile(
    r"바로 그 순간|바로 그 시각|그 시각|같은 시각|같은 순간|그와 동시에|"
    r"\b(?:(?:at|in) (?:this|that|the) (?:very |same )+(?:moment|time|instant)|far away|at the same time)\b",
    re.IGNORECASE,
)
_SUBJECTS = (rf"NAME{_PARTICLE}\s", r"\bNAME (?!and\b)[a-z]")


def speaks(name: str, answer: str) -> bool:
    """Returns whether the narrator has a character speak now: «"…" NAME이 말했다», «NAME says: "…"»."""
    return any(
        name in one and SPEECH in one and not of_earlier(one) and not of_death(one) and _told(_SPEAKS, name, one)
        for one in paragraphs(answer)
    )


def attacks(name: str, answer: str) -> bool:
    """Returns whether the narrator has the player attack somebody, by name or as «you»."""
    return any(
        not of_earlier(one) and not of_absence(one) and not _HINDERED.search(one) and _told(_ATTACKS, who, one)
        for one in sentences(answer)
        for who in (name, *_YOU)
        if who in one
    )


def in_two_places(name: str, here: str, places: Iterable[str], answer: str) -> str:
    """Returns the other place where a character is at the very moment at which it is here too; empty for none."""
    others = [place for place in places if place and place not in here and here not in place]
    for paragraph in paragraphs(answer):
        for moment in _ONE_MOMENT.finditer(paragraph):
            halves = paragraph[: moment.start()], paragraph[moment.end() :]
            if of_earlier(halves[0]) or not all(_told(_SUBJECTS, name, half) for half in halves):
                continue
            for near, far in (halves, halves[::-1]):
                if there := next((place for place in others if place in far and place not in near), ""):
                    return there
    return ""


def _told(forms: tuple[str, ...], name: str, text: str) -> bool:
    return any((match := form.search(text)) and not _REPORTED.search(match[0]) for form in _of(forms, name))


@lru_cache(maxsize=1024)
def _of(forms: tuple[str, ...], name: str) -> tuple[re.Pattern[str], ...]:
    """Returns the forms with a name in them."""
    return tuple(re.compile(form.replace("NAME", re.escape(name))) for form in forms)
