"""What a sentence says of what: «여행 예산은 120만 원이야», «the school play is on October 17».

Read from the form of the sentence alone. What is not surely a subject with its value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.factual import alone, doubtful, leads
from memory.subject import MARK, SHORT, head, others, subject
from memory.value import CUE, Value, current, rate, values
from text import fact, hangul, number
from text.name import TITLE

_KOREAN = re.compile(
    r"(?<![가-힣A-Za-z0-9·])(?P<key>[가-힣A-Za-z0-9·][가-힣A-Za-z0-9· ]{0,40}?)"
    rf"(?:(?<![{hangul.syllables(hangul.NONE)}])(?:은|이|을)|(?<=[{hangul.syllables(hangul.NONE)}A-Za-z0-9])(?:는|가|를))\s(?!아니)"
    r"(?:(?:이제|지금은|현재)\s)?"
)
"""A noun with its particle, which agrees with the noun's last letter: no 와이파 with 이."""
_WHOLE = re.compile(r"(?:고양|호랑|원숭|지렁|달팽|부엉|멍멍|야옹|볶|걸|린|놀|먹|둥)이$|휴가$")
"""Nouns that only look like one with a particle."""
_BECAME = (
    r"rose to|(?:went|goes|gone|is) up to|dropped to|fell to|increased to|decreased to|lowered to|raised to|cut to"
    r"|changed to|moved to|shifted to|postponed to|rescheduled to|(?:pushed|moved) back to|brought forward to"
    r"|delayed (?:to|until)"
    r"|(?:went|rose|dropped|fell|increased|decreased|changed)(?=\sfrom\s)"
)
_ENGLISH = re.compile(
    r"(?:^|[,;:]\s|\bthat\s|\band\s|\bbut\s)(?:(?:my|our|the|its)\s)?"
    r"(?P<key>[a-z][a-z’'-]*(?:\s[a-z’'-]+){0,3}?)\s"
    rf"(?:(?:(?:is|are|was|were)(?:n['’]t|\snot)?|has been|have been|will be)"
    rf"(?:\s(?:now|actually|called|named|{_BECAME}))?|costs?|{_BECAME})\s",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\b(?:moved?|changed?|raised?|lowered|increased?|decreased?|cut|postponed?|delayed?|rescheduled?|pushed|updated?|corrected?)\s"
    r"(?:back\s)?(?:(?:my|our|the|his|her|its|their)\s)?(?P<key>[a-z][a-z’'-]*(?:\s[a-z’'-]+){0,3}?)(?:,|\s(?:back\s)?(?:to|from|for|until)\b)",
    re.IGNORECASE,
)
_IS = r"(?:이야|야|이에요|예요|입니다|이다|인데|이고)"
_TURNED = r"(?:으로|로)\s(?:바뀌|바뀐|바꿨|바꾸|바꿀|변경|교체)"
_CHOSE = r"(?:으로|로)\s(?:정했|정하|정한|예약|골랐|고르|선택|결정|하기로)"
_TURN = re.compile(rf"(?<![가-힣A-Za-z0-9])(?P<value>[가-힣A-Za-z0-9]{{2,20}}?){_TURNED}")
COPULAS = re.compile(r"(?:이?(?:야|래|래요|라고 해|랍니다)|이에요|예요|입니다)\s*(?:$|[.!,~])")
_AT = re.compile(
    r"(?:^|\s)(?:월|총|약|딱|매[일주달년]|하루|이제|지금|아마|거의|대략|대충|겨우|무려|최[소대]|보통|전부|모두|합계|정확히)$"
)
"""What may stand between a noun and how much it is."""
_TO = re.compile(r"(?:으로|로)\s")
_COPULA = re.compile(rf"(?P<value>[가-힣A-Za-z0-9]{{2,12}}?){_IS}[.!]?$")
_NAMED = re.compile(rf"(?P<value>[가-힣A-Za-z0-9]{{2,20}}?)(?:{_TURNED}|{_CHOSE})")
_NAME_IS = re.compile(rf"(?:\s?(?:{TITLE}|씨|님)님?)?(?:{_IS}|{_TURNED}|{_CHOSE}|\s?[.!]?$)")
"""What follows a name that is the value: «담당자는 서울에 있어» is not one."""
_NOTHING = re.compile(
    rf"\s*|(?:\s?(?:{TITLE}|씨|님)님?)?(?:이|가)?\s?(?:아니라|아니고|말고|대신)\s"
    r"|(?:\sany\s?(?:more|longer))?[,;]?\s(?:but|it['’]s|it is)\s",
    re.IGNORECASE,
)
"""What may stand before a name that is the value: nothing, or the end of «not A but»."""
_NO_VALUES_WORDS = """
별로 최고 최악 정말 진짜 미정 비밀 바보 엉망 대박 글쎄 그대로 마찬가지 보통 필수 아직 아마 문제 걱정 이상 충분
아니 그거 이거 저거 인터넷 온라인 전화 카드 현금 어플 계좌 도보 직접 따로 별도 임시
"""
_NO_VALUES = frozenset(_NO_VALUES_WORDS.split())
"""What is said of things, and ways to book and pay: no values."""
_STOPS = re.compile(
    r"(?:에|에서|으로|을|를|하고|해서|인데|[는은]데|지만|이고|이며|하며|니까|[았었였했하되있없]고|[와가해워져돼나어아봐]서|면서"
    r"|[으하되나이]면)$|[,.;:!?]"
)
"""A word like this ends before a noun; one that only may end in a particle is part of it: 고양이 이름, 제주도 여행."""
_CLAUSE = re.compile(
    r"(?<=,)\s+|;\s+|(?<=이고|이며|인데|는데|지만)\s+|(?<=[았었였]고)\s+|\sand\s(?=(?:the|my|our)\s)", re.IGNORECASE
)
_HEDGE = re.compile(r"(?<=이고|이며|인데)\s")
"""What is stated before is so, whatever is not: «이름은 지훈인데 고기를 안 먹어»."""
_ARTICLE = re.compile(r"\b(?:a|an|the)\s", re.IGNORECASE)
_MODIFIES = re.compile(r".(?:는|한|할|된|던)$")
_PLACE = re.compile(r"(?:에|에서|에게|으로|까지|부터)$")
_NO_KEY_WORDS = """
나 내 저 제 우리 저희 너 그 이 저것 이것 그것 이거 그거 여기 거기 오늘 내일 어제 이번 지금 이제 다음 처음 나중 마지막
사람 것 수 때 그리고 그런데 근데 그럼 그래서 아니 아 참 일단 혹시 만약 사실 다시 원래 이미 벌써 드디어
i we you he she it they this that there here what who which one these those
"""
_NO_KEY = frozenset(_NO_KEY_WORDS.split())
_PRONOUN = re.compile(
    r"(?:나|저|너)[는도를만]|(?:내|제|네)가|(?:우리|저희|오늘|내일|어제|지금|이제|이번|다음|이거|그거)[은는가도를]|이번엔|이건|그건"
)
_LEAD = re.compile(
    r"^.*(?<!\bof)(?<!\bfor)(?<!\bin)(?<!\bto)(?<!\bat)(?<!\bon)(?<!\bwith)(?<!\bfrom)\s(?:(?:my|our|the)\s|(?=(?:his|her|their)\s))",
    re.IGNORECASE,
)
"""What stands before the noun in English: «oh wait the meeting»."""
_WORDS, _MOST, _LETTERS, _NOUNS = 3, 4, 28, 16
_LISTED = re.compile(r"(?P<key>[^:\n]{2,28}):\s(?P<value>.+?)(?<![ap]\.m)[.!]?")
_GOT = re.compile(
    r".*\b(?:got|have|has|here(?:['’]s|\sis|\sare)|this is)\s(?:(?:my|our|the|an?)\s)?(?:new\s)?(?P<key>[a-z].*)", re.I
)
"""«I got a new phone number: …»."""
_CLAUSE_KEY = re.compile(
    rf"\b(?:i|we|you|he|she|it|they|is|are|was|were|will|can|says?|said)\b|[{hangul.syllables(hangul.SSANGSIOT)}][가-힣]+$",
    re.IGNORECASE,
)
"""A key with a verb is none."""
LABELS = frozenset(("사용자", "user", "ai"))
"""Who speaks: never the name of a value."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``subject``: what it is about; ``value``: as written; ``known``: the same by its facts, where it has any.

    ``listed``: a name with its value, as entities are; ``alone``: nothing else is said; ``also``: the time of day where
    ``known`` is the day, or the other way round; ``rate``: what the value is for («$900 a month»).
    """

    subject: str
    value: str
    known: Value | None = None
    listed: bool = False
    alone: bool = True
    also: Value | None = None
    rate: str | None = None

    @property
    def parts(self) -> list[Statement]:
        """A statement for each value: of «May 9 at 4 pm» one for the day, one for the time."""
        if self.known is None or self.also is None:
            return [self]
        return [replace(self, value=each.text, known=each, also=None) for each in (self.known, self.also)]


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence that make a statement each, where there are several; else the sentence."""
    found = [part for part in _CLAUSE.split(sentence) if statement(part)]
    return found if len(found) > 1 else [sentence]


def stated(sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Subjects and the values that the sentences say they have now, in their order."""
    sure = (_HEDGE.split(each)[0] if doubtful(each) else each for each in sentences)
    told = (part for each in sure if not doubtful(each) for part in clauses(each))
    found = (each for each in map(statement, told) if each and each.alone)
    return [(each.subject, each.value) for each in found]


