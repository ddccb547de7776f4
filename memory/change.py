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
from decimal import Decimal

from memory.factual import doubtful
from memory.stated import COPULAS, Statement, agree, clauses, statement
from memory.subject import content, labels, others, subject, words
from memory.topic import parts, rejoined
from memory.value import (
    CUE,
    Value,
    comparable,
    current,
    is_denied,
    is_old,
    is_past,
    is_step,
    lacks_unit,
    rate,
    same,
    tells,
    values,
    whole,
)
from text import fact, hangul, number
from text.assertion import assertions

_WENT = re.compile(
    r"(?<![가-힣A-Za-z])([가-힣A-Za-z]{1,30})에서 ([가-힣A-Za-z]+?)(?:으로|로) "
    r"(?:바뀌|바뀐|바꿨|바꾸|변경|교체|옮[겼겨기])"
    r"|\b(?:changed|moved|switched|went|passed)\s(?:over\s)?from ([A-Z][\w’'-]*(?:\s[A-Z][\w’'-]*)*) to"
    r" ([A-Z][\w’'-]*(?:\s[A-Z][\w’'-]*)*)"
)
"""«From A to B» of what is no value by its form, with the verb that says so beside it."""


_NOT_BUT = re.compile(
    r"(?<![가-힣A-Za-z])(?P<old>[가-힣A-Za-z]{2,20}?)(?:이|가)? 아니라 (?P<new>[가-힣A-Za-z]{2,20}?)"
    r"(?:이야|야|이에요|예요|입니다|이래|래)(?![가-힣])"
)
"""«초코가 아니라 쿠키야», of words that are no values by their form."""
_IT = re.compile(r"(?:no,?\s)?(?:it['’]s|it\sis|they['’]re|they\sare)\s(?:now\s)?", re.IGNORECASE)
_OBJECT = re.compile(r"\b(?:my|our|the)\s[\w’' -]{2,40}$", re.IGNORECASE)
_SO = re.compile(r"서,?\s(?:이제\s|지금\s)?$")


@dataclass(frozen=True, slots=True)
class Change:
    """``old`` and ``new`` as written; ``about``: words, ``all`` of which or one of which a sentence about it has."""

    old: str
    new: str
    about: frozenset[str]
    all: bool = False


def said(before: Sequence[str], statements: Sequence[str]) -> list[Change]:
    """The changes that the statements say, against earlier sentences (``before``) and earlier statements."""
    found: dict[Change, None] = {}
    earlier = [part for line in before for part in parts(line)]
    before_it = ""
    for each in statements:
        full = _full(each, before_it)
        for part in clauses(full) if not doubtful(full) else ():
            named = [*_named(part, earlier), *_went(part)]
            found |= dict.fromkeys(named or _restated(part, earlier) or _implied(part, earlier))
        earlier.append(each)
        before_it = each
    return list(found)


def replaced(old: str, new: str, statements: Iterable[str]) -> Change:
    """The change of an entity's value; it is about what the statement with the new value is about."""
    sources = [words(each) for each in statements if new in each]
    return Change(old, new, frozenset().union(*sources))


def apply(line: str, changes: Sequence[Change]) -> str:
    """The line with new values where it held old ones of the same subject; what tells both stays as it is."""
    for change in changes:
        line = rejoined(line, [_applied(part, change) for part in parts(line)])
    return line


def outdated(value: str, where: str, changes: Iterable[Change]) -> bool:
    """Whether this value was replaced; ``where``: the sentence that gives it, which says what it is the value of."""
    return any(_gone(value, change) and _fits(change, where) for change in changes)


def _gone(value: str, change: Change) -> bool:
    olds = fact.facts(change.old)
    return same(value, change.old) or any(
        same(each.text, old.text) and not fact.holds(change.new, each) for each in fact.facts(value) for old in olds
    )


def _fits(change: Change, text: str) -> bool:
    """Whether a text is about what the change is about."""
    own = words(text) | labels(text)
    return change.about <= own if change.all else bool(change.about & own)


def news(text: str) -> list[fact.Fact]:
    """Values that are told as new ones: of the sentences that say that something changed, all but what was before."""
    told = [each for each in assertions(text) if CUE.search(each) and not doubtful(each)]
    return [each for line in told for value in values(line) if not is_old(line, value) for each in value.facts]


# --- the old value is named ----------------------------------------------------------------------


def _named(said: str, earlier: Sequence[str]) -> list[Change]:
    """Of two comparable values in one sentence the one that it marks as old, else the one that was known before."""
    told = [each for each in values(said) if not each.is_name]
    pairs = ((one, other) for at, one in enumerate(told) for other in told[at + 1 :] if comparable(one, other))
    olds = ((pair, _old(said, *pair, earlier)) for pair in pairs)
    return [
        Change(old.text, (pair[1] if old is pair[0] else pair[0]).text, *_about(said))
        for pair, old in olds
        if old is not None
    ]


def _old(said: str, one: Value, other: Value, earlier: Sequence[str]) -> Value | None:
    marked = [each for each in (one, other) if is_old(said, each)]
    if len(marked) == 1:
        return marked[0]
    if marked or not CUE.search(said):
        return None
    about = words(said)
    known = [each for each in (one, other) if any(tells(line, each.text) and words(line) & about for line in earlier)]
    return known[0] if len(known) == 1 else None


