"""When a value no longer holds, and none takes its place: «the appointment was cancelled», «it is not on May 3»."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory.factual import doubtful
from memory.state import Entity
from memory.stated import statement
from memory.subject import labels, others, subject, words
from memory.value import comparable, is_denied, same, values

_OFF = re.compile(
    r"(?P<ko>[가-힣A-Za-z0-9 ]{1,40}?)(?:은|는|이|가|을|를)?\s취소(?:했|됐|되었|하였)"
    r"|\bcancell?ed\s(?:(?:my|our|the)\s)?(?P<done>[a-z][a-z’' -]{1,40}?)(?=\s(?:for|on|at|of|because)\b|[.,;!]|$)"
    r"|\b(?:my|our|the)\s(?P<en>[a-z][a-z’' -]{1,40}?)\s(?:is|was|are|were|has been|got)\s(?:cancell?ed|called off)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"n['’]t\b|\s(?:not|no longer)\b", re.IGNORECASE)


def denied(entity: Entity, statements: Iterable[str]) -> bool:
    """Whether the last that is said of an entity says that its value does not hold."""
    gone = False
    for said in statements:
        gone = _is_off(entity, said) or _is_not(entity, said) or (gone and not _is_told(entity, said))
    return gone


def _is_off(entity: Entity, said: str) -> bool:
    match = _OFF.search(said)
    if match is None or doubtful(said):
        return False
    what = match["ko"] or match["done"] or match["en"]
    rivals = (new for new in values(said) for old in values(entity.value) if comparable(old, new))
    for each in values(what):  # «3월 5일 치과 예약»
        what = what.replace(each.text, " ")
    return subject(what) == subject(entity.key) and all(same(each.text, entity.value) for each in rivals)


def _is_not(entity: Entity, said: str) -> bool:
    """Whether a sentence denies this value of this subject, and supposes nothing."""
    gone = any(same(each.text, entity.value) for each in values(said) if is_denied(said, each))
    about = subject(entity.key) <= words(said) | labels(said) and others(entity.key) == others(said)
    return gone and about and not doubtful(_NOT.sub("", said))


def _is_told(entity: Entity, said: str) -> bool:
    new = statement(said)
    return new is not None and subject(new.subject) == subject(entity.key)