@lru_cache(maxsize=2048)
def statement(sentence: str) -> Statement | None:
    """What the sentence says of its subject; None when it is no such sentence."""
    said = sentence.strip()
    return _entity(said) or _english(said) or _korean(said)


def contradicted(said: str, sentences: Iterable[str]) -> bool:
    """Whether the sentences tell of the subject of what is said, and none of them this value."""
    new = statement(said)
    if new is None or new.known is None:
        return False
    told = [old for old in map(statement, sentences) if old and agree(old, new, told=True)]
    return bool(told) and not any(all(fact.holds(old.value, each) for each in new.known.facts) for old in told)


def agree(old: Statement, new: Statement, told: bool = False) -> bool:
    """Whether two statements have the same subject.

    When a change is ``told`` («rose to»), also where one says it in fewer words with the same last one: the new one, or
    the name of an entity.
    """
    before, after = subject(old.subject), subject(new.subject)
    if not before or not after or others(old.subject) != others(new.subject):
        return False
    if before == after:
        return True
    named = not any(each.known and not each.known.is_name for each in (old, new))
    fewer = after < before or (named and old.listed and before < after)
    return told and fewer and head(old.subject) == head(new.subject)


def _entity(said: str) -> Statement | None:
    match = _LISTED.fullmatch(said)
    if match is None or match["key"].strip().casefold() in LABELS or leads(match["key"]):
        return None
    got, value = _GOT.fullmatch(match["key"]), match["value"].strip()
    key = (got or match)["key"].strip()
    if _CLAUSE_KEY.search(key):
        return None
    told = [each for each in values(said) if each.start >= match.start("value")]
    known = told[0] if len(told) == 1 and told[0].text == value else None
    if known is None and len(value.split()) > _WORDS and said != said.rstrip(".!?"):  # a sentence
        return None
    return Statement(key, value, known, got is None)


