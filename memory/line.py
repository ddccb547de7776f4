"""The sentences of a memory: which say the same, which are taken, and how an earlier topic becomes one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from memory.stated import agree, statement
from memory.subject import labels, others, subject, words
from memory.value import same
from text import fact, hangul

SAME = 0.75
SHARED = 0.6
"""Share of the words of a sentence that another must have to tell all that it tells."""
EQUAL = 0.6
"""Share of all letter pairs of two sentences that both must have to be one statement."""

_OWNER = re.compile(r"\s*(?:내|제|나의|저의|우리|my|our)\s+", re.IGNORECASE)
_POINTING = re.compile(
    r"(?:it|this|that|them|these|those|the|everything|그거|그것|이거|이것|저거|저것|그걸|이걸)[.!]?", re.IGNORECASE
)
"""Names nothing."""
_NAMING = re.compile(
    r"(?:(?:what|everything|anything|all)\s(?:(?:that\s)?i\s(?:said|told\syou|mentioned)\s)?)?about\s(?P<thing>.+)"
    r"|(?:that|where|what|how)\s(?P<clause>i\s.+)"
    r"|(?P<topic>.+?)(?:에\s?(?:대한|관한))?\s(?:거|것|걸|얘기|이야기|내용|사실)[가-힣]{0,2}",
    re.IGNORECASE,
)
"""A thing named with words around it: «what I said about Tom», «where I live», «커피 좋아하는 거»."""
_MODIFYING = re.compile(r"(?P<rest>.+)\s(?P<verb>[가-힣]+?)(?:다는|라는|는|던)")
_GOES_ON = re.compile(r"(?<=[살먹사하])고 (?:있|계시)[가-힣]*")
_HERE = re.compile(r"(?<![가-힣])(?:나|저|사용자)는|내가|제가|\bi\b|\b(?:the )?user\b", re.IGNORECASE)
"""Who speaks says it of themselves."""
_AGE = re.compile(r"\d\s?(?:살|세)|\byears? old\b", re.IGNORECASE)
_KINDS = {
    "date": {"날짜", "일자", "date", "day"},
    "time": {"시간", "시각", "time"},
    "number": {"값", "가격", "금액", "비용", "요금", "price", "cost", "costs", "amount", "fee"},
    "name": {"이름", "name"},
}
"""What of a thing is named, by the kind of its value."""
_NOT = re.compile(r"(?<![가-힣])(?:안|못)\s|지 (?:않|못|말)|\b(?:not|never|no longer)\b|n['’]t\b", re.IGNORECASE)
_SPEAKER = re.compile(r"나는|저는|내가|제가")
_VERB = re.compile(
    r"(?<=[가-힣])(?:합니다|습니다|한다|하다|했다|했어|해요|어요|아요|해|다|어|아|요)$|(?<=[a-z]{3})(?:s|ed|ing)$"
    r"|(?<=allerg)(?:y|ies|ic)$"
)
_NEVER = re.compile(r"(?!)")
_LATIN, _HANGUL = re.compile(r"[A-Za-zÀ-ɏ0-9]"), re.compile(r"[가-힣]")
_TAIL = (
    r"(?:(?:으로|에서|까지|부터|에게|한테|께서|이나|처럼|보다|마다|밖에|하고|들|님|씨|은|는|이|가|을|를|의|에|로|도|만|과|와|야|요|인){0,3}"
    r"|(?:이었|였|입니|이에|예요|이야|이고|인데|이라|이랑|이란|이다|라고|라는|란|랑)[가-힣]*)"
)
"""Particles and forms of «to be» that follow a Korean word."""
_BEFORE = ((_LATIN, rf"(?<!{_LATIN.pattern})(?<!\d[.,])"), (_HANGUL, rf"(?<!{_HANGUL.pattern})"))
_AFTER = (
    (re.compile(r"\d"), rf"(?!{_LATIN.pattern}|[.,]\d)"),
    (_LATIN, rf"(?:['’]?s)?(?!{_LATIN.pattern})"),
    (_HANGUL, rf"{_TAIL}(?!{_HANGUL.pattern})"),
)
"""Where a word begins and ends, by the script of its first and last letter."""


def pairs(text: str) -> frozenset[str]:
    """The letter pairs of a text: what two spellings of one statement share, in both languages."""
    letters = "".join(letter for letter in text.casefold() if letter.isalnum())
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))


def alike(one: str, other: str) -> bool:
    """Whether the shorter of two sentences is mostly in the other."""
    short, long = sorted((pairs(one), pairs(other)), key=len)
    return not short or len(short & long) > SAME * len(short)


def says(text: str, line: str) -> bool:
    """Whether a text says what a line says: mostly its words, and all its facts."""
    return alike(line, text) and holds_all(text, fact.facts(line))


def equal(one: str, other: str) -> bool:
    """Whether two sentences make the same statement in nearly the same words."""
    first, second = pairs(one), pairs(other)
    near = plain(one) == plain(other) or len(first & second) > EQUAL * len(first | second)
    return near and holds_all(one, fact.facts(other)) and holds_all(other, fact.facts(one))


def about(what: str, text: str) -> bool:
    """Whether a text says what somebody wants forgotten or found: the same words of one owner, and no other values."""
    owner = _OWNER.match(what)
    what = (what[owner.end() :] if owner else what).strip(" .!")
    if _POINTING.fullmatch(what):
        return False
    if named := _NAMING.fullmatch(what):
        what = next(part for part in named.groups() if part)
    found = [_near(text, match.start()) for match in _wording(what).finditer(text)]
    if any(owner is None or others(near) <= others(what) for near in found):
        return True
    if others(what) != others(text):
        return False
    first, second = statement(what), statement(text)
    if first and second and subject(first.subject) == subject(second.subject) and same(first.value, second.value):
        return True
    aged = owner is not None and what.casefold() in ("나이", "age") and _HERE.search(text) and _AGE.search(text)
    if aged or _measured(what, text) or _told(what, text):
        return True
    own = _stems(what)
    few = len(own) < 2 and (labels(what) or not _LATIN.search("".join(own)))  # of one word only an English plural
    if few or not own <= _stems(text) or not labels(what) <= labels(text):
        return False
    return holds_all(text, fact.facts(what)) or holds_all(what, fact.facts(text))


def _measured(what: str, text: str) -> bool:
    """Whether the text gives what of a thing is named: «회의 날짜» and «회의는 5월 3일이야»."""
    kinds = {kind for kind, names in _KINDS.items() if words(what) & names}
    said = statement(text)
    if len(kinds) != 1 or said is None:
        return False
    thing = words(what).difference(*_KINDS.values()) | labels(what)
    told = {each.known.first.kind if each.known else "name" for each in said.parts}
    return bool(thing) and thing == subject(said.subject) and kinds <= told


def _told(what: str, text: str) -> bool:
    """Whether the text says of the user what a clause names: «부산에 사는» and «나는 부산에 살아», «I live»."""
    if bool(_NOT.search(what)) != bool(_NOT.search(text)) or not _HERE.search(text):
        return False
    if what.casefold().startswith("i "):
        return bool(_stems(what)) and _stems(what) <= _stems(text)
    clause, last = _MODIFYING.fullmatch(what), re.search(r"[가-힣]+(?=[.!…]*$)", _GOES_ON.sub("", text))
    if clause is None or last is None:
        return False
    verb = clause["verb"].removesuffix("하") or clause["verb"]
    rest = _stems(clause["rest"])
    return bool(rest) and rest <= _stems(text) and _open(last.group()[: len(verb)]) == _open(verb)


def _open(verb: str) -> str:
    """A Korean stem without the ㄴ, ㄹ or ㅂ that comes and goes at its end: 사는, 산다, 살아."""
    ends = hangul.ending(verb[-1]) in (hangul.NIEUN, hangul.RIEUL, hangul.BIEUP)
    return verb[:-1] + hangul.opened(verb[-1]) if ends else verb


def _near(text: str, at: int) -> str:
    """The two words before a place in a text."""
    return " ".join(text[max(0, at - 60) : at].split()[-2:])


def _stems(text: str) -> frozenset[str]:
    """Content words without the endings of verbs, and without who speaks."""
    return frozenset(_VERB.sub("", word) for word in words(text) if not _SPEAKER.fullmatch(word))


def _wording(what: str) -> re.Pattern[str]:
    """These words however spaced, none a part of a longer one: «car» is not in «Carol», 나이 not in 나이아가라."""
    letters = [letter for letter in what.strip(" .,!?…'\"«»“”") if not letter.isspace() and letter != "_"]
    if not letters:
        return _NEVER
    before = next((edge for script, edge in _BEFORE if script.match(letters[0])), "")
    after = next((edge for script, edge in _AFTER if script.match(letters[-1])), "")
    return re.compile(before + r"[\s_]*".join(map(re.escape, letters)) + after, re.IGNORECASE)


def plain(text: str) -> str:
    """The text without case and spaces."""
    return "".join(text.casefold().split())


def holds_all(text: str, facts: Iterable[fact.Fact]) -> bool:
    return all(fact.holds(text, each) for each in facts)


def repeats(one: str, other: str) -> bool:
    """Whether ``other`` tells all that ``one`` tells: its facts, about the same subject or in mostly the same words."""
    if not holds_all(other, fact.facts(one)):
        return False
    first, second = statement(one), statement(other)
    if first and second:
        return agree(second, first, told=True)
    if others(one) != others(other) or bool(_NOT.search(one)) != bool(_NOT.search(other)):
        return False
    own, its = _stems(one), _stems(other)
    swapped = len(own - its) == len(its - own) == 1  # sister and brother, 좋아해 and 싫어해
    return not swapped and len(own & its) > SHARED * len(own)


def choose(
    notes: Sequence[str], spare: Sequence[str], wanted: Sequence[fact.Fact], most: int, place: Callable[[str], int]
) -> list[str]:
    """The notes, each statement once, and those of the spare sentences that hold wanted facts the notes lack.

    Together at most ``most`` characters; in the order of ``place``.
    """
    chosen: list[str] = []
    for each in notes:
        again = any(alike(each, other) for other in chosen) and holds_all("\n".join(chosen), fact.facts(each))
        if not again and _size(chosen) + len(each) <= most:
            chosen.append(each)
    while (best := _best(chosen, spare, wanted)) and _size(chosen) + len(best) <= most:
        chosen.append(best)
    for each in sorted(chosen, key=lambda line: (place(line), len(line))):  # of two that say the same the later stays
        if any(repeats(each, other) for other in chosen if other is not each):
            chosen.remove(each)
    return sorted(chosen, key=place)


def _best(chosen: Sequence[str], spare: Sequence[str], wanted: Sequence[fact.Fact]) -> str | None:
    held = "\n".join(chosen)
    missing = [each for each in wanted if not fact.holds(held, each)]
    scores = {line: sum(fact.holds(line, each) for each in missing) / (len(line) + 8) for line in spare}
    best = max(scores, key=lambda line: scores[line], default=None)
    return best if best is not None and scores[best] > 0 else None


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def shorten(text: str, most: int) -> str:
    """The text cut back to the end of a sentence, else of a word, within ``most`` characters; '' when none fits."""
    if len(text) <= most:
        return text
    head = text[: most + 1]
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)", head)]
    if ends and ends[-1] > most // 2:
        return head[: ends[-1]]
    return head[: head.rfind(" ")].rstrip(" ,;") if " " in head else ""
