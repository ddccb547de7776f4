"""Keys that are regular expressions in the manner of JavaScript, by an engine in linear time (RE2, decision 21).

A pattern of a foreign file may take any other engine for ever. RE2 has no back references and no lookaround; a
lookaround at either end of a pattern only asks for a neighbour, which is written without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2 as _re2

re2: Any = _re2  # it has no types
MOST_BYTES = 1 << 20
"""Memory of one pattern's automaton."""
LARGEST = 3000
"""Steps of a compiled pattern. A larger one is not used: its worst case is this number times the letters."""
_SLASHED = re.compile(r"/(.+)/([gimsuy]*)", re.DOTALL)
_UNESCAPED = re.compile(r"(?<!\\)(?:\\\\)*/")
_MEANT = frozenset("bBdDsSwWnrtfvxuUpPcCzAQE0123456789k")
"""Letters that mean something behind a backslash; JavaScript takes any other one for itself."""
_ATOM = r"(\[(?:\\.|[^\]\\])+\]|\\[wWdDsS]|\\?[^\\\[\](){}|*+?^$.])"
_ATOMS = rf"((?:{_ATOM.replace('(', '(?:', 1)}){{1,24}})"
_BEHIND = re.compile(rf"\(\?<(!|=){_ATOMS}\)", re.DOTALL)
_AHEAD = re.compile(rf"\(\?(!|=){_ATOMS}\)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern that is ready to search. ``source``: as RE2 reads it."""

    source: str
    engine: Any

    def is_in(self, text: bytes) -> bool:
        """Returns whether the pattern is found in a text in UTF-8."""
        return self.engine.search(text) is not None


def is_pattern(key: str) -> bool:
    """Returns whether a key has the form ``/…/flags``, with every other slash escaped."""
    match = _SLASHED.fullmatch(key)
    return match is not None and not _UNESCAPED.search(match[1])


def add_slashes(pattern: str, flags: str) -> str:
    """Returns a bare pattern in the form ``/…/flags``."""
    return f"/{_UNESCAPED.sub(lambda match: match[0][:-1] + chr(92) + '/', pattern)}/{flags}"


@lru_cache(maxsize=4096)
def compile_pattern(key: str) -> Regex | None:
    """Returns the pattern of a key ``/…/flags``; None for one that the engine does not know or that is too large."""
    match = _SLASHED.fullmatch(key)
    if match is None:
        return None
    flags = "".join(flag for flag in "ims" if flag in match[2])
    source = f"(?{flags})" if flags else ""
    source += ("\\A(?:" if "y" in match[2] else "(?:") + _without_lookaround(_translate_pattern(match[1])) + ")"
    options = re2.Options()
    options.max_mem, options.log_errors = MOST_BYTES, False
    try:
        engine = re2.compile(source.encode(), options)
    except re2.error:
        return None
    return Regex(source, engine) if engine.programsize <= LARGEST else None


def _translate_pattern(pattern: str) -> str:
    """Returns a pattern of JavaScript as RE2 writes it."""
    return "".join(_translate_pieces(pattern.replace("[^]", r"[\s\S]").replace("[]", r"[^\s\S]")))


def _translate_pieces(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign != "\\" or at + 1 == len(pattern):
            yield sign
            at += 1
            continue
        letter = pattern[at + 1]
        code = re.compile(r"u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})").match(pattern, at + 1) if letter == "u" else None
        if code:
            yield f"\\x{{{code[1] or code[2]}}}"
            at = code.end()
            continue
        escapes_itself = (letter.isalpha() and letter.isascii() and letter not in _MEANT) or letter in "/_"
        yield letter if escapes_itself or not letter.isascii() else f"\\{letter}"
        at += 2


def _without_lookaround(pattern: str) -> str:
    """Returns the pattern with what its alternatives ask of their neighbours written out: whether something is found
    stays the same."""
    return "|".join(_translate_edges(one) for one in _split_alternatives(pattern))


def _translate_edges(pattern: str) -> str:
    if match := _BEHIND.match(pattern):
        front = (
            match[2] if match[1] == "=" else _build_unlike_pattern(re.findall(_ATOM, match[2], re.DOTALL), behind=True)
        )
        pattern = front + pattern[match.end() :]
    if match := _AHEAD.search(pattern):
        back = (
            match[2] if match[1] == "=" else _build_unlike_pattern(re.findall(_ATOM, match[2], re.DOTALL), behind=False)
        )
        pattern = pattern[: match.start()] + back
    return pattern


def _build_unlike_pattern(atoms: list[str], *, behind: bool) -> str:
    """Returns a pattern for a neighbour that is not like these signs in a row: it ends, or differs somewhere."""
    if behind:
        last = atoms[-1]
        more = f"|{_build_unlike_pattern(atoms[:-1], behind=True)}{last}" if len(atoms) > 1 else ""
        return rf"(?:\A|{_negate_atom(last)}{more})"
    more = f"|{atoms[0]}{_build_unlike_pattern(atoms[1:], behind=False)}" if len(atoms) > 1 else ""
    return rf"(?:\z|{_negate_atom(atoms[0])}{more})"


def _negate_atom(atom: str) -> str:
    if atom.startswith("[^"):
        return f"[{atom[2:]}"
    if atom.startswith("["):
        return f"[^{atom[1:]}"
    return f"[^{atom}]"


def _split_alternatives(pattern: str) -> list[str]:
    """Returns the alternatives of a pattern at its top level."""
    found, depth, begun, at, listed = [], 0, 0, 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 2
            continue
        if sign == "[" or (sign == "]" and listed):
            listed = sign == "["
        elif not listed and sign in "()":
            depth += 1 if sign == "(" else -1
        elif not listed and sign == "|" and depth == 0:
            found.append(pattern[begun:at])
            begun = at + 1
        at += 1
    return [*found, pattern[begun:]]