def _english(said: str) -> Statement | None:
    told = values(said)
    for pattern in (_ENGLISH, _MOVED):
        matches = [*pattern.finditer(said)]
        ends = [*(each.start() for each in matches[1:]), len(said)]
        for match, end in zip(matches, ends, strict=False):
            key = _LEAD.sub("", match["key"])
            found = _named(said, match, [each for each in told if match.end("key") <= each.start < end], key)
            if found:
                return found
    return None


def _korean(said: str) -> Statement | None:
    told = values(said) if re.search("[가-힣]", said) else ()
    for match in reversed([*_KOREAN.finditer(said)][-_NOUNS:]):
        if _WHOLE.search(said[: match.end("key") + 1]) or any(
            each.start < match.end("key") < each.end for each in told
        ):  # «이지은 대리»: no particle
            continue
        key, rest = _last_words(said[: match.end("key")]), said[match.end() :]
        later = [each for each in told if each.start >= match.end()]
        plain = _COPULA.match(rest) or _NAMED.search(rest)
        if later and not (plain and all(each.is_name for each in later)):
            return _named(said, match, later, key)
        named = _named(said, match, later, key)
        if named:
            return named
        if plain and _usable(key) and plain["value"] not in _NO_VALUES:
            gap = rest[: plain.start("value")].split()
            free = alone(_before(said, match, key), "", rest[plain.end("value") :])
            return Statement(key, plain["value"], alone=free and (not gap or _adnominal(gap[-1])))
    return _bare(said, told)


