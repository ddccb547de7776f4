"""What an answer's prose does with names that the tables know: who acts, what is in use, where somebody is.

No language is understood here. Sentences are looked through for names in the place of a subject or an object, and for
words that make a sentence a memory, a dream or a report. In doubt nothing is noticed: the curator's model, where there
is one, reads the turns as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from text import sentence
from text.hangul import NIEUN, RIEUL, ending

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|«[^»\n]*»")


def _words(korean: str, english: str) -> re.Pattern[str]:
    """Returns what finds one of these: Korean inside words, English as whole words."""
    return re.compile(rf"{korean}|\b(?:{english})\b", re.IGNORECASE)


_TOLD = _words(
    "꿈|떠올|회상|기억|추억|생전|예전|옛날|언젠가|소문|전설|시신|시체|유해|무덤|묘비|비석|초상|동상|그림|편지|일기|적혀|닮은|닮았"
    r"|처럼|듯이?\s|[했었았]었|던\s|다고 (?:믿|전|들|알|생각)|그립|그리워|아쉽|아쉬|후회",
    "dream\\w*|remember\\w*|recall\\w*|memor\\w+|used to|once|would|had|grave\\w*|tomb\\w*|bod(?:y|ies)|corpse|letter"
    "|wrote|written|rumou?r\\w*|legend|portrait|picture|statue|as if|as though|like an?|looks? like|brother|sister|son"
    "|daughter|father|mother|ghost of|story|stories|no longer|without|wish(?:es)?|regret\\w*",
)
"""Words that tell of something that is not happening now, or of somebody else."""
_STILL = _words(
    "누워|눕|쓰러|죽|숨을|숨졌|차갑|식어|묻[히혀]|사망|없다|없는|없이",
    "lies|lay|lying|dead|died|dies|falls|fell|collapses|buried|gone|missing|cold|does not|did not|never",
)
"""Words of a sentence about the dead as they are."""
_GONE = _words(
    "잃|없|가라앉|떠내려|부러|부서|깨[진져]|사라|빼앗|바닥에|버린|버렸|팔아|판 것|남긴",
    "lost|gone|broken?|sank|sunk|bottom|shatter\\w*|splinter\\w*|buried|miss(?:ing|es|ed)?|took|taken|stolen|empty|where"
    "|sold|selling",
)
"""Words of a sentence about a thing that is not there."""
_FIGHT = _words(
    "(?:달려[들든]|휘두|휘둘|베어|벤다|벴|찌르|찌른|찔러|때리|때린|때려|내리[치친쳐]|주먹|걷어[차찬]|싸우|싸운|싸웠|공격|덤[비벼빈]"
    "|쏜다|쏘[아며고]|막아|맞[서선섰]|밀어붙)(?!는)",
    "(?:swing|slash|stab|strike|punch|kick|fight|charge|lunge|drive|shoot|fire|parry|attack|hit|throw|hurl|cut|hack|block"
    "|break|smash|knock|wrestle|tackle|grapple)(?:s|ing)?",
)
_UNABLE = _words("못하|못한|못해|수 없|않는다|싶", "cannot|can't|can not|do not|don't|unable|try to|tries to|want to")
_AT_ONCE = _words(
    "바로 그 순간|같은 순간|같은 시각|같은 때|동시에|그와 함께",
    "at (?:this|that|the) (?:very|same|very same) (?:moment|time|instant)|simultaneously",
)
_YOU = ("당신", "너", "you", "I")
_SUBJECT = r"(?:은|는|이|가|께서)"
_OBJECT = r"(?:을|를|으로|로|이|가|은|는|의|에서|에|과|와)?"
_NOUN_SUBJECT = re.compile(r"(\S+?)(?:이|가)\s")
_VERB = (
    r"(?:(?:himself|herself|itself)\s+)?(?:\w+ly\s+)?(?!(?:has|does|always|perhaps|towards|besides)\b)"
    r"(?:(?:is|was) [a-z]+ing|(?!(?:is|was)\b)[a-z]+s|[a-z]+ed|went|came|stood|sat|ran|gave|held|spoke|rose|drew)\b"
)
"""What follows a subject in a story: a verb in the third person, or in the past."""


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
    subject = rf"(?:^\W*|[.,;:—]\s*|\b(?:and|but|then|suddenly|now)\s+){re.escape(name)}\s+{_VERB}"
    speaker = rf"\"\",?\s*(?:\w+ly\s+)?[a-z]+(?:s|ed|aid)\s+{re.escape(name)}\b"
    return re.search(f"{subject}|{speaker}", text, re.IGNORECASE) is not None


def _relative(word: str, goes_on: bool) -> bool:
    """Returns whether a Korean word right after a subject makes a clause of it that describes something else («크룩이
    남긴 칼»): its last syllable ends in ㄴ or ㄹ, is no particle of an object, and more follows."""
    return goes_on and word[-1] not in "을를" and ending(word[-1]) in (NIEUN, RIEUL)


def fights(answer: str, names: Sequence[str]) -> bool:
    """Returns whether somebody with one of these names, or «you», fights in the answer."""
    return any(
        _FIGHT.search(text) and not _UNABLE.search(text) and _is_subject(text, (*names, *_YOU)) for text in _now(answer)
    )


def uses(answer: str, item: str, player: str) -> bool:
    """Returns whether the player has a thing in use in the answer, or it acts by itself."""
    return any(_uses(text, item, player) for text in _now(answer) if not _GONE.search(text))


def _uses(text: str, item: str, player: str) -> bool:
    word = re.escape(item)
    if re.search(r"[가-힣]", item):
        named = re.search(rf"(?<![가-힣]){word}{_OBJECT}(?![가-힣])", text)
        return named is not None and (_is_subject(text, (player, *_YOU)) or not _others(text, item))
    if not re.search(rf"(?<!\w){word}(?!\w)", text, re.IGNORECASE):
        return False
    own = re.search(rf"^\W*(?:(?:the|my)\s+)?{word}\b|\byour\s+{word}\b", text, re.IGNORECASE)
    return own is not None or _is_subject(text, (player, *_YOU))


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
    return len(re.findall(rf"(?<!\w){re.escape(name)}\s+(?:was|[a-z]+s)\b", text, re.IGNORECASE)) > 1


def _now(answer: str) -> Iterator[str]:
    """Yields the sentences of what happens now, without what people say."""
    return (text for text in _sentences(answer) if not _TOLD.search(text))


def _sentences(answer: str) -> Iterator[str]:
    for text in sentence.split(_QUOTED.sub('""', answer)):
        if text.strip(' "'):
            yield text
