"""Finds the content of a user's memories that only one session told.

A session tells its own sentences, and the content that came into the user's memory with it (``Version.source``).
Content that the user also said in another conversation does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from memory.fold.fold_input import is_question
from memory.line import ALIKE, BEFORE, bare, equal, holds_all, letters_of, lines, pairs, parts, statements_of, tells
from memory.state import Entity, MemoryTurn, State, Version, same_key
from text import fact, sentence
from text.clean import clean

Kept = tuple[State, Sequence[Version]]
"""A memory with its versions, oldest first."""


class Telling:
    """What one session told, compared with all other memories of its user.

    ``tag``: the tag of the session; ``own``: its memory; ``owner``: the user's memory; ``others``: the memories of the
    other sessions that give to the user's memory; ``withheld``: tags of sessions that no longer do so.
    """

    def __init__(
        self, tag: str, own: Kept, owner: Kept, others: Sequence[Kept], withheld: Collection[str] = ()
    ) -> None:
        self._tag, self._own, self._owner, self._others, self._withheld = tag, own, owner, others, withheld
        self._known: dict[str, bool] = {}

    def is_only(self, part: str) -> bool:
        """Tells whether only this session told a statement."""
        letters = letters_of(bare(part))
        if letters and letters not in self._known:
            self._known[letters] = self._is_own(part, letters) and not self._is_told_by_others(part, letters)
        return self._known.get(letters, False)

    def is_only_value(self, entity: Entity) -> bool:
        """Tells whether only this session told an entity."""
        at, source = self._values_from.get((entity.key, entity.value), (None, ""))
        if self._stood_before(at, source):
            return False
        return self.has_value(entity) and not any(tells(line, entity.value) for line in self._others_said)

    def has_value(self, entity: Entity) -> bool:
        """Tells whether this session told an entity, even if other sessions did, too."""
        return (same_key(entity.key), entity.value) in self._values or tells(self._asked, entity.value)

    def has_said(self, part: str) -> bool:
        """Tells whether this session told a statement, even if other sessions did, too."""
        return letters_of(bare(part)) in self._spoken or any(equal(line, part) for line in self._lines)

    def is_only_pin(self, pin: str) -> bool:
        """Tells whether only this session told a pinned statement."""
        pinned = pin in self._own[0].pinned and not self._is_told_by_others(pin, letters_of(pin))
        return pinned or self.is_only(pin)

    def told_elsewhere(self, part: str) -> list[str]:
        """Returns, in their own words, the parts of a statement that other conversations told, when only this session
        told the whole statement; empty when the statement is a sentence of this session."""
        if letters_of(bare(part)) in self._spoken:
            return []
        others_lines = [line for line in self._others_said if not is_question(line)]
        facts = ((line, fact.facts(line)) for line in others_lines)
        return list(dict.fromkeys(line for line, values in facts if values and holds_all(part, values)))

    def _is_own(self, part: str, letters: str) -> bool:
        at, source = self._first(part, letters)
        if self._stood_before(at, source):
            return False
        source = "" if source in self._withheld else source
        if source and source != self._tag and self._since is None:
            return False
        if letters in self._spoken or source == self._tag:
            return True
        if any(fact.holds(self._asked, value) and not self._hold_others(value) for value in fact.facts(bare(part))):
            return True
        return not source and any(equal(line, part) or _covers(line, part) for line in self._lines)

    def _is_told_by_others(self, part: str, letters: str) -> bool:
        return letters in self._others_letters or any(_covers(line, part) for line in self._others_said)

    def _hold_others(self, one: fact.Fact) -> bool:
        return fact.holds("\n".join(self._others_said), one)

    def _stood_before(self, at: int | None, source: str) -> bool:
        """Tells whether the user's memory held something before it took anything over from this session; False when it
        came from a withheld session."""
        return at is not None and self._since is not None and at < self._since and source not in self._withheld

    def _first(self, part: str, letters: str) -> tuple[int | None, str]:
        """Returns the index and the source of the first version of the user's memory that holds a statement."""
        if letters in self._lineage:
            return self._lineage[letters][:2]
        return next(((at, source) for at, source, text in self._lineage.values() if equal(text, part)), (None, ""))

    @cached_property
    def _lineage(self) -> dict[str, tuple[int, str, str]]:
        """Returns ``_first`` and the words of every statement that the user's memory ever held, by its letters."""
        lineage: dict[str, tuple[int, str, str]] = {}
        for at, version in enumerate(self._owner[1]):
            for part in parts(version.text):
                lineage.setdefault(letters_of(part), (at, version.source, part))
        return lineage

    @cached_property
    def _since(self) -> int | None:
        """Returns the index of the first version of the user's memory with content from this session, or None."""
        return next((at for at, version in enumerate(self._owner[1]) if version.source == self._tag), None)

    @cached_property
    def _values_from(self) -> dict[tuple[str, str], tuple[int, str]]:
        """Returns every entity that the user's memory ever held, with the index and source of its first version."""
        origins: dict[tuple[str, str], tuple[int, str]] = {}
        for at, version in enumerate(self._owner[1]):
            for entity in version.after:
                origins.setdefault((entity.key, entity.value), (at, version.source))
        return origins

    @cached_property
    def _lines(self) -> list[str]:
        """Returns the statements that the session's memory ever held, except those from earlier sessions."""
        state, versions = self._own
        texts = [state.text, *(statement.text for statement in versions)]
        told = (told for text in texts for line in lines(text) for told in statements_of(line))
        return list(dict.fromkeys(statement.text for statement in told if statement.first != BEFORE))

    @cached_property
    def _values(self) -> frozenset[tuple[str, str]]:
        state, versions = self._own
        entities = [*state.entities, *(item for version in versions for item in version.after)]
        return frozenset((same_key(item.key), item.value) for item in entities if item.turn)

    @cached_property
    def _asked(self) -> str:
        """Returns what the user said or pinned in the session."""
        return "\n".join([*(turn.question for turn in turns(self._own)), *self._own[0].pinned])

    @cached_property
    def _spoken(self) -> frozenset[str]:
        """Returns the letters of every sentence in the session's turns."""
        texts = (text for turn in turns(self._own) for text in (turn.question, turn.answer))
        return frozenset(letters_of(line) for text in texts for line in sentence.split(clean(text)))

    @cached_property
    def _others_said(self) -> list[str]:
        """Returns what the user said or wrote by hand in other conversations; no answers: they repeat the memory."""
        return list(dict.fromkeys(line for memory in self._others for line in _said(memory)))

    @cached_property
    def _others_letters(self) -> frozenset[str]:
        return frozenset(map(letters_of, self._others_said))


def turns(kept: Kept) -> list[MemoryTurn]:
    """Returns all turns that a memory has seen and still stores."""
    state, versions = kept
    numbered = {turn.number: turn for turn in [*(turn for version in versions for turn in version.turns), *state.short]}
    return [numbered[number] for number in sorted(numbered)]


def _covers(line: str, part: str) -> bool:
    """Tells whether a line has most of the words of a statement, and all its facts."""
    present, needed = pairs(line), pairs(bare(part))
    return bool(needed) and len(needed & present) > ALIKE * len(needed) and holds_all(line, fact.facts(bare(part)))


def _said(kept: Kept) -> Iterator[str]:
    for turn in turns(kept):
        yield from sentence.split(clean(turn.question))
    for version in kept[1]:
        if version.origin == "edit":
            before = parts(version.prior)
            yield from (part for part in parts(version.text) if part not in before)
    yield from kept[0].pinned
