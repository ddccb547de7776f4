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

from memory.factual import doubtful
from memory.stated import Statement, agree, clauses, statement
from memory.subject import labels, others, subject, words
from memory.topic import parts, rejoined
from memory.value import CUE, Value, comparable, is_old, is_past, lacks_unit, same, tells, values, whole
from text import fact, hangul
from text.assertion import assertions

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
    found: dict[Change, None] = {}
    earlier = [part for line in before for part in parts(line)]
    for each in statements:
        for part in clauses(each) if not doubtful(each) else ():
            named = [*_named(part, earlier), *_went(part)]
            found |= dict.fromkeys(named or _restated(part, earlier))
        earlier.append(each)
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
    found = []
    for each in rivals:
        stated = old is not None and each == old.known
        if same_subject and (stated or (told and len(rivals) == 1)):
            found.append(_Rival(each.text, about & own, about == own))
        elif told and not stated and others(line) == others(new.subject):
            near = subject(" ".join(line[: each.start].split()[-2:]))
            found += [_Rival(each.text, about & (own | near), False)] if about <= near | own and about & near else []
    return [each for each in found if not same(each.old, new.value) and not lacks_unit(new.value, each.old)]


# --- putting the new value in --------------------------------------------------------------------


def _applied(part: str, change: Change) -> str:
    if not _fits(change, part) or tells(part, change.new):
        return part
    spots = [(each.start, each.end) for each in values(part) if same(each.text, change.old)]
    spots = spots or [match.span() for match in whole(change.old).finditer(part)]
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
