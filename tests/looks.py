"""How much work the regular expressions of the product are: the characters that they look at, counted.

Nothing can be counted inside ``re``, so every expression is followed here as well, part by part and with every way
back, and must end where ``re`` ends. One that takes the square of a length shows it in a few hundred characters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

Then = Callable[[int], int | None]
"""What stands behind a part: takes where the part ends; returns where all of it ends, None where it does not hold."""
Part = Callable[[int, Then], int | None]
SIGNS = ("literal", "not_literal", "any", "any_all", "in")
DEPTH = 10**6
FLAGS_AT = {"sub": 3, "subn": 3, "split": 2}
"""Where a function of ``re`` takes its flags, behind the expression; the others take them second."""


def count_looks(work: Callable[[], object], *folders: str) -> int:
    """How many characters the regular expressions in these folders of the product look at, those that stand in a module
    by themselves and those that are given to ``re`` when they are needed."""
    looks, depth = _Looks(), sys.getrecursionlimit()
    spaces = [vars(module) for name, module in sys.modules.items() if name.split(".")[0] in folders]
    sys.setrecursionlimit(DEPTH)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for space in spaces:
                for name, value in list(space.items()):
                    if _reads_text(value):
                        patch.setitem(space, name, _Pattern(value, looks))
                    elif value is re:
                        patch.setitem(space, name, _Re(looks))
            work()
    finally:
        sys.setrecursionlimit(depth)
    return looks.count


def _reads_text(value: object) -> bool:
    return isinstance(value, re.Pattern) and isinstance(value.pattern, str)


class _Looks:
    count = 0


class _Re:
    """Stands for the module ``re``."""

    def __init__(self, looks: _Looks) -> None:
        self._looks = looks

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name) if name in vars(_Pattern) else getattr(re, name)

    def _call(self, name: str, pattern: Any, *given: Any, flags: int = 0) -> Any:
        *given_, flags = given if len(given) > FLAGS_AT.get(name, 1) else (*given, flags)
        made: Any = pattern if isinstance(pattern, _Pattern) else re.compile(pattern, flags)
        return getattr(_Pattern(made, self._looks) if _reads_text(made) else made, name)(*given_)


class _Pattern:
    """Stands for an expression: does the same, and is followed."""

    def __init__(self, pattern: re.Pattern[str], looks: _Looks) -> None:
        self._pattern, self._looks = pattern, looks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def match(self, text: str, first: int = 0, last: int = sys.maxsize) -> re.Match[str] | None:
        return self._tried(self._pattern.match(text, first, last), text, first, last)

    def fullmatch(self, text: str, first: int = 0, last: int = sys.maxsize) -> re.Match[str] | None:
        return self._tried(self._pattern.fullmatch(text, first, last), text, first, last, whole=True)

    def search(self, text: str, first: int = 0, last: int = sys.maxsize) -> re.Match[str] | None:
        return self._sought(self._pattern.search(text, first, last), text, first, last)

    def finditer(self, text: str, first: int = 0, last: int = sys.maxsize) -> Iterator[re.Match[str]]:
        for found in self._pattern.finditer(text, first, last):
            yield self._sought(found, text, first, last) or found
            first = found.end() + (not found[0])
        self._sought(None, text, first, last)

    def findall(self, text: str) -> list[Any]:
        return self._all(text) and self._pattern.findall(text)

    def sub(self, new: Any, text: str, count: int = 0) -> str:
        return self._pattern.sub(new, text, count) if self._all(text) else text

    def split(self, text: str) -> list[Any]:
        return self._pattern.split(text) if self._all(text) else [text]

    def _all(self, text: str) -> list[re.Match[str]]:
        return list(self.finditer(text))

    def _sought(self, found: re.Match[str] | None, text: str, first: int, last: int) -> re.Match[str] | None:
        """Follows the expression from one place to the next, to where it was found."""
        for place in range(first, found.start() if found else min(last, len(text)) + 1):
            self._tried(None, text, place, last)
        return self._tried(found, text, found.start(), last) if found else None

    def _tried(
        self, found: re.Match[str] | None, text: str, first: int, last: int, whole: bool = False
    ) -> re.Match[str] | None:
        end = self._way.end(text, first, min(last, len(text)), whole)
        assert end == (found and found.end()), f"{self.pattern!r} is not followed as it goes at {first} of {text!r}"
        return found

    @cached_property
    def _way(self) -> _Way:
        return _Way(self._pattern, self._looks)


class _Way:
    """The way of an expression through a text."""

    def __init__(self, pattern: re.Pattern[str], looks: _Looks) -> None:
        self._text, self._last, self._looks = "", 0, looks
        self._groups: dict[int, tuple[int, int]] = {}
        self._whole = self._sequence(_parser.parse(pattern.pattern, pattern.flags), pattern.flags)

    def end(self, text: str, first: int, last: int, whole: bool) -> int | None:
        """Where it ends when it begins at ``first``; None where it does not hold."""
        self._text, self._last = text, last
        self._groups.clear()
        return self._whole(first, lambda end: end if not whole or end == last else None)

    def _sequence(self, nodes: Any, flags: int) -> Part:
        if not len(nodes):
            return lambda at, then: then(at)
        (kind, value), *rest = nodes
        first = self._part(kind, value, flags)
        if not rest:
            return first
        others = self._sequence(rest, flags)
        return lambda at, then: first(at, lambda end: others(end, then))

    def _part(self, kind: Any, value: Any, flags: int) -> Part:
        if str(kind).lower() in SIGNS:
            look = self._look(kind, value, flags)
            return lambda at, then: then(at + 1) if look(at) else None
        made: Part = getattr(self, f"_{kind}".lower())(value, flags)
        return made

    def _look(self, kind: Any, value: Any, flags: int) -> Callable[[int], bool]:
        tells = _teller(kind, value, flags)

        def look(at: int) -> bool:
            self._looks.count += 1
            return at < self._last and tells(self._text[at])

        return look

    def _at(self, value: Any, flags: int) -> Part:
        place = _compiled(_constants.AT, value, flags)
        return lambda at, then: then(at) if place.match(self._text, at, self._last) else None

    def _subpattern(self, value: Any, flags: int) -> Part:
        group, more, less, inside = value
        part = self._sequence(inside, (flags | more) & ~less)

        def through(at: int, then: Then) -> int | None:
            def behind(end: int) -> int | None:
                before = self._groups.get(group)
                self._groups[group] = at, end
                found = then(end)
                if found is None:
                    self._groups.pop(group)
                    self._groups.update({group: before} if before else {})
                return found

            return part(at, behind)

        return part if group is None else through

    def _groupref(self, value: int, flags: int) -> Part:
        def through(at: int, then: Then) -> int | None:
            said = self._text[slice(*self._groups[value])] if value in self._groups else None
            self._looks.count += len(said or "")
            holds = said is not None and self._text.startswith(said, at, self._last)
            return then(at + len(said)) if said is not None and holds else None

        return through

    def _branch(self, value: Any, flags: int) -> Part:
        parts = [self._sequence(nodes, flags) for nodes in value[1]]

        def through(at: int, then: Then) -> int | None:
            for part in parts:
                if (found := part(at, then)) is not None:
                    return found
            return None

        return through

    def _atomic_group(self, value: Any, flags: int) -> Part:
        part = self._sequence(value, flags)

        def through(at: int, then: Then) -> int | None:
            end = part(at, _here)
            return None if end is None else then(end)

        return through

    def _assert(self, value: Any, flags: int, holds: bool = True) -> Part:
        direction, inside = value
        part, back = self._sequence(inside, flags), inside.getwidth()[0] if direction < 0 else 0

        def through(at: int, then: Then) -> int | None:
            held = at >= back and part(at - back, _here) is not None
            return then(at) if held is holds else None

        return through

    def _assert_not(self, value: Any, flags: int) -> Part:
        return self._assert(value, flags, holds=False)

    def _max_repeat(self, value: Any, flags: int) -> Part:
        least, most, inside = value
        kind, value = inside[0]
        if len(inside) == 1 and str(kind).lower() in SIGNS:
            return self._run(least, most, self._look(kind, value, flags))
        part = self._sequence(inside, flags)

        def through(at: int, then: Then, times: int = 0) -> int | None:
            def again(end: int) -> int | None:
                return None if end == at and times >= least else through(end, then, times + 1)

            found = part(at, again) if times < most else None
            return found if found is not None or times < least else then(at)

        return through

    def _run(self, least: int, most: int, look: Callable[[int], bool]) -> Part:
        def through(at: int, then: Then) -> int | None:
            end = at
            while end - at < most and look(end):
                end += 1
            for place in range(end, at + least - 1, -1):
                if (found := then(place)) is not None:
                    return found
            return None

        return through

    def _min_repeat(self, value: Any, flags: int) -> Part:
        least, most, inside = value
        part = self._sequence(inside, flags)

        def through(at: int, then: Then, times: int = 0) -> int | None:
            found = then(at) if times >= least else None
            if found is not None or times == most:
                return found
            return part(at, lambda end: None if end == at else through(end, then, times + 1))

        return through

    def _possessive_repeat(self, value: Any, flags: int) -> Part:
        least, most, inside = value
        part = self._sequence(inside, flags)

        def through(at: int, then: Then) -> int | None:
            times = 0
            while times < most and (end := part(at, _here)) is not None and end > at:
                at, times = end, times + 1
            return then(at) if times >= least else None

        return through


def _here(end: int) -> int:
    return end


def _compiled(kind: Any, value: Any, flags: int) -> re.Pattern[str]:
    made: re.Pattern[str] = _compiler.compile(_parser.SubPattern(_parser.State(), [(kind, value)]), flags)
    return made


def _teller(kind: Any, value: Any, flags: int) -> Callable[[str], bool]:
    """What tells whether a sign is one of those that are meant; asked once for each sign."""
    one = _compiled(kind, value, flags)
    return cache(lambda sign: one.match(sign) is not None)
