"""Where a text holds a key of an entry: as a part of it, as a whole word, or by a pattern."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from text.hangul import is_particles
from world.lore.mention import is_glued
from world.lore.pattern import Regex, compile_pattern, is_pattern
from world.lore.rule import Rule

Form = Literal["plain", "lower", "spaceless"]
"""The forms of a text in which words are looked for: as it is, without case, without case and spaces."""
FORMS: tuple[Form, ...] = get_args(Form)
MOST_PATTERN_CHARS = 20_000
"""In how many letters patterns are searched; the newest message stands first."""


class ScannedText:
    """Messages and further texts in the forms in which keys are looked for; each form is made when it is asked for.

    ``named``: the texts with the speaker in front of each message, as SillyTavern shows them to patterns.
    """

    def __init__(self, texts: Sequence[str], named: Sequence[str] = ()) -> None:
        self._texts, self._named = texts, named or texts

    @cached_property
    def plain(self) -> str:
        """The texts as they are, with line ends between them."""
        return unicodedata.normalize("NFC", "\n".join(self._texts))

    @cached_property
    def lower(self) -> str:
        """Without case."""
        return self.plain.lower()

    @cached_property
    def spaceless(self) -> str:
        """Without case and spaces."""
        return self.lower.replace(" ", "")

    def in_form(self, form: Form) -> str:
        """Returns the texts in one of the forms."""
        return self.plain if form == "plain" else self.lower if form == "lower" else self.spaceless

    @cached_property
    def data(self) -> bytes:
        """What patterns are searched in: a sign that begins every text, as SillyTavern writes it."""
        return "\n".join(f"\x01{text}" for text in self._named)[:MOST_PATTERN_CHARS].encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that is ready to be looked for. ``text``: as its author wrote it, ``needle``: in the form in which it is
    compared; ``pattern``: None for a word, or a pattern that the engine does not know (``unknown``)."""

    text: str
    needle: str
    form: Form = "lower"
    whole: bool = False
    pattern: Regex | None = None
    unknown: bool = False

    @classmethod
    def of(cls, text: str, rule: Rule) -> Key:
        """Returns a key with the flags of its entry's rule; a pattern in slashes has flags of its own."""
        if is_pattern(text):
            pattern = compile_pattern(text)
            return cls(text, "", pattern=pattern, unknown=pattern is None)
        needle = unicodedata.normalize("NFC", text.strip())
        needle = needle if rule.case_sensitive else needle.lower()
        whole = rule.whole_words and len(needle.split()) == 1
        spaceless = rule.spaceless and not rule.whole_words
        form: Form = "plain" if rule.case_sensitive else "spaceless" if spaceless else "lower"
        return cls(text, needle.replace(" ", "") if form == "spaceless" else needle, form, whole)

    def is_in(self, text: ScannedText) -> bool:
        """Returns whether the texts hold the key. An empty key is in none."""
        if self.pattern is not None:
            return self.pattern.is_in(text.data)
        if not self.needle:
            return False
        hay = text.in_form(self.form)
        return self.needle in hay and (not self.whole or _stands_alone(hay, self.needle))


def read_keys(texts: Iterable[str], rule: Rule) -> tuple[Key, ...]:
    """Returns keys that are ready; empty ones are left out."""
    return tuple(Key.of(text, rule) for text in texts if text.strip())


def _stands_alone(text: str, word: str) -> bool:
    """Returns whether a word stands somewhere in the text by itself; Korean particles may follow it. Scripts without
    spaces have no whole words, so there it may stand anywhere."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if _begins_word(text[at - 1] if at else "", word[0]) and _ends_word(text, end, word[-1]):
            return True
        at = text.find(word, at + 1)
    return False


def _begins_word(before: str, first: str) -> bool:
    return not before or not (is_glued(before) or (_is_korean(before) and _is_korean(first)))


def _ends_word(text: str, end: int, last: str) -> bool:
    after = text[end] if end < len(text) else ""
    if not after or not _is_korean(after):
        return not after or not is_glued(after)
    stop = end
    while stop < len(text) and _is_korean(text[stop]):
        stop += 1
    return is_particles(text[end:stop]) and not (stop < len(text) and is_glued(text[stop]) and not _is_korean(last))


def _is_korean(sign: str) -> bool:
    return "가" <= sign <= "힣"
