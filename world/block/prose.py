"""What an answer's prose does with names that the tables know: who acts, what is in use, where somebody is.

No language is understood here. Sentences are looked through for exact names in the place of a subject or an object, and
for the words that make a sentence a memory, a dream or a report. In doubt nothing is noticed: the curator's model, where
there is one, reads the turns as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from text import sentence

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|«[^»\n]*»")
_TOLD = re.compile(
    r"꿈|떠올|회상|기억|추억|생전|예전|옛날|언젠가|소문|전설|시신|시체|유해|무덤|묘비|비석|초상|동상|편지|일기|적혀|닮은|닮았|처럼|듯이?\s"
    r"|[했었았]었|던\s|\b(?:dream\w*|remember\w*|recall\w*|memor\w+|used to|once|would|had|grave\w*|tomb\w*|bod(?:y|ies)"
    r"|corpse|letter|wrote|written|rumou?r\w*|legend|portrait|statue|as if|as though|like an?|looks? like|brother|sister"
    r"|son|daughter|father|mother|ghost of|story|stories|no longer|without)\b",
    re.IGNORECASE,
)
"""Words that tell of something that is not happening now, or of somebody else."""
_STILL = re.compile(
    r"누워|눕|쓰러|죽|숨을|숨졌|차갑|식어|묻[히혀]|사망|없다|없는|없이|"
    r"\b(?:lies|lay|lying|dead|died|dies|falls|fell|collapses|buried|gone|missing|cold|does not|did not|never)\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"잃|없|가라앉|부러|부서|깨[진져]|사라|빼앗|바닥에|버린|버렸|팔아|남긴|"
    r"\b(?:lost|gone|broken?|sank|sunk|bottom|shatter\w*|splinter\w*|buried|miss(?:ing|es|ed)?|took|taken|stolen|empty"
    r"|where)\b",
    re.IGNORECASE,
)
_FIGHT = re.compile(
    r"달려들|휘두|휘둘|베어|벤다|벴|찌르|찌른|찔러|때리|때린|때려|내리[치친쳐]|주먹|걷어[차찬]|싸우|싸운|싸웠|공격|덤[비벼빈]"
    r"|쏜다|쏘[아며고]|막아|맞[서선섰]|밀어붙|"
    r"\b(?:swing|slash|stab|strike|punch|kick|fight|charge|lunge|drive|shoot|fire|parry|attack|hit|throw|cut|hack|block"
    r"|break|smash|knock|wrestle|tackle|grapple)(?:s|ing)?\b",
    re.IGNORECASE,
)
_UNABLE = re.compile(
    r"못하|못한|못해|수 없|않는다|\b(?:cannot|can't|can not|do not|don't|unable|try to|tries to)\b", re.IGNORECASE
)
_AT_ONCE = re.compile(
    r"바로 그 순간|같은 순간|같은 시각|같은 때|동시에|그와 함께"
    r"|\bat (?:this|that|the) (?:very|same|very same) (?:moment|time|instant)|\bsimultaneously\b|\bat once in\b",
    re.IGNORECASE,
)
_YOU = ("당신", "너", "you", "I")
_SUBJECT = r"(?:은|는|이|가|께서)"
_NOUN_SUBJECT = re.compile(r"(\S+?)(?:이|가)\s")


def aliases(name: str, all_names: Collection[str]) -> list[str]:
    """Returns the forms of a name in prose: the whole, and its last word, if nobody else has that word."""
    last = name.split()[-1]
    others = [one for one in all_names if one != name and last.casefold() in one.casefold()]
    return [name] if last == name or others or len(last) < 2 else [name, last]


def acts(answer: str, names: Sequence[str]) -> bool:
    """Returns whether somebody with one of these names does something in the answer, now and in person."""
    return any(_acts(text, name) for text in _now(answer) for name in names if not _STILL.search(text))


def _acts(text: str, name: str) -> bool:
    if re.search(r"[가-힣]", name):
        match = re.search(rf"(?<![가-힣]){re.escape(name)}{_SUBJECT}\s+(\S+)(.*)", text)
        return match is not None and not _relative(match[1], bool(match[2].strip(" .!?")))
    subject = rf"(?:^|[.;:—]\s*|,\s*(?:and|but|then)\s+|^\W*(?:then|and|but|suddenly|now),?\s+){re.escape(name)}"
    return (
        re.search(rf"{subject}(?:\s+(?:himself|herself|itself))?\s+(?:\w+ly\s+)?[a-z]+\b", text, re.IGNORECASE)
        is not None
    )


def _relative(word: str, goes_on: bool) -> bool:
    """Returns whether a Korean word right after a subject makes a clause of it that describes something else («크룩이
    남긴 칼»): its last syllable ends in ㄴ or ㄹ and more follows."""
    last = word[-1]
    if not goes_on or not "가" <= last <= "힣":
        return False
    return (ord(last) - ord("가")) % 28 in (4, 8)


def fights(answer: str, names: Sequence[str]) -> bool:
    """Returns whether somebody with one of these names, or «you», fights in the answer."""
    return any(
        _FIGHT.search(text) and not _UNABLE.search(text) and _is_subject(text, (*names, *_YOU)) for text in _now(answer)
    )


def uses(answer: str, item: str, player: str) -> bool:
    """Returns whether the player has a thing in use in the answer, or it acts by itself."""
    return any(_uses(text, item, player) for text in _now(answer) if not _GONE.search(text))


def _uses(text: str, item: str, player: str) -> bool:
    if re.search(r"[가-힣]", item):
        named = re.search(
            rf"(?<![가-힣]){re.escape(item)}(?:을|를|으로|로|이|가|은|는|의|에서|에|과|와)?(?![가-힣])", text
        )
        return named is not None and (_is_subject(text, (player, *_YOU)) or not _others(text, item))
    if not re.search(rf"(?<!\w){re.escape(item)}(?!\w)", text, re.IGNORECASE):
        return False
    return (
        _is_subject(text, (player, *_YOU))
        or re.match(rf"\W*(?:(?:the|your|my)\s+)?{re.escape(item)}\b", text, re.I) is not None
    )


def _others(text: str, item: str) -> bool:
    """Returns whether a Korean sentence has a subject that is not this thing."""
    return any(not item.endswith(word) and word not in item for word in _NOUN_SUBJECT.findall(text))


def _is_subject(text: str, names: Sequence[str]) -> bool:
    """Returns whether one of these names stands where a subject stands."""
    for name in names:
        if re.search(r"[가-힣]", name):
            if re.search(rf"(?<![가-힣]){re.escape(name)}{_SUBJECT}(?![가-힣])", text):
                return True
        elif re.search(rf"(?:^\W*|[,;:—]\s*|\b(?:and|but|then|so)\s+){re.escape(name)}\s+[a-z]", text, re.IGNORECASE):
            return True
    return False


def two_places(answer: str, names: Sequence[str], places: Collection[str]) -> bool:
    """Returns whether the answer has somebody with one of these names at two known places at the same time."""
    if not _AT_ONCE.search(answer):
        return False
    sentences = list(_sentences(answer))
    for at in range(len(sentences)):
        text = " ".join(sentences[at : at + 2])
        here = {one for one in places if one.casefold() in text.casefold()}
        here -= {one for one in here if any(one != other and one in other for other in here)}
        if _AT_ONCE.search(text) and len(here) > 1 and any(_twice(text, name) for name in names):
            return True
    return False


def _twice(text: str, name: str) -> bool:
    if re.search(r"[가-힣]", name):
        return len(re.findall(rf"(?<![가-힣]){re.escape(name)}{_SUBJECT}(?![가-힣])", text)) > 1
    return (
        len(re.findall(rf"(?<!\w){re.escape(name)}\s+(?:is|was|stands|sits|walks|[a-z]+s)\b", text, re.IGNORECASE)) > 1
    )


def _now(answer: str) -> Iterator[str]:
    """Yields the sentences of what happens now, without what people say."""
    return (text for text in _sentences(answer) if not _TOLD.search(text))


def _sentences(answer: str) -> Iterator[str]:
    for text in sentence.split(_QUOTED.sub('""', answer)):
        if text.strip(' "'):
            yield text