def _about(said: str) -> tuple[frozenset[str], bool]:
    """The words of the subject, all of which count; else those of the sentence, one of which is enough."""
    found = statement(said)
    about = subject(found.subject) if found else frozenset[str]()
    return (about, True) if about else (words(said), False)


def _went(said: str) -> list[Change]:
    found = []
    but = None if values(said) else _NOT_BUT.search(said)
    if but and (about := words(said[: but.start()])):
        found.append(Change(but["old"], but["new"], about, True))
    for match in _WENT.finditer(said):
        old, new = (part for part in match.groups() if part)
        found.append(Change(old, new, words(said) - words(f"{old} {new}")))
    return found


# --- the same subject with another value ---------------------------------------------------------


def _restated(said: str, earlier: Sequence[str]) -> list[Change]:
    new = statement(said)
    if new is None or not subject(new.subject):
        return []
    told = CUE.search(said) is not None and not (new.known and is_past(said, new.known))
    return [change for part in new.parts for change in _replacing(part, earlier, told)]


def _replacing(new: Statement, earlier: Sequence[str], told: bool) -> list[Change]:
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
    same_subject = old is not None and (told or (old.alone and new.alone)) and agree(old, new, told)
    if new.known is None or new.known.is_name:
        plain = same_subject and old is not None and (old.known is None or old.known.is_name)
        return [_Rival(old.value, about & own, about == own)] if plain and old and not tells(line, new.value) else []
    rivals = [each for each in values(line) if comparable(each, new.known)]
    rivals = [each for each in rivals if new.rate is None or rate(line, each) in (None, new.rate)]
    found = []
    for each in rivals:
        stated = old is not None and each == old.known
        if same_subject and (stated or (told and len(rivals) == 1)):
            found.append(_Rival(each.text, about & own, about == own))
        elif told and not stated and others(line) == others(new.subject):
            near = subject(" ".join(line[: each.start].split()[-2:]))
            found += [_Rival(each.text, about & (own | near), False)] if about <= near | own and about & near else []
    return [each for each in found if not same(each.old, new.value) and not lacks_unit(new.value, each.old)]


def _full(said: str, before: str) -> str:
    """A sentence without a subject of its own, with that of the one before: «The number changed. It's 555-9876.»"""
    it, told = _IT.match(said), values(said)
    if not it and not (told and told[0].start == 0 and COPULAS.match(said[told[0].end :])):
        return said
    if any(is_denied(before, each) for each in values(before)):
        return f"{before.rstrip(' .!')}, {said}"
    cue = CUE.search(before)
    if cue is None or values(before) or doubtful(before):
        return said
    thing = _OBJECT.search(before.rstrip(" .!"))
    about = before[: cue.start()].strip() if not thing or thing.start() < cue.start() else thing.group()
    return f"{about} is {said[it.end() :]}" if it else f"{about} {said}"


def _implied(said: str, earlier: Sequence[str]) -> list[Change]:
    """Of a sentence that names nothing: «3 kg less, so 69 kg», of what was 72 kg; «딸 생일 지나서 이제 8살이야»."""
    told = values(said)
    new = current(said, told)
    if statement(said) or new is None or not _unit(new):
        return []
    steps = [each for each in told if is_step(said, each)]
    so = _SO.search(said[: new.start]) and COPULAS.match(said[new.end :])
    found = []
    for line in earlier:
        known = statement(line)
        for old in (each for each in values(line) if comparable(each, new) and _unit(each)):
            stepped = any(_amount(each) == abs(_amount(old) - _amount(new)) for each in steps if comparable(each, new))
            named = content(known.subject) if known and known.known == old else []
            if stepped or (so and named and content(said)[: len(named)] == named):
                found.append(Change(old.text, new.text, subject(known.subject) if known else words(line), True))
    return found if len({each.old for each in found}) == 1 and not same(found[0].old, new.text) else []


def _unit(value: Value) -> str:
    return value.first.value.unit if isinstance(value.first.value, number.Number) else ""


def _amount(value: Value) -> Decimal:
    return value.first.value.value if isinstance(value.first.value, number.Number) else Decimal(0)


# --- putting the new value in --------------------------------------------------------------------


def _applied(part: str, change: Change) -> str:
    if not _fits(change, part) or tells(part, change.new):
        return part
    told = [each for each in values(part) if same(each.text, change.old)]
    spots = [(each.start, each.end) for each in told if not is_denied(part, each)]
    spots = spots if told else [match.span() for match in whole(change.old).finditer(part)]
    for start, end in reversed(spots):
        part = part[:start] + change.new + _agreeing(change.new, part[end:])
    return part


def _agreeing(value: str, rest: str) -> str:
    """What follows a Korean value, with the copula as its last letter wants it: 김민수야, 이지은이야."""
    copula = re.match(r"(?:이야|야|이에요|예요)(?![가-힣])", rest)
    closed = hangul.ending(value[-1])
    if not copula or closed is None:
        return rest
    short = "야" if copula.group().endswith("야") else "예요"
    return (("이" + short).replace("이예요", "이에요") if closed else short) + rest[copula.end() :]
