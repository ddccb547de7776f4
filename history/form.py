"""What a message is compared by: its words, without what programs do to the form of a text.

Thoughts, emphasis, punctuation, case, Unicode's forms and white space are away. Lines stay known, because programs put
texts of their own on lines of their own; a label in front of a line («Mina: …», «[15:04] …») counts as a line of its
own.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from text.answer.thought_name import INNER_NAMES

Side = Literal["question", "answer"]
EDGE = 6
"""Words at a text's beginning, and at its end, that have a mark of their own: what was put before or behind a message,
or cut off it, leaves one of them."""
MOST_KNOWN = 20_000
"""Texts whose marks are remembered, by a digest: a client sends the same ones with each request."""
_NAMES = "|".join(INNER_NAMES)
_THOUGHT = re.compile(rf"<({_NAMES})>|<!(--)", re.IGNORECASE)
_THOUGHT_END = re.compile(rf"</({_NAMES})>|(--)>", re.IGNORECASE)
_LABEL = re.compile(r"^([ \t]*(?:[^\s:：][^\n:：]{0,39}[:：]|\[[^\[\]\n]{1,40}\]))(?=[ \t])", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_BLOCK = re.compile(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*\n|<(\w+)\b[^<>\n]*>|\[[^\[\]\n]*\]|\([^()\n]*\)", re.MULTILINE)
_BLOCK_END = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*$|</(\w+)>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ComparableForm:
    """A text's comparable form: its ``lines`` of words, and all of its words in one line (``flat``)."""

    lines: tuple[str, ...]

    @property
    def flat(self) -> str:
        return " ".join(self.lines)

    @property
    def edges(self) -> tuple[frozenset[int], frozenset[int]]:
        """Returns where in ``flat`` lines begin, and where they end."""
        ends = [end - 1 for end in accumulate(len(line) + 1 for line in self.lines)]
        return frozenset([0, *(end + 1 for end in ends[:-1])]), frozenset(ends)

    def holds(self, other: ComparableForm) -> bool:
        """Returns whether the other text stands in this one on lines of its own."""
        return self.find(other) is not None

    def find(self, other: ComparableForm) -> tuple[int, int] | None:
        """Returns where in ``flat`` the other text begins and ends, on lines of its own; None where it does not."""
        flat, part = self.flat, other.flat
        if not part or len(part) > len(flat):
            return None
        begins, ends = self.edges
        at = flat.find(part)
        while at >= 0:
            if at in begins and at + len(part) in ends:
                return at, at + len(part)
            at = flat.find(part, at + 1)
        return None


def read_form(text: str) -> ComparableForm:
    """Returns the comparable form of a text. A text without a word is compared by its signs."""
    plain = unicodedata.normalize("NFC", text)
    if "<" in plain:
        parts = _leave_out(plain, _THOUGHT, _THOUGHT_END)
        plain = " ".join(parts) if "".join(parts).strip() else plain
    if ":" in plain or "：" in plain or "[" in plain:
        plain = _LABEL.sub("\\1\n", plain)
    plain = plain.replace("'", "").replace("’", "").casefold()
    lines = tuple(line for line in (" ".join(_WORD.findall(line)) for line in plain.splitlines()) if line)
    return ComparableForm(lines or tuple(filter(None, ["".join(plain.split())])))


def leave_out_blocks(text: str) -> str:
    """Returns a text without what programs hide in answers: fenced blocks, elements, and remarks in brackets."""
    return " ".join(_leave_out(text, _BLOCK, _BLOCK_END))


def _leave_out(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> list[str]:
    """Returns what stands around the parts of a text from a beginning to the next end of the same name, which is the
    group of both; a beginning without a name is a whole part, one without an end is none. Takes one pass: a client may
    send any number of beginnings."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for match in end.finditer(text):
        ends.setdefault(match[match.lastindex or 0].lower(), []).append(match.span())
    parts, last, at = list[str](), 0, 0
    while (begun := begin.search(text, at)) is not None:
        until = begun.end()
        if begun.lastindex:
            of_name = ends.get(begun[begun.lastindex].lower(), [])
            after = bisect_left(of_name, (until, 0))
            until = of_name[after][1] if after < len(of_name) else 0
        if until:
            parts.append(text[last : begun.start()])
            last = until
        at = until or begun.start() + 1
    return [*parts, text[last:]]


# --- marks ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageMarks:
    """Short marks of a message, 64 bits each: ``whole``, of all of it, and of all but a label in front; ``edges``, of
    its first and its last words, where it has more."""

    whole: tuple[int, ...]
    edges: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.whole, *self.edges)


def mark_message(text: str, side: Side, owner: str) -> MessageMarks:
    """Returns the marks of a message: those of other owners are others, so that a look-up meets no turn of another
    user, however many say the same."""
    key = hashlib.blake2b(f"{side}\n{owner}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    with _LOCK:
        if (marks := _KNOWN.get(key)) is not None:
            _KNOWN.move_to_end(key)
            return marks
    form, start = read_form(text), f"{side}\n{owner}\n"
    words, bare = form.flat.split(), " ".join(form.lines[1:]) if _LABEL.match(text) else ""
    wholes = tuple(_hash_mark(f"{start}whole\n{one}") for one in dict.fromkeys((form.flat, bare or form.flat)))
    edges = (" ".join(words[:EDGE]), " ".join(words[-EDGE:])) if len(words) > EDGE else ()
    marks = MessageMarks(wholes, tuple(_hash_mark(f"{start}edge {at}\n{edge}") for at, edge in enumerate(edges)))
    with _LOCK:
        _KNOWN[key] = marks
        while len(_KNOWN) > MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return marks


_KNOWN: OrderedDict[bytes, MessageMarks] = OrderedDict()
_LOCK = threading.Lock()


def _hash_mark(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


__all__ = ["ComparableForm", "MessageMarks", "Side", "leave_out_blocks", "mark_message", "read_form"]
