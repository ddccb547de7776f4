"""Forgetting: lines that the user wants gone, by their words. What was said so far does not bring them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory.line import bare, parts, same, says_again, thinned
from memory.state import State

MOST_FORGOTTEN = 100
"""Forgotten lines that are looked out for; of more, the oldest are let go."""


def without(state: State, texts: Sequence[str], turn: int) -> State:
    """The state without these lines: pins, sentences and entities («key: value»).

    Turns so far do not bring them back, and neither does an earlier version.
    """
    gone = tuple(dict.fromkeys(bare(text) for text in texts))
    pins = tuple(pin for pin in state.pins if not _among(pin, gone))
    text = thinned(state.text, lambda part: _among(part, gone))
    entities = tuple(entity for entity in state.entities if not _among(entity.line, gone))
    others = tuple(one for one in state.forgotten if one[0] not in gone)
    newest = max(turn, state.newest)
    forgotten = (*others, *((text, newest) for text in gone))[-MOST_FORGOTTEN:]
    return replace(state, text=text, entities=entities, pins=pins, forgotten=forgotten)


def rid(state: State, gone: Sequence[str], spared: State) -> State:
    """An earlier state without lines and entities that say what was forgotten since.

    What ``spared`` holds stays: it was said or written down again.
    """
    stay = parts(spared.text)
    text = thinned(state.text, lambda part: part not in stay and _again(part, gone))
    entities = (entity for entity in state.entities if entity in spared.entities or not _again(entity.line, gone))
    return replace(state, text=text, entities=tuple(entities))


def is_gone(line: str, turn: int, state: State) -> bool:
    """Whether the user had this forgotten in or after its turn."""
    return any(number >= turn and says_again(what, line) for what, number in state.forgotten)


def _among(line: str, gone: Sequence[str]) -> bool:
    return any(same(line, text) for text in gone)


def _again(line: str, gone: Sequence[str]) -> bool:
    return any(says_again(what, line) for what in gone)
