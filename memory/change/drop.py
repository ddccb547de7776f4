"""Forgetting: removes lines that the user wants gone, by their words. Earlier turns do not bring them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory.line import bare, parts, same, says_again, thinned
from memory.state import State

MOST_FORGOTTEN = 100
"""Most forgotten lines that a memory remembers to keep out; beyond it, the oldest are dropped."""


def without(state: State, texts: Sequence[str], turn: int) -> State:
    """Returns the state without these lines: pins, sentences and entities («key: value»).

    Neither turns up to now nor an earlier version brings the lines back.
    """
    gone = tuple(dict.fromkeys(bare(text) for text in texts))
    pins, pinned = (tuple(pin for pin in group if not _among(pin, gone)) for group in (state.pins, state.pinned))
    text = thinned(state.text, lambda part: _among(part, gone))
    entities = tuple(entity for entity in state.entities if not _among(entity.line, gone))
    others = tuple(entry for entry in state.forgotten if entry[0] not in gone)
    newest = max(turn, state.newest)
    forgotten = (*others, *((text, newest) for text in gone))[-MOST_FORGOTTEN:]
    return replace(state, text=text, entities=entities, pins=pins, pinned=pinned, forgotten=forgotten)


def rid(state: State, gone: Sequence[str], spared: State) -> State:
    """Returns an earlier state without lines and entities that repeat texts forgotten since (``gone``).

    Keeps what ``spared`` holds, because the user said it or wrote it again.
    """
    stay = parts(spared.text)
    text = thinned(state.text, lambda part: part not in stay and _again(part, gone))
    entities = (entity for entity in state.entities if entity in spared.entities or not _again(entity.line, gone))
    return replace(state, text=text, entities=tuple(entities))


def is_gone(line: str, turn: int, state: State) -> bool:
    """Tells whether the user had this line forgotten in or after its turn."""
    return any(number >= turn and says_again(what, line) for what, number in state.forgotten)


def _among(line: str, gone: Sequence[str]) -> bool:
    return any(same(line, text) for text in gone)


def _again(line: str, gone: Sequence[str]) -> bool:
    return any(says_again(what, line) for what in gone)
