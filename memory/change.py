"""When a value has changed: which old value gives way to which new one (copilot-rag.md §3.5).

Two signs, both by form: the user names the old value beside the new one (from A to B, B instead of A, A가 아니라 B), or
says another value of the same kind about the same subject (``memory.stated``). Shared words are no sign: the flight
costs what it costs, whatever the hotel did. Where it is not clear, nothing changes, and both sentences stand, the newer
one after the older.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.stated import Statement, agree, others, statement, subject, words
from memory.topic import parts, rejoined
from text import fact, number, sentence

_CUE = re.compile(
    r"바뀌|바뀐|바뀜|바꿨|바꾸|바꿔|변경|올랐|올라|인상|늘었|늘어|늘려|늘리|줄었|줄어|줄여|줄이|내렸|내려|떨어|미뤘|미뤄|미루|밀렸|연기"
    r"|당겼|당겨|앞당|정정|수정|이제는|옮겼|옮겨|옮기|교체|조정"
    r"|\b(?:rose|risen|raised?|increas|decreas|dropped|fell|cut to|chang|moved|postpon|resched|instead|no longer|now"
    r"|actually|correct|updat|revis|went (?:up|down)|goes up|switch|became|lowered|reduced|push(?:ed)? (?:back|to))",
    re.IGNORECASE,
)
_VETO = re.compile(
    r"지 (?:않|못|말)|(?<![가-힣])(?:안|못) [가-힣]|아직|고민|생각 ?중|생각이|할까|을까|릴까|꿀까"
    r"|면 (?:좋|어떨|어때|안)|싶|려고"
    r"|\b(?:has|have|had|did|do|does|was|were|is|are|will|would|could|should|can)(?:n['’]t| not)\b"
    r"|\b(?:never|thinking|consider\w*|maybe|perhaps|might|could|would|if|unless|want(?:s|ed)? to|plan(?:s|ning)? to"
    r"|hop(?:e|ing)|wish)\b",
    re.IGNORECASE,
)
"""Negations, plans and wishes: nothing has changed yet."""
_OLD_BEFORE = re.compile(
    r"(?:\bfrom|\binstead of|\brather than|\bnot|\bused to be|\bwas|\bpreviously|\bformerly|원래|기존|전에는|이전|당초)"
    r"(?:\s(?:the|on|at))?\s\W?$",
    re.IGNORECASE,
)
_OLD_AFTER = re.compile(r"\s?(?:원|명|개|일)?(?:에서\s|이었|였|이던|(?:이|가)?\s?아니|말고|대신|\sinstead\b)")
_WENT = re.compile(
    r"([가-힣A-Za-z]+)에서 ([가-힣A-Za-z]+?)(?:으로|로) (?:바뀌|바뀐|바꿨|바꾸|변경|교체|옮[겼겨기])"
    r"|\b(?:changed|moved|switched|went|passed)\s(?:over\s)?from ([A-Z][\w’'-]*(?:\s[A-Z][\w’'-]*)*) to"
    r" ([A-Z][\w’'-]*(?:\s[A-Z][\w’'-]*)*)"
)
"""«From A to B» of what is no value by its form, with the verb that says so beside it."""


@dataclass(frozen=True, slots=True)
class Change:
    """``old`` and ``new`` as written; ``about``: words, ``all`` of which or one of which a sentence about it has."""

    old: str
    new: str
    about: frozenset[str]
    all: bool = False


def said(before: Sequence[str], statements: Sequence[str]) -> list[Change]:
    """The changes that the statements say, against earlier sentences (``before``) and earlier statements."""
    found: list[Change] = []
    for index, each in enumerate(statements):
        if _VETO.search(each):
            continue
        earlier = [part for line in (*before, *statements[:index]) for part in parts(line)]
        named = [*_named(each, earlier), *_went(each)]
        found += named or _restated(each, earlier)
    return found


def replaced(old: str, new: str, statements: Iterable[str]) -> Change:
    """The change of an entity's value; it is about what the statement with the new value is about."""
    sources = [words(each) for each in statements if new in each]
    return Change(old, new, frozenset().union(*sources))


def apply(line: str, changes: Sequence[Change]) -> str:
    """The line with new values where it held old ones of the same subject; what tells both stays as it is."""
    for change in changes:
        line = rejoined(line, [_applied(part, change) for part in parts(line)])
    return line


def outdated(fact_text: str, changes: Iterable[Change]) -> bool:
    """Whether this value was replaced."""
    return any(_same(fact_text, change.old) for change in changes)


def tells(text: str, value: str) -> bool:
    """Whether a text has a value, as a whole: «$500» does not tell «$50»."""
    return any(_same(each.text, value) for each in fact.facts(text)) or bool(_whole(value).search(text))


def news(text: str) -> list[fact.Fact]:
    """Values that are told as new ones: of the sentences that say that something changed, all but what was before."""
    told = [each for each in statements(text) if _CUE.search(each) and not _VETO.search(each)]
    return [each for line in told for each in fact.facts(line) if not _is_old(line, each)]


def statements(text: str) -> list[str]:
    """The sentences of a text that state something."""
    return [each for each in sentence.split(text) if not each.rstrip().endswith(("?", "？"))]


# --- the old value is named ----------------------------------------------------------------------


def _named(said: str, earlier: Sequence[str]) -> list[Change]:
    """Of two comparable values in one sentence the one that it marks as old, else the one that was known before."""
    facts = [each for each in fact.facts(said) if each.kind != "name"]
    pairs = ((one, other) for at, one in enumerate(facts) for other in facts[at + 1 :] if comparable(one, other))
    olds = ((pair, _old(said, *pair, earlier)) for pair in pairs)
    return [
        Change(old.text, (pair[1] if old is pair[0] else pair[0]).text, *_about(said))
        for pair, old in olds
        if old is not None
    ]