def _bare(said: str, told: Sequence[Value]) -> Statement | None:
    """Without a particle: «예산 150만 원이야»; «예산 150만 원으로 올리자», where it says that something changes."""
    turned = None if told else _TURN.search(said)
    if not told and not turned:
        return None
    start, end = turned.span("value") if turned else (told[0].start, told[0].end)
    before, after = said[:start].rstrip(), said[end:]
    if not turned and not COPULAS.match(after) and not (CUE.search(said) and _TO.match(after)):
        return None
    before = _AT.sub("", before)
    key = _last_words(before)
    usable = _usable(key) and len(before.split()) <= _MOST and not _STOPS.search(key)
    usable = usable and not (turned and key.endswith(("고", "서")))  # «차 팔고 소나타로 바꿨어»
    free = alone(before[: len(before) - len(key)], "", after)
    return Statement(key, said[start:end], told[0] if told else None, alone=free) if usable else None


def _named(said: str, match: re.Match[str], told: Sequence[Value], key: str) -> Statement | None:
    """With the value of now; after a «one» the last number («1인당 119,600원»). A name only right after the verb."""
    found = current(said, told)
    if found is None or not _usable(key):
        return None
    gap = said[max([match.end(), *(each.end for each in told if each.end <= found.start)]) : found.start]
    if found.is_name and not (
        _NOTHING.fullmatch(gap) and (match.re is not _KOREAN or _NAME_IS.match(said[found.end :]))
    ):
        return None
    first = found.first
    if isinstance(first.value, number.Number) and first.value.value == 1:
        numbers = [(each, each.first.value) for each in told]
        other = [each for each, num in numbers if isinstance(num, number.Number) and num.unit != first.value.unit]
        found = other[-1] if other else found
    also = next((each for each in told if each.start > found.start and _moment(said, found, each)), None)
    end = also.end if also else found.end
    value = said[found.start : end].strip() if also else found.text
    paid = rate(said, found)
    direct = found.is_name or len(_ARTICLE.sub(" ", gap).split()) <= (2 if paid else 1)
    free = alone(_before(said, match, key), said[match.end("key") : found.start], said[_whole_end(said, told, end) :])
    return Statement(key, value, found, alone=direct and free, also=also, rate=paid)


def _whole_end(said: str, told: Sequence[Value], end: int) -> int:
    """Where a day ends with the weekday and the time that follow it."""
    for each in told:
        if each.start > end and each.first.kind in ("date", "time") and said[end : each.start].isspace():
            end = each.end
    return end


def _before(said: str, match: re.Match[str], key: str) -> str:
    """What stands before a subject, without whom that other person is: «Sarah said her salary»."""
    before = said[: match.end("key") - len(key)]
    return re.sub(r"\b\w{1,40} said\s$", "", before) if others(key) else before


def _adnominal(word: str) -> bool:
    """Whether a Korean word goes with the noun after it: 있는, 좋은, 산."""
    return hangul.ending(word[-1]) == hangul.NIEUN


def _moment(said: str, one: Value, other: Value) -> bool:
    between = said[one.end : other.start]
    return {one.first.kind, other.first.kind} == {"date", "time"} and bool(re.fullmatch(r",?\s(?:at|on)?\s?", between))


def _last_words(text: str) -> str:
    """The noun at the end of a text: up to three words, none before it that belongs to another phrase."""
    words = text.split()
    taken = words[-1:]
    for word in reversed(words[:-1]):
        if len(taken) == _WORDS or _apart(word, taken[0]):
            break
        taken.insert(0, word)
    return " ".join(taken)


def _apart(word: str, following: str) -> bool:
    if word in _NO_KEY or _PRONOUN.fullmatch(word):
        return True
    is_value = word[0].isdigit() and not MARK.fullmatch(word)
    return is_value or (_STOPS.search(word) is not None and not _MODIFIES.search(following))


def _usable(key: str) -> bool:
    return (1 < len(key) <= _LETTERS or key in SHORT) and key.casefold() not in _NO_KEY and not _PLACE.search(key)