def _old(said: str, one: fact.Fact, other: fact.Fact, earlier: Sequence[str]) -> fact.Fact | None:
    marked = [each for each in (one, other) if _is_old(said, each)]
    if len(marked) == 1:
        return marked[0]
    if marked or not _CUE.search(said):
        return None
    about = words(said)
    known = [each for each in (one, other) if any(tells(line, each.text) and words(line) & about for line in earlier)]
    return known[0] if len(known) == 1 else None


def _is_old(said: str, each: fact.Fact) -> bool:
    """Marked as the old value; «from A» and «A에서» only where the sentence says that something changed."""
    before, after = _OLD_BEFORE.search(said[: each.start]), _OLD_AFTER.match(said[each.end :])
    range_only = bool(before and before.group().strip().startswith("from")) or bool(after and "에서" in after.group())
    return bool(before or after) and (not range_only or _CUE.search(said) is not None)


def _about(said: str) -> tuple[frozenset[str], bool]:
    """The words of the subject, all of which count; else those of the sentence, one of which is enough."""
    found = statement(said)
    about = subject(found.subject) if found else frozenset[str]()
    return (about, True) if about else (words(said), False)


def _went(said: str) -> list[Change]:
    found = []
    for match in _WENT.finditer(said):
        old, new = (part for part in match.groups() if part)
        found.append(Change(old, new, words(said) - words(f"{old} {new}")))
    return found


# --- the same subject with another value ---------------------------------------------------------


def _restated(said: str, earlier: Sequence[str]) -> list[Change]:
    new = statement(said)
    if new is None or not subject(new.subject):
        return []
    told = _CUE.search(said) is not None
    found = [rival for line in reversed(earlier) for rival in _rivals(line, new, told)]
    sure = {each.old.casefold() for each in found if each.sure}
    if not sure and len({each.old.casefold() for each in found}) > 1:  # several things that it could be about
        return []
    meant = [each for each in found if not sure or each.old.casefold() in sure]
    return [Change(each.old, new.value, each.about, True) for each in dict.fromkeys(meant)]


@dataclass(frozen=True, slots=True)
class _Rival:
    """A value that the new one replaces; ``about``: what both are about; ``sure``: the very same subject."""

    old: str
    about: frozenset[str]
    sure: bool


def _rivals(line: str, new: Statement, told: bool) -> list[_Rival]:
    """Values of a sentence that the new one replaces."""
    old, about = statement(line), subject(new.subject)
    own = subject(old.subject) if old else frozenset[str]()
    same = old is not None and agree(old, new, told) and (told or (old.direct and new.direct))
    if new.fact is None or new.fact.kind == "name":
        named = same and old is not None and (old.fact is None or old.fact.kind == "name")
        return [_Rival(old.value, about & own, about == own)] if named and old and not tells(line, new.value) else []
    rivals = [each for each in fact.facts(line) if comparable(each, new.fact)]
    found = []
    for each in rivals:
        stated = old is not None and each == old.fact
        if same and (stated or len(rivals) == 1):
            found.append(_Rival(each.text, about & own, about == own))
        elif told and not stated and others(line) == others(new.subject):
            near = subject(" ".join(line[: each.start].split()[-2:]))
            found += [_Rival(each.text, about & (own | near), False)] if about <= near | own and about & near else []
    return [each for each in found if not _same(each.old, new.value)]


# --- putting the new value in --------------------------------------------------------------------


def _applied(part: str, change: Change) -> str:
    own = words(part)
    if not (change.about <= own if change.all else change.about & own) or tells(part, change.new):
        return part
    spots = [(each.start, each.end) for each in fact.facts(part) if _same(each.text, change.old)]
    spots = spots or [match.span() for match in _whole(change.old).finditer(part)]
    for start, end in reversed(spots):
        part = part[:start] + change.new + _agreeing(change.new, part[end:])
    return part


def _agreeing(value: str, rest: str) -> str:
    """What follows a Korean value, with the copula as its last letter wants it: 김민수야, 이지은이야."""
    copula = re.match(r"(?:이야|야|이에요|예요)(?![가-힣])", rest)
    if not copula or not "가" <= value[-1] <= "힣":
        return rest
    closed = (ord(value[-1]) - ord("가")) % 28 > 0
    short = "야" if copula.group().endswith("야") else "예요"
    return (("이" + short).replace("이예요", "이에요") if closed else short) + rest[copula.end() :]


def _whole(value: str) -> re.Pattern[str]:
    """The value where it stands as a whole: no digits or letters around it; a Korean one may have a particle after."""
    after = r"(?![A-Za-z0-9])" if re.search(r"[A-Za-z]$", value) else r"(?![\d]|[,.]\d)"
    return re.compile(rf"(?<![가-힣A-Za-z0-9])(?<!\d[,.]){re.escape(value)}{after}")


def comparable(one: fact.Fact, other: fact.Fact) -> bool:
    """Whether two facts are of one kind, numbers of one unit."""
    if one.kind != other.kind or one.kind in ("url", "email"):
        return False
    if isinstance(one.value, number.Number) and isinstance(other.value, number.Number):
        return one.value.unit == other.value.unit or not one.value.unit or not other.value.unit
    return True


def _same(one: str, other: str) -> bool:
    if one.strip().casefold() == other.strip().casefold():
        return True
    facts = fact.facts(other)
    return len(facts) == 1 and fact.holds(one, facts[0]) and len(fact.facts(one)) == 1
